/* Graphs whose constants are absent: their elements lie beside the graph, found by digest, as a gateway has a
 * large model and a worker asks for its blobs.
 *
 * Ownership: holds references to the tensors; absent_weights_done() gives them back. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/graph/graph.h"

typedef struct AbsentWeights {
    size_t size_min; /* smaller constants stay */
    Buffer items;    /* the elements' tensors and their digests */
} AbsentWeights;

/* Returns the graph with every constant of plain bytes from size_min on made absent, also in functions. */
GraphDef *absent_weights_take(AbsentWeights *weights, GraphDef *def);

/* Returns a copy of the bytes that the digest names, in hex; NULL when there are none. */
TensorBuffer *absent_weights_find(const AbsentWeights *weights, Slice sha256);

void absent_weights_done(AbsentWeights *weights);
