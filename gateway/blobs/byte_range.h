/* Ranges of bytes in HTTP headers (RFC 9110 14): Range of a request that reads, Content-Range of one that
 * writes.
 *
 * Threads: no state.
 * Errors:  INVALID_ARGUMENT for a Content-Range that cannot be read. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/call.h"
#include "shared/base/slice.h"

typedef struct ByteRange {
    uint64_t offset;
    uint64_t size;
} ByteRange;

typedef enum RangeAnswer {
    RANGE_WHOLE,         /* no range is asked for, or one that is not known here: several, or no bytes */
    RANGE_PART,          /* ret_range is filled */
    RANGE_UNSATISFIABLE, /* it begins behind the end */
} RangeAnswer;

/* Reads a Range header ("bytes=5-9", "bytes=5-", "bytes=-5") over `size` bytes; data NULL: absent. */
RangeAnswer range_read(Slice header, uint64_t size, ByteRange *ret_range);

/* A part of a whole that is sent. */
typedef struct ContentRange {
    uint64_t offset;
    uint64_t size;  /* of the part */
    uint64_t total; /* of the whole */
    bool is_empty;  /* no bytes ("*" for the range), wherever the whole goes on */
} ContentRange;

/* Reads "bytes 5-9/100", or with "*" for "5-9". */
MUST_USE Status content_range_read(Call *call, Slice header, ContentRange *ret_range);
