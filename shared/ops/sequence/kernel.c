/* Elements moved along a dimension, and cross products. */
#include "worker/reference/elements.h"
#include "worker/reference/moved_strings.h"
#include "worker/reference/moves.h"
#include "worker/reference/outputs.h"

static bool
supports_copyable(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[0]);
}

static Status
read_length(KernelContext *context, int64_t n, int64_t size, int64_t *ret_length)
{
    *ret_length = -1;
    if (!tensor_to_int64(&context->inputs[1], n, ret_length) || *ret_length < 0 || *ret_length > size) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "length %lld at %lld is not within %lld",
            (long long)*ret_length, (long long)n, (long long)size);
    }
    return STATUS_OK;
}

/* The first elements of the sequence are reversed in each batch; the others stay. */
static Status
reverse_sequence_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    const Shape *shape = &input->shape;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    const int64_t given[2] = {
        node_attr_int(context->node, "batch_dim"), node_attr_int(context->node, "seq_dim")};
    int batch = (int)(given[0] < 0 ? given[0] + shape->rank : given[0]);
    int sequence = (int)(given[1] < 0 ? given[1] + shape->rank : given[1]);
    StridedCopy copy = {.rank = shape->rank};
    memcpy(copy.dims, shape->dims, sizeof shape->dims);
    strides_dense(shape, copy.from);
    memcpy(copy.to, copy.from, sizeof copy.from);
    copy.dims[batch] = 1;
    for (int64_t n = 0; n < shape->dims[batch] && tensor_element_count(input) > 0; n++) {
        int64_t length = 0;
        TRY(read_length(context, n, shape->dims[sequence], &length));
        StridedCopy kept = copy;
        kept.from_offset = n * copy.from[batch] + length * copy.from[sequence];
        kept.to_offset = kept.from_offset;
        kept.dims[sequence] = shape->dims[sequence] - length;
        TRY(move_elements(context, &kept, input, output));
        StridedCopy turned = copy;
        turned.from_offset = n * copy.from[batch] + (length - 1) * copy.from[sequence];
        turned.to_offset = n * copy.from[batch];
        turned.from[sequence] = -copy.from[sequence];
        turned.dims[sequence] = length;
        if (length > 0) {
            TRY(move_elements(context, &turned, input, output));
        }
    }
    return STATUS_OK;
}

enum { ROLLS_MAX = 64 };

/* Adds up the shifts of each dimension, reduced to less than its size. */
static Status
read_shifts(KernelContext *context, int64_t *ret_shifts)
{
    const Shape *shape = &context->inputs[0].shape;
    int64_t shifts[ROLLS_MAX];
    int64_t axes[ROLLS_MAX];
    size_t counts[2];
    TRY(kernel_input_ints(context, 1, shifts, ROLLS_MAX, &counts[0]));
    TRY(kernel_input_ints(context, 2, axes, ROLLS_MAX, &counts[1]));
    for (size_t n = 0; n < counts[0] && n < counts[1]; n++) {
        int64_t axis = axes[n] < 0 ? axes[n] + shape->rank : axes[n];
        if (axis < 0 || axis >= shape->rank) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "axis %lld is not within a tensor of rank %d", (long long)axes[n], shape->rank);
        }
        int64_t size = shape->dims[axis] > 0 ? shape->dims[axis] : 1;
        ret_shifts[axis] = ((ret_shifts[axis] + shifts[n] % size) % size + size) % size;
    }
    return STATUS_OK;
}

/* Each dimension is two parts that change places: bit d of `part` says which one is copied in dimension d. */
static Status
roll_part(KernelContext *context, Tensor *output, const int64_t *shifts, uint32_t part)
{
    const Tensor *input = &context->inputs[0];
    const Shape *shape = &input->shape;
    StridedCopy copy = {.rank = shape->rank};
    strides_dense(shape, copy.from);
    memcpy(copy.to, copy.from, sizeof copy.from);
    for (int index = 0; index < shape->rank; index++) {
        int64_t rest = shape->dims[index] - shifts[index];
        bool is_behind = (part >> index & 1) != 0;
        copy.dims[index] = is_behind ? shifts[index] : rest;
        copy.from_offset += is_behind ? rest * copy.from[index] : 0;
        copy.to_offset += is_behind ? 0 : shifts[index] * copy.to[index];
        if (copy.dims[index] == 0) {
            return STATUS_OK;
        }
    }
    return move_elements(context, &copy, input, output);
}

static Status
roll_compute(KernelContext *context)
{
    int64_t shifts[SHAPE_RANK_MAX] = {0};
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    TRY(read_shifts(context, shifts));
    for (uint32_t part = 0; part < 1U << output->shape.rank; part++) {
        TRY(roll_part(context, output, shifts, part));
    }
    return STATUS_OK;
}

typedef void (*CrossLoop)(const void *a, const void *b, void *product, int64_t count);

#define CROSS_LOOP(name, unused, upper, lower, storage, compute, read, write)                                \
    static void name##_##lower(const void *a, const void *b, void *product, int64_t count)                   \
    {                                                                                                        \
        for (int64_t n = 0; n < count; n++) {                                                                \
            const storage *x = (const storage *)a + n / 3 * 3;                                               \
            const storage *y = (const storage *)b + n / 3 * 3;                                               \
            int64_t next = (n + 1) % 3;                                                                      \
            int64_t last = (n + 2) % 3;                                                                      \
            const compute left[2] = {read(x[next]), read(x[last])};                                          \
            const compute right[2] = {read(y[next]), read(y[last])};                                         \
            ((storage *)product)[n] = write(left[0] * right[1] - left[1] * right[0]);                        \
        }                                                                                                    \
    }

FLOATING_ELEMENTS(CROSS_LOOP, cross, )
WRAPPING_ELEMENTS(CROSS_LOOP, cross, )
static const CrossLoop cross_loops[DTYPE_COUNT] = {REAL_LOOPS(cross)};

static bool
cross_supports(const Node *node)
{
    return cross_loops[node->input_dtypes[0]] != NULL;
}

static Status
cross_compute(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    cross_loops[output->dtype](
        context->inputs[0].data, context->inputs[1].data, output->data, tensor_element_count(output));
    return STATUS_OK;
}

static const Kernel sequence_kernels[] = {
    {.op = "ReverseSequence",
        .supports = supports_copyable,
        .compute = reverse_sequence_compute,
        .host_inputs = 1 << 1},
    {.op = "Roll", .supports = supports_copyable, .compute = roll_compute, .host_inputs = 1 << 1 | 1 << 2},
    {.op = "Cross", .supports = cross_supports, .compute = cross_compute},
    MOVED_STRINGS("ReverseSequence", first),
    MOVED_STRINGS("Roll", first),
};

KERNEL_FAMILY(reference, sequence, sequence_kernels);
