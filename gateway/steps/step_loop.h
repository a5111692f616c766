/* Steps, one a gateway, names the parts that the steps of all loops share; StepLoop, one a loop, has what
 * only that loop's thread touches; its RunningSteps are the steps that it runs, by id, for whoever asks about
 * them or wants them cancelled (step_inquiry.h).
 *
 * Ownership: app makes both, and the parts that they borrow outlive them. A StepLoop owns its scratch
 * memory and the queued steps that it runs. A RunningStep lives in its step; the table only links it.
 * Threads:   a Steps is shared: its parts lock inside or do not change. A StepLoop belongs to its loop;
 * other threads read `steps`, `loop` and `index`. */
#pragma once

#include "gateway/dispatch/step.h"
#include "gateway/domain/limits.h"
#include "gateway/domain/replica.h"
#include "gateway/graphs/graph_cache.h"
#include "gateway/http/tenant_memory.h"
#include "gateway/jobs/batcher.h"
#include "gateway/plan/plan_cache.h"
#include "gateway/queue/recorder.h"
#include "gateway/queue/runner.h"
#include "gateway/sessions/session_cache.h"
#include "gateway/store/queue.h"
#include "gateway/traces/trace_cache.h"

enum { STEP_LOOPS_MAX = 64, RUNNING_STEPS_BUCKETS = 256 };

typedef struct Steps Steps;

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

typedef struct StepLoop {
    Steps *steps;
    Loop *loop;
    Dispatcher *dispatcher;
    RecordRing *records;
    int index; /* in steps->loops; the last byte of the ids that it gives */
    RunningSteps running;
    Buffer scratch;  /* for what is written and copied within a callback */
    ListLink queued; /* QueuedSteps that it runs */
    bool is_closing; /* the loop has stopped: what ends now has no consequences */
} StepLoop;

struct Steps {
    const Limits *limits;
    const Replica *replica;
    JobPool *jobs;
    Directory *directory;
    SessionCache *sessions;
    GraphCache *graphs;
    PlanCache *plans;
    TraceCache *traces;
    Recorder *recorder;
    QueueRunner *queue;
    TenantMemory *outputs;
    Batcher *enqueuer;   /* of steps for later */
    Batcher *ender;      /* of queued steps that have run */
    unsigned queue_turn; /* the queue runner's thread only: which loop gets the next step */
    StepLoop *loops[STEP_LOOPS_MAX];
    int loop_count;
};

/* Makes a loop's part, the next of `steps`. The loop must not run yet. False without memory. */
MUST_USE bool step_loop_init(StepLoop *loop, Steps *steps, Loop *on, Dispatcher *dispatcher);
void step_loop_done(StepLoop *loop); /* the last one made first, once its queued steps are freed */

/* Returns a new id whose last byte names the loop: whoever has the id knows which loop to ask. */
StepId step_id_new(const StepLoop *loop);

/* The loop that an id names; NULL: none of this gateway's. */
StepLoop *step_id_loop(const Steps *steps, StepId id);

/* Tells the other loops which workers have the plan's partitions now, as the first step of it may come to any
 * of them. Only a hint: without memory nobody hears. */
void step_loop_share_registration(const StepLoop *loop, Plan *plan, const StepReport *report);

void running_steps_add(RunningSteps *steps, RunningStep *step);

/* Returns the tenant's step of this id, or NULL. */
RunningStep *running_steps_find(RunningSteps *steps, TenantId tenant, StepId id);

/* Cancels all steps of a session that has been deleted. */
void running_steps_cancel_session(RunningSteps *steps, TenantId tenant, SessionId session);
