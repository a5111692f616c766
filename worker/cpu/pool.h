/* The compute threads: a queue of work that any thread may add to, and loops whose iterations the threads
 * share with the caller.
 *
 * Ownership: work belongs to whoever queues it and must live until its run() begins; run() may free it.
 * Threads:   any; pool_free() is called when no work is queued, and not from a pool thread.
 * Errors:    only pool_new() can fail. */
#pragma once

#include "worker/runtime/device.h"

typedef struct Pool Pool;

enum { POOL_THREADS_MAX = 1024 };

/* Returns NULL when the threads cannot be made. `thread_count` is 1 to POOL_THREADS_MAX. */
MUST_USE Pool *pool_new(int thread_count);
void pool_free(Pool *pool); /* NULL is allowed; ends and joins the threads */

/* Do as Device.schedule, is_wanted and parallel_for (worker/runtime/device.h). */
void pool_schedule(Pool *pool, DeviceWork *work);
bool pool_is_wanted(Pool *pool);
void pool_parallel_for(Pool *pool, int64_t count, void (*body)(void *context, int64_t index), void *context);

/* Does as Device.computed_ns. */
uint64_t pool_computed_ns(void);
