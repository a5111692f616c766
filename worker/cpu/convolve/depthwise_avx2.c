#ifdef __x86_64__
#include <immintrin.h>

#include "worker/cpu/convolve/depthwise_code.h"

enum { LANES = 8 };
typedef float Lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

#define TARGET __attribute__((target("avx2,fma")))
#define FUSE _mm256_fmadd_ps
#define LESSER _mm256_min_ps
#define GREATER _mm256_max_ps

DEPTHWISE_KERNELS

const DepthwiseKernels depthwise_kernels_avx2 = DEPTHWISE_TABLE;
#endif
