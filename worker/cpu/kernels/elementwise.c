/* float32 functions of one, two or three elements, many at a time. Sums, products, quotients and roots have
 * the reference kernel's bits; the other functions the errors that vector/functions.h states. */
#include "shared/base/compiler.h"
#include "shared/ops/layout.h"
#include "worker/cpu/vector/loops.h"
#include "worker/reference/outputs.h"

#define UNARY_WITH(name, expression, first_attribute, second_attribute)                                      \
    VECTOR_UNARY(name, expression)                                                                           \
    ELEMENTWISE(name, 0, first_attribute, second_attribute)
#define UNARY(name, expression) UNARY_WITH(name, expression, NULL, NULL)
#define BINARY(name, expression)                                                                             \
    VECTOR_BINARY(name, expression)                                                                          \
    ELEMENTWISE(name, 0, NULL, NULL)

/* NaN wins over a number on either side. */
#define LARGER(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#define SMALLER(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))

/* Selu's fixed point: mean 0, variance 1 (Klambauer et al., 2017). */
#define SELU_ALPHA 1.67326324F
#define SELU_SCALE 1.05070099F

BINARY(add, a + b)
BINARY(subtract, a - b)
BINARY(multiply, a *b)
BINARY(divide, a / b)
BINARY(squared_difference, (a - b) * (a - b))
BINARY(maximum, LARGER(a, b))
BINARY(minimum, SMALLER(a, b))
BINARY(leaky, a < 0 ? a * b : a)
BINARY(relu_gradient, b > 0 ? a : 0)
BINARY(sigmoid_gradient, (b * a * (1 - a)))
BINARY(tangent_gradient, (b * (1 - a * a)))

UNARY(negate, -a)
UNARY(absolute, fabsf(a))
UNARY(square, a *a)
UNARY(square_root, __builtin_sqrtf(a))
UNARY(reciprocal, 1 / a)
UNARY(reciprocal_square_root, 1 / __builtin_sqrtf(a))
UNARY(round_down, __builtin_floorf(a))
UNARY(round_up, __builtin_ceilf(a))
UNARY(round_even, __builtin_nearbyintf(a))
UNARY(exponential, exponential_of(a))
UNARY(logarithm, logarithm_of(a))
UNARY(error_function, error_function_of(a))
UNARY(error_function_complement, error_function_complement_of(a))
UNARY(hyperbolic_tangent, hyperbolic_tangent_of(a))
UNARY(sigmoid, sigmoid_of(a))

UNARY(relu, a < 0 ? 0 : a)
UNARY(relu6, clamp(a, RELU6_BOUNDS))
UNARY(elu, a < 0 ? exponential_minus_one_of_negative(a) : a)
UNARY(selu, SELU_SCALE *(a < 0 ? SELU_ALPHA * exponential_minus_one_of_negative(a) : a))
UNARY(softsign, a / (1 + fabsf(a)))
UNARY(hard_swish, hard_swish_of(a))
UNARY(softplus, softplus_of(a))
UNARY(mish, mish_of(a))
UNARY(gelu, gelu_of(a))
UNARY(gelu_by_tangent, gelu_by_tangent_of(a))
UNARY_WITH(leaky_relu, a < 0 ? first * a : a, "alpha", NULL)
UNARY_WITH(scaled_elu, a < 0 ? first * exponential_minus_one_of_negative(a) : a, "alpha", NULL)
UNARY_WITH(scaled_selu, second *(a < 0 ? first * exponential_minus_one_of_negative(a) : a), "alpha", "gamma")
UNARY_WITH(hard_sigmoid, clamp(first *a + second, UNIT_BOUNDS), "alpha", "beta")
UNARY_WITH(swish, swish_of(a, first), "alpha", NULL)
UNARY_WITH(thresholded_relu, a > first ? a : 0, "alpha", NULL)
UNARY_WITH(shrink, a<-first ? a + second : a> first ? a - second : 0, "lambd", "bias")

ELEMENTWISE_FOLD(add)
ELEMENTWISE_FOLD(maximum)
ELEMENTWISE_FOLD(minimum)

/* The powers that models ask for, by one exponent for all elements. They have the bits of pow() in double,
 * rounded: a square is exact there, and a root rounded twice is rounded once. */
VECTOR_FUNCTION void
power_two_body(const ElementRun *run)
{
    const float *x = run->inputs[0];
    float *z = run->output;
    VECTOR_EACH(x[n], 0, a * a)
}
VECTOR_VARIANTS(power_two, (const ElementRun *run), (run))

/* The root of -0 is 0, and that of -∞ is ∞, when it is written as a power. */
VECTOR_FUNCTION void
power_half_body(const ElementRun *run)
{
    const float *x = run->inputs[0];
    float *z = run->output;
    VECTOR_EACH(x[n], 0, a == -INFINITY ? INFINITY : __builtin_sqrtf(a + 0.0F))
}
VECTOR_VARIANTS(power_half, (const ElementRun *run), (run))

