#include "gateway/dispatch/internals.h"
#include "gateway/dispatch/step.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"

enum { KEY_SIZE = 160, HOLDER_COUNT_MAX = 65536, FAILURE_MS = 3000 };

static Slice
holder_key(const WorkerInfo *worker, const PlanPartition *partition, char *text)
{
    int size = snprintf(text, KEY_SIZE, "%s %s", worker->incarnation, partition->digest);
    return slice_of(text, (size_t)size);
}

/* Forgets all holders. Most belong to incarnations and plans that no longer exist; those in use are noted
 * again. */
static void
holders_clear(Map *holders)
{
    size_t cursor = 0;
    for (const MapEntry *entry = map_next(holders, &cursor); entry != NULL;
         entry = map_next(holders, &cursor)) {
        (void)map_remove(holders, entry->key);
    }
}

void
bind_note_holder(Dispatcher *dispatcher, const WorkerInfo *worker, const PlanPartition *partition)
{
    static char known;
    char text[KEY_SIZE];
    if (map_count(dispatcher->holders) >= HOLDER_COUNT_MAX) {
        holders_clear(dispatcher->holders);
    }
    /* This is only a hint for the next binding: without memory nothing else is lost. */
    (void)!map_put(dispatcher->holders, holder_key(worker, partition, text), &known);
}

/* Returns what is known of the worker's load; NULL without memory, and the worker then counts as idle. */
static WorkerLoad *
load_of(Dispatcher *dispatcher, const WorkerInfo *worker)
{
    Slice key = slice_from_string(worker->address);
    WorkerLoad *load = map_get(dispatcher->loads, key);
    if (load == NULL) {
        load = memory_new(1, sizeof *load);
        if (load == NULL || !map_put(dispatcher->loads, key, load)) {
            memory_free(load);
            return NULL;
        }
    }
    return load;
}

void
bind_load(Dispatcher *dispatcher, const WorkerInfo *worker, int change)
{
    WorkerLoad *load = load_of(dispatcher, worker);
    if (load != NULL) {
        load->running += change;
    }
}

void
bind_note_failure(Dispatcher *dispatcher, const WorkerInfo *worker)
{
    WorkerLoad *load = load_of(dispatcher, worker);
    if (load != NULL) {
        load->failed_ns = clock_monotonic_ns();
    }
}

void
bind_note_success(Dispatcher *dispatcher, const WorkerInfo *worker)
{
    WorkerLoad *load = map_get(dispatcher->loads, slice_from_string(worker->address));
    if (load != NULL) {
        load->failed_ns = 0;
    }
}

static bool
has_failed_lately(const WorkerLoad *load)
{
    return load != NULL && load->failed_ns != 0 &&
           clock_monotonic_ns() - load->failed_ns < FAILURE_MS * CLOCK_NS_PER_MS;
}

const WorkerInfo *
slot_worker(const SlotRun *slot)
{
    assert(slot->worker >= 0 && (size_t)slot->worker < slot->step->workers->count);

    return &slot->step->workers->workers[slot->worker];
}

static bool
is_used(const StepRun *step, int worker)
{
    for (size_t index = 0; index < step->slot_count; index++) {
        if (step->slots[index].worker == worker) {
            return true;
        }
    }
    return false;
}

/* Returns the cost of giving the slot to a worker. The heaviest reasons come first: the worker that this
 * step just failed on, one that others failed on, one that this step uses already, a partition that must
 * be sent, then load. */
static int64_t
cost_of(const StepRun *step, size_t slot, int worker)
{
    char text[KEY_SIZE];
    const WorkerInfo *info = &step->workers->workers[worker];
    const WorkerLoad *load = map_get(step->dispatcher->loads, slice_from_string(info->address));
    Slice key = holder_key(info, step->slots[slot].partition, text);
    int64_t cost = strcmp(info->name, step->avoided) == 0 ? 1 << 30 : 0;
    cost += has_failed_lately(load) ? 1 << 26 : 0;
    cost += is_used(step, worker) ? 1 << 24 : 0;
    cost += map_get(step->dispatcher->holders, key) == NULL ? 8 : 0;
    return cost + (load == NULL ? 0 : load->running);
}

const StepPin *
slot_pin(const SlotRun *slot)
{
    const StepPin *pins = slot->step->pins;
    return pins != NULL && pins[slot->partition->slot].epoch > 0 ? &pins[slot->partition->slot] : NULL;
}

