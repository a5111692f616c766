/* Tensors resized along one dimension after another: an element of the output is a weighted sum of neighbours
 * along the dimension, or one of them. Valid C11 and C++. */
#pragma once

#include <stddef.h>

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers of ResizePlace, ResizeMode and ResizeNearest, which interpolate.c asserts. */
typedef enum CudaResizePlace {
    CUDA_HALF_PIXEL,
    CUDA_HALF_PIXEL_SYMMETRIC,
    CUDA_PYTORCH_HALF_PIXEL,
    CUDA_ALIGN_CORNERS,
    CUDA_ASYMMETRIC,
    CUDA_HALF_PIXEL_FOR_NEAREST,
    CUDA_RESIZE_CROP,
} CudaResizePlace;
typedef enum CudaResizeMode { CUDA_RESIZE_NEAREST, CUDA_RESIZE_LINEAR, CUDA_RESIZE_CUBIC } CudaResizeMode;
typedef enum CudaResizeNearest {
    CUDA_PREFER_FLOOR,
    CUDA_PREFER_CEIL,
    CUDA_FLOOR,
    CUDA_CEIL
} CudaResizeNearest;

/* The neighbours of each element of the output along a dimension: `count` of them, from firsts[element] on,
 * where one outside stands for the border's element. */
typedef struct CudaNeighbours {
    int64_t input; /* size of the dimension */
    int64_t output;
    int64_t count;
    int64_t reach; /* the first neighbour, counted from the one on the left */
    CudaResizePlace place;
    CudaResizeMode mode;
    CudaResizeNearest nearest;
    bool excludes_outside;
    bool is_normalized; /* weights are divided by their sum */
    double scale;
    double filter_scale; /* widens the filter of an antialiased dimension; else 1 */
    double cubic;
    double crop_start;
    double crop_end;
    int64_t *firsts; /* one for each element of the output; CUDA_NEIGHBOURS_OUTSIDE: it lies outside of a crop
                      */
    double *weights; /* `count` for each */
} CudaNeighbours;

#define CUDA_NEIGHBOURS_OUTSIDE INT64_MIN

/* Fills in firsts and weights. Positions and weights are doubles, computed as the host computes them: at
 * borders between elements the last bit decides. */
int cuda_weigh_neighbours(const CudaNeighbours *neighbours, cudaStream_t stream);

/* Lines along the dimension are `inner` elements apart, `outer` × `inner` of them. */
typedef struct CudaInterpolation {
    CudaNeighbours neighbours;
    const void *from;
    void *to;
    int64_t outer;
    int64_t inner;
    double outside; /* the value outside of a crop */
} CudaInterpolation;

/* Sums weighted neighbours in their order, of float or double. */
int cuda_interpolate(CudaType type, const CudaInterpolation *interpolation, cudaStream_t stream);

/* Copies the neighbour whose weight is 1. */
int cuda_choose_neighbours(size_t element_size, const CudaInterpolation *interpolation, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
