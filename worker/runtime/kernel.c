#include "worker/runtime/kernel.h"
#include "worker/runtime/device_memory.h"

#include <inttypes.h>
#include <stdio.h>

#include "worker/runtime/memory_account.h"

/* Returns the device in whose memory the output lies. */
static Device *
output_device(const KernelContext *context, uint32_t index)
{
    bool is_on_host = context->host != NULL && kernel_bit(context->host_outputs, index);
    return is_on_host ? context->host : context->device;
}

/* Moves the reference of an input to an output. The input's elements stay readable through `data` until
 * the kernel returns. */
static void
kernel_take(KernelContext *context, uint32_t input, uint32_t index, Dtype dtype, const Shape *shape)
{
    Tensor *from = &context->inputs[input];
    Tensor *to = &context->outputs[index];
    to->dtype = dtype;
    shape_copy(&to->shape, shape);
    to->data = from->data;
    to->buffer = TAKE(from->buffer);
}

static bool
is_as_large(const Tensor *input, Dtype dtype, const Shape *shape)
{
    size_t size = 0;
    return (input->dtype == dtype && shape_equal(&input->shape, shape)) ||
           (shape_byte_size(shape, dtype, &size) && tensor_byte_size(input) == size);
}

static bool
kernel_can_take(
    const KernelContext *context, uint32_t index, const Tensor *input, Dtype dtype, const Shape *shape)
{
    return tensor_is_unique(input) && dtype_is_copyable(input->dtype) &&
           input->buffer->memory == output_device(context, index)->memory_number &&
           is_as_large(input, dtype, shape) &&
           (context->memory == NULL ||
               context->memory->may_pass(context->memory, context->node, index, input->buffer));
}

static Status
fail_memory(const KernelContext *context, uint32_t index, Dtype dtype, const Shape *shape, size_t size)
{
    char text[SHAPE_TEXT_SIZE];
    const MemoryAccount *account = context->account;
    (void)shape_text(shape, text);
    if (account != NULL && memory_account_has_refused(account)) {
        return call_fail(context->call, STATUS_RESOURCE_EXHAUSTED,
            "output %" PRIu32 " of type %s and shape %s needs %zu bytes, but the step holds %" PRIu64
            " of the %" PRIu64 " bytes that it may take beside its feeds",
            index, dtype_name(dtype), text, size, memory_account_in_use(account), account->limit);
    }
    char why[DEVICE_FULL_TEXT_SIZE];
    return call_fail(context->call, STATUS_RESOURCE_EXHAUSTED,
        "output %" PRIu32 " of type %s and shape %s needs %zu bytes, but %s", index, dtype_name(dtype), text,
        size, device_tell_full(output_device(context, index), account, why));
}

/* Returns the buffer planned for the output, else a new one; NULL when memory is exhausted. */
static TensorBuffer *
kernel_allocate(const KernelContext *context, uint32_t index, size_t size)
{
    TensorBuffer *planned =
        context->memory == NULL ? NULL : context->memory->take(context->memory, context->node, index, size);
    Device *device = output_device(context, index);
    return planned != NULL ? planned : device_allocate(device, size, context->account);
}

Status
kernel_output(KernelContext *context, uint32_t index, Dtype dtype, const Shape *shape, Tensor **ret_output)
{
    size_t size = 0;
    char text[SHAPE_TEXT_SIZE];
    if (!dtype_is_copyable(dtype)) {
        return call_fail(context->call, STATUS_INTERNAL, "output %" PRIu32 " of type %s is no device memory",
            index, dtype_name(dtype));
    }
    if (!shape_byte_size(shape, dtype, &size)) {
        return call_fail(context->call, STATUS_RESOURCE_EXHAUSTED,
            "output %" PRIu32 " of type %s and shape %s is larger than any memory", index, dtype_name(dtype),
            shape_text(shape, text));
    }
    TensorBuffer *buffer = NULL;
    if (size > 0) {
        buffer = kernel_allocate(context, index, size);
        if (buffer == NULL) {
            return fail_memory(context, index, dtype, shape, size);
        }
    }
    Tensor *output = &context->outputs[index];
    output->dtype = dtype;
    shape_copy(&output->shape, shape);
    output->data = buffer == NULL ? NULL : buffer->data;
    output->buffer = buffer;
    *ret_output = output;
    return STATUS_OK;
}

Status
kernel_forward(KernelContext *context, uint32_t input, uint32_t index, Dtype dtype, const Shape *shape,
    Tensor **ret_output)
{
    if (!kernel_can_take(context, index, &context->inputs[input], dtype, shape)) {
        return kernel_output(context, index, dtype, shape, ret_output);
    }
    kernel_take(context, input, index, dtype, shape);
    *ret_output = &context->outputs[index];
    return STATUS_OK;
}

/* Returns the buffer of an output that has taken this input's reference, for a second output that aliases
 * the same input. */
static TensorBuffer *
kernel_taken_buffer(const KernelContext *context, const Tensor *input)
{
    for (uint32_t i = 0; i < context->output_count; i++) {
        const Tensor *output = &context->outputs[i];
        if (output->buffer != NULL && output->data == input->data) {
            return output->buffer;
        }
    }
    return NULL;
}

void
kernel_alias(KernelContext *context, uint32_t input, uint32_t index, const Shape *shape)
{
    Tensor *from = &context->inputs[input];
    if (from->buffer == NULL && from->data != NULL) {
        from->buffer = tensor_buffer_ref(kernel_taken_buffer(context, from));
    }
    kernel_take(context, input, index, from->dtype, shape);
}

Status
kernel_input_ints(
    KernelContext *context, uint32_t input, int64_t *ret_values, size_t capacity, size_t *ret_count)
{
    const Tensor *tensor = &context->inputs[input];
    if (!dtype_is_integer(tensor->dtype)) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "input %" PRIu32 " must be integers, not %s",
            input, dtype_name(tensor->dtype));
    }
    int64_t count = tensor_element_count(tensor);
    if (count < 0 || (size_t)count > capacity) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "input %" PRIu32 " must have at most %zu elements, not %" PRId64, input, capacity, count);
    }
    for (int64_t i = 0; i < count; i++) {
        if (!tensor_to_int64(tensor, i, &ret_values[i])) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "element %" PRId64 " of input %" PRIu32 " does not fit into 64 signed bits", i, input);
        }
    }
    *ret_count = (size_t)count;
    return STATUS_OK;
}

static uint64_t
wide_size(const Shape *shape, Dtype dtype)
{
    size_t size = 0;
    bool is_complex = dtype == DTYPE_COMPLEX64 || dtype == DTYPE_COMPLEX128;
    return shape_byte_size(shape, is_complex ? DTYPE_COMPLEX128 : DTYPE_FLOAT64, &size) ? size : 0;
}

static uint64_t
wide_sizes(uint32_t bits, const Shape *shapes, const Dtype *dtypes, uint32_t count)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < count && i < 32; i++) {
        size += (bits & 1U << i) != 0 ? wide_size(&shapes[i], dtypes[i]) : 0;
    }
    return size;
}

uint64_t
kernel_wide_size(const KernelForecast *forecast, uint32_t inputs, uint32_t outputs)
{
    const InferContext *shapes = &forecast->shapes;
    const Node *node = shapes->node;
    return wide_sizes(inputs, shapes->inputs, node->input_dtypes, node->input_count) +
           wide_sizes(outputs, shapes->outputs, node->output_dtypes, node->output_count);
}
