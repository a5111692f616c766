/* Happy path: the headers are in → version, credential and incarnation are checked and the method is found
 * → the method's begin/frame/data/finish run as the body comes in → the stream closes and the request is
 * freed.
 *
 * Failures: an unknown method is 404, a wrong credential 401, a caller without a common version 400, a
 * mismatched incarnation 409 (ABORTED, with ours); a body that cannot be read ends the request with its
 * Status. */
#include "worker/serve/request.h"

#include <stdio.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/text.h"
#include "shared/crypto/digest.h"
#include "worker/runtime/device_memory.h"
#include "worker/serve/route.h"

enum { SPARE_REQUESTS_MAX = 256 };

static void
request_free(WorkerRequest *request)
{
    frame_reader_free(request->reader);
    buffer_done(&request->body);
    arena_free(request->call.arena);
    memory_free(request);
}

/* Ends a request and keeps its memory for the next one. */
static void
request_end(WorkerRequest *request)
{
    WorkerLoop *loop = request->loop;
    list_remove(&request->link);
    loop->request_count--;
    if (loop->spare_count == SPARE_REQUESTS_MAX) {
        request_free(request);
        return;
    }
    frame_reader_end(request->reader);
    buffer_done(&request->body);
    arena_clear(request->call.arena);
    list_append(&loop->spare_requests, &request->link);
    loop->spare_count++;
}

/* Returns a spare or new request, which has an arena, and if it is a spare one perhaps a reader. NULL
 * without memory. */
static WorkerRequest *
request_take(WorkerLoop *loop)
{
    if (loop->spare_count > 0) {
        WorkerRequest *spare = LIST_ITEM(loop->spare_requests.next, WorkerRequest, link);
        list_remove(&spare->link);
        loop->spare_count--;
        return spare;
    }
    WorkerRequest *request = memory_new(1, sizeof *request);
    Arena *arena = arena_new(WORKER_ARENA_SIZE_MAX);
    if (request == NULL || arena == NULL) {
        memory_free(request);
        arena_free(arena);
        return NULL;
    }
    request->call.arena = arena;
    return request;
}

void
request_free_spares(WorkerLoop *loop)
{
    while (loop->spare_count > 0) {
        request_free(request_take(loop));
    }
}

static Slice
header_find(const H2Header *headers, size_t count, const char *name)
{
    for (size_t index = 0; index < count; index++) {
        if (slice_equals_string(headers[index].name, name)) {
            return headers[index].value;
        }
    }
    return slice_of(NULL, 0);
}

static Status
check_credential(Call *call, const Worker *worker, Slice token)
{
    if (worker->options.token == NULL) {
        return STATUS_OK;
    }
    if (!constant_time_equal(token, slice_from_string(worker->options.token))) {
        return call_fail(
            call, STATUS_UNAUTHENTICATED, "the header '" WIRE_HEADER_TOKEN "' is missing or wrong");
    }
    return STATUS_OK;
}

static Status
check_incarnation(Call *call, const Worker *worker, Slice incarnation)
{
    if (incarnation.size == 0 || slice_equals_string(incarnation, worker->incarnation)) {
        return STATUS_OK;
    }
    return call_fail(call, STATUS_ABORTED, "this worker is incarnation %s, not %.*s: it has restarted",
        worker->incarnation, SLICE_PRINT(incarnation));
}

/* Reads which versions of the protocol the caller speaks; one that does not say so speaks what it asks. */
static Status
read_versions(WorkerRequest *request, const H2Header *headers, size_t count)
{
    Slice versions = header_find(headers, count, WIRE_HEADER_VERSIONS);
    versions = versions.size == 0 ? header_find(headers, count, WIRE_HEADER_VERSION) : versions;
    request->versions = request->worker->options.versions;
    return versions.size == 0 ? STATUS_OK : wire_versions_read(&request->call, versions, &request->versions);
}

/* Refuses a caller that speaks no version of this worker's, unless it asks who this is. */
static Status
check_versions(WorkerRequest *request)
{
    WireVersions own = request->worker->options.versions;
    WireVersions other = request->versions;
    if (wire_versions_agree(own, other) != 0 || request->method->suits_all_versions) {
        return STATUS_OK;
    }
    return call_fail(&request->call, STATUS_FAILED_PRECONDITION,
        "worker '%s' speaks versions %lld to %lld of the worker protocol, the caller %lld to "
        "%lld: " WIRE_VERSIONS_ADVICE,
        request->worker->name, (long long)own.oldest, (long long)own.newest, (long long)other.oldest,
        (long long)other.newest);
}

