/* The start of a kernel, and its dynamic shared memory: the two things that are written otherwise where a
 * C++ compiler stands in for nvcc (tests/support/cuda_on_cpu/language.cuh, which comes first then). */
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#include <cuda_runtime.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define DYNAMIC_SHARED(type, name)                                                                           \
    extern __shared__ __align__(16) unsigned char dynamic_shared_bytes[];                                    \
    type *name = reinterpret_cast<type *>(dynamic_shared_bytes)

/* Enqueues kernel<<<grid, block, shared_size, stream>>>(arguments…), each converted to its parameter's type.
 */
template <typename... P, typename... A>
inline cudaError_t
cuda_launch(
    void (*kernel)(P...), dim3 grid, dim3 block, size_t shared_size, cudaStream_t stream, A... arguments)
{
    kernel<<<grid, block, shared_size, stream>>>(P(arguments)...);
    return cudaGetLastError();
}
#endif
