/* Slices folded together by where they go: each row of a target takes, in the order of the slices, those
 * whose place it is. The order is always the same, so that sums of floats are. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/gather.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The rules of WideCombination (worker/reference/wide.h), in its order. */
typedef enum CudaFoldRule {
    CUDA_FOLD_REPLACE,
    CUDA_FOLD_ADD,
    CUDA_FOLD_SUBTRACT,
    CUDA_FOLD_MULTIPLY,
    CUDA_FOLD_MINIMUM,
    CUDA_FOLD_MAXIMUM,
    CUDA_FOLD_NEWER_MINIMUM,
    CUDA_FOLD_NEWER_MAXIMUM,
    CUDA_FOLD_DIVIDE, /* of variables alone */
} CudaFoldRule;

/* The place of a slice is named by `depth` coordinates in `sizes`. One that is out of range is refused, but
 * for those that are dropped. */
typedef struct CudaPlaces {
    CudaIndices indices;
    int64_t *places; /* of each slice: a row's number; -1: it goes nowhere */
    int64_t count;   /* of slices */
    int depth;
    bool drops_below; /* coordinates below 0 */
    bool drops_above; /* those not below their size */
    int64_t sizes[CUDA_GATHER_RANK_MAX];
} CudaPlaces;

/* Slices have `inner` elements. */
typedef struct CudaFold {
    const int64_t *places;
    const void *from; /* slices; NULL: all elements are 1 */
    void *to;         /* `rows` slices */
    int64_t count;
    int64_t rows;
    int64_t inner;
} CudaFold;

/* A fold in place: each slice changes the elements in their own type. */
typedef struct CudaChange {
    CudaFold fold;
    bool is_scalar; /* `from` is one element, for all */
    /* The record of a refused value: the run fails then, and the target keeps its elements; NULL: they do not
     * outlive the run. */
    const CudaRefused *refused;
} CudaChange;

enum { CUDA_SEGMENTS_MAX = 256 };

/* Runs of slices that stand one behind the other: segment n, of `count`, has those from begins[n] on, up to
 * the next one's. */
typedef struct CudaSegments {
    CudaIndices rows;  /* the numbers of the slices; `data` NULL: they are taken in order */
    int64_t row_count; /* of the slices to choose from */
    const void *from;
    void *to; /* the first segment's elements, in the wide type: they hold the neutral ones of the rule */
    int64_t inner;
    int count;
    bool has_mean; /* divides by the number of slices */
    bool has_root; /* divides by its square root */
    int empty;     /* the elements of a segment without slices */
    int64_t begins[CUDA_SEGMENTS_MAX + 1];
} CudaSegments;

int cuda_find_places(const CudaPlaces *places, const CudaBlame *blame, cudaStream_t stream);

/* Folds elements of a type into those of the widest of its class: double, int64_t or uint64_t. */
int cuda_fold(CudaType type, CudaFoldRule rule, const CudaFold *fold, cudaStream_t stream);

/* Replaces elements of 1, 2, 4, 8 or 16 bytes: the last slice of a place stays. */
int cuda_fold_last(size_t element_size, const CudaFold *fold, cudaStream_t stream);

/* Floating types and integers. */
int cuda_change(CudaType type, CudaFoldRule rule, const CudaChange *change, cudaStream_t stream);

int cuda_fold_segments(CudaType type, CudaFoldRule rule, const CudaSegments *segments, const CudaBlame *blame,
    cudaStream_t stream);

#ifdef __cplusplus
}
#endif
