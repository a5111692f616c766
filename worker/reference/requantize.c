#include "worker/reference/requantize.h"

#include <assert.h>

/* Adding and subtracting 1.5 × 2^23 rounds a float below 2^22 to the nearest even integer. */
static const float ROUNDER = 12582912.0F;

typedef struct Limits {
    float least; /* before the zero point is added */
    float most;
} Limits;

static Limits
limits_of(const Requantizer *to, int32_t least, int32_t most)
{
    return (Limits){(float)(least - to->zero_point), (float)(most - to->zero_point)};
}

static int32_t
round_within(float value, Limits limits)
{
    value = value > limits.least ? value : limits.least;
    value = value < limits.most ? value : limits.most;
    return (int32_t)((value + ROUNDER) - ROUNDER);
}

#define REQUANTIZE_LOOPS(type, least, most)                                                                  \
    static void scale_##type(                                                                                \
        const Requantizer *to, const int32_t *sums, int64_t count, float scale, void *output)                \
    {                                                                                                        \
        Limits limits = limits_of(to, (least), (most));                                                      \
        type *numbers = output;                                                                              \
        for (int64_t n = 0; n < count; n++) {                                                                \
            numbers[n] = (type)(round_within((float)sums[n] * scale, limits) + to->zero_point);              \
        }                                                                                                    \
    }                                                                                                        \
    static void scale_each_##type(                                                                           \
        const Requantizer *to, const int32_t *sums, const float *scales, int64_t count, void *output)        \
    {                                                                                                        \
        Limits limits = limits_of(to, (least), (most));                                                      \
        type *numbers = output;                                                                              \
        for (int64_t n = 0; n < count; n++) {                                                                \
            numbers[n] = (type)(round_within((float)sums[n] * scales[n], limits) + to->zero_point);          \
        }                                                                                                    \
    }                                                                                                        \
    static void divide_##type(                                                                               \
        const Requantizer *to, const float *values, int64_t count, float scale, void *output)                \
    {                                                                                                        \
        Limits limits = limits_of(to, (least), (most));                                                      \
        type *numbers = output;                                                                              \
        for (int64_t n = 0; n < count; n++) {                                                                \
            numbers[n] = (type)(round_within(values[n] / scale, limits) + to->zero_point);                   \
        }                                                                                                    \
    }

REQUANTIZE_LOOPS(int8_t, INT8_MIN, INT8_MAX)
REQUANTIZE_LOOPS(uint8_t, 0, UINT8_MAX)
REQUANTIZE_LOOPS(int16_t, INT16_MIN, INT16_MAX)
REQUANTIZE_LOOPS(uint16_t, 0, UINT16_MAX)

static const struct {
    void (*scale)(const Requantizer *to, const int32_t *sums, int64_t count, float scale, void *output);
    void (*scale_each)(
        const Requantizer *to, const int32_t *sums, const float *scales, int64_t count, void *output);
    void (*divide)(const Requantizer *to, const float *values, int64_t count, float scale, void *output);
} loops[DTYPE_COUNT] = {
    [DTYPE_INT8] = {scale_int8_t, scale_each_int8_t, divide_int8_t},
    [DTYPE_UINT8] = {scale_uint8_t, scale_each_uint8_t, divide_uint8_t},
    [DTYPE_INT16] = {scale_int16_t, scale_each_int16_t, divide_int16_t},
    [DTYPE_UINT16] = {scale_uint16_t, scale_each_uint16_t, divide_uint16_t},
};

void
requantize(const Requantizer *to, const int32_t *sums, int64_t count, float scale, void *output)
{
    assert(loops[to->dtype].scale != NULL);
    loops[to->dtype].scale(to, sums, count, scale, output);
}

void
requantize_each(const Requantizer *to, const int32_t *sums, const float *scales, int64_t count, void *output)
{
    assert(loops[to->dtype].scale_each != NULL);
    loops[to->dtype].scale_each(to, sums, scales, count, output);
}

void
quantize_floats(const Requantizer *to, const float *values, int64_t count, float scale, void *output)
{
    assert(loops[to->dtype].divide != NULL);
    loops[to->dtype].divide(to, values, count, scale, output);
}
