#include "shared/json/decimal.h"

#include <assert.h>
#include <float.h>

#include "shared/base/compiler.h"

const double decimal_powers[DECIMAL_EXPONENT_MAX + 1] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
    1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Finds the first `digits` digits of the value, rounded. Returns false when the scale is out of reach. */
static bool
float_digits(double value, int magnitude, int digits, Decimal *ret_decimal)
{
    int shift = digits - 1 - magnitude;
    if (shift < -DECIMAL_EXPONENT_MAX || shift > DECIMAL_EXPONENT_MAX) {
        return false;
    }
    double scaled = shift < 0 ? value / decimal_powers[-shift] : value * decimal_powers[shift];
    *ret_decimal = (Decimal){.mantissa = (uint64_t)(int64_t)(scaled + 0.5), .exponent = -shift};
    return true;
}

#if LDBL_MANT_DIG == 64

/* Powers of ten that a long double holds exactly: 10^27 = 5^27 × 2^27, and 5^27 < 2^64. */
static const long double wide_powers[DECIMAL_WIDE_EXPONENT_MAX + 1] = {1e0L, 1e1L, 1e2L, 1e3L, 1e4L, 1e5L,
    1e6L, 1e7L, 1e8L, 1e9L, 1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
    1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};

/* Scales in long double. Returns false when the number is out of reach, or lies half-way between two
 * numbers whose mantissas have `kept_bits`. */
static bool
wide_scale(uint64_t mantissa, int exponent, int kept_bits, long double *ret_value)
{
    if (exponent < -DECIMAL_WIDE_EXPONENT_MAX || exponent > DECIMAL_WIDE_EXPONENT_MAX) {
        return false;
    }
    long double exact = (long double)mantissa;
    long double value = exponent < 0 ? exact / wide_powers[-exponent] : exact * wide_powers[exponent];
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    uint64_t half_way = UINT64_C(1) << (LDBL_MANT_DIG - kept_bits - 1);
    *ret_value = value;
    return (bits & (half_way * 2 - 1)) != half_way;
}

bool
decimal_to_double_wide(uint64_t mantissa, int exponent, double *ret_value)
{
    long double value = 0;
    if (!wide_scale(mantissa, exponent, DBL_MANT_DIG, &value)) {
        return false;
    }
    *ret_value = (double)value;
    return true;
}

bool
decimal_to_float_wide(uint64_t mantissa, int exponent, float *ret_value)
{
    long double value = 0;
    if (!wide_scale(mantissa, exponent, FLT_MANT_DIG, &value)) {
        return false;
    }
    *ret_value = (float)value;
    return true;
}

static bool
double_digits(double value, int magnitude, int digits, Decimal *ret_decimal)
{
    int shift = digits - 1 - magnitude;
    if (shift < -DECIMAL_WIDE_EXPONENT_MAX || shift > DECIMAL_WIDE_EXPONENT_MAX) {
        return false;
    }
    long double exact = (long double)value;
    long double scaled = shift < 0 ? exact / wide_powers[-shift] : exact * wide_powers[shift];
    *ret_decimal = (Decimal){.mantissa = (uint64_t)(int64_t)(scaled + 0.5L), .exponent = -shift};
    return true;
}

#else

bool
decimal_to_double_wide(uint64_t mantissa, int exponent, double *ret_value)
{
    (void)mantissa, (void)exponent, (void)ret_value;
    return false;
}

bool
decimal_to_float_wide(uint64_t mantissa, int exponent, float *ret_value)
{
    (void)mantissa, (void)exponent, (void)ret_value;
    return false;
}

static bool
double_digits(double value, int magnitude, int digits, Decimal *ret_decimal)
{
    return float_digits(value, magnitude, digits, ret_decimal);
}

#endif

/* Returns floor(log10(value)) of a normal number. It may be off by one; the callers read back and notice. */
static int
magnitude_of(double value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    int binary = (int)(bits >> 52) - 1023;
    /* 78913 / 2^18 is log10(2), near enough for every exponent of a double. */
    int next = ((binary * 78913) >> 18) + 1;
    if (next < -DECIMAL_EXPONENT_MAX || next > DECIMAL_EXPONENT_MAX) {
        return next - 1;
    }
    bool is_next = next < 0 ? value * decimal_powers[-next] >= 1 : value >= decimal_powers[next];
    return is_next ? next : next - 1;
}

static void
zeros_strip(Decimal *decimal)
{
    while (decimal->mantissa != 0 && decimal->mantissa % 10 == 0) {
        decimal->mantissa /= 10;
        decimal->exponent++;
    }
}

/* Tries 15 digits, then more, until reading back gives the value: that also finds a digit that scaling
 * rounded wrongly. */
bool
decimal_from_double(double value, Decimal *ret_decimal)
{
    assert(value > 0);
    int magnitude = magnitude_of(value);
    for (int digits = DBL_DIG; digits <= DBL_DECIMAL_DIG; digits++) {
        Decimal decimal;
        double back = 0;
        if (!double_digits(value, magnitude, digits, &decimal) ||
            !decimal_to_double(decimal.mantissa, decimal.exponent, &back)) {
            return false;
        }
        if (back == value) {
            zeros_strip(&decimal);
            *ret_decimal = decimal;
            return true;
        }
    }
    return false;
}

bool
decimal_from_float(float value, Decimal *ret_decimal)
{
    assert(value > 0);
    int magnitude = magnitude_of((double)value);
    for (int digits = FLT_DIG; digits <= FLT_DECIMAL_DIG; digits++) {
        Decimal decimal;
        float back = 0;
        if (!float_digits((double)value, magnitude, digits, &decimal) ||
            !decimal_to_float(decimal.mantissa, decimal.exponent, &back)) {
            return false;
        }
        if (back == value) {
            zeros_strip(&decimal);
            *ret_decimal = decimal;
            return true;
        }
    }
    return false;
}
