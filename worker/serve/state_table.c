#include "worker/serve/state_table.h"

#include <stdio.h>

#include "shared/base/clock.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum { KEY_SIZE = 192 };

static const uint64_t SWEEP_INTERVAL_NS = 60 * CLOCK_NS_PER_S;

typedef struct State {
    int64_t epoch;
    uint64_t used_ns;
    ResourceContainer *container; /* NULL: forgotten; the entry stays, so that the loss is known */
} State;

struct StateTable {
    Mutex lock;
    Map *states; /* "tenant/session/place" → State */
    uint64_t sweep_due_ns;
};

StateTable *
state_table_new(void)
{
    StateTable *table = memory_new(1, sizeof *table);
    Map *states = map_new();
    if (table == NULL || states == NULL) {
        memory_free(table);
        map_free(states);
        return NULL;
    }
    mutex_init(&table->lock);
    table->states = states;
    return table;
}

static void
state_free(State *state)
{
    container_unref(state->container);
    memory_free(state);
}

/* Drops the states whose keys begin with `prefix`; with `only_forgotten`, those of them that have no
 * container. */
static void
states_drop(Map *states, Slice prefix, bool only_forgotten)
{
    size_t cursor = 0;
    for (const MapEntry *entry = map_next(states, &cursor); entry != NULL;
         entry = map_next(states, &cursor)) {
        State *state = entry->value;
        if (slice_starts_with(entry->key, prefix) && !(only_forgotten && state->container != NULL)) {
            (void)map_remove(states, entry->key);
            state_free(state);
        }
    }
}

/* Releases the containers of states that were not used after `since_ns`. */
static void
states_forget(Map *states, uint64_t since_ns)
{
    size_t cursor = 0;
    for (const MapEntry *entry = map_next(states, &cursor); entry != NULL;
         entry = map_next(states, &cursor)) {
        State *state = entry->value;
        if (state->used_ns <= since_ns) {
            container_unref(state->container);
            state->container = NULL;
        }
    }
}

void
state_table_clear(StateTable *table)
{
    mutex_lock(&table->lock);
    states_drop(table->states, SLICE(""), false);
    mutex_unlock(&table->lock);
}

void
state_table_free(StateTable *table)
{
    if (table != NULL) {
        state_table_clear(table);
        map_free(table->states);
        mutex_done(&table->lock);
        memory_free(table);
    }
}

static Status
state_add(Call *call, Map *states, Slice key, State **ret_state)
{
    if (map_count(states) >= STATE_COUNT_MAX) {
        states_drop(states, SLICE(""), true);
    }
    if (map_count(states) >= STATE_COUNT_MAX) {
        return call_fail(
            call, STATUS_RESOURCE_EXHAUSTED, "%d sessions keep something here already", STATE_COUNT_MAX);
    }
    State *state = memory_new(1, sizeof *state);
    if (state == NULL || !map_put(states, key, state)) {
        memory_free(state);
        return call_fail_memory(call, "what a session keeps");
    }
    *ret_state = state;
    return STATUS_OK;
}

/* Begins an epoch with an empty container. It is marked as lost when there was one before: in an earlier
 * epoch, or in this one and forgotten. */
static Status
begin_epoch(Call *call, State *state, int64_t epoch)
{
    ResourceContainer *container = container_new();
    if (container == NULL) {
        return call_fail_memory(call, "what a session keeps");
    }
    if (epoch > 1 || epoch == state->epoch) {
        container_mark_lost(container);
    }
    container_unref(state->container);
    state->container = container;
    state->epoch = epoch;
    return STATUS_OK;
}

static Status
obtain_state(Call *call, Map *states, Slice key, const StatePlace *place, State **ret_state)
{
    State *state = map_get(states, key);
    if (state == NULL) {
        TRY(state_add(call, states, key, &state));
    }
    if (place->epoch < state->epoch) {
        return call_fail(call, STATUS_ABORTED, "epoch %lld of what the session keeps is over, %lld has begun",
            (long long)place->epoch, (long long)state->epoch);
    }
    if (place->epoch > state->epoch || state->container == NULL) {
        TRY(begin_epoch(call, state, place->epoch));
    }
    *ret_state = state;
    return STATUS_OK;
}

static void
sweep_states(StateTable *table, uint64_t now_ns)
{
    uint64_t idle_ns = STATE_IDLE_S * CLOCK_NS_PER_S;
    if (now_ns >= table->sweep_due_ns) {
        table->sweep_due_ns = now_ns + SWEEP_INTERVAL_NS;
        if (now_ns > idle_ns) {
            states_forget(table->states, now_ns - idle_ns);
        }
    }
}

Status
state_table_obtain(
    Call *call, StateTable *table, const StatePlace *place, uint64_t now_ns, ResourceContainer **ret_state)
{
    char text[KEY_SIZE];
    State *state = NULL;
    int size = snprintf(text, sizeof text, "%.*s/%.*s/%lld", SLICE_PRINT(place->tenant),
        SLICE_PRINT(place->session), (long long)place->place);
    if (size < 0 || size >= KEY_SIZE || place->epoch < 1) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "tenant, session or epoch of what is kept is out of range");
    }
    mutex_lock(&table->lock);
    sweep_states(table, now_ns);
    Status status = obtain_state(call, table->states, slice_of(text, (size_t)size), place, &state);
    if (status == STATUS_OK) {
        state->used_ns = now_ns;
        *ret_state = container_ref(state->container);
    }
    mutex_unlock(&table->lock);
    return status;
}

void
state_table_remove(StateTable *table, Slice tenant, Slice session)
{
    char text[KEY_SIZE];
    int size = snprintf(text, sizeof text, "%.*s/%.*s/", SLICE_PRINT(tenant), SLICE_PRINT(session));
    if (size > 0 && size < KEY_SIZE) {
        mutex_lock(&table->lock);
        states_drop(table->states, slice_of(text, (size_t)size), false);
        mutex_unlock(&table->lock);
    }
}

size_t
state_table_reset(StateTable *table, const StateReset *reset)
{
    char text[KEY_SIZE];
    size_t cursor = 0;
    size_t count = 0;
    int size = snprintf(text, sizeof text, "%.*s/%.*s%s", SLICE_PRINT(reset->tenant),
        SLICE_PRINT(reset->session), reset->session.size > 0 ? "/" : "");
    if (size <= 0 || size >= KEY_SIZE) {
        return 0;
    }
    mutex_lock(&table->lock);
    for (const MapEntry *entry = map_next(table->states, &cursor); entry != NULL;
         entry = map_next(table->states, &cursor)) {
        const State *state = entry->value;
        if (state->container != NULL && slice_starts_with(entry->key, slice_of(text, (size_t)size))) {
            count += container_reset(state->container, reset->containers, reset->container_count);
        }
    }
    mutex_unlock(&table->lock);
    return count;
}

size_t
state_table_count(StateTable *table)
{
    size_t count = 0;
    size_t cursor = 0;
    mutex_lock(&table->lock);
    for (const MapEntry *entry = map_next(table->states, &cursor); entry != NULL;
         entry = map_next(table->states, &cursor)) {
        count += ((const State *)entry->value)->container != NULL ? 1 : 0;
    }
    mutex_unlock(&table->lock);
    return count;
}
