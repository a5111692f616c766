/* Happy path: step_start() defers the start to this turn's end → attempt_begin() binds the slots and sends
 * one run request each → on_frame hands outputs on and notes each slot's status → when the last slot is done,
 * step_finish() tells the caller, then the workers (CleanupGraph, if more than one took part).
 *
 * Failures:
 *  - "unknown partition": the slot registers it and runs again, within the same attempt;
 *  - a worker that dies or cannot be reached: a pure step begins its next attempt on others, as long as
 *    attempts and time are left; outputs already handed on are not handed on again (same bits, see `pure`);
 *  - any other error, the deadline, a cancellation: the first one is the step's; all calls are cancelled. */
#include "gateway/dispatch/step.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "gateway/dispatch/step_internal.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/random.h"

enum {
    PATH_SIZE = 128,
    START_ARENA_SIZE_MAX = 1 << 16,
    STATUS_ARENA_SIZE_MAX = 1 << 20,
    /* The worker enforces the deadline too, and its report says who waited for what: let it come first. */
    DEADLINE_GRACE_MS = 50,
};

static void attempt_begin(StepRun *step);

/* --- Ending -----------------------------------------------------------------------------------------------
 */

static void
step_free(StepRun *step)
{
    for (size_t index = 0; index < step->feed_count; index++) {
        tensor_unref(&step->feeds[index]);
    }
    roster_unref(step->workers);
    plan_unref(step->plan);
    memory_free(step->is_delivered);
    memory_free(step);
}

static void
cleanup_done(UpstreamCall *call, Status status, const char *message)
{
    /* Nothing hangs on it: a worker that did not hear forgets the step after its deadline. */
    (void)call;
    (void)status;
    (void)message;
}

/* Tells the workers of this attempt that the step is over, so that parked tensors are given back. */
static void
cleanup_send(StepRun *step)
{
    static const UpstreamEvents events = {.on_done = cleanup_done};
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "/worker/v1/steps/%s", step->id_text);
    for (size_t index = 0; index < step->slot_count; index++) {
        const SlotRun *const slot = &step->slots[index];
        if (slot->state == SLOT_IDLE || slot->state == SLOT_REGISTERING) {
            continue;
        }
        const UpstreamHead head = {
            .method = "DELETE",
            .path = slice_from_string(path),
            .address = slot_worker(slot)->address,
            .attempt = step->attempt,
        };
        UpstreamCall *const call = upstream_begin(step->dispatcher->upstream, &head, &events, NULL);
        if (call != NULL) {
            upstream_end(call);
        }
    }
}

/* Stops every slot of the current attempt; none calls back any more. */
static void
slots_stop(StepRun *step)
{
    for (size_t index = 0; index < step->slot_count; index++) {
        SlotRun *const slot = &step->slots[index];
        if (slot->state == SLOT_REGISTERING) {
            list_remove(&slot->waiting);
        }
        if (slot->call != NULL) {
            UpstreamCall *const call = slot->call;
            slot->call = NULL;
            bind_load(step->dispatcher, slot_worker(slot), -1);
            upstream_detach(call);
        }
    }
}

static void
report_fill(const StepRun *step, StepReport *report)
{
    *report = (StepReport){
        .status = step->status,
        .message = step->message,
        .node = step->node,
        .attempt = step->attempt,
        .elapsed_us = (clock_monotonic_ns() - step->started_ns) / CLOCK_NS_PER_US,
        .slot_count = step->slot_count,
    };
    for (size_t index = 0; index < step->slot_count; index++) {
        const bool is_bound = step->workers != NULL && step->slots[index].worker >= 0;
        report->slots[index].task = is_bound ? slot_worker(&step->slots[index])->task : -1;
        report->slots[index].stats = step->slots[index].stats;
    }
}

