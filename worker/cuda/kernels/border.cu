#include "worker/cuda/kernels/border.h"

#include "worker/cuda/kernels/elements.cuh"
#include "worker/cuda/kernels/index.cuh"

/* Returns the position in a dimension of `size` whose element stands at `position`, which may lie outside. */
__device__ __forceinline__ int64_t
border_source(CudaBorderMode mode, int64_t position, int64_t size)
{
    if (position >= 0 && position < size) {
        return position;
    }
    if (mode == CUDA_BORDER_EDGE) {
        return position < 0 ? 0 : size - 1;
    }
    if (mode == CUDA_BORDER_WRAP) {
        int64_t rest = position % size;
        return rest < 0 ? rest + size : rest;
    }
    int64_t shift = mode == CUDA_BORDER_SYMMETRIC ? 1 : 0;
    return position < 0 ? -position - shift : 2 * size - 2 + shift - position;
}

template <typename T>
__global__ void
border_kernel(CudaBorder border)
{
    for (int64_t i = index_first(); i < border.count; i += index_step()) {
        int64_t rest = i;
        int64_t source = 0;
        for (int d = border.rank - 1; d >= 0; d--) {
            int64_t next = index_quotient(rest, border.sizes[d]);
            int64_t position = rest - next * border.sizes[d] - border.before[d];
            source += border_source(border.mode, position, border.inner[d]) * border.strides[d];
            rest = next;
        }
        ((T *)border.to)[i] = ((const T *)border.from)[source];
    }
}

template <typename T>
__global__ void
band_kernel(CudaBand band)
{
    for (int64_t i = index_first(); i < band.count; i += index_step()) {
        int64_t row = index_quotient(i, band.columns);
        int64_t matrix = index_quotient(row, band.rows);
        int64_t below = row - matrix * band.rows - (i - row * band.columns);
        bool is_kept = below <= band.lower && -below <= band.upper;
        ((T *)band.to)[i] = is_kept ? ((const T *)band.from)[i] : T{};
    }
}

template <typename T>
static cudaError_t
make_border(const CudaBorder *border, cudaStream_t stream)
{
    return border->count == 0 ? cudaSuccess
                              : cuda_launch(border_kernel<T>, index_grid(border->count), dim3(INDEX_THREADS),
                                    0, stream, *border);
}

template <typename T>
static cudaError_t
keep_band(const CudaBand *band, cudaStream_t stream)
{
    return band->count == 0
               ? cudaSuccess
               : cuda_launch(band_kernel<T>, index_grid(band->count), dim3(INDEX_THREADS), 0, stream, *band);
}

extern "C" int
cuda_border(size_t element_size, const CudaBorder *border, cudaStream_t stream)
{
    EACH_ELEMENT_SIZE(element_size, make_border<T>(border, stream));
}

extern "C" int
cuda_band(size_t element_size, const CudaBand *band, cudaStream_t stream)
{
    EACH_ELEMENT_SIZE(element_size, keep_band<T>(band, stream));
}
