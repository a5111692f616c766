/* The partial runs that this gateway holds, by what requests name them with. A run lives on the loop that
 * made it; here any loop finds which one that is, and what it must know of the run before it asks there.
 *
 * The id of a run names its gateway and its loop: requests that come to another gateway are told so.
 *
 * Ownership: a run is its loop's; the table only points to it.
 * Threads:   any; one lock. The run behind the pointer belongs to its loop. */
#pragma once

#include "gateway/app/gateway.h"

typedef struct PartialRun PartialRun;
typedef struct PartialTable PartialTable;

typedef struct PartialKey {
    TenantId tenant;
    SessionId session;
    StepId id; /* its step's, too */
} PartialKey;

/* What does not change while the run lives. */
typedef struct PartialFacts {
    GraphSnapshot *graph; /* a new reference, and of the next, too */
    Plan *plan;
    GatewayLoop *loop;
    uint64_t expires_ns;
} PartialFacts;

MUST_USE PartialTable *partial_table_new(void);
void partial_table_free(PartialTable *table); /* NULL is allowed */

StepId partial_run_id_new(const GatewayLoop *loop);

/* RESOURCE_EXHAUSTED when the tenant has as many as it may; UNAVAILABLE once the gateway is closing. */
MUST_USE Status partial_table_add(Call *call, PartialTable *table, PartialRun *run);
void partial_table_remove(PartialTable *table, const PartialRun *run);

/* NOT_FOUND when there is no such run (any more); ABORTED when another gateway has made it. */
MUST_USE Status partial_table_look(
    Call *call, const Gateway *gateway, const PartialKey *key, PartialFacts *ret_facts);

/* On the run's loop; NULL when it is gone. */
PartialRun *partial_table_find(PartialTable *table, const PartialKey *key);

/* NULL is allowed. No run is added, and none is found by partial_table_look(), from now on. */
void partial_table_close(PartialTable *table);
bool partial_table_is_closed(PartialTable *table);
size_t partial_table_count(PartialTable *table);
