/* Element-wise functions of one tensor, and the gradients that are written in terms of their results. */
#include <tgmath.h>

#include "worker/reference/elementwise.h"

/* --- Scalars -------------------------------------------------------------------------------------------- */

#define SIGN(a) ((a) > 0 ? 1 : (a) < 0 ? -1 : (a) == 0 ? 0 : (a))

/* Does not overflow for large negative numbers either. */
#define SIGMOID(a) ((a) >= 0 ? 1 / (1 + exp(-(a))) : exp(a) / (1 + exp(a)))

/* --- Loops ---------------------------------------------------------------------------------------------- */

#define FLOATS(name, expression)                                                                             \
    FLOATING_ELEMENTS(UNARY_LOOP, name, expression)                                                          \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {FLOATING_LOOPS(name)};

#define NUMBERS(name, floating, wrapping, complex_number)                                                    \
    FLOATING_ELEMENTS(UNARY_LOOP, name, floating)                                                            \
    WRAPPING_ELEMENTS(UNARY_LOOP, name, wrapping)                                                            \
    COMPLEX_ELEMENTS(UNARY_LOOP, name, complex_number)                                                       \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {REAL_LOOPS(name) COMPLEX_LOOPS(name)};

#define FLOAT_TESTS(name, expression)                                                                        \
    FLOATING_ELEMENTS(TEST_LOOP, name, expression)                                                           \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {FLOATING_LOOPS(name)};

#define FLOAT_PAIRS(name, expression)                                                                        \
    FLOATING_ELEMENTS(BINARY_LOOP, name, expression)                                                         \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {FLOATING_LOOPS(name)};

NUMBERS(negate, -a, 0 - a, -a)
NUMBERS(square, a *a, a *a, a *a)
FLOATS(square_root, sqrt(a))
FLOATS(reciprocal_square_root, 1 / sqrt(a))
FLOATS(reciprocal, 1 / a)
FLOATS(exponential, exp(a))
FLOATS(exponential_minus_one, expm1(a))
FLOATS(logarithm, log(a))
FLOATS(logarithm_of_one_plus, log1p(a))
FLOATS(error_function, erf(a))
FLOATS(error_function_complement, erfc(a))
FLOATS(log_gamma, lgamma(a))
FLOATS(sine, sin(a))
FLOATS(cosine, cos(a))
FLOATS(tangent, tan(a))
FLOATS(arc_sine, asin(a))
FLOATS(arc_cosine, acos(a))
FLOATS(arc_tangent, atan(a))
FLOATS(hyperbolic_sine, sinh(a))
FLOATS(hyperbolic_cosine, cosh(a))
FLOATS(hyperbolic_tangent, tanh(a))
FLOATS(area_sine, asinh(a))
FLOATS(area_cosine, acosh(a))
FLOATS(area_tangent, atanh(a))
FLOATS(sigmoid, SIGMOID(a))
FLOAT_TESTS(is_nan, isnan(a))
FLOAT_TESTS(is_infinite, isinf(a))
FLOAT_TESTS(is_finite, isfinite(a))
FLOAT_PAIRS(sigmoid_gradient, b *a *(1 - a))
FLOAT_PAIRS(tanh_gradient, b *(1 - a * a))
FLOAT_PAIRS(rsqrt_gradient, b *a *a *a / -2)
FLOAT_PAIRS(sqrt_gradient, b / (2 * a))
FLOAT_PAIRS(reciprocal_gradient, -b *a *a)

/* Rounding leaves integers as they are; halves go to the even neighbour (TensorFlow, ONNX). */
#define ROUNDINGS(name, expression)                                                                          \
    FLOATING_ELEMENTS(UNARY_LOOP, name, expression)                                                          \
    INTEGER_ELEMENTS(UNARY_LOOP, name, a)                                                                    \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {REAL_LOOPS(name)};

ROUNDINGS(round_down, floor(a))
ROUNDINGS(round_up, ceil(a))
ROUNDINGS(round_even, nearbyint(a))

FLOATING_ELEMENTS(UNARY_LOOP, absolute, fabs(a))
SIGNED_ELEMENTS(UNARY_LOOP, absolute, a < 0 ? (int64_t)(0 - (uint64_t)a) : a)
UNSIGNED_ELEMENTS(UNARY_LOOP, absolute, a)
static const ElementLoop absolute_loops[DTYPE_COUNT] = {REAL_LOOPS(absolute)};

FLOATING_ELEMENTS(UNARY_LOOP, sign, SIGN(a))
SIGNED_ELEMENTS(UNARY_LOOP, sign, (a > 0) - (a < 0))
UNSIGNED_ELEMENTS(UNARY_LOOP, sign, a > 0)
static const ElementLoop sign_loops[DTYPE_COUNT] = {REAL_LOOPS(sign)};