static void
power_of_each(const ElementRun *run)
{
    const float *x = run->inputs[0];
    const float *y = run->inputs[1];
    float *z = run->output;
    for (int64_t n = 0; n < run->count; n++) {
        z[n] = (float)pow((double)x[n * run->strides[0]], (double)y[n * run->strides[1]]);
    }
}

static void
power(const ElementRun *run)
{
    float exponent = *(const float *)run->inputs[1];
    bool is_one = run->strides[0] != 0 && (run->strides[1] == 0 || run->count == 1);
    ElementLoop loop = is_one && exponent == 2.0F   ? power_two
                       : is_one && exponent == 0.5F ? power_half
                                                    : power_of_each;
    loop(run);
}

static const ElementLoop power_loops[DTYPE_COUNT] = {[DTYPE_FLOAT32] = power};
ELEMENTWISE(power, 0, NULL, NULL)

/* NaN passes, and the upper limit wins when the limits cross. */
VECTOR_FUNCTION void
clip_body(const ElementRun *run)
{
    const float *x = run->inputs[0];
    float low = *(const float *)run->inputs[1];
    float high = *(const float *)run->inputs[2];
    float *z = run->output;
    if (run->strides[0] != 0) {
        VECTOR_EACH(x[n], 0, SMALLER(a < low ? low : a, high))
    } else {
        z[0] = SMALLER(x[0] < low ? low : x[0], high);
    }
}
VECTOR_VARIANTS(clip, (const ElementRun *run), (run))

static bool
clip_supports(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32;
}

/* Reads a limit, which is one number; an absent one stays as it is. */
static Status
read_limit(KernelContext *context, uint32_t index, float *limit)
{
    if (index >= context->input_count || context->inputs[index].dtype == DTYPE_INVALID) {
        return STATUS_OK;
    }
    const Tensor *input = &context->inputs[index];
    if (tensor_element_count(input) != 1) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "limit %u has shape %s, not one value",
            index, shape_text(&input->shape, text));
    }
    *limit = *(const float *)input->data;
    return STATUS_OK;
}

static Status
clip_compute(KernelContext *context)
{
    float limits[] = {-INFINITY, INFINITY};
    TRY(read_limit(context, 1, &limits[0]));
    TRY(read_limit(context, 2, &limits[1]));
    Tensor *output = NULL;
    TRY(output_forward(context, 0, &output));
    Tensor low = {.dtype = DTYPE_FLOAT32, .shape = shape_scalar(), .data = &limits[0]};
    Tensor high = {.dtype = DTYPE_FLOAT32, .shape = shape_scalar(), .data = &limits[1]};
    const Tensor *inputs[] = {&context->inputs[0], &low, &high};
    broadcast_share(context->device, inputs, 3, output, NULL, clip);
    return STATUS_OK;
}

/* A bias is a vector along the last dimension; one along other channels is left to the reference kernel. */
static bool
bias_supports(const Node *node)
{
    return add_supports(node) && !layout_is_channels_first(node);
}

/* Takes the shape rule even when both shapes are equal: it refuses a value without channels. */
static Status
bias_compute(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_forward(context, 0, &output));
    const Tensor *inputs[] = {&context->inputs[0], &context->inputs[1]};
    broadcast_share(context->device, inputs, 2, output, NULL, add_loops[output->dtype]);
    return STATUS_OK;
}

static bool
supports_gelu_by_tangent(const Node *node)
{
    return slice_equal(node_attr_string(node, "approximate"), SLICE("tanh")) &&
           gelu_by_tangent_supports(node);
}

#define BIAS_KERNEL(name)                                                                                    \
    {                                                                                                        \
        .op = (name), .supports = bias_supports, .compute = bias_compute, .element = add_element,            \
        .sharing = KERNEL_FORWARDS                                                                           \
    }

