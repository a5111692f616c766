/* Slices distributed over several tensors, and collected from several. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* The number of slices in each output is known only when it runs; the other dimensions are those of the
 * data behind the partitions'. */
static Status
infer_dynamic_partition(Call *call, InferContext *context)
{
    const Shape *data = &context->inputs[0];
    const Shape *partitions = &context->inputs[1];
    if (data->rank < 0 || partitions->rank < 0) {
        return STATUS_OK;
    }
    Shape output = shape_vector(-1);
    for (int index = 0; index < partitions->rank; index++) {
        int64_t size = 0;
        if (index >= data->rank) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "partitions of rank %d for data of rank %d",
                partitions->rank, data->rank);
        }
        TRY(infer_equal(
            call, data->dims[index], partitions->dims[index], "a dimension of the partitions", &size));
    }
    TRY(infer_append(call, data, partitions->rank, data->rank, &output));
    for (uint32_t index = 0; index < context->node->output_count; index++) {
        context->outputs[index] = output;
    }
    return STATUS_OK;
}

/* Returns one more than the largest index; -1 while not all are known. */
static int64_t
stitched_count(const InferContext *context, uint32_t pairs)
{
    int64_t count = 0;
    for (uint32_t pair = 0; pair < pairs; pair++) {
        if (!infer_knows(context, pair)) {
            return -1;
        }
        const Tensor *indices = context->values[pair];
        for (int64_t n = 0; n < tensor_element_count(indices); n++) {
            int64_t index = ((const int32_t *)indices->data)[n];
            count = index >= count ? index + 1 : count;
        }
    }
    return count;
}

/* Merges the dimensions of the data behind those of the indices `pair`, which are the same for all pairs. */
static Status
merge_slice(Call *call, const InferContext *context, uint32_t pair, uint32_t pairs, Shape *slice)
{
    const Shape *indices = &context->inputs[pair];
    const Shape *data = &context->inputs[pairs + pair];
    if (indices->rank < 0 || data->rank < 0) {
        return STATUS_OK;
    }
    Shape prefix = *data;
    prefix.rank = indices->rank;
    Shape rest = shape_scalar();
    TRY(infer_append(call, data, indices->rank, data->rank, &rest));
    Shape merged;
    if (data->rank < indices->rank || !shape_merge(&prefix, indices, &merged) ||
        !shape_merge(slice, &rest, slice)) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "data %u of shape %s does not fit indices of shape %s", pair, shape_text(data, left),
            shape_text(indices, right));
    }
    return STATUS_OK;
}

static Status
infer_stitch(Call *call, InferContext *context)
{
    uint32_t pairs = context->node->input_count / 2;
    Shape slice = shape_unknown();
    for (uint32_t pair = 0; pair < pairs; pair++) {
        TRY(merge_slice(call, context, pair, pairs, &slice));
    }
    if (slice.rank < 0) {
        return STATUS_OK;
    }
    Shape output = shape_vector(stitched_count(context, pairs));
    TRY(infer_append(call, &slice, 0, slice.rank, &output));
    context->outputs[0] = output;
    return infer_check_size(call, &output);
}

#define STITCH(name) OP(name "(indices:N*int32, data:N*T)->(merged:T) {N:int>=1, T:type}", 0, infer_stitch)

static const OpDefinition partition_ops[] = {
    STITCH("DynamicStitch"),
    STITCH("ParallelDynamicStitch"),
    OP("DynamicPartition(data:T, partitions:int32)->(outputs:num_partitions*T) {num_partitions:int>=1, "
       "T:type}",
        0, infer_dynamic_partition),
};

OP_FAMILY(partition, partition_ops);
