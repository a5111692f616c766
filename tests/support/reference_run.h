/* Graphs run on the reference kernels, node by node: the simplest executor there is, without control flow.
 *
 * Ownership: the caller releases outputs with tensor_unref().
 * Errors:    UNIMPLEMENTED when a node has no op or no reference kernel supports it; those of kernels. */
#pragma once

#include "worker/runtime/kernel.h"

/* Returns the first reference kernel that supports this node; NULL when none does. */
const Kernel *reference_find(const Node *node);

/* Computes one node. Both arrays are as long as the node has inputs and outputs; inputs may be taken over. */
MUST_USE Status reference_compute(Call *call, const Node *node, Tensor *inputs, Tensor *outputs);

typedef struct ReferenceFeed {
    Endpoint endpoint;
    Tensor tensor; /* borrowed */
} ReferenceFeed;

/* Computes all that the fetches need. ret_tensors has fetch_count entries. */
MUST_USE Status reference_run(Call *call, const Graph *graph, const ReferenceFeed *feeds, size_t feed_count,
    const Endpoint *fetches, size_t fetch_count, Tensor *ret_tensors);
