#include "worker/cuda/fusion/launch.h"

#include <assert.h>

enum { THREADS = 256, BLOCKS_MAX = 1 << 16 };

int
fusion_launch(cudaKernel_t kernel, const CudaFused *fused, cudaStream_t stream)
{
    CudaFused given = *fused;
    void *arguments[] = {&given};
    assert(fused->count > 0);
    int64_t blocks = (fused->count - 1) / THREADS + 1;
    dim3 grid = {(unsigned)(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX), 1, 1};
    dim3 block = {THREADS, 1, 1};
    return (int)cudaLaunchKernel((const void *)kernel, grid, block, arguments, 0, stream);
}
