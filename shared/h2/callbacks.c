/* What the engine tells us, in the order of a request's life: a header block, its body, its end; and going
 * out, the body's bytes.
 *
 * A callback that returns CALLBACK_FAILURE stops the engine for good: that is how a connection which the user
 * aborts inside a handler stops at once. */
#include <assert.h>

#include "shared/h2/codes.h"
#include "shared/h2/session.h"

/* --- Received ------------------------------------------------------------------------------------------- */

static int
answer(const Session *session)
{
    return session->is_finished ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static void
calm_down(Session *session)
{
    session_fail(session, NGHTTP2_ENHANCE_YOUR_CALM, STATUS_RESOURCE_EXHAUSTED);
}

static int
on_begin_frame(nghttp2_session *engine, const nghttp2_frame_hd *header, void *context)
{
    (void)engine;
    Session *const session = context;
    const FloodKind kind = flood_kind(header->type, header->flags, header->length);
    if (!flood_take(&session->flood, kind, session->now_ns)) {
        calm_down(session);
    }
    return answer(session);
}

/* A block that broke the rules of HTTP never completes: what it left goes here. */
static int
on_begin_headers(nghttp2_session *engine, const nghttp2_frame *frame, void *context)
{
    (void)engine;
    (void)frame;
    Session *const session = context;
    session_block_clear(&session->block);
    return answer(session);
}

static Slice
slice_of_rcbuf(nghttp2_rcbuf *text)
{
    const nghttp2_vec bytes = nghttp2_rcbuf_get_buf(text);
    return slice_of(bytes.base, bytes.len);
}

static int
on_header(nghttp2_session *engine, const nghttp2_frame *frame, nghttp2_rcbuf *name, nghttp2_rcbuf *value,
    uint8_t flags, void *context)
{
    (void)engine;
    (void)frame;
    (void)flags;
    enum { FIELD_OVERHEAD = 32 };
    Session *const session = context;
    HeaderBlock *const block = &session->block;
    const H2Header header = {slice_of_rcbuf(name), slice_of_rcbuf(value)};
    block->size += header.name.size + header.value.size + FIELD_OVERHEAD;
    if (block->size > SESSION_HEADER_LIST_SIZE) {
        calm_down(session);
        return answer(session);
    }
    if (block->count == H2_HEADERS_MAX) {
        block->has_too_many = true;
        return 0;
    }
    nghttp2_rcbuf_incref(name);
    nghttp2_rcbuf_incref(value);
    block->names[block->count] = name;
    block->values[block->count] = value;
    block->headers[block->count++] = header;
    return 0;
}

/* A request becomes a stream when its headers are complete: the user never hears of a broken one. */
static Stream *
stream_of_headers(Session *session, const nghttp2_headers *frame)
{
    const int32_t id = frame->hd.stream_id;
    if (frame->cat != NGHTTP2_HCAT_REQUEST) {
        return session_stream_find(session, id);
    }
    const bool is_too_much = session->block.has_too_many;
    Stream *const stream = is_too_much ? NULL : session_stream_new(session, NULL);
    if (stream == NULL) {
        const uint32_t error_code = is_too_much ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_REFUSED_STREAM;
        (void)nghttp2_submit_rst_stream(session->engine, NGHTTP2_FLAG_NONE, id, error_code);
        return NULL;
    }
    stream->public.id = id;
    (void)nghttp2_session_set_stream_user_data(session->engine, id, stream);
    return stream;
}

static bool
is_interim(const HeaderBlock *block)
{
    for (size_t index = 0; index < block->count; index++) {
        if (slice_equal(block->headers[index].name, SLICE(":status"))) {
            return slice_starts_with(block->headers[index].value, SLICE("1"));
        }
    }
    return false;
}

/* Trailers and interim answers (1xx) are read and dropped. */
static void
headers_complete(Session *session, Stream *stream, bool is_last)
{
    HeaderBlock *const block = &session->block;
    if (stream->has_headers || is_interim(block)) {
        return;
    }
    if (block->has_too_many) {
        h2_stream_reset(&stream->public, STATUS_RESOURCE_EXHAUSTED);
        return;
    }
    stream->has_headers = true;
    if (stream->public.handlers->on_headers != NULL) {
        stream->public.handlers->on_headers(&stream->public, block->headers, block->count, is_last);
    }
}

static void
peer_ended(Stream *stream)
{
    stream->has_peer_ended = true;
    if (!stream->is_closing && stream->public.handlers->on_end != NULL) {
        stream->public.handlers->on_end(&stream->public);
    }
}

/* The GOAWAY of a peer that complains tells more than the end of the connection behind it. */
static void
goaway_received(Session *session, const nghttp2_goaway *frame)
{
    if (frame->error_code != NGHTTP2_NO_ERROR) {
        session_finish(session, h2_status_of_code(frame->error_code));
    }
}

static void
ping_received(Session *session, const nghttp2_ping *frame)
{
    const bool is_answer = (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
    if (is_answer && session->is_shutting_down && session_ping_ends_shutdown(frame->opaque_data)) {
        session_shutdown_end(session);
    }
}

static void
message_received(Session *session, const nghttp2_frame *frame)
{
    const bool is_headers = frame->hd.type == NGHTTP2_HEADERS;
    const bool is_last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (!is_headers && !is_last) {
        return;
    }
    Stream *const stream = is_headers ? stream_of_headers(session, &frame->headers)
                                      : session_stream_find(session, frame->hd.stream_id);
    if (is_headers && stream != NULL) {
        headers_complete(session, stream, is_last);
    }
    if (is_headers) {
        session_block_clear(&session->block);
    }
    if (is_last && stream != NULL && !session->is_finished) {
        peer_ended(stream);
    }
}

static int
on_frame_received(nghttp2_session *engine, const nghttp2_frame *frame, void *context)
{
    (void)engine;
    Session *const session = context;
    if (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) {
        message_received(session, frame);
    } else if (frame->hd.type == NGHTTP2_PING) {
        ping_received(session, &frame->ping);
    } else if (frame->hd.type == NGHTTP2_GOAWAY) {
        goaway_received(session, &frame->goaway);
    }
    return answer(session);
}

/* The window of the connection is opened at once: the windows of the streams bound what is held. */
static int
on_data(nghttp2_session *engine, uint8_t flags, int32_t id, const uint8_t *data, size_t size, void *context)
{
    (void)flags;
    Session *const session = context;
    if (nghttp2_session_consume_connection(engine, size) != 0) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    Stream *const stream = session_stream_find(session, id);
    if (stream == NULL) {
        return answer(session);
    }
    stream->unconsumed += size;
    if (stream->public.handlers->on_data != NULL) {
        stream->public.handlers->on_data(&stream->public, slice_of(data, size));
    } else {
        h2_stream_consume(&stream->public, size);
    }
    return answer(session);
}

static int
on_stream_close(nghttp2_session *engine, int32_t id, uint32_t error_code, void *context)
{
    (void)engine;
    Stream *const stream = session_stream_find(context, id);
    if (stream != NULL) {
        const bool is_complete =
            error_code == NGHTTP2_NO_ERROR && stream->has_peer_ended && stream->is_end_sent;
        session_stream_close(stream, is_complete ? STATUS_OK : h2_status_of_code(error_code), NULL);
    }
    return 0;
}

/* --- Sent ----------------------------------------------------------------------------------------------- */

/* NOLINTBEGIN(readability-function-size,readability-non-const-parameter): the library's signatures */
static ssize_t
read_length(nghttp2_session *engine, uint8_t type, int32_t id, int32_t connection_window,
    int32_t stream_window, uint32_t frame_size_max, void *context)
{
    (void)engine;
    (void)type;
    (void)id;
    (void)context;
    const int32_t window = connection_window < stream_window ? connection_window : stream_window;
    const int32_t size = frame_size_max < SESSION_FRAME_SIZE ? (int32_t)frame_size_max : SESSION_FRAME_SIZE;
    return window < size ? window : size;
}

/* How much of the stream goes into the next DATA frame. */
static ssize_t
read_data(nghttp2_session *engine, int32_t id, uint8_t *buffer, size_t size, uint32_t *flags,
    nghttp2_data_source *source, void *context)
{
    (void)engine;
    (void)buffer;
    (void)source;
    const Session *const session = context;
    Stream *const stream = session_stream_find(session, id);
    if (stream == NULL) {
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    if (session->output.size >= session->fill_budget) {
        return NGHTTP2_ERR_PAUSE;
    }
    if (stream->queued == 0 && !stream->is_ended) {
        stream->is_deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (stream->queued <= size && stream->is_ended) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        stream->is_end_sent = true;
    }
    return (ssize_t)(stream->queued < size ? stream->queued : size);
}

/* NOLINTEND(readability-function-size,readability-non-const-parameter) */

/* At most `size` bytes of the first segment; 0 when there is no memory. */
static size_t
move_front(Stream *stream, size_t size)
{
    Session *const session = stream->session;
    Segment *const segment = stream->queue_first;
    assert(segment != NULL); /* `queued` is the sum of them */
    const size_t left = segment->size - segment->sent;
    const size_t part = size < left ? size : left;
    if (!output_add(&session->output, segment, part)) {
        return 0;
    }
    if (part == left) {
        stream->queue_first = segment->next;
        stream->queue_last = stream->queue_first == NULL ? NULL : stream->queue_last;
        segment_unref(&session->segments, segment);
    }
    stream->queued -= part;
    return part;
}

static bool
move_to_output(Stream *stream, size_t size)
{
    while (size > 0) {
        const size_t moved = move_front(stream, size);
        if (moved == 0) {
            return false;
        }
        size -= moved;
    }
    return true;
}

static int
send_data(nghttp2_session *engine, nghttp2_frame *frame, const uint8_t *header, size_t size,
    nghttp2_data_source *source, void *context)
{
    (void)engine;
    (void)source;
    enum { FRAME_HEADER_SIZE = 9 };
    Session *const session = context;
    Stream *const stream = session_stream_find(session, frame->hd.stream_id);
    if (stream == NULL || !output_copy(&session->output, header, FRAME_HEADER_SIZE) ||
        !move_to_output(stream, size)) {
        session_finish(session, STATUS_RESOURCE_EXHAUSTED);
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    flood_earn_window(&session->flood);
    if (stream->wants_room && stream->queued < H2_WRITE_LOW) {
        stream->wants_room = false;
        list_append(&session->writable, &stream->writable);
    }
    return 0;
}

/* Our own resets are free. Refusals are what a peer may meet that has not yet read our SETTINGS: they cost
 * what a control frame does. All others are the peer's errors. */
static void
reset_sent(Session *session, const nghttp2_rst_stream *frame)
{
    const bool is_refusal = frame->error_code == NGHTTP2_REFUSED_STREAM;
    const void *const held = nghttp2_session_get_stream_user_data(session->engine, frame->hd.stream_id);
    if (held != session_reset_mark() &&
        !flood_take(&session->flood, is_refusal ? FLOOD_CONTROL : FLOOD_PROVOKED, session->now_ns)) {
        calm_down(session);
    }
}

static int
on_frame_sent(nghttp2_session *engine, const nghttp2_frame *frame, void *context)
{
    (void)engine;
    Session *const session = context;
    if (frame->hd.type == NGHTTP2_RST_STREAM) {
        reset_sent(session, &frame->rst_stream);
    } else if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR) {
        session->reason = h2_status_of_code(frame->goaway.error_code);
    }
    return 0;
}

/* A request that could not be sent: the connection is going away, or its headers are too long. */
static int
on_frame_not_sent(nghttp2_session *engine, const nghttp2_frame *frame, int library_error, void *context)
{
    (void)engine;
    Stream *const stream =
        frame->hd.type == NGHTTP2_HEADERS ? session_stream_find(context, frame->hd.stream_id) : NULL;
    if (stream != NULL && (library_error == NGHTTP2_ERR_START_STREAM_NOT_ALLOWED ||
                              library_error == NGHTTP2_ERR_SESSION_CLOSING)) {
        session_stream_close(stream, STATUS_UNAVAILABLE, NULL);
    }
    return 0;
}

nghttp2_data_provider
session_data_provider(void)
{
    return (nghttp2_data_provider){.read_callback = read_data};
}

nghttp2_session_callbacks *
session_callbacks_new(void)
{
    nghttp2_session_callbacks *table = NULL;
    if (nghttp2_session_callbacks_new(&table) != 0) {
        return NULL;
    }
    nghttp2_session_callbacks_set_on_begin_frame_callback(table, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(table, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback2(table, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(table, on_frame_received);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(table, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(table, on_stream_close);
    nghttp2_session_callbacks_set_data_source_read_length_callback(table, read_length);
    nghttp2_session_callbacks_set_send_data_callback(table, send_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(table, on_frame_sent);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(table, on_frame_not_sent);
    return table;
}
