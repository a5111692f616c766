#ifdef __x86_64__
#include <immintrin.h>

#include "worker/cpu/convolve/depthwise_code.h"

enum { LANES = 8, INNER_VECTORS = 1 };
typedef float Lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));
typedef __m256i Mask;
typedef int64_t Store;

#define TARGET __attribute__((target("avx2,fma")))
#define FUSE _mm256_fmadd_ps
#define LESSER _mm256_min_ps
#define GREATER _mm256_max_ps

/* A load reads lanes whose mask has its highest bit: that of a column is set before the line. */
TARGET static inline Mask
mask_columns(int32_t first, int32_t width)
{
    __m256i columns = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(first));
    return _mm256_andnot_si256(columns, _mm256_cmpgt_epi32(_mm256_set1_epi32(width), columns));
}

TARGET static inline Lanes
load_masked(const float *from, Mask mask)
{
    return _mm256_maskload_ps(from, mask);
}

TARGET static inline Store
store_of(int64_t count)
{
    return count;
}

/* Stores halves of what is left: AMD's processors take longest over a masked store. */
TARGET static inline void
store_first(float *output, Lanes lanes, Store store)
{
    if (store >= LANES) {
        *(Lanes *)output = lanes;
        return;
    }
    __m128 rest = _mm256_castps256_ps128(lanes);
    if ((store & 4) != 0) {
        _mm_storeu_ps(output, rest);
        rest = _mm256_extractf128_ps(lanes, 1);
        output += 4;
    }
    if ((store & 2) != 0) {
        _mm_storel_pi((__m64 *)output, rest);
        rest = _mm_movehl_ps(rest, rest);
        output += 2;
    }
    if ((store & 1) != 0) {
        _mm_store_ss(output, rest);
    }
}

TARGET static inline Lanes
pick_even(Lanes a, Lanes b)
{
    __m256d pairs = _mm256_castps_pd(_mm256_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0)));
    return _mm256_castpd_ps(_mm256_permute4x64_pd(pairs, _MM_SHUFFLE(3, 1, 2, 0)));
}

TARGET static inline Lanes
pick_odd(Lanes a, Lanes b)
{
    __m256d pairs = _mm256_castps_pd(_mm256_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1)));
    return _mm256_castpd_ps(_mm256_permute4x64_pd(pairs, _MM_SHUFFLE(3, 1, 2, 0)));
}

DEPTHWISE_KERNELS

const DepthwiseKernels depthwise_kernels_avx2 = DEPTHWISE_TABLE;
#endif