static void
step_finish(StepRun *step)
{
    Dispatcher *const dispatcher = step->dispatcher;
    slots_stop(step);
    if (step->slot_count > 1 || step->status != STATUS_OK) {
        cleanup_send(step);
    }
    timer_clear(dispatcher->loop, &step->timer);
    list_remove(&step->link);
    dispatcher->step_count--;
    StepReport report;
    report_fill(step, &report);
    step->events->on_done(step->context, &report);
    step_free(step);
}

static void
finish_deferred(Task *task)
{
    step_finish((StepRun *)(void *)((char *)task - offsetof(StepRun, start)));
}

/* Ends the step once this turn's callbacks have returned; the first reason stays. */
static void
step_end(StepRun *step, Status status, const char *message)
{
    if (step->is_ending) {
        return;
    }
    step->is_ending = true;
    step->status = status;
    (void)snprintf(step->message, sizeof step->message, "%s", message);
    step->start.run = finish_deferred; /* instead of a start or a further attempt not yet begun */
    loop_defer(step->dispatcher->loop, &step->start);
}

/* --- One slot ---------------------------------------------------------------------------------------------
 */

static void
restart_deferred(Task *task)
{
    StepRun *const step = (StepRun *)(void *)((char *)task - offsetof(StepRun, start));
    slots_stop(step);
    cleanup_send(step);
    step->is_restarting = false;
    step->attempt++;
    attempt_begin(step);
}

static void
slot_failed(SlotRun *slot, Status status, const char *message)
{
    StepRun *const step = slot->step;
    const bool is_transient = status == STATUS_UNAVAILABLE || status == STATUS_ABORTED;
    const bool has_time = step->deadline_ns > clock_monotonic_ns();
    if (step->is_ending || step->is_restarting) {
        return;
    }
    if (!is_transient || !step->is_pure || step->attempt >= step->attempt_last || !has_time) {
        step_end(step, status, message);
        return;
    }
    if (status == STATUS_UNAVAILABLE) {
        (void)snprintf(step->avoided, sizeof step->avoided, "%s", slot_worker(slot)->name);
    }
    step->is_restarting = true;
    step->start.run = restart_deferred;
    loop_defer(step->dispatcher->loop, &step->start);
}

static void
slot_done(SlotRun *slot)
{
    StepRun *const step = slot->step;
    slot->state = SLOT_DONE;
    for (size_t index = 0; index < step->slot_count; index++) {
        if (step->slots[index].state != SLOT_DONE) {
            return;
        }
    }
    step_end(step, STATUS_OK, "");
}

static void
slot_output(SlotRun *slot, const Frame *frame)
{
    uint64_t index = 0;
    if (!slice_to_uint64(frame->name, &index) || index >= slot->partition->fetch_count) {
        slot_failed(slot, STATUS_INTERNAL, "a worker sent an output nobody asked for");
        return;
    }
    StepRun *const step = slot->step;
    const uint32_t fetch = slot->partition->fetches[index];
    if (frame->kind == FRAME_DEAD) {
        char message[ERROR_MESSAGE_SIZE];
        (void)snprintf(message, sizeof message,
            "fetch '%.*s' has no value: it lies on a branch that was not taken",
            SLICE_PRINT(step->plan->fetches[fetch]));
        slot_failed(slot, STATUS_INVALID_ARGUMENT, message);
    } else if (!step->is_delivered[fetch]) {
        step->is_delivered[fetch] = true;
        step->events->on_output(step->context, fetch, &frame->tensor);
    }
}

static void
slot_status(SlotRun *slot, Slice json)
{
    StepRun *const step = slot->step;
    AUTO_ARENA arena = arena_new(STATUS_ARENA_SIZE_MAX);
    Call reading = {.arena = arena};
    WireStatus status;
    if (arena == NULL || wire_status_read(&reading, json, &status) != STATUS_OK) {
        slot_failed(slot, STATUS_INTERNAL, "a worker's status cannot be read");
        return;
    }
    slot->has_status = true;
    if (slice_equals_string(status.reason, "unknown_partition") && slot->registration_count < 2) {
        slot->registration_count++;
        slot->state = SLOT_REGISTERING;
        return;
    }
    if (status.code != STATUS_OK) {
        char message[ERROR_MESSAGE_SIZE];
        (void)snprintf(message, sizeof message, "%.*s", SLICE_PRINT(status.message));
        if (!step->is_ending && !step->is_restarting) {
            (void)snprintf(step->node, sizeof step->node, "%.*s", SLICE_PRINT(status.node));
        }
        slot_failed(slot, status.code, message);
    }
}

