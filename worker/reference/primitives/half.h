/* The two 16-bit floating formats, to float and back; back rounds to nearest, ties to even (IEEE 754).
 * Threads: any. */
#pragma once

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
    const uint32_t bits = float_to_bits(value);
    if ((bits & 0x7fffffff) > 0x7f800000) {
        return (uint16_t)((bits >> 16) | 0x40); /* NaN stays one */
    }
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static inline float
float16_to_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    const uint32_t magnitude = half & 0x7fff;
    if (magnitude >= 0x7c00) {
        return float_from_bits(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    }
    if (magnitude >= 0x400) {
        return float_from_bits(sign | ((magnitude << 13) + ((127 - 15) << 23)));
    }
    const float subnormal = (float)magnitude * 0x1p-24F;
    return sign != 0 ? -subnormal : subnormal;
}

static inline uint16_t
float16_from_float(float value)
{
    const uint32_t bits = float_to_bits(value);
    const uint16_t sign = (uint16_t)((bits >> 16) & 0x8000);
    const uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) {
        return (uint16_t)(sign | 0x7e00);
    }
    if (magnitude >= 0x477ff000) { /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7c00);
    }
    if (magnitude < 0x38800000) { /* below 2^-14: adding 0.5 leaves the subnormal's bits at the end */
        const float shifted = float_from_bits(magnitude) + 0.5F;
        return (uint16_t)(sign | (float_to_bits(shifted) - 0x3f000000));
    }
    const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
    return (uint16_t)(sign | ((rounded - ((127 - 15) << 23)) >> 13));
}
