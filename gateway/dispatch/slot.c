/* One slot of one attempt: its run request, and the worker's answer.
 *
 * Happy path: slot_run() sends the header frame and the feeds → TENSOR frames are handed on → the STATUS
 * frame says OK → the stream ends → the slot is done, and with the last slot the step.
 *
 * A large output announces itself by its head. Then it is handed on in pieces, or collected whole, or the
 * slot waits with it until it is asked again: because another output is on its way out, because other slots
 * have not run to their end (StepRequest.holds_outputs), or because the step's owner says so. While one
 * output is on its way out, the other slots are held. What comes before its end even so is kept until then:
 * the attempt that follows the loss of a worker may compute outputs in another order.
 *
 * The request of a partial step stays open: feeds follow as they come, and it ends with the last one. STATS
 * frames before the STATUS frame say when the slot rests (turn.c). The request of a step whose feeds come in
 * pieces stays open too; as these cannot be sent a second time, its partition is registered first.
 *
 * Failures: an unknown partition is registered (register.c) and run again, within the same attempt; a
 * refusal comes as one document instead of frames; all other failures go to the step (SlotEvents.failed),
 * which ends or tries again. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "gateway/dispatch/internals.h"
#include "gateway/dispatch/step.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"

enum { PATH_SIZE = 128, STATUS_ARENA_SIZE_MAX = 1 << 20, FEED_QUEUE_HIGH = 512 * 1024 };

static void
fail_slot(SlotRun *slot, Failure failure)
{
    slot->step->slot_events->failed(slot, failure);
}

static void
finish_slot(SlotRun *slot)
{
    slot->state = SLOT_DONE;
    bind_note_success(slot->step->dispatcher, slot_worker(slot));
    slot->step->slot_events->done(slot);
}

void
slot_match_pace(SlotRun *slot)
{
    if (slot->call == NULL) {
        return;
    }
    if (slot->step->is_paused || slot->is_held || slot->waits_at_head) {
        upstream_pause(slot->call);
    } else {
        upstream_resume(slot->call);
    }
}

/* Finds the fetch that an output's name stands for; fails the slot when it stands for none. */
static bool
find_fetch(SlotRun *slot, Slice name, uint32_t *ret_fetch)
{
    uint64_t index = 0;
    if (!slice_to_uint64(name, &index) || index >= slot->partition->fetch_count) {
        fail_slot(slot, failure_of(STATUS_INTERNAL, (Slice){0}, "a worker sent an output nobody asked for"));
        return false;
    }
    *ret_fetch = slot->partition->fetches[index];
    return true;
}

bool
step_has_run(const StepRun *step)
{
    return !step->holds_outputs || step->computed_count == step->slot_count;
}

/* Lets the slots go on that were held, and asks for the outputs that wait. */
static void
release_slots(StepRun *step)
{
    if (step->passing.has_begun || !step_has_run(step)) {
        return;
    }
    for (size_t index = 0; index < step->slot_count; index++) {
        SlotRun *slot = &step->slots[index];
        slot->is_held = false;
        slot_match_pace(slot);
        slot_ask(slot);
    }
}

static void
note_computed(SlotRun *slot)
{
    if (!slot->has_computed) {
        slot->has_computed = true;
        slot->step->computed_count++;
        release_slots(slot->step);
    }
}

/* Holds the slots that do not send the output on its way out. */
static void
hold_others(StepRun *step, const SlotRun *sender)
{
    for (size_t index = 0; index < step->slot_count; index++) {
        SlotRun *slot = &step->slots[index];
        slot->is_held = slot->is_held || slot != sender;
        slot_match_pace(slot);
    }
}

/* Keeps an output until the one on its way out is whole. False without memory. */
static bool
keep_early(StepRun *step, uint32_t fetch, const Tensor *tensor)
{
    if (step->early == NULL) {
        step->early = memory_new(step->plan->fetch_count, sizeof *step->early);
    }
    if (step->early == NULL) {
        return false;
    }
    step->early[fetch] = tensor_ref(tensor);
    return true;
}

