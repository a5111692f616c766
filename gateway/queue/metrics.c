#include "gateway/queue/metrics.h"

METRIC_DEFINE(metric_step_records, 1, .name = "sluice_step_records_total", .kind = METRIC_COUNTER,
    .help = "Records of synchronous steps written.");
METRIC_DEFINE(metric_step_records_lost, 1, .name = "sluice_step_records_lost_total", .kind = METRIC_COUNTER,
    .help = "Records of synchronous steps that could not be written.");
METRIC_DEFINE(metric_queue_claimed, 1, .name = "sluice_queue_claimed_total", .kind = METRIC_COUNTER,
    .help = "Queued steps that this gateway took to run.");
METRIC_DEFINE(metric_queue_active, 1, .name = "sluice_queue_active", .kind = METRIC_GAUGE,
    .help = "Queued steps that this gateway holds now.");

static const Metric *const metrics[] = {
    &metric_step_records, &metric_step_records_lost, &metric_queue_claimed, &metric_queue_active};

const MetricTable queue_metrics = {.metrics = metrics, .count = COUNT_OF(metrics)};
