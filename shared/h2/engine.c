/* The engine, nghttp2: how it is set up, and its callbacks, which follow the life of a request: a header
 * block, its body, its end; then, on the way out, the bytes of a body.
 *
 * A callback that returns NGHTTP2_ERR_CALLBACK_FAILURE stops the engine for good. A connection which the
 * user aborts inside a handler stops at once by it. */
#include <assert.h>

#include "shared/base/memory.h"
#include "shared/h2/codes.h"
#include "shared/h2/session.h"

static int
callback_result(const Session *session)
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
    Session *session = context;
    FloodKind kind = flood_kind(header->type, header->flags, header->length);
    if (!flood_take(&session->flood, kind, session->now_ns)) {
        calm_down(session);
    }
    return callback_result(session);
}

/* Drops the headers that an earlier block has left: a block that breaks the rules of HTTP never completes. */
static int
on_begin_headers(nghttp2_session *engine, const nghttp2_frame *frame, void *context)
{
    (void)engine;
    (void)frame;
    Session *session = context;
    session_block_clear(&session->block);
    return callback_result(session);
}

static Slice
slice_of_rcbuf(nghttp2_rcbuf *text)
{
    nghttp2_vec bytes = nghttp2_rcbuf_get_buf(text);
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
    Session *session = context;
    HeaderBlock *block = &session->block;
    H2Header header = {slice_of_rcbuf(name), slice_of_rcbuf(value)};
    block->size += header.name.size + header.value.size + FIELD_OVERHEAD;
    if (block->size > SESSION_HEADER_LIST_SIZE) {
        calm_down(session);
        return callback_result(session);
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

/* Returns the stream that a header block belongs to, NULL when there is none. A request becomes a stream
 * when its headers are complete: the user never hears of a broken one. */
static Stream *
stream_of_headers(Session *session, const nghttp2_headers *frame)
{
    int32_t id = frame->hd.stream_id;
    if (frame->cat != NGHTTP2_HCAT_REQUEST) {
        return session_stream_find(session, id);
    }
    bool is_too_much = session->block.has_too_many;
    Stream *stream = is_too_much ? NULL : session_stream_new(session, NULL);
    if (stream == NULL) {
        uint32_t error_code = is_too_much ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_REFUSED_STREAM;
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

/* Tells the user of a message's headers. Trailers and interim answers (1xx) are read and dropped. */
static void
headers_complete(Session *session, Stream *stream, bool is_last)
{
    HeaderBlock *block = &session->block;
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

/* Finishes the session with the peer's complaint, which tells more than the end of the connection that
 * follows. */
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
    bool is_answer = (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
    if (is_answer && session->is_shutting_down && session_ping_ends_shutdown(frame->opaque_data)) {
        session_shutdown_end(session);
    }
}

static void
message_received(Session *session, const nghttp2_frame *frame)
{
    bool is_headers = frame->hd.type == NGHTTP2_HEADERS;
    bool is_last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (!is_headers && !is_last) {
        return;
    }
    Stream *stream = is_headers ? stream_of_headers(session, &frame->headers)
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
    Session *session = context;
    if (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) {
        message_received(session, frame);
    } else if (frame->hd.type == NGHTTP2_PING) {
        ping_received(session, &frame->ping);
    } else if (frame->hd.type == NGHTTP2_GOAWAY) {
        goaway_received(session, &frame->goaway);
    }
    return callback_result(session);
}

/* Opens the connection's window again at once: the windows of the streams bound how much is held. */
static int
on_data(nghttp2_session *engine, uint8_t flags, int32_t id, const uint8_t *data, size_t size, void *context)
{
    (void)flags;
    Session *session = context;
    if (nghttp2_session_consume_connection(engine, size) != 0) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    Stream *stream = session_stream_find(session, id);
    if (stream == NULL) {
        return callback_result(session);
    }
    stream->unconsumed += size;
    if (stream->public.handlers->on_data != NULL) {
        stream->public.handlers->on_data(&stream->public, slice_of(data, size));
    } else {
        h2_stream_consume(&stream->public, size);
    }
    return callback_result(session);
}

static int
on_stream_close(nghttp2_session *engine, int32_t id, uint32_t error_code, void *context)
{
    (void)engine;
    Stream *stream = session_stream_find(context, id);
    if (stream != NULL) {
        bool is_complete = error_code == NGHTTP2_NO_ERROR && stream->has_peer_ended && stream->is_end_sent;
        session_stream_close(stream, is_complete ? STATUS_OK : h2_status_of_code(error_code), NULL);
    }
    return 0;
}

/* NOLINTBEGIN(readability-function-size,readability-non-const-parameter): the library's signatures */
static ssize_t
read_length(nghttp2_session *engine, uint8_t type, int32_t id, int32_t connection_window,
    int32_t stream_window, uint32_t frame_size_max, void *context)
{
    (void)engine;
    (void)type;
    (void)id;
    (void)context;
    int32_t window = connection_window < stream_window ? connection_window : stream_window;
    int32_t size = frame_size_max < SESSION_FRAME_SIZE ? (int32_t)frame_size_max : SESSION_FRAME_SIZE;
    return window < size ? window : size;
}

/* NOLINTEND(readability-function-size,readability-non-const-parameter) */

/* Moves at most `size` bytes of the stream's first segment to the output; returns how many, 0 when there
 * is no memory. */
static size_t
move_front(Stream *stream, size_t size)
{
    Session *session = stream->session;
    Segment *segment = stream->queue_first;
    assert(segment != NULL); /* `queued` is the sum of the segments' unsent bytes */
    size_t left = segment->size - segment->sent;
    size_t part = size < left ? size : left;
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
        size_t moved = move_front(stream, size);
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
    Session *session = context;
    Stream *stream = session_stream_find(session, frame->hd.stream_id);
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

/* Counts a reset that went out. Our own resets are free. A refusal may meet a peer that has not read our
 * SETTINGS yet, and costs as much as a control frame. All others come from the peer's errors. */
static void
reset_sent(Session *session, const nghttp2_rst_stream *frame)
{
    bool is_refusal = frame->error_code == NGHTTP2_REFUSED_STREAM;
    const void *held = nghttp2_session_get_stream_user_data(session->engine, frame->hd.stream_id);
    if (held != session_reset_mark() &&
        !flood_take(&session->flood, is_refusal ? FLOOD_CONTROL : FLOOD_PROVOKED, session->now_ns)) {
        calm_down(session);
    }
}

static int
on_frame_sent(nghttp2_session *engine, const nghttp2_frame *frame, void *context)
{
    (void)engine;
    Session *session = context;
    if (frame->hd.type == NGHTTP2_RST_STREAM) {
        reset_sent(session, &frame->rst_stream);
    } else if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR) {
        session->reason = h2_status_of_code(frame->goaway.error_code);
    }
    return 0;
}

/* Closes the stream of a request that could not be sent: the connection is going away, or its headers are
 * too long. */
static int
on_frame_not_sent(nghttp2_session *engine, const nghttp2_frame *frame, int library_error, void *context)
{
    (void)engine;
    Stream *stream =
        frame->hd.type == NGHTTP2_HEADERS ? session_stream_find(context, frame->hd.stream_id) : NULL;
    if (stream != NULL && (library_error == NGHTTP2_ERR_START_STREAM_NOT_ALLOWED ||
                              library_error == NGHTTP2_ERR_SESSION_CLOSING)) {
        session_stream_close(stream, STATUS_UNAVAILABLE, NULL);
    }
    return 0;
}

static nghttp2_session_callbacks *
callbacks_new(void)
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

static void *
engine_malloc(size_t size, void *context)
{
    (void)context;
    return memory_resize(NULL, size);
}

static void
engine_free(void *memory, void *context)
{
    (void)context;
    memory_free(memory);
}

static void *
engine_calloc(size_t count, size_t size, void *context)
{
    (void)context;
    return memory_new(count, size);
}

static void *
engine_realloc(void *memory, size_t size, void *context)
{
    (void)context;
    return memory_resize(memory, size);
}

static void
option_delp(nghttp2_option **option)
{
    nghttp2_option_del(*option);
}

static void
callbacks_delp(nghttp2_session_callbacks **callbacks)
{
    nghttp2_session_callbacks_del(*callbacks);
}

static int
engine_new(Session *session)
{
    CLEANUP(callbacks_delp) nghttp2_session_callbacks *callbacks = callbacks_new();
    CLEANUP(option_delp) nghttp2_option *option = NULL;
    if (callbacks == NULL || nghttp2_option_new(&option) != 0) {
        return NGHTTP2_ERR_NOMEM;
    }
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_no_closed_streams(option, 1);
    /* flood.h has a stricter limit, which answers with ENHANCE_YOUR_CALM. */
    nghttp2_option_set_stream_reset_rate_limit(option, UINT32_MAX, UINT32_MAX);
    nghttp2_mem memory = {NULL, engine_malloc, engine_free, engine_calloc, engine_realloc};
    return session->is_server
               ? nghttp2_session_server_new3(&session->engine, callbacks, session, option, &memory)
               : nghttp2_session_client_new3(&session->engine, callbacks, session, option, &memory);
}

static int
submit_settings(Session *session, uint32_t stream_count_max, uint32_t window_size)
{
    const nghttp2_settings_entry entries[] = {
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window_size == 0 ? SESSION_WINDOW_SIZE : window_size},
        {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, SESSION_FRAME_SIZE},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, SESSION_HEADER_LIST_SIZE},
        session->is_server
            ? (nghttp2_settings_entry){NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, stream_count_max}
            : (nghttp2_settings_entry){NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
    };
    int failure = nghttp2_submit_settings(session->engine, NGHTTP2_FLAG_NONE, entries, COUNT_OF(entries));
    return failure != 0 ? failure
                        : nghttp2_session_set_local_window_size(
                              session->engine, NGHTTP2_FLAG_NONE, 0, SESSION_CONNECTION_WINDOW_SIZE);
}

Status
session_init(Call *call, Session *session, const SessionOptions *options)
{
    uint32_t stream_count_max =
        options->stream_count_max == 0 ? SESSION_STREAMS_DEFAULT : options->stream_count_max;
    assert(options->handlers != NULL);
    *session = (Session){
        .connection = options->connection,
        .handlers = options->handlers,
        .hooks = options->hooks,
        .is_server = options->is_server,
        .streams.item_size = sizeof(Stream),
        .now_ns = options->now_ns,
    };
    list_init(&session->open);
    list_init(&session->closing);
    list_init(&session->writable);
    segment_store_init(&session->segments);
    session->output.store = &session->segments;
    flood_init(&session->flood, stream_count_max, options->now_ns);
    if (engine_new(session) != 0 || submit_settings(session, stream_count_max, options->window_size) != 0) {
        session_done(session);
        return call_fail_memory(call, "an HTTP/2 session");
    }
    return STATUS_OK;
}

void
session_done(Session *session)
{
    session_block_clear(&session->block);
    nghttp2_session_del(session->engine);
    session->engine = NULL;
    output_done(&session->output);
    segment_store_done(&session->segments);
    pool_done(&session->streams);
}