static void
run_on_frame(UpstreamCall *call, Frame *frame)
{
    SlotRun *const slot = upstream_context(call);
    Call reading = {.arena = NULL};
    switch (frame->kind) {
    case FRAME_TENSOR:
    case FRAME_DEAD:
        slot_output(slot, frame);
        break;
    case FRAME_STATUS:
        slot_status(slot, frame->json);
        break;
    case FRAME_STATS:
        (void)!wire_stats_read(&reading, frame->json, &slot->stats);
        break;
    case FRAME_HEADER:
    case FRAME_ANNOUNCE:
    case FRAME_HEARTBEAT:
        break;
    }
    tensor_unref(&frame->tensor);
}

/* A refusal before the run began: one status document instead of frames. */
static void
slot_refused(SlotRun *slot, UpstreamCall *call)
{
    AUTO_ARENA arena = arena_new(STATUS_ARENA_SIZE_MAX);
    Call reading = {.arena = arena};
    WireStatus status;
    char message[ERROR_MESSAGE_SIZE];
    if (arena == NULL || wire_status_read(&reading, upstream_body(call), &status) != STATUS_OK) {
        slot_failed(slot, STATUS_INTERNAL, "a worker's answer has no status");
        return;
    }
    (void)snprintf(message, sizeof message, "%.*s", SLICE_PRINT(status.message));
    const bool has_restarted = status.incarnation.size > 0 &&
                               !slice_equals_string(status.incarnation, slot_worker(slot)->incarnation);
    if (has_restarted) {
        bind_note_restart(slot->step->dispatcher, slot_worker(slot), status.incarnation);
    }
    slot_failed(slot, status.code, message);
}

static void
run_on_done(UpstreamCall *call, Status status, const char *message)
{
    SlotRun *const slot = upstream_context(call);
    StepRun *const step = slot->step;
    slot->call = NULL;
    bind_load(step->dispatcher, slot_worker(slot), -1);
    if (step->is_ending || step->is_restarting) {
        return;
    }
    if (status != STATUS_OK) {
        slot_failed(slot, status, message);
    } else if (slot->state == SLOT_REGISTERING) {
        registration_await(slot);
    } else if (!slot->has_status) {
        slot_refused(slot, call);
    } else {
        slot_done(slot);
    }
}

static const UpstreamEvents run_events = {.on_frame = run_on_frame, .on_done = run_on_done};

/* --- The run request --------------------------------------------------------------------------------------
 */

static void
run_describe(const SlotRun *slot, WireRun *run)
{
    const StepRun *const step = slot->step;
    *run = (WireRun){
        .partition = slice_from_string(slot->partition->digest),
        .session = slice_from_string(step->session),
        .attempt = step->attempt,
        .slot = slot->partition->slot,
        .feed_count = (int64_t)slot->partition->feed_count,
        .fetch_count = (int64_t)slot->partition->fetch_count,
        .has_trace = step->has_trace,
    };
    if (step->slot_count == 1) {
        return;
    }
    run->push_token = slice_from_string(slot->push_token);
    for (size_t index = 0; index < step->slot_count; index++) {
        const SlotRun *const other = &step->slots[index];
        if (other == slot) {
            continue;
        }
        const WorkerInfo *const worker = slot_worker(other);
        run->peers[run->peer_count++] = (WirePeer){
            .slot = other->partition->slot,
            .address = slice_from_string(worker->address),
            .incarnation = slice_from_string(worker->incarnation),
            .push_token = slice_from_string(other->push_token),
        };
    }
}

