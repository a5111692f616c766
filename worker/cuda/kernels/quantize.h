/* Quantised numbers: floats as integers with a scale and a zero point. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"
#include "worker/runtime/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Element n has the scale and the zero point at n / inner % size. */
typedef struct CudaScaling {
    const void *scales;
    CudaType type;           /* of the scales, floating */
    const void *zero_points; /* of the integers' type; NULL: all are 0 */
    int64_t size;
    int64_t inner;
} CudaScaling;

typedef struct CudaQuantised {
    const void *input;
    void *output;
    int64_t count; /* elements */
    CudaScaling scaling;
} CudaQuantised;

/* Makes integers of 8 or 16 bits of floats: the quotient is taken in float and rounded to even, then the zero
 * point is added; NaN becomes the least number. */
int cuda_quantize(CudaType from, CudaType to, const CudaQuantised *quantised, cudaStream_t stream);

/* Makes floats of integers of 8 or 16 bits or of int32: computed in double, rounded once. */
int cuda_dequantize(CudaType from, CudaType to, const CudaQuantised *quantised, cudaStream_t stream);

/* Subtracts zero points; the output is int32, the scales are not read. */
int cuda_centre(CudaType from, const CudaQuantised *quantised, cudaStream_t stream);

/* Makes float32 of the bias of a convolution between quantised numbers: number n times `scale`, times its own
 * one of `scales`, or the one for all. */
typedef struct CudaBias {
    const int32_t *bias;
    const float *scale;
    const float *scales;
    bool has_one_scale;
    int64_t count;
    float *output;
} CudaBias;

int cuda_scale_bias(const CudaBias *bias, cudaStream_t stream);

/* The scale and the zero point by which floats fill uint8, 0 among them. */
enum { CUDA_RANGE_PARTS = 256, CUDA_RANGE_ROOM = 2 * CUDA_RANGE_PARTS };

typedef struct CudaRange {
    const float *input;
    int64_t count;
    float *parts; /* room for CUDA_RANGE_ROOM */
    float *scale;
    uint8_t *zero_point;
} CudaRange;

int cuda_find_scale(const CudaRange *range, cudaStream_t stream);

/* Makes int32 of input `input` in the context's lane, less its zero points: those of the input after next,
 * which may be absent; `from_end` counts their dimension from the last one, which is 1. */
MUST_USE Status quantize_centre(KernelContext *context, uint32_t input, int from_end, Tensor *ret_centred);

#ifdef __cplusplus
}
#endif
