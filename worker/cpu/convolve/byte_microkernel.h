/* The innermost loops of a convolution of bytes: a few positions by one panel of output channels, whose sums
 * stay in registers while the window passes. An instruction multiplies four channels of the input at once
 * (VNNI), or two and two of them. Sums are exact in 32 bits, but for wrapping, so that all instruction sets
 * give the same bits.
 *
 * Threads: any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    BYTE_FOUR = 4,          /* channels of the input that are multiplied at once */
    BYTE_VECTOR = 16,       /* output channels of a vector */
    BYTE_PANEL_VECTORS = 4, /* the most vectors of a panel */
    BYTE_ROWS_MAX = 6,      /* the most positions */
};

typedef struct ByteTile {
    const uint8_t *image; /* channels last (byte_image.h) */
    const int64_t *rows;  /* where the window of each position begins */
    const int64_t *taps;  /* offsets of the window's elements */
    int64_t tap_count;
    int64_t fours;        /* of channels */
    const int8_t *panel;  /* of the filter (byte_filter.h) */
    const int32_t *start; /* of the sums, for each output channel */
    int32_t *sums;        /* of each position, `vectors` × BYTE_VECTOR */
    int row_count;        /* 1 to BYTE_ROWS_MAX */
    int vectors;          /* 1 to BYTE_PANEL_VECTORS */
} ByteTile;

typedef void (*ByteMicroKernel)(const ByteTile *tile);

/* Returns the fastest one for this processor (vector/isa.h). */
ByteMicroKernel byte_microkernel(void);

/* Returns the one of an instruction set, for tests: "plain", "avx2", "avx512", "vnni". NULL when this
 * processor does not have it. */
ByteMicroKernel byte_microkernel_of(const char *isa);
