#include "gateway/dispatch/internals.h"
#include "gateway/dispatch/step.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"

enum { HOLDER_COUNT_MAX = 16384, FAILURE_MS = 3000, WORD_BITS = 64 };

/* The workers that have a partition: a bit for each load's number. */
typedef struct Holders {
    size_t word_count;
    uint64_t *words;
} Holders;

static void
holders_free(Holders *holders)
{
    if (holders != NULL) {
        memory_free(holders->words);
        memory_free(holders);
    }
}

/* Forgets all holders. Most belong to incarnations and plans that no longer exist; those in use are noted
 * again. */
static void
holders_clear(Map *by_digest)
{
    size_t cursor = 0;
    for (const MapEntry *entry = map_next(by_digest, &cursor); entry != NULL;
         entry = map_next(by_digest, &cursor)) {
        holders_free(map_remove(by_digest, entry->key));
    }
}

/* Forgets what a worker has: it has begun a new life, or its number goes to another. */
static void
holders_forget(const Dispatcher *dispatcher, uint32_t number)
{
    size_t cursor = 0;
    for (const MapEntry *entry = map_next(dispatcher->holders, &cursor); entry != NULL;
         entry = map_next(dispatcher->holders, &cursor)) {
        const Holders *holders = entry->value;
        if (number / WORD_BITS < holders->word_count) {
            holders->words[number / WORD_BITS] &= ~(UINT64_C(1) << number % WORD_BITS);
        }
    }
}

static bool
holders_have(const Holders *holders, uint32_t number)
{
    return holders != NULL && number / WORD_BITS < holders->word_count &&
           (holders->words[number / WORD_BITS] >> number % WORD_BITS & 1) != 0;
}

/* Returns false without memory. */
static bool
holders_add(Holders *holders, uint32_t number)
{
    size_t wanted = number / WORD_BITS + 1;
    if (wanted > holders->word_count) {
        uint64_t *words = memory_resize(holders->words, wanted * sizeof *words);
        if (words == NULL) {
            return false;
        }
        memset(words + holders->word_count, 0, (wanted - holders->word_count) * sizeof *words);
        holders->words = words;
        holders->word_count = wanted;
    }
    holders->words[number / WORD_BITS] |= UINT64_C(1) << number % WORD_BITS;
    return true;
}

/* Finds or adds the holders of a digest; NULL without memory. */
static Holders *
holders_obtain(Dispatcher *dispatcher, Slice digest)
{
    Holders *holders = map_get(dispatcher->holders, digest);
    if (holders != NULL) {
        return holders;
    }
    if (map_count(dispatcher->holders) >= HOLDER_COUNT_MAX) {
        holders_clear(dispatcher->holders);
    }
    holders = memory_new(1, sizeof *holders);
    if (holders != NULL && !map_put(dispatcher->holders, digest, holders)) {
        memory_free(holders);
        return NULL;
    }
    return holders;
}

/* Returns a number that no other load has; loads that are gone leave theirs. */
static uint32_t
take_number(Dispatcher *dispatcher)
{
    Buffer *free_numbers = &dispatcher->free_numbers;
    uint32_t number = dispatcher->number_count;
    if (free_numbers->size == 0) {
        dispatcher->number_count++;
        return number;
    }
    free_numbers->size -= sizeof number;
    memcpy(&number, free_numbers->data + free_numbers->size, sizeof number);
    return number;
}

/* The number is not used again when there is no memory to remember it. */
static void
return_number(Dispatcher *dispatcher, uint32_t number)
{
    holders_forget(dispatcher, number);
    buffer_append(&dispatcher->free_numbers, &number, sizeof number);
    dispatcher->free_numbers.has_failed = false;
}

