#include "worker/cpu/vector/scaled_sums.h"

#include <assert.h>

#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"

/* Computes `scale` of each sum. */
#define SCALE_LOOP(type, scale)                                                                              \
    VECTOR_LOOP for (int64_t n = 0; n < count; n++)                                                          \
    {                                                                                                        \
        numbers[n] = (type)(rounded_within((float)sums[n] * (scale), low, high) + zero);                     \
    }

/* One scale is read as a scale for each sum that is the same. The zero point is read once: bytes may alias
 * anything, so that a loop that read it again for each number would not be vectorised. */
#define SCALE_FUNCTION(type, least, most)                                                                    \
    VECTOR_FUNCTION void scale_##type##_body(const Requantizer *to, const int32_t *sums,                     \
        const float *scales, bool is_alike, int64_t count, type *numbers)                                    \
    {                                                                                                        \
        int32_t zero = to->zero_point;                                                                       \
        float low = (float)((least)-zero);                                                                   \
        float high = (float)((most)-zero);                                                                   \
        float first = scales[0];                                                                             \
        if (is_alike) {                                                                                      \
            SCALE_LOOP(type, first)                                                                          \
        } else {                                                                                             \
            SCALE_LOOP(type, scales[n])                                                                      \
        }                                                                                                    \
    }                                                                                                        \
    VECTOR_VARIANTS(scale_##type,                                                                            \
        (const Requantizer *to, const int32_t *sums, const float *scales, bool is_alike, int64_t count,      \
            type *numbers),                                                                                  \
        (to, sums, scales, is_alike, count, numbers))                                                        \
    VECTOR_FUNCTION void scale_rows_##type##_body(const Requantizer *to, const int32_t *sums,                \
        const float *scales, int64_t width, int64_t rows, type *numbers)                                     \
    {                                                                                                        \
        for (int64_t row = 0; row < rows; row++) {                                                           \
            scale_##type##_body(to, sums + row * width, scales, false, width, numbers + row * width);        \
        }                                                                                                    \
    }                                                                                                        \
    VECTOR_VARIANTS(scale_rows_##type,                                                                       \
        (const Requantizer *to, const int32_t *sums, const float *scales, int64_t width, int64_t rows,       \
            type *numbers),                                                                                  \
        (to, sums, scales, width, rows, numbers))

SCALE_FUNCTION(int8_t, INT8_MIN, INT8_MAX)
SCALE_FUNCTION(uint8_t, 0, UINT8_MAX)

static void
scale_sums(const Requantizer *to, const int32_t *sums, const float *scales, bool is_alike, int64_t count,
    void *output)
{
    assert(to->dtype == DTYPE_INT8 || to->dtype == DTYPE_UINT8);
    if (to->dtype == DTYPE_INT8) {
        scale_int8_t(to, sums, scales, is_alike, count, output);
    } else {
        scale_uint8_t(to, sums, scales, is_alike, count, output);
    }
}

void
scale_sums_alike(const Requantizer *to, const int32_t *sums, int64_t count, float scale, void *output)
{
    scale_sums(to, sums, &scale, true, count, output);
}

void
scale_sums_each(const Requantizer *to, const int32_t *sums, const float *scales, int64_t count, void *output)
{
    if (count > 0) {
        scale_sums(to, sums, scales, false, count, output);
    }
}

void
scale_sums_rows(const Requantizer *to, const int32_t *sums, const float *scales, int64_t width, int64_t rows,
    void *output)
{
    assert(to->dtype == DTYPE_INT8 || to->dtype == DTYPE_UINT8);
    assert(width > 0);
    if (to->dtype == DTYPE_INT8) {
        scale_rows_int8_t(to, sums, scales, width, rows, output);
    } else {
        scale_rows_uint8_t(to, sums, scales, width, rows, output);
    }
}
