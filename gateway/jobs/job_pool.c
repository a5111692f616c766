#include "gateway/jobs/job_pool.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "shared/base/memory.h"

enum { THREADS_DEFAULT = 4, QUEUE_DEFAULT = 1024 };

struct JobPool {
    JobPoolOptions options;
    pthread_mutex_t mutex; /* guards what stands below */
    pthread_cond_t has_job;
    pthread_cond_t has_started;
    Job *first;
    Job **last;
    int waiting;
    bool is_closing;

    int started_count; /* threads that have made their context or failed to */
    int thread_count;
    Call *start_call; /* where the first failure to start is told; NULL once job_pool_new() has returned */
    Status start_status;
    pthread_t threads[];
};

/* The oldest job, or NULL when the pool is closing and the queue is empty. */
static Job *
job_take(JobPool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    while (pool->first == NULL && !pool->is_closing) {
        pthread_cond_wait(&pool->has_job, &pool->mutex);
    }
    Job *const job = pool->first;
    if (job != NULL) {
        pool->first = job->next;
        pool->last = pool->first == NULL ? &pool->first : pool->last;
        pool->waiting--;
    }
    pthread_mutex_unlock(&pool->mutex);
    return job;
}

static void
job_done(Task *task)
{
    Job *const job = (Job *)task;
    job->done(job);
}

static void
job_run(Job *job, void *context)
{
    const bool has_owner = job->done != NULL; /* a job without one may be gone after its run */
    Loop *const loop = job->loop;
    job->run(job, context);
    if (has_owner) {
        job->task.run = job_done;
        loop_post(loop, &job->task);
    }
}

/* Contexts are made one after the other, so that the call is used by one thread at a time. */
static bool
context_make(JobPool *pool, void **ret_context)
{
    pthread_mutex_lock(&pool->mutex);
    if (pool->start_status == STATUS_OK && pool->options.context_new != NULL) {
        pool->start_status = pool->options.context_new(pool->start_call, pool->options.owner, ret_context);
    }
    const bool is_ready = pool->start_status == STATUS_OK;
    pool->started_count++;
    pthread_cond_signal(&pool->has_started);
    pthread_mutex_unlock(&pool->mutex);
    return is_ready;
}

static void *
thread_run(void *argument)
{
    JobPool *const pool = argument;
    void *context = NULL;
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
    pthread_mutex_lock(&pool->mutex);
    while (pool->started_count < pool->thread_count) {
        pthread_cond_wait(&pool->has_started, &pool->mutex);
    }
    const Status status = pool->start_status;
    pool->start_call = NULL;
    pthread_mutex_unlock(&pool->mutex);
    if (error != 0) {
        return call_fail(call, STATUS_UNAVAILABLE, "cannot start job thread %d of %d: %s",
            pool->thread_count + 1, pool->options.thread_count, strerror(error));
    }
    return status;
}

Status
job_pool_new(Call *call, const JobPoolOptions *options, JobPool **ret_pool)
{
    const int thread_count = options->thread_count > 0 ? options->thread_count : THREADS_DEFAULT;
    JobPool *const pool = memory_new(1, sizeof *pool + (size_t)thread_count * sizeof(pthread_t));
    if (pool == NULL) {
        return call_fail_memory(call, "the job threads");
    }
    pool->options = *options;
    pool->options.thread_count = thread_count;
    pool->options.queue_max = options->queue_max > 0 ? options->queue_max : QUEUE_DEFAULT;
    pool->last = &pool->first;
    pool->start_call = call;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->has_job, NULL);
    pthread_cond_init(&pool->has_started, NULL);
    const Status status = threads_start(call, pool);
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
    pthread_mutex_lock(&pool->mutex);
    pool->is_closing = true;
    pthread_cond_broadcast(&pool->has_job);
    pthread_mutex_unlock(&pool->mutex);
    for (int index = 0; index < pool->thread_count; index++) {
        pthread_join(pool->threads[index], NULL);
    }
    pthread_cond_destroy(&pool->has_started);
    pthread_cond_destroy(&pool->has_job);
    pthread_mutex_destroy(&pool->mutex);
    memory_free(pool);
}

bool
job_submit(JobPool *pool, Job *job)
{
    assert(job->run != NULL && (job->done == NULL || job->loop != NULL));

    job->next = NULL;
    pthread_mutex_lock(&pool->mutex);
    const bool is_taken = pool->waiting < pool->options.queue_max && !pool->is_closing;
    if (is_taken) {
        *pool->last = job;
        pool->last = &job->next;
        pool->waiting++;
        pthread_cond_signal(&pool->has_job);
    }
    pthread_mutex_unlock(&pool->mutex);
    return is_taken;
}

size_t
job_pool_waiting(JobPool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    const int waiting = pool->waiting;
    pthread_mutex_unlock(&pool->mutex);
    return (size_t)waiting;
}
