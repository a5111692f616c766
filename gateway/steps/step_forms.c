/* A streamed reply ends its exchange with the first output, while the step still runs. From then until the
 * reply's end a reference keeps the exchange, as its client may hang up in between: the stream's `closed`
 * event then cancels the step, whose end comes as usual. */
#include "gateway/steps/step_forms.h"

#include <assert.h>
#include <stdio.h>

#include "gateway/domain/step_state.h"
#include "gateway/http/headers.h"
#include "gateway/steps/step_json.h"
#include "gateway/steps/step_reply.h"
#include "gateway/steps/step_text.h"
#include "shared/base/random.h"
#include "shared/json/writer.h"
#include "shared/tensor/npy.h"
#include "shared/tensor/tensor_json.h"
#include "shared/wire/frame.h"
#include "shared/wire/messages.h"

enum {
    ELEMENTS_COPIED_MAX = 4096,       /* below, a copy is cheaper than a piece of its own */
    LOOP_OUTPUT_SIZE_MAX = 64 * 1024, /* more is written as text in turns */
    QUEUE_LOW = 32 * 1024,
    SIZE_ANNOUNCED_MAX = 256 * 1024,
    HELD_NS = 1000 * 1000, /* how long small outputs wait for others, or for the step's end */
};

void
step_write_outputs(JsonWriter *writer, const StepCall *step)
{
    json_write_name(writer, "outputs");
    json_write_object_begin(writer);
    for (size_t index = 0; index < step->body.fetch_count; index++) {
        json_write_name_slice(writer, step->body.fetches[index]);
        tensor_json_write(writer, &step->outputs[step->reply.fetches[index]]);
    }
    json_write_object_end(writer);
}

static void
write_error(JsonWriter *writer, const Failure *failure)
{
    json_write_name(writer, "error");
    json_write_object_begin(writer);
    json_member_string(writer, "code", status_name(failure->code));
    json_member_string(writer, "message", failure->message);
    if (failure->node[0] != '\0') {
        json_member_string(writer, "node", failure->node);
    }
    json_member_boolean(writer, "retryable", status_is_retryable(failure->code));
    json_write_object_end(writer);
}

static void
write_identity(JsonWriter *writer, const StepCall *step)
{
    char id[ID_TEXT_SIZE];
    char session[ID_TEXT_SIZE];
    id_to_text("stp", step->id.value, id);
    id_to_text("ses", step->session_id.value, session);
    json_write_object_begin(writer);
    json_member_string(writer, "id", id);
    json_member_string(writer, "session", session);
    json_member_string(writer, "graph", step->graph->id_text);
}

static void
write_ending(JsonWriter *writer, const StepReport *report)
{
    json_member_string(writer, "state", step_state_name(step_state_of(report->failure.code)));
    json_member_int64(writer, "attempts", report->attempt);
    step_write_report(writer, report);
    if (report->failure.code != STATUS_OK) {
        write_error(writer, &report->failure);
    }
}

void
step_write_result(Buffer *buffer, const StepCall *step, const StepReport *report, bool has_outputs)
{
    JsonWriter writer = json_writer(buffer);
    write_identity(&writer, step);
    write_ending(&writer, report);
    if (has_outputs) {
        step_write_outputs(&writer, step);
    }
    json_write_object_end(&writer);
}

static void
stream_drained(HttpStream *stream, void *owner)
{
    (void)stream;
    StepCall *step = owner;
    if (step_text_is_busy(step)) {
        step_text_go_on(step);
    } else {
        step_text_match_pace(step);
    }
}

static void
stream_closed(void *owner, bool is_complete)
{
    (void)is_complete;
    StepCall *step = owner;
    step->reply.stream = NULL;
    if (step->running.run != NULL) {
        step_cancel(step->running.run, "the client went away");
    }
    if (step_text_is_busy(step)) {
        step_text_go_on(step);
    }
}

/* Sends the head of a streamed reply, once; `size` as a Content-Length, or 0 for a chunked one. False when
 * there is nobody to write to: the step is being cancelled then. */
