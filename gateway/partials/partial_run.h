/* Partial runs (TensorFlow's PartialRunSetup and PartialRun): steps whose feeds are given, and whose
 * fetches are asked for, in several requests, while the graph waits on the workers in between.
 *
 * Happy path: partial_run_new() → partial_run_prepare(), like any step's, with feeds that are names alone
 * → partial_run_begin() starts the step, which waits for its turn as any other does; a PartialWaiter hears
 * that it is admitted; each worker's request stays open → partial_run_give() and partial_run_take() as
 * requests come (partial_visit.h) → when the last fetch has been handed out, the run frees itself.
 *
 * What the run keeps of outputs is claimed from the memory for outputs (tenant_memory.h) in its tenant's
 * name, and goes on to the request that asks for them. A large output for which there is no room stays with
 * its worker while the run holds nothing; otherwise the run ends, since its client may be the one who waits.
 *
 * A run ends early with the first error, when its time is over, when it is deleted, or with its gateway.
 * Its error is told to the requests that wait, or else to the first that asks; after that, or when its
 * time is over, it is gone. It is never run a second time, since the feeds given so far may have changed
 * something.
 *
 * Ownership: the loop's that made it; it frees itself.
 * Threads:   its loop's, except for partial_run_prepare(), which may be called on a job thread. */
#pragma once

#include "gateway/partials/partial_table.h"
#include "gateway/steps/step_call.h"

typedef struct PartialRun PartialRun;
typedef struct PartialWaiter PartialWaiter;

/* A request that waits on the run's loop for its admission, its fetches or its end. */
struct PartialWaiter {
    ListLink link; /* in run->waiters */
    bool (*is_ready)(PartialWaiter *waiter, const PartialRun *run);
    void (*serve)(PartialWaiter *waiter, PartialRun *run); /* ends the waiting */
};

typedef struct PartialFetch {
    bool is_taken;     /* some request has asked for it */
    bool has_come;     /* arrived: the tensor is in step.outputs until it is handed out, unless it is dead */
    bool is_dead;      /* arrived without a value, from a branch that was not taken */
    size_t held_bytes; /* that the run's claim holds for it */
} PartialFetch;

struct PartialRun {
    PartialFacts facts;
    ListLink link; /* in PartialLoop.runs */
    Call call;
    StepCall step;       /* prepared; has no exchange; step.running.run is NULL before the run begins, and
                          * when it has ended */
    Slice request;       /* the request's body */
    uint64_t expires_us; /* wall clock; facts.expires_ns says the same */
    Timer place;         /* ends a run that its tenant's running steps leave no place */
    Timer expiry;        /* frees a run that has ended and that nobody asks for */
    bool *is_fed;        /* one for each of the plan's feeds */
    size_t fed_count;
    PartialFetch *fetches; /* one for each of the plan's fetches */
    size_t taken_count;
    uint64_t fed_bytes;    /* of all feeds, while it runs */
    uint64_t output_bytes; /* of outputs that nobody has asked for */
    ListLink waiters;      /* PartialWaiters */
    bool is_admitted;      /* it counts as one of its tenant's running steps, until it has ended */
    bool has_ended;        /* with the status and message below */
    bool is_told;
    Status status;
    char message[ERROR_MESSAGE_SIZE];
};

/* Makes a run for a request with this body, which is copied. NULL without memory. */
MUST_USE PartialRun *partial_run_new(PartialLoop *loop, const PartialKey *key, const Call *call, Slice body);

/* Frees a run that has not begun. */
void partial_run_free(PartialRun *run);

/* Prepares the step as step_call_prepare() does; the error is in run->call. */
MUST_USE Status partial_run_prepare(PartialRun *run, JobContext *context, bool *ret_needs_job);

/* Starts the run: from now on requests can find it, and it frees itself; `waiter` is served first. It ends
 * with RESOURCE_EXHAUSTED when the tenant runs as many steps as it may and none of them ends soon.
 * RESOURCE_EXHAUSTED above the limit partial_runs. */
MUST_USE Status partial_run_begin(Call *call, PartialRun *run, PartialWaiter *waiter);

/* Ends a run whose client has gone before it could be told of it. */
void partial_run_cancel(PartialRun *run);

/* Returns the run of this key, on its loop; NULL when it is gone. */
PartialRun *partial_run_find(PartialTable *table, const PartialKey *key);

/* Gives feeds, in the plan's order; tensors without a dtype are not given. OUT_OF_RANGE above the limit
 * partial_run_bytes: then none has been given. */
MUST_USE Status partial_run_give(Call *call, PartialRun *run, const Tensor *feeds);

/* Marks fetches, which nobody has asked for before, as asked for. */
void partial_run_take(PartialRun *run, const uint32_t *fetches, size_t count);

/* Marks fetches as not asked for, since their request is gone. Their bytes count again: above the limit,
 * the run ends. */
void partial_run_put_back(PartialRun *run, const uint32_t *fetches, size_t count);

/* Hands out fetches that have come, with the memory that the run has claimed for them, to the call of the
 * request that asked for them. */
void partial_run_hand_out(PartialRun *run, const uint32_t *fetches, size_t count, StepCall *taker);

/* Ends the run with this error unless it has ended; partial_run_settle() then tells the requests that
 * wait. */
void partial_run_fail(PartialRun *run, Status status, const char *message);

/* Returns whether all feeds have been given and all fetches asked for. */
bool partial_run_is_used_up(const PartialRun *run);

/* Returns whether the run has succeeded and all its fetches have been asked for. */
bool partial_run_is_complete(const PartialRun *run);

/* Serves the waiters that are ready, and frees the run when it is of no more use. */
void partial_run_settle(PartialRun *run);

/* Ends the loop's runs that no request waits for; the others end once their requests are served. */
void partials_drain(PartialLoop *loop);

/* Ends all runs of a loop that has stopped. */
void partials_close(PartialLoop *loop);

/* Ends the runs of a deleted session on all loops. Any thread. Without memory they end when their time is
 * over. */
void partials_end_session(const PartialTable *table, TenantId tenant, SessionId session);
