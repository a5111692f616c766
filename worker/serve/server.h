/* The worker's HTTP/2 service, as main.c starts and stops it.
 *
 * Threads: worker_run() starts one for each loop; worker_stop() may be called on any thread. */
#pragma once

#include "worker/serve/worker.h"

/* Makes the worker and opens its listening sockets; requests are served only once worker_run() is called. */
MUST_USE Status worker_open(Call *call, const WorkerOptions *options, Device *device, Worker **ret_worker);

/* Serves until worker_stop(); the calling thread runs the first loop. */
void worker_run(Worker *worker);

/* Refuses new runs, lets running ones end for at most `grace_ms`, then stops the loops. A second call changes
 * nothing. The worker calls it itself when its accelerator goes out of service. */
void worker_stop(Worker *worker, uint32_t grace_ms);

/* Returns why the worker's accelerator is out of service, so that only a new process can serve it again;
 * NULL: it is not. */
const char *worker_fault(const Worker *worker);
void worker_close(Worker *worker); /* must follow the return of worker_run(); NULL is allowed */
