/* The table finds the partial runs of this gateway by what requests name them with. A run lives on the
 * loop that made it; any loop finds here which one that is, and the facts that it needs before it sends a
 * request there.
 *
 * The id of a run names its gateway and its loop: requests that come to another gateway are told so.
 *
 * Ownership: a run is its loop's; the table only points to its facts.
 * Threads:   any; one lock. The run behind the facts belongs to its loop. */
#pragma once

#include "gateway/steps/step_loop.h"

typedef struct PartialTable PartialTable;

/* One loop's part. */
typedef struct PartialLoop {
    PartialTable *table;
    StepLoop *steps; /* the same loop's */
    ListLink runs;   /* PartialRuns that it holds */
} PartialLoop;

typedef struct PartialKey {
    TenantId tenant;
    SessionId session;
    StepId id; /* the same as its step's */
} PartialKey;

/* The part of a run that does not change while it can be found. */
typedef struct PartialFacts {
    PartialKey key;
    PartialLoop *loop;
    GraphSnapshot *graph;
    Plan *plan;
    uint64_t expires_ns;
} PartialFacts;

/* Makes an empty table; limits and replica outlive it. NULL without memory. */
MUST_USE PartialTable *partial_table_new(const Limits *limits, const Replica *replica);
void partial_table_free(PartialTable *table); /* NULL is allowed */

/* Makes the part of a loop that does not run yet. */
void partial_loop_init(PartialLoop *loop, PartialTable *table, StepLoop *steps);
void partial_loop_done(PartialLoop *loop); /* the last one made first */

/* Returns the parts of all loops. */
PartialLoop *const *partial_table_loops(const PartialTable *table, size_t *ret_count);

/* Returns a new id for a run of this loop. */
StepId partial_run_id_new(const PartialLoop *loop);

/* Adds a run's facts. RESOURCE_EXHAUSTED when the tenant has as many runs as it may; UNAVAILABLE once the
 * gateway is closing. */
MUST_USE Status partial_table_add(Call *call, PartialTable *table, PartialFacts *facts);
void partial_table_remove(PartialTable *table, const PartialFacts *facts);

/* Copies the facts, with new references to graph and plan. NOT_FOUND when there is no such run (any more);
 * ABORTED when another gateway has made it. */
MUST_USE Status partial_table_look(
    Call *call, PartialTable *table, const PartialKey *key, PartialFacts *ret_facts);

/* Returns the facts of a run, on the run's loop; NULL when it is gone. */
PartialFacts *partial_table_find(PartialTable *table, const PartialKey *key);

/* Closes the table: no run is added any more, and partial_table_look() finds none. NULL is allowed. */
void partial_table_close(PartialTable *table);
bool partial_table_is_closed(PartialTable *table);
size_t partial_table_count(PartialTable *table);
