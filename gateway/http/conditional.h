/* Conditional requests (RFC 9110 13): ETags on the way out, If-Match and If-None-Match on the way in.
 *
 * Our tags name a state of the resource, not its bytes: the same tag goes out with a body sent as gzip,
 * marked weak (W/) there, and a client that sends it back in If-Match means that state. So "W/" is ignored on
 * both sides. Tags are passed without quotes. */
#pragma once

#include "gateway/http/request.h"
#include "gateway/http/response.h"

/* Whether the header's list names the tag, or is "*". False for an absent header (data NULL). */
bool etag_list_has(Slice list, Slice tag);

/* True when the client holds this state already: a handler may skip the work on a body that would become 304.
 */
bool request_holds(const Request *request, const char *tag);

/* FAILED_PRECONDITION with 412 when If-Match names another state; with 428 when it is absent and
 * `is_required`. */
MUST_USE Status request_match(
    Call *call, const Request *request, Response *response, const char *tag, bool is_required);
