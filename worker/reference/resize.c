#include "worker/reference/resize.h"

#include <math.h>

ResizedSide
resized_side(const Node *node, int64_t input, int64_t output)
{
    ResizedSide side = {.input = input,
        .output = output,
        .aligns_corners = node_attr_bool(node, "align_corners"),
        .is_half_pixel =
            node_attr(node, "half_pixel_centers") != NULL && node_attr_bool(node, "half_pixel_centers")};
    side.factor = side.aligns_corners && output > 1 ? (float)(input - 1) / (float)(output - 1)
                                                    : (float)input / (float)output;
    return side;
}

int64_t
resized_position(int64_t position, int64_t size)
{
    return position < 0 ? 0 : position > size - 1 ? size - 1 : position;
}

/* Sizes of more than 24 bits round: a position may come out behind the last pixel. */
Between
resized_between(const ResizedSide *side, int64_t position)
{
    float source =
        side->is_half_pixel ? ((float)position + 0.5F) * side->factor - 0.5F : (float)position * side->factor;
    float below = floorf(source);
    return (Between){resized_position((int64_t)below, side->input),
        resized_position((int64_t)ceilf(source), side->input), (double)(source - below)};
}
