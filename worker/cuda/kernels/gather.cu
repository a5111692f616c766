#include "worker/cuda/kernels/gather.h"

#include "worker/cuda/kernels/blame.cuh"
#include "worker/cuda/kernels/elements.cuh"
#include "worker/cuda/kernels/index.cuh"
#include "worker/cuda/kernels/integers.cuh"

/* Reads the index at `element`, which selects one of `size`. False: it is refused. */
__device__ __forceinline__ bool
read_index(
    const CudaIndices &indices, const CudaBlame &blame, int64_t element, int64_t size, int64_t *ret_index)
{
    int64_t given = 0;
    bool is_read = load_integer(indices.type, indices.data, element, &given);
    int64_t index = given < 0 && indices.count_from_end ? given + size : given;
    if (is_read && index >= 0 && index < size) {
        *ret_index = index;
        return true;
    }
    refuse(blame, element, given, size);
    return false;
}

/* Returns how many elements a thread each has to look at: a row of none still has an index. */
static int64_t
width_of(int64_t inner)
{
    return inner > 0 ? inner : 1;
}

template <typename T>
__global__ void
gather_rows_kernel(CudaGatherRows gather, CudaBlame blame, int64_t width, int64_t total)
{
    for (int64_t i = index_first(); i < total; i += index_step()) {
        int64_t row = index_quotient(i, width);
        int64_t line = index_quotient(row, gather.count);
        int64_t element = index_quotient(line, gather.lines) * gather.count + (row - line * gather.count);
        int64_t index = 0;
        bool is_there = read_index(gather.indices, blame, element, gather.size, &index);
        if (gather.inner > 0) {
            int64_t source = (line * gather.size + index) * width + (i - row * width);
            ((T *)gather.to)[i] = is_there ? ((const T *)gather.from)[source] : T{};
        }
    }
}

template <typename T>
__global__ void
gather_slices_kernel(CudaGatherSlices gather, CudaBlame blame, int64_t width, int64_t total)
{
    for (int64_t i = index_first(); i < total; i += index_step()) {
        int64_t tuple = index_quotient(i, width);
        int64_t slice = 0;
        bool is_there = true;
        for (int n = 0; is_there && n < gather.depth; n++) {
            int64_t index = 0;
            is_there = read_index(gather.indices, blame, tuple * gather.depth + n, gather.sizes[n], &index);
            slice = slice * gather.sizes[n] + index;
        }
        if (gather.inner > 0) {
            int64_t source =
                (index_quotient(tuple, gather.tuples) * gather.slices + slice) * width + (i - tuple * width);
            ((T *)gather.to)[i] = is_there ? ((const T *)gather.from)[source] : T{};
        }
    }
}

template <typename T>
__global__ void
gather_elements_kernel(CudaGatherElements gather, CudaBlame blame)
{
    for (int64_t i = index_first(); i < gather.count; i += index_step()) {
        int64_t source[1] = {0};
        int64_t index = 0;
        index_offsets<1>(i, gather.rank, gather.sizes, gather.strides, source);
        bool is_there = read_index(gather.indices, blame, i, gather.size, &index);
        source[0] += index * gather.along;
        ((T *)gather.to)[i] = is_there ? ((const T *)gather.from)[source[0]] : T{};
    }
}

template <typename T>
static cudaError_t
gather_rows(const CudaGatherRows *gather, const CudaBlame *blame, cudaStream_t stream)
{
    int64_t width = width_of(gather->inner);
    int64_t total = gather->outer * gather->count * width;
    return total == 0 ? cudaSuccess
                      : cuda_launch(gather_rows_kernel<T>, index_grid(total), dim3(INDEX_THREADS), 0, stream,
                            *gather, *blame, width, total);
}

template <typename T>
static cudaError_t
gather_slices(const CudaGatherSlices *gather, const CudaBlame *blame, cudaStream_t stream)
{
    int64_t width = width_of(gather->inner);
    int64_t total = gather->batches * gather->tuples * width;
    return total == 0 ? cudaSuccess
                      : cuda_launch(gather_slices_kernel<T>, index_grid(total), dim3(INDEX_THREADS), 0,
                            stream, *gather, *blame, width, total);
}

template <typename T>
static cudaError_t
gather_elements(const CudaGatherElements *gather, const CudaBlame *blame, cudaStream_t stream)
{
    return gather->count == 0 ? cudaSuccess
                              : cuda_launch(gather_elements_kernel<T>, index_grid(gather->count),
                                    dim3(INDEX_THREADS), 0, stream, *gather, *blame);
}

extern "C" int
cuda_gather_rows(
    size_t element_size, const CudaGatherRows *gather, const CudaBlame *blame, cudaStream_t stream)
{
    EACH_ELEMENT_SIZE(element_size, gather_rows<T>(gather, blame, stream));
}

extern "C" int
cuda_gather_slices(
    size_t element_size, const CudaGatherSlices *gather, const CudaBlame *blame, cudaStream_t stream)
{
    EACH_ELEMENT_SIZE(element_size, gather_slices<T>(gather, blame, stream));
}

extern "C" int
cuda_gather_elements(
    size_t element_size, const CudaGatherElements *gather, const CudaBlame *blame, cudaStream_t stream)
{
    EACH_ELEMENT_SIZE(element_size, gather_elements<T>(gather, blame, stream));
}
