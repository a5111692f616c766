/* Element-wise functions of two tensors. Integers wrap; integer division by zero is an error. */
#include <tgmath.h>

#include "worker/reference/elementwise.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

/* --- Scalars -------------------------------------------------------------------------------------------- */

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
    const int64_t quotient = divide_signed(a, b);
    return remainder_signed(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/* The sign follows the divisor. */
static int64_t
floor_remainder_signed(int64_t a, int64_t b)
{
    const int64_t rest = remainder_signed(a, b);
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

/* --- Loops ---------------------------------------------------------------------------------------------- */

#define NUMBERS(name, expression)                                                                            \
    FLOATING_ELEMENTS(BINARY_LOOP, name, expression)                                                         \
    WRAPPING_ELEMENTS(BINARY_LOOP, name, expression)                                                         \
    COMPLEX_ELEMENTS(BINARY_LOOP, name, expression)                                                          \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {REAL_LOOPS(name) COMPLEX_LOOPS(name)};

#define REALS(name, floating, signed_integer, unsigned_integer)                                              \
    FLOATING_ELEMENTS(BINARY_LOOP, name, floating)                                                           \
    SIGNED_ELEMENTS(BINARY_LOOP, name, signed_integer)                                                       \
    UNSIGNED_ELEMENTS(BINARY_LOOP, name, unsigned_integer)                                                   \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {REAL_LOOPS(name)};

#define FLOATS(name, expression)                                                                             \
    FLOATING_ELEMENTS(BINARY_LOOP, name, expression)                                                         \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {FLOATING_LOOPS(name)};

#define INTEGERS(name, expression)                                                                           \
    WRAPPING_ELEMENTS(BINARY_LOOP, name, expression)                                                         \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {INTEGER_LOOPS(name)};

NUMBERS(add, a + b)
NUMBERS(subtract, a - b)
NUMBERS(multiply, a *b)
NUMBERS(squared_difference, (a - b) * (a - b))
REALS(divide, a / b, divide_signed(a, b), a / b)
REALS(floor_divide, floor(a / b), floor_divide_signed(a, b), a / b)
REALS(remainder, fmod(a, b), remainder_signed(a, b), a % b)
REALS(floor_remainder, FLOOR_REMAINDER(a, b), floor_remainder_signed(a, b), a % b)
REALS(maximum, LARGER(a, b), a > b ? a : b, a > b ? a : b)
REALS(minimum, SMALLER(a, b), a < b ? a : b, a < b ? a : b)
REALS(power, pow(a, b), (int64_t)power_integer((uint64_t)a, (uint64_t)b), power_integer(a, b))
FLOATS(divide_no_nan, b == 0 ? 0 : a / b)
FLOATS(multiply_no_nan, b == 0 ? 0 : a * b)
FLOATS(xdivy, a == 0 ? 0 : a / b)
FLOATS(xlogy, a == 0 ? 0 : a * log(b))
FLOATS(arc_tangent, atan2(a, b))
INTEGERS(bitwise_and, a &b)
INTEGERS(bitwise_or, a | b)
INTEGERS(bitwise_xor, a ^ b)

/* Complex numbers divide, too. */
COMPLEX_ELEMENTS(BINARY_LOOP, divide, a / b)
static const ElementLoop real_divide_loops[DTYPE_COUNT] = {REAL_LOOPS(divide) COMPLEX_LOOPS(divide)};

FLOATING_ELEMENTS(BINARY_LOOP, leaky, a < 0 ? a * b : a)
SIGNED_ELEMENTS(BINARY_LOOP, leaky, a < 0 ? (int64_t)((uint64_t)a * (uint64_t)b) : a)
static const ElementLoop leaky_loops[DTYPE_COUNT] = {FLOATING_LOOPS(leaky) SIGNED_LOOPS(leaky)};

/* --- Kernels -------------------------------------------------------------------------------------------- */

#define PAIR_OPS(X)                                                                                          \
    X("Add", add, 0)                                                                                         \
    X("AddV2", add, 0)                                                                                       \
    X("Sub", subtract, 0)                                                                                    \
    X("Mul", multiply, 0)                                                                                    \
    X("MulNoNan", multiply_no_nan, 0)                                                                        \
    X("Div", real_divide, ELEMENTWISE_REFUSES_ZERO)                                                          \
    X("RealDiv", real_divide, ELEMENTWISE_REFUSES_ZERO)                                                      \
    X("TruncateDiv", divide, ELEMENTWISE_REFUSES_ZERO)                                                       \
    X("TruncateMod", remainder, ELEMENTWISE_REFUSES_ZERO)                                                    \
    X("DivNoNan", divide_no_nan, 0)                                                                          \
    X("FloorDiv", floor_divide, ELEMENTWISE_REFUSES_ZERO)                                                    \
    X("FloorMod", floor_remainder, ELEMENTWISE_REFUSES_ZERO)                                                 \
    X("Mod", remainder, ELEMENTWISE_REFUSES_ZERO)                                                            \
    X("Maximum", maximum, 0)                                                                                 \
    X("Minimum", minimum, 0)                                                                                 \
    X("Pow", power, ELEMENTWISE_REFUSES_NEGATIVE)                                                            \
    X("SquaredDifference", squared_difference, 0)                                                            \
    X("BitwiseAnd", bitwise_and, 0)                                                                          \
    X("BitwiseOr", bitwise_or, 0)                                                                            \
    X("BitwiseXor", bitwise_xor, 0)                                                                          \
    X("Xdivy", xdivy, 0)                                                                                     \
    X("Xlogy", xlogy, 0)                                                                                     \
    X("Atan2", arc_tangent, 0)                                                                               \
    X("onnx::Add", add, 0)                                                                                   \
    X("onnx::Sub", subtract, 0)                                                                              \
    X("onnx::Mul", multiply, 0)                                                                              \
    X("onnx::Div", divide, ELEMENTWISE_REFUSES_ZERO)                                                         \
    X("onnx::BitwiseAnd", bitwise_and, 0)                                                                    \
    X("onnx::BitwiseOr", bitwise_or, 0)                                                                      \
    X("onnx::BitwiseXor", bitwise_xor, 0)                                                                    \
    X("onnx::PRelu", leaky, 0)

#define FOLD_OPS(X)                                                                                          \
    X("AddN", add, 0)                                                                                        \
    X("AccumulateNV2", add, 0)                                                                               \
    X("onnx::Sum", add, 0)                                                                                   \
    X("onnx::Max", maximum, 0)                                                                               \
    X("onnx::Min", minimum, 0)

#define OP_ROW(op, function, flags) {.name = (op), .loops = function##_loops, .checks = (flags)},
static const ElementwiseOp pair_ops[] = {PAIR_OPS(OP_ROW)};
static const ElementwiseOp fold_ops[] = {FOLD_OPS(OP_ROW)};

ELEMENTWISE_FUNCTIONS(pair, pair_ops, elementwise_compute, elementwise_tell)
ELEMENTWISE_FUNCTIONS(fold, fold_ops, elementwise_fold, elementwise_tell_fold)

/* --- Biases --------------------------------------------------------------------------------------------- */

/* The bias lies along the channels: the last dimension or, in NC… formats, the second. */
static const ElementwiseOp bias_rows[] = {
    {.name = "BiasAdd", .loops = add_loops},
    {.name = "BiasAddV1", .loops = add_loops},
};

static bool
bias_supports(const Node *node)
{
    return elementwise_find(bias_rows, COUNT_OF(bias_rows), node) != NULL;
}

static bool
bias_is_channels_first(const Node *node)
{
    const AttrValue *format = node_attr(node, "data_format");
    return format != NULL && slice_starts_with(format->value.s, SLICE("NC"));
}

static bool
bias_element(const Node *node, ElementFunction *ret_function)
{
    enum { SECOND_DIMENSION = 2 };
    const bool is_told =
        elementwise_tell(elementwise_find(bias_rows, COUNT_OF(bias_rows), node), node, ret_function);
    ret_function->axes[1] = is_told && bias_is_channels_first(node) ? SECOND_DIMENSION : 0;
    return is_told;
}

static Status
bias_compute(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_forward(context, 0, &output));
    Tensor bias = context->inputs[1];
    const int rank = output->shape.rank;
    const int axis = bias_is_channels_first(context->node) ? 1 : rank - 1;
    bias.shape.rank = rank - axis;
    for (int index = 1; index < bias.shape.rank; index++) {
        bias.shape.dims[index] = 1;
    }
    const Tensor *inputs[] = {&context->inputs[0], &bias};
    broadcast_run(inputs, 2, output, NULL, add_loops[output->dtype]);
    return STATUS_OK;
}

/* --- ONNX's variations ---------------------------------------------------------------------------------- */

/* fmod = 1: the sign follows the dividend, as in C; else the divisor, as in Python. */
static const ElementwiseOp mod_rows[] = {
    {.name = "onnx::Mod", .loops = floor_remainder_loops, .checks = ELEMENTWISE_REFUSES_ZERO},
    {.name = "onnx::Mod", .loops = remainder_loops, .checks = ELEMENTWISE_REFUSES_ZERO},
};

static bool
mod_supports(const Node *node)
{
    return elementwise_find(mod_rows, 1, node) != NULL;
}

static const ElementwiseOp *
mod_row(const Node *node)
{
    return &mod_rows[node_attr_int(node, "fmod") != 0 ? 1 : 0];
}

static bool
mod_element(const Node *node, ElementFunction *ret_function)
{
    return elementwise_tell(mod_row(node), node, ret_function);
}

static Status
mod_compute(KernelContext *context)
{
    return elementwise_compute(context, mod_row(context->node));
}

/* Shifting by the width or more leaves nothing, where C says nothing. */
UNSIGNED_ELEMENTS(BINARY_LOOP, shift_left, b < 64 ? a << b : 0)
UNSIGNED_ELEMENTS(BINARY_LOOP, shift_right, b < 64 ? a >> b : 0)
static const ElementLoop shift_left_loops[DTYPE_COUNT] = {UNSIGNED_LOOPS(shift_left)};
static const ElementLoop shift_right_loops[DTYPE_COUNT] = {UNSIGNED_LOOPS(shift_right)};
static const ElementwiseOp shift_rows[] = {
    {.name = "onnx::BitShift", .loops = shift_left_loops},
    {.name = "onnx::BitShift", .loops = shift_right_loops},
};

static bool
shift_supports(const Node *node)
{
    return elementwise_find(shift_rows, 1, node) != NULL;
}

static const ElementwiseOp *
shift_row(const Node *node)
{
    return &shift_rows[slice_equal(node_attr_string(node, "direction"), SLICE("LEFT")) ? 0 : 1];
}

static bool
shift_element(const Node *node, ElementFunction *ret_function)
{
    return elementwise_tell(shift_row(node), node, ret_function);
}

static Status
shift_compute(KernelContext *context)
{
    return elementwise_compute(context, shift_row(context->node));
}

/* The exponent may have another dtype: both are raised in double then, unless both are integers. */
static const ElementwiseOp power_row = {
    .name = "onnx::Pow", .loops = power_loops, .checks = ELEMENTWISE_REFUSES_NEGATIVE};

static bool
power_supports(const Node *node)
{
    return power_loops[node->input_dtypes[0]] != NULL && power_loops[node->input_dtypes[1]] != NULL;
}

static bool
power_element(const Node *node, ElementFunction *ret_function)
{
    return elementwise_tell(elementwise_find(&power_row, 1, node), node, ret_function);
}

static Status
power_mixed(KernelContext *context)
{
    Shape shape;
    TRY(output_shapes(context, &shape));
    const Dtype dtype =
        dtype_is_integer(context->inputs[0].dtype) && dtype_is_integer(context->inputs[1].dtype)
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
power_compute(KernelContext *context)
{
    TRY(elementwise_check(context, &power_row));
    return context->inputs[0].dtype == context->inputs[1].dtype ? elementwise_compute(context, &power_row)
                                                                : power_mixed(context);
}

static uint64_t
power_scratch(const KernelForecast *told)
{
    const Dtype *const dtypes = told->shapes.node->input_dtypes;
    return dtypes[0] == dtypes[1] ? 0 : kernel_wide_size(told, 3, 1);
}

/* The sum, divided by how many there are. */
static const ElementwiseOp mean_rows[] = {{.name = "onnx::Mean", .loops = add_loops}};

static bool
mean_supports(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]) && elementwise_find(mean_rows, 1, node) != NULL;
}

