/* Silent steps are those for which no gateway has answered: for a moment nobody is asked about them again,
 * so that a client that polls a vanished step neither waits nor sends mail each time.
 *
 * Threads: one at a time. */
#pragma once

#include "gateway/steps/step_inquiry.h"

enum { SILENT_STEPS_MAX = 256, SILENT_STEPS_MS = 2000 };

typedef struct SilentStep {
    TenantId tenant;
    SessionId session;
    StepId id;
    uint64_t until_ns;
} SilentStep;

/* An empty one is all zero. */
typedef struct SilentSteps {
    SilentStep steps[SILENT_STEPS_MAX];
    size_t next; /* replaces the oldest */
} SilentSteps;

void silent_steps_note(SilentSteps *steps, const StepInquiry *inquiry, uint64_t now_ns);
bool silent_steps_has(const SilentSteps *steps, const StepInquiry *inquiry, uint64_t now_ns);
