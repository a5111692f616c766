#include "worker/cpu/convolve/byte_depthwise.h"

#include <string.h>

#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/isa.h"
#include "worker/cpu/vector/variants.h"

bool
byte_depthwise_fits(const ByteDepthwise *depthwise)
{
    static const int64_t room_max = (int64_t)1 << 28;
    return depthwise->columns.stride <= room_max / BYTE_DEPTHWISE_LANES &&
           byte_extent_seen(&depthwise->rows) <= room_max / byte_extent_seen(&depthwise->columns);
}

int64_t
byte_depthwise_room(const ByteDepthwise *depthwise)
{
    return byte_extent_seen(&depthwise->rows) * byte_extent_seen(&depthwise->columns) +
           BYTE_DEPTHWISE_LANES * depthwise->columns.stride;
}

VECTOR_FUNCTION void
widen_line_body(const uint8_t *line, int16_t *to, int64_t count, bool is_signed, int32_t zero)
{
    uint8_t flip = is_signed ? 0x80 : 0;
    int32_t shift = zero + flip;
    VECTOR_LOOP for (int64_t n = 0; n < count; n++)
    {
        to[n] = (int16_t)((int32_t)(uint8_t)(line[n] ^ flip) - shift);
    }
}
VECTOR_VARIANTS(widen_line, (const uint8_t *line, int16_t *to, int64_t count, bool is_signed, int32_t zero),
    (line, to, count, is_signed, zero))

void
byte_depthwise_widen(const ByteDepthwise *depthwise, const uint8_t *plane, int16_t *room)
{
    const ByteExtent *rows = &depthwise->rows;
    const ByteExtent *columns = &depthwise->columns;
    int64_t height = byte_extent_seen(rows);
    int64_t width = byte_extent_seen(columns);
    int64_t first = columns->before < width ? columns->before : width;
    int64_t count = width - first < columns->input ? width - first : columns->input;
    memset(room, 0, (size_t)byte_depthwise_room(depthwise) * sizeof *room);
    for (int64_t row = 0; row < rows->input && row + rows->before < height; row++) {
        widen_line(plane + row * columns->input, room + (row + rows->before) * width + first, count,
            depthwise->is_signed, depthwise->zero_point);
    }
}

/* Sums LANES positions at a time, so that sums stay in registers; what lies behind the last one is computed,
 * too, and not used. */
VECTOR_FUNCTION void
sum_row(const ByteDepthwise *depthwise, const int16_t *lines, int64_t width, int64_t stride,
    const int32_t *factors, int32_t *sums)
{
    for (int64_t n = 0; n < depthwise->columns.output; n += BYTE_DEPTHWISE_LANES) {
        int32_t lanes[BYTE_DEPTHWISE_LANES] = {0};
        const int32_t *factor = factors;
        for (int64_t row = 0; row < depthwise->rows.size; row++) {
            const int16_t *line = lines + row * depthwise->rows.dilation * width + n * stride;
            for (int64_t column = 0; column < depthwise->columns.size; column++, factor++) {
                VECTOR_LOOP for (int64_t lane = 0; lane < BYTE_DEPTHWISE_LANES; lane++)
                {
                    uint32_t product = (uint32_t)(*factor * line[lane * stride]);
                    lanes[lane] = (int32_t)((uint32_t)lanes[lane] + product);
                }
                line += depthwise->columns.dilation;
            }
        }
        memcpy(sums + n, lanes, sizeof lanes);
    }
}

VECTOR_FUNCTION void
sum_any_row_body(const ByteDepthwise *depthwise, const int16_t *lines, int64_t width, const int32_t *factors,
    int32_t *sums)
{
    switch (depthwise->columns.stride) {
    case 1:
        sum_row(depthwise, lines, width, 1, factors, sums);
        break;
    case 2:
        sum_row(depthwise, lines, width, 2, factors, sums);
        break;
    default:
        sum_row(depthwise, lines, width, depthwise->columns.stride, factors, sums);
        break;
    }
}
VECTOR_VARIANTS(sum_any_row,
    (const ByteDepthwise *depthwise, const int16_t *lines, int64_t width, const int32_t *factors,
        int32_t *sums),
    (depthwise, lines, width, factors, sums))

#ifdef __x86_64__
#include <immintrin.h>

#define TARGET_AVX2 __attribute__((target("avx2")))
#define TARGET_AVX512 __attribute__((target("avx512f,avx512bw")))

/* Returns columns `column` and the next one of a row of the filter as two numbers of 16 bits. */
static inline int32_t
factor_pair(const ByteDepthwise *depthwise, const int32_t *factors, int64_t column)
{
    uint32_t second = column + 1 < depthwise->columns.size ? (uint32_t)factors[column + 1] : 0;
    return (int32_t)((uint32_t)(uint16_t)factors[column] | second << 16);
}