static void
tell_early(StepRun *step)
{
    for (uint32_t fetch = 0; step->early != NULL && fetch < step->plan->fetch_count; fetch++) {
        if (step->early[fetch].dtype != DTYPE_INVALID) {
            step->events->on_output(step->context, fetch, &step->early[fetch]);
            tensor_unref(&step->early[fetch]);
        }
    }
}

static void
tell_output(SlotRun *slot, uint32_t fetch, const Tensor *tensor)
{
    StepRun *step = slot->step;
    if (!step->passing.has_begun) {
        step->events->on_output(step->context, fetch, tensor);
    } else if (!keep_early(step, fetch, tensor)) {
        fail_slot(slot, failure_of(STATUS_RESOURCE_EXHAUSTED, (Slice){0}, "no memory left for an output"));
    }
}

static void
slot_output(SlotRun *slot, const Frame *frame)
{
    StepRun *step = slot->step;
    uint32_t fetch = 0;
    if (!find_fetch(slot, frame->name, &fetch)) {
        return;
    }
    note_computed(slot);
    if (frame->kind == FRAME_DEAD && !step->is_partial) {
        fail_slot(slot, failure_of(STATUS_INVALID_ARGUMENT, (Slice){0},
                            "fetch '%.*s' has no value: it lies on a branch that was not taken",
                            SLICE_PRINT(step->plan->fetches[fetch])));
    } else if (!step->is_delivered[fetch]) {
        step->is_delivered[fetch] = true;
        tell_output(slot, fetch, &frame->tensor);
    }
    slot->is_held = !step_has_run(step);
    slot_match_pace(slot);
}

static void
wait_at_head(SlotRun *slot, const OutputHead *head)
{
    slot->waits_at_head = true;
    slot->head_fetch = head->fetch;
    slot->head = *head->tensor;
    slot->head_size = head->size;
    if (step_has_run(slot->step)) {
        admission_yield(&slot->step->ticket); /* it waits for memory, and no longer for a device */
    }
    slot_match_pace(slot);
}

static void
pass_output(SlotRun *slot, uint32_t fetch, const Tensor *described)
{
    PassedOutput *passing = &slot->step->passing;
    if (!passing->has_begun) {
        *passing = (PassedOutput){.has_begun = true, .fetch = fetch, .described = *described};
    }
    passing->slot = slot;
    passing->seen = 0;
    upstream_pass(slot->call);
    hold_others(slot->step, slot);
}

/* Goes on with an output of which an earlier attempt has handed on a part. */
static void
repeat_output(SlotRun *slot, uint32_t fetch, const Tensor *described)
{
    const Tensor *before = &slot->step->passing.described;
    if (before->dtype == described->dtype && shape_equal(&before->shape, &described->shape)) {
        pass_output(slot, fetch, described);
    } else {
        fail_slot(slot, failure_of(STATUS_INTERNAL, (Slice){0},
                            "fetch '%.*s' has another type or shape than before its worker was lost",
                            SLICE_PRINT(slot->step->plan->fetches[fetch])));
    }
}

/* Returns whether this slot has still to send the output that is half handed on. */
static bool
owes_passed(const SlotRun *slot)
{
    const PassedOutput *passing = &slot->step->passing;
    bool is_own = false;
    for (size_t index = 0; index < slot->partition->fetch_count; index++) {
        is_own = is_own || slot->partition->fetches[index] == passing->fetch;
    }
    return passing->has_begun && passing->slot == NULL && is_own;
}

/* Decides what becomes of a large output, now or later. */
static void
decide_output(SlotRun *slot, const OutputHead *head)
{
    StepRun *step = slot->step;
    OutputWay way = OUTPUT_WAITS;
    if (step->is_delivered[head->fetch]) {
        slot->drops = true;
        upstream_pass(slot->call);
        return;
    }
    if (step->passing.has_begun && step->passing.slot == NULL && step->passing.fetch == head->fetch) {
        repeat_output(slot, head->fetch, head->tensor);
        return;
    }
    if ((!step->passing.has_begun || !head->may_wait) && step_has_run(step)) {
        way = step->events->on_head == NULL ? OUTPUT_WHOLE : step->events->on_head(step->context, head);
    }
    if (way == OUTPUT_WAITS) {
        wait_at_head(slot, head);
    } else if (way == OUTPUT_PIECES) {
        pass_output(slot, head->fetch, head->tensor);
    }
}

