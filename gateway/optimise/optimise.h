/* Makes a pruned graph cheaper before it is placed and cut. Which passes there are is the directory passes/.
 *
 * Ownership: see rewrite.h. Threads: one. Errors: RESOURCE_EXHAUSTED; a graph is never refused here. */
#pragma once

#include "gateway/optimise/rewrite.h"
#include "shared/base/buffer.h"

/* A set of passes, a bit each by its place in pass_table. */
typedef uint64_t PassSet;

/* "identity", or "*" for all. False when there is no such pass. */
MUST_USE bool pass_set_add(PassSet *set, Slice name);

bool pass_set_has(PassSet set, Slice name);

/* Those of the set that workers do, into ret_names[PASS_COUNT_MAX]; how many they are. */
enum { PASS_COUNT_MAX = 64 };
size_t pass_set_of_worker(PassSet set, Slice *ret_names);

/* "'arithmetic', 'identity', …": all there are. */
void pass_set_write_names(Buffer *buffer);

typedef struct Optimised {
    Rewritten result;         /* graph NULL: nothing was changed */
    const RewriteNote *notes; /* in the order of changes */
    size_t note_count;
} Optimised;

/* `is_kept`: nodes that must stay under their names (targets). */
MUST_USE Status optimise(Call *call, const Graph *graph, const Shape *const *shapes, const bool *is_kept,
    PassSet without, Optimised *ret_optimised);
