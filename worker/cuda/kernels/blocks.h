/* Weights of 2, 4 or 8 bits in blocks that share a scale and a zero point
 * (shared/ops/quantize/blocks_rule.h), as numbers, and multiplied while they are unpacked. Valid C11 and C++.
 */
#pragma once

#include "worker/cuda/blame.h"
#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CudaBlocks {
    const uint8_t *packed;
    const void *scales;        /* [row, block] */
    const uint8_t *zero_bytes; /* packed too, a row begins a byte; NULL: in `zeros` */
    const void *zeros;         /* [row, block]; NULL too: all in the middle of their range */
    const int32_t *groups;     /* the block that gives an element of a row its scale; NULL: its own */
    CudaBlame blame;           /* for groups that are no block */
    int64_t bits;
    int size_bits;     /* a block has 1 << size_bits elements, at least 16 */
    int64_t count;     /* blocks of a row */
    int64_t row;       /* elements of a row */
    int64_t row_bytes; /* from one row of packed weights to the next */
    int64_t rows;
} CudaBlocks;

/* Writes [rows, row] numbers: (weight - zero) × scale. float16, bfloat16 and float32, as scales and zeros. */
int cuda_unpack_blocks(CudaType type, const CudaBlocks *blocks, void *output, cudaStream_t stream);

/* output[m, n] = a[m] · weights[n] + bias[n]. */
typedef struct CudaBlockProduct {
    CudaBlocks blocks; /* rows of whole blocks */
    const void *a;     /* [batch, row] */
    const void *bias;  /* [rows], or NULL */
    void *output;      /* [batch, rows] */
    int64_t batch;
} CudaBlockProduct;

/* For few rows of `a`: the weights are read once for every four. The same types, whose sums are float. */
int cuda_multiply_blocks(CudaType type, const CudaBlockProduct *product, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
