/* What waits for the socket: copied bytes (frame headers, control frames, small bodies) and pieces of
 * segments, in order, gathered for one sendmsg().
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
    size_t piece_count; /* those before piece_first included */
    size_t piece_capacity;
    size_t size; /* bytes waiting */
} Output;

void output_done(Output *output); /* what waits is dropped, its segments unreferenced */

MUST_USE bool output_copy(Output *output, const void *data, size_t size);

/* The next `size` unsent bytes of the segment; small pieces are copied. */
MUST_USE bool output_add(Output *output, Segment *segment, size_t size);

/* The front of what waits; the number of vectors filled. */
size_t output_gather(const Output *output, struct iovec ret_vectors[OUTPUT_VECTORS_MAX]);

/* For the C interfaces that only read, and forgot to say so. */
static inline void *
output_mutable(const void *data)
{
    void *mutable = NULL;
    memcpy(&mutable, &data, sizeof mutable);
    return mutable;
}

/* The first `size` bytes have left. */
void output_advance(Output *output, size_t size);
