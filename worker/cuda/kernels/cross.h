/* Products of vectors of three elements. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CudaCross {
    const void *left;
    const void *right;
    void *product;
    int64_t count; /* elements of each, a multiple of three */
} CudaCross;

/* Floating types, and integers, which wrap. */
int cuda_cross(CudaType type, const CudaCross *cross, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
