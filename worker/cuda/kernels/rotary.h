/* Vectors of heads whose first numbers are rotated in pairs, by angles that belong to their positions. Valid
 * C11 and C++. */
#pragma once

#include "worker/cuda/blame.h"
#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CudaRotary {
    const void *input; /* [batch, head, position, size], or packed [batch, position, head × size] */
    const void *cosines;
    const void *sines;
    const int64_t
        *positions;  /* of tokens (batch × length + position): rows of the angles; NULL: the tokens */
    CudaBlame blame; /* for positions that the angles do not have */
    void *output;
    bool is_packed;
    bool is_interleaved; /* pairs are neighbours, not the same places of two halves */
    int64_t tokens;
    int64_t heads;
    int64_t length; /* positions of a batch */
    int64_t size;   /* of a head */
    int64_t pairs;
    int64_t rows; /* of angles */
} CudaRotary;

/* A pair (a, b) becomes (a × cos - b × sin, a × sin + b × cos). Floating types. */
int cuda_rotate(CudaType type, const CudaRotary *rotary, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
