/* What of a step is committed before it runs or before its client hears of it: steps for later (`Prefer:
 * respond-async`), steps with an Idempotency-Key, steps with "record": "durable".
 *
 * Threads: step_promise_read() and step_promise_is_asked() the step's loop; the others job threads. */
#pragma once

#include "gateway/services/idempotent.h"
#include "gateway/store/queue.h"

typedef struct StepCall StepCall;
typedef struct JobContext JobContext;

typedef struct StepPromise {
    bool is_async;
    uint64_t wait_ms; /* of a step for later: how long its end is waited for */
    IdempotentKey key;
    StepHold hold;    /* of a synchronous step that the database knows of; its fence is 0 otherwise */
    bool is_queued;   /* by this request */
    bool is_answered; /* the response is written: nothing is to be run now */
} StepPromise;

/* What the headers ask for. */
MUST_USE Status step_promise_read(StepCall *step);
bool step_promise_is_asked(const StepCall *step);

/* Prepares the step and commits what was asked for: the step as queued, with its feeds and its answer; or as
 * running, held by this gateway. */
MUST_USE Status step_promise_make(StepCall *step, Slice json, JobContext *context);

/* Commits the end of a held step (step->record_wait.record) and, when it succeeded, the answer to its key. */
MUST_USE Status step_promise_keep(StepCall *step, Store *store);
