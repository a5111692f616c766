#include "shared/ops/space_to_batch/rule.h"

bool
blocks_go_to_batch(const Node *node)
{
    return slice_starts_with(node->op->name, SLICE("Space"));
}

/* The two-dimensional forms have the block's size as an attribute. */
static Status
read_sizes(Call *call, const InferContext *context, Blocks *blocks)
{
    const Node *node = context->node;
    size_t count = 2;
    if (node_attr(node, "block_size") != NULL) {
        blocks->size[0] = node_attr_int(node, "block_size");
        blocks->size[1] = blocks->size[0];
    } else {
        TRY(infer_ints(call, context, 1, blocks->size, SHAPE_RANK_MAX, &count));
    }
    for (size_t index = 0; index < count; index++) {
        if (blocks->size[index] < 1) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "block size %zu is %lld, not at least 1", index,
                (long long)blocks->size[index]);
        }
    }
    blocks->rank = (int)count;
    return STATUS_OK;
}

/* Reads the last input, of shape [rank, 2]. */
static Status
read_borders(Call *call, const Tensor *borders, Blocks *blocks)
{
    if (borders->shape.rank != 2 || borders->shape.dims[0] != blocks->rank || borders->shape.dims[1] != 2) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "paddings or crops have shape %s, not [%d,2]",
            shape_text(&borders->shape, text), blocks->rank);
    }
    for (int64_t index = 0; index < blocks->rank; index++) {
        int64_t *before = &blocks->before[index];
        int64_t *after = &blocks->after[index];
        if (!tensor_to_int64(borders, 2 * index, before) || !tensor_to_int64(borders, 2 * index + 1, after) ||
            *before < 0 || *after < 0 || *before > INT32_MAX || *after > INT32_MAX) {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "paddings or crops of dimension %d are not within 0 to %d", (int)index + 1, INT32_MAX);
        }
    }
    return STATUS_OK;
}

static Status
divide_dimension(Call *call, int64_t value, int64_t divisor, int64_t *ret_quotient)
{
    if (value >= 0 && value % divisor != 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%lld does not divide by blocks of %lld",
            (long long)value, (long long)divisor);
    }
    *ret_quotient = value < 0 ? -1 : value / divisor;
    return STATUS_OK;
}

static Status
resize_dimension(Call *call, bool to_batch, int index, const Blocks *blocks, int64_t *dimension)
{
    int64_t border = blocks->before[index] + blocks->after[index];
    if (to_batch) {
        return divide_dimension(
            call, *dimension < 0 ? -1 : *dimension + border, blocks->size[index], dimension);
    }
    TRY(infer_multiply(call, *dimension, blocks->size[index], dimension));
    if (*dimension >= 0 && *dimension < border) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%lld cannot be cropped by %lld and %lld",
            (long long)*dimension, (long long)blocks->before[index], (long long)blocks->after[index]);
    }
    *dimension -= *dimension < 0 ? 0 : border;
    return STATUS_OK;
}

static Status
size_output(Call *call, const InferContext *context, Blocks *blocks)
{
    bool to_batch = blocks_go_to_batch(context->node);
    Shape output = context->inputs[0];
    int64_t block = 1;
    if (output.rank < blocks->rank + 1) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "an input of rank %d has no batch and %d dimensions",
            output.rank, blocks->rank);
    }
    for (int index = 0; index < blocks->rank; index++) {
        TRY(infer_multiply(call, block, blocks->size[index], &block));
        TRY(resize_dimension(call, to_batch, index, blocks, &output.dims[1 + index]));
    }
    TRY(to_batch ? infer_multiply(call, output.dims[0], block, &output.dims[0])
                 : divide_dimension(call, output.dims[0], block, &output.dims[0]));
    blocks->output = output;
    return infer_check_size(call, &output);
}

Status
blocks_read(Call *call, const InferContext *context, Blocks *ret_blocks)
{
    Blocks blocks = {.output = shape_unknown()};
    uint32_t borders = context->node->input_count - 1;
    blocks.is_known = context->inputs[0].rank >= 0 && infer_knows(context, borders) &&
                      (borders == 1 || infer_knows(context, 1));
    if (borders == 1) {
        Shape image;
        TRY(infer_rank(call, context, 0, 4, &image));
    }
    if (blocks.is_known) {
        TRY(read_sizes(call, context, &blocks));
        TRY(read_borders(call, context->values[borders], &blocks));
        TRY(size_output(call, context, &blocks));
    } else if (context->inputs[0].rank >= 0) {
        blocks.output = shape_of_rank(context->inputs[0].rank);
    }
    *ret_blocks = blocks;
    return STATUS_OK;
}
