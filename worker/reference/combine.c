#include "worker/reference/combine.h"

#include <assert.h>
#include <string.h>

#include "worker/reference/elements.h"

typedef bool (*CombineLoop)(void *target, const void *source, int64_t stride, int64_t count);

/* A loop whose target becomes an expression of `a` (target) and `b` (source); false as soon as `refused`
 * holds. */
#define COMBINE_LOOP(name, refused, expression, upper, lower, storage, compute, read, write)                 \
    static bool name##_##lower(void *target, const void *source, int64_t stride, int64_t count)              \
    {                                                                                                        \
        storage *z = target;                                                                                 \
        const storage *y = source;                                                                           \
        for (int64_t n = 0; n < count; n++) {                                                                \
            compute a = read(z[n]);                                                                          \
            compute b = read(y[n * stride]);                                                                 \
            if (refused) {                                                                                   \
                return false;                                                                                \
            }                                                                                                \
            z[n] = write(expression);                                                                        \
        }                                                                                                    \
        return true;                                                                                         \
    }

WRAPPING_ELEMENTS(COMBINE_LOOP, add, false, a + b)
FLOATING_ELEMENTS(COMBINE_LOOP, add, false, a + b)
COMPLEX_ELEMENTS(COMBINE_LOOP, add, false, a + b)
WRAPPING_ELEMENTS(COMBINE_LOOP, subtract, false, a - b)
FLOATING_ELEMENTS(COMBINE_LOOP, subtract, false, a - b)
COMPLEX_ELEMENTS(COMBINE_LOOP, subtract, false, a - b)
WRAPPING_ELEMENTS(COMBINE_LOOP, multiply, false, (a * b))
FLOATING_ELEMENTS(COMBINE_LOOP, multiply, false, (a * b))
COMPLEX_ELEMENTS(COMBINE_LOOP, multiply, false, (a * b))
/* The smallest number divided by -1 does not fit: it wraps to itself. */
SIGNED_ELEMENTS(COMBINE_LOOP, divide, b == 0, b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b)
UNSIGNED_ELEMENTS(COMBINE_LOOP, divide, b == 0, a / b)
FLOATING_ELEMENTS(COMBINE_LOOP, divide, false, a / b)
COMPLEX_ELEMENTS(COMBINE_LOOP, divide, false, a / b)
REAL_ELEMENTS(COMBINE_LOOP, minimum, false, b < a ? b : a)
REAL_ELEMENTS(COMBINE_LOOP, maximum, false, b > a ? b : a)

#define NUMBER_LOOPS(name) REAL_LOOPS(name) COMPLEX_LOOPS(name)

static const CombineLoop loops[COMBINE_COUNT][DTYPE_COUNT] = {
    [COMBINE_ADD] = {NUMBER_LOOPS(add)},
    [COMBINE_SUB] = {NUMBER_LOOPS(subtract)},
    [COMBINE_MUL] = {NUMBER_LOOPS(multiply)},
    [COMBINE_DIV] = {NUMBER_LOOPS(divide)},
    [COMBINE_MIN] = {REAL_LOOPS(minimum)},
    [COMBINE_MAX] = {REAL_LOOPS(maximum)},
};

bool
combine_supports(Combine combine, Dtype dtype)
{
    return combine == COMBINE_SET ? dtype_is_copyable(dtype) : loops[combine][dtype] != NULL;
}

bool
combine_elements(
    Combine combine, Dtype dtype, void *target, const void *source, int64_t stride, int64_t count)
{
    if (count == 0) {
        return true;
    }
    assert(combine < COMBINE_COUNT && combine_supports(combine, dtype));
    if (combine != COMBINE_SET) {
        return loops[combine][dtype](target, source, stride, count);
    }
    size_t size = dtype_size(dtype);
    if (stride == 1) {
        memcpy(target, source, (size_t)count * size);
        return true;
    }
    for (int64_t n = 0; n < count; n++) {
        memcpy((char *)target + (size_t)n * size, (const char *)source + (size_t)(n * stride) * size, size);
    }
    return true;
}
