/* Calls to workers. The happy path: upstream_begin() finds or opens the worker's connection and submits
 * the headers; pieces of the body are queued without copies; the answer is read as frames, handed on one
 * by one, or as a document; on_close ends the call.
 *
 * While a call is paused, bytes that come are kept in `held`, at most a window of them, as credit is given
 * back for what was read only. When it is resumed they are read at the end of the turn, before any others. If
 * the stream has closed meanwhile, the call ends behind them.
 *
 * Failures: a connection that breaks closes all its streams with UNAVAILABLE, and the next call opens a
 * new one. An answer that cannot be read resets the stream and ends the call with INTERNAL, one that is too
 * large for this process with RESOURCE_EXHAUSTED. */
#include "shared/upstream/upstream.h"

#include <assert.h>
#include <stdio.h>

#include "shared/base/clock.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/h2/h2.h"
#include "shared/net/socket.h"
#include "shared/upstream/tensor_stream.h"

enum {
    BODY_SIZE_MAX = 1 << 20,
    /* The worker ends a call at its deadline and says why: its answer should come first. */
    DEADLINE_GRACE_MS = 1000,
    PAUSE_CHECK_MS = 1000, /* how often a paused call that is past its deadline looks again */
    HEAD_SIZE_MIN = 64 * 1024,
    PEERS_SWEPT_MIN = 64, /* from so many on, peers without a connection are forgotten */
    CALL_ARENA_SIZE_MAX = 4 << 20,
    SPARE_CALLS_MAX = 256,
};

struct Upstream {
    Loop *loop;
    UpstreamOptions options;
    Map *peers;         /* address → Peer */
    size_t peers_swept; /* number of peers at which they are swept next */
    ListLink failed;    /* calls that could not be opened, to be told at the end of the turn */
    ListLink unread;    /* calls whose stream has closed before their answer was read to its end */
    Task tell_failed;
    ListLink spare_calls; /* calls that have ended: their memory serves the next */
    size_t spare_count;
};

typedef struct Peer {
    Upstream *upstream;
    H2Connection *connection; /* NULL: not connected */
    H2Connection *leaving;    /* takes no request more, and ends with its last answer; NULL: none does */
    PeerTraffic *traffic;     /* NULL: not counted */
    char address[ADDRESS_TEXT_SIZE];
} Peer;

struct UpstreamCall {
    ListLink link;
    Upstream *upstream;
    H2Stream *stream; /* NULL when it could not be opened, or has closed */
    const UpstreamEvents *events;
    void *context;
    Arena *arena;
    Timer deadline;
    FrameReader *reader; /* kept for later calls; NULL until an answer had frames */
    bool has_frames;     /* this call's answer has frames */
    Buffer body;
    bool is_written;  /* the whole request has been written */
    bool ends_last;   /* the request ends behind its answer */
    bool is_answered; /* the whole answer has come */
    bool is_paused;
    bool is_reading;  /* frames of `held` are being read: the call must not end meanwhile */
    bool has_closed;  /* the stream is gone, by close_reason */
    bool was_reached; /* the connection stood: the worker may have read the request; valid when has_closed */
    bool was_active;  /* it was paused, or a piece came, since the deadline was last looked at */
    Status close_reason;
    Buffer held; /* bytes that have come and not been read */
    Task read_on;
    int http_status;
    PeerTraffic *traffic; /* NULL: not counted */
    TrafficCall passed;
    uint64_t written_ns; /* when the request had all that the answer waits for; 0: not yet, or not counted */
    Status failure;      /* the reason why we ended the stream ourselves, or OK */
    char message[ERROR_MESSAGE_SIZE + ADDRESS_TEXT_SIZE + 32];
};

static void
upstream_call_free(UpstreamCall *call)
{
    frame_reader_free(call->reader);
    buffer_done(&call->body);
    buffer_done(&call->held);
    arena_free(call->arena);
    memory_free(call);
}

static void
upstream_call_end(UpstreamCall *call, Status status, const char *message)
{
    Upstream *upstream = call->upstream;
    timer_clear(upstream->loop, &call->deadline);
    loop_undefer(upstream->loop, &call->read_on);
    list_remove(&call->link);
    call->passed.has_failed = (status != STATUS_OK && status != STATUS_CANCELLED) || call->http_status >= 400;
    traffic_count(call->traffic, &call->passed);
    call->events->on_done(call, status, message);
    if (upstream->spare_count == SPARE_CALLS_MAX) {
        upstream_call_free(call);
        return;
    }
    frame_reader_end(call->reader);
    buffer_done(&call->body);
    buffer_done(&call->held);
    arena_clear(call->arena);
    list_append(&upstream->spare_calls, &call->link);
    upstream->spare_count++;
}

