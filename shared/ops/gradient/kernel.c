/* Gradients of slices and of mirrored borders: what was copied forth is added back. */
#include "shared/ops/slicing.h"
#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/strided_copy.h"
#include "worker/reference/wide.h"

/* --- Slices --------------------------------------------------------------------------------------------- */

static bool
slice_supports(const Node *node)
{
    return dtype_is_copyable(node->output_dtypes[0]);
}

/* No element of the sliced tensor is taken twice: copying is adding. */
static Status
strided_slice_compute(KernelContext *context)
{
    Tensor *output = NULL;
    Slicing slicing;
    KernelInference inference;
    TRY(output_new(context, &output));
    kernel_inference(context, NULL, &inference);
    inference.shapes[0] = output->shape;
    TRY(slicing_strided(context->call, &inference.context, &slicing));
    fill_zero(output);
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
        strided_copy(&copy, &context->inputs[4], output);
    }
    return STATUS_OK;
}

/* --- Borders -------------------------------------------------------------------------------------------- */

static bool
mirror_supports(const Node *node)
{
    return wide_supports(WIDE_ADD, node->input_dtypes[0]);
}

/* The place within `size` that stands mirrored at `position`. */
static int64_t
mirrored(int64_t position, int64_t size, int64_t shift)
{
    const int64_t front = position < 0 ? -position - shift : position;
    return front >= size ? 2 * size - 2 + shift - front : front;
}

static int64_t
inner_place(const Tensor *padded, const Shape *inner, const int64_t *before, int64_t shift, int64_t element)
{
    int64_t place = 0;
    int64_t stride = 1;
    for (int dimension = inner->rank - 1; dimension >= 0; dimension--) {
        const int64_t position = element % padded->shape.dims[dimension] - before[dimension];
        element /= padded->shape.dims[dimension];
        place += mirrored(position, inner->dims[dimension], shift) * stride;
        stride *= inner->dims[dimension];
    }
    return place;
}

static Status
mirror_pad_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    const Dtype wide = wide_dtype(input->dtype);
    const size_t size = dtype_size(wide);
    const int64_t shift = slice_equal(node_attr_string(context->node, "mode"), SLICE("SYMMETRIC")) ? 1 : 0;
    int64_t paddings[2 * SHAPE_RANK_MAX];
    int64_t before[SHAPE_RANK_MAX] = {0};
    size_t count = 0;
    Shape shape;
    AUTO_TENSOR gradients = {0};
    AUTO_TENSOR sums = {0};
    TRY(output_shapes(context, &shape));
    TRY(kernel_input_ints(context, 1, paddings, COUNT_OF(paddings), &count));
    for (size_t index = 0; index < count / 2; index++) {
        before[index] = paddings[2 * index];
    }
    TRY(scratch_cast(context, input, wide, &gradients));
    TRY(scratch_new(context, wide, &shape, &sums));
    fill_zero(&sums);
    for (int64_t n = 0; n < tensor_element_count(input); n++) {
        const int64_t place = inner_place(&gradients, &shape, before, shift, n);
        wide_combine(WIDE_ADD, wide, (char *)sums.data + (size_t)place * size,
            (const char *)gradients.data + (size_t)n * size, 1);
    }
    return scratch_finish(context, 0, &sums);
}

static const Kernel gradient_kernels[] = {
    {.op = "StridedSliceGrad",
        .supports = slice_supports,
        .compute = strided_slice_compute,
        .host_inputs = 15},
    {.op = "MirrorPadGrad",
        .supports = mirror_supports,
        .compute = mirror_pad_compute,
        .wide_inputs = 1,
        .wide_outputs = 1,
        .host_inputs = 1 << 1},
};

KERNEL_FAMILY(reference, gradient, gradient_kernels);
