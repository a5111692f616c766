/* Dimensions permuted and reversed, and blocks moved between space and channels. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static Status
permute_shape(Call *call, InferContext *context, const int64_t *order, size_t count)
{
    const Shape *input = &context->inputs[0];
    if (count != (size_t)input->rank) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "%zu axes do not permute rank %d", count, input->rank);
    }
    bool is_used[SHAPE_RANK_MAX] = {false};
    Shape output = shape_of_rank(input->rank);
    for (int index = 0; index < input->rank; index++) {
        int axis = 0;
        TRY(infer_axis(call, order[index], input->rank, &axis));
        if (is_used[axis]) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "axis %d is given twice", axis);
        }
        is_used[axis] = true;
        output.dims[index] = input->dims[axis];
    }
    context->outputs[0] = output;
    return STATUS_OK;
}

static Status
infer_transpose(Call *call, InferContext *context)
{
    int64_t order[SHAPE_RANK_MAX];
    size_t count = 0;
    bool is_known = false;
    int rank = context->inputs[0].rank;
    TRY(infer_ints(call, context, 1, order, SHAPE_RANK_MAX, &count));
    is_known = infer_knows(context, 1);
    if (is_known && rank >= 0) {
        return permute_shape(call, context, order, count);
    }
    context->outputs[0] = rank >= 0  ? shape_of_rank(rank)
                          : is_known ? shape_of_rank((int)count)
                                     : shape_unknown();
    return STATUS_OK;
}

/* All dimensions are reversed when no order is given. */
static Status
infer_onnx_transpose(Call *call, InferContext *context)
{
    int64_t order[SHAPE_RANK_MAX];
    int rank = context->inputs[0].rank;
    if (rank < 0) {
        return STATUS_OK;
    }
    size_t count = node_attr_ints(context->node, "perm", order, SHAPE_RANK_MAX);
    for (int index = 0; count == 0 && index < rank; index++) {
        order[index] = rank - 1 - index;
    }
    return permute_shape(call, context, order, count == 0 ? (size_t)rank : count);
}

static Status
infer_reverse(Call *call, InferContext *context)
{
    int64_t axes[SHAPE_RANK_MAX];
    size_t count = 0;
    bool is_known = false;
    bool is_used[SHAPE_RANK_MAX] = {false};
    TRY(infer_ints(call, context, 1, axes, SHAPE_RANK_MAX, &count));
    is_known = infer_knows(context, 1);
    for (size_t index = 0; is_known && context->inputs[0].rank >= 0 && index < count; index++) {
        int axis = 0;
        TRY(infer_axis(call, axes[index], context->inputs[0].rank, &axis));
        if (is_used[axis]) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "axis %d is given twice", axis);
        }
        is_used[axis] = true;
    }
    return infer_unchanged(call, context);
}

typedef struct BlockPlace {
    int height; /* indexes of dimensions */
    int width;
    int channel;
} BlockPlace;

static BlockPlace
block_position(const Node *node)
{
    bool is_channels_first = slice_starts_with(node->op->name, SLICE("onnx::")) ||
                             slice_starts_with(node_attr_string(node, "data_format"), SLICE("NC"));
    BlockPlace position = is_channels_first ? (BlockPlace){2, 3, 1} : (BlockPlace){1, 2, 3};
    return position;
}

static Status
divide_dimension(Call *call, int64_t size, int64_t block, int64_t *ret_size)
{
    if (size >= 0 && size % block != 0) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "%lld is no multiple of %lld", (long long)size, (long long)block);
    }
    *ret_size = size < 0 ? -1 : size / block;
    return STATUS_OK;
}

enum { BLOCK_MAX = 1 << 15 };

static Status
read_block(Call *call, const InferContext *context, const char *name, Shape *ret_input, int64_t *ret_block)
{
    *ret_block = node_attr_int(context->node, name);
    if (*ret_block < 1 || *ret_block > BLOCK_MAX) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "%s is %lld, not 1 to %d", name, (long long)*ret_block, BLOCK_MAX);
    }
    return infer_rank(call, context, 0, 4, ret_input);
}

static const char *
block_name(const Node *node)
{
    return node_attr(node, "blocksize") == NULL ? "block_size" : "blocksize";
}

static Status
infer_depth_to_space(Call *call, InferContext *context)
{
    Shape shape = shape_unknown();
    int64_t block = 0;
    TRY(read_block(call, context, block_name(context->node), &shape, &block));
    BlockPlace position = block_position(context->node);
    TRY(infer_multiply(call, shape.dims[position.height], block, &shape.dims[position.height]));
    TRY(infer_multiply(call, shape.dims[position.width], block, &shape.dims[position.width]));
    TRY(divide_dimension(call, shape.dims[position.channel], block * block, &shape.dims[position.channel]));
    context->outputs[0] = shape;
    return STATUS_OK;
}

static Status
infer_space_to_depth(Call *call, InferContext *context)
{
    Shape shape = shape_unknown();
    int64_t block = 0;
    TRY(read_block(call, context, block_name(context->node), &shape, &block));
    BlockPlace position = block_position(context->node);
    TRY(divide_dimension(call, shape.dims[position.height], block, &shape.dims[position.height]));
    TRY(divide_dimension(call, shape.dims[position.width], block, &shape.dims[position.width]));
    TRY(infer_multiply(call, shape.dims[position.channel], block * block, &shape.dims[position.channel]));
    context->outputs[0] = shape;
    return STATUS_OK;
}

static const OpDefinition transpose_ops[] = {
    OP("Transpose(x:T, perm:Tperm)->(y:T) {T:type, Tperm:type=DT_INT32}", 0, infer_transpose),
    OP("ReverseV2(tensor:T, axis:Tidx)->(output:T) {Tidx:type=DT_INT32, T:type}", 0, infer_reverse),
    OP("DepthToSpace(input:T)->(output:T) {T:type, block_size:int, data_format:string=NHWC}", 0,
        infer_depth_to_space),
    OP("SpaceToDepth(input:T)->(output:T) {T:type, block_size:int, data_format:string=NHWC}", 0,
        infer_space_to_depth),
    OP("onnx::Transpose(data:T)->(transposed:T) {perm:list(int)=[], T:type}", 0, infer_onnx_transpose),
    OP("onnx::DepthToSpace(input:T)->(output:T) {blocksize:int, mode:string=DCR, T:type}", 0,
        infer_depth_to_space),
    OP("onnx::SpaceToDepth(input:T)->(output:T) {blocksize:int, T:type}", 0, infer_space_to_depth),
};

OP_FAMILY(transpose, transpose_ops);
