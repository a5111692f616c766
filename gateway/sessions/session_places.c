#include "gateway/sessions/session_places.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"

enum { SETTLING_MS = 15000 }; /* a gateway that has just started does not know all workers yet */

/* One step's look at its session's places. */
typedef struct Seeker {
    Call *call;
    const PlaceBinder *binder;
    const Plan *plan;
    SessionSnapshot **session;
    JobContext *context; /* NULL on a loop */
    const Roster *roster;
} Seeker;

bool
session_places_are_needed(const Plan *plan)
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
is_lost(const Seeker *seeker, const SessionPlace *place)
{
    const WorkerInfo *worker = roster_find_name(seeker->roster, slice_from_string(place->worker));
    if (worker != NULL) {
        return worker->state == WORKER_LOST || strcmp(worker->incarnation, place->incarnation) != 0;
    }
    uint64_t age_ns = clock_monotonic_ns() - seeker->binder->replica->started_ns;
    return age_ns > SETTLING_MS * CLOCK_NS_PER_MS;
}

/* A worker without a GPU has more to do than it seems, whatever this step computes: later ones need the
 * variables where they are. */
static int64_t
load_of(const WorkerInfo *worker)
{
    return worker->running_count + (worker->has_gpu ? 0 : WITHOUT_GPU_LOAD);
}

/* Returns the task's own worker when there is a task, else the one with the least to do; with a GPU, if one
 * is needed. The search begins at another worker for each session, so that idle workers share the sessions.
 */
static const WorkerInfo *
choose_worker(const Seeker *seeker, int32_t task, bool needs_gpu)
{
    const Roster *roster = seeker->roster;
    const char *labels = (*seeker->session)->options.worker_labels;
    const WorkerInfo *best = NULL;
    uint32_t first = 0;
    memcpy(&first, (*seeker->session)->id.value.bytes + sizeof(Uuid) - sizeof first, sizeof first);
    for (size_t index = 0; index < roster->count; index++) {
        const WorkerInfo *worker = &roster->workers[(first + index) % roster->count];
        bool fits = worker->state == WORKER_SERVING && (task < 0 || worker->task == task) &&
                    (!needs_gpu || worker->has_gpu) && worker_has_labels(worker, labels);
        if (fits && (best == NULL || load_of(worker) < load_of(best))) {
            best = worker;
        }
    }
    return best;
}

static Status
write_binding(
    const Seeker *seeker, Store *store, const WorkerInfo *worker, int32_t task, const SessionPlace *previous)
{
    const SessionSnapshot *session = *seeker->session;
    SessionPlace place = {.task = task};
    (void)snprintf(place.worker, sizeof place.worker, "%s", worker->name);
    (void)snprintf(place.incarnation, sizeof place.incarnation, "%s", worker->incarnation);
    return previous == NULL
               ? places_bind(seeker->call, store, session->tenant, session->id, &place)
               : places_rebind(seeker->call, store, session->tenant, session->id, &place, previous->epoch);
}

static Status
bind_place(const Seeker *seeker, const PlanSlot *slot, const SessionPlace *previous)
{
    int32_t task = slot->task;
    bool needs_gpu = slot->gpu == PLAN_GPU_NEEDED && task < 0;
    Call *call = seeker->call;
    const SessionSnapshot *session = *seeker->session;
    Store *store = NULL;
    SessionSnapshot *newer = NULL;
    const WorkerInfo *worker = choose_worker(seeker, task, needs_gpu);
    if (worker == NULL && task >= 0) {
        return call_fail(call, STATUS_UNAVAILABLE,
            "variables of this session are to be kept by task %d, and no serving worker has it", task);
    }
    if (worker == NULL && session->options.worker_labels[0] != '\0') {
        return roster_refuse_labels(call, seeker->roster, session->options.worker_labels);
    }
    if (worker == NULL && needs_gpu) {
        return roster_refuse_gpu(call, seeker->roster, slot->gpu_node);
    }
    if (worker == NULL) {
        return roster_refuse_all(call, seeker->roster);
    }
    TRY(job_store(call, seeker->context, STORE_ROLE_APP, &store));
    TRY(write_binding(seeker, store, worker, task, previous));
    TRY(session_cache_load(call, seeker->binder->sessions, store, session->tenant, session->id, &newer));
    session_snapshot_unref(*seeker->session);
    *seeker->session = newer;
    return STATUS_OK;
}

