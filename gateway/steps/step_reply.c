/* Happy path: step_form_choose() before the run → step_reply_head() takes memory for a stream →
 * step_reply_piece() sends a large output as it comes, and step_reply_output() sends or keeps a small one →
 * step_reply_end() writes what is left to say.
 *
 * A stream takes its memory once, for its queue and what the worker may have under way; while there is none,
 * the outputs stay with the workers. Outputs that have to be whole (strings that become text, fetches that
 * are asked for twice, answers that are kept behind an idempotency key) take memory of their own, and wait
 * for it only while the step holds none, so that no two wait for each other. */
#include "gateway/steps/step_reply.h"

#include <assert.h>
#include <stdio.h>

#include "gateway/steps/step_text.h"

enum {
    /* The bytes that a stream holds at most: its queue, a window of HTTP/2, a turn of text. */
    STREAM_ROOM = 256 * 1024,
    /* A reader whose system has acknowledged so many bytes, and which waits for the worker, is a fast one: a
     * socket that nobody reads acknowledges 64 KiB, unless its owner wants more. Narrow windows cost two
     * wake-ups for each 64 KiB. */
    FAST_SIZE = 192 * 1024,
    WIDE_QUEUE_LOW = 256 * 1024,
    WIDE_ROOM = UPSTREAM_WINDOW_WIDE + STEP_WIDE_QUEUE_HIGH,
    KEPT_FREE = 64 * 1024, /* bytes of small outputs that a step keeps without asking */
};

static void
room_is_granted(MemoryClaim *claim)
{
    StepReply *reply = LIST_ITEM(claim, StepReply, claim);
    StepCall *step = LIST_ITEM(reply, StepCall, reply);
    reply->has_whole = reply->awaits_whole;
    reply->has_room = reply->has_room || !reply->awaits_whole;
    reply->awaits_whole = false;
    if (step->running.run != NULL) {
        step_ask_outputs(step->running.run);
    }
}

static bool
open_claim(StepCall *step)
{
    MemoryClaim *claim = &step->reply.claim;
    claim->granted = room_is_granted;
    return claim->memory != NULL ||
           memory_claim_open(claim, step->loop->steps->outputs, step->tenant, step->loop->loop);
}

static const char *
advise(const StepCall *step, MemoryRoom room)
{
    if (step->kind != STEP_BODY_PARTIAL_RUN) {
        return "fetch fewer or smaller outputs, or accept application/vnd.sluice.frames";
    }
    return room == MEMORY_ROOM_NEVER
               ? "fetch a smaller one, or raise --output-memory"
               : "ask for each fetch as soon as it can be computed, or raise --output-memory";
}

/* Ends the step, as there is no memory for an output: now, or ever. */
static void
refuse_output(StepCall *step, uint32_t fetch, uint64_t size, MemoryRoom room)
{
    Status code = room == MEMORY_ROOM_NEVER ? STATUS_FAILED_PRECONDITION : STATUS_RESOURCE_EXHAUSTED;
    Failure failure = failure_of(code, (Slice){0},
        "output '%.*s' of %llu bytes has to be whole in the gateway, and its memory for outputs has no room "
        "for that: %s",
        SLICE_PRINT(slice_part(step->plan->fetches[fetch], 0, 128)), (unsigned long long)size,
        advise(step, room));
    step_fail(step->running.run, &failure);
}

size_t
step_reply_whole_size(const StepCall *step, const OutputHead *head)
{
    size_t stream = step->kind == STEP_BODY_PARTIAL_RUN ? STREAM_ROOM : 0;
    size_t size = head->size < SIZE_MAX / 4 ? (size_t)head->size : SIZE_MAX / 4;
    return (head->tensor->dtype == DTYPE_STRING ? size * 2 : size) + stream;
}

