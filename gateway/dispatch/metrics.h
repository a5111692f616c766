/* Metrics of this module (shared/telemetry/metrics.h): steps as workers ran them, queued ones included. */
#pragma once

#include "shared/base/status.h"
#include "shared/telemetry/metrics.h"

extern const MetricTable dispatch_metrics;

void metrics_step_begin(void);
void metrics_step_end(Status status, uint64_t elapsed_us);
void metrics_registration(Status status, uint64_t uploaded_bytes);
