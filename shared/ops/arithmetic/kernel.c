/* Element-wise functions of two tensors. Integers wrap; integer division by zero is an error. */
#include <tgmath.h>

#include "shared/ops/layout.h"
#include "worker/reference/elementwise.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

static int64_t
negate(int64_t value)
{
    return (int64_t)(0 - (uint64_t)value);
}

/* INT64_MIN / -1 wraps. */
static int64_t
divide_signed(int64_t a, int64_t b)
{
    return b == -1 ? negate(a) : a / b;
}

static int64_t
remainder_signed(int64_t a, int64_t b)
{
    return b == -1 ? 0 : a % b;
}

static int64_t
floor_divide_signed(int64_t a, int64_t b)
{
    int64_t quotient = divide_signed(a, b);
    return remainder_signed(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/* The sign of the result is the divisor's. */
static int64_t
floor_remainder_signed(int64_t a, int64_t b)
{
    int64_t rest = remainder_signed(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static uint64_t
power_integer(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent > 0; exponent >>= 1) {
        result *= (exponent & 1) != 0 ? base : 1;
        base *= base;
    }
    return result;
}

#define FLOOR_REMAINDER(a, b)                                                                                \
    (fmod(a, b) != 0 && (fmod(a, b) < 0) != ((b) < 0) ? fmod(a, b) + (b) : fmod(a, b))

/* NaN wins over a number on either side. */
#define LARGER(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#define SMALLER(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))

#define NUMBERS(name, expression)                                                                            \
    FLOATING_ELEMENTS(BINARY_LOOP, name, expression)                                                         \
    WRAPPING_ELEMENTS(BINARY_LOOP, name, expression)                                                         \
    COMPLEX_ELEMENTS(BINARY_LOOP, name, expression)                                                          \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {REAL_LOOPS(name) COMPLEX_LOOPS(name)};             \
    ELEMENTWISE(name, 0, NULL, NULL)

#define REALS(name, checked, floating, signed_integer, unsigned_integer)                                     \
    FLOATING_ELEMENTS(BINARY_LOOP, name, floating)                                                           \
    SIGNED_ELEMENTS(BINARY_LOOP, name, signed_integer)                                                       \
    UNSIGNED_ELEMENTS(BINARY_LOOP, name, unsigned_integer)                                                   \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {REAL_LOOPS(name)};                                 \
    ELEMENTWISE(name, checked, NULL, NULL)

#define FLOATS(name, expression)                                                                             \
    FLOATING_ELEMENTS(BINARY_LOOP, name, expression)                                                         \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {FLOATING_LOOPS(name)};                             \
    ELEMENTWISE(name, 0, NULL, NULL)

#define INTEGERS(name, expression)                                                                           \
    WRAPPING_ELEMENTS(BINARY_LOOP, name, expression)                                                         \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {INTEGER_LOOPS(name)};                              \
    ELEMENTWISE(name, 0, NULL, NULL)

NUMBERS(add, a + b)
NUMBERS(subtract, a - b)
NUMBERS(multiply, (a * b))
NUMBERS(squared_difference, (a - b) * (a - b))
REALS(divide, ELEMENTWISE_REFUSES_ZERO, a / b, divide_signed(a, b), a / b)
REALS(truncate_divide, ELEMENTWISE_REFUSES_ZERO, trunc(a / b), divide_signed(a, b), a / b)
REALS(floor_divide, ELEMENTWISE_REFUSES_ZERO, floor(a / b), floor_divide_signed(a, b), a / b)
REALS(remainder, ELEMENTWISE_REFUSES_ZERO, fmod(a, b), remainder_signed(a, b), a % b)
REALS(floor_remainder, ELEMENTWISE_REFUSES_ZERO, FLOOR_REMAINDER(a, b), floor_remainder_signed(a, b), a % b)
REALS(maximum, 0, LARGER(a, b), a > b ? a : b, a > b ? a : b)
REALS(minimum, 0, SMALLER(a, b), a < b ? a : b, a < b ? a : b)
REALS(power, ELEMENTWISE_REFUSES_NEGATIVE, pow(a, b), (int64_t)power_integer((uint64_t)a, (uint64_t)b),
    power_integer(a, b))
FLOATS(divide_no_nan, b == 0 ? 0 : a / b)
FLOATS(multiply_no_nan, b == 0 ? 0 : a * b)
FLOATS(xdivy, a == 0 ? 0 : a / b)
FLOATS(xlogy, a == 0 ? 0 : a * log(b))
FLOATS(arc_tangent, atan2(a, b))
INTEGERS(bitwise_and, (a & b))
INTEGERS(bitwise_or, a | b)
INTEGERS(bitwise_xor, a ^ b)

/* Complex numbers are divided as well. */
COMPLEX_ELEMENTS(BINARY_LOOP, divide, a / b)
static const ElementLoop real_divide_loops[DTYPE_COUNT] = {REAL_LOOPS(divide) COMPLEX_LOOPS(divide)};
ELEMENTWISE(real_divide, ELEMENTWISE_REFUSES_ZERO, NULL, NULL)

REALS(leaky, 0, a < 0 ? a * b : a, a < 0 ? (int64_t)((uint64_t)a * (uint64_t)b) : a, ((void)b, a))

ELEMENTWISE_FOLD(add)
ELEMENTWISE_FOLD(maximum)
ELEMENTWISE_FOLD(minimum)

/* A bias lies along the channels: the last dimension or, in NC… formats, the second. */
static bool
bias_element(const Node *node, ElementFunction *ret_function)
{
    enum { SECOND_DIMENSION = 2 };
    if (!add_element(node, ret_function)) {
        return false;
    }
    ret_function->axes[1] = layout_is_channels_first(node) ? SECOND_DIMENSION : 0;
    return true;
}

static Status
bias_compute(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_forward(context, 0, &output));
    Tensor bias = context->inputs[1];
    int rank = output->shape.rank;
    int axis = layout_channel(context->node, rank);
    bias.shape.rank = rank - axis;
    for (int index = 1; index < bias.shape.rank; index++) {
        bias.shape.dims[index] = 1;
    }
    const Tensor *inputs[] = {&context->inputs[0], &bias};
    broadcast_run(inputs, 2, output, NULL, add_loops[output->dtype]);
    return STATUS_OK;
}

/* ONNX's Mod takes the sign of the dividend with fmod = 1, as C does; otherwise that of the divisor, as
 * Python does. */
static bool
supports_fmod(const Node *node)
{
    return node_attr_int(node, "fmod") != 0 && remainder_supports(node);
}

/* Shifting by the width or more gives 0, where C leaves it undefined. */
#define SHIFTS(name, expression)                                                                             \
    UNSIGNED_ELEMENTS(BINARY_LOOP, name, expression)                                                         \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {UNSIGNED_LOOPS(name)};                             \
    ELEMENTWISE(name, 0, NULL, NULL)

SHIFTS(shift_left, b < 64 ? a << b : 0)
SHIFTS(shift_right, b < 64 ? a >> b : 0)

static bool
supports_left_shift(const Node *node)
{
    return slice_equal(node_attr_string(node, "direction"), SLICE("LEFT")) && shift_left_supports(node);
}

/* The exponent may have another dtype: both are then converted to double, or to int64 when both are
 * integers. */
static bool
onnx_power_supports(const Node *node)
{
    return power_loops[node->input_dtypes[0]] != NULL && power_loops[node->input_dtypes[1]] != NULL;
}

static Status
onnx_power_mixed(KernelContext *context)
{
    Shape shape;
    TRY(output_shapes(context, &shape));
    Dtype dtype = dtype_is_integer(context->inputs[0].dtype) && dtype_is_integer(context->inputs[1].dtype)
                      ? DTYPE_INT64
                      : DTYPE_FLOAT64;
    AUTO_TENSOR base = {0};
    AUTO_TENSOR exponent = {0};
    AUTO_TENSOR result = {0};
    TRY(scratch_cast(context, &context->inputs[0], dtype, &base));
    TRY(scratch_cast(context, &context->inputs[1], dtype, &exponent));
    TRY(scratch_new(context, dtype, &shape, &result));
    const Tensor *inputs[] = {&base, &exponent};
    broadcast_run(inputs, 2, &result, NULL, power_loops[dtype]);
    return scratch_finish(context, 0, &result);
}

static Status
onnx_power_compute(KernelContext *context)
{
    if (dtype_is_integer(context->inputs[0].dtype)) {
        TRY(elementwise_check(context, &power_function));
    }
    return context->inputs[0].dtype == context->inputs[1].dtype ? power_compute(context)
                                                                : onnx_power_mixed(context);
}

static uint64_t
onnx_power_scratch(const KernelForecast *told)
{
    const Dtype *dtypes = told->shapes.node->input_dtypes;
    return dtypes[0] == dtypes[1] ? 0 : kernel_wide_size(told, 3, 1);
}

/* ONNX's Mean is the sum, divided by the number of inputs. */
static bool
mean_supports(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]) && add_supports(node);
}