static void
run_write_body(UpstreamCall *call, const SlotRun *slot)
{
    WireRun run;
    AUTO_BUFFER json = {0};
    AUTO_BUFFER frame = {0};
    run_describe(slot, &run);
    wire_run_write(&json, &run);
    frame_write_json(&frame, FRAME_HEADER, buffer_slice(&json));
    upstream_write_copy(call, buffer_slice(&frame));
    for (size_t index = 0; index < slot->partition->feed_count; index++) {
        char name[24];
        const int size = snprintf(name, sizeof name, "%zu", index);
        upstream_write_tensor(
            call, slice_of(name, (size_t)size), &slot->step->feeds[slot->partition->feeds[index]]);
    }
    upstream_end(call);
}

static void
run_send(SlotRun *slot)
{
    StepRun *const step = slot->step;
    const WorkerInfo *const worker = slot_worker(slot);
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "/worker/v1/steps/%s:run", step->id_text);
    const uint64_t now_ns = clock_monotonic_ns();
    const uint64_t left_ns = step->deadline_ns > now_ns ? step->deadline_ns - now_ns : 0;
    const UpstreamHead head = {
        .method = "POST",
        .path = slice_from_string(path),
        .address = worker->address,
        .incarnation = slice_from_string(worker->incarnation),
        .attempt = step->attempt,
        .deadline_ms = left_ns / CLOCK_NS_PER_MS + 1,
        .tenant = slice_from_string(step->tenant),
        .request_id = step->request_id,
    };
    slot->has_status = false;
    slot->state = SLOT_RUNNING;
    slot->call = upstream_begin(step->dispatcher->upstream, &head, &run_events, slot);
    if (slot->call == NULL) {
        slot_failed(slot, STATUS_RESOURCE_EXHAUSTED, "no memory left for a run request");
        return;
    }
    bind_load(step->dispatcher, worker, 1);
    run_write_body(slot->call, slot);
}

void
slot_registered(SlotRun *slot, Status status, const char *message)
{
    if (status == STATUS_OK) {
        run_send(slot);
    } else {
        slot_failed(slot, status, message);
    }
}

/* --- Starting ---------------------------------------------------------------------------------------------
 */

static void
slot_reset(SlotRun *slot, StepRun *step, const PlanPartition *partition)
{
    *slot = (SlotRun){.step = step, .partition = partition, .worker = -1};
    list_init(&slot->waiting);
    if (step->slot_count > 1) {
        (void)snprintf(slot->push_token, sizeof slot->push_token, "%016llx%016llx",
            (unsigned long long)random_uint64(), (unsigned long long)random_uint64());
    }
}

static void
attempt_begin(StepRun *step)
{
    AUTO_ARENA arena = arena_new(START_ARENA_SIZE_MAX);
    Call binding = {.arena = arena};
    for (size_t index = 0; index < step->slot_count; index++) {
        slot_reset(&step->slots[index], step, &step->plan->partitions[index]);
    }
    if (bind_slots(&binding, step) != STATUS_OK) {
        step_end(step, binding.error.code, binding.error.message);
        return;
    }
    for (size_t index = 0; index < step->slot_count && !step->is_ending && !step->is_restarting; index++) {
        run_send(&step->slots[index]);
    }
}

static void
start_deferred(Task *task)
{
    attempt_begin((StepRun *)(void *)((char *)task - offsetof(StepRun, start)));
}

static void
deadline_passed(Timer *timer)
{
    StepRun *const step = (StepRun *)(void *)((char *)timer - offsetof(StepRun, timer));
    step_end(step, STATUS_DEADLINE_EXCEEDED, "the step did not end before its deadline");
}

