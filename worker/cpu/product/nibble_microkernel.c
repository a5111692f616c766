#include "worker/cpu/product/nibble_microkernel.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* The code of a micro-kernel. An instruction set names, each with its own name behind: TARGET, the attribute
 * for the compiler; Floats, 16 floats; spread() and load(), which make them of one and of 16 in memory;
 * code(), which makes of a block's scale and zero point what each of the 16 weights stands for; unpack(),
 * which looks up the low and high halves of 16 bytes there: (weight - zero) × scale; fuse(), which rounds
 * a × b + c once; and fold(), which adds the lanes. */
#define NIBBLE_KERNEL(isa, ROWS, COLUMNS)                                                                    \
    TARGET_##isa static void nibbles_##isa##_##ROWS##_##COLUMNS(const NibbleTile *tile)                      \
    {                                                                                                        \
        Floats_##isa sums[ROWS][COLUMNS];                                                                    \
        UNROLL for (int row = 0; row < (ROWS); row++)                                                        \
        {                                                                                                    \
            UNROLL for (int n = 0; n < (COLUMNS); n++)                                                       \
            {                                                                                                \
                sums[row][n] = spread_##isa(0);                                                              \
            }                                                                                                \
        }                                                                                                    \
        const float *a = tile->a;                                                                            \
        int64_t byte = 0;                                                                                    \
        for (int64_t block = 0; block < tile->blocks; block++) {                                             \
            Floats_##isa codes[COLUMNS];                                                                     \
            UNROLL for (int n = 0; n < (COLUMNS); n++)                                                       \
            {                                                                                                \
                const NibbleRow *weights = &tile->weights[n];                                                \
                codes[n] = code_##isa(weights->scales[block], zero_at(weights, block));                      \
            }                                                                                                \
            for (int64_t group = 0; group < tile->block_groups; group++) {                                   \
                Floats_##isa low[COLUMNS];                                                                   \
                Floats_##isa high[COLUMNS];                                                                  \
                UNROLL for (int n = 0; n < (COLUMNS); n++)                                                   \
                {                                                                                            \
                    unpack_##isa(tile->weights[n].bytes + byte, &codes[n], &low[n], &high[n]);               \
                }                                                                                            \
                UNROLL for (int row = 0; row < (ROWS); row++)                                                \
                {                                                                                            \
                    const float *numbers = a + row * tile->a_step;                                           \
                    Floats_##isa even = load_##isa(numbers);                                                 \
                    Floats_##isa odd = load_##isa(numbers + NIBBLE_LANES);                                   \
                    UNROLL for (int n = 0; n < (COLUMNS); n++)                                               \
                    {                                                                                        \
                        sums[row][n] = fuse_##isa(even, low[n], sums[row][n]);                               \
                        sums[row][n] = fuse_##isa(odd, high[n], sums[row][n]);                               \
                    }                                                                                        \
                }                                                                                            \
                a += NIBBLE_GROUP;                                                                           \
                byte += NIBBLE_LANES;                                                                        \
            }                                                                                                \
        }                                                                                                    \
        UNROLL for (int row = 0; row < (ROWS); row++)                                                        \
        {                                                                                                    \
            UNROLL for (int n = 0; n < (COLUMNS); n++)                                                       \
            {                                                                                                \
                tile->sums[row * tile->sums_step + n] = fold_##isa(sums[row][n]);                            \
            }                                                                                                \
        }                                                                                                    \
    }

