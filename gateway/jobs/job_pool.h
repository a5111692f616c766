/* Job threads do everything that waits or takes long, so that loop threads never do.
 *
 * Tenants take turns: each has a lane, from which one job is taken before the next tenant's. No tenant's jobs
 * have all threads at a time. Jobs that may compute for longer than some milliseconds (is_long) have half of
 * the threads together, so that the others never wait for the end of one.
 *
 * Each thread makes a context of its own when it starts and hands it to every job. The queue is bounded, and
 * a tenant's lane has as much of it as stays free for all others, half when it is alone: a full queue is an
 * answer (503), not a wait.
 *
 * Ownership: a Job lives inside its owner's struct, from job_submit() until `done` is called.
 * Threads:   job_submit() from any; `run` on a job thread; `done` on the job's loop.
 * Errors:    job_pool_new() fails as the first context_new does, or with UNAVAILABLE for threads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "shared/base/call.h"
#include "shared/base/uuid.h"
#include "shared/net/loop.h"

typedef struct JobPool JobPool;
typedef struct JobContext JobContext; /* job_context.h; a test may have its own */
typedef struct Job Job;

struct Job {
    Task task; /* first: brings `done` back to the loop */
    Job *next;
    Loop *loop;
    TenantId tenant; /* whose work it is; zero: the gateway's own */
    bool is_long;    /* it may compute for longer than some milliseconds */
    void (*run)(Job *job, JobContext *context);
    void (*done)(Job *job); /* NULL when nobody waits; the job is its own owner then */
};

typedef struct JobPoolOptions {
    int thread_count; /* 0: 4 */
    int queue_max;    /* jobs waiting; 0: 2048 */
    Status (*context_new)(Call *call, const void *owner, JobContext **ret_context); /* NULL: no context */
    void (*context_free)(JobContext *context);
    const void *owner;
} JobPoolOptions;

/* Starts the threads, and returns when each has its context, or with the first failure. */
MUST_USE Status job_pool_new(Call *call, const JobPoolOptions *options, JobPool **ret_pool);

/* Runs all queued jobs, then ends the threads; takes no job from then on, and says so as when it is full. The
 * loops must still run, or be turned, for the jobs' `done` to be called. NULL is allowed. */
void job_pool_stop(JobPool *pool);

/* Stops the pool, unless that has been done, and frees it. Nobody may submit a job any more: not before the
 * loops are freed whose timers do. NULL is allowed. */
void job_pool_free(JobPool *pool);

/* Takes a job. False when the queue, or its tenant's part, is full: the job was not taken. */
MUST_USE bool job_submit(JobPool *pool, Job *job);

size_t job_pool_waiting(JobPool *pool);
