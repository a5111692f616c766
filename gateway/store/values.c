#include "gateway/store/values.h"

#include <assert.h>
#include <stdio.h>

enum { FORMAT_TEXT = 0, FORMAT_BINARY = 1, ARRAY_COUNT_OFFSET = 12 };

static void
add_value(Values *values, const char *data, size_t size, int format)
{
    assert(values->count < VALUES_MAX && size <= INT32_MAX);
    values->data[values->count] = data;
    values->sizes[values->count] = (int)size;
    values->formats[values->count] = format;
    values->count++;
}

void
values_null(Values *values)
{
    add_value(values, NULL, 0, FORMAT_TEXT);
}

void
values_uuid(Values *values, Uuid uuid)
{
    if (uuid_is_zero(uuid)) {
        values_null(values);
        return;
    }
    assert(values->count < VALUES_MAX);
    char *bytes = values->inlined[values->count];
    memcpy(bytes, uuid.bytes, sizeof uuid.bytes);
    add_value(values, bytes, sizeof uuid.bytes, FORMAT_BINARY);
}

void
values_int64(Values *values, int64_t value)
{
    assert(values->count < VALUES_MAX);
    char *text = values->inlined[values->count];
    int size = snprintf(text, VALUE_INLINE_SIZE, "%lld", (long long)value);
    add_value(values, text, (size_t)size, FORMAT_TEXT);
}

void
values_double(Values *values, double value)
{
    assert(values->count < VALUES_MAX);
    char *text = values->inlined[values->count];
    int size = snprintf(text, VALUE_INLINE_SIZE, "%.17g", value);
    add_value(values, text, (size_t)size, FORMAT_TEXT);
}

void
values_boolean(Values *values, bool value)
{
    add_value(values, value ? "t" : "f", 1, FORMAT_TEXT);
}

void
values_bytes(Values *values, Slice bytes)
{
    add_value(values, bytes.data, bytes.size, FORMAT_BINARY);
}

void
values_digest(Values *values, const Sha256 *digest)
{
    assert(values->count < VALUES_MAX);
    char *bytes = values->inlined[values->count];
    memcpy(bytes, digest->bytes, sizeof digest->bytes);
    add_value(values, bytes, sizeof digest->bytes, FORMAT_BINARY);
}

void
values_text(Values *values, const char *text)
{
    add_value(values, text, text == NULL ? 0 : strlen(text), FORMAT_TEXT);
}

static void
append_uint32(Buffer *buffer, uint32_t value)
{
    const unsigned char bytes[] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
        (unsigned char)(value >> 8), (unsigned char)value};
    buffer_append(buffer, bytes, sizeof bytes);
}

/* Begins an array: one dimension, nulls allowed, type, count (filled in at the end), lower bound 1. */
SqlArray
sql_array(SqlType type)
{
    SqlArray array = {0};
    append_uint32(&array.buffer, 1);
    append_uint32(&array.buffer, 1);
    append_uint32(&array.buffer, (uint32_t)type);
    append_uint32(&array.buffer, 0);
    append_uint32(&array.buffer, 1);
    return array;
}

void
sql_array_done(SqlArray *array)
{
    buffer_done(&array->buffer);
}

void
sql_array_bytes(SqlArray *array, Slice bytes)
{
    array->count++;
    if (bytes.data == NULL) {
        append_uint32(&array->buffer, UINT32_MAX);
        return;
    }
    assert(bytes.size <= INT32_MAX);
    append_uint32(&array->buffer, (uint32_t)bytes.size);
    buffer_append_slice(&array->buffer, bytes);
}

void
sql_array_uuid(SqlArray *array, Uuid uuid)
{
    sql_array_bytes(array, slice_of(uuid.bytes, sizeof uuid.bytes));
}

void
sql_array_int64(SqlArray *array, int64_t value)
{
    array->count++;
    append_uint32(&array->buffer, 8);
    append_uint32(&array->buffer, (uint32_t)((uint64_t)value >> 32));
    append_uint32(&array->buffer, (uint32_t)value);
}

void
sql_array_double(SqlArray *array, double value)
{
    int64_t bits = 0;
    static_assert(sizeof bits == sizeof value, "a double precision has 8 bytes");
    memcpy(&bits, &value, sizeof bits);
    sql_array_int64(array, bits);
}

void
sql_array_text(SqlArray *array, const char *text)
{
    sql_array_bytes(array, slice_from_string(text));
}

bool
values_array(Values *values, SqlArray *array)
{
    if (!buffer_is_ok(&array->buffer) || array->buffer.size > INT32_MAX) {
        return false;
    }
    for (size_t index = 0; index < 4; index++) {
        array->buffer.data[ARRAY_COUNT_OFFSET + index] = (char)(array->count >> (24 - 8 * index));
    }
    values_bytes(values, buffer_slice(&array->buffer));
    return true;
}
