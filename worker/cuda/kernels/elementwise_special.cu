/* Functions by series and continued fractions, in double. */
#include "worker/cuda/kernels/elementwise.cuh"

#include "shared/ops/special/rule.h"

CUDA_SPECIAL_MAPS(MAP_OF_ALL)

__device__ __forceinline__ float
neighbour(float a, float b)
{
    return nextafterf(a, b);
}

__device__ __forceinline__ double
neighbour(double a, double b)
{
    return nextafter(a, b);
}

MAP_FUNCTION(NEIGHBOUR_map, 2, C, neighbour(a, b))

#define SPECIAL_CASE(name, ...)                                                                              \
    case CUDA_MAP_##name:                                                                                    \
        EACH_FLOATING_TYPE(type, (map_elements<name##_map, T, Accumulator<T>, T>(map, stream)));

extern "C" int
cuda_map_special(CudaMapFunction function, CudaType type, const CudaMap *map, cudaStream_t stream)
{
    switch ((int)function) {
        CUDA_SPECIAL_MAPS(SPECIAL_CASE)
    case CUDA_MAP_NEIGHBOUR:
        EACH_WIDE_TYPE(type, (map_elements<NEIGHBOUR_map, T, T, T>(map, stream)));
    default:
        return (int)cudaErrorInvalidValue;
    }
}
