/* Steps from the durable queue that this gateway runs: a StepCall without a client.
 *
 * Happy path: the queue runner claims the step → a job thread notes that it runs, loads graph, feeds and
 * plan → its loop dispatches it → outputs and end are stored in one transaction, together with those of
 * others → the runner forgets it.
 *
 * Failures: a passing one (no worker, a worker that died) puts the step back for another attempt; any
 * other ends it. While PostgreSQL is gone the end is tried again, until the lease is another gateway's.
 *
 * Threads: queued_step_run() the runner's; the rest its loop's and job threads. */
#pragma once

#include "gateway/jobs/batcher.h"
#include "gateway/steps/step_loop.h"

/* Begins to run a claimed step; false: no room, it goes back into the queue. */
bool queued_step_run(Steps *steps, const StepRecord *record);

/* Ends a batch of steps: the work of Steps.ender. */
void queued_steps_end(JobContext *context, BatchItem *const *items, size_t count);

/* Frees the steps that a loop still runs once it has stopped. */
void queued_steps_free(StepLoop *loop);
