#include <math.h>
#include <stdlib.h>

#include "shared/json/decimal.h"
#include "shared/json/scan.h"

/* Longer numbers are valid, but their value cannot be read: 800 digits tell any two doubles apart. */
enum { NUMBER_SIZE_MAX = 1024, MANTISSA_DIGITS_MAX = 19, EXPONENT_MAX = 100000 };

typedef struct Number {
    const char *start;
    const char *end;
    uint64_t mantissa; /* the digits without the point; wraps when there are more than 19 */
    int exponent;
    int digit_count; /* leading zeros included */
    bool is_negative;
    bool is_integer; /* has neither fraction nor exponent */
} Number;

static inline bool
is_digit(char byte)
{
    return (unsigned char)(byte - '0') < 10;
}

static inline const char *
digits_read(const char *position, const char *end, uint64_t *mantissa)
{
    uint64_t value = *mantissa;
    while (position < end && is_digit(*position)) {
        value = value * 10 + (uint64_t)(*position - '0');
        position++;
    }
    *mantissa = value;
    return position;
}

/* Returns the number that eight digits, the first in the lowest byte, stand for: joins them to pairs, then
 * fours, then all eight. */
static inline uint64_t
eight_digits(uint64_t digits)
{
    uint64_t mask = UINT64_C(0x000000ff000000ff);
    uint64_t pairs = digits * 10 + (digits >> 8);
    return ((pairs & mask) * ((UINT64_C(1000000) << 32) + 100) +
               ((pairs >> 16 & mask) * ((UINT64_C(10000) << 32) + 1))) >>
           32;
}

/* Reads digits like digits_read(), for long runs: up to eight at a time, without a branch for each digit. */
static inline const char *
long_digits_read(const char *position, const char *end, uint64_t *mantissa)
{
    static const uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    uint64_t ones = UINT64_C(0x0101010101010101);
    while (end - position >= 8) {
        uint64_t word = 0;
        memcpy(&word, position, sizeof word);
        uint64_t digits = word ^ (ones * '0');
        /* A byte above 9 may carry into those behind it, so that only the lowest mark is exact. */
        uint64_t marks = ((digits + ones * (0x7f - 9)) | digits) & (ones * 0x80);
        int count = marks == 0 ? 8 : __builtin_ctzll(marks) >> 3;
        if (count == 0) {
            return position;
        }
        *mantissa = *mantissa * powers[count] + eight_digits(digits << (64 - 8 * count));
        position += count;
        if (count < 8) {
            return position;
        }
    }
    return digits_read(position, end, mantissa);
}

/* Reads an exponent such as "e+12" or "E-3". Returns its end; NULL when it has no digit. */
static const char *
exponent_read(const char *position, const char *end, int *exponent)
{
    position++;
    bool is_negative = position < end && *position == '-';
    if (position < end && (*position == '-' || *position == '+')) {
        position++;
    }
    const char *first = position;
    int value = 0;
    for (; position < end && is_digit(*position); position++) {
        value = value < EXPONENT_MAX ? value * 10 + (*position - '0') : EXPONENT_MAX;
    }
    *exponent += is_negative ? -value : value;
    return position == first ? NULL : position;
}

/* Parses a number by the grammar of RFC 8259, section 6. Returns its end; NULL when it is not a number. */
static inline const char *
number_parse(const char *position, const char *end, Number *number)
{
    number->start = position;
    number->is_negative = position < end && *position == '-';
    position += number->is_negative;
    number->mantissa = 0;
    const char *whole = position;
    position = digits_read(position, end, &number->mantissa);
    ptrdiff_t digit_count = position - whole;
    if (digit_count == 0 || (digit_count > 1 && *whole == '0')) {
        return NULL;
    }
    number->exponent = 0;
    number->is_integer = true;
    if (position < end && *position == '.') {
        const char *fraction = ++position;
        position = long_digits_read(position, end, &number->mantissa);
        ptrdiff_t fraction_count = position - fraction;
        if (fraction_count == 0) {
            return NULL;
        }
        digit_count += fraction_count;
        number->exponent = -(int)(fraction_count < EXPONENT_MAX ? fraction_count : EXPONENT_MAX);
        number->is_integer = false;
    }
    if (position < end && (*position | 0x20) == 'e') {
        position = exponent_read(position, end, &number->exponent);
        number->is_integer = false;
    }
    number->digit_count = (int)(digit_count < EXPONENT_MAX ? digit_count : EXPONENT_MAX);
    number->end = position;
    return position;
}

/* Parses the next number without moving the scanner behind it. */
static inline bool
number_read(JsonScanner *scanner, Number *ret_number)
{
    const char *start = json_value_start(scanner);
    if (start >= scanner->end || (*start != '-' && !is_digit(*start))) {
        (void)json_stop(scanner, start, "expected a number");
        return false;
    }
    if (number_parse(start, scanner->end, ret_number) == NULL) {
        (void)json_stop(scanner, start, "a number is not written as JSON has it");
        return false;
    }
    return true;
}

bool
json_number_skip(JsonScanner *scanner)
{
    Number number;
    if (!number_read(scanner, &number)) {
        return false;
    }
    json_value_end(scanner, number.end);
    return true;
}

bool
json_number_text(JsonScanner *scanner, Slice *ret_text)
{
    Number number;
    if (!number_read(scanner, &number)) {
        return false;
    }
    *ret_text = slice_of(number.start, (size_t)(number.end - number.start));
    json_value_end(scanner, number.end);
    return true;
}

