/* A handler's answer: a status, headers, and a body that is written, taken over, borrowed or streamed.
 *
 * A handler that fails returns its Status; the server then writes the problem document (RFC 9457) from the
 * Call's error. response_fail() is for failures that HTTP status codes describe better than canonical
 * codes.
 *
 * Ownership: the response owns its body; header values are copied into the call's arena.
 * Threads:   one at a time.
 * Errors:    a response that found no memory is sent as 429; handlers need not check for it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "shared/base/arena.h"
#include "shared/base/buffer.h"
#include "shared/base/call.h"
#include "shared/base/slice.h"

enum { RESPONSE_HEADERS_MAX = 24 };

typedef struct HttpStream HttpStream;

typedef struct ResponseHeader {
    const char *name;
    const char *value;
} ResponseHeader;

typedef struct Response {
    Arena *arena;
    int status; /* 0: not chosen yet, sent as 200 */
    ResponseHeader headers[RESPONSE_HEADERS_MAX];
    size_t header_count;
    const char *etag; /* quoted, or NULL */
    bool has_failed;  /* a header found no memory, or held control bytes */

    Buffer buffer;  /* a body that is written */
    Slice borrowed; /* a body that belongs to another owner */
    ArenaRelease release;
    void *resource;
    HttpStream *stream; /* a body that comes in pieces */
} Response;

void response_begin(Response *response, Arena *arena);
void response_done(Response *response);

void response_status(Response *response, int http_status);

/* Sets or replaces. `name` is a literal; control bytes in the value make the response fail. */
void response_header(Response *response, const char *name, const char *value);
void response_header_format(Response *response, const char *name, const char *format, ...) PRINTF_LIKE(3, 4);

/* Removes a header; nothing happens when it is not set. */
void response_header_remove(Response *response, const char *name);

/* Adds the name of a request header that the reply depends on to Vary. */
void response_vary(Response *response, const char *header);
const char *response_header_get(const Response *response, const char *name); /* NULL when not set */

/* Sets the tag of the resource's present state, given without quotes. The server then answers 304 to a GET
 * whose If-None-Match names the tag. */
void response_etag(Response *response, const char *tag);

/* Sets the Content-Type and returns the buffer to write the body into. */
Buffer *response_body(Response *response, const char *content_type);
Buffer *response_json(Response *response); /* application/json */

/* Takes the buffer over as the body and leaves an empty one behind. */
void response_take(Response *response, const char *content_type, Buffer *buffer);

/* Sends bytes of another owner; `release(resource)` is called when they have been sent or are no longer
 * needed. `release` may be NULL for bytes that outlive the server. */
void response_borrow(
    Response *response, const char *content_type, Slice bytes, ArenaRelease release, void *resource);

/* Drops the body and its headers; status, ETag and all else stay. */
void response_clear_body(Response *response);

/* HTTP status codes say more than canonical codes can: a body too large, a lost race on an ETag. One table
 * gives each its title (RFC 9110 15) and the canonical code that goes into the problem document. */
const char *http_status_title(int http_status); /* "Error" for a code that is not in the table */
Status http_status_code(int http_status);       /* INTERNAL for a code that is not in the table */

/* Fails the call with the canonical code that belongs to this HTTP status, and keeps the HTTP status for the
 * reply: return response_fail(call, response, 412, "…"). */
#define response_fail(call, response, http_status, ...)                                                      \
    (response_status((response), (http_status)),                                                             \
        call_fail((call), http_status_code(http_status), __VA_ARGS__))