static bool
begin_stream(StepCall *step, const char *content_type, uint64_t size)
{
    static const HttpStreamEvents events = {.drained = stream_drained, .closed = stream_closed};
    if (step->reply.has_begun) {
        return step->reply.stream != NULL;
    }
    step->reply.stream = exchange_stream(step->exchange, content_type, &events, step);
    if (step->reply.stream == NULL) {
        stream_closed(step, false);
        return false;
    }
    step->reply.has_begun = true;
    http_stream_low(step->reply.stream, QUEUE_LOW);
    if (size > 0) {
        http_stream_size(step->reply.stream, size);
    }
    exchange_ref(step->exchange);
    exchange_finish(step->exchange);
    return true;
}

static void
elements_release(void *buffer)
{
    tensor_buffer_unref(buffer);
}

/* Sends the elements of a tensor from its own buffer; a few are copied. */
static void
send_elements(StepCall *step, const Tensor *tensor)
{
    Slice elements = slice_of(tensor->data, tensor_byte_size(tensor));
    if (elements.size <= ELEMENTS_COPIED_MAX) {
        (void)http_stream_copy(step->reply.stream, elements);
    } else {
        (void)http_stream_write(
            step->reply.stream, elements, elements_release, tensor_buffer_ref(tensor->buffer));
    }
}

/* Ends the stream of a failed reply without its last chunk, so that clients can tell whole and cut replies
 * apart. */
static void
stream_end(StepCall *step, const StepReport *report)
{
    if (report->failure.code == STATUS_OK) {
        http_stream_end(step->reply.stream);
    } else {
        http_stream_cut(step->reply.stream);
    }
}

static void
stream_finish(StepCall *step, const StepReport *report, Buffer *last)
{
    if (!http_stream_copy(step->reply.stream, buffer_slice(last)) || !buffer_is_ok(last)) {
        http_stream_abort(step->reply.stream);
    } else {
        stream_end(step, report);
    }
}

static void
head_send(StepCall *step, Buffer *head)
{
    if (!buffer_is_ok(head) || !http_stream_copy(step->reply.stream, buffer_slice(head))) {
        http_stream_abort(step->reply.stream);
    }
}

/* Sends a piece of an output's elements as it lies in memory and in a file or frame. */
static void
send_piece(StepCall *step, Slice bytes)
{
    (void)http_stream_copy(step->reply.stream, bytes);
}

static void
close_nothing(StepCall *step)
{
    (void)step;
}

/* Begins the outputs of an open object, with those that have come. */
static void
begin_outputs(StepCall *step)
{
    StepText *text = &step->reply.text;
    json_write_name(&text->writer, "outputs");
    json_write_object_begin(&text->writer);
    for (size_t index = 0; index < step->body.fetch_count; index++) {
        if (step->outputs[step->reply.fetches[index]].dtype != DTYPE_INVALID) {
            step_text_add(step, index);
        }
    }
}

/* Begins the document: all of it that does not depend on the step's end. */
static bool
json_begin(StepCall *step)
{
    StepText *text = &step->reply.text;
    if (step->reply.has_begun) {
        return step->reply.stream != NULL;
    }
    if (!begin_stream(step, "application/json", 0)) {
        return false;
    }
    write_identity(&text->writer, step);
    begin_outputs(step);
    return true;
}

static void
json_name(StepCall *step, size_t index)
{
    json_write_name_slice(&step->reply.text.writer, step->body.fetches[index]);
}

/* Keeps outputs while they are few: then the whole document is written at once, with its length. Those of an
 * answer that is kept behind a key are kept too. */
static void
json_output(StepCall *step, size_t index, const Tensor *tensor)
{
    StepReply *reply = &step->reply;
    if (!step_reply_keep(step, step->reply.fetches[index], tensor)) {
        return;
    }
    bool is_few = step->promise.key.text != NULL || step_outputs_size(step) <= LOOP_OUTPUT_SIZE_MAX ||
                  !step_has_run(step->running.run);
    if (reply->has_begun) {
        step_text_add(step, index);
    } else if (!is_few) {
        (void)json_begin(step);
    }
}

static bool
json_begin_output(StepCall *step, size_t index, const OutputHead *head)
{
    if (head->tensor->dtype == DTYPE_STRING || !json_begin(step)) {
        return false;
    }
    step_text_begin(step, index, head->tensor);
    return true;
}

static void
json_flush(StepCall *step)
{
    if (!step->reply.has_begun && step_outputs_size(step) > LOOP_OUTPUT_SIZE_MAX) {
        (void)json_begin(step);
    }
}

