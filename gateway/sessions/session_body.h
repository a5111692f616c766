/* The body of createSession and updateSession: {"name", "options"}.
 *
 * Ownership: texts live in the call's arena.
 * Errors:    INVALID_ARGUMENT names the member; OUT_OF_RANGE names the limit. */
#pragma once

#include "gateway/domain/limits.h"
#include "shared/base/call.h"

typedef struct SessionBody {
    const char *name;    /* NULL when absent */
    const char *options; /* a JSON object that session_options_read() takes; NULL when absent */
} SessionBody;

/* An empty body has no members. */
MUST_USE Status session_body_read(Call *call, Slice json, const Limits *limits, SessionBody *ret_body);