OutputWay
step_reply_take_whole(StepCall *step, const OutputHead *head)
{
    StepReply *reply = &step->reply;
    MemoryRoom room = MEMORY_ROOM_NEVER;
    if (reply->has_whole && reply->whole_fetch == head->fetch) {
        reply->has_whole = false;
        return OUTPUT_WHOLE;
    }
    if (reply->claim.wait != NULL) {
        return OUTPUT_WAITS;
    }
    if (open_claim(step)) {
        size_t size = step_reply_whole_size(step, head);
        bool may_wait = head->may_wait && reply->claim.held == 0;
        reply->awaits_whole = may_wait;
        reply->whole_fetch = head->fetch;
        room = (may_wait ? memory_claim_await : memory_claim_take)(&reply->claim, size);
        reply->awaits_whole = may_wait && room == MEMORY_ROOM_LATER;
    }
    if (room == MEMORY_ROOM_TAKEN) {
        return OUTPUT_WHOLE;
    }
    if (!reply->awaits_whole) {
        refuse_output(step, head->fetch, head->size, room);
    }
    return OUTPUT_WAITS;
}

/* Takes the memory of a stream, once. */
static MemoryRoom
take_stream_room(StepCall *step)
{
    StepReply *reply = &step->reply;
    if (reply->has_room) {
        return MEMORY_ROOM_TAKEN;
    }
    if (reply->claim.wait != NULL) {
        return MEMORY_ROOM_LATER;
    }
    MemoryRoom room = open_claim(step) ? memory_claim_await(&reply->claim, STREAM_ROOM) : MEMORY_ROOM_NEVER;
    reply->has_room = room == MEMORY_ROOM_TAKEN;
    return room;
}

static bool
is_open(const StepReply *reply)
{
    return !reply->has_begun || reply->stream != NULL;
}

/* Returns how often the request asks for this fetch, and the last of its indexes. */
static size_t
find_asked(const StepCall *step, uint32_t fetch, size_t *ret_index)
{
    size_t count = 0;
    for (size_t index = 0; index < step->body.fetch_count; index++) {
        if (step->reply.fetches[index] == fetch) {
            *ret_index = index;
            count++;
        }
    }
    return count;
}

/* Returns whether the answer is kept behind a key together with this output; one that is too large is kept
 * without outputs. */
static bool
is_for_keeping(const StepCall *step, uint64_t size)
{
    uint64_t size_max = step->loop->steps->limits->idempotency_answer_bytes;
    return step->promise.key.text != NULL && !step->reply.has_begun &&
           step_outputs_size(step) + size <= size_max;
}

OutputWay
step_reply_head(StepCall *step, const OutputHead *head)
{
    assert(step->reply.form != NULL && head->fetch < step->plan->fetch_count);

    StepReply *reply = &step->reply;
    size_t index = 0;
    if (!is_open(reply)) {
        return OUTPUT_PIECES; /* they are dropped */
    }
    bool is_alone = find_asked(step, head->fetch, &index) == 1;
    if (!is_alone || !head->may_wait || is_for_keeping(step, head->size)) {
        return step_reply_take_whole(step, head);
    }
    if (step_text_is_busy(step)) {
        return OUTPUT_WAITS; /* until the text before it is written */
    }
    MemoryRoom room = take_stream_room(step);
    if (room == MEMORY_ROOM_NEVER) {
        refuse_output(step, head->fetch, STREAM_ROOM, room);
    }
    if (room != MEMORY_ROOM_TAKEN) {
        return OUTPUT_WAITS;
    }
    if (!reply->form->begin(step, index, head)) {
        return step_reply_take_whole(step, head);
    }
    return OUTPUT_PIECES;
}

void
step_reply_output(StepCall *step, uint32_t fetch, const Tensor *tensor)
{
    assert(step->reply.form != NULL && fetch < step->plan->fetch_count);

    StepReply *reply = &step->reply;
    for (size_t index = 0; index < step->body.fetch_count; index++) {
        if (is_open(reply) && reply->fetches[index] == fetch) {
            reply->form->output(step, index, tensor);
        }
    }
    if (step_text_is_busy(step)) {
        step_text_go_on(step);
    }
    step_text_match_pace(step);
}

