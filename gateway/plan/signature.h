/* What a step asks of a graph, in canonical form: the same feeds, fetches and targets in any order, named
 * once or twice, are one signature, and one plan serves them. The key holds all of it in full and is compared
 * in full; it is never only a hash (in TensorFlow a collision there runs the wrong graph, and another order
 * compiles again).
 *
 * Ownership: lists and key live in call->arena; names point to what was given.
 * Threads:   immutable once made.
 * Errors:    INVALID_ARGUMENT for a feed given twice, a step without fetches and targets, options out of
 * range. */
#pragma once

#include "shared/base/call.h"
#include "shared/tensor/shape.h"

enum { PLAN_SLOT_COUNT_MAX = 16 };

typedef enum PlacementPolicy {
    PLACEMENT_LOCAL,  /* what asks for no place stays near its inputs, at first on slot 0 */
    PLACEMENT_SPREAD, /* compute nodes take the slots in turn */
} PlacementPolicy;

typedef struct PlanOptions {
    PlacementPolicy placement;
    uint32_t slot_count;     /* 1…16; tasks that nodes ask for may add to it */
    uint64_t passes_off;     /* a PassSet (gateway/optimise): what must not be done to the graph */
    bool has_soft_placement; /* a device type, id or job that no worker has is dropped from a request, not
                                refused */
} PlanOptions;

typedef struct SignatureFeed {
    Slice name;  /* "node", "node:port", or a port the model declares */
    Dtype dtype; /* of the tensor that will be fed; DTYPE_INVALID: whatever the graph says */
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
    Slice key; /* graph, lists and options; what a plan is cached by */
} Signature;

/* `given` in any order, repeated fetches and targets allowed, its key ignored; the lists of the result are
 * sorted by name and without repetition. `graph` is what identifies the graph: an id or a digest. */
MUST_USE Status signature_make(Call *call, Slice graph, const Signature *given, Signature *ret_signature);

/* Positions in the canonical lists, which are the plan's order of feeds and fetches. False: not there. */
bool signature_find_feed(const Signature *signature, Slice name, size_t *ret_index);
bool signature_find_fetch(const Signature *signature, Slice name, size_t *ret_index);

/* In a list of such order, a plan's too. */
bool signature_find_name(const Slice *names, size_t count, Slice name, size_t *ret_index);

/* Whether signature_make() made the key for this graph. */
bool signature_key_is_of(Slice key, Slice graph);

bool placement_from_name(Slice name, PlacementPolicy *ret_placement); /* "local", "spread" */
const char *placement_name(PlacementPolicy placement);
