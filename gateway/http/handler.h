/* A REST operation: its row in the route table and the function that serves it.
 *
 * A file of gateway/handlers defines one:
 *
 *     HANDLER(create_session) = {
 *         .operation_id = "createSession",
 *         .method = "POST",
 *         .path = "/api/v1/sessions",
 *         .access = ACCESS_TENANT,
 *         .body_size_max = 64 * 1024,
 *         .run = create_session,
 *     };
 *
 * and the build collects the directory into handler_table. A handler has one of two shapes:
 *
 * `run`    straight-line code that may wait: it is called on a job thread, with that thread's context (the
 *          database connection) in request->job_context, and its Status ends the request.
 * `start`  the hot path: it is called on the loop thread, must not wait, and ends the request with one
 *          exchange_finish() or exchange_fail(), at once or later (exchange.h). */
#pragma once

#include <stddef.h>

#include "gateway/http/request.h"
#include "gateway/http/response.h"
#include "shared/base/call.h"

typedef struct Exchange Exchange;

typedef enum Access {
    ACCESS_PUBLIC,   /* no credentials are asked for; the principal is empty */
    ACCESS_TENANT,   /* any principal */
    ACCESS_OPERATOR, /* principals with the operator role; others get 404 */
    ACCESS_WORKER,   /* who shows the workers' token, and no key; the principal is empty */
} Access;

/* A receiver of the body piece by piece as it arrives, on the loop thread, so that it is never held twice.
 * The state that `begin` makes is found in request->sink_state and freed by the call's arena
 * (arena_defer). Any failure ends the request and its connection. */
typedef struct BodySink {
    size_t size_max; /* bytes of the body; 0: the handler's body_size_max */
    MUST_USE Status (*begin)(Exchange *exchange, void **ret_state);
    MUST_USE Status (*write)(Call *call, void *state, Slice piece);

    /* Returns whether the next piece, or the body's end, has to wait until exchange_take_more(); the socket
     * is not read meanwhile, and that time is not the client's. NULL: never. */
    bool (*must_wait)(const void *state);

    /* Returns how many bytes of the body the state keeps. The hook is for sinks that hand some on; without
     * it memory is claimed for the whole body, before it comes. */
    size_t (*kept_size)(const void *state);

    /* Returns whether others wait for the body: the client may pause for body_grace_ms at most then. NULL:
     * never. */
    bool (*is_awaited)(const void *state);

    /* The body has broken off, or was refused: no more of it comes, and the handler is not called. It may be
     * called twice. NULL: nothing has to be done. */
    void (*broken)(void *state);
} BodySink;

/* A receiver of a body of any size. Windows of it are taken on job threads, one after another, while the next
 * one is being received; the socket is not read while two are full. A request without a body has one empty
 * window, which is not taken.
 *
 * The headers of the request may be read by `begin` only, and `take` may use the call's arena for little, as
 * there is no end of windows. The state that `begin` makes is found in request->sink_state by Handler.run. */
typedef struct BodyTaker {
    size_t window_size; /* bytes: all windows but the last have these or a few more */
    MUST_USE Status (*begin)(Call *call, const Request *request, Response *response, void **ret_state);
    MUST_USE Status (*take)(Call *call, JobContext *job_context, void *state, Slice window);

    /* Frees the state: behind Handler.run, or, when the body broke off or a window was refused, instead of
     * it. Without a job thread (job_context is NULL; they have too much to do) it is called on the loop's
     * thread and must not wait. */
    void (*end)(JobContext *job_context, void *state);
} BodyTaker;

struct Handler {
    const char *operation_id; /* as in openapi.yaml */
    const char *method;
    const char *path; /* "/api/v1/graphs/{graph}:plan": literals, {parameters}, a :verb at the end */
    Access access;
    bool takes_tickets;     /* ?ticket=… opens it, too, of a GET that changes nothing */
    size_t body_size_max;   /* bytes, inflated, of a body that is buffered; 0: the request has no body. A
                             * sink may allow more, and a taker has body_limit alone */
    const char *body_limit; /* for HttpOptions.body_size_max: the name of a limit; NULL: the usual
                             * one */
    uint32_t deadline_ms;   /* of a request, behind its body; 0: HttpOptions.deadline_ms */
    const char *const *body_types; /* media types that are taken, NULL-terminated; NULL: any */

    bool is_long; /* `run` may compute for longer than some milliseconds */

    Status (*run)(Call *call, const Request *request, Response *response);
    void (*start)(Exchange *exchange);

    /* Returns the sink for this request's body, or NULL to have it buffered. The hook may be NULL. */
    const BodySink *(*sink)(const Request *request);

    /* Returns the taker for this request's body, or NULL to have it buffered. The hook may be NULL, and is so
     * without `run`. */
    const BodyTaker *(*taker)(const Request *request);
};

#define HANDLER(name)                                                                                        \
    extern const Handler handler_##name;                                                                     \
    const Handler handler_##name

/* Holds all handlers of gateway/handlers, sorted by file name; NULL-terminated. */
extern const Handler *const handler_table[];
extern const size_t handler_table_count;
