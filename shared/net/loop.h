/* One thread's event loop: an epoll set, timers, and a mailbox that other threads write to.
 *
 * Ownership: a Watch, Timer or Task lives inside its owner's struct; the loop only links it.
 * Threads:   everything belongs to the thread that runs the loop, but loop_post() and loop_stop(), which any
 *            thread may call.
 * Errors:    loop_new() and watch_open() say UNAVAILABLE when the kernel has no descriptors left. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/call.h"
#include "shared/base/list.h"

typedef struct Loop Loop;

MUST_USE Status loop_new(Call *call, Loop **ret_loop);
/* Frees the loop once all posters whose task has run have left loop_post(); none may begin any more. NULL
 * is allowed. */
void loop_free(Loop *loop);

/* Serves until loop_stop(). One turn: mailbox, timers that are due, ready descriptors, deferred tasks. */
void loop_run(Loop *loop);
void loop_stop(Loop *loop);

/* Runs one turn that waits at most `timeout_ms` (-1: until something happens); for tests and tools. */
void loop_turn(Loop *loop, int timeout_ms);

/* Returns the monotonic time at which this turn began: cheap, and equal for all that happens within a
 * turn. */
uint64_t loop_now_ns(const Loop *loop);

typedef struct Watch Watch;
typedef void (*WatchReady)(Watch *watch, uint32_t events); /* EPOLLIN, EPOLLOUT, EPOLLRDHUP, … */

struct Watch {
    Loop *loop;
    int fd;
    uint32_t events;
    WatchReady ready;
};

/* Begins to watch a descriptor, which stays the caller's. `events` are those of epoll_ctl; EPOLLET is
 * allowed. */
MUST_USE Status watch_open(Call *call, Watch *watch, Loop *loop, int fd, uint32_t events, WatchReady ready);
void watch_change(Watch *watch, uint32_t events);

/* Ends the watch, safely inside any callback of the same turn: a closed watch is never called again. */
void watch_close(Watch *watch);

typedef struct Timer Timer;
typedef void (*TimerFire)(Timer *timer);

struct Timer {
    uint64_t due_ns; /* 0 while not set */
    size_t position; /* in the loop's heap */
    TimerFire fire;
};

/* Sets or moves the one firing of this timer. The heap grows when needed; running out of memory there is an
 * assertion, for a timer that never fires would break every promise made with it. */
void timer_set(Loop *loop, Timer *timer, uint64_t due_ns);
void timer_clear(Loop *loop, Timer *timer);

typedef struct Task Task;
typedef void (*TaskRun)(Task *task);

struct Task {
    Task *next;
    TaskRun run;
};

/* Runs the task on the loop's thread, in the order posted. Wakes the loop with one eventfd write, or none
 * when it is awake already. The task must stay alive until it has run; it may be posted again from within. */
void loop_post(Loop *loop, Task *task);

/* Runs the task at the end of this turn (same thread only): there the output that many callbacks of the
 * turn have queued is written. Deferring a task twice within a turn runs it once. A task deferred by such
 * a task runs in the next turn, which does not wait. */
void loop_defer(Loop *loop, Task *task);
void loop_undefer(Loop *loop, Task *task); /* called before its owner goes; allowed when it is not deferred */