static UpstreamCall *
upstream_call_new(Upstream *upstream)
{
    if (upstream->spare_count > 0) {
        UpstreamCall *spare = LIST_ITEM(upstream->spare_calls.next, UpstreamCall, link);
        list_remove(&spare->link);
        upstream->spare_count--;
        return spare;
    }
    UpstreamCall *call = memory_new(1, sizeof *call);
    Arena *arena = arena_new(CALL_ARENA_SIZE_MAX);
    if (call == NULL || arena == NULL) {
        memory_free(call);
        arena_free(arena);
        return NULL;
    }
    call->arena = arena;
    return call;
}

static void
upstream_call_break(UpstreamCall *call, Status status, const char *message)
{
    assert(status != STATUS_OK);

    if (call->failure == STATUS_OK) {
        call->failure = status;
        (void)snprintf(call->message, sizeof call->message, "%s", message);
        if (call->stream != NULL) {
            h2_stream_reset(call->stream, STATUS_CANCELLED);
        } else {
            loop_defer(call->upstream->loop, &call->read_on);
        }
    }
}

static void
expect_frames(UpstreamCall *call)
{
    const UpstreamOptions *options = &call->upstream->options;
    FrameLimits limits = options->frames;
    limits.head_size_min = options->head_size_min == 0 ? HEAD_SIZE_MIN : options->head_size_min;
    limits.head_size_min = call->events->on_part == NULL ? 0 : limits.head_size_min;
    if (call->reader == NULL) {
        call->reader = frame_reader_new(&limits);
    } else {
        frame_reader_reset(call->reader, &limits);
    }
    call->has_frames = call->reader != NULL;
    if (!call->has_frames) {
        upstream_call_break(call, STATUS_RESOURCE_EXHAUSTED, "no memory left for a worker's answer");
    }
}

static void
stream_on_headers(H2Stream *stream, const H2Header *headers, size_t count, bool is_last)
{
    (void)is_last;
    UpstreamCall *call = stream->context;
    for (size_t index = 0; index < count; index++) {
        uint64_t status = 0;
        if (slice_equals_string(headers[index].name, ":status") &&
            slice_to_uint64(headers[index].value, &status)) {
            call->http_status = (int)status;
            call->passed.round_trip_ns = call->written_ns == 0 ? 0 : clock_monotonic_ns() - call->written_ns;
        } else if (slice_equals_string(headers[index].name, "content-type") &&
                   slice_equals_string(headers[index].value, WIRE_CONTENT_TYPE_FRAMES) && !call->has_frames) {
            expect_frames(call);
        }
    }
}

/* An answer that finds no room here is not the worker's fault; every other unreadable one is. */
static Status
status_of_unreadable(Status code)
{
    return code == STATUS_RESOURCE_EXHAUSTED ? code : STATUS_INTERNAL;
}

static void
frame_tell(UpstreamCall *call, Frame *frame)
{
    call->was_active = call->was_active || frame->part == FRAME_PIECE;
    if (frame->part != FRAME_WHOLE) {
        call->events->on_part(call, frame);
    } else if (call->events->on_frame != NULL) {
        call->events->on_frame(call, frame);
    } else {
        tensor_unref(&frame->tensor);
    }
}

/* Reads frames until a caller pauses or no whole one is left; returns how many bytes it has read. */
static size_t
read_frames(UpstreamCall *call, Slice data)
{
    Call reading = {.arena = call->arena};
    size_t size = data.size;
    bool is_complete = true;
    while (call->failure == STATUS_OK && is_complete && !call->is_paused) {
        Frame frame;
        if (frame_read(&reading, call->reader, &data, &frame, &is_complete) != STATUS_OK) {
            upstream_call_break(call, status_of_unreadable(reading.error.code), reading.error.message);
        } else if (is_complete) {
            frame_tell(call, &frame);
        }
    }
    return size - data.size;
}

