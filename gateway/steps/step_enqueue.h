/* Steps for later on their way into the queue: by themselves, beside an idempotency key, or together with
 * others of their tenant.
 *
 * Threads: step_enqueue_together() and its `done` the step's loop; the others job threads. */
#pragma once

#include "gateway/jobs/batcher.h"
#include "gateway/steps/step_promise.h"

/* What the store is to be told of a prepared step, but for its feeds. */
MUST_USE Status step_describe(StepCall *step, StepNew *ret_step);

/* Stores feeds and step in the caller's transaction. */
MUST_USE Status step_enqueue(StepCall *step, Store *store, StepNew *wanted);

/* After a commit whose reply was lost: what stands there. UNAVAILABLE when nothing does. */
MUST_USE Status step_read_back(const StepCall *step, Store *store, StepRecord *ret_step);

/* Writes the 202. */
void step_accept(StepCall *step);

/* For the gateway's batcher of these. */
void step_enqueue_batch(JobContext *context, BatchItem *const *items, size_t count);

/* Commits a prepared step, and others with it, and writes its 202; `done` is told how that ended. False when
 * no job thread can be had. */
MUST_USE bool step_enqueue_together(StepCall *step, void (*done)(StepCall *step, Status status));
