/* Functions of elements: each output element is computed from the elements of up to three inputs at the same
 * place, in broadcast form. The functions are those of the reference kernels (shared/ops, in the families
 * math, arithmetic, activation and logic), with the same treatment of NaN, of overflow and of the ends of
 * each type. Valid C11 and C++. */
#pragma once

#include "worker/cuda/blame.h"
#include "worker/cuda/kernels/map.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The parts of cuda_map(), each a file that nvcc compiles by itself. */
int cuda_map_float(CudaMapFunction function, CudaType type, const CudaMap *map, cudaStream_t stream);
int cuda_map_real(CudaMapFunction function, CudaType type, const CudaMap *map, cudaStream_t stream);
int cuda_map_test(CudaMapFunction function, CudaType type, const CudaMap *map, cudaStream_t stream);
int cuda_map_special(CudaMapFunction function, CudaType type, const CudaMap *map, cudaStream_t stream);

/* The integers that a function's second input may be. */
typedef enum CudaOperandRule { CUDA_ANY_OPERAND, CUDA_NOT_ZERO, CUDA_NOT_NEGATIVE } CudaOperandRule;

/* Refuses the first of `count` integers that breaks the rule. The functions themselves take any. */
int cuda_check_operands(CudaOperandRule rule, CudaType type, const void *operands, int64_t count,
    const CudaBlame *blame, cudaStream_t stream);

/* output = condition ? a : b, for elements of 1, 2, 4, 8 or 16 bytes. Inputs are the condition (bytes), a and
 * b. */
int cuda_choose(size_t element_size, const CudaMap *map, cudaStream_t stream);

/* Limits a by inputs b and c, each NULL or one element; the upper limit wins (NumPy's clip). */
int cuda_clip(CudaType type, const CudaMap *map, cudaStream_t stream);

/* Converts `count` elements as C does, with the ends of the types that worker/reference/cast.h defines. */
int cuda_convert(
    CudaType from, const void *input, CudaType to, void *output, int64_t count, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
