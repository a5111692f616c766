#include "shared/base/atomic.h"
#include "tests/support/cmocka_all.h"

#include <sched.h>
#include <time.h>

#include "shared/base/clock.h"
#include "worker/cpu/pool.h"

typedef struct CountedWork {
    DeviceWork work;
    int *count; /* atomic */
} CountedWork;

static void
count_work(DeviceWork *work)
{
    atomic_add_acq_rel(((CountedWork *)(void *)work)->count, 1);
}

static void
wait_for(const int *count, int wanted)
{
    while (atomic_load_acquire(count) < wanted) {
        sched_yield();
    }
}

/* Leaves the processor's time to others meanwhile. */
static void
wait_for_asleep(const int *count, int wanted)
{
    while (atomic_load_acquire(count) < wanted) {
        struct timespec pause = {.tv_nsec = 1000L * 1000};
        (void)nanosleep(&pause, NULL);
    }
}

static void
all_queued_work_runs_once(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    for (int threads = 1; threads <= 4; threads *= 2) {
        static CountedWork works[COUNT];
        int count = 0;
        Pool *pool = pool_new(threads, 2);
        for (int i = 0; i < COUNT; i++) {
            works[i] = (CountedWork){.work.run = count_work, .count = &count};
            pool_schedule(pool, &works[i].work);
        }
        wait_for(&count, COUNT);
        pool_free(pool);
        assert_int_equal(count, COUNT);
    }
}

static void
add_one(void *context, int64_t index)
{
    int *counts = context;
    atomic_add_relaxed(&counts[index], 1);
}

static void
a_loop_runs_each_iteration_once(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    Pool *pool = pool_new(3, 2);
    for (int64_t count = 0; count <= COUNT; count = count * 2 + 1) {
        int counts[COUNT] = {0};
        pool_parallel_for(pool, 1, count, add_one, counts);
        for (int64_t i = 0; i < COUNT; i++) {
            assert_int_equal(counts[i], i < count);
        }
    }
    pool_free(pool);
}

typedef struct Crowd {
    int inside; /* atomic */
    int most;   /* atomic */
} Crowd;

static void
join_crowd(void *context, int64_t index)
{
    (void)index;
    Crowd *crowd = context;
    int now = atomic_add_acq_rel(&crowd->inside, 1);
    int most = atomic_load_relaxed(&crowd->most);
    while (now > most && !atomic_compare_exchange_weak_relaxed(&crowd->most, &most, now)) {}
    struct timespec pause = {.tv_nsec = 1000L * 1000};
    (void)nanosleep(&pause, NULL);
    atomic_sub_acq_rel(&crowd->inside, 1);
}

/* The thread that calls is none of the pool's, and computes too. */
static void
no_more_threads_compute_a_loop_than_the_pool_has(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        Pool *pool = pool_new(threads, 4);
        Crowd crowd = {0};
        for (int round = 0; round < 20; round++) {
            pool_parallel_for(pool, 1, 10, join_crowd, &crowd);
        }
        assert_in_range(crowd.most, 1, threads);
        pool_free(pool);
    }
}

typedef struct Nest {
    Pool *pool;
    int counts[8][16];
} Nest;

static void
inner_loop(void *context, int64_t index)
{
    Nest *nest = context;
    pool_parallel_for(nest->pool, 1, 16, add_one, nest->counts[index]);
}

typedef struct NestWork {
    DeviceWork work;
    Nest nest;
    int *done;
} NestWork;

static void
outer_loop(DeviceWork *work)
{
    NestWork *nest_work = (NestWork *)(void *)work;
    pool_parallel_for(nest_work->nest.pool, 2, 8, inner_loop, &nest_work->nest);
    atomic_add_acq_rel(nest_work->done, 1);
}

static void
loops_nest_inside_queued_work(void **state)
{
    (void)state;
    static NestWork works[10];
    int done = 0;
    Pool *pool = pool_new(2, 2);
    for (int i = 0; i < 10; i++) {
        works[i].work.run = outer_loop;
        works[i].nest.pool = pool;
        works[i].done = &done;
        pool_schedule(pool, &works[i].work);
    }
    wait_for(&done, 10);
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < 8 * 16; k++) {
            assert_int_equal(works[i].nest.counts[k / 16][k % 16], 1);
        }
    }
    pool_free(pool);
}

