/* A step of several slots that changes variables, and that another gateway may have begun.
 *
 * Happy path: ask_begin() asks each worker that keeps variables for a slot of it → none has its slot: it is
 * begun as if for the first time. Or some have: all slots are bound to the workers that they were bound to,
 * and run under the number of that attempt. Those that have run, or still do, tell their outcome (run_graph.c
 * of the worker); those that were never sent begin now, and find what the others have pushed to them.
 *
 * Failures: what was sent by an earlier holder and comes after the question is refused by the worker. A slot
 * whose worker was lost cannot be joined: the step ends as FAILED_PRECONDITION and says so; so it does when a
 * worker has forgotten, or is of a version that cannot tell. A worker out of reach is asked again with the
 * next claim. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "gateway/dispatch/internals.h"
#include "gateway/dispatch/step.h"
#include "shared/base/clock.h"
#include "shared/base/text.h"

enum { PATH_SIZE = 128, ANSWER_ARENA_SIZE_MAX = 1 << 20, HTTP_NOT_FOUND = 404 };

static const WirePeer *
find_bound(const WireBinding *binding, int64_t slot)
{
    for (size_t index = 0; index < binding->slot_count; index++) {
        if (binding->slots[index].slot == slot) {
            return &binding->slots[index];
        }
    }
    return NULL;
}

/* Returns the worker that a slot was bound to, if it still lives. */
static const WorkerInfo *
find_worker(Call *call, const StepRun *step, const WirePeer *bound)
{
    const char *address = text_copy(call->arena, bound->address);
    const WorkerInfo *worker = address == NULL ? NULL : roster_find(step->workers, address);
    bool lives = worker != NULL && worker->state != WORKER_LOST &&
                 slice_equals_string(bound->incarnation, worker->incarnation);
    return lives ? worker : NULL;
}

/* Binds the slot as it was bound. */
static Status
join_slot(Call *call, SlotRun *slot, const WireBinding *binding)
{
    StepRun *step = slot->step;
    const WirePeer *bound = find_bound(binding, slot->partition->slot);
    if (bound == NULL || bound->push_token.size >= sizeof slot->push_token ||
        binding->slot_count != step->slot_count) {
        return call_fail(call, STATUS_FAILED_PRECONDITION,
            "the step was begun before, cut into other slots, and cannot be taken up: what it has written "
            "stays");
    }
    const WorkerInfo *worker = find_worker(call, step, bound);
    if (worker == NULL) {
        return call_fail(call, STATUS_FAILED_PRECONDITION,
            "the step was broken off: slot %u of it ran on the worker at '%.*s', which was lost; what its "
            "other "
            "slots have written stays",
            slot->partition->slot, SLICE_PRINT(bound->address));
    }
    slot->worker = (int)(worker - step->workers->workers);
    (void)snprintf(slot->push_token, sizeof slot->push_token, "%.*s", SLICE_PRINT(bound->push_token));
    return STATUS_OK;
}

/* Binds all slots as they were bound for another gateway, if it has begun the step. */
static Status
join_attempt(Call *call, StepRun *step)
{
    WireBinding binding;
    if (call->arena == NULL || !buffer_is_ok(&step->binding)) {
        return call_fail_memory(call, "the slots of a step");
    }
    if (step->binding.size == 0) {
        return STATUS_OK;
    }
    TRY(wire_binding_read(call, buffer_slice(&step->binding), &binding));
    for (size_t index = 0; index < step->slot_count; index++) {
        TRY(join_slot(call, &step->slots[index], &binding));
    }
    step->joined_attempt = binding.attempt;
    return STATUS_OK;
}

/* Goes on when all workers have answered. */
static void
settle_answers(StepRun *step)
{
    AUTO_ARENA arena = arena_new(ANSWER_ARENA_SIZE_MAX);
    Call joining = {.arena = arena};
    Failure failure = {.code = STATUS_OK};
    if (join_attempt(&joining, step) != STATUS_OK) {
        failure = failure_of_call(&joining, (Slice){0});
    }
    for (size_t index = 0; index < step->slot_count && failure.code == STATUS_OK; index++) {
        step->slots[index].state = SLOT_IDLE;
    }
    step->asked(step, &failure);
}

