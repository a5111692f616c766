/* The bytes that wait for the socket: copied ones (frame headers, control frames, small bodies) and pieces
 * of segments, in order, gathered for one sendmsg().
 *
 * Ownership: holds a reference on every segment with bytes in it.
 * Threads:   the connection's.
 * Errors:    false when there is no memory; the output can then only be closed. */
#pragma once

#include <stdbool.h>
#include <sys/uio.h>

#include "shared/base/buffer.h"
#include "shared/h2/segment.h"

enum { OUTPUT_VECTORS_MAX = 64 };

typedef struct Piece Piece;

typedef struct Output {
    SegmentStore *store;
    Buffer copied;
    size_t copied_sent;
    Piece *pieces;
    size_t piece_first;
    size_t piece_count; /* with those before piece_first, which have left */
    size_t piece_capacity;
    size_t size; /* bytes waiting */
} Output;

void output_done(Output *output); /* drops the bytes that wait and their references */

MUST_USE bool output_copy(Output *output, const void *data, size_t size);

/* Adds the next `size` unsent bytes of the segment; small pieces are copied. */
MUST_USE bool output_add(Output *output, Segment *segment, size_t size);

/* Points vectors at the first waiting bytes; returns the number of vectors. */
size_t output_gather(const Output *output, struct iovec ret_vectors[OUTPUT_VECTORS_MAX]);

/* Returns the pointer without const, for C interfaces that only read but do not say so. */
static inline void *
output_mutable(const void *data)
{
    void *mutable = NULL;
    memcpy(&mutable, &data, sizeof mutable);
    return mutable;
}

/* Drops the first `size` bytes, which have left. */
void output_advance(Output *output, size_t size);
