/* The 16-bit floating-point types as bit patterns: float16 (IEEE 754 binary16) and bfloat16 (the upper half
 * of a float32). Narrowing rounds to the nearest, ties to even, and keeps NaNs NaNs; widening is exact. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float
float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t
float_to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float
bfloat16_to_float(uint16_t half)
{
    return float_from_bits((uint32_t)half << 16);
}

static inline uint16_t
bfloat16_from_float(float value)
{
    uint32_t bits = float_to_bits(value);
    if ((bits & 0x7fffffff) > 0x7f800000) {
        return (uint16_t)(bits >> 16 | 0x40);
    }
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* A subnormal number is its mantissa × 2^-24. */
static inline float
half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1f;
    uint32_t mantissa = half & 0x3ff;
    if (exponent == 0) {
        float magnitude = (float)mantissa * 0x1p-24F;
        return float_from_bits(float_to_bits(magnitude) | sign);
    }
    uint32_t wide_exponent = exponent == 0x1f ? 0xff : exponent + (127 - 15);
    return float_from_bits(sign | wide_exponent << 23 | mantissa << 13);
}

/* A subnormal result comes out of the rounding of a float addition: the last bit of 0.5 counts 2^-24. */
static inline uint16_t
half_from_float(float value)
{
    uint32_t all_bits = float_to_bits(value);
    uint32_t sign = all_bits >> 16 & 0x8000;
    uint32_t bits = all_bits & 0x7fffffff;
    if (bits > 0x7f800000) {
        return (uint16_t)(sign | 0x7e00 | (bits >> 13 & 0x1ff));
    }
    if (bits >= 0x47800000) { /* 65536 and more */
        return (uint16_t)(sign | 0x7c00);
    }
    if (bits < 0x38800000) { /* below 2^-14 */
        return (uint16_t)(sign | (float_to_bits(float_from_bits(bits) + 0.5F) - float_to_bits(0.5F)));
    }
    uint32_t rebiased = bits - ((127U - 15U) << 23);
    return (uint16_t)(sign | (rebiased + 0xfff + (rebiased >> 13 & 1)) >> 13);
}

/* Narrows to a float32 that rounds on to any narrower type as `value` itself would: the value is cut off,
 * and the last bit is set when anything was lost (rounding to odd: S. Boldo and G. Melquiond, 2005). */
static inline float
float_round_to_odd(double value)
{
    float nearest = (float)value;
    if ((double)nearest == value || isnan(value)) {
        return nearest;
    }
    uint32_t bits = float_to_bits(nearest);
    uint32_t cut = fabs((double)nearest) > fabs(value) ? bits - 1 : bits;
    return float_from_bits(cut | 1);
}

static inline uint16_t
half_from_double(double value)
{
    return half_from_float(float_round_to_odd(value));
}

static inline uint16_t
bfloat16_from_double(double value)
{
    return bfloat16_from_float(float_round_to_odd(value));
}
