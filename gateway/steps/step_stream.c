/* The streamed forms of a step's reply: multipart/mixed and frames. */
#include <stdio.h>

#include "gateway/steps/step_call.h"
#include "gateway/steps/step_reply.h"
#include "shared/base/random.h"
#include "shared/json/writer.h"
#include "shared/tensor/npy.h"
#include "shared/tensor/tensor_json.h"
#include "shared/wire/frame.h"
#include "shared/wire/messages.h"

/* A reply that failed ends without its last chunk: whole and cut ones can be told apart. */
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
    StepReply *const reply = &step->reply;
    if (!reply->has_begun) {
        (void)snprintf(reply->boundary, sizeof reply->boundary, "sluice-%016llx%016llx",
            (unsigned long long)random_uint64(), (unsigned long long)random_uint64());
        (void)snprintf(type, sizeof type, "multipart/mixed; boundary=%s", reply->boundary);
    }
    return step_reply_begin(step, type, 0);
}

static void
part_begin(Buffer *head, StepReply *reply, const char *media_type)
{
    buffer_append_format(
        head, "%s--%s\r\nContent-Type: %s\r\n", reply->has_parts ? "\r\n" : "", reply->boundary, media_type);
    reply->has_parts = true;
}

/* A quoted-string (RFC 9110 5.6.4), which has no place for control characters. */
static void
disposition_write(Buffer *head, Slice name)
{
    buffer_append_string(head, "Content-Disposition: attachment; name=\"");
    for (size_t index = 0; index < name.size; index++) {
        const unsigned char byte = (unsigned char)name.data[index];
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
    const Status status = npy_write_header(step->call, tensor, &header);
    part_begin(&head, &step->reply, "application/x-npy");
    disposition_write(&head, name);
    buffer_append_format(&head, "Content-Length: %zu\r\n\r\n", header.size + tensor_byte_size(tensor));
    buffer_append_slice(&head, buffer_slice(&header));
    head.has_failed = head.has_failed || status != STATUS_OK;
    head_send(step, &head);
    step_reply_send_elements(step, tensor);
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
    const bool has_npy = dtype_npy(tensor->dtype)[0] != '\0';
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
    step_reply_write_step(&last, step, report, false);
    buffer_append_format(&last, "\r\n--%s--\r\n", step->reply.boundary);
    stream_finish(step, report, &last);
}

const StepForm step_form_multipart = {
    .media_type = "multipart/mixed", .output = parts_output, .end = parts_end};

static void
frames_output(StepCall *step, Slice name, const Tensor *tensor)
{
    AUTO_BUFFER head = {0};
    if (!step_reply_begin(step, WIRE_CONTENT_TYPE_FRAMES, 0)) {
        return;
    }
    frame_write_tensor_head(&head, name, tensor);
    head_send(step, &head);
    const size_t payload_size = frame_tensor_payload(tensor).size;
    if (payload_size > 0) {
        step_reply_send_elements(step, tensor);
        (void)http_stream_copy(step->reply.stream, slice_of("\0\0\0\0\0\0\0", frame_padding(payload_size)));
    }
}

static void
frames_end(StepCall *step, const StepReport *report)
{
    AUTO_BUFFER json = {0};
    AUTO_BUFFER last = {0};
    const WireStatus status = {
        .failure = report->failure,
    };
    if (!step_reply_begin(step, WIRE_CONTENT_TYPE_FRAMES, 0)) {
        return;
    }
    wire_status_write(&json, &status);
    frame_write_json(&last, FRAME_STATUS, buffer_slice(&json));
    last.has_failed = last.has_failed || !buffer_is_ok(&json);
    stream_finish(step, report, &last);
}

const StepForm step_form_frames = {
    .media_type = WIRE_CONTENT_TYPE_FRAMES, .output = frames_output, .end = frames_end};
