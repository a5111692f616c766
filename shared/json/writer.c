#include "shared/json/writer.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/base/base64.h"
#include "shared/base/utf8.h"
#include "shared/json/decimal.h"
#include "shared/json/scan.h"

JsonWriter
json_writer(Buffer *buffer)
{
    assert(buffer != NULL);
    return (JsonWriter){.buffer = buffer};
}

/* Writes the comma that belongs between the previous value and this one. */
static void
value_begin(JsonWriter *writer)
{
    if (writer->follows_name) {
        writer->follows_name = false;
        return;
    }
    if (writer->has_member[writer->depth]) {
        buffer_append_byte(writer->buffer, ',');
    }
    writer->has_member[writer->depth] = true;
}

static void
container_begin(JsonWriter *writer, char opener)
{
    value_begin(writer);
    if (writer->depth + 1 >= JSON_WRITER_DEPTH_MAX) {
        writer->buffer->has_failed = true;
    } else {
        writer->has_member[writer->depth + 1] = false;
    }
    /* The Buffer has failed past the maximum; the depth still counts, so that the matching ends are found. */
    writer->depth += buffer_is_ok(writer->buffer) ? 1 : 0;
    buffer_append_byte(writer->buffer, opener);
}

static void
container_end(JsonWriter *writer, char closer)
{
    buffer_append_byte(writer->buffer, closer);
    writer->depth -= buffer_is_ok(writer->buffer) ? 1 : 0;
    assert(writer->depth >= 0);
}

void
json_write_object_begin(JsonWriter *writer)
{
    container_begin(writer, '{');
}

void
json_write_object_end(JsonWriter *writer)
{
    container_end(writer, '}');
}

void
json_write_array_begin(JsonWriter *writer)
{
    container_begin(writer, '[');
}

void
json_write_array_end(JsonWriter *writer)
{
    container_end(writer, ']');
}

/* Returns true for C1 controls (C2 80 to C2 9F), U+2028 and U+2029 (E2 80 A8, E2 80 A9): some readers take
 * them for line ends without showing them. */
static bool
is_hidden_character(const char *position, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)position;
    return (size == 2 && bytes[0] == 0xc2 && bytes[1] <= 0x9f) ||
           (size == 3 && bytes[0] == 0xe2 && bytes[1] == 0x80 && (bytes[2] == 0xa8 || bytes[2] == 0xa9));
}

static void
beyond_ascii_write(Buffer *buffer, const char **position, const char *end)
{
    size_t size = utf8_character_size(*position, end);
    if (size == 0) {
        buffer_append_string(buffer, "\xef\xbf\xbd");
    } else if (is_hidden_character(*position, size)) {
        unsigned last = (unsigned char)(*position)[size - 1];
        buffer_append_format(buffer, "\\u%04x", size == 2 ? last : 0x2000 | (last & 0x3f));
    } else {
        buffer_append(buffer, *position, size);
    }
    *position += size == 0 ? 1 : size;
}

/* The letter of JSON's short escapes; 0 stands for the long form, "\u00xx". */
static const char short_escapes[128] = {
    ['"'] = '"',
    ['\\'] = '\\',
    ['\b'] = 'b',
    ['\f'] = 'f',
    ['\n'] = 'n',
    ['\r'] = 'r',
    ['\t'] = 't',
};

static void
special_write(Buffer *buffer, const char **position, const char *end)
{
    unsigned char byte = (unsigned char)**position;
    if (byte >= 0x80) {
        beyond_ascii_write(buffer, position, end);
        return;
    }
    if (short_escapes[byte] == '\0') {
        buffer_append_format(buffer, "\\u%04x", (unsigned)byte);
    } else {
        const char escape[2] = {'\\', short_escapes[byte]};
        buffer_append(buffer, escape, sizeof escape);
    }
    (*position)++;
}

static void
string_write(Buffer *buffer, Slice value)
{
    const char *position = value.data;
    const char *end = value.size == 0 ? value.data : value.data + value.size;
    buffer_append_byte(buffer, '"');
    while (position < end) {
        const char *run_end = json_plain_run_end(position, end);
        buffer_append(buffer, position, (size_t)(run_end - position));
        position = run_end;
        if (position < end) {
            special_write(buffer, &position, end);
        }
    }
    buffer_append_byte(buffer, '"');
}

void
json_write_name_slice(JsonWriter *writer, Slice name)
{
    value_begin(writer);
    string_write(writer->buffer, name);
    buffer_append_byte(writer->buffer, ':');
    writer->follows_name = true;
}

void
json_write_name(JsonWriter *writer, const char *name)
{
    json_write_name_slice(writer, slice_from_string(name));
}

void
json_write_slice(JsonWriter *writer, Slice value)
{
    value_begin(writer);
    string_write(writer->buffer, value);
}

void
json_write_string(JsonWriter *writer, const char *value)
{
    if (value == NULL) {
        json_write_null(writer);
        return;
    }
    json_write_slice(writer, slice_from_string(value));
}

void
json_write_base64(JsonWriter *writer, Slice bytes)
{
    value_begin(writer);
    buffer_append_byte(writer->buffer, '"');
    size_t size = base64_encoded_size(bytes.size);
    char *text = buffer_reserve(writer->buffer, size);
    if (text != NULL) {
        base64_encode(bytes, text);
        buffer_grow(writer->buffer, size);
    }
    buffer_append_byte(writer->buffer, '"');
}

/* Numbers whose decimal point is within these bounds of the first digit are written plainly, others with
 * an exponent. */
enum { PLAIN_POINT_MIN = -5, PLAIN_POINT_MAX = 16, DIGITS_MAX = 20, NUMBER_TEXT_SIZE = 40 };

