#include "gateway/steps/step_text.h"

#include <assert.h>

#include "shared/base/memory.h"
#include "shared/tensor/tensor_json.h"

enum { TURN_SIZE = 32 * 1024 }; /* bytes of elements: at most a millisecond of writing */

bool
step_text_open(StepCall *step)
{
    StepText *text = &step->reply.text;
    text->writer = json_writer(&text->text);
    text->indexes = arena_alloc(step->call->arena, (step->body.fetch_count + 1) * sizeof *text->indexes);
    return text->indexes != NULL;
}

static void
release_bytes(void *bytes)
{
    memory_free(bytes);
}

void
step_text_send(StepCall *step)
{
    StepText *text = &step->reply.text;
    Buffer bytes = text->text;
    text->text = (Buffer){0};
    if (step->reply.stream == NULL || bytes.size == 0) {
        buffer_done(&bytes);
    } else if (!buffer_is_ok(&bytes)) {
        buffer_done(&bytes);
        http_stream_abort(step->reply.stream);
    } else {
        (void)http_stream_write(step->reply.stream, buffer_slice(&bytes), release_bytes, bytes.data);
    }
}

static bool
has_block(const StepText *text)
{
    return text->is_closing || text->block.size >= TURN_SIZE;
}

/* Outputs that have come whole wait for the end of one that comes in pieces. */
static bool
has_work(const StepText *text)
{
    return has_block(text) || (text->next < text->added && text->dtype == DTYPE_INVALID);
}

bool
step_text_is_busy(const StepCall *step)
{
    const StepText *text = &step->reply.text;
    return text->is_working || has_work(text);
}

static void
write_block(StepText *text)
{
    size_t size = tensor_json_element_size(text->dtype);
    size_t whole = size == 0 ? text->block.size : text->block.size / size * size;
    tensor_json_write_elements(&text->writer, text->dtype, slice_of(text->block.data, whole));
    buffer_consume(&text->block, whole);
    if (text->is_closing) {
        tensor_json_write_end(&text->writer);
        text->is_closing = false;
        text->dtype = DTYPE_INVALID;
        buffer_done(&text->block);
    }
}

/* Drops the output that has been written, unless it is to be written again under another name. */
static void
drop_written(StepCall *step)
{
    StepText *text = &step->reply.text;
    uint32_t fetch = step->reply.fetches[text->indexes[text->next]];
    bool is_wanted = false;
    text->next++;
    text->element = 0;
    text->is_named = false;
    for (size_t index = text->next; index < text->limit; index++) {
        is_wanted = is_wanted || step->reply.fetches[text->indexes[index]] == fetch;
    }
    if (!is_wanted) {
        tensor_unref(&step->outputs[fetch]);
    }
}

/* Writes elements of the next whole output until they make a turn; strings one by one, as they have any
 * size. */
static void
write_whole(StepCall *step)
{
    StepText *text = &step->reply.text;
    size_t fetch_index = text->indexes[text->next];
    const Tensor *tensor = &step->outputs[step->reply.fetches[fetch_index]];
    size_t size = tensor_json_element_size(tensor->dtype);
    size_t count = size == 0 ? 0 : (size_t)tensor_element_count(tensor);
    size_t step_count = tensor->dtype == DTYPE_STRING || size == 0 ? 1 : TURN_SIZE / size;
    if (!text->is_named) {
        step->reply.form->name(step, fetch_index);
        tensor_json_write_begin(&text->writer, tensor);
        text->is_named = true;
    }
    size_t begin_size = text->text.size;
    bool is_turn = false;
    while (text->element < count && !is_turn && buffer_is_ok(&text->text)) {
        size_t left = count - text->element;
        size_t part = left < step_count ? left : step_count;
        const char *data = (const char *)tensor->data + text->element * size;
        tensor_json_write_elements(&text->writer, tensor->dtype, slice_of(data, part * size));
        text->element += part;
        is_turn = step_count > 1 || text->text.size - begin_size >= TURN_SIZE;
    }
    if (text->element == count) {
        tensor_json_write_end(&text->writer);
        drop_written(step);
    }
}

