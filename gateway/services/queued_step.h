/* One step from the durable queue, run by this gateway: a StepCall without a client.
 *
 * Happy path: the runner claims it → a job thread says that it runs, loads graph, feeds and plan → its loop
 * dispatches it → a job thread stores the outputs and the end in one transaction → it is forgotten.
 *
 * Failures: a passing one (no worker, a worker that died) puts it back for another attempt; any other ends
 * it; with PostgreSQL gone the end is tried again until the lease is somebody else's.
 *
 * Threads: queued_step_run() the runner's; the rest its loop's and job threads. */
#pragma once

#include "gateway/services/gateway.h"

/* For QueueRunnerOptions.run; `context` is the Gateway. */
bool queued_step_run(void *context, const StepRecord *record);

/* Frees what a loop still has, once it has stopped. */
void queued_steps_free(GatewayLoop *loop);
