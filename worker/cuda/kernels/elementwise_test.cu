/* Functions whose results are bools, and those of bools: a bool is a byte, 0 or 1. */
#include "worker/cuda/kernels/elementwise.cuh"

#define TEST_OF(name, C) (map_elements<name##_map, T, C, uint8_t>(map, stream))
#define BOOL_MAP(name) TYPE_CASE(CUDA_BOOL, uint8_t, TEST_OF(name, bool))

#define TEST_CASE(name, ...)                                                                                 \
    case CUDA_MAP_##name:                                                                                    \
        EACH_FLOATING_TYPE(type, TEST_OF(name, Accumulator<T>));
#define COMPARISON_CASE(name, ...)                                                                           \
    case CUDA_MAP_##name:                                                                                    \
        TYPE_SWITCH(type, FLOATING_CASES(TEST_OF(name, Accumulator<T>)) SIGNED_CASES(TEST_OF(name, int64_t)) \
                              UNSIGNED_CASES(TEST_OF(name, uint64_t)) BOOL_MAP(name))
#define BOOL_CASE(name, ...)                                                                                 \
    case CUDA_MAP_##name:                                                                                    \
        TYPE_SWITCH(type, BOOL_MAP(name))

extern "C" int
cuda_map_test(CudaMapFunction function, CudaType type, const CudaMap *map, cudaStream_t stream)
{
    switch ((int)function) {
        CUDA_FLOAT_TESTS(TEST_CASE)
        CUDA_COMPARISONS(COMPARISON_CASE)
        CUDA_BOOL_MAPS(BOOL_CASE)
    default:
        return (int)cudaErrorInvalidValue;
    }
}
