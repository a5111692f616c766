/* Small request headers with rules of their own: Prefer, Idempotency-Key, X-Request-Id. */
#pragma once

#include <stdbool.h>

#include "shared/base/call.h"
#include "shared/base/slice.h"

/* RFC 7240. What is not known here, or cannot be read, is ignored, as 2 of that document asks. */
typedef struct Preferences {
    bool responds_async; /* respond-async */
    bool has_wait;
    uint32_t wait_s;    /* wait=N */
    bool wants_minimal; /* return=minimal */
} Preferences;

Preferences preferences_parse(Slice prefer);

/* draft-ietf-httpapi-idempotency-key-header: a quoted string, or the same without its quotes. The key: 1 to
 * 255 visible characters; data NULL when the header (data NULL) is absent. INVALID_ARGUMENT otherwise. */
MUST_USE Status idempotency_key_parse(Call *call, Slice header, Slice *ret_key);

/* Whether somebody else's request id is fit for our logs: 1 to 32 letters, digits, '.', '_', '-'. */
bool request_id_is_valid(Slice header);
