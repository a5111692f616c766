/* Promises about a step: what is committed before it runs, or before its client hears of its end. Steps
 * for later (`Prefer: respond-async`), steps with an Idempotency-Key, and steps with "record": "durable"
 * have one.
 *
 * Threads: reading the step's loop; making and keeping job threads. */
#pragma once

#include "gateway/steps/step_call.h"

/* Returns the milliseconds of `Prefer: wait=N`, within the limit step_wait_ms; 0: none were asked for. */
uint64_t step_wait_read(const Request *request, const Limits *limits);

/* Reads what the headers ask for. */
MUST_USE Status step_promise_read(StepCall *step);
bool step_promise_is_asked(const StepCall *step);

/* Returns whether the step is for later and has no key: then step_promise_prepare() and
 * step_enqueue_together() replace step_promise_make(). */
bool step_promise_is_shared(const StepCall *step);

/* Prepares, like step_call_prepare(), a step that is to be queued in a batch; on its loop or a job thread. */
MUST_USE Status step_promise_prepare(StepCall *step, Slice json, JobContext *context, bool *ret_needs_job);

/* Prepares the step and commits it: as queued, with its feeds and its answer, or as running, held by this
 * gateway. */
MUST_USE Status step_promise_make(StepCall *step, Slice json, JobContext *context);

/* Tells dispatch under which id workers know the run, and since when, if it changes variables and has a key:
 * then they remember what becomes of it, and another gateway that gets the same request asks them. */
void step_promise_describe(const StepCall *step, StepRunOptions *options);

/* Commits the end of a held step (step->record_wait.record) and, when it succeeded, the answer to its key. */
MUST_USE Status step_promise_keep(StepCall *step, Store *store);
