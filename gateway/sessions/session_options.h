/* The options of a session, which say how its graphs are planned and what its steps may take, and the bodies
 * of createSession and updateSession that set them.
 *
 * Ownership: texts live in the call's arena.
 * Threads:   any.
 * Errors:    INVALID_ARGUMENT names the member and what is possible; OUT_OF_RANGE names the limit. */
#pragma once

#include "gateway/domain/limits.h"
#include "gateway/plan/signature.h"
#include "shared/wire/labels.h"

typedef struct SessionOptions {
    PlanOptions plan;
    char worker_labels[LABELS_TEXT_SIZE]; /* that its workers must have (shared/wire/labels.h); "": none */
    uint64_t step_memory_bytes; /* that a step may hold at once on each worker; 0: what the worker allows */
} SessionOptions;

/* Reads {"placement": "local" | "spread", "slots": 1…16, "soft_placement": false,
 * "allow_tf32": false, "passes_off": ["identity", …] with "*" for all, "step_memory_bytes": 0…2^53-1,
 * "worker_labels": {"zone": "a", …}}. */
MUST_USE Status session_options_read(Call *call, Slice json, SessionOptions *ret_options);

typedef struct SessionBody {
    const char *name;    /* NULL when absent */
    const char *options; /* a JSON object that session_options_read() takes; NULL when absent */
} SessionBody;

/* Reads {"name", "options"}; an empty body has no members. */
MUST_USE Status session_body_read(Call *call, Slice json, const Limits *limits, SessionBody *ret_body);
