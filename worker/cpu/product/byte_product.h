/* Products of matrices of bytes, and of batches of them, on the loops of product/integer.h, in tiles that the
 * device's threads share. What becomes of the sums is the caller's: all of them are exact.
 *
 * Ownership: byte_panels_new() … byte_panels_free().
 * Threads:   byte_product_run() on any thread, several at once.
 * Errors:    RESOURCE_EXHAUSTED without memory; INVALID_ARGUMENT for zero points that do not fit. */
#pragma once

#include "worker/runtime/kernel.h"

/* A constant matrix on the right, packed. */
typedef struct BytePanels BytePanels;

bool byte_product_has(Dtype dtype); /* int8 and uint8 */

/* NULL without memory, and for a tensor that is no matrix of bytes. */
BytePanels *byte_panels_new(const Tensor *matrix);
void byte_panels_free(BytePanels *panels); /* NULL is allowed */

/* Takes the sums of `count` columns from `column` on of a row; rows count on through the batches. Called on
 * any thread. */
typedef void (*ByteFinish)(
    const void *context, int64_t row, int64_t column, int64_t count, const int32_t *sums);

typedef struct ByteProduct {
    uint32_t a; /* the inputs that hold the matrices and their zero points */
    uint32_t b;
    uint32_t a_zero;          /* one for all rows, or one for each; may be absent */
    uint32_t b_zero;          /* one for all columns, or one for each; may be absent */
    const BytePanels *panels; /* of b, or NULL */
    const Shape *output;
    ByteFinish finish;
    const void *context;
} ByteProduct;

MUST_USE Status byte_product_run(KernelContext *context, const ByteProduct *product);