/* Reads a header whose value is a number up to `maximum`. An absent header leaves *ret_number unchanged. */
static Status
read_number(Call *call, Slice text, const char *name, uint64_t maximum, uint64_t *ret_number)
{
    uint64_t number = 0;
    if (text.size == 0) {
        return STATUS_OK;
    }
    if (!slice_to_uint64(text, &number) || number > maximum) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'%s' must be a number up to %llu, not '%.*s'", name,
            (unsigned long long)maximum, SLICE_PRINT(text));
    }
    *ret_number = number;
    return STATUS_OK;
}

static Status
copy_header(Call *call, Slice value, Slice *ret_copy)
{
    const char *copy = text_copy(call->arena, value);
    if (copy == NULL) {
        return call_fail_memory(call, "a request's headers");
    }
    *ret_copy = slice_of(copy, value.size);
    return STATUS_OK;
}

static Status
request_read_head(WorkerRequest *request, const H2Header *headers, size_t count)
{
    Call *call = &request->call;
    uint64_t deadline_ms = 0;
    uint64_t attempt = 0;
    uint64_t slot = 0;
    TRY(read_versions(request, headers, count));
    TRY(check_credential(call, request->worker, header_find(headers, count, WIRE_HEADER_TOKEN)));
    TRY(check_incarnation(call, request->worker, header_find(headers, count, WIRE_HEADER_INCARNATION)));
    TRY(read_number(call, header_find(headers, count, WIRE_HEADER_DEADLINE), WIRE_HEADER_DEADLINE, UINT32_MAX,
        &deadline_ms));
    TRY(read_number(
        call, header_find(headers, count, WIRE_HEADER_ATTEMPT), WIRE_HEADER_ATTEMPT, INT32_MAX, &attempt));
    TRY(read_number(
        call, header_find(headers, count, WIRE_HEADER_SLOT), WIRE_HEADER_SLOT, SLOT_COUNT_MAX - 1, &slot));
    TRY(read_number(call, header_find(headers, count, "content-length"), "content-length", INT64_MAX,
        &request->body_size));
    TRY(copy_header(call, header_find(headers, count, WIRE_HEADER_PUSH_TOKEN), &request->push_token));
    TRY(copy_header(call, header_find(headers, count, WIRE_HEADER_NAME_TAKEN), &request->name_taken));
    TRY(copy_header(call, header_find(headers, count, WIRE_HEADER_TENANT), &request->tenant));
    if (deadline_ms > 0) {
        call->deadline_ns = loop_now_ns(request->loop->loop) + deadline_ms * CLOCK_NS_PER_MS;
    }
    request->attempt = (int64_t)attempt;
    request->slot = (int64_t)slot;
    (void)snprintf(call->request_id, sizeof call->request_id, "%.*s",
        SLICE_PRINT(header_find(headers, count, WIRE_HEADER_REQUEST_ID)));
    return STATUS_OK;
}

static Status
request_find_method(WorkerRequest *request, const H2Header *headers, size_t count)
{
    /* The headers are valid only in this callback, but the parameters point into the path. */
    Slice path = {0};
    Slice verb = header_find(headers, count, ":method");
    TRY(copy_header(&request->call, header_find(headers, count, ":path"), &path));
    request->method = route_find(verb, path, request->parameters);
    if (request->method == NULL) {
        return call_fail(&request->call, STATUS_NOT_FOUND, "there is no method %.*s %.*s", SLICE_PRINT(verb),
            SLICE_PRINT(path));
    }
    return STATUS_OK;
}

static TensorBuffer *
allocate_on_device(void *context, size_t size)
{
    Worker *worker = context;
    return device_allocate(worker->device, size, NULL);
}

FrameLimits
request_frame_limits(Worker *worker, size_t tensor_size_max)
{
    size_t worker_max = worker->options.tensor_size_max;
    bool is_narrower = tensor_size_max != 0 && tensor_size_max < worker_max;
    return (FrameLimits){
        .tensor_size_max = is_narrower ? tensor_size_max : worker_max,
        .allocate = allocate_on_device,
        .allocate_context = worker,
    };
}

static Status
request_open_frames(WorkerRequest *request)
{
    FrameLimits limits = request_frame_limits(request->worker, request->method->body_size_max);
    request->has_frames = true;
    if (request->reader != NULL) {
        frame_reader_reset(request->reader, &limits);
        return STATUS_OK;
    }
    request->reader = frame_reader_new(&limits);
    return request->reader == NULL ? call_fail_memory(&request->call, "a request's frames") : STATUS_OK;
}

