/* A streamed reply ends its exchange with the first output, while the step still runs. From then until
 * step_reply_end() a reference keeps the exchange, as its client may hang up in between: the stream's
 * `closed` event then cancels the step, whose end comes as usual. */
#include "gateway/steps/step_forms.h"

#include <assert.h>
#include <stdio.h>

#include "gateway/domain/step_state.h"
#include "gateway/steps/step_json.h"
#include "shared/base/random.h"
#include "shared/json/writer.h"
#include "shared/tensor/npy.h"
#include "shared/tensor/tensor_json.h"
#include "shared/wire/frame.h"
#include "shared/wire/messages.h"

enum {
    ELEMENTS_COPIED_MAX = 4096,       /* below, a copy is cheaper than a piece of its own */
    LOOP_OUTPUT_SIZE_MAX = 64 * 1024, /* more is written as text on a job thread */
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

void
step_write_result(Buffer *buffer, const StepCall *step, const StepReport *report, bool has_outputs)
{
    char id[ID_TEXT_SIZE];
    char session[ID_TEXT_SIZE];
    id_to_text("stp", step->id.value, id);
    id_to_text("ses", step->session_id.value, session);
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    json_member_string(&writer, "id", id);
    json_member_string(&writer, "session", session);
    json_member_string(&writer, "graph", step->graph->id_text);
    json_member_string(&writer, "state", step_state_name(step_state_of(report->failure.code)));
    json_member_int64(&writer, "attempts", report->attempt);
    step_write_report(&writer, report);
    if (report->failure.code != STATUS_OK) {
        write_error(&writer, &report->failure);
    }
    if (has_outputs) {
        step_write_outputs(&writer, step);
    }
    json_write_object_end(&writer);
}

size_t
step_outputs_size(const StepCall *step)
{
    size_t size = 0;
    for (size_t fetch = 0; step->outputs != NULL && fetch < step->plan->fetch_count; fetch++) {
        size += tensor_byte_size(&step->outputs[fetch]);
    }
    return size;
}

static Status
json_write(Call *call, JobContext *job_context, void *owner)
{
    (void)call;
    (void)job_context;
    StepCall *step = owner;
    step_write_result(response_json(exchange_response(step->exchange)), step, &step->reply.report, true);
    return STATUS_OK;
}

static void
json_written(Exchange *exchange, Status status, void *owner)
{
    (void)status;
    (void)owner;
    exchange_finish(exchange);
}

static void
json_end(StepCall *step, const StepReport *report)
{
    step_call_keep_report(step, report);
    if (step_outputs_size(step) <= LOOP_OUTPUT_SIZE_MAX ||
        !exchange_offload(step->exchange, json_write, json_written, step)) {
        json_written(step->exchange, json_write(step->call, NULL, step), step);
    }
}

static const StepForm form_json = {.media_type = "application/json", .end = json_end};

static void
stream_drained(HttpStream *stream, void *owner)
{
    (void)stream;
    StepCall *step = owner;
    if (step->running.run != NULL) {
        step_resume(step->running.run);
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

/* Returns the Content-Length to announce, or 0 for a chunked reply: libmicrohttpd sends a body of known size
 * slowly when it has many pieces (0.1 GB/s against 1.3 GB/s chunked, measured on 256 MiB over loopback). */
static uint64_t
announced_size(const Buffer *header, const Tensor *tensor)
{
    uint64_t size = header->size + tensor_byte_size(tensor);
    return size <= HTTP_STREAM_LOW ? size : 0;
}

static void
npy_end(StepCall *step, const StepReport *report)
{
    (void)report;
    AUTO_BUFFER header = {0};
    const Tensor *tensor = &step->outputs[step->reply.fetches[0]];
    if (dtype_npy(tensor->dtype)[0] == '\0') {
        exchange_fail(step->exchange,
            response_fail(step->call, exchange_response(step->exchange), 406,
                "a .npy file cannot hold %s elements: accept application/json or multipart/mixed",
                dtype_name(tensor->dtype)));
        return;
    }
    Status status = npy_write_header(step->call, tensor, &header);
    if (status != STATUS_OK) {
        exchange_fail(step->exchange, status);
    } else if (begin_stream(step, step->reply.form->media_type, announced_size(&header, tensor))) {
        (void)http_stream_copy(step->reply.stream, buffer_slice(&header));
        send_elements(step, tensor);
        http_stream_end(step->reply.stream);
    }
}

static const StepForm form_npy = {.media_type = "application/x-npy", .end = npy_end};

/* Ends the stream of a failed reply without its last chunk, so that clients can tell whole and cut replies
 * apart. */
static void
stream_finish(StepCall *step, const StepReport *report, Buffer *last)
{
    if (!http_stream_copy(step->reply.stream, buffer_slice(last)) || !buffer_is_ok(last)) {
        http_stream_abort(step->reply.stream);
    } else if (report->failure.code == STATUS_OK) {
        http_stream_end(step->reply.stream);
    } else {
        http_stream_cut(step->reply.stream);
    }
}

static void
head_send(StepCall *step, Buffer *head)
{
    if (!buffer_is_ok(head) || !http_stream_copy(step->reply.stream, buffer_slice(head))) {
        http_stream_abort(step->reply.stream);
    }
}

static bool
parts_begin(StepCall *step)
{
    char type[64 + STEP_BOUNDARY_SIZE] = "";
    StepReply *reply = &step->reply;
    if (!reply->has_begun) {
        (void)snprintf(reply->boundary, sizeof reply->boundary, "sluice-%016llx%016llx",
            (unsigned long long)random_uint64(), (unsigned long long)random_uint64());
        (void)snprintf(type, sizeof type, "multipart/mixed; boundary=%s", reply->boundary);
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
part_send_npy(StepCall *step, Slice name, const Tensor *tensor)
{
    AUTO_BUFFER head = {0};
    AUTO_BUFFER header = {0};
    Status status = npy_write_header(step->call, tensor, &header);
    part_begin(&head, &step->reply, "application/x-npy");
    disposition_write(&head, name);
    buffer_append_format(&head, "Content-Length: %zu\r\n\r\n", header.size + tensor_byte_size(tensor));
    buffer_append_slice(&head, buffer_slice(&header));
    head.has_failed = head.has_failed || status != STATUS_OK;
    head_send(step, &head);
    send_elements(step, tensor);
}

static void
part_send_json(StepCall *step, Slice name, const Tensor *tensor)
{
    AUTO_BUFFER part = {0};
    part_begin(&part, &step->reply, "application/json");
    disposition_write(&part, name);
    buffer_append_string(&part, "\r\n");
    JsonWriter writer = json_writer(&part);
    tensor_json_write(&writer, tensor);
    head_send(step, &part);
}

static void
parts_output(StepCall *step, Slice name, const Tensor *tensor)
{
    if (!parts_begin(step)) {
        return;
    }
    bool has_npy = dtype_npy(tensor->dtype)[0] != '\0';
    (has_npy ? part_send_npy : part_send_json)(step, name, tensor);
}

static void
parts_end(StepCall *step, const StepReport *report)
{
    AUTO_BUFFER last = {0};
    if (!parts_begin(step)) {
        return;
    }
    part_begin(&last, &step->reply, "application/json");
    buffer_append_string(&last, "\r\n");
    step_write_result(&last, step, report, false);
    buffer_append_format(&last, "\r\n--%s--\r\n", step->reply.boundary);
    stream_finish(step, report, &last);
}

static const StepForm form_multipart = {
    .media_type = "multipart/mixed", .output = parts_output, .end = parts_end};

static void
frames_output(StepCall *step, Slice name, const Tensor *tensor)
{
    AUTO_BUFFER head = {0};
    if (!begin_stream(step, WIRE_CONTENT_TYPE_FRAMES, 0)) {
        return;
    }
    frame_write_tensor_head(&head, name, tensor);
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
    .media_type = WIRE_CONTENT_TYPE_FRAMES, .output = frames_output, .end = frames_end};

const StepForm *const step_forms[STEP_FORM_COUNT] = {
    [STEP_FORM_JSON] = &form_json,
    [STEP_FORM_MULTIPART] = &form_multipart,
    [STEP_FORM_FRAMES] = &form_frames,
    [STEP_FORM_NPY] = &form_npy,
};
