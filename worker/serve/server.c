/* Happy path: the listener is ready → socket_accept → h2_accept → on_headers finds the method and checks who
 * asks → the method's begin/frame/finish run as the body comes in → on_close frees the request.
 *
 * Failures: an unknown method is 404, a wrong credential 401, another protocol version 400, a mismatched
 * incarnation 409 (ABORTED, with ours); a body that cannot be read ends the request with its Status. */
#include "worker/serve/server.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/text.h"
#include "shared/crypto/digest.h"
#include "worker/serve/route.h"

typedef struct ServerConnection {
    ListLink link;
    WorkerLoop *loop;
    H2Connection *h2;
} ServerConnection;

/* --- Requests ------------------------------------------------------------------------------------------- */

static void
request_refuse(WorkerRequest *request, Status status)
{
    if (request->is_answered || request->stream == NULL) {
        return;
    }
    const WireStatus refusal = {
        .code = status,
        .message = slice_from_string(request->call.error.message),
        .incarnation = slice_from_string(request->worker->incarnation),
    };
    worker_answer_status(request, &refusal);
}

static void
request_free(WorkerRequest *request)
{
    list_remove(&request->link);
    request->loop->request_count--;
    frame_reader_free(request->reader);
    buffer_done(&request->body);
    arena_free(request->call.arena);
    memory_free(request);
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

static Status
check_version(Call *call, Slice version)
{
    if (version.size == 0 || slice_equals_string(version, "1")) {
        return STATUS_OK;
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT, "protocol version '%.*s' is not spoken here, only 1",
        SLICE_PRINT(version));
}

/* Reads a header that is a number of at most `maximum`; absent ones leave *ret_number alone. */
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
    const char *const copy = text_copy(call->arena, value);
    if (copy == NULL) {
        return call_fail_memory(call, "a request's headers");
    }
    *ret_copy = slice_of(copy, value.size);
    return STATUS_OK;
}

static Status
request_read_head(WorkerRequest *request, const H2Header *headers, size_t count)
{
    Call *const call = &request->call;
    uint64_t deadline_ms = 0;
    uint64_t attempt = 0;
    uint64_t slot = 0;
    TRY(check_version(call, header_find(headers, count, WIRE_HEADER_VERSION)));
    TRY(check_credential(call, request->worker, header_find(headers, count, WIRE_HEADER_TOKEN)));
    TRY(check_incarnation(call, request->worker, header_find(headers, count, WIRE_HEADER_INCARNATION)));
    TRY(read_number(call, header_find(headers, count, WIRE_HEADER_DEADLINE), WIRE_HEADER_DEADLINE, UINT32_MAX,
        &deadline_ms));
    TRY(read_number(
        call, header_find(headers, count, WIRE_HEADER_ATTEMPT), WIRE_HEADER_ATTEMPT, INT32_MAX, &attempt));
    TRY(read_number(
        call, header_find(headers, count, WIRE_HEADER_SLOT), WIRE_HEADER_SLOT, SLOT_COUNT_MAX - 1, &slot));
    TRY(copy_header(call, header_find(headers, count, WIRE_HEADER_PUSH_TOKEN), &request->push_token));
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
    /* The headers go when the callback returns; the parameters must stay. */
    Slice path = {0};
    const Slice verb = header_find(headers, count, ":method");
    TRY(copy_header(&request->call, header_find(headers, count, ":path"), &path));
    request->method = route_find(verb, path, request->parameters);
    if (request->method == NULL) {
        return call_fail(&request->call, STATUS_NOT_FOUND, "there is no method %.*s %.*s", SLICE_PRINT(verb),
            SLICE_PRINT(path));
    }
    return STATUS_OK;
}

static Status
request_open_body(WorkerRequest *request)
{
    const WorkerMethod *const method = request->method;
    request->body.size_max = method->body_size_max;
    if (method->body != BODY_FRAMES) {
        return STATUS_OK;
    }
    const size_t worker_max = request->worker->options.tensor_size_max;
    const bool is_narrower = method->body_size_max != 0 && method->body_size_max < worker_max;
    const FrameLimits limits = {.tensor_size_max = is_narrower ? method->body_size_max : worker_max};
    request->reader = frame_reader_new(&limits);
    return request->reader == NULL ? call_fail_memory(&request->call, "a request's frames") : STATUS_OK;
}

