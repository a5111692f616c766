/* Parts of tensors by position. */
#include "shared/ops/slice/rule.h"
#include "worker/reference/fill.h"
#include "worker/reference/moved_strings.h"
#include "worker/reference/moves.h"
#include "worker/reference/outputs.h"

typedef Status (*ReadSlicing)(Call *call, const InferContext *context, Slicing *ret_slicing);

static bool
supports_copyable(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[0]);
}

static Status
copy_slice(KernelContext *context, const Slicing *slicing)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, input->dtype, &slicing->output, &output));
    int64_t strides[SHAPE_RANK_MAX];
    strides_dense(&input->shape, strides);
    StridedCopy copy = {.rank = slicing->rank};
    int64_t size = 1;
    for (int dimension = slicing->rank - 1; dimension >= 0; dimension--) {
        copy.dims[dimension] = slicing->size[dimension];
        copy.from[dimension] = strides[dimension];
        if (slicing->size[dimension] > 1) { /* with one element the step may be huge */
            copy.from[dimension] *= slicing->step[dimension];
        }
        copy.from_offset += strides[dimension] * slicing->begin[dimension];
        copy.to[dimension] = size;
        size *= slicing->size[dimension];
    }
    TRY(move_elements(context, &copy, input, output));
    return STATUS_OK;
}

static Status
compute_with(KernelContext *context, ReadSlicing read)
{
    KernelInference inference;
    kernel_inference(context, NULL, &inference);
    Slicing slicing;
    TRY(read(context->call, &inference.context, &slicing));
    return copy_slice(context, &slicing);
}

static Status
slice_compute(KernelContext *context)
{
    return compute_with(context, slicing_plain);
}

static Status
strided_slice_compute(KernelContext *context)
{
    return compute_with(context, slicing_strided);
}

static Status
onnx_slice_compute(KernelContext *context)
{
    return compute_with(context, slicing_onnx);
}

enum { SLICE_BOUNDS = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 };

static bool
gradient_supports(const Node *node)
{
    return dtype_is_copyable(node->output_dtypes[0]);
}

/* No element of the sliced tensor is taken twice, so that adding is copying. */
static Status
strided_slice_gradient_compute(KernelContext *context)
{
    Tensor *output = NULL;
    Slicing slicing;
    KernelInference inference;
    TRY(output_new(context, &output));
    kernel_inference(context, NULL, &inference);
    inference.shapes[0] = output->shape;
    TRY(slicing_strided(context->call, &inference.context, &slicing));
    TRY(move_zeros_into(context, output));
    int64_t strides[SHAPE_RANK_MAX];
    strides_dense(&output->shape, strides);
    StridedCopy copy = {.rank = slicing.rank};
    int64_t size = 1;
    for (int dimension = slicing.rank - 1; dimension >= 0; dimension--) {
        copy.dims[dimension] = slicing.size[dimension];
        copy.to[dimension] = strides[dimension] * (slicing.size[dimension] > 1 ? slicing.step[dimension] : 1);
        copy.to_offset += strides[dimension] * slicing.begin[dimension];
        copy.from[dimension] = size;
        size *= slicing.size[dimension];
    }
    if (size > 0) {
        TRY(move_elements(context, &copy, &context->inputs[4], output));
    }
    return STATUS_OK;
}

static const Kernel slice_kernels[] = {
    {.op = "Slice", .supports = supports_copyable, .compute = slice_compute, .host_inputs = SLICE_BOUNDS},
    {.op = "StridedSlice",
        .supports = supports_copyable,
        .compute = strided_slice_compute,
        .host_inputs = SLICE_BOUNDS},
    {.op = "onnx::Slice",
        .supports = supports_copyable,
        .compute = onnx_slice_compute,
        .host_inputs = SLICE_BOUNDS},
    {.op = "StridedSliceGrad",
        .supports = gradient_supports,
        .compute = strided_slice_gradient_compute,
        .host_inputs = 15},
    MOVED_STRINGS("Slice", first),
    MOVED_STRINGS("StridedSlice", first),
    MOVED_STRINGS("onnx::Slice", first),
};

KERNEL_FAMILY(reference, slice, slice_kernels);