/* Returns what is known of the worker's load; NULL without memory, and the worker then counts as idle. */
static WorkerLoad *
load_of(Dispatcher *dispatcher, const WorkerInfo *worker)
{
    assert(worker != NULL);
    Slice key = slice_from_string(worker->address);
    WorkerLoad *load = map_get(dispatcher->loads, key);
    if (load == NULL) {
        load = memory_new(1, sizeof *load);
        if (load == NULL || !map_put(dispatcher->loads, key, load)) {
            memory_free(load);
            return NULL;
        }
        load->number = take_number(dispatcher);
        memcpy(load->incarnation, worker->incarnation, sizeof load->incarnation);
    }
    return load;
}

void
bind_note_holder(Dispatcher *dispatcher, const WorkerInfo *worker, const PlanPartition *partition)
{
    const WorkerLoad *load = load_of(dispatcher, worker);
    bool is_present = load != NULL && strcmp(load->incarnation, worker->incarnation) == 0;
    Holders *holders = is_present ? holders_obtain(dispatcher, slice_from_string(partition->digest)) : NULL;
    if (holders != NULL) {
        /* A mark is only a hint for the next binding: nothing else is lost without memory. */
        (void)!holders_add(holders, load->number);
    }
}

void
bind_forget_holders(Dispatcher *dispatcher, const PlanPartition *partition, HolderVisit visit, void *context)
{
    size_t cursor = 0;
    Holders *holders = map_remove(dispatcher->holders, slice_from_string(partition->digest));
    for (const MapEntry *entry = holders == NULL ? NULL : map_next(dispatcher->loads, &cursor); entry != NULL;
         entry = map_next(dispatcher->loads, &cursor)) {
        const WorkerLoad *load = entry->value;
        if (holders_have(holders, load->number)) {
            char address[ADDRESS_TEXT_SIZE];
            (void)snprintf(address, sizeof address, "%.*s", SLICE_PRINT(entry->key));
            visit(context, address, load->incarnation);
        }
    }
    holders_free(holders);
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

const WorkerInfo *
slot_worker(const SlotRun *slot)
{
    assert(slot->worker >= 0 && (size_t)slot->worker < slot->step->workers->count);

    return &slot->step->workers->workers[slot->worker];
}

/* Notes that the binding under way gives the worker a slot. */
static void
take_seat(const Dispatcher *dispatcher, WorkerLoad *load)
{
    if (load != NULL) {
        load->taken = load->binding == dispatcher->binding ? load->taken + 1 : 1;
        load->binding = dispatcher->binding;
    }
}

/* The facts that the choice of a worker for one slot looks at. */
typedef struct Choice {
    const Dispatcher *dispatcher;
    const Holders *holders; /* of the slot's partition; NULL: none */
    PlanGpu gpu;
    uint64_t memory; /* bytes that the slot is thought to need */
    int64_t avoided; /* the worker that failed the attempt before, an index in the roster; -1: none */
    uint64_t now_ns;
} Choice;

/* Returns what it costs, in slots that run there, that a worker has no GPU though the slot gains by one, or
 * has one though others gain more. Workers that are all alike cost nothing. One whose memory is too small is
 * as good as none; the slot may still get it, because its memory is an estimate. */
static int64_t
gpu_cost(const Choice *choice, const Seat *seat)
{
    const Dispatcher *dispatcher = choice->dispatcher;
    if (choice->gpu == PLAN_GPU_UNUSED) {
        return seat->has_gpu && dispatcher->gpu_seat_count < dispatcher->seat_count;
    }
    bool gains = seat->has_gpu && choice->memory <= seat->gpu_memory;
    return gains || dispatcher->gpu_seat_count == 0 ? 0 : WITHOUT_GPU_LOAD;
}

/* Returns the cost of giving a slot to a worker. The heaviest reasons come first: the worker that this
 * step just failed on, one that others failed on, slots of this step that it has already, a GPU that is
 * wanted, a partition that must be sent, then load. */
static int64_t
cost_of(const Choice *choice, const Seat *seat)
{
    enum { SENDING = 8, TAKEN_SHIFT = 20, FAILED_SHIFT = 32, AVOIDED_SHIFT = 36 };
    const WorkerLoad *load = seat->load;
    bool has_failed = load->failed_ns != 0 && choice->now_ns - load->failed_ns < FAILURE_MS * CLOCK_NS_PER_MS;
    int64_t taken = load->binding == choice->dispatcher->binding ? load->taken : 0;
    return ((int64_t)(seat->worker == choice->avoided) << AVOIDED_SHIFT) +
           ((int64_t)has_failed << FAILED_SHIFT) + (taken << TAKEN_SHIFT) +
           (holders_have(choice->holders, load->number) ? 0 : SENDING) + gpu_cost(choice, seat) +
           load->running;
}

static const PlanSlot *
planned_slot(const SlotRun *slot)
{
    return &slot->step->plan->slots[slot->partition->slot];
}

/* Checks that the worker, to which something else binds the slot, has the GPU that a node asks for. */
static Status
check_gpu(Call *call, const SlotRun *slot, const WorkerInfo *worker)
{
    const PlanSlot *planned = planned_slot(slot);
    if (planned->gpu != PLAN_GPU_NEEDED || worker->has_gpu) {
        return STATUS_OK;
    }
    Slice reason = gpu_facts_why_not(worker->gpu);
    return call_fail(call, gpu_facts_have_card(worker->gpu) ? STATUS_UNAVAILABLE : STATUS_FAILED_PRECONDITION,
        "node '%.*s' asks for a GPU, and worker '%s', where it must run, has none in service: %.*s",
        SLICE_PRINT(planned->gpu_node), worker->name, SLICE_PRINT(reason));
}

static bool
serves_with(const Roster *roster, const char *labels)
{
    for (size_t index = 0; index < roster->count; index++) {
        const WorkerInfo *worker = &roster->workers[index];
        if (worker->state == WORKER_SERVING && worker_has_labels(worker, labels)) {
            return true;
        }
    }
    return false;
}

/* Says why no serving worker takes the slot. */
static Status
fail_without_worker(Call *call, const SlotRun *slot)
{
    const Roster *roster = slot->step->workers;
    const char *labels = slot->step->worker_labels;
    bool may_lack_labels = slot->step->dispatcher->seat_count > 0 && labels[0] != '\0';
    if (may_lack_labels && (planned_slot(slot)->gpu != PLAN_GPU_NEEDED || !serves_with(roster, labels))) {
        return roster_refuse_labels(call, roster, labels);
    }
    return slot->step->dispatcher->seat_count == 0
               ? roster_refuse_all(call, roster)
               : roster_refuse_gpu(call, roster, planned_slot(slot)->gpu_node);
}

const StepPin *
slot_pin(const SlotRun *slot)
{
    const StepPin *pins = slot->step->pins;
    return pins != NULL && pins[slot->partition->slot].epoch > 0 ? &pins[slot->partition->slot] : NULL;
}

/* Workers of one step send each other tensors: all must speak a version that all others do. */
static bool
speaks_with_bound(const StepRun *step, const WorkerInfo *worker)
{
    return wire_versions_agree(step->spoken, wire_versions_or_all(worker->versions)) != 0;
}

static Status
give_slot(Call *call, SlotRun *slot, const WorkerInfo *worker)
{
    StepRun *step = slot->step;
    WireVersions its = wire_versions_or_all(worker->versions);
    if (!speaks_with_bound(step, worker)) {
        return call_fail(call, STATUS_UNAVAILABLE,
            "worker '%s' speaks versions %" PRId64 " to %" PRId64
            " of the worker protocol, the step's other workers %" PRId64 " to %" PRId64
            ": " WIRE_VERSIONS_ADVICE,
            worker->name, its.oldest, its.newest, step->spoken.oldest, step->spoken.newest);
    }
    step->spoken = wire_versions_common(step->spoken, its);
    slot->worker = (int)(worker - step->workers->workers);
    take_seat(step->dispatcher, map_get(step->dispatcher->loads, slice_from_string(worker->address)));
    return STATUS_OK;
}

static Status
bind_pinned(Call *call, SlotRun *slot, const StepPin *pin)
{
    const WorkerInfo *worker = roster_find_name(slot->step->workers, slice_from_string(pin->worker));
    if (worker == NULL || worker->state == WORKER_LOST ||
        strcmp(worker->incarnation, pin->incarnation) != 0) {
        return call_fail(call, STATUS_UNAVAILABLE,
            "worker '%s', which keeps variables of this session, cannot be reached", pin->worker);
    }
    TRY(check_gpu(call, slot, worker));
    return give_slot(call, slot, worker);
}

static Status
bind_fixed(Call *call, SlotRun *slot, int32_t task)
{
    const WorkerInfo *worker = roster_find_task(slot->step->workers, task);
    if (worker == NULL || worker->state != WORKER_SERVING) {
        return call_fail(call, STATUS_UNAVAILABLE, "slot %u asks for task %d, and no serving worker has it",
            slot->partition->slot, task);
    }
    if (!worker_has_labels(worker, slot->step->worker_labels)) {
        return call_fail(call, STATUS_FAILED_PRECONDITION,
            "slot %u asks for task %d, whose worker '%s' has not all labels of the session's '%s'",
            slot->partition->slot, task, worker->name, slot->step->worker_labels);
    }
    TRY(check_gpu(call, slot, worker));
    return give_slot(call, slot, worker);
}

/* Gives the slot to the first of the cheapest workers. None is cheaper than one that costs nothing. */
static Status
bind_free(Call *call, SlotRun *slot, Choice choice)
{
    const Dispatcher *dispatcher = choice.dispatcher;
    const Roster *roster = slot->step->workers;
    const Seat *best = NULL;
    const Seat *stranger = NULL; /* it would do, but for the versions that it speaks */
    int64_t best_cost = INT64_MAX;
    choice.holders = map_get(dispatcher->holders, slice_from_string(slot->partition->digest));
    choice.gpu = planned_slot(slot)->gpu;
    choice.memory = planned_slot(slot)->memory;
    for (size_t index = 0; index < dispatcher->seat_count && best_cost > 0; index++) {
        const Seat *seat = &dispatcher->seats[index];
        bool fits = (choice.gpu != PLAN_GPU_NEEDED || seat->has_gpu) &&
                    worker_has_labels(&roster->workers[seat->worker], slot->step->worker_labels);
        int64_t cost = fits ? cost_of(&choice, seat) : INT64_MAX;
        if (fits && !speaks_with_bound(slot->step, &roster->workers[seat->worker])) {
            stranger = seat;
        } else if (cost < best_cost) {
            best = seat;
            best_cost = cost;
        }
    }
    const Seat *taken = best != NULL ? best : stranger;
    return taken == NULL ? fail_without_worker(call, slot)
                         : give_slot(call, slot, &roster->workers[taken->worker]);
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
            TRY(bind_fixed(call, &step->slots[slot], task));
        }
    }
    return STATUS_OK;
}

