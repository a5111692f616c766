/* Images put together of the blocks that they were cut into. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/types.h"
#include "worker/cuda/kernels/window.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The window is the block, and slides over the images; its output has a place for each block. */
typedef struct CudaColumns {
    CudaWindow window;
    const void *input; /* for each channel of an image: elements of a block × blocks */
    void *output;
    int64_t count;    /* elements of the images */
    int64_t pixels;   /* of a channel */
    int64_t elements; /* of a block */
    int64_t blocks;   /* of an image */
} CudaColumns;

/* Floating types; a pixel is the sum in double of what blocks have there, in the order of the elements of a
 * block. */
int cuda_columns_to_image(CudaType type, const CudaColumns *columns, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
