/* Images resized and cropped, [batch, rows, columns, channels]. Valid C11 and C++. */
#pragma once

#include "worker/cuda/blame.h"
#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A side of an image (worker/reference/resize.h). */
typedef struct CudaSide {
    int64_t input;
    int64_t output;
    float factor;
    bool aligns_corners;
    bool is_half_pixel;
} CudaSide;

/* `from` are the images and `to` the resized ones; of a gradient `from` are those of the resized ones and
 * `to` of the images. */
typedef struct CudaResize {
    const void *from;
    void *to;
    int64_t count; /* elements of `to` */
    int64_t channels;
    CudaSide rows;
    CudaSide columns;
} CudaResize;

/* `type` is that of the images; the resized ones are float. Numbers of up to 24 bits are weighed in float,
 * others in double. */
int cuda_resize_bilinear(CudaType type, const CudaResize *resize, cudaStream_t stream);
int cuda_resize_nearest(size_t element_size, const CudaResize *resize, cudaStream_t stream);

/* Each element of a gradient sums those of the resized pixels that it went into, in their order: the bits
 * depend on nothing else. Integers wrap. */
int cuda_resize_bilinear_gradient(CudaType type, const CudaResize *resize, cudaStream_t stream);
int cuda_resize_nearest_gradient(CudaType type, const CudaResize *resize, cudaStream_t stream);

typedef struct CudaCrop {
    const void *images;
    const float *boxes;      /* y1, x1, y2, x2, as fractions of the image's sides */
    const int32_t *image_of; /* each box */
    float *crops;
    int64_t count; /* elements of the crops */
    int64_t channels;
    int64_t image_count;
    int64_t image_rows;
    int64_t image_columns;
    int64_t crop_rows;
    int64_t crop_columns;
    bool is_nearest;
    float outside;
} CudaCrop;

/* Refuses boxes of images that are not there. */
int cuda_crop(CudaType type, const CudaCrop *crop, const CudaBlame *blame, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
