/* What one gateway holds of the durable queue. A thread claims queued steps while there is room for them and
 * hands them on to be run, keeps the leases of all that is held and gives back what others have lost. A
 * second thread listens for hints; without hints, polling finds the same.
 *
 * A held step is named by its hold, never pointed to: the thread asks for a cancellation again with every
 * heartbeat until the step is forgotten, so that one message may be lost.
 *
 * Ownership: none of the steps; `run` takes a copy of what it needs.
 * Threads:   the functions below: any. The hooks are called on the runner's thread and must not wait.
 * Errors:    queue_runner_new(): UNAVAILABLE for threads. PostgreSQL gone is no error: all is tried again. */
#pragma once

#include "gateway/store/queue.h"

enum { QUEUE_SLOTS_MAX = 4096, QUEUE_NO_LOOP = -1 };

typedef struct QueueRunner QueueRunner;

typedef struct QueueRunnerOptions {
    const char *conninfo; /* outlives the runner, as `owner` does */
    const char *owner;    /* this process life; unique */
    size_t slot_count;    /* queued steps held at a time; 0: none is claimed */
    uint64_t lease_ms;

    /* Whether a claimed step could run now: workers serve, the gateway does not drain. */
    bool (*is_ready)(void *context);
    /* Runs a claimed step; queue_runner_forget() must follow. False: no room, it goes back. */
    bool (*run)(void *context, const StepRecord *step);
    /* The step is no longer held, or is to be cancelled. */
    void (*cancel)(void *context, int loop_index, const StepHold *hold);
    /* What another gateway says, on the listening thread; must not wait. */
    void (*mail)(void *context, const char *text);
    void *context;
} QueueRunnerOptions;

MUST_USE Status queue_runner_new(Call *call, const QueueRunnerOptions *options, QueueRunner **ret_runner);

/* Ends the threads and gives the leases of all claimed steps back that may run again; the others' leases run
 * out. NULL is allowed, here and below. */
void queue_runner_stop(QueueRunner *runner);
void queue_runner_free(QueueRunner *runner); /* behind queue_runner_stop() */

/* Something may have been queued. */
void queue_runner_wake(QueueRunner *runner);

/* Something is to be cancelled: the next heartbeat comes at once. */
void queue_runner_wake_beat(QueueRunner *runner);

/* Keeps the lease of a synchronous step. RESOURCE_EXHAUSTED when too many are held. */
MUST_USE Status queue_runner_hold(Call *call, QueueRunner *runner, const StepHold *hold, int loop_index);

/* Which loop runs a claimed step, and whether it may run again when this gateway goes. */
void queue_runner_note(QueueRunner *runner, const StepHold *hold, int loop_index, bool may_repeat);

/* The step has ended, or is no longer ours. */
void queue_runner_forget(QueueRunner *runner, const StepHold *hold);

/* Claimed steps that are not forgotten yet. */
size_t queue_runner_active(QueueRunner *runner);
