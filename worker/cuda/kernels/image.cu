/* Asks whether the plugin has code for the card that this thread uses: for a card of another kind than it was
 * built for, or a translation (PTX) that the driver makes code of. */
#include "worker/cuda/kernels/launch.cuh"

static __global__ void
image_probe()
{
}

extern "C" int
cuda_image_check(void)
{
    cudaFuncAttributes attributes;
    return (int)(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void *>(image_probe)));
}
