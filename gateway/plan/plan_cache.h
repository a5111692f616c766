/* A cache of compiled plans by the keys of their signatures, which are compared in full; the least
 * recently used plan goes first. One caller compiles a missing plan while all others who want it wait. A
 * compilation that fails is not remembered.
 *
 * Ownership: the cache holds a reference to each plan, and whoever gets a plan gets a reference. A
 *            PlanWaiter lives in its owner's struct until it was called or has left.
 * Threads:   any; one mutex is held for a few map operations. The thread that compiled calls the waiters,
 *            without the mutex: a waiter that belongs to a loop must post to that loop and return.
 * Errors:    without memory the cache forgets: nothing fails. */
#pragma once

#include "gateway/plan/plan.h"
#include "shared/base/list.h"

typedef struct PlanCache PlanCache;
typedef struct PlanWaiter PlanWaiter;

typedef enum PlanLookup {
    PLAN_FOUND,   /* a plan, with a reference for the receiver */
    PLAN_COMPILE, /* the receiver must compile, and end that with plan_cache_put() or plan_cache_fail() */
    PLAN_WAIT,    /* another caller compiles: the waiter will be called once */
    PLAN_FAILED,  /* for waiters only: the outcome tells why */
} PlanLookup;

typedef struct PlanOutcome {
    PlanLookup lookup; /* PLAN_FOUND or PLAN_FAILED; PLAN_COMPILE when the compiling caller gave up and it
                        * is the waiter's turn */
    Plan *plan;
    Status code; /* of PLAN_FAILED */
    const char *message;
} PlanOutcome;

struct PlanWaiter {
    void (*on_ready)(PlanWaiter *waiter, const PlanOutcome *outcome);
    ListLink link; /* in the cache's list */
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

/* Returns NULL without memory. */
MUST_USE PlanCache *plan_cache_new(size_t byte_size_max);

/* Requires that nobody compiles or waits any more. NULL is allowed. */
void plan_cache_free(PlanCache *cache);

/* Returns the plan, with a reference for the receiver, or NULL. Unlike plan_cache_get() it obliges nobody
 * to compile: for loop threads, which leave that to a job thread. */
MUST_USE Plan *plan_cache_find(PlanCache *cache, Slice key);

/* Fills ret_plan for PLAN_FOUND. For PLAN_WAIT it links the waiter, whose on_ready must be set. */
MUST_USE PlanLookup plan_cache_get(PlanCache *cache, Slice key, PlanWaiter *waiter, Plan **ret_plan);

/* Ends a compilation. The cache takes a reference of its own, and every waiter gets one. A plan larger
 * than the cache goes to the waiters and is not kept. */
void plan_cache_put(PlanCache *cache, Slice key, Plan *plan);

/* Ends a compilation without a plan and tells every waiter. After CANCELLED or DEADLINE_EXCEEDED only the
 * first waiter is told, to compile, and the others go on waiting. */
void plan_cache_fail(PlanCache *cache, Slice key, const Error *error);

/* Returns true when the waiter will not be called; false when it has been, or is being called now. */
bool plan_cache_leave(PlanCache *cache, PlanWaiter *waiter);

/* Drops all plans of a graph, by the id or digest that signature_make() got for it. Then `forgotten`, unless
 * it is NULL, is told of each whose partitions are not those of another plan here, without the mutex. */
typedef void (*PlanForgotten)(void *context, Plan *plan);
void plan_cache_forget_graph(PlanCache *cache, Slice graph, PlanForgotten forgotten, void *context);

PlanCacheStats plan_cache_stats(PlanCache *cache);
