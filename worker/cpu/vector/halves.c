#include "worker/cpu/vector/halves.h"

#include <assert.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"

/* A subnormal number is its mantissa × 2⁻²⁴. The exponents of infinity and NaN, 31, become 255. */
VECTOR_FUNCTION float
float_of_half(uint16_t half)
{
    int32_t magnitude = half & 0x7fff;
    int32_t sign = (int32_t)((uint32_t)(half & 0x8000) << 16);
    int32_t rebias = magnitude >= 0x7c00 ? (255 - 31) << 23 : (127 - 15) << 23;
    int32_t small = bits_of_float((float)magnitude * 0x1p-24F);
    return float_of_bits((magnitude < 0x400 ? small : (magnitude << 13) + rebias) | sign);
}

/* A subnormal result comes out of the rounding of a float addition: the last bit of 0.5 counts 2⁻²⁴. */
VECTOR_FUNCTION uint16_t
half_of_float(float number)
{
    int32_t bits = bits_of_float(number) & 0x7fffffff;
    int32_t sign = (bits_of_float(number) >> 16) & 0x8000;
    int32_t rebiased = bits - ((127 - 15) << 23);
    int32_t normal = (rebiased + 0xfff + ((rebiased >> 13) & 1)) >> 13;
    int32_t small = bits_of_float(float_of_bits(bits) + 0.5F) - bits_of_float(0.5F);
    int32_t finite = bits < 0x38800000 ? small : normal; /* below 2⁻¹⁴ */
    int32_t large = bits > 0x7f800000 ? 0x7e00 | ((bits >> 13) & 0x1ff) : 0x7c00;
    return (uint16_t)(sign | (bits >= 0x47800000 ? large : finite)); /* 65536 and more */
}

VECTOR_FUNCTION float
float_of_bfloat(uint16_t half)
{
    return float_of_bits((int32_t)((uint32_t)half << 16));
}

VECTOR_FUNCTION uint16_t
bfloat_of_float(float number)
{
    uint32_t bits = (uint32_t)bits_of_float(number);
    uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    uint32_t quiet = bits >> 16 | 0x40;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}

#define CONVERSION(name, from, to, convert)                                                                  \
    VECTOR_FUNCTION void name##_body(const from *x, to *z, int64_t count)                                    \
    {                                                                                                        \
        VECTOR_LOOP for (int64_t n = 0; n < count; n++)                                                      \
        {                                                                                                    \
            z[n] = convert(x[n]);                                                                            \
        }                                                                                                    \
    }                                                                                                        \
    VECTOR_VARIANTS(name, (const from *x, to *z, int64_t count), (x, z, count))

CONVERSION(widen_halves, uint16_t, float, float_of_half)
CONVERSION(widen_bfloats, uint16_t, float, float_of_bfloat)
CONVERSION(narrow_to_halves_by_bits, float, uint16_t, half_of_float)
CONVERSION(narrow_to_bfloats, float, uint16_t, bfloat_of_float)

#ifdef __x86_64__
/* The processor rounds as it is told here, and makes of NaN what half_of_float() does. Its way back is not
 * taken: it would quieten NaN. */
__attribute__((target("avx2,f16c"))) static void
narrow_to_halves_by_processor(const float *x, uint16_t *z, int64_t count)
{
    enum { LANES = 8, ROUNDING = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };
    int64_t n = 0;
    for (; n + LANES <= count; n += LANES) {
        _mm_storeu_si128((__m128i_u *)(z + n), _mm256_cvtps_ph(_mm256_loadu_ps(x + n), ROUNDING));
    }
    for (; n < count; n++) {
        z[n] = half_of_float(x[n]);
    }
}
#endif

static void
narrow_to_halves(const float *x, uint16_t *z, int64_t count)
{
#ifdef __x86_64__
    if (cpu_isa() != CPU_ISA_PLAIN) {
        narrow_to_halves_by_processor(x, z, count);
        return;
    }
#endif
    narrow_to_halves_by_bits(x, z, count);
}

void
halves_widen(Dtype dtype, const uint16_t *halves, float *numbers, int64_t count)
{
    assert(halves_has(dtype));
    (dtype == DTYPE_FLOAT16 ? widen_halves : widen_bfloats)(halves, numbers, count);
}

void
halves_narrow(Dtype dtype, const float *numbers, uint16_t *halves, int64_t count)
{
    assert(halves_has(dtype));
    (dtype == DTYPE_FLOAT16 ? narrow_to_halves : narrow_to_bfloats)(numbers, halves, count);
}

void
halves_run(Dtype dtype, const ElementRun *run, int input_count, ElementLoop loop)
{
    enum { TILE = 1024 }; /* stays in the nearest cache */
    float inputs[ELEMENT_INPUTS_MAX][TILE];
    float output[TILE];
    for (int64_t first = 0; first < run->count; first += TILE) {
        int64_t count = run->count - first < TILE ? run->count - first : TILE;
        ElementRun tile = {.output = output, .count = count, .parameters = run->parameters};
        for (int i = 0; i < input_count; i++) {
            int64_t stride = run->strides[i];
            halves_widen(
                dtype, (const uint16_t *)run->inputs[i] + first * stride, inputs[i], stride == 0 ? 1 : count);
            tile.inputs[i] = inputs[i];
            tile.strides[i] = stride;
        }
        loop(&tile);
        halves_narrow(dtype, output, (uint16_t *)run->output + first, count);
    }
}
