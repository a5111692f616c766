/* An image of bytes with its channels last and with its padding, as the loops of byte_microkernel.h read it:
 * all channels of a group that a window sees at one of its elements lie side by side, and each element of the
 * window is an offset that is the same for all positions. Bytes are unsigned: signed ones have their highest
 * bit flipped.
 *
 * Threads: any. */
#pragma once

#include <stdbool.h>

#include "worker/cpu/convolve/byte_extent.h"

enum {
    BYTE_IMAGE_RANK = 4, /* dimensions that an image lacks come first and have one position */
};

typedef struct ByteImage {
    ByteExtent axes[BYTE_IMAGE_RANK];
    int64_t seen[BYTE_IMAGE_RANK];
    int64_t channels; /* of one group */
    int64_t groups;
    int64_t group_step; /* bytes of a group's channels: a multiple of four */
    int64_t pixel_step; /* bytes of all channels */
    int64_t pixels;
    int64_t lines;
    bool is_signed;
    uint8_t padding; /* the zero point, as an unsigned byte */
} ByteImage;

/* Returns false for an image that its padding makes too large; the functions below want true. */
bool byte_image_init(ByteImage *image, const ByteExtent *axes, int64_t channels, int64_t groups);

/* Writes the offsets of the window's elements, in pixels. */
void byte_image_taps(const ByteImage *image, int64_t *ret_taps);

/* Writes where the windows of `count` positions of the output begin, in pixels. */
void byte_image_positions(const ByteImage *image, int64_t first, int64_t count, int64_t *ret_positions);

/* Writes line `line` of an image to `to`: `input` are all channels of the input, and may be read up to `end`.
 */
void byte_image_line(
    const ByteImage *image, const uint8_t *input, const uint8_t *end, int64_t line, uint8_t *to);

/* Sums the channels of each pixel and group of a line that was written, without what fills groups up. */
void byte_image_sum_line(const ByteImage *image, const uint8_t *line, int32_t *sums);