static size_t
literal_write(Slice literal, char *ret_text)
{
    memcpy(ret_text, literal.data, literal.size);
    return literal.size;
}

/* Writes decimal digits to the end of `digits` and returns the part that they fill. */
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

/* Writes the form "d.ddde-7". */
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
    int exponent = point - 1;
    *text++ = 'e';
    if (exponent < 0) {
        *text++ = '-';
    }
    char exponent_digits[DIGITS_MAX];
    Slice magnitude = digits_write((uint64_t)abs(exponent), exponent_digits);
    memcpy(text, magnitude.data, magnitude.size);
    return (size_t)(text - ret_text) + magnitude.size;
}

/* Writes the form "0.00ddd", "dd.dd" or "dddd000"; `point` digits stand before the decimal point. */
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
    int before = count < point ? count : point;
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
    Slice digits = digits_write(decimal.mantissa, memory);
    int count = (int)digits.size;
    int point = count + decimal.exponent;
    return point > PLAIN_POINT_MIN && point <= PLAIN_POINT_MAX
               ? plain_write(digits.data, count, point, ret_text)
               : scientific_write(digits.data, count, point, ret_text);
}

/* Writes NaN, the infinities and zeros, which have no Decimal. Returns false for other numbers. */
static bool
write_special_number(double value, char *ret_text, size_t *ret_size)
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

/* Writes the shortest decimal that reads back as the same number, or one of "NaN", "Infinity", "-Infinity"
 * with its quotes. Returns the number of characters; no NUL follows them. */
static size_t
write_double_text(double value, char ret_text[NUMBER_TEXT_SIZE])
{
    size_t size = 0;
    if (write_special_number(value, ret_text, &size)) {
        return size;
    }
    Decimal decimal;
    if (fabs(value) >= DBL_MIN && decimal_from_double(fabs(value), &decimal)) {
        ret_text[0] = '-';
        size_t sign_size = value < 0 ? 1 : 0;
        return sign_size + decimal_write(decimal, ret_text + sign_size);
    }
    /* Fewer digits than DBL_DIG are only needed for subnormal numbers: %g strips trailing zeros of the
     * others. */
    for (int digits = isnormal(value) ? DBL_DIG : 1; digits <= DBL_DECIMAL_DIG; digits++) {
        size = (size_t)snprintf(ret_text, NUMBER_TEXT_SIZE, "%.*g", digits, value);
        if (strtod(ret_text, NULL) == value) {
            break;
        }
    }
    return size;
}

static size_t
write_float_text(float value, char ret_text[NUMBER_TEXT_SIZE])
{
    size_t size = 0;
    if (write_special_number((double)value, ret_text, &size)) {
        return size;
    }
    Decimal decimal;
    if (fabsf(value) >= FLT_MIN && decimal_from_float(fabsf(value), &decimal)) {
        ret_text[0] = '-';
        size_t sign_size = value < 0 ? 1 : 0;
        return sign_size + decimal_write(decimal, ret_text + sign_size);
    }
    for (int digits = isnormal(value) ? FLT_DIG : 1; digits <= FLT_DECIMAL_DIG; digits++) {
        size = (size_t)snprintf(ret_text, NUMBER_TEXT_SIZE, "%.*g", digits, (double)value);
        if (strtof(ret_text, NULL) == value) {
            break;
        }
    }
    return size;
}

void
json_write_int64(JsonWriter *writer, int64_t value)
{
    value_begin(writer);
    buffer_append_int64(writer->buffer, value);
}

void
json_write_uint64(JsonWriter *writer, uint64_t value)
{
    value_begin(writer);
    buffer_append_uint64(writer->buffer, value);
}

void
json_write_raw(JsonWriter *writer, Slice text)
{
    value_begin(writer);
    buffer_append_slice(writer->buffer, text);
}

void
json_write_boolean(JsonWriter *writer, bool value)
{
    json_write_raw(writer, value ? SLICE("true") : SLICE("false"));
}

void
json_write_null(JsonWriter *writer)
{
    json_write_raw(writer, SLICE("null"));
}

void
json_write_double(JsonWriter *writer, double value)
{
    char text[NUMBER_TEXT_SIZE];
    json_write_raw(writer, slice_of(text, write_double_text(value, text)));
}

void
json_write_float(JsonWriter *writer, float value)
{
    char text[NUMBER_TEXT_SIZE];
    json_write_raw(writer, slice_of(text, write_float_text(value, text)));
}

void
json_member_string(JsonWriter *writer, const char *name, const char *value)
{
    json_write_name(writer, name);
    json_write_string(writer, value);
}

void
json_member_slice(JsonWriter *writer, const char *name, Slice value)
{
    json_write_name(writer, name);
    json_write_slice(writer, value);
}

void
json_member_slices(JsonWriter *writer, const char *name, const Slice *values, size_t count)
{
    assert(values != NULL || count == 0);
    json_write_name(writer, name);
    json_write_array_begin(writer);
    for (size_t index = 0; index < count; index++) {
        json_write_slice(writer, values[index]);
    }
    json_write_array_end(writer);
}

void
json_member_int64(JsonWriter *writer, const char *name, int64_t value)
{
    json_write_name(writer, name);
    json_write_int64(writer, value);
}

void
json_member_uint64(JsonWriter *writer, const char *name, uint64_t value)
{
    json_write_name(writer, name);
    json_write_uint64(writer, value);
}

void
json_member_boolean(JsonWriter *writer, const char *name, bool value)
{
    json_write_name(writer, name);
    json_write_boolean(writer, value);
}

void
json_member_double(JsonWriter *writer, const char *name, double value)
{
    json_write_name(writer, name);
    json_write_double(writer, value);
}
