#include "worker/cuda/kernels/elementwise.cuh"

#define FLOAT_CASE(name, ...)                                                                                \
    case CUDA_MAP_##name:                                                                                    \
        EACH_FLOATING_TYPE(type, (map_elements<name##_map, T, Accumulator<T>, T>(map, stream)));

extern "C" int
cuda_map_float(CudaMapFunction function, CudaType type, const CudaMap *map, cudaStream_t stream)
{
    switch ((int)function) {
        CUDA_FLOAT_MAPS(FLOAT_CASE)
    default:
        return (int)cudaErrorInvalidValue;
    }
}
