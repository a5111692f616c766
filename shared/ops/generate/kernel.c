/* Tensors made from a few numbers. */
#include "worker/reference/elements.h"
#include "worker/reference/fill.h"
#include "worker/reference/moved_strings.h"
#include "worker/reference/moves.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

static bool
fill_supports(const Node *node)
{
    return dtype_is_copyable(node->output_dtypes[0]);
}

static Status
fill_with(KernelContext *context, const Tensor *value)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    if (tensor_element_count(value) != 1 || value->dtype != output->dtype) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "the value is %s%s, not one %s",
            dtype_name(value->dtype), shape_text(&value->shape, text), dtype_name(output->dtype));
    }
    TRY(move_element_into(context, output, value->data));
    return STATUS_OK;
}

static Status
fill_compute(KernelContext *context)
{
    return fill_with(context, &context->inputs[1]);
}

static Status
constant_of_shape_compute(KernelContext *context)
{
    return fill_with(context, node_attr_tensor(context->node, "value"));
}

/* Each element is start + n × delta, not a running sum, and so as exact as the dtype allows. */
#define RANGE_LOOP(name, unused, upper, lower, storage, compute, read, write)                                \
    static void name##_##lower(const void *start, const void *delta, void *output, int64_t count)            \
    {                                                                                                        \
        compute first = read(*(const storage *)start);                                                       \
        compute step = read(*(const storage *)delta);                                                        \
        storage *z = output;                                                                                 \
        for (int64_t n = 0; n < count; n++) {                                                                \
            z[n] = write(first + (compute)n * step);                                                         \
        }                                                                                                    \
    }

typedef void (*RangeLoop)(const void *start, const void *delta, void *output, int64_t count);

RANGE_LOOP(range, , FLOAT32, float32, float, double, (double), (float))
RANGE_LOOP(range, , FLOAT64, float64, double, double, , (double))
WRAPPING_ELEMENTS(RANGE_LOOP, range, )
static const RangeLoop range_loops[DTYPE_COUNT] = {
    [DTYPE_FLOAT32] = range_float32, [DTYPE_FLOAT64] = range_float64, INTEGER_LOOPS(range)};

static bool
range_supports(const Node *node)
{
    return range_loops[node->input_dtypes[0]] != NULL;
}

static Status
range_compute(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    range_loops[output->dtype](
        context->inputs[0].data, context->inputs[2].data, output->data, output->shape.dims[0]);
    return STATUS_OK;
}

static bool
lin_space_supports(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

/* The last element is `stop` itself. */
static Status
lin_space_compute(KernelContext *context)
{
    Shape shape;
    TRY(output_shapes(context, &shape));
    AUTO_TENSOR start = {0};
    AUTO_TENSOR stop = {0};
    AUTO_TENSOR values = {0};
    if (tensor_element_count(&context->inputs[0]) != 1 || tensor_element_count(&context->inputs[1]) != 1) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "start and stop must be one number each");
    }
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_FLOAT64, &start));
    TRY(scratch_cast(context, &context->inputs[1], DTYPE_FLOAT64, &stop));
    TRY(scratch_new(context, DTYPE_FLOAT64, &shape, &values));
    double first = *(const double *)start.data;
    double last = *(const double *)stop.data;
    int64_t count = shape.dims[0];
    for (int64_t n = 0; n < count; n++) {
        double part = count == 1 ? 0 : (double)n / (double)(count - 1);
        ((double *)values.data)[n] = n > 0 && n == count - 1 ? last : first + (last - first) * part;
    }
    return scratch_finish(context, 0, &values);
}

static const Kernel generate_kernels[] = {
    {.op = "Fill", .supports = fill_supports, .compute = fill_compute, .host_inputs = 1},
    {.op = "onnx::ConstantOfShape",
        .supports = fill_supports,
        .compute = constant_of_shape_compute,
        .host_inputs = 1},
    {.op = "Range", .supports = range_supports, .compute = range_compute, .host_inputs = 7},
    {.op = "onnx::Range", .supports = range_supports, .compute = range_compute, .host_inputs = 7},
    {.op = "LinSpace",
        .supports = lin_space_supports,
        .compute = lin_space_compute,
        .wide_outputs = 1,
        .host_inputs = 7},
    MOVED_STRINGS("Fill", second),
};

KERNEL_FAMILY(reference, generate, generate_kernels);
