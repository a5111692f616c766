/* Rows collected from several tensors, each in the place that its index says; of rows with one index the last
 * one stays. Valid C11 and C++. */
#pragma once

#include <stddef.h>

#include "worker/cuda/blame.h"
#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One of the tensors. */
typedef struct CudaStitch {
    const int32_t *indices;
    const void *from;
    int64_t count; /* of indices */
    int64_t first; /* how many rows the tensors before have */
    int64_t inner; /* elements of a row */
} CudaStitch;

/* Raises *ret_size to one more than the largest index, and refuses those below 0. */
int cuda_stitch_size(
    const CudaStitch *stitch, int64_t *ret_size, const CudaBlame *blame, cudaStream_t stream);

/* Raises winners[index] to one more than the number of the row, over all tensors. */
int cuda_stitch_winners(const CudaStitch *stitch, int64_t *winners, cudaStream_t stream);

/* Copies the rows that have won, of elements of 1, 2, 4, 8 or 16 bytes. */
int cuda_stitch_rows(
    size_t element_size, const CudaStitch *stitch, const int64_t *winners, void *to, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
