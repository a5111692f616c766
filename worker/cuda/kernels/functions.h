/* The functions of elements, each a row of a list: the one place that says what they compute. The kernels of
 * single nodes are made of it, and so is the source of fused ones (worker/cuda/fusion), which a worker
 * compiles while it runs: both give the same bits.
 *
 * Valid C11, C++ and what NVRTC compiles: it includes nothing. */
#pragma once

/* Each list has the functions of a class: X(name, number of inputs, expression of a, b, c and the parameters
 * p and q). Floats of 16 bits compute as float. */
#define CUDA_FLOAT_MAPS(X)                                                                                   \
    X(SQUARE_ROOT, 1, sqrt(a))                                                                               \
    X(RECIPROCAL_SQUARE_ROOT, 1, 1 / sqrt(a))                                                                \
    X(RECIPROCAL, 1, 1 / a)                                                                                  \
    X(EXPONENTIAL, 1, exp(a))                                                                                \
    X(EXPONENTIAL_MINUS_ONE, 1, expm1(a))                                                                    \
    X(LOGARITHM, 1, log(a))                                                                                  \
    X(LOGARITHM_OF_ONE_PLUS, 1, log1p(a))                                                                    \
    X(ERROR_FUNCTION, 1, erf(a))                                                                             \
    X(ERROR_FUNCTION_COMPLEMENT, 1, erfc(a))                                                                 \
    X(SINE, 1, sin(a))                                                                                       \
    X(COSINE, 1, cos(a))                                                                                     \
    X(TANGENT, 1, tan(a))                                                                                    \
    X(ARC_SINE, 1, asin(a))                                                                                  \
    X(ARC_COSINE, 1, acos(a))                                                                                \
    X(ARC_TANGENT, 1, atan(a))                                                                               \
    X(HYPERBOLIC_SINE, 1, sinh(a))                                                                           \
    X(HYPERBOLIC_COSINE, 1, cosh(a))                                                                         \
    X(HYPERBOLIC_TANGENT, 1, tanh(a))                                                                        \
    X(AREA_SINE, 1, asinh(a))                                                                                \
    X(AREA_COSINE, 1, acosh(a))                                                                              \
    X(AREA_TANGENT, 1, atanh(a))                                                                             \
    X(SIGMOID, 1, a >= 0 ? 1 / (1 + exp(-a)) : exp(a) / (1 + exp(a)))                                        \
    X(ELU, 1, a < 0 ? expm1(a) : a)                                                                          \
    X(SELU, 1, a < 0 ? SELU_SCALE * SELU_ALPHA * expm1(a) : SELU_SCALE * a)                                  \
    X(LEAKY_RELU, 1, a < 0 ? p * a : a)                                                                      \
    X(SOFTPLUS, 1, softplus(a))                                                                              \
    X(SOFTSIGN, 1, a / (1 + fabs(a)))                                                                        \
    X(SCALED_ELU, 1, a < 0 ? p * expm1(a) : a)                                                               \
    X(SCALED_SELU, 1, a < 0 ? q * p * expm1(a) : q * a)                                                      \
    X(HARD_SIGMOID, 1, clamp_between(p *a + q, NUMBER(0), NUMBER(1)))                                        \
    X(HARD_SWISH, 1, a *clamp_between((a + 3) / 6, NUMBER(0), NUMBER(1)))                                    \
    X(THRESHOLDED_RELU, 1, a > p ? a : 0)                                                                    \
    X(SHRINK, 1, a<-p ? a + q : a> p ? a - q : 0)                                                            \
    X(CELU, 1, a < 0 ? p * expm1(a / p) : a)                                                                 \
    X(SWISH, 1, a / (1 + exp(-p * a)))                                                                       \
    X(MISH, 1, a *tanh(softplus(a)))                                                                         \
    X(GELU, 1, a *(1 + erf(a / sqrt(NUMBER(2)))) / 2)                                                        \
    X(GELU_BY_TANH, 1,                                                                                       \
        a *(1 + tanh(sqrt(NUMBER(0.63661977236758134308)) * (a + NUMBER(0.044715) * a * a * a))) / 2)        \
    X(DIVIDE_BY_PARAMETER, 1, a / p)                                                                         \
    X(DIVIDE_NO_NAN, 2, b == 0 ? 0 : a / b)                                                                  \
    X(MULTIPLY_NO_NAN, 2, b == 0 ? 0 : a * b)                                                                \
    X(XDIVY, 2, a == 0 ? 0 : a / b)                                                                          \
    X(XLOGY, 2, a == 0 ? 0 : a * log(b))                                                                     \
    X(ARC_TANGENT_OF_TWO, 2, atan2(a, b))                                                                    \
    X(SIGMOID_GRADIENT, 2, b *a *(1 - a))                                                                    \
    X(TANH_GRADIENT, 2, b *(1 - a * a))                                                                      \
    X(RSQRT_GRADIENT, 2, b *a *a *a / -2)                                                                    \
    X(SQRT_GRADIENT, 2, b / (2 * a))                                                                         \
    X(RECIPROCAL_GRADIENT, 2, -b *a *a)                                                                      \
    X(RELU_GRADIENT, 2, b > 0 ? a : 0)                                                                       \
    X(RELU6_GRADIENT, 2, b > 0 && b < 6 ? a : 0)                                                             \
    X(ELU_GRADIENT, 2, b < 0 ? a * (b + 1) : a)                                                              \
    X(SELU_GRADIENT, 2, b < 0 ? a * (b + SELU_SCALE * SELU_ALPHA) : a * SELU_SCALE)                          \
    X(SOFTPLUS_GRADIENT, 2, a / (1 + exp(-b)))                                                               \
    X(SOFTSIGN_GRADIENT, 2, a / ((1 + fabs(b)) * (1 + fabs(b))))                                             \
    X(LEAKY_RELU_GRADIENT, 2, b > 0 ? a : p * a)

