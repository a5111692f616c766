/* Makes a pruned graph cheaper before its nodes are assigned to slots. The passes are the files of
 * passes/.
 *
 * Ownership: as in rewrite.h.
 * Threads:   one.
 * Errors:    RESOURCE_EXHAUSTED; no graph is refused here. */
#pragma once

#include "gateway/optimise/rewrite.h"
#include "shared/base/buffer.h"

/* A set of passes: a bit for each, by its index in pass_table. */
typedef uint64_t PassSet;

/* Adds the pass of this name, or all passes for "*". Returns false when there is none. */
MUST_USE bool pass_set_add(PassSet *set, Slice name);

bool pass_set_has(PassSet set, Slice name);

/* Fills ret_names[PASS_COUNT_MAX] with the passes of the set that workers run; returns how many these are. */
enum { PASS_COUNT_MAX = 64 };
size_t pass_set_of_worker(PassSet set, Slice *ret_names);

/* Writes "'arithmetic', 'identity', …": the names of all passes. */
void pass_set_write_names(Buffer *buffer);

typedef struct Optimised {
    Rewritten result;         /* its graph is NULL when nothing was changed */
    const RewriteNote *notes; /* in the order of the changes */
    size_t note_count;
} Optimised;

/* Runs all passes but `without`. `is_kept` tells which nodes must keep their names, because they are
 * targets. */
MUST_USE Status optimise(Call *call, const Graph *graph, const Shape *const *shapes, const bool *is_kept,
    PassSet without, Optimised *ret_optimised);
