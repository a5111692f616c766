#include "shared/h2/session.h"

#include <assert.h>
#include <string.h>

#include "shared/base/memory.h"
#include "shared/h2/codes.h"

/* --- Engine --------------------------------------------------------------------------------------------- */

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
    CLEANUP(callbacks_delp) nghttp2_session_callbacks *callbacks = session_callbacks_new();
    CLEANUP(option_delp) nghttp2_option *option = NULL;
    if (callbacks == NULL || nghttp2_option_new(&option) != 0) {
        return NGHTTP2_ERR_NOMEM;
    }
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_no_closed_streams(option, 1);
    /* Ours is the stricter one (flood.h), and answers with ENHANCE_YOUR_CALM. */
    nghttp2_option_set_stream_reset_rate_limit(option, UINT32_MAX, UINT32_MAX);
    nghttp2_mem memory = {NULL, engine_malloc, engine_free, engine_calloc, engine_realloc};
    return session->is_server
               ? nghttp2_session_server_new3(&session->engine, callbacks, session, option, &memory)
               : nghttp2_session_client_new3(&session->engine, callbacks, session, option, &memory);
}

static int
submit_settings(Session *session, uint32_t stream_count_max)
{
    const nghttp2_settings_entry entries[] = {
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, SESSION_WINDOW_SIZE},
        {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, SESSION_FRAME_SIZE},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, SESSION_HEADER_LIST_SIZE},
        session->is_server
            ? (nghttp2_settings_entry){NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, stream_count_max}
            : (nghttp2_settings_entry){NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
    };
    const int failure =
        nghttp2_submit_settings(session->engine, NGHTTP2_FLAG_NONE, entries, COUNT_OF(entries));
    return failure != 0 ? failure
                        : nghttp2_session_set_local_window_size(
                              session->engine, NGHTTP2_FLAG_NONE, 0, SESSION_CONNECTION_WINDOW_SIZE);
}

