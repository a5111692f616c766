/* counted_start() → count() → a copy of the numbers to the host → end_count(), on a thread of the host →
 * fill() → the promise is complete. */
#include "worker/cuda/operands/counted.h"

#include <assert.h>

#include "shared/base/atomic.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/trace.h"
#include "worker/reference/scratch.h"

typedef struct Counted {
    DeviceCopy copy; /* first: a DeviceCopy is one of these */
    Counting counting;
    KernelPromise *promise;
    const CountedKernel *kernel;
    TensorBuffer *numbers; /* on the host */
    uint64_t mark;         /* of the node, in a traced run */
} Counted;

Status
counted_numbers(KernelContext *context, int64_t count, Tensor *ret_numbers)
{
    Shape shape = shape_vector(count);
    return scratch_new(context, DTYPE_INT64, &shape, ret_numbers);
}

Status
counting_begin(Counting *counting, int64_t count)
{
    assert(count > 0);
    KernelContext *context = counting->context;
    TRY(counted_numbers(context, count, &counting->counts));
    int error = (int)cudaMemsetAsync(
        counting->counts.data, 0, tensor_byte_size(&counting->counts), cuda_stream(context));
    return cuda_check(context->call, error, "clearing counts");
}

/* Takes one of the steps in a turn of the lane, for the run's account whatever thread this is. */
static Status
take_turn(Counted *counted, Status (*step)(Counting *counting))
{
    const KernelContext *context = counted->counting.context;
    Device *device = context->device;
    MemoryAccount *before = device->charge(device, without_const(context->account));
    device->enter(device, context->lane);
    Status status = step(&counted->counting);
    Status left = device->leave(context->call, device, context->lane);
    (void)device->charge(device, before);
    return status == STATUS_OK ? left : status;
}

static void
end_counted(Counted *counted, Status status)
{
    for (size_t i = 0; i < COUNTING_KEPT_MAX; i++) {
        tensor_unref(&counted->counting.kept[i]);
    }
    tensor_unref(&counted->counting.counts);
    tensor_buffer_unref(TAKE(counted->numbers));
    kernel_complete(counted->promise, status);
}

static void
end_count(DeviceCopy *copy, const Failure *failure)
{
    Counted *counted = (Counted *)(void *)copy;
    if (failure != NULL) {
        end_counted(counted, failure_raise(counted->promise->context.call, failure));
        return;
    }
    uint64_t before = cuda_trace_mark();
    counted->counting.counted = counted->numbers->data;
    cuda_trace_set_mark(counted->mark);
    Status status = take_turn(counted, counted->kernel->fill);
    cuda_trace_set_mark(before);
    end_counted(counted, status);
}

/* Begins the copy of the numbers to the host; end_count() goes on. */
static Status
begin_copy(Counted *counted)
{
    const KernelContext *context = counted->counting.context;
    const Tensor *counts = &counted->counting.counts;
    size_t size = tensor_byte_size(counts);
    counted->numbers = tensor_buffer_new(size);
    if (counted->numbers == NULL) {
        return call_fail_memory(context->call, "the counts of a kernel");
    }
    counted->copy = (DeviceCopy){.lane = context->lane,
        .from = counts->buffer,
        .to = counted->numbers,
        .size = size,
        .done = end_count};
    atomic_add_relaxed(&context->device->counts.downloads, 1);
    context->device->copy(context->device, &counted->copy);
    return STATUS_OK;
}

void
counted_start(KernelPromise *promise, const CountedKernel *kernel)
{
    KernelContext *context = &promise->context;
    Counted *counted = arena_alloc(context->call->arena, sizeof *counted);
    if (counted == NULL) {
        kernel_complete(promise, call_fail_memory(context->call, "a kernel that counts"));
        return;
    }
    *counted = (Counted){
        .counting = {.context = context}, .promise = promise, .kernel = kernel, .mark = cuda_trace_mark()};
    atomic_add_relaxed(&context->device->counts.kernels, 1);
    Status status = take_turn(counted, kernel->count);
    if (status == STATUS_OK) {
        status = begin_copy(counted); /* end_count() has `counted` then, which may have ended */
    }
    if (status != STATUS_OK) {
        end_counted(counted, status);
    }
}
