#include "worker/cuda/operands/variable.h"

#include "worker/runtime/device_memory.h"

Status
cuda_variable_place(KernelContext *context, Variable *variable, Tensor *ret_made, void **ret_place)
{
    const Tensor *value = variable_value(variable);
    size_t size = tensor_byte_size(value);
    if (size == 0 || tensor_is_unique(value)) {
        *ret_place = value->data;
        return STATUS_OK;
    }
    TensorBuffer *buffer = device_allocate(context->device, size, context->account);
    if (buffer == NULL) {
        return call_fail(context->call, STATUS_RESOURCE_EXHAUSTED,
            "no %zu bytes are left for a copy of variable '%.*s'", size,
            SLICE_PRINT(variable_name(variable)));
    }
    *ret_made =
        (Tensor){.dtype = value->dtype, .data = buffer->data, .buffer = buffer, .shape = value->shape};
    *ret_place = buffer->data;
    return STATUS_OK;
}
