/* Partial runs (TensorFlow's PartialRunSetup and PartialRun): a step whose feeds are given, and whose fetches
 * are asked for, in several requests, while its graph waits in between on the workers.
 *
 * Happy path: partial_run_new() → partial_run_prepare() as any step, with feeds that are names alone →
 * partial_run_begin() starts the step; each worker's request stays open → partial_run_give() and
 * partial_run_take() as requests come (partial_visit.h) → when the last fetch has been handed out, the run
 * frees itself.
 *
 * It ends early with the first error, when its time is over, when it is deleted, or with its gateway. How it
 * failed is told to who waits, else to the first who asks; after that, or when its time is over, nothing of
 * it is left. It is never run a second time: what it has been given so far may have changed something.
 *
 * Ownership: the loop's that made it; it frees itself.
 * Threads:   its loop's, but for partial_run_prepare(), which may be called on a job thread. */
#pragma once

#include "gateway/partials/partial_table.h"
#include "gateway/steps/step_call.h"

typedef struct PartialRun PartialRun;
typedef struct PartialWaiter PartialWaiter;

/* Somebody who waits on the run's loop for its fetches or its end. */
struct PartialWaiter {
    ListLink link; /* in run->waiters */
    bool (*is_ready)(PartialWaiter *waiter, const PartialRun *run);
    void (*serve)(PartialWaiter *waiter, PartialRun *run); /* ends the waiting */
};

typedef struct PartialFetch {
    bool is_taken; /* somebody has asked for it */
    bool has_come; /* from the worker: its tensor is in step.outputs until it is handed out … */
    bool is_dead;  /* … or has no value */
} PartialFetch;

struct PartialRun {
    PartialFacts facts;
    ListLink link; /* in PartialLoop.runs */
    Call call;
    StepCall step;       /* without exchange; prepared */
    Slice request;       /* its body */
    StepRun *run;        /* NULL before it begins, and when it has ended */
    uint64_t expires_us; /* wall clock; facts.expires_ns says the same */
    Timer expiry;        /* of one that has ended, and that somebody may still ask */
    bool *is_fed;        /* by the plan's feed */
    size_t fed_count;
    PartialFetch *fetches; /* by the plan's fetch */
    size_t taken_count;
    uint64_t fed_bytes;    /* the feeds, while it runs */
    uint64_t output_bytes; /* that have come and that nobody has asked for */
    ListLink waiters;      /* PartialWaiters */
    bool has_ended;        /* as follows */
    bool is_told;
    Status status;
    char message[ERROR_MESSAGE_SIZE];
};

/* For a request of this body, which is copied. NULL without memory. */
MUST_USE PartialRun *partial_run_new(PartialLoop *loop, const PartialKey *key, const Call *call, Slice body);

/* Of one that has not begun. */
void partial_run_free(PartialRun *run);

/* As step_call_prepare(); the call's error is run->call's. */
MUST_USE Status partial_run_prepare(PartialRun *run, JobContext *context, bool *ret_needs_job);

/* From now on it can be found, and frees itself. RESOURCE_EXHAUSTED above the limit partial_runs. */
MUST_USE Status partial_run_begin(Call *call, PartialRun *run);

/* Returns the run of this key, on its loop; NULL when it is gone. */
PartialRun *partial_run_find(PartialTable *table, const PartialKey *key);

/* What a continue brings, by the plan's feed: tensors without a dtype are none of it. OUT_OF_RANGE above the
 * limit partial_run_bytes: nothing has been given then. */
MUST_USE Status partial_run_give(Call *call, PartialRun *run, const Tensor *feeds);

/* What a continue asks for, of what nobody has asked for yet. */
void partial_run_take(PartialRun *run, const uint32_t *fetches, size_t count);

/* Nobody waits for them any more. Those that are here count again: above the limit, the run ends. */
void partial_run_put_back(PartialRun *run, const uint32_t *fetches, size_t count);

/* Ends it with this error unless it has ended; who waits is told by partial_run_settle(). */
void partial_run_fail(PartialRun *run, Status status, const char *message);

/* All feeds have been given, and all fetches asked for. */
bool partial_run_is_used_up(const PartialRun *run);

/* It has ended well, and all its fetches have been asked for. */
bool partial_run_is_complete(const PartialRun *run);

/* Serves the visits whose wishes have come true, and frees the run when nothing is left to do with it. */
void partial_run_settle(PartialRun *run);

/* The loop's runs: those that nobody waits for end now, the others when they have been served. */
void partials_drain(PartialLoop *loop);

/* All of them end now: the loop has stopped. */
void partials_close(PartialLoop *loop);

/* Ends those of a session that has been deleted, on all loops. Any thread. Without memory, runs end when
 * their time is over. */
void partials_end_session(const PartialTable *table, TenantId tenant, SessionId session);
