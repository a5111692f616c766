/* Regions of images, pooled to one size. Valid C11 and C++. */
#pragma once

#include "worker/cuda/blame.h"
#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Each region is cut into bins, and a bin is the mean or the largest of points that are interpolated from
 * four neighbours. */
typedef struct CudaRegions {
    const void *images;
    const void *corners;      /* left, top, right and bottom of each region */
    const int64_t *images_of; /* each region */
    void *output;
    int64_t region_count;
    int64_t image_count;
    int64_t channels;
    int64_t height; /* of the images */
    int64_t width;
    int64_t rows; /* of the bins */
    int64_t columns;
    int64_t ratio; /* points along a side of a bin; 0: as many as it has elements */
    double scale;
    double coordinate_max; /* of a scaled corner, so that points end */
    bool is_half_pixel;    /* half a pixel is subtracted, and regions may be smaller than one */
    bool is_largest;
} CudaRegions;

/* Floating types, computed in double. Refuses regions of images that are not there, and corners beyond
 * `coordinate_max`: two reasons, of lines of CUDA_REGION_WIDTH. */
enum { CUDA_REGION_WIDTH = 5 };
int cuda_align_regions(CudaType type, const CudaRegions *regions, const CudaBlame *image_blame,
    const CudaBlame *corner_blame, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
