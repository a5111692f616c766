/* The signature of a step: feeds, fetches, targets and options in canonical form, so that the same names
 * in any order, given once or twice, are one signature, and one plan serves them. The key holds all of it
 * and is compared in full, never as a hash alone (in TensorFlow a collision runs the wrong graph, and
 * another order compiles again).
 *
 * Ownership: lists and key live in call->arena; names point to what was given.
 * Threads:   immutable once made.
 * Errors:    INVALID_ARGUMENT for a feed given twice, for a step without fetches and targets, and for
 *            options out of range. */
#pragma once

#include "shared/base/call.h"
#include "shared/tensor/shape.h"

enum { PLAN_SLOT_COUNT_MAX = 256 };

typedef enum PlacementPolicy {
    PLACEMENT_LOCAL,  /* a node that asks for no task stays near its inputs, at first on slot 0 */
    PLACEMENT_SPREAD, /* nodes that compute take the slots in turn */
} PlacementPolicy;

typedef struct PlanOptions {
    PlacementPolicy placement;
    uint32_t slot_count;     /* 1…256; tasks that nodes ask for may add to it */
    uint64_t passes_off;     /* a PassSet (gateway/optimise) */
    bool allows_tf32;        /* an accelerator may multiply float32 in TF32 */
    bool has_soft_placement; /* A device type or id that no worker has is dropped from a request, not refused.
                              */
} PlanOptions;

typedef struct SignatureFeed {
    Slice name;  /* "node", "node:port", or a port the model declares */
    Dtype dtype; /* DTYPE_INVALID: the one that the graph says */
    Shape shape; /* for estimates; shape_unknown() lets steps of any shape share the plan */
} SignatureFeed;

typedef struct Signature {
    const SignatureFeed *feeds;
    size_t feed_count;
    const Slice *fetches;
    size_t fetch_count;
    const Slice *targets;
    size_t target_count;
    PlanOptions options;
    Slice key; /* graph, lists and options: plans are cached by it */
} Signature;

/* Makes a signature of `given`, whose lists may be in any order and repeat fetches and targets; its key is
 * ignored. The lists of the result are sorted by name, without repetition. `graph` identifies the graph:
 * an id or a digest. */
MUST_USE Status signature_make(Call *call, Slice graph, const Signature *given, Signature *ret_signature);

/* Find a position in the sorted lists, which is the plan's order too. False when there is none. */
bool signature_find_feed(const Signature *signature, Slice name, size_t *ret_index);
bool signature_find_fetch(const Signature *signature, Slice name, size_t *ret_index);

/* Does the same in any list that is sorted so, such as a plan's. */
bool signature_find_name(const Slice *names, size_t count, Slice name, size_t *ret_index);

/* Returns true when signature_make() made the key for this graph. */
bool signature_key_is_of(Slice key, Slice graph);

bool placement_from_name(Slice name, PlacementPolicy *ret_placement); /* "local", "spread" */
const char *placement_name(PlacementPolicy placement);
