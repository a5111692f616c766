/* The durable queue: steps accepted for later, leased to gateways, ended exactly once.
 *
 * A gateway holds a step by its fence, which grows with every claim: a heartbeat, a start or an end that
 * shows an older fence changes nothing. Time is the database's clock only. Which of the claimed steps runs
 * next is admission's to say (gateway/admission).
 *
 * Ownership: texts live in call->arena.
 * Threads:   the thread of the Store.
 * Errors:    ABORTED: the step is held by another, or has ended otherwise. */
#pragma once

#include "gateway/store/steps.h"

/* A holder's proof. */
typedef struct StepHold {
    TenantId tenant;
    StepId id;
    int64_t fence;
} StepHold;

typedef struct StepNew {
    StepId id;
    SessionId session;
    GraphId graph;
    int priority;        /* STEP_PRIORITY_… */
    const char *request; /* a JSON object */
    int attempts_max;
    uint64_t timeout_ms; /* from now to the end, the wait included */
    StepTensors feeds;   /* blobs that are stored already */
} StepNew;

/* The end of a step: its state, and how it came to it. */
typedef struct StepOutcome {
    StepState state;
    const char *error_code; /* NULL: none; so are the next two */
    const char *error_message;
    const char *error_node;
    const char *stats;   /* a JSON object; NULL: none */
    StepTensors outputs; /* blobs that are stored already */
} StepOutcome;

typedef struct StepList {
    StepRecord *items;
    size_t count;
} StepList;

/* The answer to a heartbeat for one held step. */
typedef struct StepBeat {
    bool is_held;
    bool is_cancel_requested;
} StepBeat;

typedef struct QueueDepth {
    int64_t queued;
    int64_t running;
    uint64_t oldest_us; /* when the oldest queued step was created; 0 for none */
} QueueDepth;

/* Accepts a step for later, in the caller's transaction (beside its idempotency key and its blobs) or in
 * one of its own; durable when that commits. NOT_FOUND without the session, RESOURCE_EXHAUSTED over the
 * quota 'queued_steps_max', ALREADY_EXISTS when the id is taken. */
MUST_USE Status queue_enqueue(Call *call, Store *store, TenantId tenant, const StepNew *step);

/* Accepts `count` steps of one tenant and one priority, in the caller's transaction: all or none. (One
 * priority, because a transaction that locks two rows of `queues` could lock them in another order than
 * claims do.) */
MUST_USE Status queue_enqueue_all(
    Call *call, Store *store, TenantId tenant, const StepNew *const *steps, size_t count);

/* Records a synchronous step that must be durable before it runs: it begins as running, held by `owner`. */
MUST_USE Status queue_begin(
    Call *call, Store *store, TenantId tenant, const StepNew *step, const char *owner, StepHold *ret_hold);

/* The queued steps that a gateway wants to claim. */
typedef struct QueueWants {
    const TenantId *tenants;
    const size_t *counts; /* the number of steps wanted of each of these tenants */
    size_t tenant_count;
    size_t others; /* wanted of every other tenant */
    size_t room;   /* for so many in all; at most 100 are claimed at once */
} QueueWants;

/* Leases steps to `owner` for `lease_ms`: of each tenant no more than are wanted or its quota
 * 'running_steps_max' lets run, its priorities by their weights, the oldest of each first. Every lease counts
 * as an attempt before anything is dispatched. For a store of the role QUEUE, as are the others that take no
 * tenant. */
MUST_USE Status queue_claim(Call *call, Store *store, const char *owner, const QueueWants *wants,
    uint64_t lease_ms, StepList *ret_steps);

/* Keeps `count` steps for `lease_ms` more; ret_beats has one answer each. */
MUST_USE Status queue_heartbeat(
    Call *call, Store *store, const StepHold *holds, size_t count, uint64_t lease_ms, StepBeat *ret_beats);

/* Moves a leased step to running. */
MUST_USE Status queue_start(Call *call, Store *store, const StepHold *hold);

/* Ends a step with its outputs in one transaction, the caller's or its own. Ending a step again in the
 * same way is OK, so that a commit whose reply was lost can be tried again. For a store of the role APP. */
MUST_USE Status queue_end(Call *call, Store *store, const StepHold *hold, const StepOutcome *outcome);

/* A held step, and how it ends. */
typedef struct StepEnd {
    const StepHold *hold;
    const StepOutcome *outcome;
} StepEnd;

/* Ends `count` steps of one tenant and one priority, in the caller's transaction. ABORTED when one of them
 * is no longer held: the caller then rolls back and ends each by itself. */
MUST_USE Status queue_end_all(Call *call, Store *store, const StepEnd *ends, size_t count);

/* Puts a step back for another attempt, after a pause that grows with every one; past the last attempt the
 * step is dead. Without `is_charged` the attempt does not count, since the step was not to blame. */
MUST_USE Status queue_retry(Call *call, Store *store, const StepHold *hold, const StepOutcome *reason,
    bool is_charged, StepState *ret_state);

/* Gives back all steps that `owner` holds, without charge, when a gateway drains. */
MUST_USE Status queue_release(Call *call, Store *store, const char *owner, uint64_t *ret_released);

/* Ends or requeues up to 1000 steps whose lease has run out, and expires up to 1000 that waited past their
 * deadline. */
MUST_USE Status queue_sweep(Call *call, Store *store, uint64_t *ret_swept);

/* Moves a dead step back to queued, with all attempts again. For a store of the role APP. */
MUST_USE Status queue_redrive(Call *call, Store *store, TenantId tenant, StepId id);

/* Counts one tenant's steps. For a store of the role APP. */
MUST_USE Status queue_depth(Call *call, Store *store, TenantId tenant, QueueDepth *ret_depth);
