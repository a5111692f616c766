/* The state of a server and of an exchange (a request and its reply), and how the files of this module call
 * each other. Only gateway/http includes this. Each layer calls those above it in this list:
 *
 *   connection.c     one socket: its phases, their deadlines, the watch for a hang-up
 *   stream.c         a reply in pieces
 *   exchange.c       the pool of exchanges, what handlers ask for, the end of a handler's work
 *   body_claim.c     memory for a request's body
 *   windows.c        a request's body in windows, taken on job threads
 *   delivery.c       the reply: final headers and body, handed to libmicrohttpd
 *   handling.c       calls the handler, on the loop or on a job thread
 *   authorization.c  what the credentials are worth, and whether they admit to the operation
 *   reception.c      the request's body
 *   admission.c      the request's head: guards, route, limits, credentials
 *   server.c         opens, accepts, answers libmicrohttpd's callbacks, closes
 *
 * libmicrohttpd calls server.c's access callback once with a request's head, once for each piece of its body,
 * once at the end of the body, and again whenever a suspended connection is resumed; the exchange's phase
 * says which of these a call is. A reply that is queued in the first call closes the connection
 * (libmicrohttpd 0.9.75 does so), therefore only refusals that must close it are queued there. */
#pragma once

#include <microhttpd.h>

#include "gateway/http/connection.h"
#include "gateway/http/guards.h"
#include "gateway/http/options.h"
#include "gateway/http/router.h"
#include "shared/net/socket.h"

typedef struct HttpServer HttpServer;
typedef struct StreamPiece StreamPiece;

struct HttpStream {
    Connection *connection; /* NULL while the exchange has no stream */
    const struct HttpStreamEvents *events;
    void *owner;
    StreamPiece *first;
    StreamPiece **last;
    size_t queued;     /* bytes */
    size_t low;        /* bytes of the queue under which `drained` is due */
    uint64_t sent;     /* bytes that libmicrohttpd has read */
    uint64_t size;     /* of the body, or MHD_SIZE_UNKNOWN */
    bool owes_drained; /* the queue was above `low` */
    bool has_ended;
    bool is_cut; /* the end is sent without the last chunk, so that clients do not take it for one */
    bool is_aborted;
    bool is_complete; /* libmicrohttpd has been told the end */
    bool is_waiting;  /* libmicrohttpd is suspended until there is a piece */
};

typedef enum ExchangePhase {
    EXCHANGE_HEAD, /* the head is being received */
    EXCHANGE_BODY, /* the body is; credentials that were not cached are checked before its first piece */
    EXCHANGE_AUTHORIZING, /* suspended: the credentials are looked up */
    EXCHANGE_QUEUED,      /* suspended: there is no room for the body yet */
    EXCHANGE_TAKING,   /* suspended: a job thread takes a window of the body, or the sink cannot take more */
    EXCHANGE_WORKING,  /* the handler has the exchange */
    EXCHANGE_ENDED,    /* the reply can be given */
    EXCHANGE_REPLYING, /* libmicrohttpd has the reply */
    EXCHANGE_REFUSED,  /* the reply is given when the rest of the body has been thrown away */
    EXCHANGE_CUT,      /* the reply was sent past libmicrohttpd; the rest of the body is thrown away */
} ExchangePhase;

struct Exchange {
    Exchange *next_free;
    ListLink head_link; /* in HttpServer.heads until the head is whole */
    int reference_count;
    HttpServer *server;
    Connection *connection; /* NULL once the reply is over */
    ExchangePhase phase;
    Status status; /* of the handler's work, or of the refusal */

    Request request;
    Call call;
    Response response;
    Framing framing;
    const Route *route;
    Credentials credentials;

    const char *line; /* the target in libmicrohttpd's buffer, for guard_layout() */
    size_t line_size;
    const char *version;
    bool has_too_many_fields;

