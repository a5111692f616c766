/* Element-wise functions of one tensor, and the gradients that are written in terms of their results. */
#include <tgmath.h>

#include "worker/reference/elementwise.h"

#define SIGN(a) ((a) > 0 ? 1 : (a) < 0 ? -1 : (a) == 0 ? 0 : (a))

/* Large negative numbers do not overflow either. */
#define SIGMOID(a) ((a) >= 0 ? 1 / (1 + exp(-(a))) : exp(a) / (1 + exp(a)))

#define FLOATS(name, expression)                                                                             \
    FLOATING_ELEMENTS(UNARY_LOOP, name, expression)                                                          \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {FLOATING_LOOPS(name)};                             \
    ELEMENTWISE(name, 0, NULL, NULL)

#define NUMBERS(name, floating, wrapping, complex_number)                                                    \
    FLOATING_ELEMENTS(UNARY_LOOP, name, floating)                                                            \
    WRAPPING_ELEMENTS(UNARY_LOOP, name, wrapping)                                                            \
    COMPLEX_ELEMENTS(UNARY_LOOP, name, complex_number)                                                       \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {REAL_LOOPS(name) COMPLEX_LOOPS(name)};             \
    ELEMENTWISE(name, 0, NULL, NULL)

#define FLOATS_AND_COMPLEX(name, floating, complex_number)                                                   \
    FLOATING_ELEMENTS(UNARY_LOOP, name, floating)                                                            \
    COMPLEX_ELEMENTS(UNARY_LOOP, name, complex_number)                                                       \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {FLOATING_LOOPS(name) COMPLEX_LOOPS(name)};         \
    ELEMENTWISE(name, 0, NULL, NULL)

#define FLOAT_TESTS(name, expression)                                                                        \
    FLOATING_ELEMENTS(TEST_LOOP, name, expression)                                                           \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {FLOATING_LOOPS(name)};                             \
    ELEMENTWISE(name, 0, NULL, NULL)

#define FLOAT_PAIRS(name, expression)                                                                        \
    FLOATING_ELEMENTS(BINARY_LOOP, name, expression)                                                         \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {FLOATING_LOOPS(name)};                             \
    ELEMENTWISE(name, 0, NULL, NULL)

NUMBERS(negate, -a, 0 - a, -a)
NUMBERS(square, (a * a), (a * a), (a * a))
FLOATS(square_root, sqrt(a))
FLOATS(reciprocal_square_root, 1 / sqrt(a))
FLOATS(reciprocal, 1 / a)
FLOATS_AND_COMPLEX(exponential, exp(a), cexp(a))
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
FLOAT_PAIRS(sigmoid_gradient, (b * a * (1 - a)))
FLOAT_PAIRS(tanh_gradient, (b * (1 - a * a)))
FLOAT_PAIRS(rsqrt_gradient, (b * a * a * a / -2))
FLOAT_PAIRS(sqrt_gradient, b / (2 * a))
FLOAT_PAIRS(reciprocal_gradient, (-b * a * a))

/* Rounding keeps integers; halves go to the even neighbour (TensorFlow, ONNX). */
#define ROUNDINGS(name, expression)                                                                          \
    FLOATING_ELEMENTS(UNARY_LOOP, name, expression)                                                          \
    INTEGER_ELEMENTS(UNARY_LOOP, name, a)                                                                    \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {REAL_LOOPS(name)};                                 \
    ELEMENTWISE(name, 0, NULL, NULL)

ROUNDINGS(round_down, floor(a))
ROUNDINGS(round_up, ceil(a))
ROUNDINGS(round_even, nearbyint(a))

FLOATING_ELEMENTS(UNARY_LOOP, absolute, fabs(a))
SIGNED_ELEMENTS(UNARY_LOOP, absolute, a < 0 ? (int64_t)(0 - (uint64_t)a) : a)
UNSIGNED_ELEMENTS(UNARY_LOOP, absolute, a)
static const ElementLoop absolute_loops[DTYPE_COUNT] = {REAL_LOOPS(absolute)};
ELEMENTWISE(absolute, 0, NULL, NULL)

FLOATING_ELEMENTS(UNARY_LOOP, sign, SIGN(a))
SIGNED_ELEMENTS(UNARY_LOOP, sign, (a > 0) - (a < 0))
UNSIGNED_ELEMENTS(UNARY_LOOP, sign, a > 0)
static const ElementLoop sign_loops[DTYPE_COUNT] = {REAL_LOOPS(sign)};
ELEMENTWISE(sign, 0, NULL, NULL)

WRAPPING_ELEMENTS(UNARY_LOOP, invert, ~a)
static const ElementLoop invert_loops[DTYPE_COUNT] = {INTEGER_LOOPS(invert)};
ELEMENTWISE(invert, 0, NULL, NULL)

