/* The places of ONNX's updates in a target, for the folds of scatter.h. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/scatter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Finds for each index of `gather` the element that it selects; -1: the index is refused. `from` and `to` are
 * not used. */
int cuda_place_elements(
    const CudaGatherElements *gather, int64_t *places, const CudaBlame *blame, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
