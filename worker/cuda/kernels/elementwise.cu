#include "worker/cuda/kernels/elementwise.h"

/* Each part knows its own functions. */
extern "C" int
cuda_map(CudaMapFunction function, CudaType type, const CudaMap *map, cudaStream_t stream)
{
    if (function < CUDA_MAP_NEGATE) {
        return cuda_map_float(function, type, map, stream);
    }
    if (function >= CUDA_MAP_LOGARITHM_OF_GAMMA) {
        return cuda_map_special(function, type, map, stream);
    }
    bool is_real =
        function < CUDA_MAP_IS_NAN || (function >= CUDA_MAP_INVERT && function <= CUDA_MAP_BITWISE_XOR);
    return is_real ? cuda_map_real(function, type, map, stream) : cuda_map_test(function, type, map, stream);
}
