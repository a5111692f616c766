#include "gateway/admission/metrics.h"

METRIC_HISTOGRAM_DEFINE(metric_wait_seconds, 1, metric_step_bounds_us,
    .name = "sluice_admission_wait_seconds", .help = "How long steps waited that found no slot free.",
    .scale = 1e-6);
METRIC_DEFINE(metric_waiting, 1, .name = "sluice_admission_waiting", .kind = METRIC_GAUGE,
    .help = "Steps that wait for a slot of the pool.");
METRIC_DEFINE(metric_running, 1, .name = "sluice_admission_running", .kind = METRIC_GAUGE,
    .help = "Steps admitted to the pool and not ended.");
METRIC_DEFINE(metric_resting, 1, .name = "sluice_admission_resting", .kind = METRIC_GAUGE,
    .help = "Partial runs that have begun, and wait for their clients or for their next turn on a slot.");
METRIC_DEFINE(metric_slots, 1, .name = "sluice_admission_slots", .kind = METRIC_GAUGE,
    .help = "Slots of the pool that this gateway may use now.", .scale = 1e-3);

static const Metric *const metrics[] = {
    &metric_wait_seconds, &metric_waiting, &metric_running, &metric_resting, &metric_slots};

const MetricTable admission_metrics = {.metrics = metrics, .count = COUNT_OF(metrics)};

void
metrics_waited(uint64_t waited_us)
{
    metric_observe(&metric_wait_seconds, 0, (int64_t)waited_us);
}

void
metrics_note_admission(const AdmissionCounts *counts)
{
    metric_set(&metric_running, 0, counts->running);
    metric_set(&metric_resting, 0, counts->resting);
    metric_set(&metric_waiting, 0, counts->waiting);
    metric_set(&metric_slots, 0, (int64_t)(counts->slots * 1000));
}
