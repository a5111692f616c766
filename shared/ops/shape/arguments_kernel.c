/* Shapes computed in the graph. */
#include "worker/reference/outputs.h"

#include "shared/base/memory.h"

static bool
supports_ints(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_INT32 || node->input_dtypes[0] == DTYPE_INT64;
}

static Status
store_vector(KernelContext *context, uint32_t index, const int64_t *values, int64_t count)
{
    Shape shape = shape_vector(count);
    Tensor *output = NULL;
    TRY(kernel_output(context, index, context->node->output_dtypes[index], &shape, &output));
    for (int64_t n = 0; n < count; n++) {
        if (output->dtype == DTYPE_INT64) {
            ((int64_t *)output->data)[n] = values[n];
        } else {
            ((int32_t *)output->data)[n] = (int32_t)values[n];
        }
    }
    return STATUS_OK;
}

/* Two shapes brought to one rank by dimensions of 1 in front. */
typedef struct Pair {
    int64_t dims[2][SHAPE_RANK_MAX];
    int rank;
} Pair;

static Status
read_pair(KernelContext *context, Pair *pair)
{
    size_t counts[2];
    int64_t given[2][SHAPE_RANK_MAX];
    Shape shapes[2];
    TRY(output_rule(context, shapes));
    for (uint32_t side = 0; side < 2; side++) {
        TRY(kernel_input_ints(context, side, given[side], SHAPE_RANK_MAX, &counts[side]));
    }
    pair->rank = (int)(counts[0] > counts[1] ? counts[0] : counts[1]);
    for (size_t side = 0; side < 2; side++) {
        int missing = pair->rank - (int)counts[side];
        for (int index = 0; index < pair->rank; index++) {
            pair->dims[side][index] = index < missing ? 1 : given[side][index - missing];
        }
    }
    for (int index = 0; index < pair->rank; index++) {
        int64_t left = pair->dims[0][index];
        int64_t right = pair->dims[1][index];
        if (left != right && left != 1 && right != 1) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "dimensions of %lld and %lld do not broadcast", (long long)left, (long long)right);
        }
    }
    return STATUS_OK;
}

static Status
broadcast_args_compute(KernelContext *context)
{
    Pair pair;
    int64_t result[SHAPE_RANK_MAX];
    TRY(read_pair(context, &pair));
    for (int index = 0; index < pair.rank; index++) {
        result[index] = pair.dims[0][index] == 1 ? pair.dims[1][index] : pair.dims[0][index];
    }
    return store_vector(context, 0, result, pair.rank);
}

/* A side is summed over the dimensions that it had repeated, and over those that are 1 on both sides,
 * unless the given shapes are equal. */
static Status
gradient_args_compute(KernelContext *context)
{
    Pair pair;
    TRY(read_pair(context, &pair));
    const Shape *left = &context->inputs[0].shape;
    const Shape *right = &context->inputs[1].shape;
    bool are_equal = shape_equal(left, right);
    for (int index = 0; index < pair.rank; index++) {
        are_equal = are_equal && pair.dims[0][index] == pair.dims[1][index];
    }
    for (uint32_t side = 0; side < 2; side++) {
        int64_t axes[SHAPE_RANK_MAX];
        int64_t count = 0;
        for (int index = 0; index < pair.rank && !are_equal; index++) {
            if (pair.dims[side][index] == 1) {
                axes[count++] = index;
            }
        }
        TRY(store_vector(context, side, axes, count));
    }
    return STATUS_OK;
}

static Status
check_joins(KernelContext *context, uint32_t input, const int64_t *first, const int64_t *shape, size_t axis)
{
    size_t rank = (size_t)context->inputs[input].shape.dims[0];
    for (size_t index = 0; index < rank; index++) {
        if (index != axis && shape[index] != first[index]) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "dimension %zu of shape %u is %lld, not %lld", index, input - 1, (long long)shape[index],
                (long long)first[index]);
        }
    }
    return STATUS_OK;
}

static Status
concat_offset_compute(KernelContext *context)
{
    int64_t given = 0;
    int64_t offset = 0;
    int64_t first[SHAPE_RANK_MAX];
    int64_t shape[SHAPE_RANK_MAX];
    size_t count = 0;
    AUTO_MEMORY Shape *shapes = memory_new(context->output_count, sizeof *shapes);
    if (shapes == NULL) {
        return call_fail_memory(context->call, "offsets");
    }
    TRY(output_rule(context, shapes));
    TRY(kernel_input_ints(context, 0, &given, 1, &count));
    TRY(kernel_input_ints(context, 1, first, SHAPE_RANK_MAX, &count));
    int64_t axis = given < 0 ? given + (int64_t)count : given;
    if (axis < 0 || axis >= (int64_t)count) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "axis %lld is not within a tensor of rank %zu", (long long)given, count);
    }
    for (uint32_t input = 1; input < context->input_count; input++) {
        int64_t offsets[SHAPE_RANK_MAX] = {0};
        size_t rank = 0;
        TRY(kernel_input_ints(context, input, shape, SHAPE_RANK_MAX, &rank));
        if (rank != count) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "shape %u has rank %zu, not %zu",
                input - 1, rank, count);
        }
        TRY(check_joins(context, input, first, shape, (size_t)axis));
        offsets[axis] = offset;
        offset += shape[axis];
        TRY(store_vector(context, input - 1, offsets, (int64_t)count));
    }
    return STATUS_OK;
}

#define HOST .host_inputs = UINT32_MAX, .host_outputs = UINT32_MAX, .is_cheap = true
static const Kernel arguments_kernels[] = {
    {.op = "BroadcastArgs", .supports = supports_ints, .compute = broadcast_args_compute, HOST},
    {.op = "BroadcastGradientArgs", .supports = supports_ints, .compute = gradient_args_compute, HOST},
    {.op = "ConcatOffset", .compute = concat_offset_compute, HOST},
};

KERNEL_FAMILY(reference, shape_arguments, arguments_kernels);