    bool needs_authorization;
    bool is_stale;        /* the credentials were valid a moment ago */
    ListLink authorizing; /* among those whose credentials wait to be looked up */
    void (*authorized)(Exchange *exchange, Status status);
    bool is_gzip;     /* the body, which is not inflated yet */
    bool is_rendered; /* the response is ready to be handed over */
    bool is_cancelled;
    bool is_overdue;
    bool is_dismissed;
    bool is_hang_up;
    bool is_sent;
    bool is_long; /* its work, as the handler has said */

    Buffer body;
    uint64_t body_started_ns;
    const BodySink *sink;
    size_t body_size_max; /* bytes */
    MemoryClaim claim;    /* memory for the body, of HttpOptions.bodies */
    uint64_t fetched;     /* bytes beside the body that the claim is for, too */
    bool is_body_claimed; /* what its head announces has been asked for */
    bool is_body_begun;   /* the sink's or the taker's state is there */

    const BodyTaker *taker; /* NULL: none */
    Buffer taken;           /* the window on a job thread; the one that is being received is `body` */
    bool is_taking;         /* call and response are a job thread's */
    bool is_beginning;      /* that job makes the taker's state */
    uint64_t waiting_since_ns;
    void (*wait_ended)(
        Exchange *exchange); /* while TAKING: the sink takes more; while QUEUED: there is room */
    void (*window_taken)(Exchange *exchange, Status status);

    void (*cancelled)(Exchange *exchange, void *owner); /* the handler's hook; NULL: none */
    void *cancel_owner;

    Job job; /* the one that is on a job thread now */
    Status (*work)(Call *call, JobContext *job_context, void *owner);
    void (*worked)(Exchange *exchange, Status status, void *owner);
    void *work_owner;
    Status work_status;

    HttpStream stream;

    uint64_t received; /* bytes of the body */
    uint64_t sent;     /* bytes of the body, without those of a stream */
    uint64_t started_ns;
};

/* The requests whose credentials the cache does not know. */
typedef struct Authorizations {
    ListLink stale; /* exchanges that wait */
    ListLink unknown;
    Task begin;      /* deferred when there is something to look up */
    Timer pause;     /* due when unknown ones may be looked up again */
    uint64_t due_ns; /* that time */
    Job job;
    AuthorizeItem items[AUTHORIZE_ITEMS_MAX]; /* of the job that is under way */
    Exchange *exchanges[AUTHORIZE_ITEMS_MAX];
    size_t count; /* 0: no job is */
} Authorizations;

struct HttpServer {
    Loop *loop;
    HttpOptions options;
    Router *router;
    struct MHD_Daemon *daemon;
    int listener_fd;
    Watch listener;
    Watch daemon_watch;
    Task run;    /* MHD_run(), deferred to the end of the turn */
    Timer timer; /* due when libmicrohttpd wants to be run without events */
    char address[ADDRESS_TEXT_SIZE];

    Connections connections;
    Authorizations authorizations;
    Exchange *free_exchanges;
    ListLink heads; /* exchanges whose heads are being received */
    size_t active_count;
    uint64_t id_seed[2];
    uint64_t id_count;
    bool is_draining;
};

/* A piece of the body. Its receiver sets `*size` to the count of bytes that it left untaken. */
typedef struct Upload {
    const char *data;
    size_t *size;
} Upload;

/* Functions of stream.c. */
HttpStream *stream_open(
    HttpStream *stream, Connection *connection, const struct HttpStreamEvents *events, void *owner);
struct MHD_Response *stream_response(HttpStream *stream);
void stream_close(
    HttpStream *stream, bool is_sent);  /* calls `closed`, once; is_sent: the reply has been sent */
void stream_cancel(HttpStream *stream); /* the peer is gone */

/* Functions of exchange.c. */
void exchange_break_body(Exchange *exchange); /* tells the sink, if there is one, that no more comes */
Exchange *exchange_take(HttpServer *server, Connection *connection); /* from the pool; NULL without memory */
void exchange_release(Exchange *exchange); /* ends the exchange: logs it, and gives it back unless a
                                            * handler keeps it */
