/* Compiled plans by their signature's key, compared in full, least recently used first out. One caller
 * compiles what is missing while all others who want it wait for that; a compilation that fails is not
 * remembered.
 *
 * Ownership: the cache holds a reference to each plan; plans given out carry a reference for the receiver. A
 *            PlanWaiter lives in its owner's struct until it was called or has left.
 * Threads:   any, behind one mutex that is held for a few map operations. A waiter is called by the thread
 * that compiled, without the mutex: one that belongs to a loop posts to that loop and returns. Errors:
 * without memory to remember something the cache forgets it: nothing fails. */
#pragma once

#include "gateway/plan/plan.h"
#include "shared/base/list.h"

typedef struct PlanCache PlanCache;
typedef struct PlanWaiter PlanWaiter;

typedef enum PlanLookup {
    PLAN_FOUND,   /* a plan, with a reference for the receiver */
    PLAN_COMPILE, /* the receiver compiles, and ends that with plan_cache_put() or plan_cache_fail() */
    PLAN_WAIT,    /* somebody else compiles: the waiter will be called once */
    PLAN_FAILED,  /* to waiters only: why is in the outcome */
} PlanLookup;

typedef struct PlanOutcome {
    PlanLookup lookup; /* FOUND; FAILED; COMPILE: the one that did has given up, it is the waiter's turn */
    Plan *plan;
    Status code; /* FAILED */
    const char *message;
} PlanOutcome;

struct PlanWaiter {
    void (*on_ready)(PlanWaiter *waiter, const PlanOutcome *outcome);
    ListLink link; /* the cache's */
    bool is_waiting;
};

typedef struct PlanCacheStats {
    size_t byte_size;
    size_t plan_count;
    uint64_t hit_count;
    uint64_t miss_count; /* compilations begun */
    uint64_t wait_count;
    uint64_t eviction_count;
} PlanCacheStats;

/* NULL without memory. */
MUST_USE PlanCache *plan_cache_new(size_t byte_size_max);

/* Once nobody compiles or waits any more. NULL is allowed. */
void plan_cache_free(PlanCache *cache);

/* The plan, with a reference for the receiver, or NULL; obliges to nothing. For a loop, which leaves the
 * compiling to a job thread. */
MUST_USE Plan *plan_cache_find(PlanCache *cache, Slice key);

/* FOUND fills ret_plan. WAIT takes the waiter, whose on_ready is set. */
MUST_USE PlanLookup plan_cache_get(PlanCache *cache, Slice key, PlanWaiter *waiter, Plan **ret_plan);

/* Takes a reference of its own; everybody who waits gets one. A plan larger than the cache is passed on to
 * them and not kept. */
void plan_cache_put(PlanCache *cache, Slice key, Plan *plan);

/* Tells everybody who waits. When the compilation was only given up (CANCELLED, DEADLINE_EXCEEDED), the next
 * in line compiles and the others go on waiting. */
void plan_cache_fail(PlanCache *cache, Slice key, const Error *error);

/* True: the waiter will not be called. False: it was, or is being called now. */
bool plan_cache_leave(PlanCache *cache, PlanWaiter *waiter);

/* Drops all plans of a deleted graph, by what identified it in signature_make(). */
void plan_cache_forget_graph(PlanCache *cache, Slice graph);

PlanCacheStats plan_cache_stats(PlanCache *cache);