Status
session_init(Call *call, Session *session, const SessionOptions *options)
{
    const uint32_t stream_count_max =
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
    if (engine_new(session) != 0 || submit_settings(session, stream_count_max) != 0) {
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

void
session_block_clear(HeaderBlock *block)
{
    while (block->count > 0) {
        block->count--;
        nghttp2_rcbuf_decref(block->names[block->count]);
        nghttp2_rcbuf_decref(block->values[block->count]);
    }
    block->size = 0;
    block->has_too_many = false;
}

/* --- Bytes ---------------------------------------------------------------------------------------------- */

void
session_receive(Session *session, Slice bytes, uint64_t now_ns)
{
    session->now_ns = now_ns;
    session->received += bytes.size;
    const ssize_t taken = nghttp2_session_mem_recv(session->engine, (const uint8_t *)bytes.data, bytes.size);
    if (taken < 0) {
        session_fail(session, h2_code_of_failure((int)taken), h2_status_of_failure((int)taken));
    }
    if (session_has_more(session)) {
        session->hooks->wants_write(session);
    }
}

void
session_fill(Session *session, size_t budget)
{
    Output *const output = &session->output;
    session->fill_budget = budget;
    while (!session->is_finished && output->size < budget) {
        const uint8_t *frame = NULL;
        const ssize_t size = nghttp2_session_mem_send(session->engine, &frame);
        if (size < 0) {
            session_fail(session, h2_code_of_failure((int)size), h2_status_of_failure((int)size));
        }
        if (size <= 0) {
            return;
        }
        if (!output_copy(output, frame, (size_t)size)) {
            session_finish(session, STATUS_RESOURCE_EXHAUSTED);
        }
    }
}

bool
session_has_more(const Session *session)
{
    return !session->is_finished && nghttp2_session_want_write(session->engine) != 0;
}

bool
session_is_over(const Session *session)
{
    return session->output.size == 0 && nghttp2_session_want_write(session->engine) == 0 &&
           nghttp2_session_want_read(session->engine) == 0;
}

/* --- Ends ----------------------------------------------------------------------------------------------- */

static const uint8_t shutdown_ping[8] = "shutdown";

static void
send_ping(Session *session, const uint8_t *opaque)
{
    if (nghttp2_submit_ping(session->engine, NGHTTP2_FLAG_NONE, opaque) != 0) {
        session_finish(session, STATUS_RESOURCE_EXHAUSTED);
        return;
    }
    session->hooks->wants_write(session);
}

void
session_ping(Session *session)
{
    send_ping(session, NULL);
}

bool
session_ping_ends_shutdown(const uint8_t opaque[8])
{
    return memcmp(opaque, shutdown_ping, sizeof shutdown_ping) == 0;
}

/* RFC 9113 6.8: first a GOAWAY that names no last stream, so that requests on their way are still served;
 * a round trip later the one that does. */
void
session_shutdown_begin(Session *session)
{
    session->is_shutting_down = true;
    if (!session->is_server) {
        session_shutdown_end(session);
    } else if (nghttp2_submit_shutdown_notice(session->engine) != 0) {
        session_finish(session, STATUS_RESOURCE_EXHAUSTED);
    } else {
        send_ping(session, shutdown_ping);
    }
}

void
session_shutdown_end(Session *session)
{
    const int32_t last_id = nghttp2_session_get_last_proc_stream_id(session->engine);
    if (nghttp2_submit_goaway(session->engine, NGHTTP2_FLAG_NONE, last_id, NGHTTP2_NO_ERROR, NULL, 0) != 0) {
        session_finish(session, STATUS_RESOURCE_EXHAUSTED);
        return;
    }
    session->hooks->wants_write(session);
}

void
session_finish(Session *session, Status reason)
{
    if (!session->is_finished) {
        session->is_finished = true;
        session->reason = reason;
    }
}

static void
put_uint32(uint8_t *bytes, uint32_t value)
{
    bytes[0] = (uint8_t)(value >> 24);
    bytes[1] = (uint8_t)(value >> 16);
    bytes[2] = (uint8_t)(value >> 8);
    bytes[3] = (uint8_t)value;
}

/* Written by hand, for the engine cannot be asked after it has failed. The output holds whole frames, so
 * that this one may stand behind them. */
void
session_fail(Session *session, uint32_t error_code, Status reason)
{
    if (session->is_finished) {
        return;
    }
    enum { PAYLOAD_SIZE = 8, FRAME_SIZE = 9 + PAYLOAD_SIZE };
    uint8_t frame[FRAME_SIZE] = {[2] = PAYLOAD_SIZE, [3] = NGHTTP2_GOAWAY};
    put_uint32(frame + 9, (uint32_t)nghttp2_session_get_last_proc_stream_id(session->engine));
    put_uint32(frame + 13, error_code);
    const bool is_told = output_copy(&session->output, frame, sizeof frame);
    session_finish(session, is_told ? reason : STATUS_RESOURCE_EXHAUSTED);
}

/* --- Streams -------------------------------------------------------------------------------------------- */

void *
session_reset_mark(void)
{
    static char mark;
    return &mark;
}

Stream *
session_stream_new(Session *session, const H2Handlers *handlers)
{
    const H2Handlers *const told = handlers == NULL ? session->handlers : handlers;
    assert(told->on_close != NULL);
    Stream *const stream = pool_take(&session->streams);
    if (stream != NULL) {
        stream->session = session;
        stream->public.connection = session->connection;
        stream->public.handlers = told;
        list_append(&session->open, &stream->siblings);
        list_init(&stream->writable);
        session->stream_count++;
    }
    return stream;
}

void
session_stream_forget(Stream *stream)
{
    Session *const session = stream->session;
    list_remove(&stream->siblings);
    list_remove(&stream->writable);
    session->stream_count--;
    pool_give(&session->streams, stream);
}

Stream *
session_stream_find(const Session *session, int32_t id)
{
    void *const found = nghttp2_session_get_stream_user_data(session->engine, id);
    return found == session_reset_mark() ? NULL : found;
}

void
session_stream_close(Stream *stream, Status reason, void *mark)
{
    if (stream->is_closing) {
        return;
    }
    Session *const session = stream->session;
    stream->is_closing = true;
    stream->reason = reason;
    list_remove(&stream->writable);
    list_remove(&stream->siblings);
    list_append(&session->closing, &stream->siblings);
    (void)nghttp2_session_set_stream_user_data(session->engine, stream->public.id, mark);
}

static void
drop_queue(Stream *stream)
{
    Segment *segment = stream->queue_first;
    stream->queue_first = NULL;
    stream->queue_last = NULL;
    stream->queued = 0;
    while (segment != NULL) {
        Segment *const next = segment->next;
        segment_unref(&stream->session->segments, segment);
        segment = next;
    }
}

static void
end_stream(Stream *stream)
{
    drop_queue(stream);
    stream->public.handlers->on_close(&stream->public, stream->reason);
    session_stream_forget(stream);
}

void
session_close_streams(Session *session, Status reason)
{
    while (!list_is_empty(&session->open)) {
        session_stream_close(LIST_ITEM(list_first(&session->open), Stream, siblings), reason, NULL);
    }
    output_advance(&session->output, session->output.size);
    while (!list_is_empty(&session->closing) || segment_store_has_releases(&session->segments)) {
        segment_store_run_releases(&session->segments);
        if (!list_is_empty(&session->closing)) {
            end_stream(LIST_ITEM(list_first(&session->closing), Stream, siblings));
        }
    }
}

static void
tell_writable(Stream *stream)
{
    list_remove(&stream->writable);
    if (stream->public.handlers->on_writable != NULL) {
        stream->public.handlers->on_writable(&stream->public);
    }
}

static void
run_pending(Session *session)
{
    for (;;) {
        segment_store_run_releases(&session->segments);
        if (!list_is_empty(&session->closing)) {
            end_stream(LIST_ITEM(list_first(&session->closing), Stream, siblings));
        } else if (!list_is_empty(&session->writable)) {
            tell_writable(LIST_ITEM(list_first(&session->writable), Stream, writable));
        } else if (!segment_store_has_releases(&session->segments)) {
            return;
        }
    }
}

void
session_leave(Session *session)
{
    if (session->depth == 1) {
        run_pending(session);
        if (session->is_finished) {
            session->hooks->finished(session);
            return;
        }
    }
    session->depth--;
}
