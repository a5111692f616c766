#include "worker/cpu/product/integer_microkernel.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "worker/cpu/vector/isa.h"

static void
multiply_plain(const IntegerTile *tile)
{
    for (int row = 0; row < tile->rows; row++) {
        const int8_t *a = tile->a + row * tile->a_step;
        int32_t sums[INTEGER_COLUMNS] = {0};
        for (int64_t group = 0; group < tile->groups; group++) {
            const int8_t *factors = a + group * INTEGER_GROUP;
            const uint8_t *bytes = tile->panel + group * INTEGER_GROUP_SIZE;
            for (int n = 0; n < INTEGER_COLUMNS; n++) {
                const uint8_t *four = bytes + (ptrdiff_t)n * INTEGER_GROUP;
                int32_t sum =
                    factors[0] * four[0] + factors[1] * four[1] + factors[2] * four[2] + factors[3] * four[3];
                sums[n] = (int32_t)((uint32_t)sums[n] + (uint32_t)sum);
            }
        }
        memcpy(tile->sums + (ptrdiff_t)row * INTEGER_COLUMNS, sums, sizeof sums);
    }
}

#ifdef __x86_64__
#include <immintrin.h>

static inline int32_t
load_four(const int8_t *bytes)
{
    int32_t four = 0;
    memcpy(&four, bytes, sizeof four);
    return four;
}

/* A loop for each number of rows, so that the sums have registers of their own. */
#define ROWS_LOOPS(name)                                                                                     \
    static void name(const IntegerTile *tile)                                                                \
    {                                                                                                        \
        switch (tile->rows) {                                                                                \
        case 1:                                                                                              \
            name##_rows(tile, 1);                                                                            \
            break;                                                                                           \
        case 2:                                                                                              \
            name##_rows(tile, 2);                                                                            \
            break;                                                                                           \
        case 3:                                                                                              \
            name##_rows(tile, 3);                                                                            \
            break;                                                                                           \
        case 4:                                                                                              \
            name##_rows(tile, 4);                                                                            \
            break;                                                                                           \
        case 5:                                                                                              \
            name##_rows(tile, 5);                                                                            \
            break;                                                                                           \
        default:                                                                                             \
            name##_rows(tile, INTEGER_ROWS_MAX);                                                             \
        }                                                                                                    \
    }

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

enum { VNNI_VECTORS = INTEGER_COLUMNS / 16 };

TARGET_VNNI ALWAYS_INLINE void
multiply_vnni_rows(const IntegerTile *tile, int rows)
{
    __m512i sums[INTEGER_ROWS_MAX][VNNI_VECTORS];
    UNROLL for (int row = 0; row < rows; row++)
    {
        UNROLL for (int n = 0; n < VNNI_VECTORS; n++)
        {
            sums[row][n] = _mm512_setzero_si512();
        }
    }
    for (int64_t group = 0; group < tile->groups; group++) {
        const uint8_t *bytes = tile->panel + group * INTEGER_GROUP_SIZE;
        __m512i b[VNNI_VECTORS];
        UNROLL for (int n = 0; n < VNNI_VECTORS; n++)
        {
            b[n] = _mm512_loadu_si512(bytes + (ptrdiff_t)n * 64);
        }
        UNROLL for (int row = 0; row < rows; row++)
        {
            const int8_t *a = tile->a + row * tile->a_step + group * INTEGER_GROUP;
            __m512i factors = _mm512_set1_epi32(load_four(a));
            UNROLL for (int n = 0; n < VNNI_VECTORS; n++)
            {
                sums[row][n] = _mm512_dpbusd_epi32(sums[row][n], b[n], factors);
            }
        }
    }
    UNROLL for (int row = 0; row < rows; row++)
    {
        UNROLL for (int n = 0; n < VNNI_VECTORS; n++)
        {
            _mm512_storeu_si512(
                tile->sums + (ptrdiff_t)row * INTEGER_COLUMNS + (ptrdiff_t)n * 16, sums[row][n]);
        }
    }
}

TARGET_VNNI
ROWS_LOOPS(multiply_vnni)

/* Without VNNI, bytes 0 and 2 of each four are multiplied as 16-bit integers, and then bytes 1 and 3. Two
 * vectors of columns at a time, as each has two forms. */