FLOATING_ELEMENTS(UNARY_LOOP, divide_by_parameter, a / (__typeof__(a))run->parameters[0])
static const ElementLoop divide_by_parameter_loops[DTYPE_COUNT] = {FLOATING_LOOPS(divide_by_parameter)};

static Status
mean_compute(KernelContext *context)
{
    TRY(elementwise_fold(context, &mean_rows[0]));
    if (context->input_count == 1) {
        return STATUS_OK;
    }
    const float count = (float)context->input_count;
    const Tensor *inputs[] = {&context->outputs[0]};
    broadcast_run(inputs, 1, &context->outputs[0], &count, divide_by_parameter_loops[inputs[0]->dtype]);
    return STATUS_OK;
}

#define PAIR_KERNEL(name, function, flags)                                                                   \
    {.op = (name),                                                                                           \
        .supports = pair_supports,                                                                           \
        .compute = pair_compute,                                                                             \
        .element = pair_element,                                                                             \
        .sharing = KERNEL_FORWARDS},
#define FOLD_KERNEL(name, function, flags)                                                                   \
    {.op = (name), .supports = fold_supports, .compute = fold_compute, .element = fold_element},
static const Kernel arithmetic_kernels[] = {
    PAIR_OPS(PAIR_KERNEL) FOLD_OPS(FOLD_KERNEL) /* */
    {.op = "BiasAdd",
        .supports = bias_supports,
        .compute = bias_compute,
        .element = bias_element,
        .sharing = KERNEL_FORWARDS},
    {.op = "BiasAddV1",
        .supports = bias_supports,
        .compute = bias_compute,
        .element = bias_element,
        .sharing = KERNEL_FORWARDS},
    {.op = "onnx::Mod",
        .supports = mod_supports,
        .compute = mod_compute,
        .element = mod_element,
        .sharing = KERNEL_FORWARDS},
    {.op = "onnx::BitShift",
        .supports = shift_supports,
        .compute = shift_compute,
        .element = shift_element,
        .sharing = KERNEL_FORWARDS},
    {.op = "onnx::Pow",
        .supports = power_supports,
        .compute = power_compute,
        .scratch = power_scratch,
        .element = power_element,
        .sharing = KERNEL_FORWARDS},
    {.op = "onnx::Mean", .supports = mean_supports, .compute = mean_compute},
};

KERNEL_FAMILY(reference, arithmetic, arithmetic_kernels);
