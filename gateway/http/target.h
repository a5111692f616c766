/* A request target taken apart: "/api/v1/graphs/g%201?page_size=5" gives the segments "api", "v1",
 * "graphs" and "g 1", and one query parameter.
 *
 * The reading is strict, because requests are smuggled past a proxy's rules where two programs read one
 * target differently: only the characters of RFC 3986 3.3 and 3.4, only origin form, no structure that is
 * encoded (%00, %2f, %5c, controls), no dot segments, no empty segments but the one behind a last '/',
 * UTF-8 only, no name twice in the query.
 *
 * Ownership: decoded parts live in call->arena, the others point into the raw target.
 * Errors:    INVALID_ARGUMENT. */
#pragma once

#include "gateway/http/request.h"

enum { TARGET_SEGMENTS_MAX = 16 };

typedef struct Target {
    Slice path; /* not decoded */
    Slice segments[TARGET_SEGMENTS_MAX];
    size_t segment_count;
} Target;

MUST_USE Status target_parse(Call *call, Slice raw, Target *ret_target);

/* Reads the part behind '?', in the form that browsers and curl send: '+' is a space (WHATWG URL 5.1). */
MUST_USE Status query_parse(Call *call, Slice raw, Field ret_fields[REQUEST_QUERY_MAX], size_t *ret_count);

/* Return the target's path and query, split at the first '?'. */
Slice target_path(Slice raw);
Slice target_query(Slice raw); /* data NULL when there is no '?' */
