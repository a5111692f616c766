#include "gateway/store/rows.h"

#include <assert.h>

#include <libpq-fe.h>

#include "shared/base/text.h"

enum { ARRAY_HEADER_SIZE = 20, ARRAY_ITEM_SIZE = 12 };

/* PostgreSQL counts microseconds from 2000-01-01. */
static const int64_t epoch_offset_us = INT64_C(946684800) * 1000000;

void
rows_done(Rows *rows)
{
    PQclear(rows->result);
    *rows = (Rows){0};
}

RowReader
row_reader(Call *call, const Rows *rows, size_t row)
{
    assert(row < rows->count);
    return (RowReader){.rows = rows, .row = (int)row, .arena = call->arena};
}

Status
row_end(Call *call, const RowReader *reader)
{
    assert(reader->column == PQnfields(reader->rows->result));
    return reader->has_failed ? call_fail_memory(call, "a row of the database") : STATUS_OK;
}

static Slice
next_column(RowReader *reader)
{
    const PGresult *result = reader->rows->result;
    int column = reader->column++;
    assert(column < PQnfields(result));
    if (PQgetisnull(result, reader->row, column) == 1) {
        return slice_of(NULL, 0);
    }
    return slice_of(
        PQgetvalue(result, reader->row, column), (size_t)PQgetlength(result, reader->row, column));
}

static uint64_t
big_endian(Slice bytes)
{
    uint64_t value = 0;
    for (size_t index = 0; index < bytes.size; index++) {
        value = value << 8 | (unsigned char)bytes.data[index];
    }
    return value;
}

static int64_t
signed_big_endian(Slice bytes)
{
    switch (bytes.size) {
    case 0:
        return 0;
    case 2:
        return (int16_t)big_endian(bytes);
    case 4:
        return (int32_t)big_endian(bytes);
    default:
        assert(bytes.size == 8);
        return (int64_t)big_endian(bytes);
    }
}

Uuid
row_uuid(RowReader *reader)
{
    Uuid uuid = {{0}};
    Slice bytes = next_column(reader);
    assert(bytes.data == NULL || bytes.size == sizeof uuid.bytes);
    if (bytes.data != NULL) {
        memcpy(uuid.bytes, bytes.data, sizeof uuid.bytes);
    }
    return uuid;
}

int64_t
row_int64(RowReader *reader)
{
    return signed_big_endian(next_column(reader));
}

double
row_double(RowReader *reader)
{
    double value = 0;
    Slice bytes = next_column(reader);
    if (bytes.data != NULL) {
        assert(bytes.size == sizeof value);
        uint64_t bits = big_endian(bytes);
        memcpy(&value, &bits, sizeof value);
    }
    return value;
}

bool
row_boolean(RowReader *reader)
{
    Slice bytes = next_column(reader);
    assert(bytes.size <= 1);
    return bytes.size == 1 && bytes.data[0] != 0;
}

uint64_t
row_time_us(RowReader *reader)
{
    Slice bytes = next_column(reader);
    assert(bytes.data == NULL || bytes.size == 8);
    return bytes.data == NULL ? 0 : (uint64_t)(signed_big_endian(bytes) + epoch_offset_us);
}

const char *
row_text(RowReader *reader)
{
    Slice bytes = next_column(reader);
    const char *text = bytes.size == 0 ? "" : text_copy(reader->arena, bytes);
    reader->has_failed = reader->has_failed || text == NULL;
    return text;
}

Slice
row_bytes(RowReader *reader)
{
    Slice bytes = next_column(reader);
    if (bytes.data == NULL) {
        return bytes;
    }
    const char *copy = text_copy(reader->arena, bytes);
    reader->has_failed = reader->has_failed || copy == NULL;
    return slice_of(copy, copy == NULL ? 0 : bytes.size);
}

Slice
row_bytes_borrowed(RowReader *reader)
{
    return next_column(reader);
}

Sha256
row_digest(RowReader *reader)
{
    Sha256 digest = {{0}};
    Slice bytes = next_column(reader);
    assert(bytes.data == NULL || bytes.size == SHA256_SIZE);
    if (bytes.data != NULL) {
        memcpy(digest.bytes, bytes.data, SHA256_SIZE);
    }
    return digest;
}

/* Reads the binary form of an array: dimensions, a null flag, the type, then length and lower bound of the
 * one dimension, then a length before each item. An empty array has no dimension. */
size_t
row_int64_array(RowReader *reader, size_t count_max, int64_t *ret_items)
{
    Slice bytes = next_column(reader);
    if (bytes.size < ARRAY_HEADER_SIZE) {
        return 0;
    }
    size_t count = big_endian(slice_part(bytes, 12, 4));
    assert(count <= count_max && bytes.size == ARRAY_HEADER_SIZE + count * ARRAY_ITEM_SIZE);
    for (size_t index = 0; index < count; index++) {
        Slice item = slice_part(bytes, ARRAY_HEADER_SIZE + index * ARRAY_ITEM_SIZE + 4, 8);
        ret_items[index] = signed_big_endian(item);
    }
    return count;
}
