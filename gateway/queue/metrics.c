#include "gateway/queue/metrics.h"

METRIC_SHARED_DEFINE(metric_step_records, 1, .name = "sluice_step_records_total", .kind = METRIC_COUNTER,
    .help = "Records of synchronous steps written.");
METRIC_SHARED_DEFINE(metric_step_records_lost, 1, .name = "sluice_step_records_lost_total",
    .kind = METRIC_COUNTER, .help = "Records of synchronous steps that could not be written.");
METRIC_SHARED_DEFINE(metric_queue_claimed, 1, .name = "sluice_queue_claimed_total", .kind = METRIC_COUNTER,
    .help = "Queued steps that this gateway took to run.");
METRIC_SHARED_DEFINE(metric_queue_active, 1, .name = "sluice_queue_active", .kind = METRIC_GAUGE,
    .help = "Queued steps that this gateway holds now.");

static const char *const removed_kinds[] = {
    [UPKEEP_IDEMPOTENCY_KEYS] = "idempotency_keys",
    [UPKEEP_OUTPUTS] = "outputs",
    [UPKEEP_BLOBS] = "blobs",
    [UPKEEP_UPLOADS] = "uploads",
    [UPKEEP_LOCATIONS] = "locations",
    [UPKEEP_WORKERS] = "workers",
    [UPKEEP_EVENTS] = "events",
};
METRIC_SHARED_DEFINE(metric_upkeep_removed, COUNT_OF(removed_kinds), .name = "sluice_upkeep_removed_total",
    .kind = METRIC_COUNTER, .help = "What was over and has been removed from the database.",
    .labels = {METRIC_LABEL("kind", removed_kinds)});

static const char *const round_outcomes[] = {
    [POOL_ROUND_SETTLED] = "settled", [POOL_ROUND_FAILED] = "failed"};
METRIC_SHARED_DEFINE(metric_pool_rounds, COUNT_OF(round_outcomes), .name = "sluice_pool_rounds_total",
    .kind = METRIC_COUNTER, .help = "Rounds in which this gateway asked for its slots of the pool.",
    .labels = {METRIC_LABEL("outcome", round_outcomes)});

static const Metric *const metrics[] = {&metric_step_records, &metric_step_records_lost,
    &metric_queue_claimed, &metric_queue_active, &metric_upkeep_removed, &metric_pool_rounds};

const MetricTable queue_metrics = {.metrics = metrics, .count = COUNT_OF(metrics)};
