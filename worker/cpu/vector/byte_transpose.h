/* Bytes and words in squares whose rows become columns, for images whose channels are turned from first to
 * last and back.
 *
 * Threads: any. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "worker/cpu/vector/functions.h"

#ifdef __clang__
#define TRANSPOSE_UNROLL _Pragma("unroll")
#else
#define TRANSPOSE_UNROLL _Pragma("GCC unroll 16")
#endif

enum { TRANSPOSE_BYTES = 16, TRANSPOSE_WORDS = 4 };

typedef uint8_t ByteRow __attribute__((vector_size(16)));
typedef int32_t WordRow __attribute__((vector_size(16)));

VECTOR_FUNCTION ByteRow
byte_row_low(ByteRow a, ByteRow b)
{
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

VECTOR_FUNCTION ByteRow
byte_row_high(ByteRow a, ByteRow b)
{
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/* Interleaves each row of the first half with its partner in the second: as many rounds as the number of rows
 * has bits turn rows into columns. */
#define BYTE_ROWS_ROUND(from, to, rows)                                                                      \
    TRANSPOSE_UNROLL for (ptrdiff_t row = 0; row < (rows) / 2; row++)                                        \
    {                                                                                                        \
        (to)[2 * row] = byte_row_low((from)[row], (from)[row + (rows) / 2]);                                 \
        (to)[2 * row + 1] = byte_row_high((from)[row], (from)[row + (rows) / 2]);                            \
    }

/* Turns a square of 16 by 16 bytes. */
VECTOR_FUNCTION void
byte_rows_transpose(ByteRow *rows)
{
    ByteRow turned[TRANSPOSE_BYTES];
    BYTE_ROWS_ROUND(rows, turned, TRANSPOSE_BYTES)
    BYTE_ROWS_ROUND(turned, rows, TRANSPOSE_BYTES)
    BYTE_ROWS_ROUND(rows, turned, TRANSPOSE_BYTES)
    BYTE_ROWS_ROUND(turned, rows, TRANSPOSE_BYTES)
}

/* Interleaves four rows: the four bytes of each column lie side by side then. */
VECTOR_FUNCTION void
byte_rows_interleave(ByteRow *rows)
{
    ByteRow turned[4];
    BYTE_ROWS_ROUND(rows, turned, 4)
    BYTE_ROWS_ROUND(turned, rows, 4)
}

/* Turns a square of 4 by 4 words. */
VECTOR_FUNCTION void
word_rows_transpose(WordRow *rows)
{
    WordRow a = __builtin_shufflevector(rows[0], rows[2], 0, 4, 1, 5);
    WordRow b = __builtin_shufflevector(rows[0], rows[2], 2, 6, 3, 7);
    WordRow c = __builtin_shufflevector(rows[1], rows[3], 0, 4, 1, 5);
    WordRow d = __builtin_shufflevector(rows[1], rows[3], 2, 6, 3, 7);
    rows[0] = __builtin_shufflevector(a, c, 0, 4, 1, 5);
    rows[1] = __builtin_shufflevector(a, c, 2, 6, 3, 7);
    rows[2] = __builtin_shufflevector(b, d, 0, 4, 1, 5);
    rows[3] = __builtin_shufflevector(b, d, 2, 6, 3, 7);
}

/* Copies at most 16 bytes in pieces whose sizes the compiler knows. */
VECTOR_FUNCTION void
byte_row_copy(uint8_t *to, const uint8_t *from, int64_t count)
{
    if (count >= TRANSPOSE_BYTES) {
        memcpy(to, from, TRANSPOSE_BYTES);
        return;
    }
    int64_t done = 0;
    if ((count & 8) != 0) {
        memcpy(to, from, 8);
        done = 8;
    }
    if ((count & 4) != 0) {
        memcpy(to + done, from + done, 4);
        done += 4;
    }
    if ((count & 2) != 0) {
        memcpy(to + done, from + done, 2);
        done += 2;
    }
    if ((count & 1) != 0) {
        to[done] = from[done];
    }
}
