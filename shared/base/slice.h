/* A view of bytes that somebody else owns: a header value, a node's name inside an upload, a payload.
 *
 * Ownership: none; the bytes must outlive the slice.
 * Threads:   any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shared/base/compiler.h"

typedef struct Slice {
    const char *data;
    size_t size;
} Slice;

#define SLICE(literal) ((Slice){.data = (literal), .size = sizeof(literal) - 1})

/* The two arguments of printf's "%.*s". */
#define SLICE_PRINT(slice) (int)(slice).size, (slice).data

static inline Slice
slice_of(const void *data, size_t size)
{
    Slice slice = {.data = (const char *)data, .size = size};
    return slice;
}

static inline Slice
slice_from_string(const char *string)
{
    return slice_of(string, string == NULL ? 0 : strlen(string));
}

static inline bool
slice_equal(Slice left, Slice right)
{
    return left.size == right.size && (left.size == 0 || memcmp(left.data, right.data, left.size) == 0);
}

static inline bool
slice_equals_string(Slice slice, const char *string)
{
    return slice_equal(slice, slice_from_string(string));
}

bool slice_equal_ignoring_case(Slice left, Slice right); /* ASCII letters only */
bool slice_starts_with(Slice slice, Slice prefix);
bool slice_ends_with(Slice slice, Slice suffix);

/* Compares bytes, then lengths: a total order for sorted tables and canonical forms. */
int slice_compare(Slice left, Slice right);

/* Returns the first or last position of `byte`, or slice.size when there is none. */
size_t slice_find(Slice slice, char byte);
size_t slice_find_last(Slice slice, char byte);

/* Returns the part of a path up to its last '/', with it; "" when it has none. */
Slice slice_folder(Slice path);

/* Returns at most `size` bytes from `start`, clamped to the slice. */
Slice slice_part(Slice slice, size_t start, size_t size);
Slice slice_trim(Slice slice); /* without spaces and tabs at both ends */

/* Splits off the part before `separator` and moves *rest past it: "a,,b" gives "a", "", "b". Returns false
 * when *rest is used up (its data is NULL then). */
bool slice_split(Slice *rest, char separator, Slice *ret_part);

/* Reads the strict decimal form that numbers from outside must have: digits, a '-' for negative ones,
 * nothing else. A leading '+', a space and an overflow are refused; `ret_value` is untouched then. */
bool slice_to_uint64(Slice slice, uint64_t *ret_value);
bool slice_to_int64(Slice slice, int64_t *ret_value);