WRAPPING_ELEMENTS(UNARY_LOOP, invert, ~a)
static const ElementLoop invert_loops[DTYPE_COUNT] = {INTEGER_LOOPS(invert)};

/* --- Kernels -------------------------------------------------------------------------------------------- */

#define MATH_OPS(X)                                                                                          \
    X("Abs", absolute)                                                                                       \
    X("Neg", negate)                                                                                         \
    X("Sign", sign)                                                                                          \
    X("Square", square)                                                                                      \
    X("Sqrt", square_root)                                                                                   \
    X("Rsqrt", reciprocal_square_root)                                                                       \
    X("Reciprocal", reciprocal)                                                                              \
    X("Inv", reciprocal)                                                                                     \
    X("Exp", exponential)                                                                                    \
    X("Expm1", exponential_minus_one)                                                                        \
    X("Log", logarithm)                                                                                      \
    X("Log1p", logarithm_of_one_plus)                                                                        \
    X("Floor", round_down)                                                                                   \
    X("Ceil", round_up)                                                                                      \
    X("Round", round_even)                                                                                   \
    X("Rint", round_even)                                                                                    \
    X("Erf", error_function)                                                                                 \
    X("Erfc", error_function_complement)                                                                     \
    X("Lgamma", log_gamma)                                                                                   \
    X("Invert", invert)                                                                                      \
    X("Sin", sine)                                                                                           \
    X("Cos", cosine)                                                                                         \
    X("Tan", tangent)                                                                                        \
    X("Asin", arc_sine)                                                                                      \
    X("Acos", arc_cosine)                                                                                    \
    X("Atan", arc_tangent)                                                                                   \
    X("Sinh", hyperbolic_sine)                                                                               \
    X("Cosh", hyperbolic_cosine)                                                                             \
    X("Tanh", hyperbolic_tangent)                                                                            \
    X("Asinh", area_sine)                                                                                    \
    X("Acosh", area_cosine)                                                                                  \
    X("Atanh", area_tangent)                                                                                 \
    X("Sigmoid", sigmoid)                                                                                    \
    X("IsNan", is_nan)                                                                                       \
    X("IsInf", is_infinite)                                                                                  \
    X("IsFinite", is_finite)                                                                                 \
    X("SigmoidGrad", sigmoid_gradient)                                                                       \
    X("TanhGrad", tanh_gradient)                                                                             \
    X("RsqrtGrad", rsqrt_gradient)                                                                           \
    X("SqrtGrad", sqrt_gradient)                                                                             \
    X("InvGrad", reciprocal_gradient)                                                                        \
    X("ReciprocalGrad", reciprocal_gradient)                                                                 \
    X("onnx::Abs", absolute)                                                                                 \
    X("onnx::Neg", negate)                                                                                   \
    X("onnx::Sign", sign)                                                                                    \
    X("onnx::Sqrt", square_root)                                                                             \
    X("onnx::Reciprocal", reciprocal)                                                                        \
    X("onnx::Exp", exponential)                                                                              \
    X("onnx::Log", logarithm)                                                                                \
    X("onnx::Floor", round_down)                                                                             \
    X("onnx::Ceil", round_up)                                                                                \
    X("onnx::Round", round_even)                                                                             \
    X("onnx::Erf", error_function)                                                                           \
    X("onnx::BitwiseNot", invert)                                                                            \
    X("onnx::Sin", sine)                                                                                     \
    X("onnx::Cos", cosine)                                                                                   \
    X("onnx::Tan", tangent)                                                                                  \
    X("onnx::Asin", arc_sine)                                                                                \
    X("onnx::Acos", arc_cosine)                                                                              \
    X("onnx::Atan", arc_tangent)                                                                             \
    X("onnx::Sinh", hyperbolic_sine)                                                                         \
    X("onnx::Cosh", hyperbolic_cosine)                                                                       \
    X("onnx::Tanh", hyperbolic_tangent)                                                                      \
    X("onnx::Asinh", area_sine)                                                                              \
    X("onnx::Acosh", area_cosine)                                                                            \
    X("onnx::Atanh", area_tangent)                                                                           \
    X("onnx::Sigmoid", sigmoid)                                                                              \
    X("onnx::IsNaN", is_nan)

#define OP_ROW(op, function) {.name = (op), .loops = function##_loops},
static const ElementwiseOp math_rows[] = {MATH_OPS(OP_ROW)};

ELEMENTWISE_FUNCTIONS(math, math_rows, elementwise_compute, elementwise_tell)

#define OP_KERNEL(name, function)                                                                            \
    {.op = (name),                                                                                           \
        .supports = math_supports,                                                                           \
        .compute = math_compute,                                                                             \
        .element = math_element,                                                                             \
        .sharing = KERNEL_FORWARDS},
static const Kernel math_kernels[] = {MATH_OPS(OP_KERNEL)};

KERNEL_FAMILY(reference, math, math_kernels);
