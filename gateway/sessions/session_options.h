/* The options of a session: how its graphs are planned, and what its steps may take.
 * Threads: any.
 * Errors:  INVALID_ARGUMENT names the member and what is possible. */
#pragma once

#include "gateway/plan/signature.h"

typedef struct SessionOptions {
    PlanOptions plan;
    uint64_t step_memory_bytes; /* that a step may hold at once on each worker; 0: what the worker allows */
} SessionOptions;

/* {"placement": "local" | "spread", "slots": 1…16, "soft_placement": false, "passes_off": ["identity", …]
 * with "*" for all, "step_memory_bytes": 0…2^53-1}. */
MUST_USE Status session_options_read(Call *call, Slice json, SessionOptions *ret_options);