/* Makes the seats of a roster, and the loads behind them. Returns false without memory. */
static bool
make_seats(Dispatcher *dispatcher, const Roster *roster, Seat *seats, size_t *ret_count)
{
    size_t count = 0;
    for (size_t index = 0; index < roster->count; index++) {
        const WorkerInfo *worker = &roster->workers[index];
        WorkerLoad *load = load_of(dispatcher, worker);
        if (load == NULL) {
            return false;
        }
        if (strcmp(load->incarnation, worker->incarnation) != 0) {
            holders_forget(dispatcher, load->number);
            memcpy(load->incarnation, worker->incarnation, sizeof load->incarnation);
        }
        load->is_listed = true;
        if (worker->state == WORKER_SERVING) {
            seats[count++] = (Seat){.load = load,
                .worker = (uint32_t)index,
                .has_gpu = worker->has_gpu,
                .gpu_memory = worker->gpu_memory};
        }
    }
    *ret_count = count;
    return true;
}

/* Drops loads of workers that are gone, once their slots have ended; unmarks the others. */
static void
drop_unlisted(Dispatcher *dispatcher)
{
    size_t cursor = 0;
    for (const MapEntry *entry = map_next(dispatcher->loads, &cursor); entry != NULL;
         entry = map_next(dispatcher->loads, &cursor)) {
        WorkerLoad *load = entry->value;
        if (!load->is_listed && load->running == 0) {
            (void)map_remove(dispatcher->loads, entry->key);
            return_number(dispatcher, load->number);
            memory_free(load);
        } else {
            load->is_listed = false;
        }
    }
}

