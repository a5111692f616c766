/* One lock guards a first-in-first-out queue and a list of open loops. A thread that finds neither spins
 * for a moment (waking up takes longer than most kernels), then sleeps; whoever adds work wakes one
 * thread, if any sleeps.
 *
 * A loop lives on its caller's stack. The caller takes iterations like the other threads; when none is
 * left it closes the loop, so that no thread joins any more, and waits for those that are still inside. It
 * never waits for work that has not begun, so loops may nest.
 *
 * What a pool thread computes is told by its CPU clock, so that a thread that had to wait for a core has not
 * computed meanwhile. On other threads, which run short work only, it is the monotonic clock: reading it
 * takes a tenth of the time. */
#include "worker/cpu/pool.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/list.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum { SPIN_COUNT = 2000 }; /* a few microseconds */

typedef struct Loop {
    ListLink link;
    void (*body)(void *context, int64_t index);
    void *context;
    int64_t count;
    int64_t next;       /* atomic: the next iteration to be taken */
    int32_t inside;     /* pool threads that take part; decremented without the lock */
    uint64_t helped_ns; /* atomic: time that they computed in it */
} Loop;

struct Pool {
    Mutex lock;
    Condition has_work;
    DeviceWork *first;
    DeviceWork *last;
    ListLink loops;
    int32_t pending; /* atomic: queued work and open loops, which spinning threads watch */
    int32_t queued;  /* atomic: queued work alone, for which running work may give way */
    int sleeping;
    bool is_ending;
    int thread_count;
    pthread_t threads[];
};

/* The calling thread's part in what is computed. */
static _Thread_local struct {
    bool is_of_pool;
    uint64_t helped_ns; /* time that other threads have computed in its loops */
} my_part;

uint64_t
pool_computed_ns(void)
{
    return (my_part.is_of_pool ? clock_thread_ns() : clock_monotonic_ns()) + my_part.helped_ns;
}

static inline void
spin_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void
loop_take_part(Loop *loop)
{
    int64_t index = atomic_fetch_add_relaxed(&loop->next, 1);
    while (index < loop->count) {
        loop->body(loop->context, index);
        index = atomic_fetch_add_relaxed(&loop->next, 1);
    }
}

static void
loop_help(Loop *loop)
{
    uint64_t before_ns = pool_computed_ns();
    loop_take_part(loop);
    atomic_add_relaxed(&loop->helped_ns, pool_computed_ns() - before_ns);
}

static bool
loop_has_more(Loop *loop)
{
    return atomic_load_relaxed(&loop->next) < loop->count;
}

/* Called under the lock. Skips an open loop without iterations left: its caller will close it. */
static Loop *
pool_join_loop(Pool *pool)
{
    LIST_EACH(&pool->loops, link)
    {
        Loop *loop = LIST_ITEM(link, Loop, link);
        if (loop_has_more(loop)) {
            atomic_add_relaxed(&loop->inside, 1);
            return loop;
        }
    }
    return NULL;
}

static void
loop_leave(Loop *loop)
{
    /* Nothing touches `loop` from here on: the caller's frame may be gone. */
    atomic_sub_acq_rel(&loop->inside, 1);
}

static void
pool_open_loop(Pool *pool, Loop *loop)
{
    mutex_lock(&pool->lock);
    list_append(&pool->loops, &loop->link);
    atomic_add_relaxed(&pool->pending, 1);
    int64_t wanted = loop->count - 1 < pool->sleeping ? loop->count - 1 : pool->sleeping;
    mutex_unlock(&pool->lock);
    for (int64_t i = 0; i < wanted; i++) {
        condition_signal(&pool->has_work);
    }
}

static void
pool_close_loop(Pool *pool, Loop *loop)
{
    mutex_lock(&pool->lock);
    list_remove(&loop->link);
    atomic_sub_relaxed(&pool->pending, 1);
    mutex_unlock(&pool->lock);
    for (int spins = 0; atomic_load_acquire(&loop->inside) > 0; spins++) {
        spins < SPIN_COUNT ? spin_pause() : (void)sched_yield();
    }
}

void
pool_parallel_for(Pool *pool, int64_t count, void (*body)(void *context, int64_t index), void *context)
{
    Loop loop = {.body = body, .context = context, .count = count};
    if (count <= 1) {
        loop_take_part(&loop);
        return;
    }
    pool_open_loop(pool, &loop);
    loop_take_part(&loop);
    pool_close_loop(pool, &loop);
    my_part.helped_ns += loop.helped_ns;
}

