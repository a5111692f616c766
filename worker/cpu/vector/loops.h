/* Loops over float32 elements, and over float16 and bfloat16 by them, as Kernel.element and ElementRun want
 * them (worker/runtime/element.h).
 *
 *     VECTOR_UNARY(negate, -a)                 defines negate_loops, which ELEMENTWISE() takes
 *     VECTOR_BINARY(add, a + b)
 *
 * In the expressions `a` and `b` are elements, `first` and `second` the node's parameters. */
#pragma once

#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/halves.h"
#include "worker/cpu/vector/variants.h"
#include "worker/reference/elementwise.h"

/* Elements of 16 bits are computed as float32. */
#define VECTOR_HALVES_LOOP(name, suffix, dtype, inputs)                                                      \
    static void name##_##suffix(const ElementRun *run)                                                       \
    {                                                                                                        \
        halves_run((dtype), run, (inputs), name);                                                            \
    }

#define VECTOR_ELEMENT_LOOP(name, inputs)                                                                    \
    VECTOR_VARIANTS(name, (const ElementRun *run), (run))                                                    \
    VECTOR_HALVES_LOOP(name, halves, DTYPE_FLOAT16, inputs)                                                  \
    VECTOR_HALVES_LOOP(name, bfloats, DTYPE_BFLOAT16, inputs)                                                \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {                                                   \
        [DTYPE_FLOAT32] = name, [DTYPE_FLOAT16] = name##_halves, [DTYPE_BFLOAT16] = name##_bfloats};

#define VECTOR_PARAMETERS                                                                                    \
    float first = run->parameters == NULL ? 0 : run->parameters[0];                                          \
    float second = run->parameters == NULL ? 0 : run->parameters[1];                                         \
    (void)first;                                                                                             \
    (void)second;

/* Computes all elements from `a` and `b`, which the initialisers give. */
#define VECTOR_EACH(a_value, b_value, expression)                                                            \
    VECTOR_LOOP for (int64_t n = 0; n < run->count; n++)                                                     \
    {                                                                                                        \
        float a = (a_value);                                                                                 \
        float b = (b_value);                                                                                 \
        (void)b;                                                                                             \
        z[n] = (expression);                                                                                 \
    }

/* Broadcasting leaves strides of 1 and 0 along a run (worker/reference/broadcast.h). */
#define VECTOR_UNARY(name, expression)                                                                       \
    VECTOR_FUNCTION void name##_body(const ElementRun *run)                                                  \
    {                                                                                                        \
        const float *x = run->inputs[0];                                                                     \
        float *z = run->output;                                                                              \
        VECTOR_PARAMETERS                                                                                    \
        if (run->strides[0] != 0) {                                                                          \
            VECTOR_EACH(x[n], 0, expression)                                                                 \
        } else {                                                                                             \
            float repeated = x[0];                                                                           \
            VECTOR_EACH(repeated, 0, expression)                                                             \
        }                                                                                                    \
    }                                                                                                        \
    VECTOR_ELEMENT_LOOP(name, 1)

#define VECTOR_BINARY(name, expression)                                                                      \
    VECTOR_FUNCTION void name##_body(const ElementRun *run)                                                  \
    {                                                                                                        \
        const float *x = run->inputs[0];                                                                     \
        const float *y = run->inputs[1];                                                                     \
        float *z = run->output;                                                                              \
        float x_first = x[0];                                                                                \
        float y_first = y[0];                                                                                \
        VECTOR_PARAMETERS                                                                                    \
        if (run->strides[0] != 0 && run->strides[1] != 0) {                                                  \
            VECTOR_EACH(x[n], y[n], expression)                                                              \
        } else if (run->strides[0] != 0) {                                                                   \
            VECTOR_EACH(x[n], y_first, expression)                                                           \
        } else if (run->strides[1] != 0) {                                                                   \
            VECTOR_EACH(x_first, y[n], expression)                                                           \
        } else {                                                                                             \
            VECTOR_EACH(x_first, y_first, expression)                                                        \
        }                                                                                                    \
    }                                                                                                        \
    VECTOR_ELEMENT_LOOP(name, 2)