/* Notes a good answer; the text of the binding is kept when the slot has begun. */
static Status
note_answer(Call *call, StepRun *step, Slice answer)
{
    WireBinding binding;
    TRY(wire_binding_read(call, answer, &binding));
    if (binding.is_known && step->binding.size == 0) {
        buffer_append_slice(&step->binding, answer);
    }
    return STATUS_OK;
}

static void
take_answer(SlotRun *slot, UpstreamCall *call)
{
    StepRun *step = slot->step;
    AUTO_ARENA arena = arena_new(ANSWER_ARENA_SIZE_MAX);
    Call reading = {.arena = arena};
    if (arena == NULL || note_answer(&reading, step, upstream_body(call)) != STATUS_OK) {
        step->slot_events->failed(
            slot, failure_of(STATUS_INTERNAL, (Slice){0}, "a worker's word of a step cannot be read"));
    } else if (--step->asking_count == 0) {
        settle_answers(step);
    }
}

static void
ask_on_done(UpstreamCall *call, Status status, const char *message)
{
    SlotRun *slot = upstream_context(call);
    StepRun *step = slot->step;
    slot->call = NULL;
    bind_load(step->dispatcher, slot_worker(slot), -1);
    if (step->is_ending || step->is_restarting) {
        return;
    }
    if (status != STATUS_OK) {
        step->slot_events->failed(slot, failure_of(status, (Slice){0}, "%s", message));
    } else if (upstream_http_status(call) / 100 == 2) {
        take_answer(slot, call);
    } else if (upstream_http_status(call) == HTTP_NOT_FOUND) {
        step->slot_events->failed(
            slot, failure_of(STATUS_FAILED_PRECONDITION, (Slice){0},
                      "the step may have been run before: worker '%s' is of a version that cannot tell",
                      slot_worker(slot)->name));
    } else {
        slot_refused(slot, call);
    }
}

static void
ask_slot(SlotRun *slot)
{
    static const UpstreamEvents events = {.on_done = ask_on_done};
    StepRun *step = slot->step;
    const WorkerInfo *worker = slot_worker(slot);
    AUTO_BUFFER json = {0};
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "/worker/v1/steps/%s:ask", step->id_text);
    uint64_t now_ns = clock_monotonic_ns();
    UpstreamHead head = {
        .method = "POST",
        .path = slice_from_string(path),
        .address = worker->address,
        .incarnation = slice_from_string(worker->incarnation),
        .deadline_ms = (step->deadline_ns > now_ns ? step->deadline_ns - now_ns : 0) / CLOCK_NS_PER_MS + 1,
        .tenant = slice_from_string(step->tenant),
        .request_id = step->request_id,
    };
    slot->state = SLOT_ASKING;
    slot->call = upstream_begin(step->dispatcher->upstream, &head, &events, slot);
    if (slot->call == NULL) {
        step->slot_events->failed(
            slot, failure_of(STATUS_RESOURCE_EXHAUSTED, (Slice){0}, "no memory left for asking a worker"));
        return;
    }
    bind_load(step->dispatcher, worker, 1);
    slot_write_header(slot, &json);
    upstream_write_copy(slot->call, buffer_slice(&json));
    upstream_end(slot->call);
}

void
ask_begin(StepRun *step, StepAsked asked)
{
    assert(step->is_once && step->began_ns != 0 && step->slot_count > 1);

    step->asked = asked;
    step->asking_count = 0;
    for (size_t index = 0; index < step->slot_count; index++) {
        step->asking_count += slot_pin(&step->slots[index]) != NULL;
    }
    for (size_t index = 0; index < step->slot_count && !step->is_ending && !step->is_restarting; index++) {
        if (slot_pin(&step->slots[index]) != NULL) {
            ask_slot(&step->slots[index]);
        }
    }
    if (step->asking_count == 0) {
        settle_answers(step);
    }
}
