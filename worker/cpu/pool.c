/* One lock guards a first-in-first-out queue and a list of open loops. A thread that finds neither looks for
 * work for a moment, since another loop is likely and waking up takes longer than most kernels; then it
 * sleeps. While others run queued work, which may open loops, it looks as long as it has computed, so that
 * looking takes no more time than what it is good for.
 *
 * A loop lives on its caller's stack. The caller takes iterations like the other threads; when none is
 * left it closes the loop, so that no thread joins any more, and waits for those that are still inside. It
 * never waits for work that has not begun, so loops may nest.
 *
 * Threads that look for work join a loop by themselves, within a microsecond. To wake a sleeping one takes
 * the caller longer than many loops: it wakes as many as the loop is expected to be worth (loop_costs.h,
 * wake_cost.h), by itself only one, and each that wakes up wakes others. Of loops too small for that, the
 * work is added up: when many of them follow one another, somebody is woken too.
 *
 * What a pool thread computes is told by its CPU clock, so that a thread that had to wait for a core has not
 * computed meanwhile. On other threads, which run short work only, it is the monotonic clock: reading it
 * takes a thirtieth of the time. So does a thread that takes part in a short loop. */
#include "worker/cpu/pool.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/list.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "worker/cpu/host_cores.h"
#include "worker/cpu/loop_costs.h"
#include "worker/cpu/sizes.h"
#include "worker/cpu/wake_cost.h"

enum {
    PAUSES = 16,        /* between two looks at the clock: a fraction of a microsecond */
    CLOSE_SPINS = 2000, /* pauses before a caller that waits for the end of its loop gives its core away */
    WAKES_EACH = 2,     /* sleeping threads that one thread wakes for a loop */
};

/* Nanoseconds. */
enum {
    SHARED_MIN = 4 * 1000,    /* a shorter loop is handed to nobody */
    HANDED_MIN = 10 * 1000,   /* a node that takes less stays where its inputs are in the cache */
    FOLLOWS_MAX = 100 * 1000, /* loops with a longer pause between them do not add up to a wake */
    LOOK_MIN = 5 * 1000,      /* so long a thread looks for work that found none the last times … */
    LOOK_MAX = 100 * 1000,    /* … and one that found some: about twice what sleeping and waking up take */
    LATE_MIN = 50 * 1000, /* while others run work: so long looks who was woken for a loop that has ended … */
    EARNED_MAX = 1000 * 1000, /* … and so long at most who has computed as long */
    LOST_MIN = 50 * 1000,     /* who could not look for so long has lost its core to others */
    TRUSTED_MAX = 200 * 1000, /* in a shorter time a thread is taken to have kept its core */
};

typedef struct Loop {
    ListLink link;
    void (*body)(void *context, int64_t index);
    void *context;
    int64_t count;
    uint32_t kind;      /* loop_costs.h */
    int64_t taken;      /* atomic: iterations that were taken, and attempts to take one behind the last */
    int64_t first;      /* the first iteration that its caller has not taken … */
    int64_t helped;     /* … atomic: and how many of the last ones others have */
    int32_t inside;     /* pool threads that take part; decremented without the lock */
    int32_t wakes;      /* atomic: sleeping threads that are still to be woken for it; may fall below 0 */
    uint64_t helped_ns; /* atomic: time that they computed in it */
} Loop;

/* A thread of the pool. */
typedef struct PoolThread {
    Pool *pool;
    pthread_t handle;
    pid_t id; /* by which the system knows it */
    Condition woken;
    ListLink link;    /* in Pool.sleepers; guarded by the lock */
    bool is_asleep;   /* guarded by the lock */
    bool is_kept_off; /* from the core of who wakes it, and who writes this while it is asleep */
    cpu_set_t cores;  /* those that it may use again when it is awake */
} PoolThread;

struct Pool {
    Mutex lock;
    DeviceWork *first;
    DeviceWork *last;
    ListLink loops;
    ListLink sleepers;
    int32_t pending;     /* atomic: queued work and loops with iterations left, which looking threads watch */
    int32_t queued;      /* atomic: queued work alone, for which running work may give way */
    int32_t looking;     /* atomic: threads that look for work */
    int32_t running;     /* atomic: threads that run queued work, which may open loops */
    int32_t sleeping;    /* atomic, changed under the lock */
    uint64_t offered_ns; /* atomic: when a loop was last opened while nobody looked for one */
    uint64_t offered;    /* atomic: the nanoseconds that such loops together were expected to take */
    LoopCosts costs;
    WakeCost wake_cost; /* of threads that are woken for loops */
    bool is_ending;
    bool may_look; /* there is a core for each thread */
    int thread_count;
    PoolThread threads[];
};

