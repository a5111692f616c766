#include "worker/cuda/kernels/affine.h"

#include "worker/cuda/kernels/index.cuh"

/* Returns where a point lies between -1 and 1: at the ends of its side or, unless corners are aligned, half a
 * step inside. */
__device__ __forceinline__ double
place_of(int64_t position, int64_t size, bool aligns_corners)
{
    if (aligns_corners) {
        return size == 1 ? 0 : 2 * (double)position / (double)(size - 1) - 1;
    }
    return (2 * (double)position + 1) / (double)size - 1;
}

template <typename T>
__global__ void
affine_kernel(CudaAffineGrid grid)
{
    for (int64_t i = index_first(); i < grid.count; i += index_step()) {
        int64_t point = index_quotient(i, grid.space);
        int64_t row = i - point * grid.space;
        int64_t image = index_quotient(point, grid.points);
        const T *factors = (const T *)grid.matrices + (image * grid.space + row) * (grid.space + 1);
        double sum = (double)load(factors, grid.space);
        point -= image * grid.points;
#pragma unroll
        for (int column = 0; column < CUDA_AFFINE_SPACE_MAX; column++) {
            if (column < grid.space) {
                int64_t outer = index_quotient(point, grid.size[column]);
                int64_t position = point - outer * grid.size[column];
                sum += (double)load(factors, column) *
                       place_of(position, grid.size[column], grid.aligns_corners);
                point = outer;
            }
        }
        store((T *)grid.grid, i, (Accumulator<T>)sum);
    }
}

template <typename T>
static cudaError_t
fill(const CudaAffineGrid *grid, cudaStream_t stream)
{
    return cuda_launch(affine_kernel<T>, index_grid(grid->count), dim3(INDEX_THREADS), 0, stream, *grid);
}

extern "C" int
cuda_affine_grid(CudaType type, const CudaAffineGrid *grid, cudaStream_t stream)
{
    if (grid->count == 0) {
        return (int)cudaSuccess;
    }
    EACH_FLOATING_TYPE(type, fill<T>(grid, stream));
}
