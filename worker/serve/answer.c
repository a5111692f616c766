#include "worker/serve/server.h"

static void
answer_begin(WorkerRequest *request, int http_status, const char *content_type, bool is_last)
{
    const H2Header headers[] = {{SLICE("content-type"), slice_from_string(content_type)}};
    request->is_answered = true;
    h2_respond(request->stream, http_status, headers, COUNT_OF(headers), is_last);
}

static void
answer_whole(WorkerRequest *request, int http_status, const char *content_type, Slice body)
{
    if (request->stream != NULL) {
        answer_begin(request, http_status, content_type, false);
        (void)h2_stream_write_copy(request->stream, body);
        h2_stream_end(request->stream);
    }
}

void
worker_answer_json(WorkerRequest *request, int http_status, Slice json)
{
    answer_whole(request, http_status, "application/json", json);
}

void
worker_answer_text(WorkerRequest *request, Slice text)
{
    answer_whole(request, 200, "text/plain; version=0.0.4; charset=utf-8", text);
}

void
worker_answer_status(WorkerRequest *request, const WireStatus *status)
{
    AUTO_BUFFER json = {0};
    wire_status_write(&json, status);
    worker_answer_json(request, status_http_code(status->code), buffer_slice(&json));
}

void
worker_frames_begin(WorkerRequest *request)
{
    if (request->stream != NULL && !request->is_answered) {
        answer_begin(request, 200, WIRE_CONTENT_TYPE_FRAMES, false);
    }
}

void
worker_frames_write(WorkerRequest *request, Slice bytes)
{
    if (request->stream != NULL) {
        (void)h2_stream_write_copy(request->stream, bytes);
    }
}

static void
release_buffer(void *owner)
{
    tensor_buffer_unref(owner);
}

void
worker_frames_tensor(WorkerRequest *request, Slice name, const Tensor *tensor)
{
    /* Below this a copy beside the frame's head is cheaper than an entry of its own in the write vector. */
    enum { COPY_SIZE_MAX = 4096 };
    if (request->stream == NULL) {
        return;
    }
    AUTO_BUFFER head = {0};
    frame_write_tensor_head(&head, name, tensor);
    const Slice payload = frame_tensor_payload(tensor);
    const Slice padding = slice_of("\0\0\0\0\0\0\0", frame_padding(payload.size));
    if (payload.size <= COPY_SIZE_MAX) {
        buffer_append_slice(&head, payload);
        buffer_append_slice(&head, padding);
        worker_frames_write(request, buffer_slice(&head));
        return;
    }
    worker_frames_write(request, buffer_slice(&head));
    (void)h2_stream_write(request->stream, payload, release_buffer, tensor_buffer_ref(tensor->buffer));
    worker_frames_write(request, padding);
}

void
worker_frames_end(WorkerRequest *request)
{
    if (request->stream != NULL) {
        h2_stream_end(request->stream);
    }
}
