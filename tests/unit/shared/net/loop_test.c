#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <unistd.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/random.h"
#include "shared/net/loop.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"

static const uint64_t MS = 1000000;

static Call call;

static int
set_up(void **state)
{
    Loop *loop = NULL;
    assert_status(&call, STATUS_OK, loop_new(&call, &loop));
    *state = loop;
    return 0;
}

static int
tear_down(void **state)
{
    loop_free(*state);
    return 0;
}

/* The events in order, a letter each. */
static char trace[256];

static void
note(char what)
{
    size_t length = strlen(trace);
    assert_true(length + 1 < sizeof trace);
    trace[length] = what;
    trace[length + 1] = '\0';
}

typedef struct Alarm {
    Timer timer;
    Loop *loop;
    uint64_t wanted_ns;
    uint64_t fired_ns;
} Alarm;

static uint64_t latest_due_ns;

static void
alarm_fires(Timer *timer)
{
    Alarm *alarm = (Alarm *)(void *)timer;
    alarm->fired_ns = clock_monotonic_ns();
    assert_true(alarm->wanted_ns >= latest_due_ns);
    latest_due_ns = alarm->wanted_ns;
}

static void
timers_fire_in_order_and_never_early(void **state)
{
    enum { COUNT = 500 };
    static Alarm alarms[COUNT];
    Loop *loop = *state;
    uint64_t start_ns = loop_now_ns(loop);
    latest_due_ns = 0;
    for (size_t index = 0; index < COUNT; index++) {
        alarms[index] = (Alarm){.timer = {.fire = alarm_fires}, .loop = loop};
        timer_set(loop, &alarms[index].timer, start_ns + random_uint64() % (90 * MS));
    }
    for (size_t index = 0; index < COUNT; index++) { /* every timer is moved, every fifth is cleared */
        alarms[index].wanted_ns = start_ns + random_uint64() % (20 * MS);
        timer_set(loop, &alarms[index].timer, alarms[index].wanted_ns);
        if (index % 5 == 0) {
            timer_clear(loop, &alarms[index].timer);
            timer_clear(loop, &alarms[index].timer);
        }
    }
    while (clock_monotonic_ns() < start_ns + 25 * MS) {
        loop_turn(loop, 5);
    }
    loop_turn(loop, 0); /* on a slow machine, alarms may have come due since the last turn */
    for (size_t index = 0; index < COUNT; index++) {
        const Alarm *alarm = &alarms[index];
        assert_int_equal(alarm->timer.due_ns, 0);
        if (index % 5 == 0) {
            assert_int_equal(alarm->fired_ns, 0);
        } else {
            assert_true(alarm->fired_ns >= alarm->wanted_ns);
        }
    }
}

static void
a_long_wait_ends_when_a_timer_is_due(void **state)
{
    Loop *loop = *state;
    uint64_t start_ns = clock_monotonic_ns();
    Alarm alarm = {.timer = {.fire = alarm_fires}, .wanted_ns = UINT64_MAX};
    timer_set(loop, &alarm.timer, start_ns + 10 * MS);
    loop_turn(loop, 120000);
    assert_true(alarm.fired_ns >= start_ns + 10 * MS);
    assert_true(alarm.fired_ns < start_ns + 60000 * MS);
}

static void
fire_again_at_once(Timer *timer)
{
    Alarm *alarm = (Alarm *)(void *)timer;
    note('t');
    timer_set(alarm->loop, timer, 0);
}

static void
a_timer_always_due_fires_once_a_turn(void **state)
{
    Alarm alarm = {.timer = {.fire = fire_again_at_once}, .loop = *state};
    trace[0] = '\0';
    timer_set(*state, &alarm.timer, 0);
    loop_turn(*state, -1);
    loop_turn(*state, -1);
    assert_string_equal(trace, "tt");
}

static void
a_turn_waits_no_longer_than_asked(void **state)
{
    uint64_t start_ns = clock_monotonic_ns();
    loop_turn(*state, 5);
    uint64_t waited_ns = clock_monotonic_ns() - start_ns;
    assert_true(waited_ns >= 4 * MS && waited_ns < 60000 * MS);
}

static void
signal_arrives(int number)
{
    (void)number;
}

static void
a_signal_is_no_failure(void **state)
{
    struct sigaction action = {.sa_handler = signal_arrives}; /* without SA_RESTART */
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    struct itimerval often = {.it_value = {.tv_usec = 3000}, .it_interval = {.tv_usec = 3000}};
    struct itimerval never = {0};
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0); /* the first may come before the wait */
    uint64_t start_ns = clock_monotonic_ns();
    loop_turn(*state, 120000);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_true(clock_monotonic_ns() - start_ns < 60000 * MS);
}

