/* One HTTP request as a handler reads it: checked, decoded and authorized.
 *
 * Ownership: everything belongs to the exchange and lives until its reply has been sent.
 * Threads:   the thread that the call is on.
 * Errors:    the readers say INVALID_ARGUMENT and name the parameter or header. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "gateway/http/principal.h"
#include "shared/base/call.h"
#include "shared/base/slice.h"

enum {
    REQUEST_HEADERS_MAX = 64,
    REQUEST_PARAMETERS_MAX = 8,
    REQUEST_QUERY_MAX = 32,
};

typedef struct Handler Handler;
typedef struct JobContext JobContext; /* gateway/jobs */
typedef struct Parts Parts;           /* what handlers work with: gateway/handlers/parts.h */

typedef struct Field {
    Slice name;
    Slice value;
} Field;

typedef struct Request {
    const Handler *handler;
    const char *method; /* as sent: HEAD stays HEAD */
    Slice target;       /* as sent */
    Slice path;         /* the target without its query, not decoded */

    Field headers[REQUEST_HEADERS_MAX];
    size_t header_count;
    Field parameters[REQUEST_PARAMETERS_MAX]; /* of the path, decoded */
    size_t parameter_count;
    Field query[REQUEST_QUERY_MAX]; /* decoded; names are unique */
    size_t query_count;

    Slice media_type;  /* of the body, in lower case and without parameters; empty when there is none */
    Slice body;        /* whole and inflated; empty for a body that went into a sink */
    void *sink_state;  /* made by BodySink.begin */
    Slice traceparent; /* valid by W3C Trace Context, or empty */
    Principal principal;

    const Parts *parts;      /* HttpOptions.parts */
    JobContext *job_context; /* the job thread's, in Handler.run; NULL on a loop thread */
} Request;

/* Return a slice whose data are NULL when the request has no such header, parameter or query. Header names
 * are compared without case. Path parameters of the route are always there. */
Slice request_header(const Request *request, const char *name);
Slice request_parameter(const Request *request, const char *name);
Slice request_query(const Request *request, const char *name);

/* Reads an integer of at most `maximum`; `ret_value` keeps its value when the parameter is absent. */
MUST_USE Status request_query_uint64(
    Call *call, const Request *request, const char *name, uint64_t maximum, uint64_t *ret_value);
/* Reads "true" or "false"; a name alone ("?trace") is true. */
MUST_USE Status request_query_boolean(Call *call, const Request *request, const char *name, bool *ret_value);

/* Refuses query parameters that are not in the NULL-terminated list: INVALID_ARGUMENT names the first. */
MUST_USE Status request_query_allow(Call *call, const Request *request, const char *const *names);

bool request_is_method(const Request *request, const char *method);
