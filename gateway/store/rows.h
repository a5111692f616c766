/* Rows of a statement's answer. Columns are read in the order of its select list:
 *
 *     RowReader reader = row_reader(call, &rows, 0);
 *     session.id.value = row_uuid(&reader);
 *     session.name = row_text(&reader);
 *     return row_end(call, &reader);
 *
 * Ownership: rows_done() frees the answer; texts and bytes are copied into the call's arena.
 * Threads:   one at a time.
 * Errors:    row_end() gives RESOURCE_EXHAUSTED when the arena had no room; a column of another type than
 *            asked for is a programming error. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/call.h"
#include "shared/base/slice.h"
#include "shared/base/uuid.h"
#include "shared/crypto/digest.h"

struct pg_result;

typedef struct Rows {
    struct pg_result *result;
    size_t count;
    uint64_t changed; /* rows that an insert, update or delete touched */
} Rows;

void rows_done(Rows *rows);
#define AUTO_ROWS CLEANUP(rows_done) Rows

typedef struct RowReader {
    const Rows *rows;
    int row;
    int column;
    Arena *arena;
    bool has_failed;
} RowReader;

RowReader row_reader(Call *call, const Rows *rows, size_t row);
MUST_USE Status row_end(Call *call, const RowReader *reader);

/* Read the next column. Null reads as zero, false, an empty text, no bytes. */
Uuid row_uuid(RowReader *reader);
int64_t row_int64(RowReader *reader); /* smallint and integer too */
double row_double(RowReader *reader);
bool row_boolean(RowReader *reader);
uint64_t row_time_us(RowReader *reader); /* timestamptz, microseconds since 1970 */
const char *row_text(RowReader *reader);
Slice row_bytes(RowReader *reader);
Sha256 row_digest(RowReader *reader);

/* Reads a bigint[] of at most `count_max` items; more is a programming error. */
size_t row_int64_array(RowReader *reader, size_t count_max, int64_t *ret_items);

/* Returns the bytes inside the answer, valid until rows_done(): for payloads too large to copy. */
Slice row_bytes_borrowed(RowReader *reader);
