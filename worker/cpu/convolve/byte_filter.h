/* A filter of bytes in the order in which byte_microkernel.h reads it. The output channels of a group are cut
 * into panels of up to BYTE_PANEL_VECTORS vectors; in a panel lie, for each element of the window and each
 * four channels of the input, the four bytes of each output channel. Bytes are signed: unsigned ones have
 * their highest bit flipped. What is missing is zeros.
 *
 * Threads: any. */
#pragma once

#include <stdbool.h>

#include "worker/cpu/convolve/byte_microkernel.h"
#include "worker/cpu/sizes.h"

typedef struct ByteFilterShape {
    int64_t groups;
    int64_t inputs;  /* channels of a group */
    int64_t outputs; /* of a group */
    int64_t taps;    /* elements of the window */
} ByteFilterShape;

/* Returns the output channels of a group, with those that fill up its last vector. */
static inline int64_t
byte_filter_lanes(const ByteFilterShape *shape)
{
    return divide_up(shape->outputs, BYTE_VECTOR) * BYTE_VECTOR;
}

static inline int64_t
byte_filter_fours(const ByteFilterShape *shape)
{
    return divide_up(shape->inputs, BYTE_FOUR);
}

/* Returns the bytes of the packed filters of a group. */
static inline int64_t
byte_filter_size(const ByteFilterShape *shape)
{
    return byte_filter_lanes(shape) * shape->taps * byte_filter_fours(shape) * BYTE_FOUR;
}

/* Packs the filters of all groups; *ret_sums get the sum of the packed bytes for each lane of each group. */
void byte_filter_pack(const ByteFilterShape *shape, const uint8_t *filter, bool is_signed, int8_t *ret_panels,
    int32_t *ret_sums);
