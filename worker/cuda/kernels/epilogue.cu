#include "worker/cuda/kernels/epilogue.cuh"

#include "worker/cuda/kernels/index.cuh"

/* Channels are `inner` elements apart. */
template <typename T>
__global__ void
finish_kernel(const CudaEpilogue epilogue, T *output, int64_t count, int64_t channels, int64_t inner)
{
    for (int64_t at = index_first(); at < count; at += index_step()) {
        store(output, at, finish_sum<T>(epilogue, load(output, at), at, at / inner % channels));
    }
}

template <typename T>
static cudaError_t
finish(const CudaEpilogue *epilogue, void *output, int64_t count, int64_t channels, int64_t inner,
    cudaStream_t stream)
{
    return count == 0 ? cudaSuccess
                      : cuda_launch(finish_kernel<T>, index_grid(count), dim3(INDEX_THREADS), 0, stream,
                            *epilogue, (T *)output, count, channels, inner);
}

extern "C" bool
cuda_epilogue_is_empty(const CudaEpilogue *epilogue)
{
    return epilogue->bias == nullptr && epilogue->scale == nullptr && epilogue->addend == nullptr &&
           epilogue->activation == CUDA_ACTIVATION_NONE;
}

extern "C" int
cuda_finish(CudaType type, const CudaEpilogue *epilogue, void *output, int64_t count, int64_t channels,
    int64_t inner, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, finish<T>(epilogue, output, count, channels, inner, stream));
}
