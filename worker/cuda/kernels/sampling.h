/* Images sampled at positions that a grid gives, in one to three dimensions. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_SAMPLE_SPACE_MAX = 3 };

/* The numbers of neighbours along a dimension. */
typedef enum CudaSampleMode {
    CUDA_SAMPLE_NEAREST = 1,
    CUDA_SAMPLE_LINEAR = 2,
    CUDA_SAMPLE_CUBIC = 4,
} CudaSampleMode;

typedef enum CudaSamplePadding {
    CUDA_SAMPLE_ZEROS,
    CUDA_SAMPLE_BORDER,
    CUDA_SAMPLE_REFLECTION,
} CudaSamplePadding;

typedef struct CudaSampling {
    CudaSampleMode mode;
    CudaSamplePadding padding;
    bool aligns_corners;
    int space;
    int64_t size[CUDA_SAMPLE_SPACE_MAX];   /* of the image */
    int64_t stride[CUDA_SAMPLE_SPACE_MAX]; /* elements between neighbours */
    int64_t plane;                         /* elements of one channel of the image, at least 1 */
    int64_t channels;
    int64_t positions; /* of one image */
    int64_t count;     /* of all elements of the output */
    const void *input;
    const double *grid; /* coordinates from -1 to 1 within the image, those of the last dimension first */
    void *output;
} CudaSampling;

/* Computes in double, with one rounding. Floating types. */
int cuda_sample(CudaType type, const CudaSampling *sampling, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
