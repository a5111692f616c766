#include "shared/h2/session.h"

#include <assert.h>
#include <string.h>

#include "shared/base/memory.h"
#include "shared/h2/codes.h"

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

void
session_receive(Session *session, Slice bytes, uint64_t now_ns)
{
    session->now_ns = now_ns;
    session->received += bytes.size;
    ssize_t taken = nghttp2_session_mem_recv(session->engine, (const uint8_t *)bytes.data, bytes.size);
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
    assert(session->depth > 0);

    Output *output = &session->output;
    session->fill_budget = budget;
    while (!session->is_finished && output->size < budget) {
        const uint8_t *frame = NULL;
        ssize_t size = nghttp2_session_mem_send(session->engine, &frame);
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

/* Begins as RFC 9113 6.8 has it: first a GOAWAY that names no last stream, so that requests on their way
 * are still served; a round trip later the GOAWAY that names one. */
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
    assert(session->is_shutting_down);

    int32_t last_id = nghttp2_session_get_last_proc_stream_id(session->engine);
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

/* Writes the GOAWAY by hand, for the engine cannot be asked after it has failed. The output holds whole
 * frames, so that this one may follow them. */
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
    bool is_told = output_copy(&session->output, frame, sizeof frame);
    session_finish(session, is_told ? reason : STATUS_RESOURCE_EXHAUSTED);
}

void *
session_reset_mark(void)
{
    static char mark;
    return &mark;
}

Stream *
session_stream_new(Session *session, const H2Handlers *handlers)
{
    const H2Handlers *told = handlers == NULL ? session->handlers : handlers;
    assert(told->on_close != NULL);
    Stream *stream = pool_take(&session->streams);
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
    assert(stream->session->stream_count > 0);

    Session *session = stream->session;
    list_remove(&stream->siblings);
    list_remove(&stream->writable);
    session->stream_count--;
    pool_give(&session->streams, stream);
}

Stream *
session_stream_find(const Session *session, int32_t id)
{
    void *found = nghttp2_session_get_stream_user_data(session->engine, id);
    return found == session_reset_mark() ? NULL : found;
}

void
session_stream_close(Stream *stream, Status reason, void *mark)
{
    if (stream->is_closing) {
        return;
    }
    Session *session = stream->session;
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
        Segment *next = segment->next;
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
    assert(session->depth > 0);

    if (session->depth == 1) {
        run_pending(session);
        if (session->is_finished) {
            session->hooks->finished(session);
            return;
        }
    }
    session->depth--;
}
