/* Request headers with rules of their own: Accept and Accept-Encoding (RFC 9110 12.5), If-Match and
 * If-None-Match (RFC 9110 13), Prefer (RFC 7240), Idempotency-Key and X-Request-Id.
 *
 * Ownership: slices point into the header, or into the call's arena.
 * Threads:   no state.
 * Errors:    a header that only states a preference and cannot be read counts as absent, as RFC 9110 12.1 and
 *            RFC 7240 2 allow; the others say which code they give. */
#pragma once

#include <stdbool.h>

#include "gateway/http/request.h"
#include "gateway/http/response.h"

enum { ACCEPT_QUALITY_MAX = 1000 };

/* Returns the quality that an Accept header gives this media type ("application/json"), in thousandths; 0:
 * not acceptable. The most specific range counts. An absent header (data NULL) or an empty one takes
 * everything. */
int accept_quality(Slice accept, const char *media_type);

/* Returns the index of the offer with the highest quality, the first of several; -1 when none is acceptable
 * (406). */
int accept_choose(Slice accept, const char *const *offers, int offer_count);

/* Returns whether Accept-Encoding admits this content coding ("gzip"). An absent header admits none: a client
 * that names no coding may not be able to read one. */
bool accept_encoding(Slice accept_encoding_header, const char *coding);

/* Returns "Application/JSON" of "Application/JSON; charset=utf-8". */
Slice media_type_bare(Slice content_type);

/* ETags name a state of the resource, not its bytes: the same tag goes out with a body sent as gzip, marked
 * weak (W/) there, and a client that sends it back in If-Match means that state. Therefore "W/" is ignored.
 * Tags are passed without quotes. */

/* Returns whether the header's list names the tag, or is "*"; false for an absent header (data NULL). */
bool etag_list_has(Slice list, Slice tag);

/* Fails with FAILED_PRECONDITION: 412 when If-Match names another state; 428 when it is absent and
 * `is_required`. */
MUST_USE Status request_match(
    Call *call, const Request *request, Response *response, const char *tag, bool is_required);

/* RFC 7240. Preferences that are unknown here, or cannot be read, are ignored. */
typedef struct Preferences {
    bool responds_async; /* respond-async */
    bool has_wait;
    uint32_t wait_s;    /* wait=N */
    bool wants_minimal; /* return=minimal */
} Preferences;

Preferences preferences_parse(Slice prefer);

/* Reads the value of an Authorization header; an absent one (data NULL) gives CREDENTIALS_NONE.
 * UNAUTHENTICATED for another scheme or credentials that cannot be read. */
MUST_USE Status credentials_parse(Call *call, Slice authorization, Credentials *ret_credentials);

/* Reads a quoted string, or the same without its quotes (draft-ietf-httpapi-idempotency-key-header): 1 to 255
 * visible characters, INVALID_ARGUMENT otherwise. The key's data are NULL when the header is absent (data
 * NULL). */
MUST_USE Status idempotency_key_parse(Call *call, Slice header, Slice *ret_key);

/* Returns whether a client's request id is fit for the log: 1 to 32 letters, digits, '.', '_', '-'. */
bool request_id_is_valid(Slice header);