bool
step_reply_keep(StepCall *step, uint32_t fetch, const Tensor *tensor)
{
    StepReply *reply = &step->reply;
    Tensor *kept = &step->outputs[fetch];
    size_t size = tensor_byte_size(tensor);
    if (kept->dtype != DTYPE_INVALID) {
        return true; /* asked for twice */
    }
    bool is_free = size >= KEPT_FREE || reply->kept_size + size <= KEPT_FREE;
    if (!is_free && (!open_claim(step) || memory_claim_take(&reply->claim, size) != MEMORY_ROOM_TAKEN)) {
        refuse_output(step, fetch, size, MEMORY_ROOM_LATER);
        return false;
    }
    reply->kept_size += size;
    *kept = tensor_ref(tensor);
    return true;
}

/* Widens the windows for a reader that is faster than workers answer with narrow ones. */
static void
widen_for_fast_reader(StepCall *step)
{
    StepReply *reply = &step->reply;
    bool is_text = reply->text.dtype != DTYPE_INVALID; /* written more slowly than it comes */
    if (!reply->is_wide && !is_text && http_stream_is_starved(reply->stream, FAST_SIZE) &&
        memory_claim_widen(&reply->claim, WIDE_ROOM)) {
        reply->is_wide = true;
        http_stream_low(reply->stream, WIDE_QUEUE_LOW);
    }
    if (reply->is_wide) {
        step_widen(step->running.run);
    }
}

void
step_reply_piece(StepCall *step, uint32_t fetch, Slice bytes, bool is_last)
{
    assert(step->reply.form != NULL && fetch < step->plan->fetch_count);

    (void)fetch;
    StepReply *reply = &step->reply;
    if (reply->stream == NULL) {
        return;
    }
    widen_for_fast_reader(step);
    if (is_last) {
        reply->form->close(step);
    } else {
        reply->form->piece(step, bytes);
    }
    step_text_match_pace(step);
}

/* Notes for each slot of a late step the node that it was at. */
static void
note_slots(Call *call, const StepReport *report)
{
    for (size_t index = 0; index < report->slot_count; index++) {
        Slice words = report->slots[index].last_words;
        char pointer[32];
        (void)snprintf(pointer, sizeof pointer, "/slots/%zu", index);
        if (words.size > 0) {
            call_note(call, pointer, "%.*s", SLICE_PRINT(words));
        }
    }
}

static Status
report_fail(Call *call, const StepReport *report)
{
    note_slots(call, report);
    char text[ERROR_MESSAGE_SIZE];
    failure_text(&report->failure, text);
    return call_fail(call, report->failure.code, "%s", text);
}

bool
step_reply_is_busy(const StepCall *step)
{
    return step_text_is_busy(step);
}

static void
write_end(StepCall *step, const StepReport *report)
{
    StepReply *reply = &step->reply;
    if (is_open(reply)) {
        reply->form->end(step, report);
    }
    if (reply->has_begun) {
        exchange_unref(step->exchange);
    }
}

static void
write_kept_end(StepCall *step)
{
    StepReport report = step->reply.report;
    write_end(step, &report);
}

void
step_reply_end(StepCall *step, const StepReport *report)
{
    assert(step->exchange != NULL && step->running.run == NULL && !step_text_is_busy(step));

    StepReply *reply = &step->reply;
    bool has_failed = report->failure.code != STATUS_OK;
    timer_clear(step->loop->loop, &reply->held);
    if (has_failed && reply->holds) {
        reply->form->release(step);
    }
    if (!reply->has_begun && has_failed) {
        exchange_fail(step->exchange, report_fail(step->call, report));
        return;
    }
    reply->is_over = true;
    if (!has_failed && is_open(reply) && reply->form->flush != NULL) {
        reply->form->flush(step);
    }
    if (step_text_is_busy(step)) {
        step_call_keep_report(step, report);
        reply->rested = write_kept_end;
        step_text_go_on(step);
    } else {
        write_end(step, report);
    }
}
