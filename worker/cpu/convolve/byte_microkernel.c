#include "worker/cpu/convolve/byte_microkernel.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "worker/cpu/vector/isa.h"

static void
sum_plain_row(const ByteTile *tile, const uint8_t *row, int width, int32_t *sums)
{
    const int8_t *factors = tile->panel;
    for (int64_t tap = 0; tap < tile->tap_count; tap++) {
        const uint8_t *bytes = row + tile->taps[tap];
        for (int64_t four = 0; four < tile->fours; four++, bytes += BYTE_FOUR) {
            for (int n = 0; n < width; n++, factors += BYTE_FOUR) {
                int32_t sum = factors[0] * bytes[0] + factors[1] * bytes[1] + factors[2] * bytes[2] +
                              factors[3] * bytes[3];
                sums[n] = (int32_t)((uint32_t)sums[n] + (uint32_t)sum);
            }
        }
    }
}

static void
sum_plain(const ByteTile *tile)
{
    int width = tile->vectors * BYTE_VECTOR;
    for (int row = 0; row < tile->row_count; row++) {
        int32_t *sums = tile->sums + (ptrdiff_t)row * width;
        memcpy(sums, tile->start, (size_t)width * sizeof *sums);
        sum_plain_row(tile, tile->image + tile->rows[row], width, sums);
    }
}

#ifdef __x86_64__
#include <immintrin.h>

/* Sums stay in registers only where all loops over them are written out. */
#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif
#define ALWAYS_INLINE __attribute__((always_inline)) static inline
#define TARGET_AVX2 __attribute__((target("avx2")))
#define TARGET_AVX512 __attribute__((target("avx512f,avx512bw")))
#define TARGET_VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))

ALWAYS_INLINE int32_t
load_four(const uint8_t *bytes)
{
    int32_t four = 0;
    memcpy(&four, bytes, sizeof four);
    return four;
}

TARGET_VNNI ALWAYS_INLINE void
sum_vnni(const ByteTile *tile, int rows, int vectors)
{
    __m512i sums[BYTE_ROWS_MAX][BYTE_PANEL_VECTORS];
    const int8_t *factors = tile->panel;
    UNROLL for (int n = 0; n < vectors; n++)
    {
        __m512i start = _mm512_loadu_si512(tile->start + (ptrdiff_t)n * BYTE_VECTOR);
        UNROLL for (int row = 0; row < rows; row++)
        {
            sums[row][n] = start;
        }
    }
    for (int64_t tap = 0; tap < tile->tap_count; tap++) {
        const uint8_t *bytes[BYTE_ROWS_MAX];
        UNROLL for (int row = 0; row < rows; row++)
        {
            bytes[row] = tile->image + tile->rows[row] + tile->taps[tap];
        }
        for (int64_t k = 0; k < tile->fours * BYTE_FOUR; k += BYTE_FOUR) {
            __m512i b[BYTE_PANEL_VECTORS];
            UNROLL for (int n = 0; n < vectors; n++)
            {
                b[n] = _mm512_loadu_si512(factors);
                factors += (ptrdiff_t)BYTE_VECTOR * BYTE_FOUR;
            }
            UNROLL for (int row = 0; row < rows; row++)
            {
                __m512i a = _mm512_set1_epi32(load_four(bytes[row] + k));
                UNROLL for (int n = 0; n < vectors; n++)
                {
                    sums[row][n] = _mm512_dpbusd_epi32(sums[row][n], a, b[n]);
                }
            }
        }
    }
    UNROLL for (int row = 0; row < rows; row++)
    {
        UNROLL for (int n = 0; n < vectors; n++)
        {
            ptrdiff_t place = ((ptrdiff_t)row * vectors + n) * BYTE_VECTOR;
            _mm512_storeu_si512(tile->sums + place, sums[row][n]);
        }
    }
}

/* Without VNNI, bytes 0 and 2 of each four are multiplied as 16-bit integers, and then bytes 1 and 3. One
 * vector of output channels at a time, which is PARTS registers. */
