/* The attributes of local response normalisation, which divides an element by (bias + alpha × Σ x²)^beta,
 * with the sum over the neighbouring channels: TensorFlow's LRN and LRNGrad, ONNX's LRN-13. Threads: pure
 * functions. */
#pragma once

#include "shared/base/call.h"
#include "shared/graph/graph.h"

typedef struct ResponseRule {
    int axis;       /* of the channels */
    int64_t before; /* channels that count in front of an element's, and behind it */
    int64_t after;
    double bias;
    double alpha;
    double beta;
} ResponseRule;

/* Reads the attributes of a node whose input has this shape. INVALID_ARGUMENT when it has no channels, and
 * when depth_radius is negative or size is below 1. */
MUST_USE Status response_rule(Call *call, const Node *node, const Shape *shape, ResponseRule *ret_rule);
