/* Vectors of eight floats serve lines of few outputs, which would leave most of a wider one empty. */
#ifdef __x86_64__
#include <immintrin.h>

#include "worker/cpu/convolve/depthwise_code.h"

enum { LANES = 8, INNER_VECTORS = 1 };
typedef float Lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));
typedef __mmask8 Mask;
typedef Mask Store;

#define TARGET __attribute__((target("avx512f,avx512vl,avx2,fma")))
#define FUSE _mm256_fmadd_ps
#define LESSER _mm256_min_ps
#define GREATER _mm256_max_ps

/* Columns before the first one are huge as numbers without a sign. */
TARGET static inline Mask
mask_columns(int32_t first, int32_t width)
{
    __m256i columns = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(first));
    return _mm256_cmplt_epu32_mask(columns, _mm256_set1_epi32(width));
}

TARGET static inline Lanes
load_masked(const float *from, Mask mask)
{
    return _mm256_maskz_loadu_ps(mask, from);
}

TARGET static inline Store
store_of(int64_t count)
{
    return (__mmask8)(count >= LANES ? -1 : (1 << count) - 1);
}

TARGET static inline void
store_first(float *output, Lanes lanes, Store store)
{
    _mm256_mask_storeu_ps(output, store, lanes);
}

TARGET static inline Lanes
pick_even(Lanes a, Lanes b)
{
    return _mm256_permutex2var_ps(a, _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14), b);
}

TARGET static inline Lanes
pick_odd(Lanes a, Lanes b)
{
    return _mm256_permutex2var_ps(a, _mm256_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15), b);
}

DEPTHWISE_KERNELS

const DepthwiseKernels depthwise_kernels_avx512_narrow = DEPTHWISE_TABLE;
#endif