/* Sums neighbours in pairs: the products of two columns are added by one instruction, for every other
 * position. With a stride of 1, those between have sums of their own. */
#define SUM_PAIRS(name, target, Vector, LANES, load, store, zero, set, multiply, add, store_both)            \
    target static void name(const ByteDepthwise *depthwise, const int16_t *lines, int64_t width,             \
        const int32_t *factors, int32_t *sums)                                                               \
    {                                                                                                        \
        int64_t stride = depthwise->columns.stride;                                                          \
        int64_t step = stride == 1 ? 2 * (LANES) : (LANES);                                                  \
        for (int64_t n = 0; n < depthwise->columns.output; n += step) {                                      \
            Vector even = zero();                                                                            \
            Vector odd = zero();                                                                             \
            for (int64_t row = 0; row < depthwise->rows.size; row++) {                                       \
                const int16_t *line = lines + row * depthwise->rows.dilation * width + n * stride;           \
                const int32_t *factor = factors + row * depthwise->columns.size;                             \
                for (int64_t column = 0; column < depthwise->columns.size; column += 2) {                    \
                    Vector pair = set(factor_pair(depthwise, factor, column));                               \
                    even = add(even, multiply(load((const void *)(line + column)), pair));                   \
                    if (stride == 1) {                                                                       \
                        odd = add(odd, multiply(load((const void *)(line + column + 1)), pair));             \
                    }                                                                                        \
                }                                                                                            \
            }                                                                                                \
            if (stride == 1) {                                                                               \
                store_both(even, odd, sums + n);                                                             \
            } else {                                                                                         \
                store((void *)(sums + n), even);                                                             \
            }                                                                                                \
        }                                                                                                    \
    }

TARGET_AVX2 static inline void
store_both_avx2(__m256i even, __m256i odd, int32_t *sums)
{
    __m256i low = _mm256_unpacklo_epi32(even, odd);
    __m256i high = _mm256_unpackhi_epi32(even, odd);
    _mm256_storeu_si256((void *)sums, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256((void *)(sums + 8), _mm256_permute2x128_si256(low, high, 0x31));
}

TARGET_AVX512 static inline void
store_both_avx512(__m512i even, __m512i odd, int32_t *sums)
{
    __m512i first = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
    _mm512_storeu_si512(sums, _mm512_permutex2var_epi32(even, first, odd));
    _mm512_storeu_si512(sums + 16, _mm512_permutex2var_epi32(even, second, odd));
}

SUM_PAIRS(sum_pairs_avx2, TARGET_AVX2, __m256i, 8, _mm256_loadu_si256, _mm256_storeu_si256,
    _mm256_setzero_si256, _mm256_set1_epi32, _mm256_madd_epi16, _mm256_add_epi32, store_both_avx2)
SUM_PAIRS(sum_pairs_avx512, TARGET_AVX512, __m512i, 16, _mm512_loadu_si512, _mm512_storeu_si512,
    _mm512_setzero_si512, _mm512_set1_epi32, _mm512_madd_epi16, _mm512_add_epi32, store_both_avx512)

/* Returns false where neighbours are no pairs. */
static bool
sum_pairs(const ByteDepthwise *depthwise, const int16_t *lines, int64_t width, const int32_t *factors,
    int32_t *sums)
{
    if (cpu_isa() == CPU_ISA_PLAIN || depthwise->columns.dilation != 1 || depthwise->columns.stride > 2) {
        return false;
    }
    bool is_wide = cpu_isa() == CPU_ISA_AVX512 && depthwise->columns.output > BYTE_DEPTHWISE_LANES / 2;
    (is_wide ? sum_pairs_avx512 : sum_pairs_avx2)(depthwise, lines, width, factors, sums);
    return true;
}
#else
static bool
sum_pairs(const ByteDepthwise *depthwise, const int16_t *lines, int64_t width, const int32_t *factors,
    int32_t *sums)
{
    (void)depthwise;
    (void)lines;
    (void)width;
    (void)factors;
    (void)sums;
    return false;
}
#endif

void
byte_depthwise_row(
    const ByteDepthwise *depthwise, const int16_t *room, const int32_t *factors, int64_t row, int32_t *sums)
{
    int64_t width = byte_extent_seen(&depthwise->columns);
    const int16_t *lines = room + row * depthwise->rows.stride * width;
    if (!sum_pairs(depthwise, lines, width, factors, sums)) {
        sum_any_row(depthwise, lines, width, factors, sums);
    }
}
