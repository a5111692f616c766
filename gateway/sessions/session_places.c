#include "gateway/sessions/session_places.h"

#include <stdio.h>
#include <string.h>

#include "shared/base/clock.h"

enum { SETTLING_MS = 15000 }; /* a gateway that has just started does not know all workers yet */

static bool
keeps_state(const Plan *plan)
{
    for (size_t slot = 0; slot < plan->slot_count; slot++) {
        if (plan->slots[slot].keeps_state) {
            return true;
        }
    }
    return false;
}

static const SessionPlace *
find_place(const SessionSnapshot *session, int32_t task)
{
    for (size_t index = 0; index < session->place_count; index++) {
        if (session->places[index].task == task) {
            return &session->places[index];
        }
    }
    return NULL;
}

static bool
is_lost(const Gateway *gateway, const Roster *roster, const SessionPlace *place)
{
    const WorkerInfo *const worker = roster_find_name(roster, slice_from_string(place->worker));
    if (worker != NULL) {
        return worker->state == WORKER_LOST || strcmp(worker->incarnation, place->incarnation) != 0;
    }
    return clock_monotonic_ns() - gateway->started_ns > SETTLING_MS * CLOCK_NS_PER_MS;
}

/* --- Binding -------------------------------------------------------------------------------------------- */

/* A task's own worker; else the one with the least to do, beginning with another one for each session. */
static const WorkerInfo *
choose_worker(const Roster *roster, const StepCall *step, int32_t task)
{
    const WorkerInfo *best = NULL;
    const size_t first = step->session_id.value.bytes[sizeof(Uuid) - 1];
    for (size_t index = 0; index < roster->count; index++) {
        const WorkerInfo *const worker = &roster->workers[(first + index) % roster->count];
        const bool fits = worker->state == WORKER_SERVING && (task < 0 || worker->task == task);
        if (fits && (best == NULL || worker->running_count < best->running_count)) {
            best = worker;
        }
    }
    return best;
}

static Status
write_binding(
    StepCall *step, Store *store, const WorkerInfo *worker, int32_t task, const SessionPlace *previous)
{
    SessionPlace place = {.task = task};
    (void)snprintf(place.worker, sizeof place.worker, "%s", worker->name);
    (void)snprintf(place.incarnation, sizeof place.incarnation, "%s", worker->incarnation);
    return previous == NULL
               ? places_bind(step->call, store, step->tenant, step->session_id, &place)
               : places_rebind(step->call, store, step->tenant, step->session_id, &place, previous->epoch);
}

static Status
bind(StepCall *step, JobContext *context, const Roster *roster, int32_t task, const SessionPlace *previous)
{
    Store *store = NULL;
    SessionSnapshot *session = NULL;
    const WorkerInfo *const worker = choose_worker(roster, step, task);
    if (worker == NULL && task >= 0) {
        return call_fail(step->call, STATUS_UNAVAILABLE,
            "variables of this session are to be kept by task %d, and no serving worker has it", task);
    }
    if (worker == NULL) {
        return call_fail(step->call, STATUS_UNAVAILABLE, "no worker is serving (%zu known)", roster->count);
    }
    TRY(job_store(step->call, context, STORE_ROLE_APP, &store));
    TRY(write_binding(step, store, worker, task, previous));
    TRY(graph_cache_load_session(
        step->call, step->loop->gateway->graphs, store, step->tenant, step->session_id, &session));
    session_snapshot_unref(step->session);
    step->session = session;
    return STATUS_OK;
}

/* --- Pins ----------------------------------------------------------------------------------------------- */

static void
pin_fill(const SessionPlace *place, StepPin *ret_pin)
{
    *ret_pin = (StepPin){.place = place->task, .epoch = place->epoch};
    (void)snprintf(ret_pin->worker, sizeof ret_pin->worker, "%s", place->worker);
    (void)snprintf(ret_pin->incarnation, sizeof ret_pin->incarnation, "%s", place->incarnation);
    (void)snprintf(ret_pin->lost_worker, sizeof ret_pin->lost_worker, "%s", place->lost_worker);
}

static Status
take_pin(StepCall *step, JobContext *context, const Roster *roster, int32_t task, StepPin *ret_pin)
{
    const SessionPlace *place = find_place(step->session, task);
    const bool is_missing = place == NULL || is_lost(step->loop->gateway, roster, place);
    if (is_missing && context == NULL) {
        return STATUS_OK; /* epoch 0 tells it */
    }
    if (is_missing) {
        TRY(bind(step, context, roster, task, place));
        place = find_place(step->session, task);
    }
    if (place == NULL) {
        return call_fail(step->call, STATUS_ABORTED, "the session was deleted meanwhile");
    }
    pin_fill(place, ret_pin);
    return STATUS_OK;
}

static Status
take_pins(StepCall *step, JobContext *context, const Roster *roster, bool *ret_needs_job)
{
    const Plan *const plan = step->plan;
    StepPin *const pins = arena_alloc(step->call->arena, plan->slot_count * sizeof *pins);
    if (pins == NULL) {
        return call_fail_memory(step->call, "the places of a session");
    }
    for (size_t slot = 0; slot < plan->slot_count; slot++) {
        if (!plan->slots[slot].keeps_state) {
            continue;
        }
        TRY(take_pin(step, context, roster, plan->slots[slot].task, &pins[slot]));
        if (pins[slot].epoch == 0) {
            *ret_needs_job = true;
            return STATUS_OK;
        }
    }
    step->pins = pins;
    return STATUS_OK;
}

Status
session_places_take(StepCall *step, JobContext *context, bool *ret_needs_job)
{
    if (step->pins != NULL || !keeps_state(step->plan)) {
        return STATUS_OK;
    }
    Roster *const roster = directory_take(step->loop->gateway->directory);
    const Status status = take_pins(step, context, roster, ret_needs_job);
    roster_unref(roster);
    return status;
}
