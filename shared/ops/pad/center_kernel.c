/* onnx::CenterCropPad. Of an odd number of elements that are dropped or added the odd one is behind. */
#include "worker/reference/moves.h"
#include "worker/reference/outputs.h"

static Status
center_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    StridedCopy copy = {.rank = input->shape.rank};
    int64_t from[SHAPE_RANK_MAX];
    int64_t to[SHAPE_RANK_MAX];
    strides_dense(&input->shape, from);
    strides_dense(&output->shape, to);
    for (int axis = 0; axis < copy.rank; axis++) {
        int64_t given = input->shape.dims[axis];
        int64_t wanted = output->shape.dims[axis];
        copy.dims[axis] = given < wanted ? given : wanted;
        copy.from[axis] = from[axis];
        copy.to[axis] = to[axis];
        copy.from_offset += given > wanted ? (given - wanted) / 2 * from[axis] : 0;
        copy.to_offset += wanted > given ? (wanted - given) / 2 * to[axis] : 0;
    }
    if (tensor_element_count(output) == 0) {
        return STATUS_OK;
    }
    TRY(move_zeros_into(context, output));
    return move_elements(context, &copy, input, output);
}

static bool
center_supports(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[0]);
}

static const Kernel center_kernels[] = {
    {.op = "onnx::CenterCropPad",
        .supports = center_supports,
        .compute = center_compute,
        .host_inputs = 1 << 1},
};

KERNEL_FAMILY(reference, pad_center, center_kernels);