static void
json_end(StepCall *step, const StepReport *report)
{
    StepText *text = &step->reply.text;
    if (!step->reply.has_begun) {
        step_write_result(response_json(exchange_response(step->exchange)), step, report, true);
        exchange_finish(step->exchange);
        return;
    }
    step_text_break(step);
    json_write_object_end(&text->writer);
    write_ending(&text->writer, report);
    json_write_object_end(&text->writer);
    step_text_send(step);
    stream_end(step, report);
}

static const StepForm form_json = {
    .media_type = "application/json",
    .awaits_end = true,
    .output = json_output,
    .begin = json_begin_output,
    .piece = step_text_piece,
    .close = step_text_close,
    .name = json_name,
    .flush = json_flush,
    .end = json_end,
};

/* Writes the end of a document that has nothing behind its outputs. */
static void
end_outputs(StepCall *step)
{
    StepText *text = &step->reply.text;
    if (step->reply.stream != NULL) {
        json_write_object_end(&text->writer);
        json_write_object_end(&text->writer);
        step_text_send(step);
        http_stream_end(step->reply.stream);
    }
    exchange_unref(step->exchange);
}

static void
write_outputs_whole(StepCall *step, StepMembers write_members, const void *context)
{
    JsonWriter writer = json_writer(response_json(exchange_response(step->exchange)));
    json_write_object_begin(&writer);
    write_members(&writer, context);
    step_write_outputs(&writer, step);
    json_write_object_end(&writer);
    exchange_finish(step->exchange);
}

void
step_answer_outputs(StepCall *step, StepMembers write_members, const void *context)
{
    assert(step->exchange != NULL && step->running.run == NULL && step->reply.fetches != NULL);

    StepReply *reply = &step->reply;
    if (step_outputs_size(step) <= LOOP_OUTPUT_SIZE_MAX) {
        write_outputs_whole(step, write_members, context);
        return;
    }
    reply->form = &form_json;
    if (!step_text_open(step) || !begin_stream(step, form_json.media_type, 0)) {
        exchange_fail(step->exchange, call_fail_memory(step->call, "the outputs of a step"));
        return;
    }
    json_write_object_begin(&reply->text.writer);
    write_members(&reply->text.writer, context);
    begin_outputs(step);
    reply->rested = end_outputs;
    step_text_go_on(step);
}

/* Begins the reply with the file's header. Announces the length of a short one: libmicrohttpd sends a body of
 * known size slowly when it has many pieces (0.1 GB/s against 1.3 GB/s chunked, measured on 256 MiB over
 * loopback). */
static bool
npy_begin(StepCall *step, size_t index, const OutputHead *head)
{
    (void)index;
    AUTO_BUFFER header = {0};
    if (dtype_npy(head->tensor->dtype)[0] == '\0' ||
        npy_write_header(step->call, head->tensor, &header) != STATUS_OK) {
        return false;
    }
    uint64_t size = header.size + head->size;
    if (begin_stream(step, step->reply.form->media_type, size <= SIZE_ANNOUNCED_MAX ? size : 0)) {
        (void)http_stream_copy(step->reply.stream, buffer_slice(&header));
    }
    return true;
}

static void
npy_keep(StepCall *step, size_t index, const Tensor *tensor)
{
    (void)step_reply_keep(step, step->reply.fetches[index], tensor);
}

static void
npy_end(StepCall *step, const StepReport *report)
{
    const Tensor *tensor = &step->outputs[step->reply.fetches[0]];
    OutputHead head = {.tensor = tensor, .size = tensor_byte_size(tensor)};
    if (step->reply.has_begun) {
        stream_end(step, report);
    } else if (dtype_npy(tensor->dtype)[0] == '\0') {
        exchange_fail(step->exchange,
            response_fail(step->call, exchange_response(step->exchange), 406,
                "a .npy file cannot hold %s elements: accept application/json or multipart/mixed",
                dtype_name(tensor->dtype)));
    } else if (!npy_begin(step, 0, &head)) {
        exchange_fail(step->exchange, call_fail_memory(step->call, "a .npy header"));
    } else if (step->reply.stream != NULL) {
        send_elements(step, tensor);
        http_stream_end(step->reply.stream);
    }
}

