/* float32 sums, differences, products and quotients: four at a time, large ones shared among the device's
 * threads. The same bits as the reference: one rounding an element. */
#include "worker/reference/primitives/broadcast.h"
#include "worker/reference/primitives/outputs.h"
#include "worker/runtime/kernel.h"

enum {
    FOUR = 4,
    CHUNK = 64 * 1024, /* elements a thread takes at once; less is not worth a hand-over */
};

typedef float Four __attribute__((vector_size(16)));

static Four
load(const float *values, int64_t stride)
{
    Four four;
    if (stride == 0) {
        four = (Four){values[0], values[0], values[0], values[0]};
    } else {
        memcpy(&four, values, sizeof four);
    }
    return four;
}

/* Strides of 0 and 1 are what broadcasting leaves on a line; others go one by one. */
#define FAST_LOOP(name, operator)                                                                            \
    static void name(const ElementRun *run)                                                                  \
    {                                                                                                        \
        const float *a = run->inputs[0];                                                                     \
        const float *b = run->inputs[1];                                                                     \
        const int64_t a_stride = run->strides[0];                                                            \
        const int64_t b_stride = run->strides[1];                                                            \
        float *output = run->output;                                                                         \
        int64_t n = 0;                                                                                       \
        if (a_stride <= 1 && b_stride <= 1) {                                                                \
            for (; n + FOUR <= run->count; n += FOUR) {                                                      \
                const Four result =                                                                          \
                    load(a + n * a_stride, a_stride) operator load(b + n * b_stride, b_stride);              \
                memcpy(output + n, &result, sizeof result);                                                  \
            }                                                                                                \
        }                                                                                                    \
        for (; n < run->count; n++) {                                                                        \
            output[n] = a[n * a_stride] operator b[n * b_stride];                                            \
        }                                                                                                    \
    }

FAST_LOOP(add, +)
FAST_LOOP(subtract, -)
FAST_LOOP(multiply, *)
FAST_LOOP(divide, /)

static bool
supports(const Node *node)
{
    return node->input_count == 2 && node->input_dtypes[0] == DTYPE_FLOAT32 &&
           node->input_dtypes[1] == DTYPE_FLOAT32 && node->output_dtypes[0] == DTYPE_FLOAT32;
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
    const int64_t start = index * CHUNK;
    const int64_t left = whole->count - start;
    ElementRun run = *whole;
    run.inputs[0] = (const float *)whole->inputs[0] + start * whole->strides[0];
    run.inputs[1] = (const float *)whole->inputs[1] + start * whole->strides[1];
    run.output = (float *)whole->output + start;
    run.count = left < CHUNK ? left : CHUNK;
    chunked->loop(&run);
}

/* In place of whichever input nobody else needs. */
static Status
output_of_equal_shapes(KernelContext *context, Tensor **ret_output)
{
    const Tensor *inputs = context->inputs;
    const uint32_t reused = tensor_is_unique(&inputs[0]) ? 0 : 1;
    return kernel_forward(context, reused, 0, DTYPE_FLOAT32, &inputs[0].shape, ret_output);
}

static Status
compute(KernelContext *context, ElementLoop loop)
{
    const Tensor *a = &context->inputs[0];
    const Tensor *b = &context->inputs[1];
    const bool is_equal = shape_equal(&a->shape, &b->shape);
    Tensor *output = NULL;
    TRY(is_equal ? output_of_equal_shapes(context, &output) : output_forward(context, 0, &output));
    const int64_t count = tensor_element_count(output);
    const bool is_line = is_equal || tensor_element_count(b) == 1 || tensor_element_count(a) == 1;
    if (!is_line) {
        broadcast_run((const Tensor *const[]){a, b}, 2, output, NULL, loop);
        return STATUS_OK;
    }
    const ElementRun run = {
        .inputs = {a->data, b->data},
        .strides = {tensor_element_count(a) == count, tensor_element_count(b) == count},
        .output = output->data,
        .count = count,
    };
    if (count <= CHUNK) {
        loop(&run);
        return STATUS_OK;
    }
    ChunkedRun chunked = {.run = &run, .loop = loop};
    context->device->parallel_for(context->device, (count + CHUNK - 1) / CHUNK, run_chunk, &chunked);
    return STATUS_OK;
}

#define FUNCTIONS(name)                                                                                      \
    static Status name##_compute(KernelContext *context)                                                     \
    {                                                                                                        \
        return compute(context, name);                                                                       \
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

#define FAST_KERNEL(name, function)                                                                          \
    {                                                                                                        \
        .op = (name), .supports = supports, .compute = function##_compute, .element = function##_element     \
    }

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
};

KERNEL_FAMILY(cpu_kernels, arithmetic, arithmetic_kernels);
