/* float32 functions without a library: four elements at a time, large tensors shared among the device's
 * threads. The bits are the reference's: every operation rounds once. */
#include "worker/reference/broadcast.h"
#include "worker/reference/outputs.h"
#include "worker/runtime/kernel.h"

enum {
    FOUR = 4,
    EIGHT = 8,
    CHUNK = 64 * 1024, /* elements that a thread takes at once; fewer are not worth handing over */
};

typedef float Four __attribute__((vector_size(16)));
typedef int32_t FourInts __attribute__((vector_size(16)));

/* An operand along a line: broadcasting leaves strides of 0 and 1, and one number is read as four. */
typedef struct Source {
    const float *values;
    int64_t step;
    Four repeated;
} Source;

static void
source_open(Source *source, const ElementRun *run, int input)
{
    source->values = run->inputs[input];
    source->step = run->strides[input];
    if (source->step == 0) {
        float value = source->values[0];
        source->repeated = (Four){value, value, value, value};
        source->values = (const float *)&source->repeated;
    }
}

static Four
load_four(const Source *source, int64_t index)
{
    Four four;
    memcpy(&four, source->values + index * source->step, sizeof four);
    return four;
}

/* Loads the up to three elements behind the last four, one by one, which is faster than through memory. */
static Four
load_rest(const Source *source, int64_t index, int64_t count)
{
    const float *rest = source->values + index * source->step;
    return (Four){rest[0], count > 1 ? rest[1] : 0, count > 2 ? rest[2] : 0, 0};
}

static void
store_four(float *output, int64_t index, Four four)
{
    memcpy(output + index, &four, sizeof four);
}

static void
store_rest(float *output, int64_t index, int64_t count, Four four)
{
    output[index] = four[0];
    if (count > 1) {
        output[index + 1] = four[1];
    }
    if (count > 2) {
        output[index + 2] = four[2];
    }
}

static Four
select_lanes(FourInts condition, Four a, Four b)
{
    return (Four)((condition & (FourInts)a) | (~condition & (FourInts)b));
}

static Four
clear_sign(Four a)
{
    return (Four)((FourInts)a & INT32_MAX);
}

static const Four ZERO = {0};
static const Four SIX = {6, 6, 6, 6};

