/* Functions along one dimension: running sums and products, and the places of extremes. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lines of `size` elements that are `inner` apart, `outer` × `inner` of them. */
typedef struct CudaAlong {
    const void *input;
    void *output;
    int64_t outer;
    int64_t size;
    int64_t inner;
} CudaAlong;

typedef struct CudaRunning {
    CudaAlong lines;
    bool is_product;
    bool is_exclusive; /* each result leaves out its own element */
    bool is_reverse;
} CudaRunning;

/* Floats are joined in double, by a tree that only the size of a line shapes; integers wrap. */
int cuda_running(CudaType type, const CudaRunning *running, cudaStream_t stream);

/* The output has one index for each line. Among equal elements the first counts, or the last. */
typedef struct CudaExtremes {
    CudaAlong lines;
    bool is_largest;
    bool is_last;
    bool nan_is_beyond; /* all numbers; else NaN and the infinity at the wrong end are as the last finite
                           number there */
    bool is_wide;       /* indices are int64, else int32 */
} CudaExtremes;

int cuda_extremes(CudaType type, const CudaExtremes *extremes, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
