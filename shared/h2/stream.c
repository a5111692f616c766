/* The calls of a stream's user: requests and answers, the bytes of bodies, resets. */
#include <assert.h>

#include "shared/h2/codes.h"
#include "shared/h2/session.h"

static Stream *
stream_of(H2Stream *stream)
{
    return (Stream *)(void *)stream;
}

static nghttp2_nv
engine_header(Slice name, Slice value)
{
    return (nghttp2_nv){
        .name = output_mutable(name.data),
        .namelen = name.size,
        .value = output_mutable(value.data),
        .valuelen = value.size,
    };
}

static void
put_headers(nghttp2_nv *fields, const H2Header *headers, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        fields[index] = engine_header(headers[index].name, headers[index].value);
    }
}

static void
wake_writer(const Stream *stream)
{
    stream->session->hooks->wants_write(stream->session);
}

/* Resets the stream without on_close yet: that comes with the flush at the end of the turn, so that a
 * caller whose write has failed still holds a stream. */
static void
reset_later(Stream *stream, Status reason)
{
    Session *session = stream->session;
    if (stream->is_closing) {
        return;
    }
    session_stream_close(stream, reason, session_reset_mark());
    if (nghttp2_submit_rst_stream(
            session->engine, NGHTTP2_FLAG_NONE, stream->public.id, h2_code_of_status(reason)) != 0) {
        session_finish(session, STATUS_RESOURCE_EXHAUSTED);
    }
    wake_writer(stream);
}

