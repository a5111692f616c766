/* The writer queues pieces; libmicrohttpd asks for bytes whenever the socket takes some. When the queue is
 * empty the connection is suspended (an answer of 0 bytes alone would make libmicrohttpd ask again at once,
 * for ever), and the next piece, the end or an abort resumes it. */
#include "gateway/http/stream.h"

#include <assert.h>

#include "gateway/http/internals.h"
#include "shared/base/memory.h"

/* Sizes of the buffer that a sized reply is read into and sent from. libmicrohttpd reads chunks of a chunked
 * reply into the connection's memory instead. */
enum { CHUNKED_BLOCK_SIZE = 1024, SIZED_BLOCK_SIZE = 256 * 1024 };

struct StreamPiece {
    StreamPiece *next;
    Slice rest;
    ArenaRelease release;
    void *resource;
    char copy[];
};

static void
piece_drop(HttpStream *stream)
{
    StreamPiece *piece = stream->first;
    stream->first = piece->next;
    stream->last = stream->first == NULL ? &stream->first : stream->last;
    stream->queued -= piece->rest.size;
    if (piece->release != NULL) {
        piece->release(piece->resource);
    }
    memory_free(piece);
}

static size_t
pieces_read(HttpStream *stream, char *buffer, size_t size)
{
    size_t taken = 0;
    while (taken < size && stream->first != NULL) {
        Slice *rest = &stream->first->rest;
        size_t part = rest->size < size - taken ? rest->size : size - taken;
        memcpy(buffer + taken, rest->data, part);
        *rest = slice_part(*rest, part, rest->size);
        stream->queued -= part;
        taken += part;
        if (rest->size == 0) {
            piece_drop(stream);
        }
    }
    return taken;
}

static void
stream_wake(HttpStream *stream)
{
    if (stream->is_waiting) {
        stream->is_waiting = false;
        connection_resume(stream->connection);
    }
}

static bool
piece_add(HttpStream *stream, StreamPiece *piece, size_t size)
{
    piece->rest.size = size;
    *stream->last = piece;
    stream->last = &piece->next;
    stream->queued += size;
    stream->owes_drained = stream->owes_drained || stream->queued > stream->low;
    stream_wake(stream);
    return true;
}

bool
http_stream_write(HttpStream *stream, Slice bytes, ArenaRelease release, void *resource)
{
    bool is_open = !stream->has_ended && !stream->is_aborted;
    StreamPiece *piece = is_open && bytes.size > 0 ? memory_new(1, sizeof *piece) : NULL;
    if (piece == NULL) {
        if (release != NULL) {
            release(resource);
        }
        if (is_open && bytes.size > 0) {
            http_stream_abort(stream);
        }
        return is_open && bytes.size == 0;
    }
    *piece = (StreamPiece){.rest = bytes, .release = release, .resource = resource};
    return piece_add(stream, piece, bytes.size);
}

bool
http_stream_copy(HttpStream *stream, Slice bytes)
{
    if (stream->has_ended || stream->is_aborted || bytes.size == 0) {
        return bytes.size == 0;
    }
    StreamPiece *piece = memory_resize(NULL, sizeof *piece + bytes.size);
    if (piece == NULL) {
        http_stream_abort(stream);
        return false;
    }
    *piece = (StreamPiece){.rest.data = piece->copy};
    memcpy(piece->copy, bytes.data, bytes.size);
    return piece_add(stream, piece, bytes.size);
}

size_t
http_stream_queued(const HttpStream *stream)
{
    return stream->queued;
}

void
http_stream_low(HttpStream *stream, size_t size)
{
    stream->low = size;
    stream->owes_drained = stream->owes_drained || stream->queued > size;
}

bool
http_stream_is_full(const HttpStream *stream)
{
    return stream->owes_drained && stream->queued > stream->low;
}

/* Asks the kernel only of a stream that has given it enough. */
bool
http_stream_is_starved(const HttpStream *stream, uint64_t size)
{
    return stream->is_waiting && stream->sent >= size &&
           stream->sent - size >= connection_unacknowledged(stream->connection);
}

void
http_stream_size(HttpStream *stream, uint64_t size)
{
    stream->size = size;
}

void
http_stream_end(HttpStream *stream)
{
    stream->has_ended = true;
    stream_wake(stream);
}

void
http_stream_cut(HttpStream *stream)
{
    stream->is_cut = true;
    http_stream_end(stream);
}

void
http_stream_abort(HttpStream *stream)
{
    stream->is_aborted = true;
    stream_wake(stream);
}

static void
tell_drained(HttpStream *stream)
{
    if (stream->owes_drained && stream->queued <= stream->low && !stream->has_ended &&
        stream->events->drained != NULL) {
        stream->owes_drained = false;
        stream->events->drained(stream, stream->owner);
    }
}

static void
stream_wait(HttpStream *stream)
{
    Connection *connection = stream->connection;
    stream->is_waiting = true;
    connection_suspend(connection);
    if (connection->is_gone) {
        connection->owner->events->hung_up(connection->exchange);
    }
}

static ssize_t
stream_read(void *owner, uint64_t position, char *buffer, size_t size)
{
    (void)position;
    HttpStream *stream = owner;
    if (stream->connection == NULL || stream->is_aborted) {
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    size_t taken = pieces_read(stream, buffer, size);
    stream->sent += taken;
    tell_drained(stream);
    if (taken > 0) {
        return (ssize_t)taken;
    }
    if (stream->first != NULL) {
        return (ssize_t)pieces_read(stream, buffer, size);
    }
    if (stream->is_aborted || stream->is_cut) {
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    if (stream->has_ended) {
        stream->is_complete = true;
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    stream_wait(stream);
    return 0;
}

struct MHD_Response *
stream_response(HttpStream *stream)
{
    assert(stream->connection != NULL);

    size_t sized = stream->size < SIZED_BLOCK_SIZE ? (size_t)stream->size + 1 : SIZED_BLOCK_SIZE;
    size_t block_size = stream->size == MHD_SIZE_UNKNOWN ? CHUNKED_BLOCK_SIZE : sized;
    return MHD_create_response_from_callback(stream->size, block_size, stream_read, stream, NULL);
}

HttpStream *
stream_open(HttpStream *stream, Connection *connection, const HttpStreamEvents *events, void *owner)
{
    assert(stream->connection == NULL && connection != NULL && events->closed != NULL);

    *stream = (HttpStream){
        .connection = connection,
        .events = events,
        .owner = owner,
        .low = HTTP_STREAM_LOW,
        .size = MHD_SIZE_UNKNOWN,
    };
    stream->last = &stream->first;
    return stream;
}

void
stream_close(HttpStream *stream, bool is_sent)
{
    if (stream->connection == NULL) {
        return;
    }
    while (stream->first != NULL) {
        piece_drop(stream);
    }
    /* libmicrohttpd does not ask for the end of a body whose size it knows. */
    bool is_complete = stream->is_complete || (stream->size != MHD_SIZE_UNKNOWN && is_sent);
    stream->connection = NULL;
    stream->events->closed(stream->owner, is_complete && !stream->is_aborted);
}

/* Tells the writer now; libmicrohttpd learns it when it asks for more. */
void
stream_cancel(HttpStream *stream)
{
    Connection *connection = stream->connection;
    if (connection == NULL) {
        return;
    }
    stream->is_aborted = true;
    stream_close(stream, false);
    connection_resume(connection);
}