/* Floats, and integers that wrap, which compute as uint64_t. */
#define CUDA_NUMBER_MAPS(X)                                                                                  \
    X(NEGATE, 1, 0 - a, -a)                                                                                  \
    X(SQUARE, 1, (a * a), (a * a))                                                                           \
    X(ADD, 2, a + b, a + b)                                                                                  \
    X(SUBTRACT, 2, a - b, a - b)                                                                             \
    X(MULTIPLY, 2, (a * b), (a * b))                                                                         \
    X(SQUARED_DIFFERENCE, 2, (a - b) * (a - b), (a - b) * (a - b))

/* All that has an order: X(name, inputs, of floats, of signed, of unsigned integers), which compute in 64
 * bits. */
#define CUDA_REAL_MAPS(X)                                                                                    \
    X(ABSOLUTE, 1, fabs(a), a < 0 ? (int64_t)(0 - (uint64_t)a) : a, a)                                       \
    X(SIGN, 1, a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a, (a > 0) - (a < 0), a > 0)                            \
    X(ROUND_DOWN, 1, floor(a), a, a)                                                                         \
    X(ROUND_UP, 1, ceil(a), a, a)                                                                            \
    X(ROUND_EVEN, 1, nearbyint(a), a, a)                                                                     \
    X(RELU, 1, a < 0 ? 0 : a, a < 0 ? 0 : a, a)                                                              \
    X(RELU6, 1, clamp_between(a, NUMBER(0), NUMBER(6)), clamp_between(a, NUMBER(0), NUMBER(6)),              \
        a > 6 ? 6 : a)                                                                                       \
    X(LARGER, 2, a > b || a != a ? a : b, a > b ? a : b, a > b ? a : b)                                      \
    X(SMALLER, 2, a < b || a != a ? a : b, a < b ? a : b, a < b ? a : b)                                     \
    X(DIVIDE, 2, a / b, divide(a, b), divide(a, b))                                                          \
    X(TRUNCATE_DIVIDE, 2, trunc(a / b), divide(a, b), divide(a, b))                                          \
    X(FLOOR_DIVIDE, 2, floor(a / b), floor_divide(a, b), divide(a, b))                                       \
    X(REMAINDER, 2, fmod(a, b), remainder_of(a, b), remainder_of(a, b))                                      \
    X(FLOOR_REMAINDER, 2, fmod(a, b) != 0 && (fmod(a, b) < 0) != (b < 0) ? fmod(a, b) + b : fmod(a, b),      \
        floor_remainder(a, b), remainder_of(a, b))                                                           \
    X(POWER, 2, pow(a, b), power(a, b), power(a, b))                                                         \
    X(LIMIT, 3, limit(a, b, c), limit(a, b, c), limit(a, b, c))                                              \
    X(CLIP, 3, clip(a, b, c), clip(a, b, c), clip(a, b, c))                                                  \
    X(SLOPE, 2, a < 0 ? a * b : a, a < 0 ? (int64_t)((uint64_t)a * (uint64_t)b) : a, a)