void exchange_free(HttpServer *server);    /* frees the first exchange of the pool */
MUST_USE bool exchange_submit(
    Exchange *exchange, void (*run)(Job *job, JobContext *context), void (*done)(Job *job));
void exchange_end(Exchange *exchange, Status status); /* ends the handler's work */
void exchange_cancel(Exchange *exchange);             /* the peer is gone, or the server closes */
void exchange_overdue(Exchange *exchange);            /* the deadline has passed */
void exchange_dismiss(Exchange *exchange);            /* the server gives it no more time */

/* Functions of body_claim.c. */

/* Claims what the head announces, once, before the first piece is taken. When it has to wait for room,
 * `wait_ended` is called later, on the loop. */
MUST_USE Status body_claim_begin(Exchange *exchange, bool *ret_waits);
MUST_USE Status body_claim_give_up(Exchange *exchange); /* ends the wait; returns what is to be said of it */

/* Claims memory for what is kept of the body by now, with the piece that has just been counted. */
MUST_USE Status body_claim_grow(Exchange *exchange);

/* Claims memory for `size` bytes in all, without waiting, also on a job thread. */
MUST_USE Status body_claim_hold(Exchange *exchange, size_t size);
void body_claim_trim(Exchange *exchange, size_t size); /* gives back what is above */

/* Functions of windows.c. */

/* Returns whether a piece, or the body's end (0 bytes), has to wait until a window is taken. */
bool windows_must_wait(const Exchange *exchange, size_t piece_size);

/* Receives a piece. `taken` is called on the loop each time a window has been taken or refused. */
MUST_USE Status windows_receive(
    Exchange *exchange, Slice piece, void (*taken)(Exchange *exchange, Status status));
MUST_USE Status windows_finish(Exchange *exchange);            /* takes the last window, on a job thread */
void windows_end(Exchange *exchange, JobContext *job_context); /* ends the taker, once */
void windows_abandon(Exchange *exchange); /* ends the taker of a body that broke off, on a job thread */

/* Functions of delivery.c. */
enum MHD_Result delivery_step(Exchange *exchange, Upload *upload);
void delivery_render(Exchange *exchange, bool is_job_thread); /* makes the response final; may take time */
void delivery_send_raw(Exchange *exchange);                   /* on the socket itself, past libmicrohttpd */
void delivery_refuse_head(Connection *connection);            /* 408, when no request has been read yet */

/* Functions of handling.c. */
enum MHD_Result handling_begin(Exchange *exchange); /* calls the handler of a request that is whole */

/* Functions of authorization.c. */
MUST_USE Status authorization_begin(Exchange *exchange); /* asks the cache; may set needs_authorization */

/* Suspends the connection until a job thread has looked for the principal, and calls `done` on the loop,
 * later. */
void authorization_ask(Exchange *exchange, void (*done)(Exchange *exchange, Status status));
void authorizations_open(HttpServer *server);
void authorizations_close(HttpServer *server); /* when no exchange is left */

/* Counts the request for its principal, whose rate may refuse it, and returns NOT_FOUND for operations that
 * only operators may know of. */
MUST_USE Status authorization_conclude(Exchange *exchange);

/* Functions of reception.c. */
enum MHD_Result reception_step(Exchange *exchange, Upload *upload); /* a piece of the body, or its end */
enum MHD_Result reception_step_refused(Exchange *exchange, Upload *upload);
enum MHD_Result reception_step_cut(Exchange *exchange, Upload *upload);
void reception_begin(Exchange *exchange, Status status); /* begins the body, or refuses it */
/* Replies past libmicrohttpd, which takes no reply while a body is coming, and closes. */
void reception_cut(Exchange *exchange, Status status);
void reception_overdue(Exchange *exchange); /* the body comes too slowly */

/* Functions of admission.c. */
enum MHD_Result admission_step(Exchange *exchange, Upload *upload); /* the first call, with the head */

/* Refuses a request whose head is whole and whose Content-Length libmicrohttpd could not read. False: it is
 * another one. */
bool admission_refuse_length(Exchange *exchange);