static const Kernel math_kernels[] = {
    ELEMENTWISE_KERNEL("Abs", absolute),
    ELEMENTWISE_KERNEL("Neg", negate),
    ELEMENTWISE_KERNEL("Sign", sign),
    ELEMENTWISE_KERNEL("Square", square),
    ELEMENTWISE_KERNEL("Sqrt", square_root),
    ELEMENTWISE_KERNEL("Rsqrt", reciprocal_square_root),
    ELEMENTWISE_KERNEL("Reciprocal", reciprocal),
    ELEMENTWISE_KERNEL("Inv", reciprocal),
    ELEMENTWISE_KERNEL("Exp", exponential),
    ELEMENTWISE_KERNEL("Expm1", exponential_minus_one),
    ELEMENTWISE_KERNEL("Log", logarithm),
    ELEMENTWISE_KERNEL("Log1p", logarithm_of_one_plus),
    ELEMENTWISE_KERNEL("Floor", round_down),
    ELEMENTWISE_KERNEL("Ceil", round_up),
    ELEMENTWISE_KERNEL("Round", round_even),
    ELEMENTWISE_KERNEL("Rint", round_even),
    ELEMENTWISE_KERNEL("Erf", error_function),
    ELEMENTWISE_KERNEL("Erfc", error_function_complement),
    ELEMENTWISE_KERNEL("Lgamma", log_gamma),
    ELEMENTWISE_KERNEL("Invert", invert),
    ELEMENTWISE_KERNEL("Sin", sine),
    ELEMENTWISE_KERNEL("Cos", cosine),
    ELEMENTWISE_KERNEL("Tan", tangent),
    ELEMENTWISE_KERNEL("Asin", arc_sine),
    ELEMENTWISE_KERNEL("Acos", arc_cosine),
    ELEMENTWISE_KERNEL("Atan", arc_tangent),
    ELEMENTWISE_KERNEL("Sinh", hyperbolic_sine),
    ELEMENTWISE_KERNEL("Cosh", hyperbolic_cosine),
    ELEMENTWISE_KERNEL("Tanh", hyperbolic_tangent),
    ELEMENTWISE_KERNEL("Asinh", area_sine),
    ELEMENTWISE_KERNEL("Acosh", area_cosine),
    ELEMENTWISE_KERNEL("Atanh", area_tangent),
    ELEMENTWISE_KERNEL("Sigmoid", sigmoid),
    ELEMENTWISE_KERNEL("IsNan", is_nan),
    ELEMENTWISE_KERNEL("IsInf", is_infinite),
    ELEMENTWISE_KERNEL("IsFinite", is_finite),
    ELEMENTWISE_KERNEL("SigmoidGrad", sigmoid_gradient),
    ELEMENTWISE_KERNEL("TanhGrad", tanh_gradient),
    ELEMENTWISE_KERNEL("RsqrtGrad", rsqrt_gradient),
    ELEMENTWISE_KERNEL("SqrtGrad", sqrt_gradient),
    ELEMENTWISE_KERNEL("InvGrad", reciprocal_gradient),
    ELEMENTWISE_KERNEL("ReciprocalGrad", reciprocal_gradient),
    ELEMENTWISE_KERNEL("onnx::Abs", absolute),
    ELEMENTWISE_KERNEL("onnx::Neg", negate),
    ELEMENTWISE_KERNEL("onnx::Sign", sign),
    ELEMENTWISE_KERNEL("onnx::Sqrt", square_root),
    ELEMENTWISE_KERNEL("onnx::Reciprocal", reciprocal),
    ELEMENTWISE_KERNEL("onnx::Exp", exponential),
    ELEMENTWISE_KERNEL("onnx::Log", logarithm),
    ELEMENTWISE_KERNEL("onnx::Floor", round_down),
    ELEMENTWISE_KERNEL("onnx::Ceil", round_up),
    ELEMENTWISE_KERNEL("onnx::Round", round_even),
    ELEMENTWISE_KERNEL("onnx::Erf", error_function),
    ELEMENTWISE_KERNEL("onnx::BitwiseNot", invert),
    ELEMENTWISE_KERNEL("onnx::Sin", sine),
    ELEMENTWISE_KERNEL("onnx::Cos", cosine),
    ELEMENTWISE_KERNEL("onnx::Tan", tangent),
    ELEMENTWISE_KERNEL("onnx::Asin", arc_sine),
    ELEMENTWISE_KERNEL("onnx::Acos", arc_cosine),
    ELEMENTWISE_KERNEL("onnx::Atan", arc_tangent),
    ELEMENTWISE_KERNEL("onnx::Sinh", hyperbolic_sine),
    ELEMENTWISE_KERNEL("onnx::Cosh", hyperbolic_cosine),
    ELEMENTWISE_KERNEL("onnx::Tanh", hyperbolic_tangent),
    ELEMENTWISE_KERNEL("onnx::Asinh", area_sine),
    ELEMENTWISE_KERNEL("onnx::Acosh", area_cosine),
    ELEMENTWISE_KERNEL("onnx::Atanh", area_tangent),
    ELEMENTWISE_KERNEL("onnx::Sigmoid", sigmoid),
    ELEMENTWISE_KERNEL("onnx::IsNaN", is_nan),
};

KERNEL_FAMILY(reference, math, math_kernels);
