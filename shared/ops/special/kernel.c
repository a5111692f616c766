/* Special functions, element by element, and shifts. */
#include "shared/ops/special/rule.h"
#include "worker/reference/elementwise.h"

/* A loop of three inputs, whose elements are the arguments of a function. */
#define TERNARY_LOOP(name, function, upper, lower, storage, compute, read, write)                            \
    static void name##_##lower(const ElementRun *run)                                                        \
    {                                                                                                        \
        const storage *a = run->inputs[0];                                                                   \
        const storage *b = run->inputs[1];                                                                   \
        const storage *x = run->inputs[2];                                                                   \
        storage *z = run->output;                                                                            \
        for (int64_t n = 0; n < run->count; n++) {                                                           \
            z[n] = write((compute)function((double)read(a[n * run->strides[0]]),                             \
                (double)read(b[n * run->strides[1]]), (double)read(x[n * run->strides[2]])));                \
        }                                                                                                    \
    }

#define FLOATS(loop, name, expression)                                                                       \
    FLOATING_ELEMENTS(loop, name, expression)                                                                \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {FLOATING_LOOPS(name)};                             \
    ELEMENTWISE(name, 0, NULL, NULL)

FLOATS(UNARY_LOOP, digamma, (__typeof__(a))special_digamma((double)a))
FLOATS(BINARY_LOOP, zeta, (__typeof__(a))special_zeta((double)a, (double)b))
FLOATS(BINARY_LOOP, polygamma, (__typeof__(a))special_polygamma((double)a, (double)b))
FLOATS(BINARY_LOOP, igamma, (__typeof__(a))special_igamma((double)a, (double)b))
FLOATS(BINARY_LOOP, igammac, (__typeof__(a))special_igammac((double)a, (double)b))
FLOATS(TERNARY_LOOP, betainc, special_betainc)

BINARY_LOOP(next, nextafterf(a, b), FLOAT32, float32, float, float, , (float))
BINARY_LOOP(next, nextafter(a, b), FLOAT64, float64, double, double, , (double))
static const ElementLoop next_loops[DTYPE_COUNT] = {
    [DTYPE_FLOAT32] = next_float32, [DTYPE_FLOAT64] = next_float64};

/* Shifts are limited to the width. */
#define WIDTH(a) (8 * (int64_t)sizeof(__typeof__(x[0])))
#define HELD(b) ((b) < 0 ? 0 : (b) >= WIDTH(b) ? WIDTH(b) - 1 : (b))
#define HELD_UNSIGNED(b) ((b) >= (uint64_t)WIDTH(b) ? (uint64_t)WIDTH(b) - 1 : (b))
SIGNED_ELEMENTS(BINARY_LOOP, shift_left, (int64_t)((uint64_t)a << HELD(b)))
UNSIGNED_ELEMENTS(BINARY_LOOP, shift_left, a << HELD_UNSIGNED(b))
SIGNED_ELEMENTS(BINARY_LOOP, shift_right, a >> HELD(b))
UNSIGNED_ELEMENTS(BINARY_LOOP, shift_right, a >> HELD_UNSIGNED(b))
static const ElementLoop shift_left_loops[DTYPE_COUNT] = {INTEGER_LOOPS(shift_left)};
static const ElementLoop shift_right_loops[DTYPE_COUNT] = {INTEGER_LOOPS(shift_right)};

ELEMENTWISE(next, 0, NULL, NULL)
ELEMENTWISE(shift_left, 0, NULL, NULL)
ELEMENTWISE(shift_right, 0, NULL, NULL)

static const Kernel special_kernels[] = {
    ELEMENTWISE_KERNEL("Digamma", digamma),
    ELEMENTWISE_KERNEL("Zeta", zeta),
    ELEMENTWISE_KERNEL("Polygamma", polygamma),
    ELEMENTWISE_KERNEL("Igamma", igamma),
    ELEMENTWISE_KERNEL("Igammac", igammac),
    ELEMENTWISE_KERNEL("Betainc", betainc),
    ELEMENTWISE_KERNEL("NextAfter", next),
    ELEMENTWISE_KERNEL("LeftShift", shift_left),
    ELEMENTWISE_KERNEL("RightShift", shift_right),
};

KERNEL_FAMILY(reference, special, special_kernels);
