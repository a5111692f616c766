#ifdef __x86_64__
#include <immintrin.h>

#include "worker/cpu/convolve/depthwise_code.h"

enum { LANES = 16, INNER_VECTORS = 2 };
typedef float Lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));
typedef __mmask16 Mask;
typedef Mask Store;

#define TARGET __attribute__((target("avx512f")))
#define FUSE _mm512_fmadd_ps
/* The forms without a mask are macros that GCC 12 warns of. */
#define LESSER(a, b) _mm512_maskz_min_ps(0xffff, a, b)
#define GREATER(a, b) _mm512_maskz_max_ps(0xffff, a, b)

/* Columns before the first one are huge as numbers without a sign. */
TARGET static inline Mask
mask_columns(int32_t first, int32_t width)
{
    __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i columns = _mm512_add_epi32(lanes, _mm512_set1_epi32(first));
    return _mm512_cmplt_epu32_mask(columns, _mm512_set1_epi32(width));
}

TARGET static inline Lanes
load_masked(const float *from, Mask mask)
{
    return _mm512_maskz_loadu_ps(mask, from);
}

TARGET static inline Store
store_of(int64_t count)
{
    return (__mmask16)(count >= LANES ? -1 : (1 << count) - 1);
}

TARGET static inline void
store_first(float *output, Lanes lanes, Store store)
{
    _mm512_mask_storeu_ps(output, store, lanes);
}

TARGET static inline Lanes
pick_even(Lanes a, Lanes b)
{
    return _mm512_permutex2var_ps(
        a, _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30), b);
}

TARGET static inline Lanes
pick_odd(Lanes a, Lanes b)
{
    return _mm512_permutex2var_ps(
        a, _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31), b);
}

DEPTHWISE_KERNELS

const DepthwiseKernels depthwise_kernels_avx512 = DEPTHWISE_TABLE;
#endif
