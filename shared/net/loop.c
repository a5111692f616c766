/* One turn: wait (not at all when tasks are pending), then mailbox, timers, descriptors, deferred tasks.
 *
 * The mailbox is a stack that posters push to without a lock; the loop takes all of it at once and reverses
 * it. `is_waiting` is set before the loop looks at the mailbox a last time and waits; the one poster that
 * clears it writes the wake-up. Either the loop sees the task, or the poster sees the flag. */
#include "shared/net/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"

enum { EVENTS_PER_TURN = 128, TIMERS_FIRST = 64 };

struct Loop {
    int epoll_fd;
    Watch wakeup; /* an eventfd, edge-triggered: it is never read, for every write is a new edge */
    uint64_t now_ns;

    Timer **timers; /* binary heap, the earliest first */
    size_t timer_count;
    size_t timer_capacity;

    Task *mailbox;    /* atomic; newest first */
    bool is_waiting;  /* atomic */
    bool is_stopping; /* atomic */
    int waking;       /* atomic: threads that are inside loop_post() or loop_stop() */

    Task deferred; /* head of a list that ends in the head itself */
    Task *deferred_last;

    struct epoll_event events[EVENTS_PER_TURN];
    int event_count;
    int event_next;
};

static void
wakeup_ready(Watch *watch, uint32_t events)
{
    (void)watch;
    (void)events;
}

static void
loop_wake(Loop *loop)
{
    if (!atomic_exchange_seq_cst(&loop->is_waiting, false)) {
        return;
    }
    uint64_t one = 1;
    while (write(loop->wakeup.fd, &one, sizeof one) < 0 && errno == EINTR) {}
}

Status
loop_new(Call *call, Loop **ret_loop)
{
    Loop *loop = memory_new(1, sizeof *loop);
    if (loop == NULL) {
        return call_fail_memory(call, "an event loop");
    }
    loop->deferred.next = &loop->deferred;
    loop->deferred_last = &loop->deferred;
    loop->now_ns = clock_monotonic_ns();
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->wakeup.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    Status status = STATUS_OK;
    if (loop->epoll_fd < 0 || loop->wakeup.fd < 0) {
        status = call_fail(call, STATUS_UNAVAILABLE, "no descriptor for an event loop: %s", strerror(errno));
    } else {
        status = watch_open(call, &loop->wakeup, loop, loop->wakeup.fd, EPOLLIN | EPOLLET, wakeup_ready);
    }
    if (status != STATUS_OK) {
        loop_free(loop);
        return status;
    }
    *ret_loop = loop;
    return STATUS_OK;
}