/* The calling thread's part in what is computed. */
static _Thread_local struct {
    bool is_of_pool;
    bool hands_over;    /* it is about to schedule work that it could do itself */
    uint64_t helped_ns; /* time that other threads have computed in its loops */
    uint64_t look_ns;   /* how long it looks for work before it sleeps */
    uint64_t earned_ns; /* how long it may look beyond that while others run work that may open loops */
    uint64_t cpu_ns;    /* its CPU clock, as it was when it was last read */
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

/* Returns how many iterations this thread has computed. Its caller takes the first ones and others the last,
 * so that what a thread reads in a loop is mostly what it wrote in the one before: fetching it from another
 * core's cache takes longer than many a kernel. Whoever takes the last one left tells that there is nothing
 * to be found here any more. */
static int64_t
loop_take_part(Pool *pool, Loop *loop, bool is_caller)
{
    int64_t computed = 0;
    int64_t taken = atomic_fetch_add_relaxed(&loop->taken, 1);
    while (taken < loop->count) {
        if (taken == loop->count - 1) {
            atomic_sub_relaxed(&pool->pending, 1);
        }
        int64_t index =
            is_caller ? loop->first++ : loop->count - 1 - atomic_fetch_add_relaxed(&loop->helped, 1);
        loop->body(loop->context, index);
        computed++;
        taken = atomic_fetch_add_relaxed(&loop->taken, 1);
    }
    return computed;
}

/* Returns what this thread computed within the `elapsed_ns` that have just passed. The CPU clock is read only
 * when it may tell something else. */
static uint64_t
computed_within(uint64_t elapsed_ns)
{
    if (elapsed_ns <= TRUSTED_MAX) {
        return elapsed_ns;
    }
    uint64_t before_ns = my_part.cpu_ns;
    my_part.cpu_ns = clock_thread_ns();
    uint64_t spent_ns = my_part.cpu_ns - before_ns;
    return spent_ns < elapsed_ns ? spent_ns : elapsed_ns;
}

/* Returns the thread that fell asleep last, whose caches are the warmest; NULL: there is none. */
static PoolThread *
pool_take_sleeper(Pool *pool)
{
    PoolThread *thread = NULL;
    mutex_lock(&pool->lock);
    if (!list_is_empty(&pool->sleepers)) {
        thread = LIST_ITEM(pool->sleepers.previous, PoolThread, link);
        list_remove(&thread->link);
        atomic_sub_relaxed(&pool->sleeping, 1);
    }
    mutex_unlock(&pool->lock);
    return thread;
}

static void
thread_wake(PoolThread *thread)
{
    mutex_lock(&thread->pool->lock);
    thread->is_asleep = false;
    mutex_unlock(&thread->pool->lock);
    condition_signal(&thread->woken);
}

static void
wake_for_new_work(Pool *pool)
{
    PoolThread *thread = pool_take_sleeper(pool);
    if (thread != NULL) {
        thread_wake(thread);
    }
}

/* Wakes a thread to share what the calling one goes on to compute. On busy cores the kernel wakes a thread
 * where the waking one runs: there it would wait for the end of what it was to share, or take turns. */
static void
wake_helper(Pool *pool)
{
    PoolThread *thread = pool_take_sleeper(pool);
    if (thread != NULL) {
        thread->is_kept_off =
            pool->may_look && host_cores_keep_off(thread->id, sched_getcpu(), &thread->cores);
        wake_begins(&pool->wake_cost, clock_monotonic_ns());
        thread_wake(thread);
    }
}

static void
loop_help(Pool *pool, Loop *loop)
{
    uint64_t helped_before_ns = my_part.helped_ns;
    uint64_t before_ns = clock_monotonic_ns();
    for (int i = 0; i < WAKES_EACH && atomic_load_relaxed(&loop->wakes) > 0; i++) {
        if (atomic_sub_acq_rel(&loop->wakes, 1) >= 0) {
            wake_helper(pool);
        }
    }
    (void)loop_take_part(pool, loop, false);
    uint64_t own_ns = computed_within(clock_monotonic_ns() - before_ns);
    atomic_add_relaxed(&loop->helped_ns, own_ns + my_part.helped_ns - helped_before_ns);
}

static bool
loop_has_more(Loop *loop)
{
    return atomic_load_relaxed(&loop->taken) < loop->count;
}

/* Called under the lock. A caller that is no pool thread computes too: then one pool thread less does. */
static bool
loop_can_be_joined(const Pool *pool, Loop *loop)
{
    return loop_has_more(loop) && atomic_load_relaxed(&loop->inside) < pool->thread_count - 1;
}

/* Called under the lock. Skips an open loop without iterations left: its caller will close it. */
static Loop *
pool_find_loop(Pool *pool)
{
    LIST_EACH(&pool->loops, link)
    {
        Loop *loop = LIST_ITEM(link, Loop, link);
        if (loop_can_be_joined(pool, loop)) {
            return loop;
        }
    }
    return NULL;
}

static Loop *
pool_join_loop(Pool *pool)
{
    Loop *loop = pool_find_loop(pool);
    if (loop != NULL) {
        atomic_add_relaxed(&loop->inside, 1);
    }
    return loop;
}

static void
loop_leave(Loop *loop)
{
    /* Nothing touches `loop` from here on: the caller's frame may be gone. */
    atomic_sub_acq_rel(&loop->inside, 1);
}

/* Adds a loop to those that found nobody looking, and returns whether they are worth a wake together. */
static bool
pool_offer(Pool *pool, uint64_t now_ns, uint64_t expected_ns)
{
    bool follows = now_ns - atomic_load_relaxed(&pool->offered_ns) < FOLLOWS_MAX;
    uint64_t offered = (follows ? atomic_load_relaxed(&pool->offered) : 0) + expected_ns;
    atomic_store_relaxed(&pool->offered_ns, now_ns + expected_ns);
    bool is_worth = wakes_worth(&pool->wake_cost, offered) > 0;
    atomic_store_relaxed(&pool->offered, is_worth ? 0 : offered);
    return is_worth;
}

/* Returns for how many sleeping threads more the loop has work. `expected_ns`: 0 when nobody knows. */
static int64_t
pool_wanted(Pool *pool, const Loop *loop, uint64_t now_ns, uint64_t expected_ns)
{
    int64_t looking = atomic_load_relaxed(&pool->looking);
    int64_t most = smaller_of(loop->count, pool->thread_count) - 1 - looking;
    if (most <= 0 || expected_ns == 0) {
        return most;
    }
    int64_t worth = wakes_worth(&pool->wake_cost, expected_ns);
    if (worth > 0) {
        return smaller_of(most, worth);
    }
    return looking == 0 && pool_offer(pool, now_ns, expected_ns) ? 1 : 0;
}

static void
pool_open_loop(Pool *pool, Loop *loop, uint64_t now_ns, uint64_t expected_ns)
{
    mutex_lock(&pool->lock);
    list_append(&pool->loops, &loop->link);
    int64_t sleeping = pool->sleeping;
    mutex_unlock(&pool->lock);
    atomic_add_relaxed(&pool->pending, 1); /* behind the lock, which who looks takes at once */
    int64_t wanted = sleeping == 0 ? 0 : smaller_of(sleeping, pool_wanted(pool, loop, now_ns, expected_ns));
    if (wanted > 0) {
        atomic_store_relaxed(&loop->wakes, (int32_t)wanted - 1);
        wake_helper(pool);
    }
}

static void
pool_close_loop(Pool *pool, Loop *loop)
{
    mutex_lock(&pool->lock);
    list_remove(&loop->link);
    mutex_unlock(&pool->lock);
    for (int spins = 0; atomic_load_acquire(&loop->inside) > 0; spins++) {
        spins < CLOSE_SPINS ? spin_pause() : (void)sched_yield();
    }
}

/* Computes a loop that is not worth to be shared. */
static void
run_alone(const Loop *loop)
{
    for (int64_t index = 0; index < loop->count; index++) {
        loop->body(loop->context, index);
    }
}

void
pool_parallel_for(
    Pool *pool, uintptr_t kind, int64_t count, void (*body)(void *context, int64_t index), void *context)
{
    Loop loop = {.body = body, .context = context, .count = count, .kind = loop_kind(kind, count)};
    if (count <= 1 || pool->thread_count == 1) {
        run_alone(&loop);
        return;
    }
    uint64_t before_ns = clock_monotonic_ns();
    uint64_t expected_ns = loop_cost(&pool->costs, loop.kind) * (uint64_t)count;
    int64_t taken = count;
    if (expected_ns != 0 && expected_ns < SHARED_MIN) {
        run_alone(&loop);
    } else {
        pool_open_loop(pool, &loop, before_ns, expected_ns);
        before_ns = clock_monotonic_ns();
        taken = loop_take_part(pool, &loop, true);
    }
    if (taken > 0) {
        loop_cost_note(&pool->costs, loop.kind, taken, clock_monotonic_ns() - before_ns);
    }
    if (expected_ns == 0 || expected_ns >= SHARED_MIN) {
        pool_close_loop(pool, &loop);
        my_part.helped_ns += loop.helped_ns;
    }
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
    /* A thread that looks for work may have lost its core: one that sleeps is woken all the same. */
    bool has_sleeper = pool->sleeping > 0;
    mutex_unlock(&pool->lock);
    if (has_sleeper) {
        my_part.hands_over ? wake_helper(pool) : wake_for_new_work(pool);
    }
    my_part.hands_over = false;
}

bool
pool_is_wanted(Pool *pool)
{
    return atomic_load_relaxed(&pool->queued) > 0;
}

bool
pool_takes_over(Pool *pool, uint64_t cost_ns)
{
    int32_t queued = atomic_load_relaxed(&pool->queued);
    int32_t looking = atomic_load_relaxed(&pool->looking);
    int32_t idle = looking + atomic_load_relaxed(&pool->sleeping);
    if (pool->thread_count == 1 || (!my_part.is_of_pool && idle - queued < 2)) {
        return false;
    }
    my_part.hands_over =
        looking > queued ? cost_ns >= HANDED_MIN : wakes_worth(&pool->wake_cost, cost_ns) > 0;
    return my_part.hands_over;
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

/* The task that a thread has found; none when both are NULL. */
typedef struct Found {
    Loop *loop;
    DeviceWork *work;
} Found;

/* Takes open loops first, as their callers hold a thread until they end. */
static bool
pool_find(Pool *pool, Found *ret_found)
{
    mutex_lock(&pool->lock);
    ret_found->loop = pool_join_loop(pool);
    ret_found->work = ret_found->loop == NULL ? pool_take(pool) : NULL;
    mutex_unlock(&pool->lock);
    return ret_found->loop != NULL || ret_found->work != NULL;
}

/* Does what was found, and earns as much time to look for more. */
static void
pool_do(Pool *pool, const Found *found)
{
    uint64_t begin_ns = clock_monotonic_ns();
    if (found->loop != NULL) {
        loop_help(pool, found->loop);
        loop_leave(found->loop);
    } else {
        atomic_add_relaxed(&pool->running, 1);
        found->work->run(found->work);
        atomic_sub_relaxed(&pool->running, 1);
    }
    my_part.earned_ns += clock_monotonic_ns() - begin_ns;
    my_part.earned_ns = my_part.earned_ns < EARNED_MAX ? my_part.earned_ns : EARNED_MAX;
}

/* Returns how long a thread that has found nothing yet goes on looking. */
static uint64_t
look_limit(Pool *pool)
{
    bool is_expecting = atomic_load_relaxed(&pool->running) > 0;
    return is_expecting && my_part.earned_ns > my_part.look_ns ? my_part.earned_ns : my_part.look_ns;
}

/* Returns whether there seems to be work, after a moment at the latest. */
static bool
pool_watch(Pool *pool)
{
    for (int i = 0; i < PAUSES && atomic_load_relaxed(&pool->pending) <= 0; i++) {
        spin_pause();
    }
    return atomic_load_relaxed(&pool->pending) > 0;
}

/* Looks for work for a while: longer next time if there was some, shorter if there was none. */
static bool
pool_look(Pool *pool, Found *ret_found)
{
    uint64_t begin_ns = clock_monotonic_ns();
    uint64_t before_ns = begin_ns;
    bool has_found = false;
    bool has_lost = !pool->may_look;
    atomic_add_relaxed(&pool->looking, 1);
    while (!has_found && !has_lost && before_ns - begin_ns < look_limit(pool)) {
        has_found = pool_watch(pool) && pool_find(pool, ret_found);
        uint64_t now_ns = clock_monotonic_ns();
        has_lost = now_ns - before_ns > LOST_MIN;
        before_ns = now_ns;
    }
    atomic_sub_relaxed(&pool->looking, 1);
    uint64_t spent_ns = before_ns - begin_ns;
    my_part.earned_ns -= spent_ns < my_part.earned_ns ? spent_ns : my_part.earned_ns;
    uint64_t shorter_ns = has_lost || my_part.look_ns / 2 < LOOK_MIN ? LOOK_MIN : my_part.look_ns / 2;
    my_part.look_ns = has_found ? LOOK_MAX : shorter_ns;
    return has_found;
}

static bool
pool_has_work(Pool *pool)
{
    return pool->first != NULL || pool_find_loop(pool) != NULL;
}

/* Called under the lock. */
static void
thread_sleep(PoolThread *thread)
{
    Pool *pool = thread->pool;
    thread->is_asleep = true;
    list_append(&pool->sleepers, &thread->link);
    atomic_add_relaxed(&pool->sleeping, 1);
    while (thread->is_asleep) {
        condition_wait(&thread->woken, &pool->lock);
    }
}

/* Returns false when the pool ends. Whoever was woken too late for a loop looks for the next one of the same
 * work. */
static bool
pool_sleep(Pool *pool, PoolThread *thread)
{
    uint64_t begin_ns = clock_monotonic_ns();
    mutex_lock(&pool->lock);
    bool sleeps = !pool_has_work(pool) && !pool->is_ending;
    if (sleeps) {
        thread_sleep(thread);
    }
    bool is_ending = pool->is_ending && !pool_has_work(pool);
    mutex_unlock(&pool->lock);
    if (thread->is_kept_off) {
        host_cores_use(&thread->cores);
        thread->is_kept_off = false;
    }
    if (sleeps) {
        wake_ends(&pool->wake_cost, clock_monotonic_ns());
    }
    my_part.cpu_ns = clock_thread_ns();
    if (clock_monotonic_ns() - begin_ns < LOOK_MAX) {
        my_part.look_ns = LOOK_MAX; /* it would have found the work, had it looked longer */
    }
    my_part.earned_ns = my_part.earned_ns > LATE_MIN ? my_part.earned_ns : LATE_MIN;
    return !is_ending;
}

static void *
pool_thread(void *argument)
{
    PoolThread *thread = argument;
    Pool *pool = thread->pool;
    Found found;
    thread->id = gettid();
    my_part.is_of_pool = true;
    my_part.look_ns = LOOK_MIN;
    do {
        while (pool_find(pool, &found) || pool_look(pool, &found)) {
            pool_do(pool, &found);
        }
    } while (pool_sleep(pool, thread));
    return NULL;
}

static bool
thread_start(Pool *pool, PoolThread *thread)
{
    thread->pool = pool;
    condition_init(&thread->woken);
    if (pthread_create(&thread->handle, NULL, pool_thread, thread) != 0) {
        condition_done(&thread->woken);
        return false;
    }
    return true;
}

static void
pool_end(Pool *pool)
{
    mutex_lock(&pool->lock);
    pool->is_ending = true;
    mutex_unlock(&pool->lock);
    for (PoolThread *thread = pool_take_sleeper(pool); thread != NULL; thread = pool_take_sleeper(pool)) {
        thread_wake(thread);
    }
    for (int i = 0; i < pool->thread_count; i++) {
        pthread_join(pool->threads[i].handle, NULL);
        condition_done(&pool->threads[i].woken);
    }
    mutex_done(&pool->lock);
    memory_free(pool);
}

Pool *
pool_new(int thread_count, int core_count)
{
    assert(thread_count >= 1 && thread_count <= POOL_THREADS_MAX);
    Pool *pool = memory_new(1, sizeof *pool + (size_t)thread_count * sizeof pool->threads[0]);
    if (pool == NULL) {
        return NULL;
    }
    pool->may_look = thread_count <= core_count && core_count > 1;
    mutex_init(&pool->lock);
    list_init(&pool->loops);
    list_init(&pool->sleepers);
    while (pool->thread_count < thread_count) {
        if (!thread_start(pool, &pool->threads[pool->thread_count])) {
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
