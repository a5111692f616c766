/* Non-maximum suppression of boxes, by the rules of shared/ops/detection/suppression.h: a block each searches
 * the scores of one class. Valid C11 and C++. */
#pragma once

#include <stddef.h>

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_BOX_SIDES = 4, CUDA_BOX_ARRAYS = 5 };

typedef struct CudaSuppression {
    CudaType type;        /* of boxes, overlaps and scores: float16 or float32 */
    const void *boxes;    /* sets of `box_count`, of CUDA_BOX_SIDES numbers each; NULL: there are overlaps */
    const void *overlaps; /* box_count × box_count */
    const void *scores;   /* `box_count` of each search */
    int64_t box_count;
    int64_t search_count;
    int64_t classes; /* searches that have one set of boxes */
    int64_t size_max;
    float overlap_max;
    float score_min;
    float sigma;
    bool takes_all;
    bool is_centre;
    bool is_lazy;     /* scores are lowered, or overlaps given or rounded: box by box, as the host does it */
    float *sides;     /* room for CUDA_BOX_ARRAYS × box_count of each set */
    uint64_t *keys;   /* room for box_count of each search */
    uint64_t *chosen; /* room for size_max of each search: what it chose, the first one first */
    int32_t *begins;  /* room for box_count of each search, when it is lazy */
    int64_t *counts;  /* how many each search has chosen */
} CudaSuppression;

/* Runs the searches: at least one, of at least one box. */
int cuda_suppress(const CudaSuppression *suppression, cudaStream_t stream);

/* Writes a row for each chosen box: batch, class, box. */
int cuda_suppression_rows(const CudaSuppression *suppression, int64_t *ret_rows, cudaStream_t stream);

/* The outputs of one search: `size` boxes, zero behind the `count` chosen ones. */
typedef struct CudaChosenBoxes {
    const uint64_t *chosen;
    int64_t count;
    int64_t size;
    CudaType type; /* of the scores */
    int32_t *indices;
    void *scores;   /* NULL: not wanted */
    int32_t *valid; /* the count; NULL: not wanted */
} CudaChosenBoxes;

int cuda_chosen_boxes(const CudaChosenBoxes *boxes, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
