/* One step from the durable queue, run by this gateway: a StepCall without a client.
 *
 * Happy path: the runner claims it → a job thread says that it runs, loads graph, feeds and plan → its loop
 * dispatches it → outputs and end are stored in one transaction, together with those of others → it is
 * forgotten.
 *
 * Failures: a passing one (no worker, a worker that died) puts it back for another attempt; any other ends
 * it; with PostgreSQL gone the end is tried again until the lease is somebody else's.
 *
 * Threads: queued_step_run() the runner's; the rest its loop's and job threads. */
#pragma once

#include "gateway/jobs/batcher.h"
#include "gateway/steps/step_loop.h"

/* For QueueRunnerOptions.run; `context` is the Gateway. */
bool queued_step_run(void *context, const StepRecord *record);

/* For the gateway's batcher of ends. */
void queued_steps_end(JobContext *context, BatchItem *const *items, size_t count);

/* Frees what a loop still has, once it has stopped. */
void queued_steps_free(StepLoop *loop);