typedef struct Pipe {
    Watch watch;
    int ends[2];
    struct Pipe *victim;
} Pipe;

static void
pipe_ready(Watch *watch, uint32_t events)
{
    Pipe *this = (Pipe *)(void *)watch;
    assert_true((events & (EPOLLIN | EPOLLOUT)) != 0);
    note((events & EPOLLIN) != 0 ? 'r' : 'w');
    if (this->victim != NULL) {
        watch_close(&this->victim->watch);
    }
}

static void
pipe_open(Pipe *this, Loop *loop)
{
    assert_int_equal(pipe(this->ends), 0);
    assert_status(
        &call, STATUS_OK, watch_open(&call, &this->watch, loop, this->ends[0], EPOLLIN, pipe_ready));
}

static void
pipe_close(Pipe *this)
{
    watch_close(&this->watch);
    watch_close(&this->watch);
    assert_int_equal(close(this->ends[0]), 0);
    assert_int_equal(close(this->ends[1]), 0);
}

static void
a_closed_watch_is_never_called_again(void **state)
{
    Pipe first = {.victim = NULL};
    Pipe second = {.victim = &first};
    pipe_open(&first, *state);
    pipe_open(&second, *state);
    first.victim = &second;
    assert_int_equal(write(first.ends[1], "x", 1), 1);
    assert_int_equal(write(second.ends[1], "x", 1), 1);
    trace[0] = '\0';
    loop_turn(*state, 0); /* both are ready, and whichever comes first closes the other */
    assert_string_equal(trace, "r");
    loop_turn(*state, 0);
    assert_string_equal(trace, "rr");
    pipe_close(&first);
    pipe_close(&second);
}

static void
a_watch_follows_the_events_asked_for(void **state)
{
    Pipe this = {.victim = NULL};
    pipe_open(&this, *state);
    assert_int_equal(write(this.ends[1], "x", 1), 1);
    trace[0] = '\0';
    watch_change(&this.watch, 0);
    loop_turn(*state, 0);
    assert_string_equal(trace, "");
    watch_change(&this.watch, EPOLLIN);
    loop_turn(*state, 0);
    assert_string_equal(trace, "r");
    pipe_close(&this);
}

static void
a_bad_descriptor_is_unavailable(void **state)
{
    Watch watch;
    assert_status(&call, STATUS_UNAVAILABLE, watch_open(&call, &watch, *state, -1, EPOLLIN, pipe_ready));
    assert_string_equal(call.error.message, "cannot watch descriptor -1: Bad file descriptor");
    watch_close(&watch);
}

typedef struct Job {
    Task task;
    Loop *loop;
    char name;
    int repeats;
    struct Job *other;
} Job;

static void
job_runs(Task *task)
{
    note(((Job *)(void *)task)->name);
}

static void
job_repeats(Task *task)
{
    Job *job = (Job *)(void *)task;
    note(job->name);
    if (job->repeats-- > 0) {
        loop_defer(job->loop, task);
    }
}

static void
job_undefers_other(Task *task)
{
    Job *job = (Job *)(void *)task;
    note(job->name);
    loop_undefer(job->loop, &job->other->task);
}

static void
deferred_tasks_run_once_at_the_end_of_the_turn(void **state)
{
    Job first = {.task = {.run = job_runs}, .name = 'a'};
    Job second = {.task = {.run = job_runs}, .name = 'b'};
    Alarm alarm = {.timer = {.fire = fire_again_at_once}, .loop = *state};
    trace[0] = '\0';
    timer_set(*state, &alarm.timer, 0);
    loop_defer(*state, &first.task);
    loop_defer(*state, &second.task);
    loop_defer(*state, &first.task);
    loop_turn(*state, -1);
    assert_string_equal(trace, "tab");
    loop_turn(*state, 0);
    assert_string_equal(trace, "tabt");
}

static void
a_task_deferred_by_a_task_runs_in_the_next_turn_without_waiting(void **state)
{
    Job job = {.task = {.run = job_repeats}, .loop = *state, .name = 'a', .repeats = 2};
    trace[0] = '\0';
    loop_defer(*state, &job.task);
    loop_turn(*state, -1);
    assert_string_equal(trace, "a");
    loop_turn(*state, -1);
    assert_string_equal(trace, "aa");
    loop_turn(*state, -1);
    loop_turn(*state, 0);
    assert_string_equal(trace, "aaa");
}