static void
hold_bytes(UpstreamCall *call, Slice data)
{
    buffer_append_slice(&call->held, data);
    if (!buffer_is_ok(&call->held)) {
        upstream_call_break(call, STATUS_RESOURCE_EXHAUSTED, "no memory left for a worker's answer");
    }
}

static void
consume_bytes(UpstreamCall *call, size_t size)
{
    if (call->stream != NULL && size > 0) {
        h2_stream_consume(call->stream, size);
    }
}

/* Hands on what the caller takes now; returns how many bytes. */
static size_t
read_answer(UpstreamCall *call, Slice data)
{
    if (call->has_frames) {
        return read_frames(call, data);
    }
    if (call->is_paused) {
        return 0;
    }
    if (call->events->on_data != NULL && call->http_status / 100 == 2) {
        call->events->on_data(call, data);
        return data.size;
    }
    buffer_append_slice(&call->body, data);
    if (!buffer_is_ok(&call->body)) {
        upstream_call_break(call, STATUS_INTERNAL, "a worker's answer is longer than 1 MiB");
    }
    return data.size;
}

static void
stream_on_data(H2Stream *stream, Slice data)
{
    UpstreamCall *call = stream->context;
    call->passed.received += data.size;
    size_t taken = call->held.size > 0 ? 0 : read_answer(call, data);
    if (taken < data.size && call->failure == STATUS_OK) {
        hold_bytes(call, slice_part(data, taken, data.size));
    }
    h2_stream_consume(stream, taken);
}

static void
stream_on_writable(H2Stream *stream)
{
    UpstreamCall *call = stream->context;
    if (call->events->on_writable != NULL && call->failure == STATUS_OK) {
        call->events->on_writable(call);
    }
}

/* The worker has answered and reads no more of the request: what is left of it is not sent. */
static void
stream_on_end(H2Stream *stream)
{
    UpstreamCall *call = stream->context;
    call->is_answered = true;
    if (call->ends_last) {
        h2_stream_end(stream);
    } else if (!call->is_written || h2_stream_queued(stream) > 0) {
        h2_stream_reset(stream, STATUS_CANCELLED);
    }
}

/* Ends a call whose stream has closed, unless bytes of a good answer wait to be read. */
static void
settle_closed(UpstreamCall *call)
{
    bool is_unread = call->is_paused || call->held.size > 0;
    if (call->failure != STATUS_OK) {
        upstream_call_end(call, call->failure, call->message);
    } else if (call->close_reason != STATUS_OK && !call->is_answered) {
        const char *lost = "the connection to the worker was lost";
        upstream_call_end(
            call, STATUS_UNAVAILABLE, call->was_reached ? lost : "the worker cannot be reached");
    } else if (is_unread) {
        list_remove(&call->link);
        list_append(&call->upstream->unread, &call->link);
    } else if (call->has_frames && !frame_reader_is_between(call->reader)) {
        upstream_call_end(call, STATUS_INTERNAL, "the worker's answer ended within a frame");
    } else {
        upstream_call_end(call, STATUS_OK, "");
    }
}

static void
stream_on_close(H2Stream *stream, Status reason)
{
    UpstreamCall *call = stream->context;
    call->stream = NULL;
    call->has_closed = true;
    call->was_reached = h2_is_connected(stream->connection);
    call->close_reason = reason;
    if (!call->is_reading) {
        settle_closed(call);
    }
}

/* Reads the bytes that have come while the call was paused. */
static void
read_on(Task *task)
{
    UpstreamCall *call = (UpstreamCall *)(void *)((char *)task - offsetof(UpstreamCall, read_on));
    call->is_reading = true;
    size_t taken = call->held.size == 0 ? 0 : read_answer(call, buffer_slice(&call->held));
    if (taken == call->held.size) {
        buffer_done(&call->held);
    } else {
        buffer_consume(&call->held, taken);
    }
    consume_bytes(call, taken);
    call->is_reading = false;
    if (call->has_closed) {
        settle_closed(call);
    }
}

static void
connection_on_disconnect(H2Connection *connection, Status reason)
{
    (void)reason;
    Peer *peer = h2_context(connection);
    if (peer->connection == connection) {
        peer->connection = NULL;
    } else if (peer->leaving == connection) {
        peer->leaving = NULL;
    }
}

static const H2Handlers upstream_handlers = {
    .on_headers = stream_on_headers,
    .on_data = stream_on_data,
    .on_end = stream_on_end,
    .on_writable = stream_on_writable,
    .on_close = stream_on_close,
    .on_disconnect = connection_on_disconnect,
};

