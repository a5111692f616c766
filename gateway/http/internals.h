/* What the files of this module share and nobody else sees: the connection, the exchange and the server.
 *
 *   server.c      opens, accepts, turns libmicrohttpd's crank, closes
 *   connection.c  one socket: its phases, their deadlines, the watch for a hang-up
 *   admission.c   the head of a request: guards, route, limits, credentials
 *   reception.c   its body
 *   exchange.c    the handler's run, its end, its cancelling
 *   delivery.c    the reply
 *   stream.c      a reply in pieces
 *
 * libmicrohttpd calls server_access() for a request once with its head, once for each piece of its body, once
 * at its end, and again whenever a suspended connection is resumed; the exchange's phase says what the call
 * is for. A reply to the first call would close the connection (so does libmicrohttpd 0.9.75), therefore only
 * refusals that must close it are given there. */
#pragma once

#include <microhttpd.h>

#include "gateway/http/guards.h"
#include "gateway/http/router.h"
#include "gateway/http/server.h"
#include "shared/base/clock.h"
#include "shared/base/list.h"

typedef struct Connection Connection;

/* --- Stream --------------------------------------------------------------------------------------------- */

typedef struct StreamPiece StreamPiece;

struct HttpStream {
    Exchange *exchange; /* NULL while the exchange has no stream */
    const HttpStreamEvents *events;
    void *owner;
    StreamPiece *first;
    StreamPiece **last;
    size_t queued;     /* bytes */
    uint64_t size;     /* of the body, or MHD_SIZE_UNKNOWN */
    bool owes_drained; /* the queue was above HTTP_STREAM_LOW */
    bool has_ended;
    bool is_cut; /* the end is none that the client takes for one */
    bool is_aborted;
    bool is_complete; /* the end has been handed over */
    bool is_waiting;  /* libmicrohttpd is suspended until there is a piece */
};

/* --- Exchange ------------------------------------------------------------------------------------------- */

typedef enum ExchangePhase {
    EXCHANGE_HEAD, /* the head is being received */
    EXCHANGE_BODY, /* the body is; credentials that were not cached are checked before its first piece */
    EXCHANGE_AUTHORIZING, /* suspended: a job thread does that */
    EXCHANGE_WORKING,     /* the handler has it */
    EXCHANGE_ENDED,       /* the reply can be given */
    EXCHANGE_REPLYING,    /* libmicrohttpd has it */
    EXCHANGE_REFUSED,     /* the reply is given when the rest of the body has been thrown away */
    EXCHANGE_CUT,         /* the reply was sent past libmicrohttpd; what still comes is thrown away */
} ExchangePhase;

struct Exchange {
    Exchange *next_free;
    int reference_count;
    HttpServer *server;
    Connection *connection;
    ExchangePhase phase;
    Status status; /* how it ended */

    Request request;
    Call call;
    Response response;
    Framing framing;
    const Route *route;
    Credentials credentials;

    const char *line; /* the target where libmicrohttpd has it: for guard_layout() */
    size_t line_size;
    const char *version;
    bool has_too_many_fields;

    bool needs_authorization;
    bool is_gzip;
    bool is_rendered; /* the response is ready to be handed over */
    bool is_cancelled;
    bool is_overdue;
    bool is_hang_up;
    bool is_sent;

    Buffer body;
    uint64_t body_started_ns;
    const BodySink *sink;
    size_t body_size_max; /* what this request's body may have, in bytes */
    bool is_body_begun;

    ExchangeCancelled cancelled;
    void *cancel_owner;

    Job job; /* the one that is on a job thread now */
    ExchangeWork work;
    ExchangeWorked worked;
    void *work_owner;
    Status work_status;

    HttpStream stream;

    uint64_t received;
    uint64_t sent;
    uint64_t started_ns;
};

/* A piece of the body; `size` is set to what was left untaken. */
typedef struct Upload {
    const char *data;
    size_t *size;
} Upload;

Exchange *exchange_take(HttpServer *server, Connection *connection); /* from the pool; NULL without memory */
void exchange_release(Exchange *exchange); /* into it, when the reply is over and nobody keeps it */
void exchange_free(HttpServer *server);    /* one of the pool */

/* admission.c: the first call, with the head. */
enum MHD_Result admission_step(Exchange *exchange, Upload *upload);
MUST_USE Status admission_access(Exchange *exchange); /* may this principal use this operation? */