void
slot_ask(SlotRun *slot)
{
    if (slot->waits_at_head && !slot->step->is_ending && !slot->step->is_restarting) {
        Tensor described = slot->head;
        OutputHead head = {
            .fetch = slot->head_fetch,
            .tensor = &described,
            .size = slot->head_size,
            .may_wait = !owes_passed(slot),
        };
        slot->waits_at_head = false;
        decide_output(slot, &head);
        slot_match_pace(slot);
    }
}

static void
slot_piece(SlotRun *slot, Slice bytes)
{
    StepRun *step = slot->step;
    PassedOutput *passing = &step->passing;
    if (slot->drops) {
        return;
    }
    assert(passing->slot == slot);
    uint64_t old = passing->passed > passing->seen ? passing->passed - passing->seen : 0;
    Slice fresh = slice_part(bytes, old < bytes.size ? (size_t)old : bytes.size, bytes.size);
    passing->seen += bytes.size;
    passing->passed += fresh.size;
    if (fresh.size > 0) {
        step->events->on_piece(step->context, passing->fetch, fresh, false);
    }
}

static void
end_pieces(SlotRun *slot)
{
    StepRun *step = slot->step;
    if (slot->drops) {
        slot->drops = false;
        return;
    }
    assert(step->passing.slot == slot);
    uint32_t fetch = step->passing.fetch;
    step->is_delivered[fetch] = true;
    step->passing = (PassedOutput){.slot = NULL};
    step->events->on_piece(step->context, fetch, (Slice){0}, true);
    tell_early(step);
    release_slots(step);
}

static void
run_on_part(UpstreamCall *call, const Frame *part)
{
    SlotRun *slot = upstream_context(call);
    uint32_t fetch = 0;
    if (slot->step->is_ending || slot->step->is_restarting) {
        upstream_pause(call); /* for the rest of this turn */
    } else if (part->part == FRAME_PIECE) {
        slot_piece(slot, part->piece);
    } else if (part->part == FRAME_END) {
        end_pieces(slot);
    } else if (find_fetch(slot, part->name, &fetch)) {
        OutputHead head = {
            .fetch = fetch,
            .tensor = &part->tensor,
            .size = part->payload_size,
            .may_wait = !owes_passed(slot),
        };
        note_computed(slot);
        decide_output(slot, &head);
    }
}

/* Returns the slot that is to blame: the one whose worker the answering worker could not reach, or `slot`. */
static SlotRun *
find_culprit(SlotRun *slot, Slice lost_peer)
{
    StepRun *step = slot->step;
    for (size_t index = 0; index < step->slot_count && lost_peer.size > 0; index++) {
        if (slice_equals_string(lost_peer, slot_worker(&step->slots[index])->address)) {
            return &step->slots[index];
        }
    }
    return slot;
}

/* Handles a run that failed, or never began, for a reason of its own or because of another slot. */
static void
slot_unsuccessful(SlotRun *slot, const WireStatus *status)
{
    StepRun *step = slot->step;
    Failure failure = status->failure;
    slot->was_broken_off = slice_equals_string(status->reason, WIRE_REASON_BROKEN_OFF);
    if (slot->was_broken_off || failure.code == STATUS_ABORTED || failure.code == STATUS_CANCELLED) {
        step->slot_events->aborted(slot, &failure);
        return;
    }
    if (failure.code == STATUS_DEADLINE_EXCEEDED && step->slot_events->late(slot, &failure)) {
        return;
    }
    /* The worker forgot the partition right after it was registered: others may have more room. */
    if (slice_equals_string(status->reason, WIRE_REASON_UNKNOWN_PARTITION)) {
        failure.code = STATUS_UNAVAILABLE;
    }
    fail_slot(find_culprit(slot, status->lost_peer), failure);
}

