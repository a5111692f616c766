/* Functions of one float32, written so that a compiler can compute many at a time: without branches, and with
 * every multiply-add that rounds once spelled out. IEEE 754 gives each operation one result, so that an
 * element has the same bits in any lane of any instruction set, alone or among others.
 *
 * NaN, infinities, signed zeros and subnormal numbers are as in C's functions. Errors are against the exact
 * value, in units of the result's last place.
 *
 * Threads: any. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define VECTOR_FUNCTION static inline __attribute__((always_inline))

VECTOR_FUNCTION float
float_of_bits(int32_t bits)
{
    float number = 0;
    memcpy(&number, &bits, sizeof number);
    return number;
}

VECTOR_FUNCTION int32_t
bits_of_float(float number)
{
    int32_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* Evaluates one step of Horner's scheme. */
VECTOR_FUNCTION float
multiply_add(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

/* Returns the nearest integer, the even one of two, of what lies between `low` and `high`, which are below
 * 2²²: adding 1.5 × 2²³ leaves it in the last bits. NaN becomes `low`. */
VECTOR_FUNCTION int32_t
rounded_within(float x, float low, float high)
{
    float shift = 12582912.0F;
    float raised = x > low ? x : low;
    float within = raised < high ? raised : high;
    return (int32_t)((within + shift) - shift);
}

/* An exponent in two halves, each of which is the exponent of a normal number. */
typedef struct Power {
    float whole;     /* n: the nearest integer to x / log 2 */
    float rest;      /* x - n log 2, exact to 2⁻³⁵ */
    float low_half;  /* 2^(n / 2), and 2^(n - n / 2) */
    float high_half; /* e^x = e^rest × low_half × high_half, which rounds once, when it is subnormal */
} Power;

/* Splits x, which must lie in -104 … 89.5. Adding 1.5 × 2²³ leaves the nearest integer in the last bits. */
VECTOR_FUNCTION Power
power_of(float x)
{
    float shift = 12582912.0F;
    float shifted = multiply_add(x, 1.44269504F, shift);
    float whole = shifted - shift;
    int32_t exponent = bits_of_float(shifted) - bits_of_float(shift);
    int32_t half = exponent >> 1;
    return (Power){
        .whole = whole,
        .rest = multiply_add(whole, 2.12194440e-4F, multiply_add(whole, -0.693359375F, x)),
        .low_half = float_of_bits((int32_t)((uint32_t)(half + 127) << 23)),
        .high_half = float_of_bits((int32_t)((uint32_t)(exponent - half + 127) << 23)),
    };
}

/* An exponent whose power is e^rest × scale, unless that is subnormal. */
typedef struct NormalPower {
    float rest;  /* x - n log 2, exact to 2⁻³⁵ */
    float scale; /* 2^n; 0 for n = -127, and infinite for n = 128 */
} NormalPower;

/* Splits x, which must lie in -88.3 … 88.8: with the exponent's bias in the shift, n is the scale's exponent.
 */
VECTOR_FUNCTION NormalPower
normal_power_of(float x)
{
    float shift = 12582912.0F + 127.0F;
    float shifted = multiply_add(x, 1.44269504F, shift);
    float whole = shifted - shift;
    return (NormalPower){
        .rest = multiply_add(whole, 2.12194440e-4F, multiply_add(whole, -0.693359375F, x)),
        .scale = float_of_bits((int32_t)((uint32_t)bits_of_float(shifted) << 23)),
    };
}

/* Computes e^r - 1 for |r| ≤ log(2) / 2 (a minimax polynomial: within 3.1e-9 of e^r before rounding). */
VECTOR_FUNCTION float
exponential_of_rest(float r)
{
    float p = multiply_add(r, 1.38145401e-3F, 8.36874511e-3F);
    p = multiply_add(p, r, 4.16683908e-2F);
    p = multiply_add(p, r, 1.66665204e-1F);
    p = multiply_add(p, r, 4.99999934e-1F);
    return multiply_add(p, r * r, r);
}

/* Bounds lie in memory, not in the code: compilers that know them turn the comparisons of clamp() into masks,
 * eight instructions in place of a minimum and a maximum. */
typedef struct Bounds {
    float low;
    float high;
} Bounds;

extern const Bounds EXPONENTIAL_BOUNDS; /* e^x is 0 below, and infinite above */
extern const Bounds FRACTION_BOUNDS;    /* e^x - 1 is -1 below */
extern const Bounds SWISH_BOUNDS;       /* the scale of e^x is 0 below, and infinite above */
extern const Bounds TANGENT_BOUNDS;     /* tanh is -1 below, and 1 above */
extern const Bounds UNIT_BOUNDS;        /* 0 and 1 */
extern const Bounds RELU6_BOUNDS;       /* 0 and 6 */
extern const float SCORE_MIN;           /* the scale of e^x is 0 here and below */

/* Returns `a` within the bounds; NaN stays NaN. */
VECTOR_FUNCTION float
clamp(float a, Bounds bounds)
{
    float below = a > bounds.high ? bounds.high : a;
    return below < bounds.low ? bounds.low : below;
}

/* e^x. Error below 1.1. */
VECTOR_FUNCTION float
exponential_of(float x)
{
    Power power = power_of(clamp(x, EXPONENTIAL_BOUNDS));
    float rest = exponential_of_rest(power.rest);
    return multiply_add(rest, power.low_half, power.low_half) * power.high_half;
}

/* e^x for x ≤ 0. Error below 1.1 from -87 on; below, the absolute error is less than 2⁻¹²⁶: two thirds of
 * exponential_of()'s time. */
VECTOR_FUNCTION float
exponential_of_score(float x)
{
    NormalPower power = normal_power_of(x < SCORE_MIN ? SCORE_MIN : x);
    return multiply_add(exponential_of_rest(power.rest), power.scale, power.scale);
}

/* e^x - 1 for x ≤ 0. Error below 2. */
VECTOR_FUNCTION float
exponential_minus_one_of_negative(float x)
{
    Power power = power_of(clamp(x, FRACTION_BOUNDS));
    float scale = power.low_half * power.high_half;
    float sum = multiply_add(scale, exponential_of_rest(power.rest), scale - 1.0F);
    return x > -1e-7F ? x : sum;
}

/* 1 / (1 + e^-x); e^-|x| never overflows. Error below 2.5. */
VECTOR_FUNCTION float
sigmoid_of(float x)
{
    float power = exponential_of(x > 0 ? -x : x); /* a NaN as it is: a product with x has then one NaN only */
    return (x < 0 ? power : 1.0F) / (1.0F + power);
}

/* x / (1 + e^-z) with z = alpha × x. e^-z is one power of two times e^rest: beyond the bounds the power is 0
 * or infinite. Error below 2.5 from z = -87 on; below, the absolute error is less than 4e-37 |x / z|. */
VECTOR_FUNCTION float
swish_of(float x, float alpha)
{
    NormalPower power = normal_power_of(clamp(-(alpha * x), SWISH_BOUNDS));
    return x / multiply_add(exponential_of_rest(power.rest) + 1.0F, power.scale, 1.0F);
}

/* A quotient of polynomials in x², which is 1 from 8 on (Eigen's coefficients). Error below 5. */
VECTOR_FUNCTION float
hyperbolic_tangent_of(float x)
{
    float a = clamp(x, TANGENT_BOUNDS);
    float s = a * a;
    float p = multiply_add(s, -2.76076847742355e-16F, 2.00018790482477e-13F);
    p = multiply_add(p, s, -8.60467152213735e-11F);
    p = multiply_add(p, s, 5.12229709037114e-08F);
    p = multiply_add(p, s, 1.48572235717979e-05F);
    p = multiply_add(p, s, 6.37261928875436e-04F);
    p = multiply_add(p, s, 4.89352455891786e-03F);
    float q = multiply_add(s, 1.19825839466702e-06F, 1.18534705686654e-04F);
    q = multiply_add(q, s, 2.26843463243900e-03F);
    q = multiply_add(q, s, 4.89352518554385e-03F);
    return fabsf(x) < 4e-4F ? x : a * p / q;
}

/* The error function: x times a polynomial in x² up to 0.92, 1 - e^-polynomial(|x|) beyond (coefficients by
 * N. Juffa). Error below 1.2. */
VECTOR_FUNCTION float
error_function_of(float x)
{
    float s = x * x;
    float near = multiply_add(s, -5.99104969e-4F, 4.99339588e-3F);
    near = multiply_add(near, s, -2.67667342e-2F);
    near = multiply_add(near, s, 1.12818025e-1F);
    near = multiply_add(near, s, -3.76124859e-1F);
    near = multiply_add(near, s, 1.28379151e-1F);
    near = multiply_add(near, x, x);
    float a = fabsf(x);
    float b = a > 3.925F ? 3.925F : a;
    float far = multiply_add(b, 1.72948930e-5F, -3.83208680e-4F);
    far = multiply_add(far, b, 3.88393435e-3F);
    far = multiply_add(far, b, -2.42545605e-2F);
    far = multiply_add(far, b, 1.06777847e-1F);
    far = multiply_add(far, b, 6.34846687e-1F);
    far = multiply_add(far, b, 1.28717512e-1F);
    far = 1.0F - exponential_of(-multiply_add(far, b, b));
    return a < 0.921875F ? near : copysignf(far, x);
}

/* 1 - erf(x), as e^-x² times a function of (|x| - 2) / (|x| + 2), which is small far out without a difference
 * of near numbers (coefficients by N. Juffa, after M. Shepherd and J. Laframboise). What rounding takes from
 * the quotient by 1 + 2 |x| and from x² is added again. Error below 3.5. */
VECTOR_FUNCTION float
error_function_complement_of(float x)
{
    float a = fabsf(x);
    float b = a > 12.0F ? 12.0F : a; /* the result is 0 from 10.06 on */
    float q = (b - 2.0F) / (b + 2.0F);
    float p = multiply_add(-4.01139259e-4F, q, -1.23075210e-3F);
    p = multiply_add(p, q, 1.31355342e-3F);
    p = multiply_add(p, q, 8.63227434e-3F);
    p = multiply_add(p, q, -8.05991981e-3F);
    p = multiply_add(p, q, -5.42046614e-2F);
    p = multiply_add(p, q, 1.64055392e-1F);
    p = multiply_add(p, q, -1.66031361e-1F);
    p = multiply_add(p, q, -9.27639827e-2F);
    p = multiply_add(p, q, 2.76978403e-1F);
    float reciprocal = 1.0F / multiply_add(2.0F, b, 1.0F);
    float quotient = multiply_add(p, reciprocal, reciprocal);
    float lost = multiply_add(multiply_add(quotient, -b, 0.5F), 2.0F, p - quotient);
    quotient = multiply_add(lost, reciprocal, quotient);
    float square = b * b;
    float power = exponential_of(-square);
    float positive = multiply_add(quotient, power, quotient * power * multiply_add(-b, b, square));
    float complement = x < 0 ? 2.0F - positive : positive;
    return x == x ? complement : x; /* a NaN as it is: its sign would depend on how -b is compiled */
}

/* x × max(0, min(1, x / 6 + ½)). Error below 2.5. */
VECTOR_FUNCTION float
hard_swish_of(float x)
{
    return x * clamp((x + 3.0F) * (1.0F / 6.0F), UNIT_BOUNDS);
}

/* x Φ(x) by the error function. Absolute error below 4.5e-7, as of every form that adds 1 to erf. */
VECTOR_FUNCTION float
gelu_of(float x)
{
    return 0.5F * x * (1.0F + error_function_of(x * 0.70710678F));
}

/* x Φ(x) by Hendrycks' tanh. Absolute error below 1e-6. */
VECTOR_FUNCTION float
gelu_by_tangent_of(float x)
{
    float cube = multiply_add(0.044715F * x * x, x, x);
    return 0.5F * x * (1.0F + hyperbolic_tangent_of(0.79788456F * cube));
}

/* The logarithm of a normal x > 0, times 2^shift: log(m) + n log 2 with √½ ≤ m < √2 (Cephes' polynomial). */
VECTOR_FUNCTION float
logarithm_of_normal(float x, float shift)
{
    int32_t bits = bits_of_float(x);
    int32_t offset = (int32_t)((uint32_t)bits - 0x3f3504f3U); /* √½ */
    int32_t exponent = offset >> 23;
    float n = (float)exponent + shift;
    float m = float_of_bits((int32_t)((uint32_t)bits - ((uint32_t)exponent << 23))) - 1.0F;
    float p = multiply_add(m, 7.0376836292e-2F, -1.1514610310e-1F);
    p = multiply_add(p, m, 1.1676998740e-1F);
    p = multiply_add(p, m, -1.2420140846e-1F);
    p = multiply_add(p, m, 1.4249322787e-1F);
    p = multiply_add(p, m, -1.6668057665e-1F);
    p = multiply_add(p, m, 2.0000714765e-1F);
    p = multiply_add(p, m, -2.4999993993e-1F);
    p = multiply_add(p, m, 3.3333331174e-1F);
    float s = m * m;
    float sum = multiply_add(p * s, m, multiply_add(-0.5F, s, n * -2.12194440e-4F)) + m;
    return multiply_add(n, 0.693359375F, sum);
}

/* The natural logarithm. Error below 1.5. */
VECTOR_FUNCTION float
logarithm_of(float x)
{
    bool is_small = x < 1.17549435e-38F;
    float logarithm = logarithm_of_normal(is_small ? x * 8388608.0F : x, is_small ? -23.0F : 0.0F);
    float at_edges = x < 0 ? NAN : x == 0 ? -INFINITY : x;
    return x > 0 && x < INFINITY ? logarithm : at_edges;
}

/* log(1 + u) for 0 ≤ u ≤ 1: what 1 + u loses by rounding is added, divided by 1 + u, for which 1 - u / 2 is
 * near enough. Error below 2. */
VECTOR_FUNCTION float
logarithm_of_one_plus(float u)
{
    float sum = 1.0F + u;
    float lost = u - (sum - 1.0F);
    return multiply_add(lost, multiply_add(u, -0.5F, 1.0F), logarithm_of_normal(sum, 0));
}

/* log(1 + e^x) = max(x, 0) + log(1 + e^-|x|). Error below 3.5. */
VECTOR_FUNCTION float
softplus_of(float x)
{
    float power = exponential_of(x > 0 ? -x : x);
    return (x < 0 ? 0.0F : x) + logarithm_of_one_plus(power);
}

/* x tanh(log(1 + e^x)) = x n / (n + 2) with n = e^x (e^x + 2), which is x from 30 on. Error below 5 from -87
 * on; below, where e^x is subnormal, less than 1e-42. */
VECTOR_FUNCTION float
mish_of(float x)
{
    float power = exponential_of(x > 30.0F ? 30.0F : x);
    float n = power * (power + 2.0F);
    return x * (n / (n + 2.0F));
}

/* An angle in quarters of a turn: x = n π / 2 + rest, |rest| ≤ π / 4. */
typedef struct Angle {
    int32_t quarter; /* n, of which the last two bits count */
    float rest;
} Angle;

/* Angles beyond are left to C's functions: n × (π / 2 in three parts) is too rough there. */
#define ANGLE_MAX 71476.0F

VECTOR_FUNCTION Angle
angle_of(float x)
{
    float shift = 12582912.0F;
    float shifted = multiply_add(x, 0.636619747F, shift);
    float n = shifted - shift;
    float rest = multiply_add(n, -1.57079601e+00F, x);
    rest = multiply_add(n, -3.13916473e-07F, rest);
    return (Angle){bits_of_float(shifted), multiply_add(n, -5.39030253e-15F, rest)};
}

/* The sine of so many quarters of a turn and the rest (polynomials by N. Juffa). */
VECTOR_FUNCTION float
sine_of_angle(float rest, int32_t quarter)
{
    float s = rest * rest;
    float sine = multiply_add(2.86567956e-6F, s, -1.98559923e-4F);
    sine = multiply_add(sine, s, 8.33338592e-3F);
    sine = multiply_add(sine, s, -1.66666672e-1F);
    sine = multiply_add(sine, multiply_add(rest, s, 0.0F), rest);
    float cosine = multiply_add(2.44677067e-5F, s, -1.38877297e-3F);
    cosine = multiply_add(cosine, s, 4.16666567e-2F);
    cosine = multiply_add(cosine, s, -0.5F);
    cosine = multiply_add(cosine, s, 1.0F);
    int32_t positive = bits_of_float((quarter & 1) != 0 ? cosine : sine);
    return float_of_bits((int32_t)((uint32_t)positive ^ ((uint32_t)quarter & 2U) << 30));
}

/* sin(x) and cos(x) for |x| ≤ ANGLE_MAX. Errors below 2. */
VECTOR_FUNCTION float
sine_of(float x)
{
    Angle angle = angle_of(x);
    return sine_of_angle(angle.rest, angle.quarter);
}

VECTOR_FUNCTION float
cosine_of(float x)
{
    Angle angle = angle_of(x);
    return sine_of_angle(angle.rest, (int32_t)((uint32_t)angle.quarter + 1U));
}