/* NOLINTBEGIN(readability-non-const-parameter, readability-function-size): the library's signature */
/* Tells the engine how many of the stream's bytes go into the next DATA frame. */
static ssize_t
read_data(nghttp2_session *engine, int32_t id, uint8_t *buffer, size_t size, uint32_t *flags,
    nghttp2_data_source *source, void *context)
{
    (void)engine;
    (void)buffer;
    (void)source;
    const Session *session = context;
    Stream *stream = session_stream_find(session, id);
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
/* NOLINTEND(readability-non-const-parameter, readability-function-size) */

static nghttp2_data_provider
data_provider(void)
{
    return (nghttp2_data_provider){.read_callback = read_data};
}

static Stream *
open_request(
    Session *session, const nghttp2_nv *headers, size_t count, bool is_last, const H2Handlers *handlers)
{
    if (session->is_finished || session->is_shutting_down ||
        nghttp2_session_check_request_allowed(session->engine) == 0) {
        return NULL;
    }
    Stream *stream = session_stream_new(session, handlers);
    if (stream == NULL) {
        return NULL;
    }
    nghttp2_data_provider body = data_provider();
    int32_t id =
        nghttp2_submit_request(session->engine, NULL, headers, count, is_last ? NULL : &body, stream);
    if (id < 0) {
        session_stream_forget(stream);
        return NULL;
    }
    stream->public.id = id;
    stream->is_ended = is_last;
    stream->is_end_sent = is_last;
    return stream;
}

H2Stream *
session_request(Session *session, const H2Header *headers, size_t count, bool is_last,
    const H2Handlers *handlers, void *context)
{
    assert(count <= H2_HEADERS_MAX && !session->is_server);
    nghttp2_nv fields[H2_HEADERS_MAX];
    put_headers(fields, headers, count);
    Stream *stream = open_request(session, fields, count, is_last, handlers);
    if (stream == NULL) {
        return NULL;
    }
    stream->public.context = context;
    wake_writer(stream);
    return &stream->public;
}

static void
put_status(char digits[3], int status)
{
    assert(status >= 200 && status <= 999);
    digits[0] = (char)('0' + status / 100);
    digits[1] = (char)('0' + status / 10 % 10);
    digits[2] = (char)('0' + status % 10);
}

void
h2_respond(H2Stream *stream, int status, const H2Header *headers, size_t count, bool is_last)
{
    Stream *this = stream_of(stream);
    assert(this->session->is_server && !this->has_responded && count < H2_HEADERS_MAX);
    if (this->is_closing) {
        return;
    }
    char digits[3];
    put_status(digits, status);
    nghttp2_nv fields[H2_HEADERS_MAX];
    fields[0] = engine_header(SLICE(":status"), slice_of(digits, sizeof digits));
    put_headers(fields + 1, headers, count);
    nghttp2_data_provider body = data_provider();
    this->has_responded = true;
    if (nghttp2_submit_response(
            this->session->engine, stream->id, fields, count + 1, is_last ? NULL : &body) != 0) {
        reset_later(this, STATUS_RESOURCE_EXHAUSTED);
        return;
    }
    this->is_ended = this->is_ended || is_last;
    this->is_end_sent = is_last;
    wake_writer(this);
}

static void
resume_sending(Stream *stream)
{
    if (stream->is_deferred) {
        stream->is_deferred = false;
        (void)nghttp2_session_resume_data(stream->session->engine, stream->public.id);
    }
    wake_writer(stream);
}

static void
queue_append(Stream *stream, Segment *segment)
{
    if (stream->queue_last == NULL) {
        stream->queue_first = segment;
    } else {
        stream->queue_last->next = segment;
    }
    stream->queue_last = segment;
}

static void
count_written(Stream *stream, size_t size)
{
    stream->queued += size;
    stream->wants_room = stream->wants_room || stream->queued >= H2_WRITE_LOW;
    resume_sending(stream);
}

static bool
can_write(const Stream *stream)
{
    return !stream->is_closing && !stream->is_ended;
}

/* Resets the stream when there is no memory: the body would have a hole. */
bool
h2_stream_write(H2Stream *stream, Slice data, H2Release release, void *owner)
{
    Stream *this = stream_of(stream);
    bool is_open = can_write(this);
    bool is_empty = data.size == 0;
    Segment *segment =
        is_open && !is_empty ? segment_new(&this->session->segments, data, release, owner) : NULL;
    if (segment == NULL) {
        if (is_open && !is_empty) {
            reset_later(this, STATUS_RESOURCE_EXHAUSTED);
        }
        if (release != NULL) {
            release(owner);
        }
        return is_open && is_empty;
    }
    queue_append(this, segment);
    count_written(this, data.size);
    return true;
}

bool
h2_stream_write_copy(H2Stream *stream, Slice data)
{
    Stream *this = stream_of(stream);
    if (!can_write(this)) {
        return false;
    }
    if (data.size == 0) {
        return true;
    }
    if (this->queue_last == NULL || !segment_append(this->queue_last, data)) {
        Segment *segment = segment_new_copy(&this->session->segments, data);
        if (segment == NULL) {
            reset_later(this, STATUS_RESOURCE_EXHAUSTED);
            return false;
        }
        queue_append(this, segment);
    }
    count_written(this, data.size);
    return true;
}

size_t
h2_stream_queued(const H2Stream *stream)
{
    return ((const Stream *)(const void *)stream)->queued;
}

void
h2_stream_end(H2Stream *stream)
{
    Stream *this = stream_of(stream);
    if (can_write(this)) {
        this->is_ended = true;
        resume_sending(this);
    }
}

void
h2_stream_consume(H2Stream *stream, size_t size)
{
    Stream *this = stream_of(stream);
    assert(this->is_closing || size <= this->unconsumed);
    if (this->is_closing || size == 0) {
        return;
    }
    this->unconsumed -= size;
    if (nghttp2_session_consume_stream(this->session->engine, stream->id, size) != 0) {
        reset_later(this, STATUS_RESOURCE_EXHAUSTED);
        return;
    }
    if (session_has_more(this->session)) {
        wake_writer(this);
    }
}

void
h2_stream_widen(H2Stream *stream, uint32_t size)
{
    assert(size <= SESSION_CONNECTION_WINDOW_SIZE);

    Stream *this = stream_of(stream);
    nghttp2_session *engine = this->session->engine;
    int32_t before = nghttp2_session_get_stream_effective_local_window_size(engine, stream->id);
    if (this->is_closing || before >= (int32_t)size) {
        return;
    }
    if (nghttp2_session_set_local_window_size(engine, NGHTTP2_FLAG_NONE, stream->id, (int32_t)size) != 0) {
        reset_later(this, STATUS_RESOURCE_EXHAUSTED);
        return;
    }
    wake_writer(this);
}

void
h2_stream_reset(H2Stream *stream, Status reason)
{
    Session *session = stream_of(stream)->session;
    session_enter(session);
    reset_later(stream_of(stream), reason);
    session_leave(session);
}
