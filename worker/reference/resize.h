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

/* Two neighbouring pixels, and a position between them. */
typedef struct Between {
    int64_t lower;
    int64_t upper;
    double part; /* weight of the upper one; the lower has the rest of 1 */
} Between;

/* Returns the position in 0 … size - 1 that is nearest to this one. */
int64_t resized_position(int64_t position, int64_t size);

/* Finds where a pixel of the output lies between pixels of the input. Positions are computed in float, as
 * TensorFlow does: at borders between pixels the last bit decides. */
Between resized_between(const ResizedSide *side, int64_t position);

ResizedSide resized_side(const Node *node, int64_t input, int64_t output);