enum { SPIN_NS = 200 * 1000, SPINS = 50 };

static uint64_t
cpu_ns(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

static void
spin(void *context, int64_t index)
{
    (void)context;
    (void)index;
    uint64_t end_ns = cpu_ns() + SPIN_NS;
    while (cpu_ns() < end_ns) {}
}

static void
all_threads_of_a_loop_count_as_what_its_caller_computes(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads *= 2) {
        Pool *pool = pool_new(threads, 2);
        uint64_t before_ns = pool_computed_ns();
        pool_parallel_for(pool, 1, SPINS, spin, NULL);
        uint64_t computed_ns = pool_computed_ns() - before_ns;
        assert_in_range(computed_ns, (uint64_t)SPINS * SPIN_NS / 10 * 9, UINT64_MAX); /* clocks differ */
        pool_free(pool);
    }
}

typedef struct Sleep {
    DeviceWork work;
    uint64_t computed_ns;
    int count; /* atomic */
} Sleep;

enum { SLEEP_NS = 200 * 1000 * 1000 };

static void
sleep_and_count(DeviceWork *work)
{
    Sleep *sleep = (Sleep *)(void *)work;
    struct timespec pause = {.tv_nsec = SLEEP_NS};
    uint64_t before_ns = pool_computed_ns();
    (void)nanosleep(&pause, NULL);
    sleep->computed_ns = pool_computed_ns() - before_ns;
    atomic_add_acq_rel(&sleep->count, 1);
}

static void
a_thread_that_waits_computes_nothing(void **state)
{
    (void)state;
    Sleep sleep = {.work.run = sleep_and_count};
    Pool *pool = pool_new(1, 2);
    pool_schedule(pool, &sleep.work);
    wait_for(&sleep.count, 1);
    assert_true(sleep.computed_ns < SLEEP_NS / 2);
    pool_free(pool);
}

static uint64_t
process_ns(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
    return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

static void
threads_do_not_look_for_loops_as_long_as_other_work_waits(void **state)
{
    (void)state;
    Sleep sleep = {.work.run = sleep_and_count};
    Pool *pool = pool_new(4, 4);
    pool_parallel_for(pool, 1, SPINS, spin, NULL);
    uint64_t before_ns = process_ns();
    pool_schedule(pool, &sleep.work);
    wait_for_asleep(&sleep.count, 1);
    assert_true(process_ns() - before_ns < SLEEP_NS / 2);
    pool_free(pool);
}

typedef struct Cores {
    cpu_set_t allowed;
    int others; /* atomic: iterations on threads that may use other cores */
} Cores;

static void
compare_cores(void *context, int64_t index)
{
    (void)index;
    Cores *cores = context;
    cpu_set_t mine;
    bool is_known = sched_getaffinity(0, sizeof mine, &mine) == 0;
    atomic_add_relaxed(&cores->others, !is_known || !CPU_EQUAL(&mine, &cores->allowed));
    struct timespec pause = {.tv_nsec = 100L * 1000};
    (void)nanosleep(&pause, NULL);
}

/* Whoever wakes a thread keeps it off its own core only until it is awake. */
static void
threads_that_help_may_use_all_cores(void **state)
{
    (void)state;
    Cores cores = {0};
    assert_int_equal(sched_getaffinity(0, sizeof cores.allowed, &cores.allowed), 0);
    Pool *pool = pool_new(3, 4);
    for (int round = 0; round < 50; round++) {
        pool_parallel_for(pool, 1, 10, compare_cores, &cores);
        struct timespec pause = {.tv_nsec = 1000L * 1000};
        (void)nanosleep(&pause, NULL);
    }
    pool_free(pool);
    assert_int_equal(cores.others, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_queued_work_runs_once),
        cmocka_unit_test(a_loop_runs_each_iteration_once),
        cmocka_unit_test(no_more_threads_compute_a_loop_than_the_pool_has),
        cmocka_unit_test(loops_nest_inside_queued_work),
        cmocka_unit_test(all_threads_of_a_loop_count_as_what_its_caller_computes),
        cmocka_unit_test(a_thread_that_waits_computes_nothing),
        cmocka_unit_test(threads_do_not_look_for_loops_as_long_as_other_work_waits),
        cmocka_unit_test(threads_that_help_may_use_all_cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
