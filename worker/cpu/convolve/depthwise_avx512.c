#ifdef __x86_64__
#include <immintrin.h>

#include "worker/cpu/convolve/depthwise_code.h"

enum { LANES = 16 };
typedef float Lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

#define TARGET __attribute__((target("avx512f")))
#define FUSE _mm512_fmadd_ps
/* The forms without a mask are macros that GCC 12 warns of. */
#define LESSER(a, b) _mm512_maskz_min_ps(0xffff, a, b)
#define GREATER(a, b) _mm512_maskz_max_ps(0xffff, a, b)

DEPTHWISE_KERNELS

const DepthwiseKernels depthwise_kernels_avx512 = DEPTHWISE_TABLE;
#endif