enum { NUMBER_TEXT_SIZE = 24 };

typedef struct RequestHeaders {
    H2Header headers[H2_HEADERS_MAX];
    size_t count;
    char deadline[NUMBER_TEXT_SIZE];
    char attempt[NUMBER_TEXT_SIZE];
    char body_size[NUMBER_TEXT_SIZE];
    char versions[WIRE_VERSIONS_TEXT_SIZE];
} RequestHeaders;

static void
header_add(RequestHeaders *list, const char *name, Slice value)
{
    assert(list->count < H2_HEADERS_MAX);
    if (value.size > 0) {
        list->headers[list->count++] = (H2Header){.name = slice_from_string(name), .value = value};
    }
}

static void
header_add_number(RequestHeaders *list, const char *name, uint64_t number, char text[NUMBER_TEXT_SIZE])
{
    if (number > 0) {
        int size = snprintf(text, NUMBER_TEXT_SIZE, "%llu", (unsigned long long)number);
        header_add(list, name, slice_of(text, (size_t)size));
    }
}

/* Writes headers that point into `head`, `address`, the options and the struct itself, which must not move.
 * Empty values are left out. */
static void
request_headers_fill(RequestHeaders *ret_headers, const UpstreamHead *head, const char *address,
    const UpstreamOptions *options)
{
    RequestHeaders *list = ret_headers;
    list->count = 0;
    wire_versions_text(wire_versions_or_all(options->versions), list->versions);
    header_add(list, ":method", slice_from_string(head->method));
    header_add(list, ":scheme", SLICE("http"));
    header_add(list, ":authority", slice_from_string(address));
    header_add(list, ":path", head->path);
    header_add(list, WIRE_HEADER_VERSIONS, slice_from_string(list->versions));
    header_add(list, WIRE_HEADER_TOKEN, slice_from_string(options->token));
    header_add_number(list, WIRE_HEADER_DEADLINE, head->deadline_ms, list->deadline);
    header_add_number(list, WIRE_HEADER_ATTEMPT, (uint64_t)head->attempt, list->attempt);
    header_add_number(list, "content-length", head->body_size, list->body_size);
    header_add(list, WIRE_HEADER_REQUEST_ID, slice_from_string(head->request_id));
    header_add(list, WIRE_HEADER_INCARNATION, head->incarnation);
    header_add(list, WIRE_HEADER_TENANT, head->tenant);
    header_add(list, WIRE_HEADER_PUSH_TOKEN, head->push_token);
    header_add(list, WIRE_HEADER_NAME_TAKEN, head->name_taken);
    header_add(list, WIRE_HEADER_SLOT, head->slot);
}

/* Ends a call to a worker that keeps it waiting, though its connection is alive; not one whose output is on
 * its way, or waits for its reader. */
static void
deadline_passed(Timer *timer)
{
    UpstreamCall *call = (UpstreamCall *)(void *)((char *)timer - offsetof(UpstreamCall, deadline));
    if (call->is_paused || call->was_active) {
        call->was_active = false;
        timer_set(call->upstream->loop, timer,
            loop_now_ns(call->upstream->loop) + PAUSE_CHECK_MS * CLOCK_NS_PER_MS);
        return;
    }
    upstream_call_break(call, STATUS_UNAVAILABLE, "the worker did not answer in time");
}

static void
tell_failed(Task *task)
{
    Upstream *upstream = (Upstream *)(void *)((char *)task - offsetof(Upstream, tell_failed));
    while (!list_is_empty(&upstream->failed)) {
        UpstreamCall *call = LIST_ITEM(list_first(&upstream->failed), UpstreamCall, link);
        list_remove(&call->link);
        bool was_cancelled = call->failure == STATUS_CANCELLED;
        upstream_call_end(call, was_cancelled ? STATUS_CANCELLED : STATUS_UNAVAILABLE, call->message);
    }
}

Upstream *
upstream_new(Loop *loop, const UpstreamOptions *options)
{
    Upstream *upstream = memory_new(1, sizeof *upstream);
    if (upstream == NULL) {
        return NULL;
    }
    upstream->loop = loop;
    upstream->options = *options;
    upstream->tell_failed.run = tell_failed;
    upstream->peers_swept = PEERS_SWEPT_MIN;
    list_init(&upstream->failed);
    list_init(&upstream->unread);
    list_init(&upstream->spare_calls);
    upstream->peers = map_new();
    if (upstream->peers == NULL) {
        memory_free(upstream);
        return NULL;
    }
    return upstream;
}

