/* Conversion between decimal and binary numbers without the C library, where that is provably exact.
 *
 * m × 10^e with m at most 2^53 and |e| at most 22 takes two doubles that are exact and one operation
 * that rounds once (W. D. Clinger, 1990). x87's 64-bit mantissa stretches this to every m and |e| up to
 * 27. A second rounding, to a narrower type, is right too unless the first result lies exactly half-way
 * between two of its numbers: then these functions return false, and the caller asks strtod() or strtof(). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { DECIMAL_EXPONENT_MAX = 22, DECIMAL_WIDE_EXPONENT_MAX = 27 };
#define DECIMAL_MANTISSA_MAX (UINT64_C(1) << 53)

extern const double decimal_powers[DECIMAL_EXPONENT_MAX + 1];

/* Convert what the inline functions below cannot: larger mantissas and exponents, at a lower speed. */
bool decimal_to_double_wide(uint64_t mantissa, int exponent, double *ret_value);
bool decimal_to_float_wide(uint64_t mantissa, int exponent, float *ret_value);

static inline bool
decimal_is_narrow(uint64_t mantissa, int exponent)
{
    return mantissa <= DECIMAL_MANTISSA_MAX && exponent >= -DECIMAL_EXPONENT_MAX &&
           exponent <= DECIMAL_EXPONENT_MAX;
}

static inline double
decimal_scale(uint64_t mantissa, int exponent)
{
    double value = (double)mantissa;
    return exponent < 0 ? value / decimal_powers[-exponent] : value * decimal_powers[exponent];
}

static inline bool
decimal_to_double(uint64_t mantissa, int exponent, double *ret_value)
{
    if (!decimal_is_narrow(mantissa, exponent)) {
        return decimal_to_double_wide(mantissa, exponent, ret_value);
    }
    *ret_value = decimal_scale(mantissa, exponent);
    return true;
}

/* Every result is a normal float or 0: m is at least 1 and 10^-22 is far from the smallest one. */
static inline bool
decimal_to_float(uint64_t mantissa, int exponent, float *ret_value)
{
    if (!decimal_is_narrow(mantissa, exponent)) {
        return decimal_to_float_wide(mantissa, exponent, ret_value);
    }
    double value = decimal_scale(mantissa, exponent);
    uint64_t lost_mask = (UINT64_C(1) << 29) - 1; /* a float keeps 24 of the 53 bits */
    uint64_t half_way = UINT64_C(1) << 28;
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & lost_mask) == half_way) {
        return false;
    }
    *ret_value = (float)value;
    return true;
}

/* The shortest decimal form of a number: digits × 10^exponent reads back as the number. */
typedef struct Decimal {
    uint64_t mantissa; /* without trailing zeros, unless it is 0 */
    int exponent;
} Decimal;

/* Find the shortest form. `value` is finite and above 0; false when it is too large or too small for exact
 * arithmetic. */
bool decimal_from_double(double value, Decimal *ret_decimal);
bool decimal_from_float(float value, Decimal *ret_decimal);
