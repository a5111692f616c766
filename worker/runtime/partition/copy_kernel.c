#include "worker/runtime/partition/copy_kernel.h"

#include <assert.h>

#include "worker/runtime/device_memory.h"

const Op copy_op = {.name = {.data = "_Copy", .size = sizeof "_Copy" - 1}};

typedef struct TensorCopy {
    DeviceCopy copy; /* first: a DeviceCopy is one of these */
    KernelPromise *promise;
} TensorCopy;

static void
end_copy(DeviceCopy *copy, const Failure *failure)
{
    KernelPromise *promise = ((TensorCopy *)(void *)copy)->promise;
    Status status = failure == NULL ? STATUS_OK : failure_raise(promise->context.call, failure);
    kernel_complete(promise, status);
}

static Device *
accelerator_of(const KernelContext *context)
{
    return without_const(context->state);
}

/* Makes the output in the memory of `to`, and begins to copy the elements, if there are any. */
static Status
begin_copy(KernelPromise *promise, Device *to)
{
    KernelContext context = promise->context;
    const Tensor *input = &context.inputs[0];
    Tensor *output = NULL;
    context.device = to;
    TRY(kernel_output(&context, 0, input->dtype, &input->shape, &output));
    if (output->buffer == NULL) {
        kernel_complete(promise, STATUS_OK);
        return STATUS_OK;
    }
    TensorCopy *copy = arena_alloc(context.call->arena, sizeof *copy);
    if (copy == NULL) {
        return call_fail_memory(context.call, "a copy between devices");
    }
    *copy = (TensorCopy){.promise = promise,
        .copy = {.lane = context.lane,
            .from = input->buffer,
            .from_offset = (size_t)((const char *)input->data - (const char *)input->buffer->data),
            .to = output->buffer,
            .size = tensor_byte_size(input),
            .done = end_copy}};
    Device *accelerator = accelerator_of(&context);
    device_count_copy(accelerator, to == accelerator, copy->copy.size);
    accelerator->copy(accelerator, &copy->copy);
    return STATUS_OK;
}

static void
start_copy(KernelPromise *promise, Device *to)
{
    assert(promise->context.lane != NULL && promise->context.input_count == 1);
    Status status = begin_copy(promise, to);
    if (status != STATUS_OK) {
        kernel_complete(promise, status);
    }
}

static void
start_upload(KernelPromise *promise)
{
    assert(tensor_is_on_host(&promise->context.inputs[0]));
    start_copy(promise, accelerator_of(&promise->context));
}

static void
start_download(KernelPromise *promise)
{
    start_copy(promise, promise->context.device);
}

const Kernel upload_kernel = {.op = "_Copy", .start = start_upload, .is_cheap = true};
const Kernel download_kernel = {.op = "_Copy", .start = start_download, .is_cheap = true};