void
upstream_free(Upstream *upstream)
{
    if (upstream == NULL) {
        return;
    }
    size_t cursor = 0;
    for (const MapEntry *entry = map_next(upstream->peers, &cursor); entry != NULL;
         entry = map_next(upstream->peers, &cursor)) {
        Peer *peer = entry->value;
        if (peer->connection != NULL) {
            h2_abort(peer->connection);
        }
        if (peer->leaving != NULL) {
            h2_abort(peer->leaving);
        }
        memory_free(peer);
    }
    tell_failed(&upstream->tell_failed);
    while (!list_is_empty(&upstream->unread)) {
        UpstreamCall *call = LIST_ITEM(list_first(&upstream->unread), UpstreamCall, link);
        upstream_call_end(call, STATUS_UNAVAILABLE, "the connection to the worker was closed");
    }
    while (upstream->spare_count > 0) {
        upstream_call_free(upstream_call_new(upstream));
    }
    map_free(upstream->peers);
    memory_free(upstream);
}

size_t
upstream_peer_count(const Upstream *upstream)
{
    return map_count(upstream->peers);
}

/* Forgets peers without a connection: workers that are gone, or will be found again. It is done when their
 * number has doubled, so that it costs the same for each new peer, however many there are. */
static void
peers_sweep(Upstream *upstream)
{
    size_t cursor = 0;
    if (map_count(upstream->peers) < upstream->peers_swept) {
        return;
    }
    for (const MapEntry *entry = map_next(upstream->peers, &cursor); entry != NULL;
         entry = map_next(upstream->peers, &cursor)) {
        Peer *peer = entry->value;
        if (peer->connection == NULL && peer->leaving == NULL) {
            (void)map_remove(upstream->peers, entry->key);
            memory_free(peer);
        }
    }
    size_t doubled = 2 * map_count(upstream->peers);
    upstream->peers_swept = doubled < PEERS_SWEPT_MIN ? PEERS_SWEPT_MIN : doubled;
}

static Peer *
peer_find(Upstream *upstream, const char *address)
{
    Slice key = slice_from_string(address);
    Peer *peer = map_get(upstream->peers, key);
    if (peer != NULL) {
        return peer;
    }
    peers_sweep(upstream);
    peer = memory_new(1, sizeof *peer);
    if (peer == NULL || !map_put(upstream->peers, key, peer)) {
        memory_free(peer);
        return NULL;
    }
    peer->upstream = upstream;
    peer->traffic = traffic_of(upstream->options.traffic, address);
    (void)snprintf(peer->address, sizeof peer->address, "%s", address);
    return peer;
}

static Status
peer_connect(Call *call, Peer *peer)
{
    if (peer->connection != NULL) {
        return STATUS_OK;
    }
    H2Options options = {
        .handlers = &upstream_handlers,
        .context = peer,
        .connect_timeout_ms = peer->upstream->options.connect_timeout_ms,
        .window_size = peer->upstream->options.window_size,
    };
    return h2_connect(call, peer->upstream->loop, peer->address, &options, &peer->connection);
}

/* Lets a connection end that takes no request more, since the worker drains: another process may listen at
 * its address already. False: one is ending there before. */
static bool
let_leave(Peer *peer)
{
    if (peer->leaving != NULL) {
        return false;
    }
    peer->leaving = TAKE(peer->connection);
    h2_shutdown(peer->leaving);
    return true;
}

/* Opens the call's stream, if need be on another connection; `opening` tells why there is none. */
static H2Stream *
stream_open(Call *opening, UpstreamCall *call, Peer *peer, const UpstreamHead *head)
{
    RequestHeaders list;
    H2Stream *stream = NULL;
    bool may_connect = true;
    request_headers_fill(&list, head, peer->address, &peer->upstream->options);
    while (stream == NULL && may_connect) {
        may_connect = peer->connection != NULL;
        if (peer_connect(opening, peer) != STATUS_OK) {
            return NULL;
        }
        stream = h2_request(peer->connection, list.headers, list.count, false, &upstream_handlers, call);
        may_connect = may_connect && stream == NULL && let_leave(peer);
    }
    return stream;
}