static Status
request_begin(WorkerRequest *request, const H2Header *headers, size_t count)
{
    TRY(request_read_head(request, headers, count));
    TRY(request_find_method(request, headers, count));
    TRY(request_open_body(request));
    return request->method->begin == NULL ? STATUS_OK : request->method->begin(request);
}

static Status
request_read_frames(WorkerRequest *request, Slice data)
{
    bool is_complete = true;
    while (is_complete && !request->is_answered) {
        Frame frame;
        TRY(frame_read(&request->call, request->reader, &data, &frame, &is_complete));
        if (is_complete) {
            TRY(request->method->frame(request, &frame));
        }
    }
    return STATUS_OK;
}

static Status
request_read_body(WorkerRequest *request, Slice data)
{
    if (request->reader != NULL) {
        return request_read_frames(request, data);
    }
    buffer_append_slice(&request->body, data);
    if (!buffer_is_ok(&request->body)) {
        return call_fail(&request->call, STATUS_RESOURCE_EXHAUSTED, "the body of %s is longer than %zu bytes",
            request->method->name, request->body.size_max);
    }
    return STATUS_OK;
}

static Status
request_finish(WorkerRequest *request)
{
    if (request->reader != NULL && !frame_reader_is_between(request->reader)) {
        return call_fail(&request->call, STATUS_INVALID_ARGUMENT, "the body ends within a frame");
    }
    return request->method->finish(request);
}

/* --- Streams -------------------------------------------------------------------------------------------- */

static WorkerRequest *
request_new(WorkerLoop *loop, H2Stream *stream)
{
    WorkerRequest *const request = memory_new(1, sizeof *request);
    Arena *const arena = arena_new(WORKER_ARENA_SIZE_MAX);
    if (request == NULL || arena == NULL) {
        memory_free(request);
        arena_free(arena);
        return NULL;
    }
    request->worker = loop->worker;
    request->loop = loop;
    request->stream = stream;
    request->call.arena = arena;
    list_append(&loop->requests, &request->link);
    loop->request_count++;
    stream->context = request;
    return request;
}

static void
stream_on_headers(H2Stream *stream, const H2Header *headers, size_t count, bool is_last)
{
    (void)is_last;
    ServerConnection *const connection = h2_context(stream->connection);
    WorkerRequest *const request = request_new(connection->loop, stream);
    if (request == NULL) {
        h2_stream_reset(stream, STATUS_UNAVAILABLE);
        return;
    }
    const Status status = request_begin(request, headers, count);
    if (status != STATUS_OK) {
        request_refuse(request, status);
    }
}

static void
stream_on_data(H2Stream *stream, Slice data)
{
    WorkerRequest *const request = stream->context;
    if (request != NULL && !request->is_answered) {
        const Status status = request_read_body(request, data);
        if (status != STATUS_OK) {
            request_refuse(request, status);
        }
    }
    h2_stream_consume(stream, data.size);
}

static void
stream_on_end(H2Stream *stream)
{
    WorkerRequest *const request = stream->context;
    if (request != NULL && !request->is_answered) {
        const Status status = request_finish(request);
        if (status != STATUS_OK) {
            request_refuse(request, status);
        }
    }
}

static void
stream_on_close(H2Stream *stream, Status reason)
{
    (void)reason;
    WorkerRequest *const request = stream->context;
    if (request == NULL) {
        return;
    }
    request->stream = NULL;
    call_cancel(&request->call);
    if (request->method != NULL && request->method->closed != NULL) {
        request->method->closed(request);
    }
    request_free(request);
}

static void
connection_on_disconnect(H2Connection *h2, Status reason)
{
    (void)reason;
    ServerConnection *const connection = h2_context(h2);
    list_remove(&connection->link);
    memory_free(connection);
}

static const H2Handlers handlers = {
    .on_headers = stream_on_headers,
    .on_data = stream_on_data,
    .on_end = stream_on_end,
    .on_close = stream_on_close,
    .on_disconnect = connection_on_disconnect,
};

/* --- Answers -------------------------------------------------------------------------------------------- */

