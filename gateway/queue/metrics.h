/* Metrics of this module (shared/telemetry/metrics.h). */
#pragma once

#include "shared/telemetry/metrics.h"

extern const Metric metric_step_records;
extern const Metric metric_step_records_lost;
extern const Metric metric_queue_claimed;
extern const Metric metric_queue_active;

enum UpkeepRemoved {
    UPKEEP_IDEMPOTENCY_KEYS,
    UPKEEP_OUTPUTS,
    UPKEEP_BLOBS,
    UPKEEP_UPLOADS,
    UPKEEP_LOCATIONS,
    UPKEEP_WORKERS,
    UPKEEP_EVENTS
};
extern const Metric metric_upkeep_removed; /* by UpkeepRemoved */

enum PoolRoundOutcome { POOL_ROUND_SETTLED, POOL_ROUND_FAILED };
extern const Metric metric_pool_rounds; /* by PoolRoundOutcome */

extern const MetricTable queue_metrics;
