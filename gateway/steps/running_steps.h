/* The steps that one loop runs, by id, for whoever asks about them or wants them cancelled (step_inquiry.h).
 *
 * Ownership: a RunningStep lives in its step; the table only links it.
 * Threads:   the loop's. */
#pragma once

#include "gateway/dispatch/step.h"
#include "gateway/store/queue.h"

enum { RUNNING_STEPS_BUCKETS = 256 };

typedef struct RunningSteps {
    ListLink buckets[RUNNING_STEPS_BUCKETS];
} RunningSteps;

typedef struct RunningStep {
    ListLink link;
    StepHold hold; /* its fence is 0 when the database does not know of the step */
    SessionId session;
    GraphId graph;
    uint64_t started_us;
    StepRun *run;
} RunningStep;

void running_steps_init(RunningSteps *steps);
void running_steps_add(RunningSteps *steps, RunningStep *step);

/* Returns the tenant's step of this id, or NULL. */
RunningStep *running_steps_find(RunningSteps *steps, TenantId tenant, StepId id);

/* Cancels all steps of a session that has been deleted. */
void running_steps_cancel_session(RunningSteps *steps, TenantId tenant, SessionId session);
