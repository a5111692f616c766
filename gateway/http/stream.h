/* A body that is written in pieces while it is being sent (chunked transfer coding).
 *
 * The pieces are queued without copying; the one copy is into libmicrohttpd's send buffer. Backpressure: the
 * writer asks http_stream_queued() and stops above what it wants to hold; `drained` tells when the queue has
 * fallen under HTTP_STREAM_LOW. A stream that is cut or aborted ends without the last chunk and closes the
 * connection, so that the client can tell a cut result from a whole one (RFC 9112 7.1, 8).
 *
 * Ownership: the exchange's. After `closed` the stream is gone: it comes once, also after an end or an abort.
 * Threads:   the loop thread only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/arena.h"
#include "shared/base/slice.h"

enum { HTTP_STREAM_LOW = 256 * 1024 };

typedef struct HttpStream HttpStream;

typedef struct HttpStreamEvents {
    void (*drained)(HttpStream *stream, void *owner); /* may write more at once; NULL is allowed */
    /* `is_complete`: all that was written has gone to the socket's send buffer. */
    void (*closed)(void *owner, bool is_complete);
} HttpStreamEvents;

/* Queues bytes that somebody else owns; `release(resource)` is called when they have been sent or dropped.
 * False when memory ends: the bytes were released and the stream is aborted. */
bool http_stream_write(HttpStream *stream, Slice bytes, ArenaRelease release, void *resource);

/* Queues a copy: for small pieces. */
bool http_stream_copy(HttpStream *stream, Slice bytes);

size_t http_stream_queued(const HttpStream *stream); /* bytes */

/* The size of the whole body in bytes, when it is known before exchange_finish(): it is sent with a
 * Content-Length then, not chunked. */
void http_stream_size(HttpStream *stream, uint64_t size);

void http_stream_end(HttpStream *stream);
void http_stream_cut(HttpStream *stream);   /* sends what is queued first */
void http_stream_abort(HttpStream *stream); /* drops it */
