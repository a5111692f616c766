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

/* Returns NULL when the threads cannot be made. `thread_count` is 1 to POOL_THREADS_MAX, `core_count` on how
 * many cores they may run: threads that share a core sleep at once when they have nothing to do. */
MUST_USE Pool *pool_new(int thread_count, int core_count);
void pool_free(Pool *pool); /* NULL is allowed; ends and joins the threads */

/* Do as Device.schedule and is_wanted (worker/runtime/device.h). */
void pool_schedule(Pool *pool, DeviceWork *work);
bool pool_is_wanted(Pool *pool);

/* Does as Device.takes_over. */
bool pool_takes_over(Pool *pool, uint64_t cost_ns);

/* Does as Device.parallel_for. `kind`: a number that loops have in common whose iterations take about as
 * long, if there are equally many. */
void pool_parallel_for(
    Pool *pool, uintptr_t kind, int64_t count, void (*body)(void *context, int64_t index), void *context);

/* Does as Device.computed_ns. */
uint64_t pool_computed_ns(void);
