#include "shared/upstream/tensor_stream.h"
#include "worker/serve/worker.h"

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
        request->is_over = true;
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
    worker_answer_json(request, status_http_code(status->failure.code), buffer_slice(&json));
}

void
worker_refuse(WorkerRequest *request, const Call *call)
{
    if (request->is_over || request->stream == NULL) {
        return;
    }
    if (request->is_answered) {
        /* The headers of the answer are out: nothing else can report the failure. */
        h2_stream_reset(request->stream, STATUS_INTERNAL);
        return;
    }
    WireStatus refusal = {
        .failure = failure_of_call(call, (Slice){0}),
        .incarnation = slice_from_string(request->worker->incarnation),
    };
    worker_answer_status(request, &refusal);
}

void
worker_refuse_coming(WorkerRequest *request)
{
    WireStatus status = {
        .failure = failure_of(STATUS_ABORTED, (Slice){0}, "blob %.*s is just coming from somebody else",
            SLICE_PRINT(request->parameters[0])),
        .reason = SLICE(WIRE_REASON_BLOB_IS_COMING),
    };
    worker_answer_status(request, &status);
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

void
worker_frames_tensor(WorkerRequest *request, Slice name, const Tensor *tensor)
{
    if (request->stream != NULL) {
        stream_write_tensor(request->stream, name, tensor);
    }
}

void
worker_frames_end(WorkerRequest *request)
{
    request->is_over = true;
    if (request->stream != NULL) {
        h2_stream_end(request->stream);
    }
}
