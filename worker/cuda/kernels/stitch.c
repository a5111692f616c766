/* DynamicStitch and ParallelDynamicStitch, by the rules of the reference kernels (shared/ops/partition). */
#include "worker/cuda/kernels/stitch.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/operands/counted.h"
#include "worker/cuda/run.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

static bool
supports_stitch(const Node *node)
{
    return dtype_is_copyable(node->output_dtypes[0]);
}

/* Returns the next tensor of the node behind this one, or the first behind none. */
static CudaStitch
stitch_after(const KernelContext *context, uint32_t pair, const CudaStitch *before)
{
    const Tensor *indices = &context->inputs[pair];
    const Tensor *data = &context->inputs[context->input_count / 2 + pair];
    CudaStitch stitch = {
        .indices = indices->data,
        .from = data->data,
        .count = tensor_element_count(indices),
        .first = before == NULL ? 0 : before->first + before->count,
        .inner = 1,
    };
    for (int d = indices->shape.rank; d < data->shape.rank; d++) {
        stitch.inner *= data->shape.dims[d];
    }
    return stitch;
}

static Status
count_rows(Counting *counting)
{
    KernelContext *context = counting->context;
    CudaStitch stitch = {.count = 0};
    Shape shape;
    CudaBlame blame;
    TRY(output_rule(context, &shape));
    TRY(counting_begin(counting, 1));
    TRY(cuda_blame(context, CUDA_REFUSES_ROW, &blame));
    for (uint32_t pair = 0; pair < context->input_count / 2; pair++) {
        stitch = stitch_after(context, pair, pair == 0 ? NULL : &stitch);
        int error = cuda_stitch_size(&stitch, counting->counts.data, &blame, cuda_stream(context));
        TRY(cuda_check(context->call, error, "a count of stitched rows"));
    }
    return STATUS_OK;
}

static Status
choose_winners(KernelContext *context, const Tensor *winners)
{
    CudaStitch stitch = {.count = 0};
    int error = (int)cudaMemsetAsync(winners->data, 0, tensor_byte_size(winners), cuda_stream(context));
    for (uint32_t pair = 0; pair < context->input_count / 2 && error == cudaSuccess; pair++) {
        stitch = stitch_after(context, pair, pair == 0 ? NULL : &stitch);
        error = cuda_stitch_winners(&stitch, winners->data, cuda_stream(context));
    }
    return cuda_check(context->call, error, "a choice of stitched rows");
}

/* Rows that no index names are zeros. */
static Status
fill_rows(Counting *counting)
{
    KernelContext *context = counting->context;
    CudaStitch stitch = {.count = 0};
    AUTO_TENSOR winners = {0};
    Shape shape;
    Tensor *output = NULL;
    Shape rows = shape_vector(*counting->counted);
    TRY(output_rule(context, &shape));
    shape.dims[0] = *counting->counted;
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &shape, &output));
    if (tensor_byte_size(output) == 0) {
        return STATUS_OK;
    }
    TRY(scratch_new(context, DTYPE_INT64, &rows, &winners));
    TRY(choose_winners(context, &winners));
    int error = (int)cudaMemsetAsync(output->data, 0, tensor_byte_size(output), cuda_stream(context));
    for (uint32_t pair = 0; pair < context->input_count / 2 && error == cudaSuccess; pair++) {
        stitch = stitch_after(context, pair, pair == 0 ? NULL : &stitch);
        error = cuda_stitch_rows(
            dtype_size(output->dtype), &stitch, winners.data, output->data, cuda_stream(context));
    }
    return cuda_check(context->call, error, "a stitch of rows");
}

static void
start_stitch(KernelPromise *promise)
{
    static const CountedKernel kernel = {.count = count_rows, .fill = fill_rows};
    counted_start(promise, &kernel);
}

static const Kernel stitch_kernels[] = {
    {.op = "DynamicStitch", .supports = supports_stitch, .start = start_stitch},
    {.op = "ParallelDynamicStitch", .supports = supports_stitch, .start = start_stitch},
};

KERNEL_FAMILY(cuda_kernels, stitch, stitch_kernels);
