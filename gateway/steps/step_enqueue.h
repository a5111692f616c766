/* Steps for later on their way into the queue: alone, together with an idempotency key, or in a batch with
 * others of their tenant.
 *
 * Threads: step_enqueue_together() and its `done` the step's loop; the others job threads. */
#pragma once

#include "gateway/jobs/batcher.h"
#include "gateway/steps/step_call.h"

/* Describes a prepared step for the store, without its feeds. */
MUST_USE Status step_describe(StepCall *step, StepNew *ret_step);

/* Stores feeds and step in the caller's transaction. */
MUST_USE Status step_enqueue(StepCall *step, Store *store, StepNew *wanted);

/* Reads what stands in the database after a commit whose reply was lost. UNAVAILABLE when nothing does. */
MUST_USE Status step_read_back(const StepCall *step, Store *store, StepRecord *ret_step);

/* Writes the 202 of a step that is queued. */
void step_accept(StepCall *step);

/* Commits a batch of steps: the work of Steps.enqueuer. */
void step_enqueue_batch(JobContext *context, BatchItem *const *items, size_t count);

/* Commits a prepared step in a batch with others, writes its 202, and calls `done` with the outcome. False
 * when no job thread can be had. */
MUST_USE bool step_enqueue_together(StepCall *step, void (*done)(StepCall *step, Status status));
