/* A body that is written in pieces while it is being sent (chunked transfer coding).
 *
 * The pieces are queued without copying; the one copy is into libmicrohttpd's send buffer. Backpressure:
 * the writer asks http_stream_queued() and stops above what it wants to hold; `drained` tells it when the
 * queue has fallen under what http_stream_low() has set. A stream that is cut or aborted ends without the
 * last chunk and closes the connection, so that the client can tell a cut result from a whole one (RFC
 * 9112 7.1, 8).
 *
 * Ownership: the exchange's. The stream is gone after `closed`, which comes once, also after an end or an
 * abort.
 * Threads:   the loop thread only.
 * Errors:    a stream without memory is aborted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/arena.h"
#include "shared/base/slice.h"

enum { HTTP_STREAM_LOW = 256 * 1024 }; /* bytes, unless set otherwise */

typedef struct HttpStream HttpStream;

typedef struct HttpStreamEvents {
    void (*drained)(HttpStream *stream, void *owner); /* more may be written at once; NULL is allowed */
    /* `is_complete`: all that was written has gone to the socket's send buffer. */
    void (*closed)(void *owner, bool is_complete);
} HttpStreamEvents;

/* Queues bytes of another owner; `release(resource)` is called when they have been sent or dropped. False
 * when memory is lacking: the bytes were released and the stream is aborted. */
bool http_stream_write(HttpStream *stream, Slice bytes, ArenaRelease release, void *resource);

/* Queues a copy, for small pieces. */
bool http_stream_copy(HttpStream *stream, Slice bytes);

size_t http_stream_queued(const HttpStream *stream); /* bytes */
void http_stream_low(HttpStream *stream, size_t size);
bool http_stream_is_full(const HttpStream *stream); /* `drained` will be called */

/* Returns whether the client's system has acknowledged at least `size` bytes and nothing waits to be sent: if
 * `size` is more than its receive buffer has room for, the client reads, and faster than the writer writes.
 */
bool http_stream_is_starved(const HttpStream *stream, uint64_t size);

/* Sets the size of the whole body in bytes, before exchange_finish(): it is then sent with a
 * Content-Length, not chunked. */
void http_stream_size(HttpStream *stream, uint64_t size);

void http_stream_end(HttpStream *stream);
void http_stream_cut(HttpStream *stream);   /* ends it after what is queued, without the last chunk */
void http_stream_abort(HttpStream *stream); /* drops what is queued */
