#include "worker/reference/wide.h"

#include <assert.h>
#include <float.h>

#include "worker/reference/elements.h"
#include "worker/reference/fill.h"

/* The widest dtype of a class, and the largest and lowest finite numbers of a dtype as elements of it. */
typedef struct Range {
    Dtype wide;
    double real[2];
    int64_t integer[2];
    uint64_t natural[2];
} Range;

#define FLOAT_RANGE(largest)                                                                                 \
    {                                                                                                        \
        .wide = DTYPE_FLOAT64, .real = {(largest), -(largest) }                                              \
    }
static const Range ranges[DTYPE_COUNT] = {
    [DTYPE_FLOAT16] = FLOAT_RANGE(65504),
    [DTYPE_BFLOAT16] = FLOAT_RANGE(0x1.FEp127),
    [DTYPE_FLOAT32] = FLOAT_RANGE((double)FLT_MAX),
    [DTYPE_FLOAT64] = FLOAT_RANGE(DBL_MAX),
    [DTYPE_INT8] = {.wide = DTYPE_INT64, .integer = {INT8_MAX, INT8_MIN}},
    [DTYPE_INT16] = {.wide = DTYPE_INT64, .integer = {INT16_MAX, INT16_MIN}},
    [DTYPE_INT32] = {.wide = DTYPE_INT64, .integer = {INT32_MAX, INT32_MIN}},
    [DTYPE_INT64] = {.wide = DTYPE_INT64, .integer = {INT64_MAX, INT64_MIN}},
    [DTYPE_UINT8] = {.wide = DTYPE_UINT64, .natural = {UINT8_MAX, 0}},
    [DTYPE_UINT16] = {.wide = DTYPE_UINT64, .natural = {UINT16_MAX, 0}},
    [DTYPE_UINT32] = {.wide = DTYPE_UINT64, .natural = {UINT32_MAX, 0}},
    [DTYPE_UINT64] = {.wide = DTYPE_UINT64, .natural = {UINT64_MAX, 0}},
    [DTYPE_COMPLEX64] = {.wide = DTYPE_COMPLEX128},
    [DTYPE_COMPLEX128] = {.wide = DTYPE_COMPLEX128},
};

Dtype
wide_dtype(Dtype dtype)
{
    return ranges[dtype].wide;
}

typedef void (*CombineLoop)(void *into, const void *from, int64_t count);

/* Integers are combined as unsigned numbers, so that they wrap. */
#define COMBINE_LOOP(name, suffix, storage, compute, expression)                                             \
    static void name##_##suffix(void *into, const void *from, int64_t count)                                 \
    {                                                                                                        \
        storage *z = into;                                                                                   \
        const storage *y = from;                                                                             \
        for (int64_t n = 0; n < count; n++) {                                                                \
            compute a = (compute)z[n];                                                                       \
            compute b = (compute)y[n];                                                                       \
            z[n] = (storage)(expression);                                                                    \
        }                                                                                                    \
    }

#define WRAPPING_COMBINE(name, expression)                                                                   \
    COMBINE_LOOP(name, float64, double, double, expression)                                                  \
    COMBINE_LOOP(name, int64, int64_t, uint64_t, expression)                                                 \
    COMBINE_LOOP(name, uint64, uint64_t, uint64_t, expression)                                               \
    COMBINE_LOOP(name, complex128, double complex, double complex, expression)

#define ORDERED_COMBINE(name, floating, integer)                                                             \
    COMBINE_LOOP(name, float64, double, double, floating)                                                    \
    COMBINE_LOOP(name, int64, int64_t, int64_t, integer)                                                     \
    COMBINE_LOOP(name, uint64, uint64_t, uint64_t, integer)

WRAPPING_COMBINE(replace, ((void)a, b))
WRAPPING_COMBINE(add, a + b)
WRAPPING_COMBINE(subtract, a - b)
WRAPPING_COMBINE(multiply, (a * b))
ORDERED_COMBINE(minimum, b < a ? b : a, b < a ? b : a)
ORDERED_COMBINE(maximum, b > a ? b : a, b > a ? b : a)
ORDERED_COMBINE(newer_minimum, a < b ? a : b, a < b ? a : b)
ORDERED_COMBINE(newer_maximum, a > b ? a : b, a > b ? a : b)

#define ORDERED_ROW(name)                                                                                    \
    [DTYPE_FLOAT64] = name##_float64, [DTYPE_INT64] = name##_int64, [DTYPE_UINT64] = name##_uint64
#define WRAPPING_ROW(name) ORDERED_ROW(name), [DTYPE_COMPLEX128] = name##_complex128

static const CombineLoop combine_loops[WIDE_COUNT][DTYPE_COUNT] = {
    [WIDE_REPLACE] = {WRAPPING_ROW(replace)},
    [WIDE_ADD] = {WRAPPING_ROW(add)},
    [WIDE_SUBTRACT] = {WRAPPING_ROW(subtract)},
    [WIDE_MULTIPLY] = {WRAPPING_ROW(multiply)},
    [WIDE_MINIMUM] = {ORDERED_ROW(minimum)},
    [WIDE_MAXIMUM] = {ORDERED_ROW(maximum)},
    [WIDE_NEWER_MINIMUM] = {ORDERED_ROW(newer_minimum)},
    [WIDE_NEWER_MAXIMUM] = {ORDERED_ROW(newer_maximum)},
};

bool
wide_supports(WideCombination combination, Dtype dtype)
{
    return combine_loops[combination][wide_dtype(dtype)] != NULL;
}

void
wide_combine(WideCombination combination, Dtype wide, void *into, const void *from, int64_t count)
{
    combine_loops[combination][wide](into, from, count);
}

void
wide_fill_neutral(WideCombination combination, Dtype dtype, Tensor *wide)
{
    assert(combination < WIDE_COUNT && wide->dtype == wide_dtype(dtype));
    const Range *range = &ranges[dtype];
    if (combination < WIDE_MINIMUM) {
        fill_number(wide, combination == WIDE_MULTIPLY ? 1 : 0);
        return;
    }
    int end = combination == WIDE_MINIMUM || combination == WIDE_NEWER_MINIMUM ? 0 : 1;
    const void *element = range->wide == DTYPE_FLOAT64 ? (const void *)&range->real[end]
                          : range->wide == DTYPE_INT64 ? (const void *)&range->integer[end]
                                                       : (const void *)&range->natural[end];
    fill_element(wide, element);
}

#define DIVIDE_LOOP(suffix, storage, divisor_type)                                                           \
    static void divide_##suffix(void *values, double divisor, int64_t count)                                 \
    {                                                                                                        \
        storage *z = values;                                                                                 \
        for (int64_t n = 0; n < count; n++) {                                                                \
            z[n] /= (divisor_type)divisor;                                                                   \
        }                                                                                                    \
    }

DIVIDE_LOOP(float64, double, double)
DIVIDE_LOOP(int64, int64_t, int64_t)
DIVIDE_LOOP(uint64, uint64_t, uint64_t)
DIVIDE_LOOP(complex128, double complex, double)

void
wide_divide(Dtype wide, void *values, double divisor, int64_t count)
{
    static void (*const loops[DTYPE_COUNT])(void *, double, int64_t) = {WRAPPING_ROW(divide)};
    loops[wide](values, divisor, count);
}