/* Returns whether registering the partition takes so long that the step must not keep a slot of the pool
 * meanwhile. After a short registration, steps that had given theirs back would run all at once. */
static bool
has_large_weights(const PlanPartition *partition)
{
    enum { LARGE_SIZE = 32 << 20 };
    uint64_t size = 0;
    for (size_t index = 0; index < partition->blob_count; index++) {
        size += tensor_byte_size(&partition->blobs[index].tensor);
    }
    return size > LARGE_SIZE;
}

static void
slot_status(SlotRun *slot, Slice json)
{
    AUTO_ARENA arena = arena_new(STATUS_ARENA_SIZE_MAX);
    Call reading = {.arena = arena};
    WireStatus status;
    if (arena == NULL || wire_status_read(&reading, json, &status) != STATUS_OK) {
        fail_slot(slot, failure_of(STATUS_INTERNAL, (Slice){0}, "a worker's status cannot be read"));
        return;
    }
    slot->has_status = true;
    if (status.failure.code == STATUS_OK) {
        note_computed(slot);
    }
    bool may_run_again = slot->registration_count < 2 && !slot->step->fed.has_any;
    if (slice_equals_string(status.reason, WIRE_REASON_UNKNOWN_PARTITION) && may_run_again) {
        slot->registration_count++;
        slot->state = SLOT_REGISTERING;
        slot->may_have_begun = false;
        if (has_large_weights(slot->partition)) {
            admission_yield(&slot->step->ticket);
        }
    } else if (status.failure.code != STATUS_OK) {
        slot_unsuccessful(slot, &status);
    }
}

/* Keeps a slot's statistics. A document that cannot be read is dropped. The frame's text ends with the
 * next read, so the trace is copied. */
static void
slot_stats(SlotRun *slot, Slice json)
{
    Call reading = {.arena = NULL};
    WireStats stats;
    slot->answered_ns = clock_monotonic_ns();
    if (wire_stats_read(&reading, json, &stats) != STATUS_OK) {
        return;
    }
    buffer_clear(&slot->trace);
    buffer_append_slice(&slot->trace, slot->step->traces_nodes ? stats.trace : (Slice){0});
    stats.trace = buffer_is_ok(&slot->trace) ? buffer_slice(&slot->trace) : (Slice){0};
    slot->stats = stats;
}

bool
slot_rests(const SlotRun *slot)
{
    bool has_all = slot->rest.rests && slot->rest.feed_count == (int64_t)slot->fed_count;
    return slot->state == SLOT_DONE || (slot->state == SLOT_RUNNING && has_all);
}

/* Returns the device time of a slot. A worker that has said nothing of it, because it has gone or the step
 * was cancelled, may have computed all the time, but for the rests that it told. */
static uint64_t
slot_computed_ns(const SlotRun *slot, uint64_t now_ns)
{
    if (slot->answered_ns != 0) {
        bool tells_no_time = slot->stats.computed_us == 0 && !slot->step->is_partial;
        int64_t computed_us = tells_no_time ? slot->stats.elapsed_us : slot->stats.computed_us;
        return (uint64_t)computed_us * CLOCK_NS_PER_US;
    }
    if (slot->sent_ns == 0 || !slot->may_have_begun) {
        return 0;
    }
    bool is_active = slot->state != SLOT_RUNNING || !slot_rests(slot);
    return (uint64_t)slot->rest.computed_us * CLOCK_NS_PER_US + (is_active ? now_ns - slot->active_ns : 0);
}

uint64_t
attempt_computed_ns(const StepRun *step)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t computed_ns = 0;
    for (size_t index = 0; index < step->slot_count; index++) {
        computed_ns += slot_computed_ns(&step->slots[index], now_ns);
    }
    return computed_ns;
}

uint64_t
step_computed_ns(const StepRun *step)
{
    return step->computed_ns + attempt_computed_ns(step);
}

/* Notes whether the slot rests. A document that cannot be read or be true is dropped: the step keeps its slot
 * of the pool then. */