void
pool_schedule(Pool *pool, DeviceWork *work)
{
    work->next = NULL;
    mutex_lock(&pool->lock);
    if (pool->last == NULL) {
        pool->first = work;
    } else {
        pool->last->next = work;
    }
    pool->last = work;
    atomic_add_relaxed(&pool->pending, 1);
    atomic_add_relaxed(&pool->queued, 1);
    bool has_sleeper = pool->sleeping > 0;
    mutex_unlock(&pool->lock);
    if (has_sleeper) {
        condition_signal(&pool->has_work);
    }
}

bool
pool_is_wanted(Pool *pool)
{
    return atomic_load_relaxed(&pool->queued) > 0;
}

static DeviceWork *
pool_take(Pool *pool)
{
    DeviceWork *work = pool->first;
    if (work != NULL) {
        pool->first = work->next;
        if (pool->first == NULL) {
            pool->last = NULL;
        }
        atomic_sub_relaxed(&pool->pending, 1);
        atomic_sub_relaxed(&pool->queued, 1);
    }
    return work;
}

static void
pool_spin(Pool *pool)
{
    for (int spins = 0; spins < SPIN_COUNT; spins++) {
        if (atomic_load_relaxed(&pool->pending) > 0) {
            return;
        }
        spin_pause();
    }
}

/* Takes open loops first, as their callers hold a thread until they end. Returns false when there was
 * nothing to do. */
static bool
pool_work_once(Pool *pool)
{
    mutex_lock(&pool->lock);
    Loop *loop = pool_join_loop(pool);
    DeviceWork *work = loop == NULL ? pool_take(pool) : NULL;
    mutex_unlock(&pool->lock);
    if (loop != NULL) {
        loop_help(loop);
        loop_leave(loop);
    } else if (work != NULL) {
        work->run(work);
    }
    return loop != NULL || work != NULL;
}

static bool
pool_has_work(Pool *pool)
{
    LIST_EACH(&pool->loops, link)
    {
        if (loop_has_more(LIST_ITEM(link, Loop, link))) {
            return true;
        }
    }
    return pool->first != NULL;
}

/* Returns false when the pool ends. */
static bool
pool_sleep(Pool *pool)
{
    mutex_lock(&pool->lock);
    while (!pool_has_work(pool) && !pool->is_ending) {
        pool->sleeping++;
        condition_wait(&pool->has_work, &pool->lock);
        pool->sleeping--;
    }
    bool is_ending = pool->is_ending && !pool_has_work(pool);
    mutex_unlock(&pool->lock);
    return !is_ending;
}

static void *
pool_thread(void *argument)
{
    Pool *pool = argument;
    my_part.is_of_pool = true;
    do {
        while (pool_work_once(pool)) {}
        pool_spin(pool);
    } while (pool_work_once(pool) || pool_sleep(pool));
    return NULL;
}

static void
pool_end(Pool *pool)
{
    mutex_lock(&pool->lock);
    pool->is_ending = true;
    mutex_unlock(&pool->lock);
    condition_broadcast(&pool->has_work);
    for (int i = 0; i < pool->thread_count; i++) {
        pthread_join(pool->threads[i], NULL);
    }
    condition_done(&pool->has_work);
    mutex_done(&pool->lock);
    memory_free(pool);
}

Pool *
pool_new(int thread_count)
{
    assert(thread_count >= 1 && thread_count <= POOL_THREADS_MAX);
    Pool *pool = memory_new(1, sizeof *pool + (size_t)thread_count * sizeof pool->threads[0]);
    if (pool == NULL) {
        return NULL;
    }
    mutex_init(&pool->lock);
    condition_init(&pool->has_work);
    list_init(&pool->loops);
    while (pool->thread_count < thread_count) {
        if (pthread_create(&pool->threads[pool->thread_count], NULL, pool_thread, pool) != 0) {
            pool_end(pool);
            return NULL;
        }
        pool->thread_count++;
    }
    return pool;
}

void
pool_free(Pool *pool)
{
    if (pool != NULL) {
        assert(pool->first == NULL && list_is_empty(&pool->loops));
        pool_end(pool);
    }
}