static void
an_undeferred_task_does_not_run(void **state)
{
    Job last = {.task = {.run = job_runs}, .name = 'c'};
    Job middle = {.task = {.run = job_runs}, .name = 'b'};
    Job first = {.task = {.run = job_undefers_other}, .loop = *state, .name = 'a', .other = &last};
    trace[0] = '\0';
    loop_defer(*state, &first.task);
    loop_defer(*state, &middle.task);
    loop_defer(*state, &last.task); /* loop_undefer() of the last task while the list runs */
    loop_undefer(*state, &middle.task);
    loop_turn(*state, 0);
    assert_string_equal(trace, "a");
    loop_defer(*state, &last.task);
    loop_turn(*state, 0);
    assert_string_equal(trace, "ac");
}

static void
posted_tasks_run_in_the_order_posted(void **state)
{
    Job jobs[] = {{.name = 'a'}, {.name = 'b'}, {.name = 'c'}};
    trace[0] = '\0';
    for (size_t index = 0; index < COUNT_OF(jobs); index++) {
        jobs[index].task.run = job_runs;
        loop_post(*state, &jobs[index].task);
    }
    loop_turn(*state, -1);
    assert_string_equal(trace, "abc");
}

enum { POSTS_MAX = 20000, POST_SECONDS = 5, THREADS = 3, SPINS = 1000 };

typedef struct Poster {
    Task task;
    Loop *loop;
    int runs;  /* changed on the loop's thread; atomic */
    int *left; /* of the posters; atomic */
} Poster;

static void
poster_runs(Task *task)
{
    Poster *poster = (Poster *)(void *)task;
    atomic_add_acq_rel(&poster->runs, 1);
}

/* Every run allows the next post: this exchange loses a task when a wake-up is lost. Where the threads share
 * a core, each exchange may take milliseconds: there are as many as there is time for. */
static void *
post_many(void *argument)
{
    Poster *poster = argument;
    uint64_t end_ns = clock_monotonic_ns() + POST_SECONDS * CLOCK_NS_PER_S;
    for (int count = 1; count <= POSTS_MAX && clock_monotonic_ns() < end_ns; count++) {
        loop_post(poster->loop, &poster->task);
        for (int spins = 1; atomic_load_acquire(&poster->runs) < count; spins++) {
            if (spins % SPINS == 0) {
                (void)sched_yield();
            }
        }
    }
    if (atomic_sub_acq_rel(poster->left, 1) == 0) {
        loop_stop(poster->loop);
    }
    return NULL;
}

static void
no_post_of_any_thread_is_lost(void **state)
{
    int left = THREADS;
    Poster posters[THREADS];
    pthread_t threads[THREADS];
    for (size_t index = 0; index < THREADS; index++) {
        posters[index] = (Poster){.task = {.run = poster_runs}, .loop = *state, .left = &left};
        assert_int_equal(pthread_create(&threads[index], NULL, post_many, &posters[index]), 0);
    }
    loop_run(*state);
    for (size_t index = 0; index < THREADS; index++) {
        assert_int_equal(pthread_join(threads[index], NULL), 0);
        assert_true(posters[index].runs > 0);
    }
}

static void *
stop_soon(void *loop)
{
    (void)usleep(3000);
    loop_stop(loop);
    return NULL;
}

static void
stopping_from_another_thread_wakes_the_loop(void **state)
{
    pthread_t thread;
    for (int round = 0; round < 2; round++) { /* the loop can run again */
        assert_int_equal(pthread_create(&thread, NULL, stop_soon, *state), 0);
        loop_run(*state);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
}

static void
a_loop_without_memory_is_refused(void **state)
{
    (void)state;
    Loop *loop = NULL;
    fail_alloc_count = 0;
    fail_alloc_at = 1;
    assert_status(&call, STATUS_RESOURCE_EXHAUSTED, loop_new(&call, &loop));
    fail_alloc_at = 0;
    assert_null(loop);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(timers_fire_in_order_and_never_early),
        T(a_long_wait_ends_when_a_timer_is_due),
        T(a_timer_always_due_fires_once_a_turn),
        T(a_turn_waits_no_longer_than_asked),
        T(a_signal_is_no_failure),
        T(a_closed_watch_is_never_called_again),
        T(a_watch_follows_the_events_asked_for),
        T(a_bad_descriptor_is_unavailable),
        T(deferred_tasks_run_once_at_the_end_of_the_turn),
        T(a_task_deferred_by_a_task_runs_in_the_next_turn_without_waiting),
        T(an_undeferred_task_does_not_run),
        T(posted_tasks_run_in_the_order_posted),
        T(no_post_of_any_thread_is_lost),
        T(stopping_from_another_thread_wakes_the_loop),
        T(a_loop_without_memory_is_refused),
    };
    return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
