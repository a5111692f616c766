/* Slices distributed over several tensors, and collected from several: of slices with one index, the last
 * one stays. */
#include "shared/base/memory.h"
#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"

static bool
supports_copyable(const Node *node)
{
    return dtype_is_copyable(node->output_dtypes[0]);
}

/* Returns the bytes of a slice: of all dimensions but the first `skipped`. */
static size_t
slice_size(const Tensor *tensor, int skipped)
{
    size_t size = dtype_size(tensor->dtype);
    for (int index = skipped; index < tensor->shape.rank; index++) {
        size *= (size_t)tensor->shape.dims[index];
    }
    return size;
}

static Status
count_parts(KernelContext *context, const Tensor *partitions, int64_t *counts)
{
    for (int64_t n = 0; n < tensor_element_count(partitions); n++) {
        int32_t part = ((const int32_t *)partitions->data)[n];
        if (part < 0 || (uint32_t)part >= context->output_count) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "partition %d at %lld is not within %u",
                part, (long long)n, context->output_count);
        }
        counts[part]++;
    }
    return STATUS_OK;
}

static Status
deal_out(KernelContext *context, Shape *shapes, int64_t *counts)
{
    const Tensor *data = &context->inputs[0];
    const Tensor *partitions = &context->inputs[1];
    TRY(count_parts(context, partitions, counts));
    for (uint32_t index = 0; index < context->output_count; index++) {
        Tensor *output = NULL;
        shapes[index].dims[0] = counts[index];
        TRY(kernel_output(context, index, data->dtype, &shapes[index], &output));
        counts[index] = 0;
    }
    size_t size = slice_size(data, partitions->shape.rank);
    for (int64_t n = 0; n < tensor_element_count(partitions) && size > 0; n++) {
        int32_t part = ((const int32_t *)partitions->data)[n];
        memcpy((char *)context->outputs[part].data + (size_t)counts[part]++ * size,
            (const char *)data->data + (size_t)n * size, size);
    }
    return STATUS_OK;
}

static Status
partition_compute(KernelContext *context)
{
    AUTO_MEMORY Shape *shapes = memory_new(context->output_count + 1, sizeof *shapes);
    AUTO_MEMORY int64_t *counts = memory_new(context->output_count + 1, sizeof *counts);
    if (shapes == NULL || counts == NULL) {
        return call_fail_memory(context->call, "the partitions");
    }
    TRY(output_rule(context, shapes));
    return deal_out(context, shapes, counts);
}

static Status
stitch_one(KernelContext *context, const Tensor *indices, const Tensor *data, Tensor *output)
{
    size_t size = slice_size(output, 1);
    for (int64_t n = 0; n < tensor_element_count(indices); n++) {
        int32_t index = ((const int32_t *)indices->data)[n];
        if (index < 0) {
            return call_fail(
                context->call, STATUS_INVALID_ARGUMENT, "index %d at %lld is below 0", index, (long long)n);
        }
        if (size > 0) {
            memcpy((char *)output->data + (size_t)index * size, (const char *)data->data + (size_t)n * size,
                size);
        }
    }
    return STATUS_OK;
}

static Status
stitch_compute(KernelContext *context)
{
    uint32_t pairs = context->input_count / 2;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    fill_zero(output);
    for (uint32_t pair = 0; pair < pairs; pair++) {
        TRY(stitch_one(context, &context->inputs[pair], &context->inputs[pairs + pair], output));
    }
    return STATUS_OK;
}

static const Kernel partition_kernels[] = {
    {.op = "DynamicPartition", .supports = supports_copyable, .compute = partition_compute},
    {.op = "DynamicStitch", .supports = supports_copyable, .compute = stitch_compute},
    {.op = "ParallelDynamicStitch", .supports = supports_copyable, .compute = stitch_compute},
};

KERNEL_FAMILY(reference, partition, partition_kernels);
