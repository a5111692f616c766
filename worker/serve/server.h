/* The worker's HTTP/2 service as main.c starts and stops it.
 *
 * Threads: one a loop; worker_stop() from any. */
#pragma once

#include "worker/serve/worker.h"

/* Opens the listening sockets: requests are served once worker_run() is called. */
MUST_USE Status worker_open(Call *call, const WorkerOptions *options, Device *device, Worker **ret_worker);

/* Serves until worker_stop(); the calling thread runs the first loop. */
void worker_run(Worker *worker);

/* Refuses new runs, lets running ones end (at most `grace_ms`), then stops the loops. Any thread. */
void worker_stop(Worker *worker, uint32_t grace_ms);
void worker_close(Worker *worker); /* after worker_run() has returned; NULL is allowed */
