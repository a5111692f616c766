#include "gateway/dispatch/metrics.h"

typedef enum Outcome { SUCCEEDED, FAILED, CANCELLED, TIMED_OUT } Outcome;

static const char *const outcomes[] = {"succeeded", "failed", "cancelled", "timed_out"};

METRIC_DEFINE(metric_steps, COUNT_OF(outcomes), .name = "sluice_steps_total", .kind = METRIC_COUNTER,
    .help = "Steps ended, by outcome.", .labels = {METRIC_LABEL("outcome", outcomes)});
METRIC_HISTOGRAM_DEFINE(metric_step_seconds, 1, metric_step_bounds_us, .name = "sluice_step_seconds",
    .help = "From a step's start to its end: its wait for a slot of the pool, and all attempts.",
    .scale = 1e-6);
METRIC_DEFINE(metric_steps_running, 1, .name = "sluice_steps_running", .kind = METRIC_GAUGE,
    .help = "Steps begun and not ended, those included that wait for a slot of the pool.");

METRIC_DEFINE(metric_registrations, 1, .name = "sluice_registrations_total", .kind = METRIC_COUNTER,
    .help = "Partitions registered on workers.");
METRIC_DEFINE(metric_registration_bytes, 1, .name = "sluice_registration_bytes_total", .kind = METRIC_COUNTER,
    .help = "Bytes sent to register partitions, their constants included.");

static const Metric *const metrics[] = {&metric_steps, &metric_step_seconds, &metric_steps_running,
    &metric_registrations, &metric_registration_bytes};

const MetricTable dispatch_metrics = {.metrics = metrics, .count = COUNT_OF(metrics)};

static Outcome
outcome_of(Status status)
{
    if (status == STATUS_OK) {
        return SUCCEEDED;
    }
    if (status == STATUS_CANCELLED) {
        return CANCELLED;
    }
    return status == STATUS_DEADLINE_EXCEEDED ? TIMED_OUT : FAILED;
}

void
metrics_step_begin(void)
{
    metric_add(&metric_steps_running, 0, 1);
}

void
metrics_step_end(Status status, uint64_t elapsed_us)
{
    metric_add(&metric_steps_running, 0, -1);
    metric_add(&metric_steps, outcome_of(status), 1);
    metric_observe(&metric_step_seconds, 0, (int64_t)elapsed_us);
}

void
metrics_registration(Status status, uint64_t uploaded_bytes)
{
    metric_add(&metric_registrations, 0, status == STATUS_OK ? 1 : 0);
    metric_add(&metric_registration_bytes, 0, (int64_t)uploaded_bytes);
}
