/* The innermost loops of a product of matrices of bytes: a few rows of the output by one panel of columns,
 * whose sums stay in registers while the inner dimension passes. Sums of products are exact in 32 bits, but
 * for wrapping, so that all instruction sets give the same bits.
 *
 * The inner dimension comes in groups of four: an instruction multiplies four neighbours (VNNI), or two and
 * two of them.
 *
 * Threads: any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    INTEGER_GROUP = 4,    /* of the inner dimension */
    INTEGER_COLUMNS = 64, /* of a panel */
    INTEGER_ROWS_MAX = 6,
    INTEGER_GROUP_SIZE = INTEGER_GROUP * INTEGER_COLUMNS, /* bytes of a panel for one group */
};

/* Rows of signed bytes by a panel of unsigned ones. */
typedef struct IntegerTile {
    const int8_t *a; /* row after row, a_step apart */
    int64_t a_step;
    const uint8_t *panel; /* for each group, the four bytes of each column */
    int64_t groups;
    int32_t *sums; /* rows of INTEGER_COLUMNS */
    int rows;      /* 1 to INTEGER_ROWS_MAX */
} IntegerTile;

typedef void (*IntegerMicroKernel)(const IntegerTile *tile);

/* Returns the fastest one for this processor (isa.h). */
IntegerMicroKernel integer_microkernel(void);

/* Returns the one of an instruction set, for tests: "plain", "avx2", "avx512", "vnni". NULL when this
 * processor does not have it. */
IntegerMicroKernel integer_microkernel_of(const char *isa);
