/* Positions of extremes and of non-zero elements. Among equal elements the first one in the input counts. */
#include "shared/ops/order/beyond.h"
#include "worker/reference/elements.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

static bool
supports_extremes(const Node *node)
{
    Dtype indices = node->output_dtypes[node->output_count - 1];
    return is_beyond_of(node->input_dtypes[0], NAN_BEYOND) != NULL &&
           (indices == DTYPE_INT32 || indices == DTYPE_INT64);
}

static int64_t
find_extreme(IsBeyond is_beyond, const void *line, const Lines *lines, bool largest, bool last)
{
    int64_t found = 0;
    for (int64_t n = 1; n < lines->size; n++) {
        int64_t here = n * lines->inner;
        int64_t there = found * lines->inner;
        bool is_found = is_beyond(line, here, there, largest);
        found = is_found || (last && !is_beyond(line, there, here, largest)) ? n : found;
    }
    return found;
}

static Status
compute_extremes(KernelContext *context, int64_t axis, NanPlace place, bool largest, bool last)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    Lines lines = lines_along(&input->shape, (int)(axis < 0 ? axis + input->shape.rank : axis));
    int64_t size = (int64_t)dtype_size(input->dtype);
    if (tensor_element_count(output) == 0) {
        return STATUS_OK; /* the other dimensions may be of any size */
    }
    IsBeyond is_beyond = is_beyond_of(input->dtype, place);
    for (int64_t outer = 0; outer < lines.outer; outer++) {
        for (int64_t inner = 0; inner < lines.inner; inner++) {
            const char *line = (const char *)input->data + (outer * lines.size * lines.inner + inner) * size;
            write_index(
                output, outer * lines.inner + inner, find_extreme(is_beyond, line, &lines, largest, last));
        }
    }
    return STATUS_OK;
}

static Status
arg_by_input(KernelContext *context, bool largest)
{
    int64_t axis = 0;
    size_t count = 0;
    TRY(kernel_input_ints(context, 1, &axis, 1, &count));
    return compute_extremes(context, axis, NAN_BEHIND, largest, false);
}

static Status
arg_max_compute(KernelContext *context)
{
    return arg_by_input(context, true);
}

static Status
arg_min_compute(KernelContext *context)
{
    return arg_by_input(context, false);
}

static Status
onnx_arg_compute(KernelContext *context)
{
    const Node *node = context->node;
    return compute_extremes(context, node_attr_int(node, "axis"), NAN_BEYOND,
        slice_equal(node->op->name, SLICE("onnx::ArgMax")), node_attr_int(node, "select_last_index") != 0);
}

typedef bool (*IsZero)(const void *data, int64_t element);

#define ZERO_LOOP(name, unused, upper, lower, storage, compute, read, write)                                 \
    static bool name##_##lower(const void *data, int64_t element)                                            \
    {                                                                                                        \
        compute a = read(((const storage *)data)[element]);                                                  \
        return a == 0;                                                                                       \
    }

REAL_ELEMENTS(ZERO_LOOP, is_zero, )
BOOL_ELEMENTS(ZERO_LOOP, is_zero, )
static const IsZero is_zero_loops[DTYPE_COUNT] = {REAL_LOOPS(is_zero) BOOL_LOOPS(is_zero)};

static bool
where_supports(const Node *node)
{
    return is_zero_loops[node->input_dtypes[0]] != NULL;
}

/* Coordinates stand in rows (TensorFlow), or in columns with a row for each dimension (ONNX). */
static Status
find_non_zero(KernelContext *context, bool in_columns)
{
    const Tensor *input = &context->inputs[0];
    IsZero is_zero = is_zero_loops[input->dtype];
    int64_t count = tensor_element_count(input);
    int rank = input->shape.rank;
    int64_t found = 0;
    for (int64_t element = 0; element < count; element++) {
        found += is_zero(input->data, element) ? 0 : 1;
    }
    Shape shape = {.rank = 2, .dims = {in_columns ? rank : found, in_columns ? found : rank}};
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, DTYPE_INT64, &shape, &output));
    int64_t *coordinates = output->data;
    int64_t row = 0;
    for (int64_t element = 0; element < count && rank > 0; element++) {
        int64_t rest = element;
        if (is_zero(input->data, element)) {
            continue;
        }
        for (int dimension = rank - 1; dimension >= 0; dimension--) {
            coordinates[in_columns ? dimension * found + row : row * rank + dimension] =
                rest % input->shape.dims[dimension];
            rest /= input->shape.dims[dimension];
        }
        row++;
    }
    return STATUS_OK;
}

static Status
where_compute(KernelContext *context)
{
    return find_non_zero(context, false);
}

static Status
non_zero_compute(KernelContext *context)
{
    return find_non_zero(context, true);
}

static const Kernel order_kernels[] = {
    {.op = "ArgMax", .supports = supports_extremes, .compute = arg_max_compute, .host_inputs = 1 << 1},
    {.op = "ArgMin", .supports = supports_extremes, .compute = arg_min_compute, .host_inputs = 1 << 1},
    {.op = "onnx::ArgMax", .supports = supports_extremes, .compute = onnx_arg_compute},
    {.op = "onnx::ArgMin", .supports = supports_extremes, .compute = onnx_arg_compute},
    {.op = "Where", .supports = where_supports, .compute = where_compute},
    {.op = "onnx::NonZero", .supports = where_supports, .compute = non_zero_compute},
};

KERNEL_FAMILY(reference, order, order_kernels);
