#include "gateway/store/sql_array.h"

#include <assert.h>

enum { COUNT_OFFSET = 12 };

static void
append_uint32(Buffer *buffer, uint32_t value)
{
    const unsigned char bytes[] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
        (unsigned char)(value >> 8), (unsigned char)value};
    buffer_append(buffer, bytes, sizeof bytes);
}

/* One dimension, nulls allowed, type, count (filled in at the end), lower bound 1. */
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
        array->buffer.data[COUNT_OFFSET + index] = (char)(array->count >> (24 - 8 * index));
    }
    values_bytes(values, buffer_slice(&array->buffer));
    return true;
}
