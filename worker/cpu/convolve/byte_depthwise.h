/* Convolutions of bytes by filters of one channel: a channel of the input, widened to 16 bits without its
 * zero point and with its padding, is summed row by row. Sums are exact, modulo 2³².
 *
 * Threads: any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/cpu/convolve/byte_extent.h"

enum { BYTE_DEPTHWISE_LANES = 32 }; /* positions that are summed at once */

typedef struct ByteDepthwise {
    ByteExtent rows;
    ByteExtent columns;
    bool is_signed;
    int32_t zero_point; /* of the input */
} ByteDepthwise;

/* Returns false for a channel whose padding makes it too large to be widened. The others below want true. */
bool byte_depthwise_fits(const ByteDepthwise *depthwise);

/* Returns how many numbers of 16 bits a channel with its padding takes. */
int64_t byte_depthwise_room(const ByteDepthwise *depthwise);

/* Widens a channel into the room. */
void byte_depthwise_widen(const ByteDepthwise *depthwise, const uint8_t *plane, int16_t *room);

/* Sums row `row` of the output: rows.size × columns.size factors, the filter without its zero point, over the
 * widened channel. Behind the row's end, `sums` has room for
 * BYTE_DEPTHWISE_LANES more, which are overwritten. */
void byte_depthwise_row(
    const ByteDepthwise *depthwise, const int16_t *room, const int32_t *factors, int64_t row, int32_t *sums);