#define MULTIPLY_BY_PAIRS(name, target, Vector, LANES, load, store, zero, set, low, shift, multiply, add)    \
    target ALWAYS_INLINE void name##_columns(const IntegerTile *tile, int rows, int first)                   \
    {                                                                                                        \
        Vector sums[INTEGER_ROWS_MAX][2];                                                                    \
        Vector even_bytes = set(0x00FF00FF);                                                                 \
        for (int row = 0; row < rows; row++) {                                                               \
            sums[row][0] = zero();                                                                           \
            sums[row][1] = zero();                                                                           \
        }                                                                                                    \
        for (int64_t group = 0; group < tile->groups; group++) {                                             \
            const uint8_t *bytes =                                                                           \
                tile->panel + group * INTEGER_GROUP_SIZE + (ptrdiff_t)first * INTEGER_GROUP;                 \
            Vector b0 = load((const void *)bytes);                                                           \
            Vector b1 = load((const void *)(bytes + (LANES)*INTEGER_GROUP));                                 \
            Vector even0 = low(b0, even_bytes);                                                              \
            Vector even1 = low(b1, even_bytes);                                                              \
            Vector odd0 = shift(b0, 8);                                                                      \
            Vector odd1 = shift(b1, 8);                                                                      \
            for (int row = 0; row < rows; row++) {                                                           \
                const int8_t *a = tile->a + row * tile->a_step + group * INTEGER_GROUP;                      \
                Vector even = set((int32_t)((uint32_t)(uint16_t)a[0] | (uint32_t)a[2] << 16));               \
                Vector odd = set((int32_t)((uint32_t)(uint16_t)a[1] | (uint32_t)a[3] << 16));                \
                sums[row][0] = add(sums[row][0], add(multiply(even0, even), multiply(odd0, odd)));           \
                sums[row][1] = add(sums[row][1], add(multiply(even1, even), multiply(odd1, odd)));           \
            }                                                                                                \
        }                                                                                                    \
        for (int row = 0; row < rows; row++) {                                                               \
            int32_t *to = tile->sums + (ptrdiff_t)row * INTEGER_COLUMNS + first;                             \
            store((void *)to, sums[row][0]);                                                                 \
            store((void *)(to + (LANES)), sums[row][1]);                                                     \
        }                                                                                                    \
    }                                                                                                        \
    target ALWAYS_INLINE void name##_rows(const IntegerTile *tile, int rows)                                 \
    {                                                                                                        \
        for (int first = 0; first < INTEGER_COLUMNS; first += 2 * (LANES)) {                                 \
            name##_columns(tile, rows, first);                                                               \
        }                                                                                                    \
    }

MULTIPLY_BY_PAIRS(multiply_avx2, TARGET_AVX2, __m256i, 8, _mm256_loadu_si256, _mm256_storeu_si256,
    _mm256_setzero_si256, _mm256_set1_epi32, _mm256_and_si256, _mm256_srli_epi16, _mm256_madd_epi16,
    _mm256_add_epi32)
MULTIPLY_BY_PAIRS(multiply_avx512, TARGET_AVX512, __m512i, 16, _mm512_loadu_si512, _mm512_storeu_si512,
    _mm512_setzero_si512, _mm512_set1_epi32, _mm512_and_si512, _mm512_srli_epi16, _mm512_madd_epi16,
    _mm512_add_epi32)

TARGET_AVX2
ROWS_LOOPS(multiply_avx2)
TARGET_AVX512
ROWS_LOOPS(multiply_avx512)

static bool
has_vnni(void)
{
    return cpu_isa() == CPU_ISA_AVX512 && __builtin_cpu_supports("avx512vnni");
}

IntegerMicroKernel
integer_microkernel(void)
{
    if (has_vnni()) {
        return multiply_vnni;
    }
    return cpu_isa() == CPU_ISA_AVX512 ? multiply_avx512
           : cpu_isa() == CPU_ISA_AVX2 ? multiply_avx2
                                       : multiply_plain;
}

IntegerMicroKernel
integer_microkernel_of(const char *isa)
{
    bool has_avx512 = cpu_isa() == CPU_ISA_AVX512;
    if (strcmp(isa, "vnni") == 0) {
        return has_vnni() ? multiply_vnni : NULL;
    }
    if (strcmp(isa, "avx512") == 0) {
        return has_avx512 ? multiply_avx512 : NULL;
    }
    if (strcmp(isa, "avx2") == 0) {
        return cpu_isa() != CPU_ISA_PLAIN ? multiply_avx2 : NULL;
    }
    assert(strcmp(isa, "plain") == 0);
    return multiply_plain;
}
#else
IntegerMicroKernel
integer_microkernel(void)
{
    return multiply_plain;
}

IntegerMicroKernel
integer_microkernel_of(const char *isa)
{
    return strcmp(isa, "plain") == 0 ? multiply_plain : NULL;
}
#endif