/* reception.c: a piece, or the end. */
enum MHD_Result reception_step(Exchange *exchange, Upload *upload);
enum MHD_Result refused_step(Exchange *exchange, Upload *upload);
enum MHD_Result cut_step(Exchange *exchange, Upload *upload);
void reception_resume(Exchange *exchange, Status status); /* begins the body, or refuses it */

/* Ends a request before its handler: throws a small rest of the body away and replies, or replies past
 * libmicrohttpd, which takes no reply while a body is coming, and closes. */
void exchange_refuse(Exchange *exchange, Status status);
void exchange_cut(Exchange *exchange, Status status);

/* exchange.c */
enum MHD_Result exchange_dispatch(Exchange *exchange); /* the request is whole: calls the handler */
void exchange_cancel(Exchange *exchange);
void exchange_check_access(Exchange *exchange); /* phase BODY: suspends until a job thread knows */

/* delivery.c */
enum MHD_Result delivery_step(Exchange *exchange, Upload *upload);
void delivery_render(Exchange *exchange, bool is_job_thread); /* makes the response final; may take time */
void delivery_send_raw(Exchange *exchange);                   /* past libmicrohttpd, on the socket itself */

/* stream.c */
struct MHD_Response *stream_response(HttpStream *stream);
void stream_close(HttpStream *stream); /* calls `closed`, once */
void stream_cancel(HttpStream *stream);

/* --- Connection ----------------------------------------------------------------------------------------- */

typedef enum ConnectionPhase {
    CONNECTION_IDLE,  /* between requests */
    CONNECTION_HEAD,  /* receiving a head */
    CONNECTION_BODY,  /* receiving a body */
    CONNECTION_WORK,  /* somebody of ours has it */
    CONNECTION_REPLY, /* sending; libmicrohttpd counts its idleness */
    CONNECTION_CUT,   /* refused; reading what still comes, so that the peer sees the reply before a reset */
} ConnectionPhase;

struct Connection {
    ListLink siblings;
    HttpServer *server;
    struct MHD_Connection *mhd;
    Exchange *exchange; /* NULL between requests */
    Watch watch;
    Timer timer; /* due at the deadline or before it: it is moved lazily, when it fires */
    uint64_t deadline_ns;
    ConnectionPhase phase;
    bool is_suspended;
    bool is_gone; /* the peer has closed its side */
};

void connection_notify(
    void *server, struct MHD_Connection *mhd, void **context, enum MHD_ConnectionNotificationCode code);

/* Enters a phase that ends at the deadline, 0 for none. */
void connection_enter(Connection *connection, ConnectionPhase phase, uint64_t deadline_ns);

/* No reading, no writing, no calls from libmicrohttpd until resumed. */
void connection_suspend(Connection *connection);
void connection_resume(Connection *connection);

/* Writes what the socket takes at once, stops sending, and goes on reading for a moment. */
void connection_cut(Connection *connection, Slice reply);
void connection_shut(Connection *connection); /* at once, without a word */

/* --- Server --------------------------------------------------------------------------------------------- */

struct HttpServer {
    Loop *loop;
    HttpOptions options;
    Router *router;
    struct MHD_Daemon *daemon;
    int listener_fd;
    Watch listener;
    Watch daemon_watch;
    Task run;    /* MHD_run(), deferred to the end of the turn */
    Timer timer; /* when libmicrohttpd wants to be run without events */
    char address[ADDRESS_TEXT_SIZE];

    ListLink connections;
    size_t connection_count;
    Exchange *free_exchanges;
    size_t active_count;
    uint64_t id_seed[2];
    uint64_t id_count;
    bool is_draining;
};

static inline uint64_t
server_after_ms(const HttpServer *server, uint32_t delay_ms)
{
    return loop_now_ns(server->loop) + delay_ms * CLOCK_NS_PER_MS;
}

void server_run_soon(HttpServer *server);

/* Begins an exchange when libmicrohttpd has read a request line; what it returns comes with every later call.
 */
void *server_begin(void *server, const char *target, struct MHD_Connection *mhd);
enum MHD_Result server_access(void *server, struct MHD_Connection *mhd, const char *url, const char *method,
    const char *version, const char *upload, size_t *upload_size, void **context);
void server_completed(
    void *server, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode code);
