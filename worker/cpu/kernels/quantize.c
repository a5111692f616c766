/* ONNX's quantised numbers, many at a time: QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear of
 * float32, with the reference kernel's bits. As element functions they are fused with what lies between
 * them. */
#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"
#include "worker/reference/broadcast.h"
#include "worker/reference/scaling.h"
#include "worker/runtime/kernel.h"

/* The zero point is added last, so that the limits are without it. */
#define QUANTISED(type, least, most)                                                                         \
    VECTOR_FUNCTION type quantised_##type(float x, float scale, int32_t zero)                                \
    {                                                                                                        \
        float low = (float)((least)-zero);                                                                   \
        float high = (float)((most)-zero);                                                                   \
        return (type)(rounded_within(x / scale, low, high) + zero);                                          \
    }                                                                                                        \
    VECTOR_FUNCTION float dequantised_##type(type x, float scale, int32_t zero)                              \
    {                                                                                                        \
        return (float)((int32_t)x - zero) * scale;                                                           \
    }

/* One scale for all elements is the usual case; zero points follow each other as scales do. Without a zero
 * point it is 0. */
#define SCALED_LOOP(name, from, to, type, function)                                                          \
    VECTOR_FUNCTION void name##_body(const ElementRun *run)                                                  \
    {                                                                                                        \
        static const type none = 0;                                                                          \
        const from *x = run->inputs[0];                                                                      \
        const float *scales = run->inputs[1];                                                                \
        const type *zeros = run->inputs[2] == NULL ? &none : run->inputs[2];                                 \
        to *z = run->output;                                                                                 \
        int64_t step = run->strides[0];                                                                      \
        int64_t scale_step = run->strides[1];                                                                \
        int64_t zero_step = run->inputs[2] == NULL ? 0 : run->strides[2];                                    \
        float scale = scales[0];                                                                             \
        int32_t zero = zeros[0];                                                                             \
        if (step == 1 && scale_step == 0 && zero_step == 0) {                                                \
            VECTOR_LOOP for (int64_t n = 0; n < run->count; n++)                                             \
            {                                                                                                \
                z[n] = function(x[n], scale, zero);                                                          \
            }                                                                                                \
        } else {                                                                                             \
            for (int64_t n = 0; n < run->count; n++) {                                                       \
                z[n] = function(x[n * step], scales[n * scale_step], zeros[n * zero_step]);                  \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    VECTOR_VARIANTS(name, (const ElementRun *run), (run))

#define QUANTIZE_LOOPS(type, least, most)                                                                    \
    QUANTISED(type, least, most)                                                                             \
    SCALED_LOOP(quantize_##type, float, type, type, quantised_##type)                                        \
    SCALED_LOOP(dequantize_##type, type, float, type, dequantised_##type)

QUANTIZE_LOOPS(int8_t, INT8_MIN, INT8_MAX)
QUANTIZE_LOOPS(uint8_t, 0, UINT8_MAX)
QUANTIZE_LOOPS(int16_t, INT16_MIN, INT16_MAX)
QUANTIZE_LOOPS(uint16_t, 0, UINT16_MAX)

static const ElementLoop quantize_loops[DTYPE_COUNT] = {
    [DTYPE_INT8] = quantize_int8_t,
    [DTYPE_UINT8] = quantize_uint8_t,
    [DTYPE_INT16] = quantize_int16_t,
    [DTYPE_UINT16] = quantize_uint16_t,
};

static const ElementLoop dequantize_loops[DTYPE_COUNT] = {
    [DTYPE_INT8] = dequantize_int8_t,
    [DTYPE_UINT8] = dequantize_uint8_t,
    [DTYPE_INT16] = dequantize_int16_t,
    [DTYPE_UINT16] = dequantize_uint16_t,
};

static bool
quantize_supports(const Node *node)
{
    return scaling_is_plain(node) && node->input_dtypes[0] == DTYPE_FLOAT32 &&
           node->input_dtypes[1] == DTYPE_FLOAT32 && quantize_loops[node->output_dtypes[0]] != NULL;
}

static bool
dequantize_supports(const Node *node)
{
    return scaling_is_plain(node) && node->input_dtypes[1] == DTYPE_FLOAT32 &&
           dequantize_loops[node->input_dtypes[0]] != NULL && node->output_dtypes[0] == DTYPE_FLOAT32;
}

static ElementLoop
loop_of(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32 ? quantize_loops[node->output_dtypes[0]]
                                                  : dequantize_loops[node->input_dtypes[0]];
}

/* A scale for each position along an axis, of which an element function cannot know, is left to compute(). */
static bool
has_one_scale(const ElementRun *run)
{
    return run->strides[1] == 0 && run->strides[2] == 0;
}

static bool
describe_scaling(const Node *node, ElementFunction *ret_function)
{
    *ret_function = (ElementFunction){.loop = loop_of(node), .accepts = has_one_scale};
    return true;
}

/* Returns scales or zero points in the shape in which they are broadcast along the axis. */
static Tensor
along_axis(const Tensor *tensor, int64_t count, const Shape *elements, int64_t axis)
{
    Tensor aligned = *tensor;
    aligned.shape = count == 1 ? shape_scalar() : shape_vector(count);
    int64_t position = axis < 0 ? axis + elements->rank : axis;
    for (int64_t behind = position + 1; count != 1 && behind < elements->rank; behind++) {
        aligned.shape.dims[aligned.shape.rank++] = 1;
    }
    return aligned;
}

static Status
scaling_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    int64_t axis = node_attr_int(context->node, "axis");
    Tensor *output = NULL;
    Tensor parts[2] = {0};
    const Tensor *inputs[3] = {input, &parts[0], &parts[1]};
    int count = context->input_count > 2 && context->inputs[2].dtype != DTYPE_INVALID ? 3 : 2;
    Lines lines;
    if (input->shape.rank == 0 || tensor_element_count(input) == 0) {
        return kernel_find_reference(context->node)->compute(context);
    }
    TRY(scaling_lines(context, 1, &input->shape, axis, &lines));
    for (int index = 1; index < count; index++) {
        parts[index - 1] = along_axis(&context->inputs[index], lines.size, &input->shape, axis);
    }
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &input->shape, &output));
    broadcast_share(context->device, inputs, count, output, NULL, loop_of(context->node));
    return STATUS_OK;
}

/* The range of the elements of each part of a tensor, to which 0 always belongs. */
enum { PART = 64 * 1024 };

typedef struct Ranges {
    const float *x;
    int64_t count;
    float *least; /* one for each part */
    float *most;
} Ranges;

/* NaN is neither smaller nor larger. */
VECTOR_FUNCTION void
find_range_body(const float *x, int64_t count, float *least, float *most)
{
    enum { LANES = 32 };
    float low[LANES] = {0};
    float high[LANES] = {0};
    int64_t n = 0;
    for (; n + LANES <= count; n += LANES) {
        VECTOR_LOOP for (int lane = 0; lane < LANES; lane++)
        {
            float a = x[n + lane];
            low[lane] = a < low[lane] ? a : low[lane];
            high[lane] = a > high[lane] ? a : high[lane];
        }
    }
    for (int lane = 0; n < count; n++, lane++) {
        low[lane] = x[n] < low[lane] ? x[n] : low[lane];
        high[lane] = x[n] > high[lane] ? x[n] : high[lane];
    }
    for (int lane = 1; lane < LANES; lane++) {
        low[0] = low[lane] < low[0] ? low[lane] : low[0];
        high[0] = high[lane] > high[0] ? high[lane] : high[0];
    }
    *least = low[0];
    *most = high[0];
}
VECTOR_VARIANTS(
    find_range, (const float *x, int64_t count, float *least, float *most), (x, count, least, most))

static void
find_part(void *context, int64_t index)
{
    const Ranges *ranges = context;
    int64_t first = index * PART;
    int64_t count = ranges->count - first < PART ? ranges->count - first : PART;
    find_range(ranges->x + first, count, &ranges->least[index], &ranges->most[index]);
}

/* Finds the range of all elements. */
static Status
find_all(KernelContext *context, float *ret_least, float *ret_most)
{
    const Tensor *input = &context->inputs[0];
    Ranges ranges = {.x = input->data, .count = tensor_element_count(input)};
    int64_t parts = (ranges.count + PART - 1) / PART;
    AUTO_TENSOR room = {0};
    TRY(scratch_array(context, 2 * parts + 2, sizeof(float), &room));
    ranges.least = room.data;
    ranges.most = ranges.least + parts + 1;
    context->device->parallel_for(context->device, parts, find_part, &ranges);
    *ret_least = 0;
    *ret_most = 0;
    for (int64_t index = 0; index < parts; index++) {
        *ret_least = fminf(*ret_least, ranges.least[index]);
        *ret_most = fmaxf(*ret_most, ranges.most[index]);
    }
    return STATUS_OK;
}

static Status
dynamic_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Shape scalar = shape_scalar();
    Tensor *output = NULL;
    Tensor *scale = NULL;
    Tensor *zero = NULL;
    float least = 0;
    float most = 0;
    TRY(find_all(context, &least, &most));
    TRY(kernel_output(context, 0, DTYPE_UINT8, &input->shape, &output));
    TRY(kernel_output(context, 1, DTYPE_FLOAT32, &scalar, &scale));
    TRY(kernel_output(context, 2, DTYPE_UINT8, &scalar, &zero));
    float step = most > least ? (most - least) / UINT8_MAX : 1;
    float negative = -least;
    uint8_t none = 0;
    *(float *)scale->data = step;
    ElementRun run = {.inputs = {&negative, &step, &none}, .output = zero->data, .count = 1};
    quantize_uint8_t(&run);
    const Tensor *inputs[] = {input, scale, zero};
    broadcast_share(context->device, inputs, 3, output, NULL, quantize_uint8_t);
    return STATUS_OK;
}

static const Kernel quantize_kernels[] = {
    {.op = "onnx::QuantizeLinear",
        .supports = quantize_supports,
        .compute = scaling_compute,
        .element = describe_scaling},
    {.op = "onnx::DequantizeLinear",
        .supports = dequantize_supports,
        .compute = scaling_compute,
        .element = describe_scaling},
    {.op = "onnx::DynamicQuantizeLinear", .compute = dynamic_compute},
};

KERNEL_FAMILY(cpu_kernels, quantize, quantize_kernels);
