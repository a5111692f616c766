/* The options of a session: how its graphs are planned.
 * Threads: any.
 * Errors:  INVALID_ARGUMENT names the member and what is possible. */
#pragma once

#include "gateway/plan/signature.h"

/* {"placement": "local" | "spread", "slots": 1…16, "soft_placement": false, "passes_off": ["identity", …]
 * with "*" for all}. */
MUST_USE Status session_options_read(Call *call, Slice json, PlanOptions *ret_options);