static Status
body_too_long(WorkerRequest *request, uint64_t size_max)
{
    return call_fail(&request->call, STATUS_RESOURCE_EXHAUSTED, "the body of %s is longer than %llu bytes",
        request->method->name, (unsigned long long)size_max);
}

static Status
request_open_body(WorkerRequest *request)
{
    const WorkerMethod *method = request->method;
    request->body.size_max = method->body_size_max;
    if (method->body == BODY_FRAMES) {
        return request_open_frames(request);
    }
    bool is_too_long = method->body != BODY_NONE && request->body_size > method->body_size_max;
    return is_too_long ? body_too_long(request, method->body_size_max) : STATUS_OK;
}

static Status
request_begin(WorkerRequest *request, const H2Header *headers, size_t count)
{
    TRY(request_read_head(request, headers, count));
    TRY(request_find_method(request, headers, count));
    TRY(check_versions(request));
    TRY(request_open_body(request));
    return request->method->begin == NULL ? STATUS_OK : request->method->begin(request);
}

static Status
request_read_frames(WorkerRequest *request, Slice data)
{
    bool is_complete = true;
    while (is_complete && !request->is_over) {
        Frame frame;
        TRY(frame_read(&request->call, request->reader, &data, &frame, &is_complete));
        if (is_complete) {
            TRY(request->method->frame(request, &frame));
        }
    }
    return STATUS_OK;
}

static Status
request_read_bytes(WorkerRequest *request, Slice data)
{
    request->body_seen += data.size;
    return request->body_seen > request->body_size ? body_too_long(request, request->body_size)
                                                   : request->method->data(request, data);
}

static Status
request_read_body(WorkerRequest *request, Slice data)
{
    if (request->has_frames) {
        return request_read_frames(request, data);
    }
    if (request->method->body == BODY_BYTES) {
        return request_read_bytes(request, data);
    }
    buffer_append_slice(&request->body, data);
    return buffer_is_ok(&request->body) ? STATUS_OK : body_too_long(request, request->body.size_max);
}

/* Finishes the body. nghttp2 has checked that its length is its content-length. */
static Status
request_finish(WorkerRequest *request)
{
    if (request->has_frames && !frame_reader_is_between(request->reader)) {
        return call_fail(&request->call, STATUS_INVALID_ARGUMENT, "the body ends within a frame");
    }
    return request->method->finish(request);
}

static WorkerRequest *
request_new(WorkerLoop *loop, H2Stream *stream)
{
    WorkerRequest *request = request_take(loop);
    if (request == NULL) {
        return NULL;
    }
    *request = (WorkerRequest){
        .worker = loop->worker,
        .loop = loop,
        .stream = stream,
        .call.arena = request->call.arena,
        .reader = request->reader,
    };
    list_append(&loop->requests, &request->link);
    loop->request_count++;
    stream->context = request;
    return request;
}

void
request_on_headers(WorkerLoop *loop, H2Stream *stream, const H2Header *headers, size_t count)
{
    WorkerRequest *request = request_new(loop, stream);
    if (request == NULL) {
        h2_stream_reset(stream, STATUS_UNAVAILABLE);
        return;
    }
    if (request_begin(request, headers, count) != STATUS_OK) {
        worker_refuse(request, &request->call);
    }
}

static void
fail_body(WorkerRequest *request, Status status)
{
    const WorkerMethod *method = request->method;
    if (method->take_failure == NULL || !method->take_failure(request, status)) {
        worker_refuse(request, &request->call);
    }
}

void
request_on_data(H2Stream *stream, Slice data)
{
    WorkerRequest *request = stream->context;
    bool is_kept = false; /* by a method that gives the bytes back itself */
    if (request != NULL && !request->is_over) {
        Status status = request_read_body(request, data);
        if (status == STATUS_OK) {
            is_kept = request->method->body == BODY_BYTES;
        } else {
            fail_body(request, status);
        }
    }
    if (!is_kept) {
        h2_stream_consume(stream, data.size);
    }
}

void
request_on_end(H2Stream *stream)
{
    WorkerRequest *request = stream->context;
    if (request != NULL && !request->is_over) {
        Status status = request_finish(request);
        if (status != STATUS_OK) {
            fail_body(request, status);
        }
    }
}

void
request_on_close(H2Stream *stream, Status reason)
{
    WorkerRequest *request = stream->context;
    if (request == NULL) {
        return;
    }
    request->stream = NULL;
    request->end_reason = reason;
    call_cancel(&request->call);
    if (request->method != NULL && request->method->closed != NULL) {
        request->method->closed(request);
    }
    request_end(request);
}