static bool
number_copy(const Number *number, char ret_text[NUMBER_SIZE_MAX + 1])
{
    size_t size = (size_t)(number->end - number->start);
    if (size > NUMBER_SIZE_MAX) {
        return false;
    }
    memcpy(ret_text, number->start, size);
    ret_text[size] = '\0';
    return true;
}

/* Returns true when the mantissa holds every digit, those that are leading zeros not counted. */
static inline bool
has_whole_mantissa(const Number *number)
{
    if (number->digit_count <= MANTISSA_DIGITS_MAX) {
        return true;
    }
    int zero_count = 0;
    for (const char *position = number->start; position < number->end; position++) {
        if (*position == '0') {
            zero_count++;
        } else if (*position != '.' && *position != '-') {
            break;
        }
    }
    return number->digit_count - zero_count <= MANTISSA_DIGITS_MAX;
}

typedef struct NamedDouble {
    const char *name;
    double value;
} NamedDouble;

static const NamedDouble named_doubles[] = {
    {"NaN", (double)NAN}, {"Infinity", (double)INFINITY}, {"-Infinity", -(double)INFINITY}};

/* Reads one of the three values that JSON's numbers cannot express, as a string. */
static bool
named_double_read(JsonScanner *scanner, double *ret_value)
{
    const char *start = scanner->position;
    Slice raw;
    bool has_escapes = false;
    if (!json_string_scan(scanner, start + 1, &raw, &has_escapes)) {
        return false;
    }
    for (size_t index = 0; index < COUNT_OF(named_doubles); index++) {
        if (slice_equals_string(raw, named_doubles[index].name)) {
            *ret_value = named_doubles[index].value;
            json_value_end(scanner, scanner->position);
            return true;
        }
    }
    return json_stop(scanner, start, "expected a number, 'NaN', 'Infinity' or '-Infinity'");
}

static inline bool
is_string_next(JsonScanner *scanner)
{
    const char *start = json_value_start(scanner);
    return start < scanner->end && *start == '"';
}

static bool
double_read_slowly(JsonScanner *scanner, const Number *number, double *ret_value)
{
    char text[NUMBER_SIZE_MAX + 1];
    if (!number_copy(number, text)) {
        return json_stop(scanner, number->start, "a number has more characters than 1024");
    }
    double value = strtod(text, NULL);
    if (isinf(value)) {
        return json_stop(scanner, number->start, "a number is too large for float64");
    }
    *ret_value = fabs(value);
    return true;
}

bool
json_double(JsonScanner *scanner, double *ret_value)
{
    if (is_string_next(scanner)) {
        return named_double_read(scanner, ret_value);
    }
    Number number;
    double value = 0;
    if (!number_read(scanner, &number)) {
        return false;
    }
    if ((!has_whole_mantissa(&number) || !decimal_to_double(number.mantissa, number.exponent, &value)) &&
        !double_read_slowly(scanner, &number, &value)) {
        return false;
    }
    *ret_value = number.is_negative ? -value : value;
    json_value_end(scanner, number.end);
    return true;
}

static bool
float_read_slowly(JsonScanner *scanner, const Number *number, float *ret_value)
{
    char text[NUMBER_SIZE_MAX + 1];
    if (!number_copy(number, text)) {
        return json_stop(scanner, number->start, "a number has more characters than 1024");
    }
    *ret_value = fabsf(strtof(text, NULL));
    return true;
}

bool
json_float(JsonScanner *scanner, float *ret_value)
{
    if (is_string_next(scanner)) {
        double named = 0;
        if (!named_double_read(scanner, &named)) {
            return false;
        }
        *ret_value = (float)named;
        return true;
    }
    Number number;
    float value = 0;
    if (!number_read(scanner, &number)) {
        return false;
    }
    if ((!has_whole_mantissa(&number) || !decimal_to_float(number.mantissa, number.exponent, &value)) &&
        !float_read_slowly(scanner, &number, &value)) {
        return false;
    }
    if (isinf(value)) {
        return json_stop(scanner, number.start, "a number is too large for float32");
    }
    *ret_value = number.is_negative ? -value : value;
    json_value_end(scanner, number.end);
    return true;
}

/* Reads the digits of an integer: a number without fraction and exponent, or a string of decimal digits. */
static bool
integer_text(JsonScanner *scanner, Slice *ret_text)
{
    const char *start = json_value_start(scanner);
    if (is_string_next(scanner)) {
        bool has_escapes = false;
        if (!json_string_scan(scanner, start + 1, ret_text, &has_escapes)) {
            return false;
        }
        scanner->needs_comma = true;
        return true;
    }
    Number number;
    if (!number_read(scanner, &number)) {
        return false;
    }
    if (!number.is_integer) {
        (void)json_stop(scanner, start, "expected an integer, without fraction and exponent");
        return false;
    }
    *ret_text = slice_of(number.start, (size_t)(number.end - number.start));
    json_value_end(scanner, number.end);
    return true;
}

bool
json_int64(JsonScanner *scanner, int64_t *ret_value)
{
    Slice text;
    if (!integer_text(scanner, &text)) {
        return false;
    }
    return slice_to_int64(text, ret_value) || json_stop(scanner, text.data, "expected an integer of int64");
}

bool
json_uint64(JsonScanner *scanner, uint64_t *ret_value)
{
    Slice text;
    if (!integer_text(scanner, &text)) {
        return false;
    }
    return slice_to_uint64(text, ret_value) || json_stop(scanner, text.data, "expected an integer of uint64");
}