static const Kernel elementwise_kernels[] = {
    ELEMENTWISE_KERNEL("Add", add),
    ELEMENTWISE_KERNEL("AddV2", add),
    ELEMENTWISE_KERNEL("Sub", subtract),
    ELEMENTWISE_KERNEL("Mul", multiply),
    ELEMENTWISE_KERNEL("Div", divide),
    ELEMENTWISE_KERNEL("RealDiv", divide),
    ELEMENTWISE_KERNEL("onnx::Add", add),
    ELEMENTWISE_KERNEL("onnx::Sub", subtract),
    ELEMENTWISE_KERNEL("onnx::Mul", multiply),
    ELEMENTWISE_KERNEL("onnx::Div", divide),
    BIAS_KERNEL("BiasAdd"),
    BIAS_KERNEL("BiasAddV1"),
    ELEMENTWISE_KERNEL("SquaredDifference", squared_difference),
    ELEMENTWISE_KERNEL("Maximum", maximum),
    ELEMENTWISE_KERNEL("Minimum", minimum),
    ELEMENTWISE_FOLD_KERNEL("AddN", add),
    ELEMENTWISE_FOLD_KERNEL("AccumulateNV2", add),
    ELEMENTWISE_FOLD_KERNEL("onnx::Sum", add),
    ELEMENTWISE_FOLD_KERNEL("onnx::Max", maximum),
    ELEMENTWISE_FOLD_KERNEL("onnx::Min", minimum),
    ELEMENTWISE_KERNEL("Pow", power),
    ELEMENTWISE_KERNEL("onnx::Pow", power),
    ELEMENTWISE_KERNEL("onnx::PRelu", leaky),
    ELEMENTWISE_KERNEL("ReluGrad", relu_gradient),
    ELEMENTWISE_KERNEL("SigmoidGrad", sigmoid_gradient),
    ELEMENTWISE_KERNEL("TanhGrad", tangent_gradient),
    ELEMENTWISE_KERNEL("Neg", negate),
    ELEMENTWISE_KERNEL("onnx::Neg", negate),
    ELEMENTWISE_KERNEL("Abs", absolute),
    ELEMENTWISE_KERNEL("onnx::Abs", absolute),
    ELEMENTWISE_KERNEL("Square", square),
    ELEMENTWISE_KERNEL("Sqrt", square_root),
    ELEMENTWISE_KERNEL("onnx::Sqrt", square_root),
    ELEMENTWISE_KERNEL("Rsqrt", reciprocal_square_root),
    ELEMENTWISE_KERNEL("Reciprocal", reciprocal),
    ELEMENTWISE_KERNEL("Inv", reciprocal),
    ELEMENTWISE_KERNEL("onnx::Reciprocal", reciprocal),
    ELEMENTWISE_KERNEL("Floor", round_down),
    ELEMENTWISE_KERNEL("onnx::Floor", round_down),
    ELEMENTWISE_KERNEL("Ceil", round_up),
    ELEMENTWISE_KERNEL("onnx::Ceil", round_up),
    ELEMENTWISE_KERNEL("Round", round_even),
    ELEMENTWISE_KERNEL("Rint", round_even),
    ELEMENTWISE_KERNEL("onnx::Round", round_even),
    ELEMENTWISE_KERNEL("Exp", exponential),
    ELEMENTWISE_KERNEL("onnx::Exp", exponential),
    ELEMENTWISE_KERNEL("Log", logarithm),
    ELEMENTWISE_KERNEL("onnx::Log", logarithm),
    ELEMENTWISE_KERNEL("Erf", error_function),
    ELEMENTWISE_KERNEL("onnx::Erf", error_function),
    ELEMENTWISE_KERNEL("Erfc", error_function_complement),
    ELEMENTWISE_KERNEL("Tanh", hyperbolic_tangent),
    ELEMENTWISE_KERNEL("onnx::Tanh", hyperbolic_tangent),
    ELEMENTWISE_KERNEL("Sigmoid", sigmoid),
    ELEMENTWISE_KERNEL("onnx::Sigmoid", sigmoid),
    ELEMENTWISE_KERNEL("Relu", relu),
    ELEMENTWISE_KERNEL("onnx::Relu", relu),
    ELEMENTWISE_KERNEL("Relu6", relu6),
    ELEMENTWISE_KERNEL("Elu", elu),
    ELEMENTWISE_KERNEL("onnx::Elu", scaled_elu),
    ELEMENTWISE_KERNEL("Selu", selu),
    ELEMENTWISE_KERNEL("onnx::Selu", scaled_selu),
    ELEMENTWISE_KERNEL("LeakyRelu", leaky_relu),
    ELEMENTWISE_KERNEL("onnx::LeakyRelu", leaky_relu),
    ELEMENTWISE_KERNEL("Softsign", softsign),
    ELEMENTWISE_KERNEL("onnx::Softsign", softsign),
    ELEMENTWISE_KERNEL("onnx::HardSigmoid", hard_sigmoid),
    ELEMENTWISE_KERNEL("onnx::HardSwish", hard_swish),
    ELEMENTWISE_KERNEL("Softplus", softplus),
    ELEMENTWISE_KERNEL("onnx::Softplus", softplus),
    ELEMENTWISE_KERNEL("onnx::Mish", mish),
    ELEMENTWISE_KERNEL("onnx::Swish", swish),
    ELEMENTWISE_KERNEL("onnx::ThresholdedRelu", thresholded_relu),
    ELEMENTWISE_KERNEL("onnx::Shrink", shrink),
    {.op = "onnx::Gelu",
        .supports = supports_gelu_by_tangent,
        .compute = gelu_by_tangent_compute,
        .element = gelu_by_tangent_element,
        .sharing = KERNEL_FORWARDS},
    ELEMENTWISE_KERNEL("onnx::Gelu", gelu),
    {.op = "onnx::Clip", .supports = clip_supports, .compute = clip_compute, .sharing = KERNEL_FORWARDS},
};

KERNEL_FAMILY(cpu_kernels, elementwise, elementwise_kernels);