FLOATING_ELEMENTS(UNARY_LOOP, divide_by_parameter, a / (__typeof__(a))run->parameters[0])
static const ElementLoop divide_by_parameter_loops[DTYPE_COUNT] = {FLOATING_LOOPS(divide_by_parameter)};

static Status
mean_compute(KernelContext *context)
{
    TRY(elementwise_fold(context, &add_function));
    if (context->input_count == 1) {
        return STATUS_OK;
    }
    float count = (float)context->input_count;
    const Tensor *inputs[] = {&context->outputs[0]};
    broadcast_run(inputs, 1, &context->outputs[0], &count, divide_by_parameter_loops[inputs[0]->dtype]);
    return STATUS_OK;
}

static const Kernel arithmetic_kernels[] = {
    ELEMENTWISE_KERNEL("Add", add),
    ELEMENTWISE_KERNEL("AddV2", add),
    ELEMENTWISE_KERNEL("Sub", subtract),
    ELEMENTWISE_KERNEL("Mul", multiply),
    ELEMENTWISE_KERNEL("MulNoNan", multiply_no_nan),
    ELEMENTWISE_KERNEL("Div", real_divide),
    ELEMENTWISE_KERNEL("RealDiv", real_divide),
    ELEMENTWISE_KERNEL("TruncateDiv", truncate_divide),
    ELEMENTWISE_KERNEL("TruncateMod", remainder),
    ELEMENTWISE_KERNEL("DivNoNan", divide_no_nan),
    ELEMENTWISE_KERNEL("FloorDiv", floor_divide),
    ELEMENTWISE_KERNEL("FloorMod", floor_remainder),
    ELEMENTWISE_KERNEL("Mod", remainder),
    ELEMENTWISE_KERNEL("Maximum", maximum),
    ELEMENTWISE_KERNEL("Minimum", minimum),
    ELEMENTWISE_KERNEL("Pow", power),
    ELEMENTWISE_KERNEL("SquaredDifference", squared_difference),
    ELEMENTWISE_KERNEL("BitwiseAnd", bitwise_and),
    ELEMENTWISE_KERNEL("BitwiseOr", bitwise_or),
    ELEMENTWISE_KERNEL("BitwiseXor", bitwise_xor),
    ELEMENTWISE_KERNEL("Xdivy", xdivy),
    ELEMENTWISE_KERNEL("Xlogy", xlogy),
    ELEMENTWISE_KERNEL("Atan2", arc_tangent),
    ELEMENTWISE_KERNEL("onnx::Add", add),
    ELEMENTWISE_KERNEL("onnx::Sub", subtract),
    ELEMENTWISE_KERNEL("onnx::Mul", multiply),
    ELEMENTWISE_KERNEL("onnx::Div", divide),
    ELEMENTWISE_KERNEL("onnx::BitwiseAnd", bitwise_and),
    ELEMENTWISE_KERNEL("onnx::BitwiseOr", bitwise_or),
    ELEMENTWISE_KERNEL("onnx::BitwiseXor", bitwise_xor),
    ELEMENTWISE_KERNEL("onnx::PRelu", leaky),
    ELEMENTWISE_FOLD_KERNEL("AddN", add),
    ELEMENTWISE_FOLD_KERNEL("AccumulateNV2", add),
    ELEMENTWISE_FOLD_KERNEL("onnx::Sum", add),
    ELEMENTWISE_FOLD_KERNEL("onnx::Max", maximum),
    ELEMENTWISE_FOLD_KERNEL("onnx::Min", minimum),
    {.op = "BiasAdd",
        .supports = add_supports,
        .compute = bias_compute,
        .element = bias_element,
        .sharing = KERNEL_FORWARDS},
    {.op = "BiasAddV1",
        .supports = add_supports,
        .compute = bias_compute,
        .element = bias_element,
        .sharing = KERNEL_FORWARDS},
    {.op = "onnx::Mod",
        .supports = supports_fmod,
        .compute = remainder_compute,
        .element = remainder_element,
        .sharing = KERNEL_FORWARDS},
    ELEMENTWISE_KERNEL("onnx::Mod", floor_remainder),
    {.op = "onnx::BitShift",
        .supports = supports_left_shift,
        .compute = shift_left_compute,
        .element = shift_left_element,
        .sharing = KERNEL_FORWARDS},
    ELEMENTWISE_KERNEL("onnx::BitShift", shift_right),
    {.op = "onnx::Pow",
        .supports = onnx_power_supports,
        .compute = onnx_power_compute,
        .scratch = onnx_power_scratch,
        .element = power_element,
        .sharing = KERNEL_FORWARDS},
    {.op = "onnx::Mean", .supports = mean_supports, .compute = mean_compute},
};

KERNEL_FAMILY(reference, arithmetic, arithmetic_kernels);