#define SUM_BY_PAIRS(name, target, Vector, PARTS, load, store, set, low, left, right, shift, multiply, add)  \
    target ALWAYS_INLINE void name##_vector(const ByteTile *tile, int rows, int vectors, int n)              \
    {                                                                                                        \
        enum { LANES = BYTE_VECTOR / (PARTS) };                                                              \
        Vector sums[BYTE_ROWS_MAX][PARTS];                                                                   \
        Vector even_bytes = set(0x00FF00FF);                                                                 \
        const int8_t *factors = tile->panel + (ptrdiff_t)n * BYTE_VECTOR * BYTE_FOUR;                        \
        UNROLL for (int row = 0; row < rows; row++)                                                          \
        {                                                                                                    \
            UNROLL for (ptrdiff_t part = 0; part < (PARTS); part++)                                          \
            {                                                                                                \
                sums[row][part] =                                                                            \
                    load((const void *)(tile->start + (ptrdiff_t)n * BYTE_VECTOR + part * LANES));           \
            }                                                                                                \
        }                                                                                                    \
        for (int64_t tap = 0; tap < tile->tap_count; tap++) {                                                \
            const uint8_t *bytes = tile->image + tile->taps[tap];                                            \
            for (int64_t four = 0; four < tile->fours; four++, bytes += BYTE_FOUR) {                         \
                Vector even[PARTS];                                                                          \
                Vector odd[PARTS];                                                                           \
                UNROLL for (ptrdiff_t part = 0; part < (PARTS); part++)                                      \
                {                                                                                            \
                    Vector b = load((const void *)(factors + (ptrdiff_t)part * LANES * BYTE_FOUR));          \
                    even[part] = right(left(b, 8), 8);                                                       \
                    odd[part] = right(b, 8);                                                                 \
                }                                                                                            \
                factors += (ptrdiff_t)vectors * BYTE_VECTOR * BYTE_FOUR;                                     \
                UNROLL for (int row = 0; row < rows; row++)                                                  \
                {                                                                                            \
                    Vector a = set(load_four(bytes + tile->rows[row]));                                      \
                    Vector a_even = low(a, even_bytes);                                                      \
                    Vector a_odd = shift(a, 8);                                                              \
                    UNROLL for (ptrdiff_t part = 0; part < (PARTS); part++)                                  \
                    {                                                                                        \
                        Vector product = add(multiply(a_even, even[part]), multiply(a_odd, odd[part]));      \
                        sums[row][part] = add(sums[row][part], product);                                     \
                    }                                                                                        \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
        UNROLL for (int row = 0; row < rows; row++)                                                          \
        {                                                                                                    \
            UNROLL for (ptrdiff_t part = 0; part < (PARTS); part++)                                          \
            {                                                                                                \
                ptrdiff_t place = ((ptrdiff_t)row * vectors + n) * BYTE_VECTOR + part * LANES;               \
                store((void *)(tile->sums + place), sums[row][part]);                                        \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    target ALWAYS_INLINE void name(const ByteTile *tile, int rows, int vectors)                              \
    {                                                                                                        \
        for (int n = 0; n < vectors; n++) {                                                                  \
            name##_vector(tile, rows, vectors, n);                                                           \
        }                                                                                                    \
    }

SUM_BY_PAIRS(sum_avx2, TARGET_AVX2, __m256i, 2, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_set1_epi32,
    _mm256_and_si256, _mm256_slli_epi16, _mm256_srai_epi16, _mm256_srli_epi16, _mm256_madd_epi16,
    _mm256_add_epi32)
SUM_BY_PAIRS(sum_avx512, TARGET_AVX512, __m512i, 1, _mm512_loadu_si512, _mm512_storeu_si512,
    _mm512_set1_epi32, _mm512_and_si512, _mm512_slli_epi16, _mm512_srai_epi16, _mm512_srli_epi16,
    _mm512_madd_epi16, _mm512_add_epi32)

/* Loops for each number of rows, so that the sums have registers of their own. */
#define ROWS_LOOP(name, target, rows, vectors)                                                               \
    target static void name##_##rows##_##vectors(const ByteTile *tile)                                       \
    {                                                                                                        \
        name(tile, rows, vectors);                                                                           \
    }
#define ROWS_LOOPS(name, target, vectors)                                                                    \
    ROWS_LOOP(name, target, 1, vectors)                                                                      \
    ROWS_LOOP(name, target, 2, vectors)                                                                      \
    ROWS_LOOP(name, target, 3, vectors)                                                                      \
    ROWS_LOOP(name, target, 4, vectors)                                                                      \
    ROWS_LOOP(name, target, 5, vectors)                                                                      \
    ROWS_LOOP(name, target, 6, vectors)
#define ROWS_TABLE(name, vectors)                                                                            \
    {                                                                                                        \
        name##_1_##vectors, name##_2_##vectors, name##_3_##vectors, name##_4_##vectors, name##_5_##vectors,  \
            name##_6_##vectors                                                                               \
    }
#define TILE_LOOPS(name, target)                                                                             \
    ROWS_LOOPS(name, target, 1)                                                                              \
    ROWS_LOOPS(name, target, 2)                                                                              \
    ROWS_LOOPS(name, target, 3)                                                                              \
    ROWS_LOOPS(name, target, 4)                                                                              \
    static void name##_tile(const ByteTile *tile)                                                            \
    {                                                                                                        \
        static const ByteMicroKernel loops[BYTE_PANEL_VECTORS][BYTE_ROWS_MAX] = {                            \
            ROWS_TABLE(name, 1), ROWS_TABLE(name, 2), ROWS_TABLE(name, 3), ROWS_TABLE(name, 4)};             \
        loops[tile->vectors - 1][tile->row_count - 1](tile);                                                 \
    }

TILE_LOOPS(sum_vnni, TARGET_VNNI)
TILE_LOOPS(sum_avx512, TARGET_AVX512)
TILE_LOOPS(sum_avx2, TARGET_AVX2)

static bool
has_vnni(void)
{
    return cpu_isa() == CPU_ISA_AVX512 && __builtin_cpu_supports("avx512vnni");
}

ByteMicroKernel
byte_microkernel(void)
{
    if (has_vnni()) {
        return sum_vnni_tile;
    }
    return cpu_isa() == CPU_ISA_AVX512 ? sum_avx512_tile
           : cpu_isa() == CPU_ISA_AVX2 ? sum_avx2_tile
                                       : sum_plain;
}

ByteMicroKernel
byte_microkernel_of(const char *isa)
{
    if (strcmp(isa, "vnni") == 0) {
        return has_vnni() ? sum_vnni_tile : NULL;
    }
    if (strcmp(isa, "avx512") == 0) {
        return cpu_isa() == CPU_ISA_AVX512 ? sum_avx512_tile : NULL;
    }
    if (strcmp(isa, "avx2") == 0) {
        return cpu_isa() != CPU_ISA_PLAIN ? sum_avx2_tile : NULL;
    }
    assert(strcmp(isa, "plain") == 0);
    return sum_plain;
}
#else
ByteMicroKernel
byte_microkernel(void)
{
    return sum_plain;
}

ByteMicroKernel
byte_microkernel_of(const char *isa)
{
    return strcmp(isa, "plain") == 0 ? sum_plain : NULL;
}
#endif
