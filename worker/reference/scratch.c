#include "worker/reference/scratch.h"

#include <assert.h>

#include "worker/reference/cast.h"
#include "worker/runtime/device_memory.h"

Status
scratch_new(KernelContext *context, Dtype dtype, const Shape *shape, Tensor *ret_tensor)
{
    size_t size = 0;
    TensorBuffer *buffer = shape_byte_size(shape, dtype, &size)
                               ? device_allocate(context->device, size > 0 ? size : 1, context->account)
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
scratch_bytes(KernelContext *context, int64_t count, size_t size, Tensor *ret_array)
{
    assert(size > 0);
    Shape bytes = {.rank = 2, .dims = {count, (int64_t)size}};
    return scratch_new(context, DTYPE_UINT8, &bytes, ret_array);
}

Status
scratch_array(KernelContext *context, int64_t count, size_t size, Tensor *ret_array)
{
    TRY(scratch_bytes(context, count, size, ret_array));
    memset(ret_array->data, 0, tensor_byte_size(ret_array));
    return STATUS_OK;
}

size_t
scratch_heap_max(const KernelContext *context)
{
    enum { SHARE = 4 };
    DeviceMemory memory = {0};
    context->device->memory(context->device, &memory);
    uint64_t left = memory.limit > memory.in_use ? memory.limit - memory.in_use : 0;
    return memory.limit == 0 ? 0 : left < SHARE ? 1 : (size_t)(left / SHARE);
}

Status
scratch_cast(KernelContext *context, const Tensor *input, Dtype dtype, Tensor *ret_tensor)
{
    assert(input->dtype != DTYPE_INVALID);
    if (!cast_supports(input->dtype, dtype)) {
        return call_fail(context->call, STATUS_UNIMPLEMENTED, "no conversion of %s to %s",
            dtype_name(input->dtype), dtype_name(dtype));
    }
    Tensor tensor;
    TRY(scratch_new(context, dtype, &input->shape, &tensor));
    cast_tensor(input, &tensor);
    *ret_tensor = tensor;
    return STATUS_OK;
}

Status
scratch_floats(KernelContext *context, const Tensor *input, Tensor *ret_tensor)
{
    if (input->dtype != DTYPE_FLOAT32) {
        return scratch_cast(context, input, DTYPE_FLOAT32, ret_tensor);
    }
    *ret_tensor = tensor_ref(input);
    return STATUS_OK;
}

Status
scratch_finish(KernelContext *context, uint32_t index, const Tensor *doubles)
{
    assert(index < context->output_count);
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
