/* Options of an HTTP server: its handlers, the hooks that decide about keys and quotas, its limits. */
#pragma once

#include "gateway/http/handler.h"
#include "gateway/http/principal.h"
#include "gateway/http/tenant_memory.h"
#include "gateway/jobs/job_pool.h"

/* The answer of the cache of keys. */
typedef enum AuthorizeAnswer {
    AUTHORIZE_ALLOWED, /* ret_principal is filled */
    AUTHORIZE_DENIED,  /* the cache knows that the credentials are not valid */
    AUTHORIZE_STALE,   /* they were valid, and must be looked up again */
    AUTHORIZE_UNKNOWN, /* they must be looked up, and may be worth nothing */
} AuthorizeAnswer;

enum { AUTHORIZE_ITEMS_MAX = 100, AUTHORIZE_PAUSE_MS = 20 };

/* A request whose credentials are looked up. */
typedef struct AuthorizeItem {
    Call *call;
    const Credentials *credentials;
    Principal *principal; /* filled in */
    Status status;        /* filled in */
} AuthorizeItem;

/* One finished request, for the log and the metrics. Its slices and strings live as long as the call of the
 * hook. */
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
    bool is_hang_up; /* the client hung up before the reply was ready */
} RequestRecord;

/* The origins of browsers' pages that may read replies; the item "*" admits all. */
typedef struct Origins {
    const Slice *items;
    size_t count;
} Origins;

typedef struct HttpOptions {
    const Handler *const *handlers; /* NULL-terminated: handler_table */
    Parts *parts;                   /* for the handlers: request->parts */
    JobPool *jobs;                  /* NULL: only `start` handlers and cached keys can be served */

    AuthorizeAnswer (*authorize)(
        const Parts *parts, const Request *request, const Credentials *credentials, Principal *ret_principal);
    /* Looks credentials up, on a job thread: those of all requests that wait, at most AUTHORIZE_ITEMS_MAX.
     * One call is under way at a time; stale ones come first; and AUTHORIZE_PAUSE_MS lie between two calls
     * with unknown ones, so that a flood of them costs the database little and stale ones no wait. */
    void (*authorize_blocking)(
        const Parts *parts, JobContext *job_context, AuthorizeItem *items, size_t count);
    /* Counts a request whose principal is known, before its body is read; a failure refuses the request.
     * NULL: none is refused. */
    Status (*charge)(Call *call, const Request *request, Response *response);
    void (*log)(Parts *parts, const RequestRecord *record);

    /* Returns how many bytes the settings allow this request's body; the handler's body_size_max holds too.
     * Asked once, when the head is known. NULL: the settings have no limit. */
    size_t (*body_size_max)(const Parts *parts, const Request *request);

    /* Memory for bodies that are kept while their requests are served, as they came or inflated, and for what
     * handlers fetch for them (exchange_hold). All above 32 KiB are counted, but not what is made of them:
     * the arena has a limit of its own, and tensors have six times the size of their JSON text at most.
     * While there is no room, a socket is not read. NULL: there is no limit. */
    TenantMemory *bodies;

    bool is_local_only; /* requests that need a principal must pass guard_local() */
    Origins origins;    /* that CORS admits; the items outlive the server */

    /* 0 chooses the default in brackets. */
    size_t arena_size_max;                /* memory of one call [64 MiB] */
    size_t target_size_max;               /* [8 KiB] */
    size_t head_size_max;                 /* [32 KiB] */
    uint32_t inflated_ratio_max;          /* inflated size of a gzip body by its own size [1000] */
    uint32_t idempotency_key_size_max;    /* [255] */
    uint32_t connections_max;             /* [10,000] */
    uint32_t connections_per_address_max; /* 0: no bound */
    uint32_t deadline_ms;                 /* of a request [60,000] */
    uint32_t head_timeout_ms;             /* from its first byte to the end of its headers [10,000] */
    uint32_t idle_timeout_ms;             /* between requests, and of a client that stops reading [60,000] */
    uint32_t body_grace_ms;               /* before the minimum rate counts [10,000] */
    uint32_t body_rate_min;               /* bytes a second [1024] */
} HttpOptions;