UpstreamCall *
upstream_begin(Upstream *upstream, const UpstreamHead *head, const UpstreamEvents *events, void *context)
{
    assert(head->method != NULL && head->address != NULL);
    assert(events->on_done != NULL);

    Peer *peer = peer_find(upstream, head->address);
    UpstreamCall *call = peer == NULL ? NULL : upstream_call_new(upstream);
    if (call == NULL) {
        return NULL;
    }
    *call = (UpstreamCall){
        .upstream = upstream,
        .events = events,
        .context = context,
        .traffic = peer->traffic,
        .arena = call->arena,
        .reader = call->reader,
        .body.size_max = BODY_SIZE_MAX,
        .read_on.run = read_on,
    };
    list_init(&call->link);
    Call opening = {.arena = call->arena};
    call->stream = stream_open(&opening, call, peer, head);
    if (call->stream == NULL) {
        (void)snprintf(call->message, sizeof call->message, "worker at %s: %s", peer->address,
            opening.error.code == STATUS_OK ? "no stream could be opened" : opening.error.message);
        list_append(&upstream->failed, &call->link);
        loop_defer(upstream->loop, &upstream->tell_failed);
    } else if (head->deadline_ms > 0) {
        call->deadline.fire = deadline_passed;
        timer_set(upstream->loop, &call->deadline,
            loop_now_ns(upstream->loop) + (head->deadline_ms + DEADLINE_GRACE_MS) * CLOCK_NS_PER_MS);
    }
    return call;
}

void
upstream_write_copy(UpstreamCall *call, Slice data)
{
    call->passed.sent += data.size;
    if (call->stream != NULL) {
        (void)h2_stream_write_copy(call->stream, data);
    }
}

void
upstream_write_buffer(UpstreamCall *call, Slice data, TensorBuffer *buffer)
{
    call->passed.sent += data.size;
    if (call->stream != NULL) {
        stream_write_buffer(call->stream, data, buffer);
    }
}

void
upstream_write_tensor(UpstreamCall *call, Slice name, const Tensor *tensor)
{
    call->passed.sent += tensor_byte_size(tensor);
    if (call->stream != NULL) {
        stream_write_tensor(call->stream, name, tensor);
    }
}

/* The round trip begins; nobody asks for that of a call that is not counted. */
static void
note_written(UpstreamCall *call)
{
    call->written_ns = call->traffic == NULL ? 0 : clock_monotonic_ns();
}

void
upstream_end(UpstreamCall *call)
{
    call->is_written = true;
    note_written(call);
    if (call->stream != NULL) {
        h2_stream_end(call->stream);
    }
}

void
upstream_end_last(UpstreamCall *call)
{
    call->ends_last = true;
    note_written(call);
}

size_t
upstream_queued(const UpstreamCall *call)
{
    return call->stream == NULL ? 0 : h2_stream_queued(call->stream);
}

void
upstream_pause(UpstreamCall *call)
{
    call->is_paused = true;
    call->was_active = true;
}

void
upstream_resume(UpstreamCall *call)
{
    if (call->is_paused) {
        call->is_paused = false;
        loop_defer(call->upstream->loop, &call->read_on);
    }
}

void
upstream_pass(UpstreamCall *call)
{
    assert(call->has_frames && call->events->on_part != NULL);

    frame_reader_pass(call->reader);
}

void
upstream_widen(UpstreamCall *call)
{
    if (call->stream != NULL) {
        h2_stream_widen(call->stream, UPSTREAM_WINDOW_WIDE);
    }
}

void
upstream_cancel(UpstreamCall *call)
{
    if (call->stream != NULL || call->has_closed) {
        upstream_call_break(call, STATUS_CANCELLED, "the caller gave up");
    } else {
        call->failure = STATUS_CANCELLED;
    }
}

static void
detached_on_done(UpstreamCall *call, Status status, const char *message)
{
    (void)call;
    (void)status;
    (void)message;
}

void
upstream_detach(UpstreamCall *call)
{
    static const UpstreamEvents detached = {.on_done = detached_on_done};
    call->events = &detached;
    call->context = NULL;
    upstream_cancel(call);
}

void *
upstream_context(const UpstreamCall *call)
{
    return call->context;
}

int
upstream_http_status(const UpstreamCall *call)
{
    return call->http_status;
}

Slice
upstream_body(const UpstreamCall *call)
{
    return buffer_slice(&call->body);
}