static void
pin_fill(const SessionPlace *place, StepPin *ret_pin)
{
    *ret_pin = (StepPin){.place = place->task, .epoch = place->epoch};
    (void)snprintf(ret_pin->worker, sizeof ret_pin->worker, "%s", place->worker);
    (void)snprintf(ret_pin->incarnation, sizeof ret_pin->incarnation, "%s", place->incarnation);
    (void)snprintf(ret_pin->lost_worker, sizeof ret_pin->lost_worker, "%s", place->lost_worker);
}

/* Leaves the pin's epoch 0 when a place must be bound and this is a loop. */
static Status
take_pin(const Seeker *seeker, const PlanSlot *slot, StepPin *ret_pin)
{
    const SessionPlace *place = find_place(*seeker->session, slot->task);
    bool is_missing = place == NULL || is_lost(seeker, place);
    if (is_missing && seeker->context == NULL) {
        return STATUS_OK;
    }
    if (is_missing) {
        TRY(bind_place(seeker, slot, place));
        place = find_place(*seeker->session, slot->task);
    }
    if (place == NULL) {
        return call_fail(seeker->call, STATUS_ABORTED, "the session was deleted meanwhile");
    }
    pin_fill(place, ret_pin);
    return STATUS_OK;
}

static Status
take_pins(const Seeker *seeker, const StepPin **ret_pins)
{
    const Plan *plan = seeker->plan;
    StepPin *pins = arena_alloc(seeker->call->arena, plan->slot_count * sizeof *pins);
    if (pins == NULL) {
        return call_fail_memory(seeker->call, "the places of a session");
    }
    for (size_t slot = 0; slot < plan->slot_count; slot++) {
        if (!plan->slots[slot].keeps_state) {
            continue;
        }
        TRY(take_pin(seeker, &plan->slots[slot], &pins[slot]));
        if (pins[slot].epoch == 0) {
            return STATUS_OK;
        }
    }
    *ret_pins = pins;
    return STATUS_OK;
}

Status
session_places_take(Call *call, const PlaceBinder *binder, const Plan *plan, SessionSnapshot **session,
    JobContext *context, const StepPin **ret_pins)
{
    assert(*session != NULL && session_places_are_needed(plan));

    Roster *roster = directory_take(binder->directory);
    Seeker seeker = {.call = call,
        .binder = binder,
        .plan = plan,
        .session = session,
        .context = context,
        .roster = roster};
    Status status = take_pins(&seeker, ret_pins);
    roster_unref(roster);
    return status;
}

/* The news of a deleted session on its way to the loop that tells the workers. */
typedef struct Release {
    Task task; /* first */
    Dispatcher *dispatcher;
    Directory *directory;
    char tenant[UUID_TEXT_SIZE];
    char session[ID_TEXT_SIZE];
    SessionPlaces places;
} Release;

static void
release_on_loop(Task *task)
{
    Release *release = (Release *)(void *)task;
    Roster *roster = directory_take(release->directory);
    for (size_t index = 0; index < release->places.count; index++) {
        const WorkerInfo *worker =
            roster_find_name(roster, slice_from_string(release->places.items[index].worker));
        if (worker != NULL && worker->state != WORKER_LOST) {
            dispatcher_release_session(
                release->dispatcher, release->tenant, release->session, worker->address);
        }
    }
    roster_unref(roster);
    memory_free(release);
}

void
session_places_release(Loop *loop, Dispatcher *dispatcher, Directory *directory, TenantId tenant,
    SessionId session, const SessionPlaces *places)
{
    assert(loop != NULL && dispatcher != NULL && directory != NULL);

    Release *release = places->count == 0 ? NULL : memory_new(1, sizeof *release);
    if (release == NULL) {
        return;
    }
    *release = (Release){
        .task.run = release_on_loop, .dispatcher = dispatcher, .directory = directory, .places = *places};
    uuid_to_text(tenant.value, release->tenant);
    id_to_text("ses", session.value, release->session);
    loop_post(loop, &release->task);
}
