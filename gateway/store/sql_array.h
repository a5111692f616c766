/* An array parameter: one statement for many rows (`unnest($1::uuid[], $2::text[])`).
 *
 * Ownership: sql_array_done() frees it; values_array() borrows it until the statement has run.
 * Errors:    those of Buffer: values_array() says false when memory was lacking. */
#pragma once

#include "gateway/store/values.h"
#include "shared/base/buffer.h"

typedef struct SqlArray {
    Buffer buffer;
    uint32_t count;
} SqlArray;

/* The types' numbers in every PostgreSQL (pg_type.dat). */
typedef enum SqlType { SQL_BYTES = 17, SQL_INT64 = 20, SQL_TEXT = 25, SQL_UUID = 2950 } SqlType;

SqlArray sql_array(SqlType type);
void sql_array_done(SqlArray *array);
#define AUTO_SQL_ARRAY CLEANUP(sql_array_done) SqlArray

void sql_array_uuid(SqlArray *array, Uuid uuid);
void sql_array_int64(SqlArray *array, int64_t value);
void sql_array_text(SqlArray *array, const char *text); /* NULL is null */
void sql_array_bytes(SqlArray *array, Slice bytes);     /* NULL data is null */

MUST_USE bool values_array(Values *values, SqlArray *array);