static const StepForm form_npy = {
    .media_type = "application/x-npy",
    .awaits_end = true,
    .output = npy_keep,
    .begin = npy_begin,
    .piece = send_piece,
    .close = close_nothing,
    .end = npy_end,
};

enum { PARTS_TYPE_SIZE = 64 + STEP_BOUNDARY_SIZE };

/* Chooses the boundary of the reply, and writes the media type that names it. */
static void
choose_boundary(StepReply *reply, char ret_type[PARTS_TYPE_SIZE])
{
    (void)snprintf(reply->boundary, sizeof reply->boundary, "sluice-%016llx%016llx",
        (unsigned long long)random_uint64(), (unsigned long long)random_uint64());
    (void)snprintf(ret_type, PARTS_TYPE_SIZE, "multipart/mixed; boundary=%s", reply->boundary);
}

static bool
parts_begin(StepCall *step)
{
    char type[PARTS_TYPE_SIZE] = "";
    StepReply *reply = &step->reply;
    if (!reply->has_begun) {
        choose_boundary(reply, type);
    }
    return begin_stream(step, type, 0);
}

static void
part_begin(Buffer *head, StepReply *reply, const char *media_type)
{
    buffer_append_format(
        head, "%s--%s\r\nContent-Type: %s\r\n", reply->has_parts ? "\r\n" : "", reply->boundary, media_type);
    reply->has_parts = true;
}

/* Writes the name as a quoted-string (RFC 9110 5.6.4); control characters, which it cannot hold, become
 * '_'. */
static void
disposition_write(Buffer *head, Slice name)
{
    buffer_append_string(head, "Content-Disposition: attachment; name=\"");
    for (size_t index = 0; index < name.size; index++) {
        unsigned char byte = (unsigned char)name.data[index];
        if (byte == '"' || byte == '\\') {
            buffer_append_byte(head, '\\');
        }
        buffer_append_byte(head, byte < ' ' || byte == 127 ? '_' : (char)byte);
    }
    buffer_append_string(head, "\"\r\n");
}

static void
part_write_npy(Buffer *lines, StepCall *step, size_t index, const OutputHead *head)
{
    AUTO_BUFFER header = {0};
    Status status = npy_write_header(step->call, head->tensor, &header);
    part_begin(lines, &step->reply, "application/x-npy");
    disposition_write(lines, step->body.fetches[index]);
    buffer_append_format(lines, "Content-Length: %llu\r\n\r\n", (unsigned long long)header.size + head->size);
    buffer_append_slice(lines, buffer_slice(&header));
    lines->has_failed = lines->has_failed || status != STATUS_OK;
}

static bool
part_begin_npy(StepCall *step, size_t index, const OutputHead *head)
{
    AUTO_BUFFER lines = {0};
    part_write_npy(&lines, step, index, head);
    head_send(step, &lines);
    return true;
}

/* Begins a part that is written as text. */
static void
parts_name(StepCall *step, size_t index)
{
    StepText *text = &step->reply.text;
    text->writer = json_writer(&text->text);
    part_begin(&text->text, &step->reply, "application/json");
    disposition_write(&text->text, step->body.fetches[index]);
    buffer_append_string(&text->text, "\r\n");
}

static bool
has_npy(const Tensor *tensor)
{
    return dtype_npy(tensor->dtype)[0] != '\0';
}

/* Sends the outputs that are held, and holds none from then on. */
static void
release_held(StepCall *step)
{
    if (!TAKE(step->reply.holds)) {
        return;
    }
    timer_clear(step->loop->loop, &step->reply.held);
    bool is_open = parts_begin(step);
    for (size_t index = 0; index < step->body.fetch_count && is_open; index++) {
        const Tensor *tensor = &step->outputs[step->reply.fetches[index]];
        OutputHead head = {.tensor = tensor, .size = tensor_byte_size(tensor)};
        if (tensor->dtype != DTYPE_INVALID) {
            (void)part_begin_npy(step, index, &head);
            send_elements(step, tensor);
        }
    }
    for (size_t index = 0; index < step->body.fetch_count; index++) {
        tensor_unref(&step->outputs[step->reply.fetches[index]]);
    }
}

static void
held_too_long(Timer *timer)
{
    StepReply *reply = LIST_ITEM(timer, StepReply, held);
    release_held(LIST_ITEM(reply, StepCall, reply));
}

