/* An image's side that is resized: what attributes and sizes say of it (TensorFlow's ResizeBilinear and its
 * relatives).
 * Threads: any. */
#pragma once

#include "shared/graph/graph.h"

typedef struct ResizedSide {
    int64_t input; /* pixels */
    int64_t output;
    float factor; /* from a position of the output to one of the input */
    bool aligns_corners;
    bool is_half_pixel;
} ResizedSide;

ResizedSide resized_side(const Node *node, int64_t input, int64_t output);
