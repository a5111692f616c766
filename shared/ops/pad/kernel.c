/* Tensors with a border: a constant, or the input's own elements mirrored, repeated or wrapped. */
#include "shared/ops/pad/rule.h"
#include "worker/reference/fill.h"
#include "worker/reference/moves.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/wide.h"

static bool
supports_copyable(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[0]);
}

/* Copies the part of the input that is kept to its position in the output. */
static Status
copy_middle(KernelContext *context, const PaddingPlan *plan, Tensor *output)
{
    const Tensor *input = &context->inputs[0];
    int64_t size = 0;
    StridedCopy copy = {.rank = input->shape.rank};
    strides_dense(&input->shape, copy.from);
    strides_dense(&output->shape, copy.to);
    for (int index = 0; index < copy.rank; index++) {
        int64_t cut_before = plan->before[index] < 0 ? -plan->before[index] : 0;
        int64_t cut_after = plan->after[index] < 0 ? -plan->after[index] : 0;
        size = input->shape.dims[index] - cut_before - cut_after;
        copy.dims[index] = size < 0 ? 0 : size;
        copy.from_offset += cut_before * copy.from[index];
        copy.to_offset += (plan->before[index] + cut_before) * copy.to[index];
    }
    return move_elements(context, &copy, input, output);
}

/* Returns the position in a dimension of `size` whose element stands at `position`, which may lie outside. */
static int64_t
source_of(PaddingMode mode, int64_t position, int64_t size)
{
    if (position >= 0 && position < size) {
        return position;
    }
    if (mode == PADDING_EDGE) {
        return position < 0 ? 0 : size - 1;
    }
    if (mode == PADDING_WRAP) {
        int64_t rest = position % size;
        return rest < 0 ? rest + size : rest;
    }
    int64_t shift = mode == PADDING_SYMMETRIC ? 1 : 0;
    return position < 0 ? -position - shift : 2 * size - 2 + shift - position;
}

/* Copies element by element: each position of the output is mapped to one of the input. */
static void
copy_mapped(const PaddingPlan *plan, const Tensor *input, Tensor *output)
{
    size_t size = dtype_size(input->dtype);
    int64_t count = tensor_element_count(output);
    int64_t strides[SHAPE_RANK_MAX];
    strides_dense(&input->shape, strides);
    for (int64_t element = 0; element < count; element++) {
        int64_t rest = element;
        int64_t source = 0;
        for (int index = output->shape.rank - 1; index >= 0; index--) {
            int64_t position = rest % output->shape.dims[index] - plan->before[index];
            rest /= output->shape.dims[index];
            source += source_of(plan->mode, position, input->shape.dims[index]) * strides[index];
        }
        memcpy((char *)output->data + (size_t)element * size,
            (const char *)input->data + (size_t)source * size, size);
    }
}

static Status
compute_pad(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    KernelInference inference;
    PaddingPlan plan;
    Tensor *output = NULL;
    kernel_inference(context, NULL, &inference);
    TRY(padding_read(context->call, &inference.context, &plan));
    TRY(kernel_output(context, 0, input->dtype, &plan.output, &output));
    if (plan.mode != PADDING_CONSTANT) {
        copy_mapped(&plan, input, output);
        return STATUS_OK;
    }
    const Tensor *value = context->input_count > 2 ? &context->inputs[2] : NULL;
    if (value == NULL || value->dtype == DTYPE_INVALID) {
        TRY(move_zeros_into(context, output));
    } else if (tensor_element_count(value) != 1) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "the value has shape %s, not one element",
            shape_text(&value->shape, text));
    } else {
        TRY(move_element_into(context, output, value->data));
    }
    return copy_middle(context, &plan, output);
}

enum { AMOUNTS_ON_HOST = 1 << 1 | 1 << 3 };

static bool
mirror_gradient_supports(const Node *node)
{
    return wide_supports(WIDE_ADD, node->input_dtypes[0]);
}

/* Returns the position within `size` that is mirrored at `position`. */
static int64_t
mirrored_position(int64_t position, int64_t size, int64_t shift)
{
    int64_t front = position < 0 ? -position - shift : position;
    return front >= size ? 2 * size - 2 + shift - front : front;
}

static int64_t
inner_element(const Tensor *padded, const Shape *inner, const int64_t *before, int64_t shift, int64_t element)
{
    int64_t offset = 0;
    int64_t stride = 1;
    for (int dimension = inner->rank - 1; dimension >= 0; dimension--) {
        int64_t position = element % padded->shape.dims[dimension] - before[dimension];
        element /= padded->shape.dims[dimension];
        offset += mirrored_position(position, inner->dims[dimension], shift) * stride;
        stride *= inner->dims[dimension];
    }
    return offset;
}

static Status
mirror_pad_gradient_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Dtype wide = wide_dtype(input->dtype);
    size_t size = dtype_size(wide);
    int64_t shift = slice_equal(node_attr_string(context->node, "mode"), SLICE("SYMMETRIC")) ? 1 : 0;
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
        int64_t offset = inner_element(&gradients, &shape, before, shift, n);
        wide_combine(WIDE_ADD, wide, (char *)sums.data + (size_t)offset * size,
            (const char *)gradients.data + (size_t)n * size, 1);
    }
    return scratch_finish(context, 0, &sums);
}

static const Kernel pad_kernels[] = {
    {.op = "Pad", .supports = supports_copyable, .compute = compute_pad, .host_inputs = AMOUNTS_ON_HOST},
    {.op = "PadV2", .supports = supports_copyable, .compute = compute_pad, .host_inputs = AMOUNTS_ON_HOST},
    {.op = "MirrorPad",
        .supports = supports_copyable,
        .compute = compute_pad,
        .host_inputs = AMOUNTS_ON_HOST},
    {.op = "onnx::Pad",
        .supports = supports_copyable,
        .compute = compute_pad,
        .host_inputs = AMOUNTS_ON_HOST},
    {.op = "MirrorPadGrad",
        .supports = mirror_gradient_supports,
        .compute = mirror_pad_gradient_compute,
        .wide_inputs = 1,
        .wide_outputs = 1,
        .host_inputs = 1 << 1},
};

KERNEL_FAMILY(reference, pad, pad_kernels);