static void
note_rest(SlotRun *slot, Slice json)
{
    Call reading = {.arena = NULL};
    WireRest rest;
    if (wire_rest_read(&reading, json, &rest) != STATUS_OK || rest.computed_us < slot->rest.computed_us) {
        return;
    }
    bool did_rest = slot_rests(slot);
    slot->rest = rest;
    if (did_rest && !slot_rests(slot)) {
        slot->active_ns = clock_monotonic_ns();
    }
    slot->step->slot_events->rested(slot);
}

static void
run_on_frame(UpstreamCall *call, Frame *frame)
{
    SlotRun *slot = upstream_context(call);
    switch (frame->kind) {
    case FRAME_TENSOR:
    case FRAME_DEAD:
        slot_output(slot, frame);
        break;
    case FRAME_STATUS:
        slot_status(slot, frame->json);
        break;
    case FRAME_STATS:
        if (slot->step->is_partial && !slot->has_status) {
            note_rest(slot, frame->json);
        } else {
            slot_stats(slot, frame->json);
        }
        break;
    case FRAME_HEADER:
    case FRAME_ANNOUNCE:
    case FRAME_HEARTBEAT:
        break;
    }
    tensor_unref(&frame->tensor);
}

/* Handles a refusal before the run began: one status document instead of frames. */
void
slot_refused(SlotRun *slot, UpstreamCall *call)
{
    AUTO_ARENA arena = arena_new(STATUS_ARENA_SIZE_MAX);
    Call reading = {.arena = arena};
    WireStatus status;
    if (arena == NULL || wire_status_read(&reading, upstream_body(call), &status) != STATUS_OK) {
        fail_slot(slot, failure_of(STATUS_INTERNAL, (Slice){0}, "a worker's answer has no status"));
        return;
    }
    slot->has_restarted = status.incarnation.size > 0 &&
                          !slice_equals_string(status.incarnation, slot_worker(slot)->incarnation);
    if (slot->has_restarted) {
        directory_note_restart(slot->step->dispatcher->directory, slot_worker(slot), status.incarnation);
    }
    slot->is_refused = slot->has_restarted || status.failure.code == STATUS_UNAVAILABLE;
    slot->may_have_begun = !slot->is_refused;
    if (status.failure.code == STATUS_OK) {
        status.failure.code = STATUS_INTERNAL; /* a success is no refusal */
    }
    fail_slot(slot, status.failure);
}

static void slot_registered(SlotRun *slot, const Failure *failure);

static void
run_on_done(UpstreamCall *call, Status status, const char *message)
{
    SlotRun *slot = upstream_context(call);
    StepRun *step = slot->step;
    slot->call = NULL;
    bind_load(step->dispatcher, slot_worker(slot), -1);
    if (step->is_ending || step->is_restarting) {
        return;
    }
    if (status != STATUS_OK) {
        fail_slot(slot, failure_of(status, (Slice){0}, "%s", message));
    } else if (slot->state == SLOT_REGISTERING) {
        registration_await(slot, slot_registered);
    } else if (!slot->has_status) {
        slot_refused(slot, call);
    } else {
        finish_slot(slot);
    }
}

static void
run_on_writable(UpstreamCall *call)
{
    SlotRun *slot = upstream_context(call);
    slot->step->slot_events->reads_feeds(slot);
}

static const UpstreamEvents run_events = {
    .on_frame = run_on_frame, .on_writable = run_on_writable, .on_part = run_on_part, .on_done = run_on_done};

