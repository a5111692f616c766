/* Running sums and products, and half the sum of squares (L2Loss). Floats are summed in double. */
#include "worker/reference/elements.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

typedef struct Running {
    const void *input;
    void *output;
    Lines lines;
    bool is_exclusive; /* each result leaves out its own element */
    bool is_reverse;
} Running;

typedef void (*RunningLoop)(const Running *running);

#define RUNNING_LOOP(name, accumulator, initial, step, upper, lower, storage, compute, read, write)          \
    static void name##_##lower(const Running *running)                                                       \
    {                                                                                                        \
        const Lines *lines = &running->lines;                                                                \
        for (int64_t line = 0; line < lines->outer * lines->inner; line++) {                                 \
            int64_t first = line / lines->inner * lines->size * lines->inner + line % lines->inner;          \
            const storage *x = (const storage *)running->input + first;                                      \
            storage *z = (storage *)running->output + first;                                                 \
            accumulator total = initial;                                                                     \
            for (int64_t n = 0; n < lines->size; n++) {                                                      \
                int64_t position = (running->is_reverse ? lines->size - 1 - n : n) * lines->inner;           \
                accumulator a = (accumulator)read(x[position]);                                              \
                accumulator before = total;                                                                  \
                step;                                                                                        \
                z[position] = write((compute)(running->is_exclusive ? before : total));                      \
            }                                                                                                \
        }                                                                                                    \
    }

FLOATING_ELEMENTS(RUNNING_LOOP, running_sum, double, 0, total += a)
WRAPPING_ELEMENTS(RUNNING_LOOP, running_sum, uint64_t, 0, total += a)
static const RunningLoop running_sum_loops[DTYPE_COUNT] = {REAL_LOOPS(running_sum)};

FLOATING_ELEMENTS(RUNNING_LOOP, running_product, double, 1, total *= a)
WRAPPING_ELEMENTS(RUNNING_LOOP, running_product, uint64_t, 1, total *= a)
static const RunningLoop running_product_loops[DTYPE_COUNT] = {REAL_LOOPS(running_product)};

static bool
supports_cumulative(const Node *node)
{
    return running_sum_loops[node->input_dtypes[0]] != NULL;
}

static Status
compute_cumulative(KernelContext *context, const RunningLoop *loops, bool is_exclusive, bool is_reverse)
{
    const Tensor *input = &context->inputs[0];
    int64_t axis = 0;
    size_t count = 0;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    TRY(kernel_input_ints(context, 1, &axis, 1, &count));
    Running running = {
        .input = input->data,
        .output = output->data,
        .lines = lines_along(&input->shape, (int)(axis < 0 ? axis + input->shape.rank : axis)),
        .is_exclusive = is_exclusive,
        .is_reverse = is_reverse,
    };
    if (tensor_element_count(input) > 0) {
        loops[input->dtype](&running); /* without elements, the other dimensions may be of any size */
    }
    return STATUS_OK;
}

static Status
sum_compute(KernelContext *context)
{
    const Node *node = context->node;
    return compute_cumulative(
        context, running_sum_loops, node_attr_bool(node, "exclusive"), node_attr_bool(node, "reverse"));
}

static Status
product_compute(KernelContext *context)
{
    const Node *node = context->node;
    return compute_cumulative(
        context, running_product_loops, node_attr_bool(node, "exclusive"), node_attr_bool(node, "reverse"));
}

static Status
onnx_sum_compute(KernelContext *context)
{
    const Node *node = context->node;
    return compute_cumulative(context, running_sum_loops, node_attr_int(node, "exclusive") != 0,
        node_attr_int(node, "reverse") != 0);
}

static Status
onnx_product_compute(KernelContext *context)
{
    const Node *node = context->node;
    return compute_cumulative(context, running_product_loops, node_attr_int(node, "exclusive") != 0,
        node_attr_int(node, "reverse") != 0);
}

static bool
l2_loss_supports(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

static Status
l2_loss_compute(KernelContext *context)
{
    Shape scalar = shape_scalar();
    AUTO_TENSOR values = {0};
    AUTO_TENSOR loss = {0};
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_FLOAT64, &values));
    TRY(scratch_new(context, DTYPE_FLOAT64, &scalar, &loss));
    int64_t count = tensor_element_count(&values);
    double sum = 0;
    for (int64_t n = 0; n < count; n++) {
        double value = ((const double *)values.data)[n];
        sum += value * value;
    }
    *(double *)loss.data = sum / 2;
    return scratch_finish(context, 0, &loss);
}

static const Kernel cumulative_kernels[] = {
    {.op = "Cumsum", .supports = supports_cumulative, .compute = sum_compute, .host_inputs = 1 << 1},
    {.op = "Cumprod", .supports = supports_cumulative, .compute = product_compute, .host_inputs = 1 << 1},
    {.op = "onnx::CumSum",
        .supports = supports_cumulative,
        .compute = onnx_sum_compute,
        .host_inputs = 1 << 1},
    {.op = "onnx::CumProd",
        .supports = supports_cumulative,
        .compute = onnx_product_compute,
        .host_inputs = 1 << 1},
    {.op = "L2Loss",
        .supports = l2_loss_supports,
        .compute = l2_loss_compute,
        .wide_inputs = 1,
        .wide_outputs = 1},
};

KERNEL_FAMILY(reference, reduce_cumulative, cumulative_kernels);
