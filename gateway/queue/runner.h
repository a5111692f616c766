/* The runner of one gateway's queued steps. A thread claims as many steps of each tenant as admission wants
 * to have ready, hands them on to be run, keeps the leases of all held steps, and gives back those that
 * others have lost, and idempotency keys that could not be given back. A second thread listens for hints;
 * without hints, polling finds the same.
 *
 * A held step is named by its hold, never pointed to. The thread asks for a cancellation again with every
 * heartbeat until the step is forgotten, so that one message may be lost.
 *
 * Ownership: the runner owns no step; `run` takes a copy of what it needs.
 * Threads:   any for the functions below. The hooks are called on the runner's thread and must not wait.
 * Errors:    queue_runner_new(): UNAVAILABLE for threads. An unreachable PostgreSQL is no error: the
 *            threads try again. */
#pragma once

#include "gateway/admission/admission.h"
#include "gateway/store/queue.h"

enum { QUEUE_HELD_MAX = 4096, QUEUE_NO_LOOP = -1 };

typedef struct QueueRunner QueueRunner;

typedef struct QueueRunnerOptions {
    const char *conninfo; /* outlives the runner, as `owner` does */
    const char *owner;    /* names this process life; unique */
    size_t held_max;      /* queued steps held at a time, running or ready; 0: none is claimed */
    uint64_t lease_ms;
    Admission *admission;

    /* Returns whether a claimed step could run now: workers serve, the gateway does not drain. */
    bool (*is_ready)(void *context);
    /* Runs a claimed step; queue_runner_forget() must follow. False: there is no room, and the step goes
     * back. */
    bool (*run)(void *context, const StepRecord *step);
    /* Cancels a step that is no longer held, or that is to be cancelled. */
    void (*cancel)(void *context, int loop_index, const StepHold *hold);
    /* Receives another gateway's message, on the listening thread; must not wait. */
    void (*mail)(void *context, const char *text);
    /* Called there, too, when messages begin to come: those sent before were lost. */
    void (*mail_begins)(void *context);
    void *context;
} QueueRunnerOptions;

MUST_USE Status queue_runner_new(Call *call, const QueueRunnerOptions *options, QueueRunner **ret_runner);

/* Ends the threads and gives back the leases of all claimed steps that may run again; the others' leases
 * run out. NULL is allowed, here and below. */
void queue_runner_stop(QueueRunner *runner);
void queue_runner_free(QueueRunner *runner); /* after queue_runner_stop() */

/* Wakes the thread, since a step may have been queued. */
void queue_runner_wake(QueueRunner *runner);

/* Brings the next heartbeat at once, since a step is to be cancelled. */
void queue_runner_wake_beat(QueueRunner *runner);

/* Keeps the lease of a synchronous step. RESOURCE_EXHAUSTED when too many are held. */
MUST_USE Status queue_runner_hold(Call *call, QueueRunner *runner, const StepHold *hold, int loop_index);

/* Notes which loop has a claimed step, and whether it may run again when this gateway ends. */
void queue_runner_note(QueueRunner *runner, const StepHold *hold, int loop_index, bool may_repeat);

/* Notes that a claimed step begins to run: another may be made ready in its place. */
void queue_runner_begin(QueueRunner *runner, const StepHold *hold, bool may_repeat);

/* Forgets a step that has ended or is no longer held. */
void queue_runner_forget(QueueRunner *runner, const StepHold *hold);

/* Gives back the idempotency key of a request that failed, as soon as PostgreSQL can be asked. */
void queue_runner_return_key(QueueRunner *runner, TenantId tenant, const char *key, Uuid owner);

/* Counts claimed steps that are not forgotten yet. */
size_t queue_runner_active(QueueRunner *runner);
