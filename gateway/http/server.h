/* The HTTP/1.1 side of the gateway, one server a loop thread: it accepts, guards, routes, authorizes, reads
 * bodies, calls handlers, and sends what they answer.
 *
 * A request's way: the guards refuse what could be read in two ways (guards.h); the router finds the handler;
 * the body's announced size and type are checked, and the credentials, all before a client that waits for
 * "100 Continue" sends a byte; the body is received; the handler runs on the loop or on a job thread; the
 * reply goes out; one record goes to the log hook.
 *
 * Ownership: the server owns its socket, its connections and their exchanges.
 * Threads:   everything on the loop's thread.
 * Errors:    http_server_new() says INVALID_ARGUMENT for routes that clash, UNAVAILABLE for a socket. */
#pragma once

#include "gateway/http/exchange.h"
#include "gateway/http/handler.h"
#include "gateway/http/principal.h"
#include "gateway/jobs/job_pool.h"
#include "shared/net/loop.h"
#include "shared/net/socket.h"

typedef struct HttpServer HttpServer;

/* What a look into the cache of keys says. */
typedef enum AuthorizeAnswer {
    AUTHORIZE_ALLOWED, /* ret_principal is filled */
    AUTHORIZE_DENIED,  /* the cache knows that it is worth nothing */
    AUTHORIZE_UNKNOWN, /* ask the blocking hook, on a job thread */
} AuthorizeAnswer;

/* One finished request, for the log and the metrics. The slices live as long as the call of the hook. */
typedef struct RequestRecord {
    const char *request_id;
    const char *operation_id; /* NULL when no route matched */
    const char *route;        /* the handler's path; NULL likewise */
    const char *method;
    Slice target; /* as sent, without its query, which may hold a ticket */
    Slice traceparent;
    const Principal *principal;
    int http_status;
    Status code;
    const char *message; /* of the call's error; "" without one */
    uint64_t received;   /* bytes of the body */
    uint64_t sent;       /* bytes of the body */
    uint64_t duration_ns;
    bool is_hang_up; /* the client went before the reply was ready */
} RequestRecord;

typedef struct HttpOptions {
    const Handler *const *handlers; /* NULL-terminated: handler_table */
    void *services;                 /* for the handlers: request->services */
    JobPool *jobs;                  /* NULL: only `start` handlers and cached keys can be served */

    AuthorizeAnswer (*authorize)(
        void *services, const Request *request, const Credentials *credentials, Principal *ret_principal);
    MUST_USE Status (*authorize_blocking)(Call *call, void *job_context, const Request *request,
        const Credentials *credentials, Principal *ret_principal);
    /* Counts a request whose principal is known, before its body is read; what it returns refuses it. NULL:
     * none is refused. */
    Status (*charge)(Call *call, const Request *request, Response *response);
    void (*log)(void *services, const RequestRecord *record);

    /* The most bytes that this request's body may have by the settings, besides its handler's body_size_max.
     * Asked once, when its head is known. NULL: no more than that. */
    size_t (*body_size_max)(void *services, const Request *request);

    const char *const *origins; /* browsers' origins that CORS admits, NULL-terminated; "*" admits all */

    /* 0 chooses the default in brackets. */
    size_t arena_size_max;                /* memory of one call [64 MiB] */
    size_t target_size_max;               /* [8 KiB] */
    size_t head_size_max;                 /* [32 KiB] */
    uint32_t inflated_ratio_max;          /* how much larger than itself a gzip body may be [1000] */
    uint32_t idempotency_key_size_max;    /* [255] */
    uint32_t connections_max;             /* [10,000] */
    uint32_t connections_per_address_max; /* 0: no bound */
    uint32_t deadline_ms;                 /* of a request [60,000] */
    uint32_t head_timeout_ms;             /* from its first byte to the end of its headers [10,000] */
    uint32_t idle_timeout_ms;             /* between requests, and of a client that stops reading [60,000] */
    uint32_t body_grace_ms;               /* before the minimum rate counts [10,000] */
    uint32_t body_rate_min;               /* bytes a second [1024] */
} HttpOptions;

/* Listens on `address` with SO_REUSEPORT, so that each loop has a socket of its own on one port. The options
 * are copied, what they point to is not. */
MUST_USE Status http_server_new(
    Call *call, Loop *loop, const char *address, const HttpOptions *options, HttpServer **ret_server);

void http_server_address(const HttpServer *server, char ret_text[ADDRESS_TEXT_SIZE]);

/* Requests that have arrived and are not wholly answered. */
size_t http_server_active(const HttpServer *server);

/* Accepts no more connections and closes the present ones with their next reply, or when idle. */
void http_server_drain(HttpServer *server);

/* Cancels what is in flight, turns the loop until all of it has ended, and closes. NULL is allowed. */
void http_server_free(HttpServer *server);