/* Takes the newest roster. Without memory for its seats the one before stays in force. */
static void
take_workers(Dispatcher *dispatcher)
{
    uint64_t version = directory_version(dispatcher->directory);
    if (dispatcher->version == version) {
        return;
    }
    Roster *roster = directory_take(dispatcher->directory);
    Seat *seats = memory_new(roster->count + 1, sizeof *seats);
    size_t count = 0;
    if (seats == NULL || !make_seats(dispatcher, roster, seats, &count)) {
        memory_free(seats);
        roster_unref(roster);
        return;
    }
    drop_unlisted(dispatcher);
    memory_free(dispatcher->seats);
    roster_unref(dispatcher->workers);
    dispatcher->workers = roster;
    dispatcher->seats = seats;
    dispatcher->seat_count = count;
    dispatcher->gpu_seat_count = 0;
    for (size_t index = 0; index < count; index++) {
        dispatcher->gpu_seat_count += seats[index].has_gpu;
    }
    dispatcher->version = version;
}

bool
bind_open(Dispatcher *dispatcher)
{
    assert(dispatcher->directory != NULL);

    dispatcher->workers = directory_take(dispatcher->directory);
    dispatcher->loads = map_new();
    dispatcher->holders = map_new();
    return dispatcher->loads != NULL && dispatcher->holders != NULL;
}

