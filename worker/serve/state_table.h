/* The state that sessions keep on this worker: one container (worker/runtime/resource.h) for each place of
 * a session. A session's place is bound to one worker at a time, and each binding has a number, its epoch.
 * A later epoch begins empty and shuts the earlier ones out; its container is marked as lost
 * (container_mark_lost()), so that no variable silently begins again with its first value.
 *
 * State that nobody uses for a day is forgotten, which is a loss too.
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

/* Returns a new reference to the container of the place. The first call with a new epoch makes it. */
MUST_USE Status state_table_obtain(
    Call *call, StateTable *table, const StatePlace *place, uint64_t now_ns, ResourceContainer **ret_state);

/* Names the containers in TensorFlow's sense (worker/runtime/resource.h) to be emptied. */
typedef struct StateReset {
    Slice tenant;
    Slice session; /* empty: all sessions of the tenant */
    const Slice *containers;
    size_t container_count;
} StateReset;
/* Removes all resources of these containers and returns how many there were. Running steps keep those that
 * they hold. */
size_t state_table_reset(StateTable *table, const StateReset *reset);

/* Drops the state of all places of a session. Running steps keep the containers that they hold. */
void state_table_remove(StateTable *table, Slice tenant, Slice session);
void state_table_clear(StateTable *table);
size_t state_table_count(StateTable *table); /* places that have a container */
