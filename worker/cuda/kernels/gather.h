/* Elements selected by index. An index that is out of range is refused, and selects zeros. Valid C11 and
 * C++. */
#pragma once

#include <stddef.h>

#include "worker/cuda/blame.h"
#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_GATHER_RANK_MAX = 16 };

typedef struct CudaIndices {
    const void *data;
    CudaType type;       /* an integer type */
    bool count_from_end; /* below zero, as ONNX's do */
} CudaIndices;

/* Rows of `inner` elements: each of `outer` lines of `size` rows gives the `count` rows that its batch's
 * indices name; `lines` of them are a batch. */
typedef struct CudaGatherRows {
    CudaIndices indices;
    const void *from;
    void *to;
    int64_t outer;
    int64_t lines;
    int64_t count;
    int64_t size;
    int64_t inner;
} CudaGatherRows;

/* Slices of `inner` elements, named by tuples of `depth` coordinates in `sizes`. A batch has `tuples` of
 * them, and `slices` slices to choose from. */
typedef struct CudaGatherSlices {
    CudaIndices indices;
    const void *from;
    void *to;
    int64_t batches;
    int64_t tuples;
    int64_t slices;
    int64_t inner;
    int depth;
    int64_t sizes[CUDA_GATHER_RANK_MAX];
} CudaGatherSlices;

/* Elements, each of which takes the place of its index (whose tensor has these sizes) but for the coordinate
 * along one axis, which the index is. */
typedef struct CudaGatherElements {
    CudaIndices indices;
    const void *from;
    void *to;
    int64_t count;
    int rank;
    int64_t sizes[CUDA_GATHER_RANK_MAX];
    int64_t strides[1][CUDA_GATHER_RANK_MAX]; /* of `from`; 0 along the axis */
    int64_t size;                             /* of `from`, along the axis */
    int64_t along;                            /* its stride there */
} CudaGatherElements;

/* Elements of 1, 2, 4, 8 or 16 bytes. Indices are checked also where rows have no elements. */
int cuda_gather_rows(
    size_t element_size, const CudaGatherRows *gather, const CudaBlame *blame, cudaStream_t stream);
int cuda_gather_slices(
    size_t element_size, const CudaGatherSlices *gather, const CudaBlame *blame, cudaStream_t stream);
int cuda_gather_elements(
    size_t element_size, const CudaGatherElements *gather, const CudaBlame *blame, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
