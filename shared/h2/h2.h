/* One HTTP/2 connection (RFC 9113), client or server, over a socket on a Loop. Requests and answers are
 * streams; bodies go out without a copy from the sender's own buffers and come in as the receiver drains.
 *
 * Measured choices: a window of 1 MiB a stream unless the options say less, opened by h2_stream_consume();
 * frames of 64 KiB; at most
 * 256 KiB written a loop turn, so that a small message beside a large one waits microseconds. Floods
 * (PING, SETTINGS, empty DATA, WINDOW_UPDATE, PRIORITY, RST, CONTINUATION, header lists over 32 KiB) end
 * the connection with ENHANCE_YOUR_CALM; a stream with more than H2_HEADERS_MAX headers is reset with it.
 * A request that breaks the rules of HTTP is reset before the user is told.
 *
 * Ownership: a connection owns its socket and streams. An H2Stream pointer is valid until its on_close has
 *            returned. The user hangs state on `stream->context` and frees it in on_close.
 * Threads:   all calls on the loop's thread.
 * Errors:    a stream ends with a Status: OK (both sides ended), CANCELLED (peer reset with CANCEL or
 *            NO_ERROR), UNAVAILABLE (connection lost, refused, GOAWAY), DEADLINE_EXCEEDED never (callers own
 *            time), RESOURCE_EXHAUSTED (ENHANCE_YOUR_CALM), INTERNAL (protocol error). */
#pragma once

#include "shared/base/call.h"
#include "shared/base/slice.h"
#include "shared/net/loop.h"

typedef struct H2Connection H2Connection;
typedef struct H2Stream H2Stream;

enum { H2_HEADERS_MAX = 32 };

typedef struct H2Header {
    Slice name; /* lower case */
    Slice value;
} H2Header;

/* The user's callbacks. All are optional but on_close. */
typedef struct H2Handlers {
    /* The headers are complete: on a server those of a request (`:method`, `:path` among them), on a
     * client those of the final answer (`:status` among them). They live until the callback returns.
     * `is_last`: no body follows. */
    void (*on_headers)(H2Stream *stream, const H2Header *headers, size_t count, bool is_last);
    /* A piece of the body has come. The sender may send more only as h2_stream_consume() gives the bytes
     * back. */
    void (*on_data)(H2Stream *stream, Slice data);
    /* The peer has ended its side in good order, with headers or with a body. */
    void (*on_end)(H2Stream *stream);
    /* Tells of room: the bytes queued by h2_stream_write() have fallen under H2_WRITE_LOW. */
    void (*on_writable)(H2Stream *stream);
    /* The stream has ended, with one of the reasons named above. It is the last call for this stream. */
    void (*on_close)(H2Stream *stream, Status reason);
    /* The connection is gone, after on_close of all its streams, and will be freed when this returns. */
    void (*on_disconnect)(H2Connection *connection, Status reason);
} H2Handlers;

enum { H2_WRITE_LOW = 256 * 1024, H2_WRITE_HIGH = 1024 * 1024 };

struct H2Stream {
    H2Connection *connection;
    int32_t id;
    void *context;              /* the user's */
    const H2Handlers *handlers; /* the connection's; may be replaced on one stream */
};

typedef struct H2Options {
    const H2Handlers *handlers;  /* live as long as the connection */
    void *context;               /* the user's, for the whole connection */
    uint32_t stream_count_max;   /* that the peer may open (0: 1024); more are refused, or end the
                                  * connection */
    uint32_t ping_interval_ms;   /* 0: 2000. The connection is lost after three unanswered */
    uint32_t connect_timeout_ms; /* 0: 1000; client only */
    uint32_t window_size;        /* bytes of a stream that the peer may have under way; 0: 1 MiB */
} H2Options;

/* Takes over an accepted socket as a server; closes it when that fails. */
MUST_USE Status h2_accept(Call *call, Loop *loop, int fd, const H2Options *options, H2Connection **ret);

/* Starts connecting to "host:port" as a client, with prior knowledge. The host is a number: a name would
 * wait for the resolver. Requests may be submitted at once; they go out when the connection stands, or
 * close with UNAVAILABLE. */
MUST_USE Status h2_connect(
    Call *call, Loop *loop, const char *address, const H2Options *options, H2Connection **ret);

void *h2_context(const H2Connection *connection);
bool h2_is_connected(const H2Connection *connection); /* false: it is still being opened, or never was */
size_t h2_stream_count(const H2Connection *connection);

/* Ends in good order: GOAWAY now, the socket when the last stream has ended. on_disconnect says OK then;
 * the other side is told UNAVAILABLE. */
void h2_shutdown(H2Connection *connection);

/* Ends now: every stream closes with UNAVAILABLE, and on_disconnect comes before this returns. */
void h2_abort(H2Connection *connection);

/* Opens a stream on a client. `headers` begin with the pseudo-headers; they are copied. With `is_last` no
 * body follows. `handlers` NULL: the connection's. Beyond the peer's stream limit, requests wait their
 * turn. Returns NULL when there is no memory or the connection is closing. */
MUST_USE H2Stream *h2_request(H2Connection *connection, const H2Header *headers, size_t count, bool is_last,
    const H2Handlers *handlers, void *context);

/* Sends the answer's headers, once. `status` is HTTP's, from 200 on. */
void h2_respond(H2Stream *stream, int status, const H2Header *headers, size_t count, bool is_last);

typedef void (*H2Release)(void *owner);

/* Queues body bytes without copying them. `release(owner)` is called once, when they have left or the
 * stream has ended, in either case perhaps after on_close (NULL: the bytes outlive the connection).
 * Returns false when the stream takes no more, or has no memory and will close; release is called even so.
 * Stop above H2_WRITE_HIGH queued bytes and wait for on_writable. */
bool h2_stream_write(H2Stream *stream, Slice data, H2Release release, void *owner);
bool h2_stream_write_copy(H2Stream *stream, Slice data); /* small pieces: copied into the stream */
size_t h2_stream_queued(const H2Stream *stream); /* bytes that wait for the peer's window or the socket */
void h2_stream_end(H2Stream *stream);            /* after the last write */

/* Gives `size` received bytes back to the sender's window. */
void h2_stream_consume(H2Stream *stream, size_t size);

/* Lets the peer have up to `size` bytes of this stream's body under way from now on; never fewer than
 * before. */
void h2_stream_widen(H2Stream *stream, uint32_t size);

/* Sends RST_STREAM with CANCEL (CANCELLED), REFUSED_STREAM (UNAVAILABLE) or INTERNAL_ERROR. on_close
 * follows later in this turn, or at once when called outside of a callback of this connection. */
void h2_stream_reset(H2Stream *stream, Status reason);