#define NIBBLE_KERNELS(isa)                                                                                  \
    NIBBLE_KERNEL(isa, 8, 2)                                                                                 \
    NIBBLE_KERNEL(isa, 8, 1)                                                                                 \
    NIBBLE_KERNEL(isa, 4, 2)                                                                                 \
    NIBBLE_KERNEL(isa, 4, 1)                                                                                 \
    NIBBLE_KERNEL(isa, 2, 4)                                                                                 \
    NIBBLE_KERNEL(isa, 2, 1)                                                                                 \
    NIBBLE_KERNEL(isa, 1, 4)                                                                                 \
    NIBBLE_KERNEL(isa, 1, 1)                                                                                 \
    static const NibbleShape nibble_##isa[] = {                                                              \
        {8, 2, nibbles_##isa##_8_2},                                                                         \
        {8, 1, nibbles_##isa##_8_1},                                                                         \
        {4, 2, nibbles_##isa##_4_2},                                                                         \
        {4, 1, nibbles_##isa##_4_1},                                                                         \
        {2, 4, nibbles_##isa##_2_4},                                                                         \
        {2, 1, nibbles_##isa##_2_1},                                                                         \
        {1, 4, nibbles_##isa##_1_4},                                                                         \
        {1, 1, nibbles_##isa##_1_1},                                                                         \
    };

enum { SHAPES = 8, FOUR_BITS = 4, LOW_BITS = 15, MIDDLE = 8 };

/* 2²³: the last bits of a float of its size are an integer. */
static const float SHIFT = 8388608.0F;

/* Returns the zero point of a block, added to 2²³. */
static inline float
zero_at(const NibbleRow *row, int64_t block)
{
    static const float numbers[LOW_BITS + 1] = {0x1p23F, 0x1p23F + 1, 0x1p23F + 2, 0x1p23F + 3, 0x1p23F + 4,
        0x1p23F + 5, 0x1p23F + 6, 0x1p23F + 7, 0x1p23F + 8, 0x1p23F + 9, 0x1p23F + 10, 0x1p23F + 11,
        0x1p23F + 12, 0x1p23F + 13, 0x1p23F + 14, 0x1p23F + 15};
    return numbers[row->zeros == NULL ? MIDDLE : row->zeros[block / 2] >> block % 2 * FOUR_BITS & LOW_BITS];
}

/* Adds the upper half of the lanes to the lower one until one is left. */
static inline float
fold_lanes(float *lanes)
{
    for (int width = NIBBLE_LANES / 2; width > 0; width /= 2) {
        for (int lane = 0; lane < width; lane++) {
            lanes[lane] += lanes[lane + width];
        }
    }
    return lanes[0];
}

typedef struct Floats_plain {
    float lanes[NIBBLE_LANES];
} Floats_plain;

static inline Floats_plain
spread_plain(float number)
{
    Floats_plain spread;
    for (int lane = 0; lane < NIBBLE_LANES; lane++) {
        spread.lanes[lane] = number;
    }
    return spread;
}

static inline Floats_plain
load_plain(const float *numbers)
{
    Floats_plain loaded;
    memcpy(loaded.lanes, numbers, sizeof loaded.lanes);
    return loaded;
}

static inline Floats_plain
fuse_plain(Floats_plain a, Floats_plain b, Floats_plain c)
{
    for (int lane = 0; lane < NIBBLE_LANES; lane++) {
        c.lanes[lane] = fmaf(a.lanes[lane], b.lanes[lane], c.lanes[lane]);
    }
    return c;
}

static inline Floats_plain
code_plain(float scale, float zero)
{
    Floats_plain code;
    for (int weight = 0; weight < NIBBLE_LANES; weight++) {
        code.lanes[weight] = (SHIFT + (float)weight - zero) * scale;
    }
    return code;
}

static inline void
unpack_plain(const uint8_t *bytes, const Floats_plain *code, Floats_plain *ret_low, Floats_plain *ret_high)
{
    for (int lane = 0; lane < NIBBLE_LANES; lane++) {
        ret_low->lanes[lane] = code->lanes[bytes[lane] & LOW_BITS];
        ret_high->lanes[lane] = code->lanes[bytes[lane] >> FOUR_BITS];
    }
}

static inline float
fold_plain(Floats_plain sums)
{
    return fold_lanes(sums.lanes);
}

#define TARGET_plain
NIBBLE_KERNELS(plain)

#ifdef __x86_64__
#include <immintrin.h>

#define ALWAYS_INLINE __attribute__((always_inline)) static inline
#define TARGET_avx512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
#define TARGET_avx2 __attribute__((target("avx2,fma")))

/* The bits of 2²³; an integer below it in its last bits is added to it. */
enum { SHIFT_BITS = 0x4B000000 };

typedef __m512 Floats_avx512;
typedef int32_t Integers __attribute__((vector_size(NIBBLE_LANES * sizeof(int32_t))));

TARGET_avx512 ALWAYS_INLINE Floats_avx512
spread_avx512(float number)
{
    return _mm512_set1_ps(number);
}

TARGET_avx512 ALWAYS_INLINE Floats_avx512
load_avx512(const float *numbers)
{
    return _mm512_loadu_ps(numbers);
}

TARGET_avx512 ALWAYS_INLINE Floats_avx512
fuse_avx512(Floats_avx512 a, Floats_avx512 b, Floats_avx512 c)
{
    return _mm512_fmadd_ps(a, b, c);
}

TARGET_avx512 ALWAYS_INLINE Floats_avx512
code_avx512(float scale, float zero)
{
    __m512 weights = _mm512_setr_ps(0x1p23F, 0x1p23F + 1, 0x1p23F + 2, 0x1p23F + 3, 0x1p23F + 4, 0x1p23F + 5,
        0x1p23F + 6, 0x1p23F + 7, 0x1p23F + 8, 0x1p23F + 9, 0x1p23F + 10, 0x1p23F + 11, 0x1p23F + 12,
        0x1p23F + 13, 0x1p23F + 14, 0x1p23F + 15);
    return (weights - _mm512_set1_ps(zero)) * _mm512_set1_ps(scale);
}

/* A permutation heeds the last four bits of an index alone. */
TARGET_avx512 ALWAYS_INLINE void
unpack_avx512(
    const uint8_t *bytes, const Floats_avx512 *code, Floats_avx512 *ret_low, Floats_avx512 *ret_high)
{
    __mmask16 all = (__mmask16)UINT16_MAX;
    Integers pairs = (Integers)_mm512_maskz_cvtepu8_epi32(all, _mm_loadu_si128((const void *)bytes));
    *ret_low = _mm512_maskz_permutexvar_ps(all, (__m512i)pairs, *code);
    *ret_high = _mm512_maskz_permutexvar_ps(all, (__m512i)(pairs >> FOUR_BITS), *code);
}

TARGET_avx512 ALWAYS_INLINE float
fold_avx512(Floats_avx512 sums)
{
    float lanes[NIBBLE_LANES];
    _mm512_storeu_ps(lanes, sums);
    return fold_lanes(lanes);
}

NIBBLE_KERNELS(avx512)

typedef struct Floats_avx2 {
    __m256 halves[2];
} Floats_avx2;

TARGET_avx2 ALWAYS_INLINE Floats_avx2
spread_avx2(float number)
{
    return (Floats_avx2){{_mm256_set1_ps(number), _mm256_set1_ps(number)}};
}

TARGET_avx2 ALWAYS_INLINE Floats_avx2
load_avx2(const float *numbers)
{
    return (Floats_avx2){{_mm256_loadu_ps(numbers), _mm256_loadu_ps(numbers + NIBBLE_LANES / 2)}};
}

TARGET_avx2 ALWAYS_INLINE Floats_avx2
fuse_avx2(Floats_avx2 a, Floats_avx2 b, Floats_avx2 c)
{
    return (Floats_avx2){{_mm256_fmadd_ps(a.halves[0], b.halves[0], c.halves[0]),
        _mm256_fmadd_ps(a.halves[1], b.halves[1], c.halves[1])}};
}

/* Permutations of eight numbers would not be faster than arithmetic: the halves are scale and zero point. */
TARGET_avx2 ALWAYS_INLINE Floats_avx2
code_avx2(float scale, float zero)
{
    return (Floats_avx2){{_mm256_set1_ps(scale), _mm256_set1_ps(zero)}};
}

TARGET_avx2 ALWAYS_INLINE void
unpack_avx2(const uint8_t *bytes, const Floats_avx2 *code, Floats_avx2 *ret_low, Floats_avx2 *ret_high)
{
    __m256i shift = _mm256_set1_epi32(SHIFT_BITS);
    UNROLL for (int half = 0; half < 2; half++)
    {
        const uint8_t *first = bytes + (ptrdiff_t)half * (NIBBLE_LANES / 2);
        __m256i all = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)first));
        __m256i low = _mm256_or_si256(_mm256_and_si256(all, _mm256_set1_epi32(LOW_BITS)), shift);
        __m256i high = _mm256_or_si256(_mm256_srli_epi32(all, FOUR_BITS), shift);
        ret_low->halves[half] =
            _mm256_mul_ps(_mm256_sub_ps(_mm256_castsi256_ps(low), code->halves[1]), code->halves[0]);
        ret_high->halves[half] =
            _mm256_mul_ps(_mm256_sub_ps(_mm256_castsi256_ps(high), code->halves[1]), code->halves[0]);
    }
}

TARGET_avx2 ALWAYS_INLINE float
fold_avx2(Floats_avx2 sums)
{
    float lanes[NIBBLE_LANES];
    _mm256_storeu_ps(lanes, sums.halves[0]);
    _mm256_storeu_ps(lanes + NIBBLE_LANES / 2, sums.halves[1]);
    return fold_lanes(lanes);
}

NIBBLE_KERNELS(avx2)

static const NibbleShape *
shapes(void)
{
    return cpu_isa() == CPU_ISA_AVX512 ? nibble_avx512
           : cpu_isa() == CPU_ISA_AVX2 ? nibble_avx2
                                       : nibble_plain;
}
#else
static const NibbleShape *
shapes(void)
{
    return nibble_plain;
}
#endif

NibbleShape
nibble_microkernel(int64_t rows, int64_t columns)
{
    const NibbleShape *shape = shapes();
    for (int index = 0; index < SHAPES - 1 && (shape->rows > rows || shape->columns > columns); index++) {
        shape++;
    }
    return *shape;
}

VECTOR_FUNCTION void
arrange_body(const float *row, int64_t groups, float *ret_row)
{
    for (int64_t group = 0; group < groups; group++) {
        const float *from = row + group * NIBBLE_GROUP;
        float *to = ret_row + group * NIBBLE_GROUP;
        VECTOR_LOOP for (int lane = 0; lane < NIBBLE_LANES; lane++)
        {
            to[lane] = from[(ptrdiff_t)2 * lane];
            to[NIBBLE_LANES + lane] = from[(ptrdiff_t)2 * lane + 1];
        }
    }
}
VECTOR_VARIANTS(arrange, (const float *row, int64_t groups, float *ret_row), (row, groups, ret_row))

void
nibble_arrange(const float *row, int64_t count, int64_t whole, float *ret_row)
{
    int64_t groups = count / NIBBLE_GROUP;
    arrange(row, groups, ret_row);
    for (int64_t k = groups * NIBBLE_GROUP; k < whole; k++) {
        int64_t place = k / NIBBLE_GROUP * NIBBLE_GROUP + k % 2 * NIBBLE_LANES + k % NIBBLE_GROUP / 2;
        ret_row[place] = k < count ? row[k] : 0;
    }
}