static void
close_descriptor(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

void
loop_free(Loop *loop)
{
    if (loop == NULL) {
        return;
    }
    /* A task that has run may have been posted by a thread that is still on its way out of loop_post(). */
    while (atomic_load_acquire(&loop->waking) != 0) {
        (void)sched_yield();
    }
    close_descriptor(loop->wakeup.fd);
    close_descriptor(loop->epoll_fd);
    memory_free(loop->timers);
    memory_free(loop);
}

uint64_t
loop_now_ns(const Loop *loop)
{
    return loop->now_ns;
}

void
loop_post(Loop *loop, Task *task)
{
    assert(task->run != NULL);

    (void)atomic_add_relaxed(&loop->waking, 1);
    Task *newest = atomic_load_relaxed(&loop->mailbox);
    do {
        task->next = newest;
    } while (!atomic_compare_exchange_weak_seq_cst(&loop->mailbox, &newest, task));
    loop_wake(loop);
    (void)atomic_sub_acq_rel(&loop->waking, 1);
}

static void
run_mailbox(Loop *loop)
{
    Task *newest = atomic_exchange_acq_rel(&loop->mailbox, NULL);
    Task *oldest = NULL;
    while (newest != NULL) {
        Task *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest != NULL) {
        Task *task = oldest;
        oldest = task->next;
        task->next = NULL;
        task->run(task);
    }
}

void
loop_defer(Loop *loop, Task *task)
{
    if (task->next != NULL) {
        return;
    }
    task->next = &loop->deferred;
    loop->deferred_last->next = task;
    loop->deferred_last = task;
}

void
loop_undefer(Loop *loop, Task *task)
{
    if (task->next == NULL) {
        return;
    }
    Task *previous = &loop->deferred;
    while (previous->next != task) {
        previous = previous->next;
        assert(previous != &loop->deferred);
    }
    previous->next = task->next;
    if (loop->deferred_last == task) {
        loop->deferred_last = previous;
    }
    task->next = NULL;
}

/* Runs the deferred tasks. Tasks that these defer stand after the mark and belong to the next turn, which
 * does not wait: a task that always has more to do cannot starve the descriptors. */
static void
run_deferred(Loop *loop)
{
    if (loop->deferred.next == &loop->deferred) {
        return;
    }
    Task mark = {.next = NULL};
    loop_defer(loop, &mark);
    for (;;) {
        Task *task = loop->deferred.next;
        loop_undefer(loop, task);
        if (task == &mark) {
            return;
        }
        task->run(task);
    }
}

static void
heap_put(Loop *loop, size_t position, Timer *timer)
{
    loop->timers[position] = timer;
    timer->position = position;
}

static void
heap_rise(Loop *loop, size_t position, Timer *timer)
{
    while (position > 0) {
        size_t parent = (position - 1) / 2;
        if (loop->timers[parent]->due_ns <= timer->due_ns) {
            break;
        }
        heap_put(loop, position, loop->timers[parent]);
        position = parent;
    }
    heap_put(loop, position, timer);
}

static void
heap_sink(Loop *loop, size_t position, Timer *timer)
{
    for (;;) {
        size_t child = 2 * position + 1;
        if (child >= loop->timer_count) {
            break;
        }
        if (child + 1 < loop->timer_count && loop->timers[child + 1]->due_ns < loop->timers[child]->due_ns) {
            child++;
        }
        if (timer->due_ns <= loop->timers[child]->due_ns) {
            break;
        }
        heap_put(loop, position, loop->timers[child]);
        position = child;
    }
    heap_put(loop, position, timer);
}

static void
heap_grow(Loop *loop)
{
    if (loop->timer_count < loop->timer_capacity) {
        return;
    }
    size_t capacity = loop->timer_capacity == 0 ? TIMERS_FIRST : 2 * loop->timer_capacity;
    Timer **grown = memory_resize(loop->timers, capacity * sizeof(Timer *));
    assert(grown != NULL);
    loop->timers = grown;
    loop->timer_capacity = capacity;
}

void
timer_set(Loop *loop, Timer *timer, uint64_t due_ns)
{
    uint64_t due = due_ns == 0 ? 1 : due_ns; /* 0 means not set */
    if (timer->due_ns == 0) {
        heap_grow(loop);
        timer->due_ns = due;
        heap_rise(loop, loop->timer_count++, timer);
    } else if (due < timer->due_ns) {
        timer->due_ns = due;
        heap_rise(loop, timer->position, timer);
    } else {
        timer->due_ns = due;
        heap_sink(loop, timer->position, timer);
    }
}

void
timer_clear(Loop *loop, Timer *timer)
{
    if (timer->due_ns == 0) {
        return;
    }
    size_t position = timer->position;
    Timer *moved = loop->timers[--loop->timer_count];
    if (moved != timer) {
        bool is_earlier = moved->due_ns < timer->due_ns;
        (is_earlier ? heap_rise : heap_sink)(loop, position, moved);
    }
    timer->due_ns = 0;
}

/* Fires each timer once at most: one that sets itself to a moment already past fires again in the next
 * turn. */
static void
run_timers(Loop *loop)
{
    for (size_t left = loop->timer_count; left > 0 && loop->timer_count > 0; left--) {
        Timer *timer = loop->timers[0];
        if (timer->due_ns > loop->now_ns) {
            break;
        }
        timer_clear(loop, timer);
        timer->fire(timer);
    }
}

static int
watch_control(Watch *watch, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    return epoll_ctl(watch->loop->epoll_fd, operation, watch->fd, &event);
}

Status
watch_open(Call *call, Watch *watch, Loop *loop, int fd, uint32_t events, WatchReady ready)
{
    assert(ready != NULL);

    *watch = (Watch){.loop = loop, .fd = fd, .events = events, .ready = ready};
    if (watch_control(watch, EPOLL_CTL_ADD, events) < 0) {
        watch->loop = NULL;
        return call_fail(call, STATUS_UNAVAILABLE, "cannot watch descriptor %d: %s", fd, strerror(errno));
    }
    return STATUS_OK;
}

void
watch_change(Watch *watch, uint32_t events)
{
    if (watch->loop == NULL || watch->events == events) {
        return;
    }
    int changed = watch_control(watch, EPOLL_CTL_MOD, events);
    assert(changed == 0); /* fails only for a descriptor that is not watched */
    watch->events = events;
}

void
watch_close(Watch *watch)
{
    Loop *loop = watch->loop;
    if (loop == NULL) {
        return;
    }
    (void)watch_control(watch, EPOLL_CTL_DEL, 0);
    for (int index = loop->event_next; index < loop->event_count; index++) {
        if (loop->events[index].data.ptr == watch) {
            loop->events[index].data.ptr = NULL;
        }
    }
    watch->loop = NULL;
}

static void
run_watches(Loop *loop)
{
    while (loop->event_next < loop->event_count) {
        struct epoll_event event = loop->events[loop->event_next++];
        Watch *watch = event.data.ptr;
        if (watch != NULL) {
            watch->ready(watch, event.events);
        }
    }
}

static bool
has_work(Loop *loop)
{
    return loop->deferred.next != &loop->deferred || atomic_load_seq_cst(&loop->mailbox) != NULL ||
           atomic_load_seq_cst(&loop->is_stopping);
}

/* Returns the time to wait, rounded up to whole milliseconds: never early, so that the timer is due when
 * the wait ends. */
static int
wait_time_ms(const Loop *loop, int timeout_ms)
{
    if (loop->timer_count == 0) {
        return timeout_ms;
    }
    uint64_t due_ns = loop->timers[0]->due_ns;
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t left_ms = due_ns <= now_ns ? 0 : (due_ns - now_ns + CLOCK_NS_PER_MS - 1) / CLOCK_NS_PER_MS;
    int timer_ms = left_ms > INT_MAX ? INT_MAX : (int)left_ms;
    return timeout_ms < 0 || timer_ms < timeout_ms ? timer_ms : timeout_ms;
}

static void
wait_for_events(Loop *loop, int timeout_ms)
{
    int wait_ms = timeout_ms == 0 ? 0 : wait_time_ms(loop, timeout_ms);
    if (wait_ms != 0) {
        atomic_store_seq_cst(&loop->is_waiting, true);
        wait_ms = has_work(loop) ? 0 : wait_ms;
    }
    int count = epoll_wait(loop->epoll_fd, loop->events, EVENTS_PER_TURN, wait_ms);
    assert(count >= 0 || errno == EINTR); /* a signal ends the wait, and the turn goes on without events */
    atomic_store_seq_cst(&loop->is_waiting, false);
    loop->event_next = 0;
    loop->event_count = count < 0 ? 0 : count;
    loop->now_ns = clock_monotonic_ns();
}

void
loop_turn(Loop *loop, int timeout_ms)
{
    wait_for_events(loop, timeout_ms);
    run_mailbox(loop);
    run_timers(loop);
    run_watches(loop);
    run_deferred(loop);
}

void
loop_run(Loop *loop)
{
    while (!atomic_load_seq_cst(&loop->is_stopping)) {
        loop_turn(loop, -1);
    }
    atomic_store_seq_cst(&loop->is_stopping, false);
}

void
loop_stop(Loop *loop)
{
    (void)atomic_add_relaxed(&loop->waking, 1);
    atomic_store_seq_cst(&loop->is_stopping, true);
    loop_wake(loop);
    (void)atomic_sub_acq_rel(&loop->waking, 1);
}
