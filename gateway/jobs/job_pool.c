#include "gateway/jobs/job_pool.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum { THREADS_DEFAULT = 4, QUEUE_DEFAULT = 1024 };

struct JobPool {
    JobPoolOptions options;
    Mutex mutex; /* guards the members below */
    Condition has_job;
    Condition has_started;
    Job *first;
    Job **last;
    int waiting;
    bool is_closing;

    int started_count; /* threads that have made their context or failed to */
    int thread_count;
    Call *start_call; /* gets the first failure to start; NULL once job_pool_new() has returned */
    Status start_status;
    pthread_t threads[];
};

/* Takes the oldest job; NULL when the pool is closing and the queue is empty. */
static Job *
job_take(JobPool *pool)
{
    mutex_lock(&pool->mutex);
    while (pool->first == NULL && !pool->is_closing) {
        condition_wait(&pool->has_job, &pool->mutex);
    }
    Job *job = pool->first;
    if (job != NULL) {
        pool->first = job->next;
        pool->last = pool->first == NULL ? &pool->first : pool->last;
        pool->waiting--;
    }
    mutex_unlock(&pool->mutex);
    return job;
}

static void
job_done(Task *task)
{
    Job *job = (Job *)task;
    job->done(job);
}

static void
job_run(Job *job, JobContext *context)
{
    bool has_owner = job->done != NULL; /* a job without one may be gone after its run */
    Loop *loop = job->loop;
    job->run(job, context);
    if (has_owner) {
        job->task.run = job_done;
        loop_post(loop, &job->task);
    }
}

/* Makes contexts one after the other, so that one thread at a time uses the call. */
static bool
context_make(JobPool *pool, JobContext **ret_context)
{
    mutex_lock(&pool->mutex);
    if (pool->start_status == STATUS_OK && pool->options.context_new != NULL) {
        pool->start_status = pool->options.context_new(pool->start_call, pool->options.owner, ret_context);
    }
    bool is_ready = pool->start_status == STATUS_OK;
    pool->started_count++;
    condition_signal(&pool->has_started);
    mutex_unlock(&pool->mutex);
    return is_ready;
}

static void *
thread_run(void *argument)
{
    JobPool *pool = argument;
    JobContext *context = NULL;
    if (!context_make(pool, &context)) {
        return NULL;
    }
    for (Job *job = job_take(pool); job != NULL; job = job_take(pool)) {
        job_run(job, context);
    }
    if (pool->options.context_free != NULL) {
        pool->options.context_free(context);
    }
    return NULL;
}

static Status
threads_start(Call *call, JobPool *pool)
{
    int error = 0;
    while (pool->thread_count < pool->options.thread_count && error == 0) {
        error = pthread_create(&pool->threads[pool->thread_count], NULL, thread_run, pool);
        pool->thread_count += error == 0;
    }
    mutex_lock(&pool->mutex);
    while (pool->started_count < pool->thread_count) {
        condition_wait(&pool->has_started, &pool->mutex);
    }
    Status status = pool->start_status;
    pool->start_call = NULL;
    mutex_unlock(&pool->mutex);
    if (error != 0) {
        return call_fail(call, STATUS_UNAVAILABLE, "cannot start job thread %d of %d: %s",
            pool->thread_count + 1, pool->options.thread_count, strerror(error));
    }
    return status;
}

Status
job_pool_new(Call *call, const JobPoolOptions *options, JobPool **ret_pool)
{
    assert(options->thread_count >= 0 && options->queue_max >= 0);

    int thread_count = options->thread_count > 0 ? options->thread_count : THREADS_DEFAULT;
    JobPool *pool = memory_new(1, sizeof *pool + (size_t)thread_count * sizeof(pthread_t));
    if (pool == NULL) {
        return call_fail_memory(call, "the job threads");
    }
    pool->options = *options;
    pool->options.thread_count = thread_count;
    pool->options.queue_max = options->queue_max > 0 ? options->queue_max : QUEUE_DEFAULT;
    pool->last = &pool->first;
    pool->start_call = call;
    mutex_init(&pool->mutex);
    condition_init(&pool->has_job);
    condition_init(&pool->has_started);
    Status status = threads_start(call, pool);
    if (status != STATUS_OK) {
        job_pool_free(pool);
        return status;
    }
    *ret_pool = pool;
    return STATUS_OK;
}

void
job_pool_free(JobPool *pool)
{
    if (pool == NULL) {
        return;
    }
    mutex_lock(&pool->mutex);
    pool->is_closing = true;
    condition_broadcast(&pool->has_job);
    mutex_unlock(&pool->mutex);
    for (int index = 0; index < pool->thread_count; index++) {
        pthread_join(pool->threads[index], NULL);
    }
    condition_done(&pool->has_started);
    condition_done(&pool->has_job);
    mutex_done(&pool->mutex);
    memory_free(pool);
}

bool
job_submit(JobPool *pool, Job *job)
{
    assert(job->run != NULL && (job->done == NULL || job->loop != NULL));

    job->next = NULL;
    mutex_lock(&pool->mutex);
    bool is_taken = pool->waiting < pool->options.queue_max && !pool->is_closing;
    if (is_taken) {
        *pool->last = job;
        pool->last = &job->next;
        pool->waiting++;
        condition_signal(&pool->has_job);
    }
    mutex_unlock(&pool->mutex);
    return is_taken;
}

size_t
job_pool_waiting(JobPool *pool)
{
    mutex_lock(&pool->mutex);
    int waiting = pool->waiting;
    mutex_unlock(&pool->mutex);
    return (size_t)waiting;
}
