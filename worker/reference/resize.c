#include "worker/reference/resize.h"

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
