/* Slices combined with those at given coordinates, in the order of the indices. */
#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/wide.h"

static bool
supports_copy(const Node *node)
{
    return dtype_is_copyable(node->output_dtypes[0]);
}

/* Reads the number of the target's slice that tuple `tuple` of the indices names. */
static Status
read_tuple(
    KernelContext *context, const Tensor *indices, const Shape *target, int64_t tuple, int64_t *ret_slice)
{
    int64_t depth = indices->shape.dims[indices->shape.rank - 1];
    int64_t slice = 0;
    for (int64_t n = 0; n < depth; n++) {
        int64_t index = -1;
        bool is_number = tensor_to_int64(indices, tuple * depth + n, &index);
        if (!is_number || index < 0 || index >= target->dims[n]) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "index %lld at %lld is not within %lld",
                (long long)index, (long long)(tuple * depth + n), (long long)target->dims[n]);
        }
        slice = slice * target->dims[n] + index;
    }
    *ret_slice = slice;
    return STATUS_OK;
}

typedef struct Scatter {
    const Tensor *indices;
    const Tensor *updates;
    Tensor *target;
} Scatter;

/* `combination` works on wide dtypes; WIDE_COUNT replaces the bytes of any dtype. */
static Status
scatter_slices(KernelContext *context, const Scatter *scatter, WideCombination combination)
{
    const Shape *shape = &scatter->indices->shape;
    int64_t depth = shape->dims[shape->rank - 1];
    int64_t slice_count = 1;
    int64_t tuples = 1;
    for (int64_t n = depth; n < scatter->target->shape.rank; n++) {
        slice_count *= scatter->target->shape.dims[n];
    }
    for (int index = 0; index < shape->rank - 1; index++) {
        tuples *= shape->dims[index];
    }
    size_t bytes = (size_t)slice_count * dtype_size(scatter->target->dtype);
    for (int64_t tuple = 0; tuple < tuples && slice_count > 0; tuple++) {
        int64_t slice = 0;
        TRY(read_tuple(context, scatter->indices, &scatter->target->shape, tuple, &slice));
        char *to = (char *)scatter->target->data + (size_t)slice * bytes;
        const char *from = (const char *)scatter->updates->data + (size_t)tuple * bytes;
        if (combination == WIDE_COUNT) {
            memcpy(to, from, bytes);
        } else {
            wide_combine(combination, scatter->target->dtype, to, from, slice_count);
        }
    }
    return STATUS_OK;
}

static Status
update_compute(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    if (tensor_element_count(output) > 0) {
        memcpy(output->data, context->inputs[0].data, tensor_byte_size(output));
    }
    Scatter scatter = {&context->inputs[1], &context->inputs[2], output};
    return scatter_slices(context, &scatter, WIDE_COUNT);
}

static Status
combine_slices(KernelContext *context, WideCombination combination)
{
    Dtype wide = wide_dtype(context->inputs[0].dtype);
    AUTO_TENSOR target = {0};
    AUTO_TENSOR updates = {0};
    Shape shape;
    TRY(output_shapes(context, &shape));
    TRY(scratch_cast(context, &context->inputs[0], wide, &target));
    TRY(scratch_cast(context, &context->inputs[2], wide, &updates));
    Scatter scatter = {&context->inputs[1], &updates, &target};
    TRY(scatter_slices(context, &scatter, combination));
    return scratch_finish(context, 0, &target);
}

/* The updates are added to zeros. */
static Status
scatter_nd_compute(KernelContext *context)
{
    Dtype wide = wide_dtype(context->inputs[1].dtype);
    AUTO_TENSOR target = {0};
    AUTO_TENSOR updates = {0};
    Shape shape;
    TRY(output_shapes(context, &shape));
    TRY(scratch_cast(context, &context->inputs[1], wide, &updates));
    TRY(scratch_new(context, wide, &shape, &target));
    fill_zero(&target);
    Scatter scatter = {&context->inputs[0], &updates, &target};
    TRY(scatter_slices(context, &scatter, WIDE_ADD));
    return scratch_finish(context, 0, &target);
}

/* The functions of a kernel that combines slices in this way. */
#define COMBINES(name, combination)                                                                          \
    static bool name##_supports(const Node *node)                                                            \
    {                                                                                                        \
        return wide_supports(combination, node->output_dtypes[0]);                                           \
    }                                                                                                        \
    static Status name##_compute(KernelContext *context)                                                     \
    {                                                                                                        \
        return combine_slices(context, combination);                                                         \
    }

COMBINES(add, WIDE_ADD)
COMBINES(subtract, WIDE_SUBTRACT)
COMBINES(minimum, WIDE_MINIMUM)
COMBINES(maximum, WIDE_MAXIMUM)

#define SCATTER(name, function)                                                                              \
    {                                                                                                        \
        .op = (name), .supports = function##_supports, .compute = function##_compute, .wide_inputs = 5       \
    }

static const Kernel scatter_kernels[] = {
    {.op = "TensorScatterUpdate", .supports = supports_copy, .compute = update_compute},
    {.op = "ScatterNd",
        .supports = add_supports,
        .compute = scatter_nd_compute,
        .wide_inputs = 2,
        .wide_outputs = 1,
        .host_inputs = 1 << 2},
    SCATTER("TensorScatterAdd", add),
    SCATTER("TensorScatterSub", subtract),
    SCATTER("TensorScatterMin", minimum),
    SCATTER("TensorScatterMax", maximum),
    SCATTER("ScatterNdNonAliasingAdd", add),
};

KERNEL_FAMILY(reference, scatter, scatter_kernels);
