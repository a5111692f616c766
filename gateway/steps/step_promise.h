/* What of a step is committed before it runs or before its client hears of it: steps for later (`Prefer:
 * respond-async`), steps with an Idempotency-Key, steps with "record": "durable".
 *
 * Threads: the step's loop for what reads; what makes and keeps, job threads. */
#pragma once

#include "gateway/domain/limits.h"
#include "gateway/jobs/batcher.h"
#include "gateway/resources/idempotent.h"
#include "gateway/store/queue.h"

typedef struct StepCall StepCall;

typedef struct StepPromise {
    bool is_async;
    uint64_t wait_ms; /* of a step for later: how long its end is waited for */
    IdempotentKey key;
    StepHold hold;    /* of a synchronous step that the database knows of; its fence is 0 otherwise */
    bool is_queued;   /* by this request */
    bool is_answered; /* the response is written: nothing is to be run now */
    StepNew wanted;   /* of a step for later that is queued together with others, as what follows */
    BatchItem item;
    Status committed;
    void (*told)(StepCall *step, Status status);
} StepPromise;

/* Returns the milliseconds of `Prefer: wait=N`, within the limit step_wait_ms; 0: none were asked for. */
uint64_t step_wait_read(const Request *request, const Limits *limits);

/* What the headers ask for. */
MUST_USE Status step_promise_read(StepCall *step);
bool step_promise_is_asked(const StepCall *step);

/* Whether it is for later and no more than that: step_promise_prepare() instead of step_promise_make(), then
 * step_enqueue_together(). */
bool step_promise_is_shared(const StepCall *step);

/* As step_call_prepare(), for a step that is to be queued together with others; on its loop or a job thread.
 */
MUST_USE Status step_promise_prepare(StepCall *step, Slice json, JobContext *context, bool *ret_needs_job);

/* Prepares the step and commits what was asked for: the step as queued, with its feeds and its answer; or as
 * running, held by this gateway. */
MUST_USE Status step_promise_make(StepCall *step, Slice json, JobContext *context);

/* Commits the end of a held step (step->record_wait.record) and, when it succeeded, the answer to its key. */
MUST_USE Status step_promise_keep(StepCall *step, Store *store);