/* Holds small outputs for a moment: a step that ends meanwhile is answered at once, with its length. */
static bool
hold_output(StepCall *step, size_t index, const Tensor *tensor)
{
    StepReply *reply = &step->reply;
    bool is_held = reply->holds && step->outputs[reply->fetches[index]].dtype != DTYPE_INVALID;
    bool is_few = step_outputs_size(step) + tensor_byte_size(tensor) <= LOOP_OUTPUT_SIZE_MAX;
    if (reply->has_begun || !has_npy(tensor) || (!is_held && !is_few)) {
        return false;
    }
    if (!reply->holds) {
        reply->holds = true;
        reply->held.fire = held_too_long;
        timer_set(step->loop->loop, &reply->held, loop_now_ns(step->loop->loop) + HELD_NS);
    }
    return step_reply_keep(step, reply->fetches[index], tensor);
}

static bool
parts_begin_output(StepCall *step, size_t index, const OutputHead *head)
{
    if (head->tensor->dtype == DTYPE_STRING) {
        return false;
    }
    release_held(step);
    if (!parts_begin(step)) {
        return true; /* nobody reads */
    }
    if (has_npy(head->tensor)) {
        return part_begin_npy(step, index, head);
    }
    step_text_begin(step, index, head->tensor);
    return true;
}

static void
parts_piece(StepCall *step, Slice bytes)
{
    (step->reply.text.dtype == DTYPE_INVALID ? send_piece : step_text_piece)(step, bytes);
}

static void
parts_close(StepCall *step)
{
    if (step->reply.text.dtype != DTYPE_INVALID) {
        step_text_close(step);
    }
}

static void
parts_output(StepCall *step, size_t index, const Tensor *tensor)
{
    OutputHead head = {.tensor = tensor, .size = tensor_byte_size(tensor)};
    if (hold_output(step, index, tensor)) {
        return;
    }
    release_held(step);
    if (!parts_begin(step)) {
        return;
    }
    if (has_npy(tensor)) {
        (void)part_begin_npy(step, index, &head);
        send_elements(step, tensor);
    } else if (step_reply_keep(step, step->reply.fetches[index], tensor)) {
        step_text_add(step, index);
    }
}

static void
parts_write_last(Buffer *last, StepCall *step, const StepReport *report)
{
    part_begin(last, &step->reply, "application/json");
    buffer_append_string(last, "\r\n");
    step_write_result(last, step, report, false);
    buffer_append_format(last, "\r\n--%s--\r\n", step->reply.boundary);
}

/* Writes the whole reply of a step whose outputs were few and came together. */
static void
parts_end_whole(StepCall *step, const StepReport *report)
{
    char type[PARTS_TYPE_SIZE];
    choose_boundary(&step->reply, type);
    Response *response = exchange_response(step->exchange);
    Buffer *body = response_body(response, "multipart/mixed");
    response_header(response, "Content-Type", type);
    for (size_t index = 0; index < step->body.fetch_count; index++) {
        const Tensor *tensor = &step->outputs[step->reply.fetches[index]];
        OutputHead head = {.tensor = tensor, .size = tensor_byte_size(tensor)};
        if (tensor->dtype != DTYPE_INVALID) {
            part_write_npy(body, step, index, &head);
            buffer_append_slice(body, slice_of(tensor->data, head.size));
        }
    }
    parts_write_last(body, step, report);
    exchange_finish(step->exchange);
}

static void
parts_end(StepCall *step, const StepReport *report)
{
    AUTO_BUFFER last = {0};
    if (!step->reply.has_begun) {
        parts_end_whole(step, report);
        return;
    }
    step_text_break(step);
    step_text_send(step);
    parts_write_last(&last, step, report);
    stream_finish(step, report, &last);
}

static const StepForm form_multipart = {
    .media_type = "multipart/mixed",
    .output = parts_output,
    .begin = parts_begin_output,
    .piece = parts_piece,
    .close = parts_close,
    .name = parts_name,
    .release = release_held,
    .end = parts_end,
};

static bool
frames_begin_output(StepCall *step, size_t index, const OutputHead *head)
{
    AUTO_BUFFER lines = {0};
    if (begin_stream(step, WIRE_CONTENT_TYPE_FRAMES, 0)) {
        frame_write_head(&lines, step->body.fetches[index], head->tensor, head->size);
        step->reply.padding = frame_padding(head->size);
        head_send(step, &lines);
    }
    return true;
}

