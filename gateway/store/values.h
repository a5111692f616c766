/* The parameters of one statement, added in the order $1, $2, … They are sent beside the SQL, never in it.
 *
 * Ownership: borrows the bytes of texts and arrays until the statement has run; a zeroed Values is an
 * empty one.
 * Threads:   one at a time.
 * Errors:    values_array() returns false when memory was lacking. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/buffer.h"
#include "shared/base/slice.h"
#include "shared/base/uuid.h"
#include "shared/crypto/digest.h"

enum { VALUES_MAX = 24, VALUE_INLINE_SIZE = 32 };

/* Must not be copied: `data` points into `inlined`. */
typedef struct Values {
    int count;
    const char *data[VALUES_MAX];
    int sizes[VALUES_MAX];
    int formats[VALUES_MAX];
    char inlined[VALUES_MAX][VALUE_INLINE_SIZE];
} Values;

void values_null(Values *values);
void values_uuid(Values *values, Uuid uuid); /* a zero UUID is null */
void values_int64(Values *values, int64_t value);
void values_double(Values *values, double value);
void values_boolean(Values *values, bool value);
void values_bytes(Values *values, Slice bytes); /* bytea, text, or an array of SqlArray; NULL data is null */
void values_digest(Values *values, const Sha256 *digest);

/* Adds a text for any type, JSON and timestamps included, in the form that people write. NULL is null. */
void values_text(Values *values, const char *text);

/* An array parameter: one statement for many rows (`unnest($1::uuid[], $2::text[])`). It must live until
 * the statement has run. */
typedef struct SqlArray {
    Buffer buffer;
    uint32_t count;
} SqlArray;

/* The types' numbers in every PostgreSQL (pg_type.dat). */
typedef enum SqlType {
    SQL_BYTES = 17,
    SQL_INT64 = 20,
    SQL_TEXT = 25,
    SQL_DOUBLE = 701,
    SQL_UUID = 2950
} SqlType;

SqlArray sql_array(SqlType type);
void sql_array_done(SqlArray *array);
#define AUTO_SQL_ARRAY CLEANUP(sql_array_done) SqlArray

void sql_array_uuid(SqlArray *array, Uuid uuid);
void sql_array_int64(SqlArray *array, int64_t value);
void sql_array_double(SqlArray *array, double value);
void sql_array_text(SqlArray *array, const char *text); /* NULL is null */
void sql_array_bytes(SqlArray *array, Slice bytes);     /* NULL data is null */

MUST_USE bool values_array(Values *values, SqlArray *array);