static Status
bind_pinned(Call *call, SlotRun *slot, const StepPin *pin)
{
    const Roster *workers = slot->step->workers;
    for (size_t index = 0; index < workers->count; index++) {
        const WorkerInfo *info = &workers->workers[index];
        if (info->state != WORKER_LOST && strcmp(info->name, pin->worker) == 0 &&
            strcmp(info->incarnation, pin->incarnation) == 0) {
            slot->worker = (int)index;
            return STATUS_OK;
        }
    }
    return call_fail(call, STATUS_UNAVAILABLE,
        "worker '%s', which keeps variables of this session, cannot be reached", pin->worker);
}

static Status
bind_fixed(Call *call, StepRun *step, size_t slot, int32_t task)
{
    for (size_t index = 0; index < step->workers->count; index++) {
        const WorkerInfo *info = &step->workers->workers[index];
        if (info->task == task && info->state == WORKER_SERVING) {
            step->slots[slot].worker = (int)index;
            return STATUS_OK;
        }
    }
    return call_fail(
        call, STATUS_UNAVAILABLE, "slot %zu asks for task %d, and no serving worker has it", slot, task);
}

static Status
bind_free(Call *call, StepRun *step, size_t slot)
{
    int best = -1;
    int64_t best_cost = INT64_MAX;
    for (size_t index = 0; index < step->workers->count; index++) {
        if (step->workers->workers[index].state != WORKER_SERVING) {
            continue;
        }
        int64_t cost = cost_of(step, slot, (int)index);
        if (cost < best_cost) {
            best = (int)index;
            best_cost = cost;
        }
    }
    if (best < 0) {
        return call_fail(call, STATUS_UNAVAILABLE, "no worker is serving (%zu known)", step->workers->count);
    }
    step->slots[slot].worker = best;
    return STATUS_OK;
}

/* Binds the slots that have no choice first, so that the others choose other workers. */
static Status
bind_without_choice(Call *call, StepRun *step)
{
    for (size_t slot = 0; slot < step->slot_count; slot++) {
        int32_t task = step->plan->slots[step->slots[slot].partition->slot].task;
        const StepPin *pin = slot_pin(&step->slots[slot]);
        if (pin != NULL) {
            TRY(bind_pinned(call, &step->slots[slot], pin));
        } else if (task >= 0) {
            TRY(bind_fixed(call, step, slot, task));
        }
    }
    return STATUS_OK;
}

static void
take_workers(Dispatcher *dispatcher)
{
    if (dispatcher->version != directory_version(dispatcher->directory)) {
        dispatcher->version = directory_version(dispatcher->directory);
        roster_unref(dispatcher->workers);
        dispatcher->workers = directory_take(dispatcher->directory);
    }
}

static const WorkerInfo *
worker_of_task(const Roster *workers, int32_t task)
{
    for (size_t index = 0; index < workers->count; index++) {
        if (workers->workers[index].task == task) {
            return &workers->workers[index];
        }
    }
    return NULL;
}

void
dispatcher_note_registered(Dispatcher *dispatcher, const Plan *plan, const StepReport *report)
{
    take_workers(dispatcher);
    for (size_t slot = 0; slot < report->slot_count; slot++) {
        const WorkerInfo *worker = worker_of_task(dispatcher->workers, report->slots[slot].task);
        if (worker != NULL) {
            bind_note_holder(dispatcher, worker, &plan->partitions[slot]);
        }
    }
}

Status
bind_slots(Call *call, StepRun *step)
{
    Dispatcher *dispatcher = step->dispatcher;
    take_workers(dispatcher);
    roster_unref(step->workers);
    step->workers = roster_ref(dispatcher->workers);
    for (size_t slot = 0; slot < step->slot_count; slot++) {
        step->slots[slot].worker = -1;
    }
    TRY(bind_without_choice(call, step));
    for (size_t slot = 0; slot < step->slot_count; slot++) {
        TRY(step->slots[slot].worker < 0 ? bind_free(call, step, slot) : STATUS_OK);
    }
    return STATUS_OK;
}

void
bind_explain(const SlotRun *slot, Failure *failure)
{
    const StepPin *pin = slot_pin(slot);
    if (pin == NULL) {
        return;
    }
    Slice node = slice_from_string(failure->node);
    if (slot->has_restarted) {
        *failure = failure_of(STATUS_FAILED_PRECONDITION, node,
            "the variables that worker '%s' kept for this session were lost with it: initialise them again",
            pin->worker);
    } else if (failure->code == STATUS_UNAVAILABLE) {
        *failure = failure_of(failure->code, node, "%.300s; worker '%s' keeps variables of this session",
            failure->message, pin->worker);
    } else if (failure->code == STATUS_FAILED_PRECONDITION && pin->lost_worker[0] != '\0') {
        *failure = failure_of(failure->code, node,
            "%.300s; the session's variables were lost with worker '%s': initialise them again",
            failure->message, pin->lost_worker);
    }
}