static void
frames_close(StepCall *step)
{
    (void)http_stream_copy(step->reply.stream, slice_of("\0\0\0\0\0\0\0", step->reply.padding));
}

static void
frames_output(StepCall *step, size_t index, const Tensor *tensor)
{
    AUTO_BUFFER head = {0};
    if (!begin_stream(step, WIRE_CONTENT_TYPE_FRAMES, 0)) {
        return;
    }
    frame_write_tensor_head(&head, step->body.fetches[index], tensor);
    head_send(step, &head);
    size_t payload_size = frame_tensor_payload(tensor).size;
    if (payload_size > 0) {
        send_elements(step, tensor);
        (void)http_stream_copy(step->reply.stream, slice_of("\0\0\0\0\0\0\0", frame_padding(payload_size)));
    }
}

static void
frames_end(StepCall *step, const StepReport *report)
{
    AUTO_BUFFER json = {0};
    AUTO_BUFFER last = {0};
    WireStatus status = {
        .failure = report->failure,
    };
    if (!begin_stream(step, WIRE_CONTENT_TYPE_FRAMES, 0)) {
        return;
    }
    wire_status_write(&json, &status);
    frame_write_json(&last, FRAME_STATUS, buffer_slice(&json));
    last.has_failed = last.has_failed || !buffer_is_ok(&json);
    stream_finish(step, report, &last);
}

static const StepForm form_frames = {
    .media_type = WIRE_CONTENT_TYPE_FRAMES,
    .output = frames_output,
    .begin = frames_begin_output,
    .piece = send_piece,
    .close = frames_close,
    .end = frames_end,
};

/* JSON is the one that needs no agreement; .npy, the last, holds one output only. */
enum { STEP_FORM_JSON, STEP_FORM_MULTIPART, STEP_FORM_FRAMES, STEP_FORM_NPY, STEP_FORM_COUNT };

static const StepForm *const step_forms[STEP_FORM_COUNT] = {
    [STEP_FORM_JSON] = &form_json,
    [STEP_FORM_MULTIPART] = &form_multipart,
    [STEP_FORM_FRAMES] = &form_frames,
    [STEP_FORM_NPY] = &form_npy,
};

static Status
fetches_find(StepCall *step)
{
    uint32_t *fetches = arena_alloc(step->call->arena, (step->body.fetch_count + 1) * sizeof *fetches);
    if (fetches == NULL) {
        return call_fail_memory(step->call, "the fetches of a step");
    }
    for (size_t index = 0; index < step->body.fetch_count; index++) {
        size_t fetch = 0;
        if (!signature_find_fetch(&step->signature, step->body.fetches[index], &fetch)) {
            return call_fail(step->call, STATUS_INTERNAL, "a fetch is missing from its own signature");
        }
        fetches[index] = (uint32_t)fetch;
    }
    step->reply.fetches = fetches;
    return step_text_open(step) ? STATUS_OK : call_fail_memory(step->call, "the reply to a step");
}

Status
step_form_choose(StepCall *step)
{
    assert(step->exchange != NULL && step->plan != NULL);

    const char *offers[STEP_FORM_COUNT];
    bool is_single = step->body.fetch_count == 1;
    int offer_count = is_single ? STEP_FORM_COUNT : STEP_FORM_NPY;
    for (int index = 0; index < offer_count; index++) {
        offers[index] = step_forms[index]->media_type;
    }
    Response *response = exchange_response(step->exchange);
    Slice accept = request_header(exchange_request(step->exchange), "Accept");
    int choice = accept_choose(accept, offers, offer_count);
    response_vary(response, "Accept");
    if (choice < 0) {
        return response_fail(step->call, response, 406,
            "none of the accepted forms '%.*s' can be given: application/json, multipart/mixed and "
            "application/vnd.sluice.frames can, and application/x-npy of one fetch",
            SLICE_PRINT(slice_part(accept, 0, 128)));
    }
    /* An idempotency key needs an answer that can be kept: JSON. */
    step->reply.form = step->promise.key.text == NULL ? step_forms[choice] : step_forms[STEP_FORM_JSON];
    return fetches_find(step);
}