static void
answer_begin(WorkerRequest *request, int http_status, const char *content_type, bool is_last)
{
    const H2Header headers[] = {{SLICE("content-type"), slice_from_string(content_type)}};
    request->is_answered = true;
    h2_respond(request->stream, http_status, headers, COUNT_OF(headers), is_last);
}

void
worker_answer_json(WorkerRequest *request, int http_status, Slice json)
{
    if (request->stream == NULL) {
        return;
    }
    answer_begin(request, http_status, "application/json", false);
    (void)h2_stream_write_copy(request->stream, json);
    h2_stream_end(request->stream);
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

/* --- The loop ------------------------------------------------------------------------------------------- */

static void
connection_accept(WorkerLoop *loop, int fd)
{
    ServerConnection *const connection = memory_new(1, sizeof *connection);
    if (connection == NULL) {
        socket_close(fd);
        return;
    }
    const H2Options options = {.handlers = &handlers, .context = connection, .stream_count_max = 4096};
    Call accepting = {0};
    connection->loop = loop;
    list_append(&loop->connections, &connection->link);
    if (h2_accept(&accepting, loop->loop, fd, &options, &connection->h2) != STATUS_OK) {
        list_remove(&connection->link);
        memory_free(connection);
    }
}

static void
listener_ready(Watch *watch, uint32_t events)
{
    (void)events;
    WorkerLoop *const loop = (WorkerLoop *)(void *)((char *)watch - offsetof(WorkerLoop, listener));
    for (int fd = socket_accept(watch->fd); fd >= 0; fd = socket_accept(watch->fd)) {
        connection_accept(loop, fd);
    }
}

static void
drain_check(Timer *timer)
{
    enum { CHECK_MS = 20 };
    WorkerLoop *const loop = (WorkerLoop *)(void *)((char *)timer - offsetof(WorkerLoop, drained));
    if (loop->request_count == 0 || loop->grace_ms < CHECK_MS) {
        loop_stop(loop->loop);
        return;
    }
    loop->grace_ms -= CHECK_MS;
    timer_set(loop->loop, timer, loop_now_ns(loop->loop) + CHECK_MS * CLOCK_NS_PER_MS);
}

static void
drain_begin(Task *task)
{
    WorkerLoop *const loop = (WorkerLoop *)(void *)((char *)task - offsetof(WorkerLoop, drain));
    watch_close(&loop->listener);
    LIST_EACH(&loop->connections, link)
    {
        h2_shutdown(LIST_ITEM(link, ServerConnection, link)->h2);
    }
    drain_check(&loop->drained);
}

void
worker_loop_drain(WorkerLoop *loop, uint32_t grace_ms)
{
    loop->grace_ms = grace_ms;
    loop_post(loop->loop, &loop->drain);
}

static Status
listener_open(Call *call, WorkerLoop *loop, const char *address)
{
    int fd = -1;
    TRY(socket_listen(call, address, (ListenOptions){.is_shared = true}, &fd));
    const Status status = watch_open(call, &loop->listener, loop->loop, fd, EPOLLIN, listener_ready);
    if (status != STATUS_OK) {
        socket_close(fd);
    }
    return status;
}

Status
worker_loop_open(Call *call, Worker *worker, const char *address, WorkerLoop **ret_loop)
{
    WorkerLoop *const loop = memory_new(1, sizeof *loop);
    if (loop == NULL) {
        return call_fail_memory(call, "a loop");
    }
    loop->worker = worker;
    loop->listener.fd = -1;
    list_init(&loop->connections);
    list_init(&loop->requests);
    loop->drain.run = drain_begin;
    loop->drained.fire = drain_check;
    Status status = loop_new(call, &loop->loop);
    if (status == STATUS_OK) {
        status = listener_open(call, loop, address);
    }
    if (status != STATUS_OK) {
        worker_loop_close(loop);
        return status;
    }
    *ret_loop = loop;
    return STATUS_OK;
}

void
worker_loop_close(WorkerLoop *loop)
{
    if (loop == NULL) {
        return;
    }
    if (loop->loop != NULL) {
        LIST_EACH(&loop->connections, link)
        {
            h2_abort(LIST_ITEM(link, ServerConnection, link)->h2);
        }
        if (loop->listener.fd >= 0) {
            watch_close(&loop->listener);
            socket_close(loop->listener.fd);
        }
        loop_free(loop->loop);
    }
    memory_free(loop);
}