/* Computes eight elements at a time, then four, then the rest. */
#define FOURS(name, expression, input_count)                                                                 \
    static inline Four name##_four(Four a, Four b)                                                           \
    {                                                                                                        \
        (void)b;                                                                                             \
        return expression;                                                                                   \
    }                                                                                                        \
    static void name(const ElementRun *run)                                                                  \
    {                                                                                                        \
        Source x;                                                                                            \
        Source y;                                                                                            \
        source_open(&x, run, 0);                                                                             \
        source_open(&y, run, (input_count)-1);                                                               \
        float *output = run->output;                                                                         \
        int64_t n = 0;                                                                                       \
        for (; n + EIGHT <= run->count; n += EIGHT) {                                                        \
            Four first = name##_four(load_four(&x, n), load_four(&y, n));                                    \
            Four second = name##_four(load_four(&x, n + FOUR), load_four(&y, n + FOUR));                     \
            store_four(output, n, first);                                                                    \
            store_four(output, n + FOUR, second);                                                            \
        }                                                                                                    \
        for (; n + FOUR <= run->count; n += FOUR) {                                                          \
            store_four(output, n, name##_four(load_four(&x, n), load_four(&y, n)));                          \
        }                                                                                                    \
        if (n < run->count) {                                                                                \
            int64_t count = run->count - n;                                                                  \
            store_rest(output, n, count, name##_four(load_rest(&x, n, count), load_rest(&y, n, count)));     \
        }                                                                                                    \
    }

#define BINARY_FOURS(name, expression) FOURS(name, expression, 2)
#define UNARY_FOURS(name, expression) FOURS(name, expression, 1)

BINARY_FOURS(add, a + b)
BINARY_FOURS(subtract, a - b)
BINARY_FOURS(multiply, a *b)
BINARY_FOURS(divide, a / b)
BINARY_FOURS(squared_difference, (a - b) * (a - b))
BINARY_FOURS(maximum, select_lanes((a > b) | (a != a), a, b))
BINARY_FOURS(minimum, select_lanes((a < b) | (a != a), a, b))
BINARY_FOURS(relu_gradient, select_lanes(b > ZERO, a, ZERO))
UNARY_FOURS(negate, -a)
UNARY_FOURS(absolute, clear_sign(a))
UNARY_FOURS(square, a *a)
UNARY_FOURS(relu, select_lanes(a < ZERO, ZERO, a))
UNARY_FOURS(relu6, select_lanes(a < ZERO, ZERO, select_lanes(a > SIX, SIX, a)))

/* A bias along channels that are not the last dimension is left to the reference. */
static bool
supports_float(const Node *node)
{
    const AttrValue *format = node_attr(node, "data_format");
    bool is_supported = format == NULL || !slice_starts_with(format->value.s, SLICE("NC"));
    for (uint32_t index = 0; index < node->input_count; index++) {
        is_supported = is_supported && node->input_dtypes[index] == DTYPE_FLOAT32;
    }
    return is_supported && node->output_dtypes[0] == DTYPE_FLOAT32;
}

typedef struct ChunkedRun {
    const ElementRun *run;
    ElementLoop loop;
} ChunkedRun;

static void
run_chunk(void *context, int64_t index)
{
    const ChunkedRun *chunked = context;
    const ElementRun *whole = chunked->run;
    int64_t start = index * CHUNK;
    int64_t left = whole->count - start;
    ElementRun run = *whole;
    run.inputs[0] = (const float *)whole->inputs[0] + start * whole->strides[0];
    run.inputs[1] = (const float *)whole->inputs[1] + start * whole->strides[1];
    run.output = (float *)whole->output + start;
    run.count = left < CHUNK ? left : CHUNK;
    chunked->loop(&run);
}

static Status
output_of_broadcast(KernelContext *context, Tensor **ret_output)
{
    const Tensor *inputs = context->inputs;
    bool is_second_larger = tensor_element_count(&inputs[0]) < tensor_element_count(&inputs[1]);
    return output_forward(context, is_second_larger ? 1 : 0, ret_output);
}

/* Uses the memory of an input that nobody else needs, if there is one. */
static Status
output_of_equal_shapes(KernelContext *context, Tensor **ret_output)
{
    const Tensor *inputs = context->inputs;
    uint32_t reused = tensor_is_unique(&inputs[0]) ? 0 : context->input_count - 1;
    return kernel_forward(context, reused, 0, DTYPE_FLOAT32, &inputs[0].shape, ret_output);
}

static inline void
fill_output(KernelContext *context, ElementLoop loop, bool is_equal, Tensor *output)
{
    const Tensor *a = &context->inputs[0];
    const Tensor *b = &context->inputs[context->input_count - 1];
    int64_t count = tensor_element_count(output);
    int64_t a_count = is_equal ? count : tensor_element_count(a);
    int64_t b_count = is_equal ? count : tensor_element_count(b);
    if (!is_equal && a_count != 1 && b_count != 1) {
        broadcast_run((const Tensor *const[]){a, b}, 2, output, NULL, loop);
        return;
    }
    ElementRun run = {
        .inputs = {a->data, b->data},
        .strides = {a_count == count, b_count == count},
        .output = output->data,
        .count = count,
    };
    if (count <= CHUNK) {
        loop(&run);
        return;
    }
    ChunkedRun chunked = {.run = &run, .loop = loop};
    context->device->parallel_for(context->device, (count + CHUNK - 1) / CHUNK, run_chunk, &chunked);
}

static Status
compute_loop(KernelContext *context, ElementLoop loop)
{
    const Tensor *inputs = context->inputs;
    bool is_equal = shape_equal(&inputs[0].shape, &inputs[context->input_count - 1].shape);
    Tensor *output = NULL;
    TRY(is_equal ? output_of_equal_shapes(context, &output) : output_of_broadcast(context, &output));
    fill_output(context, loop, is_equal, output);
    return STATUS_OK;
}

#define FUNCTIONS(name)                                                                                      \
    static Status name##_compute(KernelContext *context)                                                     \
    {                                                                                                        \
        return compute_loop(context, name);                                                                  \
    }                                                                                                        \
    static bool name##_element(const Node *node, ElementFunction *ret_function)                              \
    {                                                                                                        \
        (void)node;                                                                                          \
        *ret_function = (ElementFunction){.loop = name};                                                     \
        return true;                                                                                         \
    }

FUNCTIONS(add)
FUNCTIONS(subtract)
FUNCTIONS(multiply)
FUNCTIONS(divide)
FUNCTIONS(squared_difference)
FUNCTIONS(maximum)
FUNCTIONS(minimum)
FUNCTIONS(relu_gradient)
FUNCTIONS(negate)
FUNCTIONS(absolute)
FUNCTIONS(square)
FUNCTIONS(relu)
FUNCTIONS(relu6)

/* Takes the shape rule even when both shapes are equal: a bias is a vector along the value's channels. */
static Status
bias_compute(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_forward(context, 0, &output));
    fill_output(context, add, false, output);
    return STATUS_OK;
}

#define ROW(name, compute_function, element_function)                                                        \
    {                                                                                                        \
        .op = (name), .supports = supports_float, .compute = (compute_function),                             \
        .element = (element_function), .sharing = KERNEL_FORWARDS                                            \
    }
#define FAST_KERNEL(name, function) ROW(name, function##_compute, function##_element)

static const Kernel arithmetic_kernels[] = {
    FAST_KERNEL("Add", add),
    FAST_KERNEL("AddV2", add),
    FAST_KERNEL("Sub", subtract),
    FAST_KERNEL("Mul", multiply),
    FAST_KERNEL("Div", divide),
    FAST_KERNEL("RealDiv", divide),
    FAST_KERNEL("onnx::Add", add),
    FAST_KERNEL("onnx::Sub", subtract),
    FAST_KERNEL("onnx::Mul", multiply),
    FAST_KERNEL("onnx::Div", divide),
    ROW("BiasAdd", bias_compute, add_element),
    ROW("BiasAddV1", bias_compute, add_element),
    FAST_KERNEL("SquaredDifference", squared_difference),
    FAST_KERNEL("Maximum", maximum),
    FAST_KERNEL("Minimum", minimum),
    FAST_KERNEL("ReluGrad", relu_gradient),
    FAST_KERNEL("Neg", negate),
    FAST_KERNEL("onnx::Neg", negate),
    FAST_KERNEL("Abs", absolute),
    FAST_KERNEL("onnx::Abs", absolute),
    FAST_KERNEL("Square", square),
    FAST_KERNEL("Relu", relu),
    FAST_KERNEL("onnx::Relu", relu),
    FAST_KERNEL("Relu6", relu6),
};

KERNEL_FAMILY(cpu_kernels, arithmetic, arithmetic_kernels);
