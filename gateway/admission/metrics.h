/* Metrics of this module (shared/telemetry/metrics.h). */
#pragma once

#include "shared/telemetry/metrics.h"

extern const MetricTable admission_metrics;

typedef struct AdmissionCounts {
    int64_t running;
    int64_t resting; /* those of them that hold no slot */
    int64_t waiting;
    double slots;
} AdmissionCounts;

void metrics_waited(uint64_t waited_us);
void metrics_note_admission(const AdmissionCounts *counts);
