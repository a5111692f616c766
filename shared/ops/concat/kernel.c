/* Tensors joined and cut along one dimension, and repeated. */
#include "shared/base/memory.h"
#include "worker/reference/moved_strings.h"
#include "worker/reference/moves.h"
#include "worker/reference/outputs.h"

static bool
supports_first(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[0]);
}

static bool
supports_second(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[1]);
}

/* Describes the copy of `part` into or out of `large`, where it begins at `offset` along `axis`. */
static StridedCopy
part_copy(const Shape *large, const Shape *part, int axis, int64_t offset, bool is_into)
{
    StridedCopy copy = {.rank = part->rank};
    memcpy(copy.dims, part->dims, sizeof part->dims);
    strides_dense(large, is_into ? copy.to : copy.from);
    strides_dense(part, is_into ? copy.from : copy.to);
    int64_t step = is_into ? copy.to[axis] : copy.from[axis];
    *(is_into ? &copy.to_offset : &copy.from_offset) = offset * step;
    return copy;
}

static int
normal_axis(int64_t axis, int rank)
{
    return (int)(axis < 0 ? axis + rank : axis);
}

static Status
join_inputs(KernelContext *context, uint32_t first, uint32_t count, int64_t axis)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    int position = normal_axis(axis, output->shape.rank);
    int64_t offset = 0;
    for (uint32_t index = first; index < first + count; index++) {
        const Tensor *input = &context->inputs[index];
        StridedCopy copy = part_copy(&output->shape, &input->shape, position, offset, true);
        TRY(move_elements(context, &copy, input, output));
        offset += input->shape.dims[position];
    }
    return STATUS_OK;
}

static Status
join_by_input(KernelContext *context, uint32_t axis_input, uint32_t first)
{
    int64_t axis = 0;
    size_t count = 0;
    TRY(kernel_input_ints(context, axis_input, &axis, 1, &count));
    return join_inputs(context, first, context->input_count - 1, axis);
}

static Status
concat_v2_compute(KernelContext *context)
{
    return join_by_input(context, context->input_count - 1, 0);
}

static Status
concat_compute(KernelContext *context)
{
    return join_by_input(context, 0, 1);
}

static Status
onnx_concat_compute(KernelContext *context)
{
    return join_inputs(context, 0, context->input_count, node_attr_int(context->node, "axis"));
}

static Status
parallel_concat_compute(KernelContext *context)
{
    return join_inputs(context, 0, context->input_count, 0);
}

/* Returns the shape with a dimension of 1 along `axis`. */
static Shape
slice_shape(const Shape *shape, int axis)
{
    Shape slice = *shape;
    slice.dims[axis] = 1;
    return slice;
}

static Status
pack_compute(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    int axis = normal_axis(node_attr_int(context->node, "axis"), output->shape.rank);
    Shape slice = slice_shape(&output->shape, axis);
    for (uint32_t index = 0; index < context->input_count; index++) {
        StridedCopy copy = part_copy(&output->shape, &slice, axis, index, true);
        TRY(move_elements(context, &copy, &context->inputs[index], output));
    }
    return STATUS_OK;
}

static Status
unpack_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    AUTO_MEMORY Shape *shapes = memory_new(context->output_count + 1, sizeof *shapes);
    if (shapes == NULL) {
        return call_fail_memory(context->call, "the parts' shapes");
    }
    TRY(output_shapes(context, shapes));
    int axis = normal_axis(node_attr_int(context->node, "axis"), input->shape.rank);
    Shape slice = slice_shape(&input->shape, axis);
    for (uint32_t index = 0; index < context->output_count; index++) {
        Tensor *output = NULL;
        TRY(kernel_output(context, index, input->dtype, &shapes[index], &output));
        StridedCopy copy = part_copy(&input->shape, &slice, axis, index, false);
        TRY(move_elements(context, &copy, input, output));
    }
    return STATUS_OK;
}

