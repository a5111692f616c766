/* Errors as documents: application/problem+json (RFC 9457), made from a Call's error by one table. Only
 * this module writes them.
 *
 *     {"type": "/problems/not-found", "title": "Not Found", "status": 404, "detail": "…",
 *      "instance": "/api/…", "code": "NOT_FOUND", "request_id": "…", "retryable": false,
 *      "errors": [{"pointer": "#/…", "detail": "…"}], "error": "…"}
 *
 * Internal errors (INTERNAL, UNKNOWN, DATA_LOSS) are described in the log only; the client gets the
 * request id. */
#pragma once

#include "gateway/http/response.h"
#include "shared/base/buffer.h"
#include "shared/base/call.h"

enum { PROBLEM_SLUG_SIZE = 32 };

/* Writes the last part of a code's page: "not-found" of "/problems/not-found" for NOT_FOUND. */
void problem_slug(Status code, char ret_slug[PROBLEM_SLUG_SIZE]);

extern const char problem_media_type[]; /* "application/problem+json" */

/* Appends the document of call->error. `instance` is the request's path; NULL when no request has been read:
 * the document names neither path nor request id then. */
void problem_write_document(const Call *call, int http_status, const Slice *instance, Buffer *buffer);

/* Replaces the response's body by the problem of call->error. The HTTP status is the response's own when
 * that is an error, else the code's. Adds Retry-After to 429 and 503, WWW-Authenticate to 401. */
void problem_write(const Call *call, Slice instance, Response *response);
