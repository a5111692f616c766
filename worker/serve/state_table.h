/* The state that sessions keep on this worker: a container (worker/runtime/resource.h) for each place of a
 * session. A session's place is bound to one worker at a time, and each binding has a number, its epoch: a
 * later one begins with nothing and shuts the earlier one out, so that what a session lost never comes back,
 * nor begins anew by itself (container_mark_lost()).
 *
 * What nobody uses for a day is forgotten, which is a loss too.
 *
 * Threads: any; locks inside.
 * Errors:  ABORTED for an epoch that a later one has shut out; RESOURCE_EXHAUSTED above STATE_COUNT_MAX. */
#pragma once

#include "shared/base/call.h"
#include "shared/base/slice.h"
#include "worker/runtime/resource.h"

enum { STATE_COUNT_MAX = 16384, STATE_IDLE_S = 24 * 3600 };

typedef struct StateTable StateTable;

MUST_USE StateTable *state_table_new(void);
void state_table_free(StateTable *table); /* NULL is allowed */

typedef struct StatePlace {
    Slice tenant;
    Slice session;
    int64_t place;
    int64_t epoch;
} StatePlace;

/* Returns a new reference to the container of the session's place. */
MUST_USE Status state_table_obtain(
    Call *call, StateTable *table, const StatePlace *place, uint64_t now_ns, ResourceContainer **ret_state);

/* Drops what lies in these containers (worker/runtime/resource.h) of all of a tenant's sessions, or of one;
 * how many resources that were. Running steps keep what they hold. */
typedef struct StateReset {
    Slice tenant;
    Slice session; /* empty: all */
    const Slice *containers;
    size_t container_count;
} StateReset;
size_t state_table_reset(StateTable *table, const StateReset *reset);

/* All places of a session. Running steps keep what they hold. */
void state_table_remove(StateTable *table, Slice tenant, Slice session);
void state_table_clear(StateTable *table);
size_t state_table_count(StateTable *table); /* of places where something is kept */