static void
loads_free(Map *loads)
{
    size_t cursor = 0;
    for (const MapEntry *entry = map_next(loads, &cursor); entry != NULL; entry = map_next(loads, &cursor)) {
        memory_free(entry->value);
    }
    map_free(loads);
}

void
bind_close(Dispatcher *dispatcher)
{
    if (dispatcher->holders != NULL) {
        holders_clear(dispatcher->holders);
        map_free(dispatcher->holders);
    }
    loads_free(dispatcher->loads);
    memory_free(dispatcher->seats);
    buffer_done(&dispatcher->free_numbers);
    roster_unref(dispatcher->workers);
}

void
dispatcher_note_registered(Dispatcher *dispatcher, const Plan *plan, const StepReport *report)
{
    take_workers(dispatcher);
    for (size_t slot = 0; slot < report->slot_count; slot++) {
        int32_t task = report->slots[slot].task;
        const WorkerInfo *worker = task < 0 ? NULL : roster_find_task(dispatcher->workers, task);
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
    dispatcher->binding++;
    roster_unref(step->workers);
    step->workers = roster_ref(dispatcher->workers);
    step->spoken = (WireVersions){.oldest = 0, .newest = INT64_MAX};
    for (size_t slot = 0; slot < step->slot_count; slot++) {
        step->slots[slot].worker = -1;
    }
    const WorkerInfo *avoided =
        step->avoided[0] == '\0' ? NULL : roster_find_name(step->workers, slice_from_string(step->avoided));
    Choice choice = {.dispatcher = dispatcher,
        .avoided = avoided == NULL ? -1 : avoided - step->workers->workers,
        .now_ns = clock_monotonic_ns()};
    TRY(bind_without_choice(call, step));
    for (size_t slot = 0; slot < step->slot_count; slot++) {
        TRY(step->slots[slot].worker < 0 ? bind_free(call, &step->slots[slot], choice) : STATUS_OK);
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
