/* The steps that one loop runs, by id, for those who ask about them or want them cancelled. The last byte of
 * a step's id names the loop that made it, so that whoever has the id knows whom to ask.
 *
 * Ownership: a RunningStep lives in its step; the table only links it.
 * Threads:   a table belongs to its loop. step_inquire() is called on the asker's loop and answers there;
 *            running_steps_cancel() any thread. */
#pragma once

#include "gateway/dispatch/step.h"
#include "gateway/store/queue.h"

typedef struct Gateway Gateway;
typedef struct GatewayLoop GatewayLoop;
typedef struct TraceForm TraceForm;

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

StepId step_id_new(int loop_index);

/* A question about one step, asked of the loop that its id names. */
typedef struct StepInquiry {
    Task task; /* first */
    GatewayLoop *home;
    GatewayLoop *asked;
    TenantId tenant;
    SessionId session;
    StepId id;
    bool is_cancel;         /* cancels it too */
    const TraceForm *trace; /* the form in which its trace is asked for, of a step that has ended; or NULL */
    bool is_found;
    StepRecord record; /* of a running step; without texts */
    void (*answered)(struct StepInquiry *inquiry);
} StepInquiry;

/* `inquiry` gives home, tenant, session, id, is_cancel and answered(), which is called on home, perhaps at
 * once. */
void step_inquire(StepInquiry *inquiry);

/* The record of a running synchronous step, for whoever has inquired after it. */
void running_step_describe(
    const StepInquiry *inquiry, GraphId graph, uint64_t started_us, StepRecord *ret_step);

/* Whether the record is of such a step: the database does not know it. */
bool running_step_is_unrecorded(const StepRecord *step);

/* Cancels the step that its loop runs under this very hold, if it still does. */
void running_steps_cancel(Gateway *gateway, int loop_index, const StepHold *hold);

/* Cancels those of a session that has been deleted. */
void running_steps_cancel_session(RunningSteps *steps, TenantId tenant, SessionId session);
