/* Makes a reshape of a reshape read what the first one reads, since only the last shape counts.
 *
 * An ONNX Reshape whose shape has a 0 copies a dimension of its input, and the axes of an Unsqueeze or
 * Squeeze count in theirs: these stay at the end of a chain. */
#include "gateway/optimise/pass.h"

static const char *const inner_ops[] = {
    "ExpandDims",
    "Reshape",
    "Squeeze",
    "onnx::Flatten",
    "onnx::Reshape",
    "onnx::Squeeze",
    "onnx::Unsqueeze",
};

static bool
only_reshapes(const Rewrite *rewrite, uint32_t id)
{
    return rewrite_is_any_of(rewrite, id, inner_ops, COUNT_OF(inner_ops)) &&
           rewrite_node(rewrite, id)->control_count == 0 && rewrite_rests_on(rewrite, id, 0);
}

static bool
has_zero(const Tensor *shape)
{
    for (int64_t index = 0; index < tensor_element_count(shape); index++) {
        int64_t dimension = 0;
        if (!tensor_to_int64(shape, index, &dimension) || dimension == 0) {
            return true;
        }
    }
    return false;
}

static bool
sets_whole_shape(const Rewrite *rewrite, uint32_t id)
{
    if (rewrite_is(rewrite, id, "Reshape")) {
        return true;
    }
    const Tensor *shape = rewrite_constant(rewrite, rewrite_input(rewrite, id, 1));
    return rewrite_is(rewrite, id, "onnx::Reshape") && shape != NULL && !has_zero(shape);
}

static Status
reshape(Rewrite *rewrite)
{
    for (uint32_t position = 0; position < rewrite->graph->node_count; position++) {
        uint32_t id = rewrite->graph->order[position];
        Endpoint input = rewrite_input(rewrite, id, 0);
        if (input.node == NODE_NONE || !sets_whole_shape(rewrite, id) ||
            !only_reshapes(rewrite, input.node)) {
            continue;
        }
        const Endpoint inputs[] = {rewrite_input(rewrite, input.node, 0), rewrite_input(rewrite, id, 1)};
        TRY(rewrite_reread(rewrite, id, inputs, COUNT_OF(inputs)));
    }
    return STATUS_OK;
}

PASS(reshape, PASS_SIMPLIFY, true);
