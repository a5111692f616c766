/* Graphs run on the reference kernels, node by node: the simplest executor there is, without control flow.
 *
 * Ownership: the caller gives outputs back with tensor_unref().
 * Errors:    UNIMPLEMENTED when a node has no op or no reference kernel supports it; what kernels say. */
#pragma once

#include "worker/runtime/kernel.h"

/* The first of the reference kernels that can do this node; NULL when none can. */
const Kernel *reference_find(const Node *node);

/* One node. Both arrays are as long as the node has inputs and outputs; inputs may be taken over. */
MUST_USE Status reference_compute(Call *call, const Node *node, Tensor *inputs, Tensor *outputs);

typedef struct ReferenceFeed {
    Endpoint endpoint;
    Tensor tensor; /* borrowed */
} ReferenceFeed;

/* Everything the fetches need. ret_tensors[fetch_count]. */
MUST_USE Status reference_run(Call *call, const Graph *graph, const ReferenceFeed *feeds, size_t feed_count,
    const Endpoint *fetches, size_t fetch_count, Tensor *ret_tensors);
