#include "worker/reference/primitives/scratch.h"

#include "worker/reference/primitives/cast.h"

Status
scratch_new(KernelContext *context, Dtype dtype, const Shape *shape, Tensor *ret_tensor)
{
    size_t size = 0;
    TensorBuffer *buffer = shape_byte_size(shape, dtype, &size)
                               ? context->device->allocate(context->device, size > 0 ? size : 1)
                               : NULL;
    if (buffer == NULL) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(context->call, STATUS_RESOURCE_EXHAUSTED, "no memory for a temporary %s%s",
            dtype_name(dtype), shape_text(shape, text));
    }
    *ret_tensor = (Tensor){.dtype = dtype, .shape = *shape, .data = buffer->data, .buffer = buffer};
    return STATUS_OK;
}

Status
scratch_cast(KernelContext *context, const Tensor *input, Dtype dtype, Tensor *ret_tensor)
{
    Tensor tensor;
    TRY(scratch_new(context, dtype, &input->shape, &tensor));
    cast_tensor(input, &tensor);
    *ret_tensor = tensor;
    return STATUS_OK;
}

Status
scratch_finish(KernelContext *context, uint32_t index, const Tensor *doubles)
{
    Tensor *output = NULL;
    TRY(kernel_output(context, index, context->node->output_dtypes[index], &doubles->shape, &output));
    cast_tensor(doubles, output);
    return STATUS_OK;
}

Lines
lines_along(const Shape *shape, int axis)
{
    Lines lines = {.outer = 1, .size = shape->dims[axis], .inner = 1};
    for (int dimension = 0; dimension < shape->rank; dimension++) {
        lines.outer *= dimension < axis ? shape->dims[dimension] : 1;
        lines.inner *= dimension > axis ? shape->dims[dimension] : 1;
    }
    return lines;
}