static Status
turn_on_job(Call *call, JobContext *job_context, void *owner)
{
    (void)call;
    (void)job_context;
    StepCall *step = owner;
    StepText *text = &step->reply.text;
    if (has_block(text)) {
        write_block(text);
    }
    while (text->dtype == DTYPE_INVALID && text->next < text->limit && text->text.size < TURN_SIZE &&
           buffer_is_ok(&text->text)) {
        write_whole(step);
    }
    return STATUS_OK;
}

static void
turn_is_done(Exchange *exchange, Status status, void *owner)
{
    (void)exchange;
    (void)status;
    StepCall *step = owner;
    step->reply.text.is_working = false;
    step_text_send(step);
    step_text_go_on(step);
}

/* Drops all work: nobody reads it. */
static void
drop_work(StepText *text)
{
    text->is_closing = false;
    text->next = text->added;
    buffer_done(&text->block);
}

void
step_text_match_pace(StepCall *step)
{
    StepReply *reply = &step->reply;
    if (step->running.run == NULL || reply->stream == NULL) {
        return;
    }
    size_t queued = http_stream_queued(reply->stream);
    if (step_text_is_busy(step) || queued > (reply->is_wide ? STEP_WIDE_QUEUE_HIGH : STEP_QUEUE_HIGH)) {
        step_pause(step->running.run);
    } else if (!http_stream_is_full(reply->stream)) {
        step_resume(step->running.run);
    }
}

void
step_text_go_on(StepCall *step)
{
    StepReply *reply = &step->reply;
    StepText *text = &reply->text;
    if (text->is_working) {
        return;
    }
    if (reply->stream == NULL) {
        drop_work(text);
    }
    if (has_work(text) && http_stream_is_full(reply->stream)) {
        return; /* until it has drained */
    }
    if (has_work(text)) {
        text->is_working = true;
        text->limit = text->added;
        if (!exchange_offload(step->exchange, turn_on_job, turn_is_done, step)) {
            turn_is_done(step->exchange, turn_on_job(step->call, NULL, step), step);
        }
        return;
    }
    if (reply->rested != NULL) {
        TAKE(reply->rested)(step);
    } else if (step->running.run != NULL) {
        step_text_match_pace(step);
        step_ask_outputs(step->running.run);
    }
}

void
step_text_begin(StepCall *step, size_t index, const Tensor *described)
{
    StepText *text = &step->reply.text;
    assert(text->dtype == DTYPE_INVALID && !text->is_working);

    text->dtype = described->dtype;
    step->reply.form->name(step, index);
    tensor_json_write_begin(&text->writer, described);
    step_text_send(step);
}

void
step_text_piece(StepCall *step, Slice elements)
{
    StepText *text = &step->reply.text;
    assert(text->dtype != DTYPE_INVALID && !text->is_working);

    buffer_append_slice(&text->block, elements);
    if (!buffer_is_ok(&text->block) && step->reply.stream != NULL) {
        http_stream_abort(step->reply.stream);
    }
    step_text_go_on(step);
}

void
step_text_close(StepCall *step)
{
    assert(!step->reply.text.is_working);

    step->reply.text.is_closing = true;
    step_text_go_on(step);
}

void
step_text_add(StepCall *step, size_t index)
{
    StepText *text = &step->reply.text;
    assert(text->added < step->body.fetch_count);

    text->indexes[text->added++] = index;
}

void
step_text_break(StepCall *step)
{
    StepText *text = &step->reply.text;
    assert(!text->is_working);

    drop_work(text);
    if (text->dtype != DTYPE_INVALID || text->is_named) {
        tensor_json_write_end(&text->writer);
        text->dtype = DTYPE_INVALID;
        text->is_named = false;
    }
}
