#include "gateway/jobs/job_pool.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "shared/base/list.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum { THREADS_DEFAULT = 4, QUEUE_DEFAULT = 2048 };

typedef struct LaneKey {
    TenantId tenant;
    bool is_long;
} LaneKey;
_Static_assert(sizeof(LaneKey) == sizeof(TenantId) + 1, "a key is compared byte by byte");

/* The jobs of one tenant and one kind. */
typedef struct Lane {
    ListLink link; /* in JobPool.lanes while jobs wait */
    LaneKey key;
    Job *first;
    Job **last;
    int waiting_count;
    int running_count;
} Lane;

struct JobPool {
    JobPoolOptions options;
    Mutex mutex; /* guards the members below */
    Condition has_job;
    Condition has_started;
    Map *lanes_by_key;
    ListLink lanes; /* those with waiting jobs, the next to be served first */
    int long_count; /* long jobs that run */
    int waiting;
    bool is_closing;

    int started_count; /* threads that have made their context or failed to */
    int thread_count;
    Call *start_call; /* gets the first failure to start; NULL once job_pool_new() has returned */
    Status start_status;
    pthread_t threads[];
};

static Slice
key_of(const LaneKey *key)
{
    return slice_of(key, sizeof *key);
}

static int
at_least_one(int count)
{
    return count > 1 ? count : 1;
}

/* Returns whether a job of this lane may begin now. The mutex is held. */
static bool
may_begin(const JobPool *pool, const Lane *lane)
{
    int thread_count = pool->options.thread_count;
    int long_max = at_least_one(thread_count / 2);
    int lane_max = at_least_one(lane->key.is_long ? long_max / 2 : thread_count - 1);
    return lane->running_count < lane_max && (!lane->key.is_long || pool->long_count < long_max);
}

/* Takes the oldest job of the first lane that may begin one, and puts the lane behind the others. NULL when
 * there is none. The mutex is held. */
static Job *
lanes_take(JobPool *pool, Lane **ret_lane)
{
    LIST_EACH(&pool->lanes, link)
    {
        Lane *lane = LIST_ITEM(link, Lane, link);
        if (may_begin(pool, lane)) {
            Job *job = lane->first;
            lane->first = job->next;
            lane->last = lane->first == NULL ? &lane->first : lane->last;
            list_remove(&lane->link);
            if (lane->first != NULL) {
                list_append(&pool->lanes, &lane->link);
            }
            lane->waiting_count--;
            lane->running_count++;
            pool->long_count += lane->key.is_long;
            pool->waiting--;
            *ret_lane = lane;
            return job;
        }
    }
    return NULL;
}

/* Takes a job; NULL when the pool is closing and nothing waits. */
static Job *
job_take(JobPool *pool, Lane **ret_lane)
{
    mutex_lock(&pool->mutex);
    Job *job = lanes_take(pool, ret_lane);
    while (job == NULL && !(pool->is_closing && pool->waiting == 0)) {
        condition_wait(&pool->has_job, &pool->mutex);
        job = lanes_take(pool, ret_lane);
    }
    mutex_unlock(&pool->mutex);
    return job;
}

static void
lane_free_if_idle(JobPool *pool, Lane *lane)
{
    if (lane->running_count == 0 && lane->first == NULL) {
        (void)map_remove(pool->lanes_by_key, key_of(&lane->key));
        memory_free(lane);
    }
}

/* Notes the end of a job, after which another of its lane or kind may begin. */
static void
lane_leave(JobPool *pool, Lane *lane)
{
    mutex_lock(&pool->mutex);
    lane->running_count--;
    pool->long_count -= lane->key.is_long;
    lane_free_if_idle(pool, lane);
    if (pool->waiting > 0 || pool->is_closing) {
        condition_broadcast(&pool->has_job);
    }
    mutex_unlock(&pool->mutex);
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
    Lane *lane = NULL;
    for (Job *job = job_take(pool, &lane); job != NULL; job = job_take(pool, &lane)) {
        job_run(job, context);
        lane_leave(pool, lane);
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
    Map *lanes = map_new();
    if (pool == NULL || lanes == NULL) {
        memory_free(pool);
        map_free(lanes);
        return call_fail_memory(call, "the job threads");
    }
    pool->options = *options;
    pool->options.thread_count = thread_count;
    pool->options.queue_max = options->queue_max > 0 ? options->queue_max : QUEUE_DEFAULT;
    pool->lanes_by_key = lanes;
    list_init(&pool->lanes);
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
job_pool_stop(JobPool *pool)
{
    if (pool == NULL) {
        return;
    }
    mutex_lock(&pool->mutex);
    pool->is_closing = true;
    condition_broadcast(&pool->has_job);
    mutex_unlock(&pool->mutex);
    while (pool->thread_count > 0) {
        pthread_join(pool->threads[--pool->thread_count], NULL);
    }
}

void
job_pool_free(JobPool *pool)
{
    if (pool == NULL) {
        return;
    }
    job_pool_stop(pool);
    map_free(pool->lanes_by_key);
    condition_done(&pool->has_started);
    condition_done(&pool->has_job);
    mutex_done(&pool->mutex);
    memory_free(pool);
}

/* Returns the lane of a job, a new one if need be; NULL without memory. The mutex is held. */
static Lane *
lane_find(JobPool *pool, const Job *job)
{
    LaneKey key = {.tenant = job->tenant, .is_long = job->is_long};
    Lane *lane = map_get(pool->lanes_by_key, key_of(&key));
    if (lane != NULL) {
        return lane;
    }
    lane = memory_new(1, sizeof *lane);
    if (lane == NULL || !map_put(pool->lanes_by_key, key_of(&key), lane)) {
        memory_free(lane);
        return NULL;
    }
    *lane = (Lane){.key = key};
    lane->last = &lane->first;
    list_init(&lane->link);
    return lane;
}

/* Returns whether one more job may wait in this lane: a tenant's has as many as stay free for all others
 * together. The mutex is held. */
static bool
may_wait(const JobPool *pool, const Lane *lane)
{
    return uuid_is_zero(lane->key.tenant.value) ||
           lane->waiting_count < pool->options.queue_max - pool->waiting;
}

bool
job_submit(JobPool *pool, Job *job)
{
    assert(job->run != NULL && (job->done == NULL || job->loop != NULL));

    job->next = NULL;
    mutex_lock(&pool->mutex);
    bool has_room = pool->waiting < pool->options.queue_max && !pool->is_closing;
    Lane *lane = has_room ? lane_find(pool, job) : NULL;
    bool is_taken = lane != NULL && may_wait(pool, lane);
    if (is_taken) {
        if (lane->first == NULL) {
            list_append(&pool->lanes, &lane->link);
        }
        *lane->last = job;
        lane->last = &job->next;
        lane->waiting_count++;
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
