/* The protocol of one connection without its socket: bytes in, bytes out, the user's handlers in between.
 *
 * The engine (nghttp2) must not be freed or re-entered from its own callbacks, and a user's handler may
 * call anything. So every entry into a session stands between session_enter() and session_leave().
 * Whatever must not happen inside (on_close, on_writable, releases, the end of the connection) is noted,
 * and done by the outermost session_leave().
 *
 * Files: engine.c sets nghttp2 up and has its callbacks; stream.c has the calls of a stream's user;
 * session.c has what both need.
 *
 * Ownership: embedded in its connection; session_done() frees what it owns.
 * Threads:   the connection's.
 * Errors:    a session that cannot go on is finished with a Status; its hook `finished` is then called
 * once. */
#pragma once

#include <nghttp2/nghttp2.h>

#include "shared/base/list.h"
#include "shared/h2/flood.h"
#include "shared/h2/h2.h"
#include "shared/h2/output.h"
#include "shared/h2/pool.h"
#include "shared/h2/segment.h"

enum {
    SESSION_WINDOW_SIZE = 1 << 20,
    SESSION_CONNECTION_WINDOW_SIZE = 1 << 30,
    SESSION_FRAME_SIZE = 64 * 1024,
    SESSION_HEADER_LIST_SIZE = 32 * 1024,
    SESSION_STREAMS_DEFAULT = 1024,
};

typedef struct Session Session;
typedef struct Stream Stream;

typedef struct SessionHooks {
    void (*wants_write)(Session *session); /* session_fill() would find something */
    void (*finished)(Session *session);    /* called by the outermost session_leave(); may free the session */
} SessionHooks;

struct Stream {
    H2Stream public; /* first: an H2Stream is at the address of its Stream */
    Session *session;
    ListLink siblings; /* the session's open or closing streams */
    ListLink writable; /* the streams to be told that there is room */
    Segment *queue_first;
    Segment *queue_last;
    size_t queued;     /* bytes written and not yet in the output */
    size_t unconsumed; /* bytes received and not yet given back */
    Status reason;     /* set once it is closing */
    bool is_closing;
    bool is_ended;       /* by h2_stream_end() or is_last */
    bool is_end_sent;    /* the engine knows of our end */
    bool is_deferred;    /* the engine waits for bytes */
    bool wants_room;     /* on_writable is due when the queue gets short */
    bool has_responded;  /* on a server */
    bool has_headers;    /* the peer's final headers have come */
    bool has_peer_ended; /* the peer's end has come */
};

/* The header block being received; there is one at a time on a connection. */
typedef struct HeaderBlock {
    H2Header headers[H2_HEADERS_MAX];
    nghttp2_rcbuf *names[H2_HEADERS_MAX];
    nghttp2_rcbuf *values[H2_HEADERS_MAX];
    size_t count;
    size_t size; /* as RFC 9113 6.5.2 counts: name, value and 32 a field */
    bool has_too_many;
} HeaderBlock;

struct Session {
    nghttp2_session *engine;
    H2Connection *connection; /* NULL where there is no socket */
    const H2Handlers *handlers;
    const SessionHooks *hooks;
    bool is_server;

    ListLink open;
    ListLink closing;
    ListLink writable;
    size_t stream_count;
    Pool streams;
    SegmentStore segments;
    Output output;
    size_t fill_budget;
    HeaderBlock block;
    Flood flood;
    uint64_t now_ns;
    uint64_t received; /* bytes received so far */

    int depth;
    bool is_shutting_down;
    bool is_finished;
    Status reason;
};

typedef struct SessionOptions {
    H2Connection *connection;
    const H2Handlers *handlers;
    const SessionHooks *hooks;
    bool is_server;
    uint32_t stream_count_max; /* 0: SESSION_STREAMS_DEFAULT */
    uint32_t window_size;      /* bytes a stream; 0: SESSION_WINDOW_SIZE */
    uint64_t now_ns;
} SessionOptions;

MUST_USE Status session_init(Call *call, Session *session, const SessionOptions *options);
void session_done(Session *session); /* called after session_close_streams() */

static inline void
session_enter(Session *session)
{
    session->depth++;
}
void session_leave(Session *session); /* the session may be gone afterwards */

/* Takes bytes from the peer and calls the user's handlers. */
void session_receive(Session *session, Slice bytes, uint64_t now_ns);

/* Puts frames into the empty output until it holds `budget` bytes or there are no more. */
void session_fill(Session *session, size_t budget);
bool session_has_more(const Session *session);

/* Tells whether both sides have said all: the connection can be closed. */
bool session_is_over(const Session *session);

void session_ping(Session *session);
void session_shutdown_begin(Session *session); /* the notice; on a client the only GOAWAY */
void session_shutdown_end(Session *session);   /* on a server the GOAWAY that names the last request served */

/* Ends the session: nothing more is sent or received. The first reason counts. */
void session_finish(Session *session, Status reason);

/* Ends the session after a GOAWAY with an HTTP/2 error code, which follows the bytes in the output. */
void session_fail(Session *session, uint32_t error_code, Status reason);

/* Closes every stream and runs every release: the finished session's last act. */
void session_close_streams(Session *session, Status reason);

/* Tells whether a PING with these 8 bytes closes the round trip of session_shutdown_begin(). */
bool session_ping_ends_shutdown(const uint8_t opaque[8]);

void session_block_clear(HeaderBlock *block);

/* Opens a stream; see h2_request(). */
MUST_USE H2Stream *session_request(Session *session, const H2Header *headers, size_t count, bool is_last,
    const H2Handlers *handlers, void *context);

MUST_USE Stream *session_stream_new(Session *session, const H2Handlers *handlers);
void session_stream_forget(Stream *stream); /* frees a stream that the engine has not taken */

/* Returns the open stream with this id, or NULL. */
Stream *session_stream_find(const Session *session, int32_t id);

/* Takes the stream out of the engine, which gets `mark` instead, and notes its on_close. */
void session_stream_close(Stream *stream, Status reason, void *mark);

/* Returns the mark that the engine holds instead of a stream that we have reset ourselves. */
void *session_reset_mark(void);
