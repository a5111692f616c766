/* The rows that Gather, GatherV2 and onnx::Gather select: what their kernels read before they move any.
 * Threads: any. */
#pragma once

#include "worker/reference/scratch.h"

typedef struct GatherRows {
    Lines lines;     /* of the params, along the axis whose elements are selected */
    int64_t batches; /* of params and indices, which are of the same number; 0: there is nothing to gather */
    int64_t count;   /* indices of a batch */
} GatherRows;

/* Reads the axis and the batches, of shapes that inference has checked. */
MUST_USE Status gather_rows_read(KernelContext *context, GatherRows *ret_rows);
