/* Dimensions permuted and reversed, and blocks moved between space and channels: copies with other
 * strides. */
#include "worker/reference/moved_strings.h"
#include "worker/reference/moves.h"
#include "worker/reference/outputs.h"

static bool
supports_copyable(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[0]);
}

static int
normal_axis(int64_t axis, int rank)
{
    return (int)(axis < 0 ? axis + rank : axis);
}

static Status
copy_permuted(KernelContext *context, const int64_t *order)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    int64_t strides[SHAPE_RANK_MAX];
    strides_dense(&input->shape, strides);
    StridedCopy copy = {.rank = output->shape.rank};
    strides_dense(&output->shape, copy.to);
    for (int dimension = 0; dimension < copy.rank; dimension++) {
        copy.dims[dimension] = output->shape.dims[dimension];
        copy.from[dimension] = strides[normal_axis(order[dimension], copy.rank)];
    }
    TRY(move_elements(context, &copy, input, output));
    return STATUS_OK;
}

static Status
transpose_compute(KernelContext *context)
{
    int64_t order[SHAPE_RANK_MAX];
    size_t count = 0;
    TRY(kernel_input_ints(context, 1, order, SHAPE_RANK_MAX, &count));
    for (; count < SHAPE_RANK_MAX; count++) {
        order[count] = 0; /* the shape rule refuses orders that are too short */
    }
    return copy_permuted(context, order);
}

static Status
onnx_transpose_compute(KernelContext *context)
{
    int64_t order[SHAPE_RANK_MAX] = {0};
    int rank = context->inputs[0].shape.rank;
    if (node_attr_ints(context->node, "perm", order, SHAPE_RANK_MAX) == 0) {
        for (int index = 0; index < rank; index++) {
            order[index] = rank - 1 - index;
        }
    }
    return copy_permuted(context, order);
}

static Status
reverse_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    int64_t axes[SHAPE_RANK_MAX];
    size_t count = 0;
    TRY(output_new(context, &output));
    TRY(kernel_input_ints(context, 1, axes, SHAPE_RANK_MAX, &count));
    StridedCopy copy = {.rank = input->shape.rank};
    strides_dense(&input->shape, copy.from);
    strides_dense(&input->shape, copy.to);
    memcpy(copy.dims, input->shape.dims, sizeof input->shape.dims);
    for (size_t index = 0; index < count; index++) {
        int axis = normal_axis(axes[index], copy.rank);
        copy.from_offset += (copy.dims[axis] - 1) * copy.from[axis];
        copy.from[axis] = -copy.from[axis];
    }
    TRY(move_elements(context, &copy, input, output));
    return STATUS_OK;
}

/* The channels of the deep side are split into block row, block column and the flat side's channels;
 * blocks come first, in ONNX's mode CRD last. */
typedef struct Blocks {
    const Shape *flat; /* has more space and fewer channels */
    int64_t size;
    bool is_channels_first;
    bool is_depth_outer; /* ONNX's mode CRD */
} Blocks;

enum { BLOCK_DIMS = 6 }; /* batch, row, block row, column, block column, channel */

static void
block_strides(const Blocks *blocks, int64_t *dims, int64_t *flat, int64_t *deep)
{
    const int64_t *size = blocks->flat->dims;
    int64_t rows = size[blocks->is_channels_first ? 2 : 1];
    int64_t columns = size[blocks->is_channels_first ? 3 : 2];
    int64_t channels = size[blocks->is_channels_first ? 1 : 3];
    int64_t b = blocks->size;
    int64_t deep_plane = rows / b * (columns / b);
    int64_t flat_space = blocks->is_channels_first ? 1 : channels;
    int64_t deep_space = blocks->is_channels_first ? 1 : channels * b * b;
    int64_t deep_channel = blocks->is_channels_first ? deep_plane : 1;
    const int64_t all_dims[BLOCK_DIMS] = {size[0], rows / b, b, columns / b, b, channels};
    const int64_t all_flat[BLOCK_DIMS] = {rows * columns * channels, b * columns * flat_space,
        columns * flat_space, b * flat_space, flat_space, blocks->is_channels_first ? rows * columns : 1};
    int64_t inner = blocks->is_depth_outer ? 1 : channels;
    const int64_t all_deep[BLOCK_DIMS] = {rows * columns * channels, columns / b * deep_space,
        b * inner * deep_channel, deep_space, inner * deep_channel,
        (blocks->is_depth_outer ? b * b : 1) * deep_channel};
    memcpy(dims, all_dims, sizeof all_dims);
    memcpy(flat, all_flat, sizeof all_flat);
    memcpy(deep, all_deep, sizeof all_deep);
}

static Blocks
read_blocks(const Node *node, const Shape *flat)
{
    bool is_onnx = node_attr(node, "blocksize") != NULL;
    Blocks blocks = {
        .flat = flat,
        .size = node_attr_int(node, is_onnx ? "blocksize" : "block_size"),
        .is_channels_first = is_onnx || slice_starts_with(node_attr_string(node, "data_format"), SLICE("NC")),
        .is_depth_outer =
            node_attr(node, "mode") != NULL && slice_equal(node_attr_string(node, "mode"), SLICE("CRD")),
    };
    return blocks;
}

static Status
depth_to_space_compute(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    Blocks blocks = read_blocks(context->node, &output->shape);
    StridedCopy copy = {.rank = BLOCK_DIMS};
    block_strides(&blocks, copy.dims, copy.to, copy.from);
    TRY(move_elements(context, &copy, &context->inputs[0], output));
    return STATUS_OK;
}

static Status
space_to_depth_compute(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    Blocks blocks = read_blocks(context->node, &context->inputs[0].shape);
    StridedCopy copy = {.rank = BLOCK_DIMS};
    block_strides(&blocks, copy.dims, copy.from, copy.to);
    TRY(move_elements(context, &copy, &context->inputs[0], output));
    return STATUS_OK;
}

/* NCHW_VECT_C, which packs channels in fours, is not supported. */
static bool
blocks_supports(const Node *node)
{
    return supports_copyable(node) &&
           (node_attr(node, "data_format") == NULL ||
               !slice_equal(node_attr_string(node, "data_format"), SLICE("NCHW_VECT_C")));
}

enum { AXES_ON_HOST = 1 << 1 };

static const Kernel transpose_kernels[] = {
    {.op = "Transpose",
        .supports = supports_copyable,
        .compute = transpose_compute,
        .host_inputs = AXES_ON_HOST},
    {.op = "ReverseV2",
        .supports = supports_copyable,
        .compute = reverse_compute,
        .host_inputs = AXES_ON_HOST},
    {.op = "DepthToSpace", .supports = blocks_supports, .compute = depth_to_space_compute},
    {.op = "SpaceToDepth", .supports = blocks_supports, .compute = space_to_depth_compute},
    {.op = "onnx::Transpose", .supports = supports_copyable, .compute = onnx_transpose_compute},
    {.op = "onnx::DepthToSpace", .supports = supports_copyable, .compute = depth_to_space_compute},
    {.op = "onnx::SpaceToDepth", .supports = supports_copyable, .compute = space_to_depth_compute},
    MOVED_STRINGS("ReverseV2", first),
    MOVED_STRINGS("Transpose", first),
    MOVED_STRINGS("onnx::Transpose", first),
};

KERNEL_FAMILY(reference, transpose, transpose_kernels);
