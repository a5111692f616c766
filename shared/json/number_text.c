#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/json/decimal.h"
#include "shared/json/scan.h"

/* Numbers with their point this far from the first digit are written plainly, others with an exponent. */
enum { PLAIN_POINT_MIN = -5, PLAIN_POINT_MAX = 16, DIGITS_MAX = 20 };

static size_t
literal_write(Slice literal, char *ret_text)
{
    memcpy(ret_text, literal.data, literal.size);
    return literal.size;
}

/* Fills the end of `digits`; what it returns points there. */
static Slice
digits_write(uint64_t value, char digits[DIGITS_MAX])
{
    size_t start = DIGITS_MAX;
    do {
        digits[--start] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    return slice_of(digits + start, DIGITS_MAX - start);
}

/* "d.ddde-7" */
static size_t
scientific_write(const char *digits, int count, int point, char *ret_text)
{
    char *text = ret_text;
    *text++ = digits[0];
    if (count > 1) {
        *text++ = '.';
        memcpy(text, digits + 1, (size_t)count - 1);
        text += count - 1;
    }
    const int exponent = point - 1;
    *text++ = 'e';
    if (exponent < 0) {
        *text++ = '-';
    }
    char exponent_digits[DIGITS_MAX];
    const Slice magnitude = digits_write((uint64_t)abs(exponent), exponent_digits);
    memcpy(text, magnitude.data, magnitude.size);
    return (size_t)(text - ret_text) + magnitude.size;
}

/* "0.00ddd", "dd.dd" or "dddd000": `point` digits stand in front of the point. */
static size_t
plain_write(const char *digits, int count, int point, char *ret_text)
{
    char *text = ret_text;
    if (point <= 0) {
        *text++ = '0';
        *text++ = '.';
        memset(text, '0', (size_t)-point);
        memcpy(text - point, digits, (size_t)count);
        return (size_t)(text - point + count - ret_text);
    }
    const int before = count < point ? count : point;
    memcpy(text, digits, (size_t)before);
    memset(text + before, '0', (size_t)(point - before));
    text += point;
    if (count > point) {
        *text++ = '.';
        memcpy(text, digits + point, (size_t)(count - point));
        text += count - point;
    }
    return (size_t)(text - ret_text);
}

static size_t
decimal_write(Decimal decimal, char *ret_text)
{
    char memory[DIGITS_MAX];
    const Slice digits = digits_write(decimal.mantissa, memory);
    const int count = (int)digits.size;
    const int point = count + decimal.exponent;
    return point > PLAIN_POINT_MIN && point <= PLAIN_POINT_MAX
               ? plain_write(digits.data, count, point, ret_text)
               : scientific_write(digits.data, count, point, ret_text);
}

/* Writes what no decimal of ours can: false for ordinary numbers. */
static bool
special_write(double value, char *ret_text, size_t *ret_size)
{
    if (isnan(value)) {
        *ret_size = literal_write(SLICE("\"NaN\""), ret_text);
    } else if (isinf(value)) {
        *ret_size = literal_write(value < 0 ? SLICE("\"-Infinity\"") : SLICE("\"Infinity\""), ret_text);
    } else if (value == 0) {
        *ret_size = literal_write(signbit(value) ? SLICE("-0.0") : SLICE("0"), ret_text);
    } else {
        return false;
    }
    return true;
}

size_t
json_double_text(double value, char ret_text[JSON_NUMBER_TEXT_SIZE])
{
    size_t size = 0;
    if (special_write(value, ret_text, &size)) {
        return size;
    }
    Decimal decimal;
    if (fabs(value) >= DBL_MIN && decimal_from_double(fabs(value), &decimal)) {
        ret_text[0] = '-';
        const size_t sign_size = value < 0 ? 1 : 0;
        return sign_size + decimal_write(decimal, ret_text + sign_size);
    }
    /* %g strips zeros, so that only subnormal numbers have fewer digits than are sure to be kept. */
    for (int digits = isnormal(value) ? DBL_DIG : 1; digits <= DBL_DECIMAL_DIG; digits++) {
        size = (size_t)snprintf(ret_text, JSON_NUMBER_TEXT_SIZE, "%.*g", digits, value);
        if (strtod(ret_text, NULL) == value) {
            break;
        }
    }
    return size;
}

size_t
json_float_text(float value, char ret_text[JSON_NUMBER_TEXT_SIZE])
{
    size_t size = 0;
    if (special_write((double)value, ret_text, &size)) {
        return size;
    }
    Decimal decimal;
    if (fabsf(value) >= FLT_MIN && decimal_from_float(fabsf(value), &decimal)) {
        ret_text[0] = '-';
        const size_t sign_size = value < 0 ? 1 : 0;
        return sign_size + decimal_write(decimal, ret_text + sign_size);
    }
    for (int digits = isnormal(value) ? FLT_DIG : 1; digits <= FLT_DECIMAL_DIG; digits++) {
        size = (size_t)snprintf(ret_text, JSON_NUMBER_TEXT_SIZE, "%.*g", digits, (double)value);
        if (strtof(ret_text, NULL) == value) {
            break;
        }
    }
    return size;
}
