#include "worker/cuda/kernels/elementwise.cuh"

#define FLOATING_MAP(name) FLOATING_CASES((map_elements<name##_floating, T, Accumulator<T>, T>(map, stream)))
#define SIGNED_MAP(name) SIGNED_CASES((map_elements<name##_signed, T, int64_t, T>(map, stream)))
#define UNSIGNED_MAP(name) UNSIGNED_CASES((map_elements<name##_unsigned, T, uint64_t, T>(map, stream)))
#define WRAPPING_MAP(name)                                                                                   \
    SIGNED_CASES((map_elements<name##_integer, T, uint64_t, T>(map, stream)))                                \
    UNSIGNED_CASES((map_elements<name##_integer, T, uint64_t, T>(map, stream)))

#define NUMBER_CASE(name, ...)                                                                               \
    case CUDA_MAP_##name:                                                                                    \
        TYPE_SWITCH(type, FLOATING_MAP(name) WRAPPING_MAP(name))
#define REAL_CASE(name, ...)                                                                                 \
    case CUDA_MAP_##name:                                                                                    \
        TYPE_SWITCH(type, FLOATING_MAP(name) SIGNED_MAP(name) UNSIGNED_MAP(name))
#define SHIFT_CASE(name, ...)                                                                                \
    case CUDA_MAP_##name:                                                                                    \
        TYPE_SWITCH(type, SIGNED_MAP(name) UNSIGNED_MAP(name))
#define INTEGER_CASE(name, ...)                                                                              \
    case CUDA_MAP_##name:                                                                                    \
        TYPE_SWITCH(type, WRAPPING_MAP(name))

extern "C" int
cuda_map_real(CudaMapFunction function, CudaType type, const CudaMap *map, cudaStream_t stream)
{
    switch ((int)function) {
        CUDA_NUMBER_MAPS(NUMBER_CASE)
        CUDA_REAL_MAPS(REAL_CASE)
        CUDA_SHIFT_MAPS(SHIFT_CASE)
        CUDA_INTEGER_MAPS(INTEGER_CASE)
    default:
        return (int)cudaErrorInvalidValue;
    }
}
