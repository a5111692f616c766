/* Removes nodes that, with the shapes and values of this graph, return their input unchanged. */
#include <assert.h>

#include "gateway/optimise/pass.h"

static bool
keeps_shape(const Rewrite *rewrite, uint32_t id)
{
    const Shape *before = rewrite_shape(rewrite, rewrite_input(rewrite, id, 0));
    const Shape *after = rewrite_shape(rewrite, (Endpoint){.node = id});
    return shape_is_known(before) && shape_equal(before, after);
}

static bool
keeps_dtype(const Rewrite *rewrite, uint32_t id)
{
    return rewrite_dtype(rewrite, rewrite_input(rewrite, id, 0)) ==
           rewrite_dtype(rewrite, (Endpoint){.node = id});
}

static bool
has_one_input(const Rewrite *rewrite, uint32_t id)
{
    return rewrite_node(rewrite, id)->input_count == 1;
}

/* ConcatV2 takes (values…, axis). */
static bool
has_one_input_and_axis(const Rewrite *rewrite, uint32_t id)
{
    return rewrite_node(rewrite, id)->input_count == 2;
}

typedef struct NoOpRule {
    const char *op;
    bool (*does_nothing)(const Rewrite *rewrite, uint32_t id);
} NoOpRule;

/* Ops that take parts or repeat are here only if they cannot reorder elements. */
static const NoOpRule rules[] = {
    {"AddN", has_one_input},
    {"BroadcastTo", keeps_shape},
    {"Cast", keeps_dtype},
    {"ConcatV2", has_one_input_and_axis},
    {"ExpandDims", keeps_shape},
    {"Pad", keeps_shape},
    {"PadV2", keeps_shape},
    {"Reshape", keeps_shape},
    {"Slice", keeps_shape},
    {"Squeeze", keeps_shape},
    {"Tile", keeps_shape},
    {"onnx::Cast", keeps_dtype},
    {"onnx::Concat", has_one_input},
    {"onnx::Expand", keeps_shape},
    {"onnx::Flatten", keeps_shape},
    {"onnx::Reshape", keeps_shape},
    {"onnx::Squeeze", keeps_shape},
    {"onnx::Tile", keeps_shape},
    {"onnx::Unsqueeze", keeps_shape},
};

static bool
does_nothing(const Rewrite *rewrite, uint32_t id)
{
    assert(rewrite_input(rewrite, id, 0).node != NODE_NONE);

    for (size_t index = 0; index < COUNT_OF(rules); index++) {
        if (rewrite_is(rewrite, id, rules[index].op)) {
            return rules[index].does_nothing(rewrite, id);
        }
    }
    return false;
}

static Status
no_op(Rewrite *rewrite)
{
    for (uint32_t id = 0; id < rewrite->graph->node_count; id++) {
        Endpoint output = {.node = id};
        Endpoint input = rewrite_input(rewrite, id, 0);
        if (input.node != NODE_NONE && rewrite_may_give_way(rewrite, id, input) &&
            rewrite_node(rewrite, id)->output_count == 1 && rewrite_resolve(rewrite, output).node == id &&
            does_nothing(rewrite, id) && rewrite_rests_on(rewrite, id, 0)) {
            rewrite_redirect(rewrite, output, input);
        }
    }
    return STATUS_OK;
}

PASS(no_op, PASS_CLEAN, true);
