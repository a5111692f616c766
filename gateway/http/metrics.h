/* Metrics of this module (shared/telemetry/metrics.h). */
#pragma once

#include "shared/telemetry/metrics.h"

extern const MetricTable http_metrics;

void metrics_count_refused_body(void);