static Status
cut_input(KernelContext *context, const Tensor *input, int64_t axis)
{
    AUTO_MEMORY Shape *shapes = memory_new(context->output_count + 1, sizeof *shapes);
    if (shapes == NULL) {
        return call_fail_memory(context->call, "the parts' shapes");
    }
    TRY(output_shapes(context, shapes));
    int position = normal_axis(axis, input->shape.rank);
    int64_t offset = 0;
    for (uint32_t index = 0; index < context->output_count; index++) {
        Tensor *output = NULL;
        TRY(kernel_output(context, index, input->dtype, &shapes[index], &output));
        StridedCopy copy = part_copy(&input->shape, &shapes[index], position, offset, false);
        TRY(move_elements(context, &copy, input, output));
        offset += shapes[index].dims[position];
    }
    return STATUS_OK;
}

static Status
split_compute(KernelContext *context)
{
    int64_t axis = 0;
    size_t count = 0;
    TRY(kernel_input_ints(context, 0, &axis, 1, &count));
    return cut_input(context, &context->inputs[1], axis);
}

static Status
split_v_compute(KernelContext *context)
{
    int64_t axis = 0;
    size_t count = 0;
    TRY(kernel_input_ints(context, 2, &axis, 1, &count));
    return cut_input(context, &context->inputs[0], axis);
}

static Status
onnx_split_compute(KernelContext *context)
{
    return cut_input(context, &context->inputs[0], node_attr_int(context->node, "axis"));
}

/* Each dimension becomes two: the repetition, and the position in it. */
static Status
tile_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    int64_t from[SHAPE_RANK_MAX];
    int64_t to[SHAPE_RANK_MAX];
    strides_dense(&input->shape, from);
    strides_dense(&output->shape, to);
    StridedCopy copy = {.rank = 2 * input->shape.rank};
    for (int dimension = 0; dimension < input->shape.rank; dimension++) {
        int64_t size = input->shape.dims[dimension];
        int which = 2 * dimension;
        copy.dims[which] = size == 0 ? 0 : output->shape.dims[dimension] / size;
        copy.to[which] = to[dimension] * size;
        copy.dims[which + 1] = size;
        copy.from[which + 1] = from[dimension];
        copy.to[which + 1] = to[dimension];
    }
    TRY(move_elements(context, &copy, input, output));
    return STATUS_OK;
}

static const Kernel concat_kernels[] = {
    {.op = "Concat", .supports = supports_second, .compute = concat_compute, .host_inputs = 1},
    {.op = "ConcatV2", .supports = supports_first, .compute = concat_v2_compute},
    {.op = "ParallelConcat", .supports = supports_first, .compute = parallel_concat_compute},
    {.op = "Pack", .supports = supports_first, .compute = pack_compute},
    {.op = "Unpack", .supports = supports_first, .compute = unpack_compute},
    {.op = "Split", .supports = supports_second, .compute = split_compute, .host_inputs = 1},
    {.op = "SplitV", .supports = supports_first, .compute = split_v_compute, .host_inputs = 1 << 1 | 1 << 2},
    {.op = "Tile", .supports = supports_first, .compute = tile_compute, .host_inputs = 1 << 1},
    {.op = "onnx::Concat", .supports = supports_first, .compute = onnx_concat_compute},
    {.op = "onnx::Split", .supports = supports_first, .compute = onnx_split_compute, .host_inputs = 1 << 1},
    {.op = "onnx::Tile", .supports = supports_first, .compute = tile_compute, .host_inputs = 1 << 1},
    MOVED_STRINGS("Concat", second),
    MOVED_STRINGS("ConcatV2", first),
    MOVED_STRINGS("Pack", first),
    MOVED_STRINGS("Split", second),
    MOVED_STRINGS("SplitV", first),
    MOVED_STRINGS("Tile", first),
    MOVED_STRINGS("Unpack", first),
    MOVED_STRINGS("onnx::Concat", first),
    MOVED_STRINGS("onnx::Split", first),
    MOVED_STRINGS("onnx::Tile", first),
};

KERNEL_FAMILY(reference, concat, concat_kernels);