/* Integers: X(name, inputs, of signed, of unsigned). The parameter p is the width in bits. */
#define CUDA_SHIFT_MAPS(X)                                                                                   \
    X(SHIFT_LEFT, 2, (int64_t)((uint64_t)a << held_shift(b, p)), a << held_shift(b, p))                      \
    X(SHIFT_RIGHT, 2, a >> held_shift(b, p), a >> held_shift(b, p))                                          \
    X(SHIFT_OUT_LEFT, 2, 0, b < p ? a << b : 0)                                                              \
    X(SHIFT_OUT_RIGHT, 2, 0, b < p ? a >> b : 0)

/* To bool. */
#define CUDA_FLOAT_TESTS(X)                                                                                  \
    X(IS_NAN, 1, a != a)                                                                                     \
    X(IS_INFINITE, 1, fabs(a) == NUMBER(INFINITY))                                                           \
    X(IS_FINITE, 1, fabs(a) < NUMBER(INFINITY))                                                              \
    X(IS_NEAR, 2, fabs(a - b) < p)                                                                           \
    X(IS_CHOSEN_INFINITY, 1, (p != 0 && a == -NUMBER(INFINITY)) || (q != 0 && a == NUMBER(INFINITY)))

/* Comparisons of floats, integers and bools, to bool. */
#define CUDA_COMPARISONS(X)                                                                                  \
    X(EQUAL, 2, a == b)                                                                                      \
    X(NOT_EQUAL, 2, a != b)                                                                                  \
    X(LESS, 2, a < b)                                                                                        \
    X(LESS_EQUAL, 2, a <= b)                                                                                 \
    X(GREATER, 2, a > b)                                                                                     \
    X(GREATER_EQUAL, 2, a >= b)

#define CUDA_INTEGER_MAPS(X)                                                                                 \
    X(INVERT, 1, ~a)                                                                                         \
    X(BITWISE_AND, 2, (a & b))                                                                               \
    X(BITWISE_OR, 2, a | b)                                                                                  \
    X(BITWISE_XOR, 2, a ^ b)

#define CUDA_BOOL_MAPS(X)                                                                                    \
    X(LOGICAL_NOT, 1, !a)                                                                                    \
    X(LOGICAL_AND, 2, (a && b))                                                                              \
    X(LOGICAL_OR, 2, a || b)                                                                                 \
    X(LOGICAL_XOR, 2, a != b)

/* Functions of floats that compute in double whatever is stored (shared/ops/special/rule.h). */
#define CUDA_SPECIAL_MAPS(X)                                                                                 \
    X(LOGARITHM_OF_GAMMA, 1, lgamma((double)a))                                                              \
    X(DIGAMMA, 1, special_digamma((double)a))                                                                \
    X(ZETA, 2, special_zeta((double)a, (double)b))                                                           \
    X(POLYGAMMA, 2, special_polygamma((double)a, (double)b))                                                 \
    X(LOWER_GAMMA, 2, special_igamma((double)a, (double)b))                                                  \
    X(UPPER_GAMMA, 2, special_igammac((double)a, (double)b))                                                 \
    X(INCOMPLETE_BETA, 3, special_betainc((double)a, (double)b, (double)c))