static void
run_describe(const SlotRun *slot, WireRun *run)
{
    const StepRun *step = slot->step;
    *run = (WireRun){
        .partition = slice_from_string(slot->partition->digest),
        .session = slice_from_string(step->session),
        .attempt = step_wire_attempt(step),
        .slot = slot->partition->slot,
        .feed_count = (int64_t)slot->partition->feed_count,
        .fetch_count = (int64_t)slot->partition->fetch_count,
        .memory_limit = (int64_t)step->memory_limit,
        .open_size = step->open_size,
        .has_trace = step->traces_nodes,
        .is_partial = step->is_partial,
        .holds_outputs = step->holds_outputs,
    };
    if (step->is_once) {
        uint64_t age_ms =
            step->began_ns == 0 ? 0 : (clock_monotonic_ns() - step->began_ns) / CLOCK_NS_PER_MS + 1;
        run->is_once = true;
        run->holder = step->holder;
        run->once_age_ms = age_ms < INT32_MAX ? (int64_t)age_ms : INT32_MAX;
    }
    const StepPin *pin = slot_pin(slot);
    if (pin != NULL) {
        run->state_place = pin->place;
        run->state_epoch = pin->epoch;
    }
    if (step->slot_count > 1) {
        run->push_token = slice_from_string(slot->push_token);
    }
}

static WirePeer
describe_peer(const SlotRun *slot)
{
    const WorkerInfo *worker = slot_worker(slot);
    return (WirePeer){
        .slot = slot->partition->slot,
        .address = slice_from_string(worker->address),
        .incarnation = slice_from_string(worker->incarnation),
        .push_token = slice_from_string(slot->push_token),
        .sender_count = slot->partition->sender_count,
        .version = worker->version,
    };
}

void
slot_write_header(const SlotRun *slot, Buffer *json)
{
    const StepRun *step = slot->step;
    WireRun run;
    WirePeer peers[SLOT_COUNT_MAX];
    WirePeer bound[SLOT_COUNT_MAX];
    run_describe(slot, &run);
    for (size_t index = 0; index < slot->partition->peer_count; index++) {
        peers[index] = describe_peer(&step->slots[slot->partition->peers[index]]);
    }
    run.peers = peers;
    run.peer_count = slot->partition->peer_count;
    run.bound = bound;
    run.bound_count = step->is_once && step->slot_count > 1 ? step->slot_count : 0;
    for (size_t index = 0; index < run.bound_count; index++) {
        bound[index] = describe_peer(&step->slots[index]);
    }
    wire_run_write(json, &run);
}

static void
run_write_header(const SlotRun *slot)
{
    AUTO_BUFFER json = {0};
    AUTO_BUFFER frame = {0};
    slot_write_header(slot, &json);
    frame_write_json(&frame, FRAME_HEADER, buffer_slice(&json));
    upstream_write_copy(slot->call, buffer_slice(&frame));
}

enum { FEED_NAME_SIZE = 24 };

static Slice
write_feed_name(size_t index, char ret_name[FEED_NAME_SIZE])
{
    int size = snprintf(ret_name, FEED_NAME_SIZE, "%zu", index);
    return slice_of(ret_name, (size_t)size);
}

static void
run_write_feed(SlotRun *slot, size_t index, const Tensor *tensor)
{
    char name[FEED_NAME_SIZE];
    if (slot_rests(slot)) {
        slot->active_ns = clock_monotonic_ns();
    }
    upstream_write_tensor(slot->call, write_feed_name(index, name), tensor);
    slot->fed_count++;
}

void
slot_end_request(SlotRun *slot)
{
    bool is_open = slot->state == SLOT_RUNNING && slot->call != NULL;
    if (is_open && slot->fed_count == slot->partition->feed_count && !slot->step->awaits_feeds) {
        upstream_end(slot->call);
    }
}

/* Sends the header and the feeds that have arrived; a partial run sends the others when they come. */
static void
run_write_body(SlotRun *slot)
{
    const PlanPartition *partition = slot->partition;
    run_write_header(slot);
    for (size_t index = 0; index < partition->feed_count; index++) {
        const Tensor *tensor = &slot->step->feeds[partition->feeds[index]];
        if (tensor->dtype != DTYPE_INVALID) {
            run_write_feed(slot, index, tensor);
        }
    }
    slot_end_request(slot);
}

