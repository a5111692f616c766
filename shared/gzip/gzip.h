/* Whole documents in and out of gzip (RFC 1952).
 *
 * Ownership: the results are appended to the caller's Buffer.
 * Threads:   any; nothing is shared.
 * Errors:    gzip_inflate() says INVALID_ARGUMENT for data that are not gzip or are cut short,
 * OUT_OF_RANGE for
 *            data that would grow beyond the bound, RESOURCE_EXHAUSTED when memory ends. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/base/call.h"
#include "shared/base/slice.h"

enum { GZIP_LEVEL_FAST = 1, GZIP_LEVEL_USUAL = 6 };

/* Returns false when memory ends; the caller throws `output` away then. */
MUST_USE bool gzip_deflate(Buffer *output, Slice input, int level);

/* Returns the size that the last member says it inflates to, modulo 2^32 (RFC 1952 2.3.1, ISIZE); 0 for data
 * that are too short for one. Nothing holds it to be true. */
size_t gzip_announced_size(Slice input);

/* Inflates one or more gzip members that follow each other (RFC 1952 2.2). It never makes more than
 * `size_max` bytes, however small the input. */
MUST_USE Status gzip_inflate(Call *call, Slice input, size_t size_max, Buffer *output);
