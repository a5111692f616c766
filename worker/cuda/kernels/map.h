/* A kernel that computes each element of its output from those of its inputs at the same place, by one of the
 * functions of functions.h. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/functions.h"
#include "worker/cuda/kernels/types.h"

enum { CUDA_MAP_RANK_MAX = 16, CUDA_MAP_INPUTS_MAX = 3, CUDA_MAP_PARAMETERS_MAX = 2 };

/* Sizes are the output's, outermost first, merged where they can be. Strides count elements; 0 where an input
 * is broadcast. The output is dense, and may be an input that is dense as well. */
typedef struct CudaMap {
    const void *inputs[CUDA_MAP_INPUTS_MAX];
    void *output;
    int64_t count;
    int rank;
    int64_t sizes[CUDA_MAP_RANK_MAX];
    int64_t strides[CUDA_MAP_INPUTS_MAX][CUDA_MAP_RANK_MAX];
    float parameters[CUDA_MAP_PARAMETERS_MAX];
} CudaMap;

#define CUDA_MAP_NUMBER(name, ...) CUDA_MAP_##name,
typedef enum CudaMapFunction {
    CUDA_FLOAT_MAPS(CUDA_MAP_NUMBER)   //
    CUDA_NUMBER_MAPS(CUDA_MAP_NUMBER)  //
    CUDA_REAL_MAPS(CUDA_MAP_NUMBER)    //
    CUDA_SHIFT_MAPS(CUDA_MAP_NUMBER)   //
    CUDA_FLOAT_TESTS(CUDA_MAP_NUMBER)  //
    CUDA_COMPARISONS(CUDA_MAP_NUMBER)  //
    CUDA_INTEGER_MAPS(CUDA_MAP_NUMBER) //
    CUDA_BOOL_MAPS(CUDA_MAP_NUMBER)    //
    CUDA_SPECIAL_MAPS(CUDA_MAP_NUMBER) //
    CUDA_MAP_NEIGHBOUR,                /* of a float or a double, in the direction of another */
    CUDA_MAP_COUNT,
    /* Steps of fused kernels (worker/cuda/fusion), whose operands are of more than one type. */
    CUDA_STEP_CHOOSE = CUDA_MAP_COUNT, /* its second or third operand by its first, a bool */
    CUDA_STEP_CONVERT,
} CudaMapFunction;
#undef CUDA_MAP_NUMBER

#ifdef __cplusplus
extern "C" {
#endif

/* `type` is that of the inputs. cudaErrorInvalidValue when the function is not defined for it; with `map`
 * NULL nothing is computed and only that is asked. */
int cuda_map(CudaMapFunction function, CudaType type, const CudaMap *map, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