/* Sends a feed that has come, if the slot wants it and runs. */
static void
slot_feed(SlotRun *slot, size_t feed)
{
    const PlanPartition *partition = slot->partition;
    if (slot->state != SLOT_RUNNING || slot->call == NULL) {
        return;
    }
    for (size_t index = 0; index < partition->feed_count; index++) {
        if (partition->feeds[index] == feed) {
            run_write_feed(slot, index, &slot->step->feeds[feed]);
        }
    }
    slot_end_request(slot);
}

void
slots_feed(StepRun *step, size_t feed)
{
    for (size_t index = 0; index < step->slot_count; index++) {
        slot_feed(&step->slots[index], feed);
    }
}

bool
slot_takes_feeds(const SlotRun *slot)
{
    return slot->state == SLOT_RUNNING && slot->call != NULL && upstream_queued(slot->call) < FEED_QUEUE_HIGH;
}

/* Returns whether the slot wants the feed, and its request is open. */
static bool
wants_feed(const SlotRun *slot, size_t feed, size_t *ret_index)
{
    const PlanPartition *partition = slot->partition;
    for (size_t index = 0; index < partition->feed_count; index++) {
        if (partition->feeds[index] == feed) {
            *ret_index = index;
            return slot->state == SLOT_RUNNING && slot->call != NULL;
        }
    }
    return false;
}

void
slot_feed_begin(SlotRun *slot, size_t feed, const Tensor *described)
{
    size_t index = 0;
    char name[FEED_NAME_SIZE];
    AUTO_BUFFER head = {0};
    if (wants_feed(slot, feed, &index)) {
        frame_write_head(&head, write_feed_name(index, name), described, tensor_byte_size(described));
        upstream_write_copy(slot->call, buffer_slice(&head));
        slot->fed_count++;
    }
}

void
slot_feed_bytes(SlotRun *slot, size_t feed, Slice bytes)
{
    size_t index = 0;
    if (wants_feed(slot, feed, &index)) {
        upstream_write_copy(slot->call, bytes);
    }
}

static void
slot_run(SlotRun *slot)
{
    StepRun *step = slot->step;
    const WorkerInfo *worker = slot_worker(slot);
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "/worker/v1/steps/%s:run", step->id_text);
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t left_ns = step->deadline_ns > now_ns ? step->deadline_ns - now_ns : 0;
    UpstreamHead head = {
        .method = "POST",
        .path = slice_from_string(path),
        .address = worker->address,
        .incarnation = slice_from_string(worker->incarnation),
        .attempt = step_wire_attempt(step),
        .deadline_ms = left_ns / CLOCK_NS_PER_MS + 1,
        .tenant = slice_from_string(step->tenant),
        .request_id = step->request_id,
    };
    slot->sent_ns = now_ns;
    slot->active_ns = now_ns;
    slot->rest = (WireRest){.rests = false};
    slot->has_status = false;
    slot->fed_count = 0;
    slot->may_have_begun = true;
    slot->state = SLOT_RUNNING;
    slot->call = upstream_begin(step->dispatcher->upstream, &head, &run_events, slot);
    if (slot->call == NULL) {
        fail_slot(
            slot, failure_of(STATUS_RESOURCE_EXHAUSTED, (Slice){0}, "no memory left for a run request"));
        return;
    }
    slot->is_held = step->passing.has_begun && !owes_passed(slot);
    slot_match_pace(slot);
    bind_load(step->dispatcher, worker, 1);
    run_write_body(slot);
    step->slot_events->reads_feeds(slot);
}

static void
slot_registered(SlotRun *slot, const Failure *failure)
{
    if (failure->code != STATUS_OK) {
        fail_slot(slot, *failure);
    } else if (slot->step->only_registers) {
        slot->answered_ns = clock_monotonic_ns();
        finish_slot(slot);
    } else {
        slot_run(slot);
    }
}

void
slot_begin(SlotRun *slot)
{
    assert(slot->state == SLOT_IDLE && slot->worker >= 0);

    if (!slot->step->only_registers && !slot->step->awaits_feeds) {
        slot_run(slot);
        return;
    }
    slot->sent_ns = clock_monotonic_ns();
    slot->state = SLOT_REGISTERING;
    registration_await(slot, slot_registered);
}
