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

/* Computes e^r - 1 for |r| ≤ log(2) / 2 (Cephes' polynomial). */
VECTOR_FUNCTION float
exponential_of_rest(float r)
{
    float p = multiply_add(r, 1.9875691500e-4F, 1.3981999507e-3F);
    p = multiply_add(p, r, 8.3334519073e-3F);
    p = multiply_add(p, r, 4.1665795894e-2F);
    p = multiply_add(p, r, 1.6666665459e-1F);
    p = multiply_add(p, r, 5.0000001201e-1F);
    return multiply_add(p, r * r, r);
}

/* Returns `a` within the bounds; NaN stays NaN. */
VECTOR_FUNCTION float
clamp(float a, float low, float high)
{
    float below = a > high ? high : a;
    return below < low ? low : below;
}

/* e^x. Error below 1.1. */
VECTOR_FUNCTION float
exponential_of(float x)
{
    Power power = power_of(clamp(x, -104.0F, 89.5F));
    return (exponential_of_rest(power.rest) + 1.0F) * power.low_half * power.high_half;
}

/* e^x - 1 for x ≤ 0. Error below 2. */
VECTOR_FUNCTION float
exponential_minus_one_of_negative(float x)
{
    Power power = power_of(clamp(x, -50.0F, 0.0F));
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

/* A quotient of polynomials in x², which is 1 from 8 on (Eigen's coefficients). Error below 5. */
VECTOR_FUNCTION float
hyperbolic_tangent_of(float x)
{
    float a = clamp(x, -7.99881172180175781F, 7.99881172180175781F);
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

/* The natural logarithm: log(m) + n log 2 with √½ ≤ m < √2 (Cephes' polynomial). Error below 1.5. */
VECTOR_FUNCTION float
logarithm_of(float x)
{
    float scaled = x < 1.17549435e-38F ? x * 8388608.0F : x;
    int32_t bits = bits_of_float(scaled);
    int32_t offset = (int32_t)((uint32_t)bits - 0x3f3504f3U); /* √½ */
    int32_t exponent = offset >> 23;
    float n = (float)exponent - (x < 1.17549435e-38F ? 23.0F : 0.0F);
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
    float logarithm = multiply_add(n, 0.693359375F, sum);
    float at_edges = x < 0 ? NAN : x == 0 ? -INFINITY : x;
    return x > 0 && x < INFINITY ? logarithm : at_edges;
}