StepRun *
step_start(Dispatcher *dispatcher, const StepRequest *request, const StepEvents *events, void *context)
{
    assert(request->plan->partition_count <= SLOT_COUNT_MAX);

    StepRun *const step = memory_new(1, sizeof *step + request->feed_count * sizeof(Tensor));
    bool *const is_delivered = memory_new(request->plan->fetch_count + 1, sizeof *is_delivered);
    if (step == NULL || is_delivered == NULL) {
        memory_free(step);
        memory_free(is_delivered);
        return NULL;
    }
    step->dispatcher = dispatcher;
    step->events = events;
    step->context = context;
    step->plan = plan_ref(request->plan);
    step->id = request->id;
    step->started_ns = clock_monotonic_ns();
    step->deadline_ns = request->deadline_ns;
    step->is_pure = request->is_pure;
    step->has_trace = request->has_trace;
    step->attempt = request->attempt_base + 1;
    step->attempt_last = request->attempt_base + STEP_ATTEMPT_MAX;
    step->slot_count = request->plan->partition_count;
    step->is_delivered = is_delivered;
    step->feed_count = request->feed_count;
    id_to_text("stp", request->id.value, step->id_text);
    (void)snprintf(step->tenant, sizeof step->tenant, "%s", request->tenant);
    (void)snprintf(step->session, sizeof step->session, "%s", request->session);
    (void)snprintf(step->request_id, sizeof step->request_id, "%s", request->request_id);
    for (size_t index = 0; index < request->feed_count; index++) {
        step->feeds[index] = tensor_ref(&request->feeds[index]);
    }
    list_append(&dispatcher->steps, &step->link);
    dispatcher->step_count++;
    step->timer.fire = deadline_passed;
    timer_set(dispatcher->loop, &step->timer, request->deadline_ns + DEADLINE_GRACE_MS * CLOCK_NS_PER_MS);
    step->start.run = start_deferred;
    loop_defer(dispatcher->loop, &step->start);
    return step;
}

void
step_cancel(StepRun *step)
{
    step_end(step, STATUS_CANCELLED, "the caller gave up");
}

/* --- The dispatcher ---------------------------------------------------------------------------------------
 */

Dispatcher *
dispatcher_new(Loop *loop, Directory *directory, const UpstreamOptions *options)
{
    Dispatcher *const dispatcher = memory_new(1, sizeof *dispatcher);
    if (dispatcher == NULL) {
        return NULL;
    }
    list_init(&dispatcher->steps);
    dispatcher->loop = loop;
    dispatcher->directory = directory;
    dispatcher->workers = directory_take(directory);
    dispatcher->upstream = upstream_new(loop, options);
    dispatcher->registrations = map_new();
    dispatcher->holders = map_new();
    dispatcher->loads = map_new();
    if (dispatcher->upstream == NULL || dispatcher->registrations == NULL || dispatcher->holders == NULL ||
        dispatcher->loads == NULL) {
        dispatcher_free(dispatcher);
        return NULL;
    }
    return dispatcher;
}

static void
loads_free(Map *loads)
{
    size_t cursor = 0;
    if (loads == NULL) {
        return;
    }
    for (const MapEntry *entry = map_next(loads, &cursor); entry != NULL; entry = map_next(loads, &cursor)) {
        memory_free(entry->value);
    }
    map_free(loads);
}

void
dispatcher_free(Dispatcher *dispatcher)
{
    if (dispatcher == NULL) {
        return;
    }
    while (!list_is_empty(&dispatcher->steps)) {
        StepRun *const step = LIST_ITEM(list_first(&dispatcher->steps), StepRun, link);
        step_end(step, STATUS_UNAVAILABLE, "the gateway is stopping");
        step_finish(step);
    }
    upstream_free(dispatcher->upstream);
    map_free(dispatcher->registrations);
    map_free(dispatcher->holders);
    loads_free(dispatcher->loads);
    roster_unref(dispatcher->workers);
    memory_free(dispatcher);
}

size_t
dispatcher_running_count(const Dispatcher *dispatcher)
{
    return dispatcher->step_count;
}
