/* The places of the elements of a sequence that a rule chooses, in their order. They are counted in tiles,
 * then written behind those of the tiles before. Valid C11 and C++. */
#pragma once

#include <stddef.h>

#include "worker/cuda/blame.h"
#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_CHOSEN_TILE = 2048, CUDA_CHOSEN_RANK_MAX = 16 };

typedef enum CudaChoiceRule {
    CUDA_CHOSEN_NOT_ZERO, /* NaN is not */
    CUDA_CHOSEN_EQUAL,    /* to `value` */
    CUDA_CHOSEN_OWN,      /* to their own place */
} CudaChoiceRule;

typedef struct CudaChosen {
    const void *data;
    CudaType type; /* bools, numbers */
    CudaChoiceRule rule;
    int64_t value;
    int64_t count;  /* of elements */
    int64_t *tiles; /* room for cuda_chosen_tiles(): the places before each */
} CudaChosen;

static inline int64_t
cuda_chosen_tiles(int64_t count)
{
    return (count + CUDA_CHOSEN_TILE - 1) / CUDA_CHOSEN_TILE;
}

/* Fills the tiles, and writes how many places there are; nothing for no elements. */
int cuda_count_chosen(const CudaChosen *places, int64_t *ret_count, cudaStream_t stream);

/* Writes the places, when the tiles are filled. */
int cuda_write_chosen(const CudaChosen *places, int64_t *ret_places, cudaStream_t stream);

/* Refuses each place from `first` on. */
int cuda_refuse_chosen(const CudaChosen *places, int64_t first, const CudaBlame *blame, cudaStream_t stream);

/* Refuses the elements of int32 `numbers` that lie outside 0…limit - 1. */
int cuda_refuse_numbers(
    const int32_t *numbers, int64_t count, int64_t limit, const CudaBlame *blame, cudaStream_t stream);

/* Places as coordinates in a tensor of these sizes. */
typedef struct CudaCoordinates {
    const int64_t *places;
    int64_t *to; /* coordinate d of place n: element n × steps[0] + d × steps[1] */
    int64_t steps[2];
    int64_t count; /* of places */
    int rank;
    int64_t sizes[CUDA_CHOSEN_RANK_MAX];
} CudaCoordinates;

int cuda_coordinates(const CudaCoordinates *coordinates, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
