/* Kernels that compute each output element from the input elements of the same index: one loop for each
 * dtype.
 *
 *     FLOATING_ELEMENTS(UNARY_LOOP, cube, (a * a * a))                             the loops
 *     static const ElementLoop cube_loops[DTYPE_COUNT] = {FLOATING_LOOPS(cube)};   the dtypes that have one
 *     ELEMENTWISE(cube, 0, NULL, NULL)                                             the kernel's functions
 *     ELEMENTWISE_KERNEL("Cube", cube),                                            the kernel's row
 *
 * Threads: any; loops and their tables are immutable. */
#pragma once

#include "worker/reference/broadcast.h"
#include "worker/reference/elements.h"
#include "worker/runtime/kernel.h"

enum {
    ELEMENTWISE_REFUSES_ZERO = 1 << 0,     /* integers in the second input must not be 0 */
    ELEMENTWISE_REFUSES_NEGATIVE = 1 << 1, /* integers in the second input must not be negative */
};

typedef struct Elementwise {
    const ElementLoop *loops; /* by dtype of the inputs; NULL where the function is not defined */
    unsigned checks;

    /* Names of the float attributes that the loop reads as run->parameters. */
    const char *parameters[ELEMENT_PARAMETERS_MAX];
} Elementwise;

/* Returns whether all inputs are of one dtype, for which there is a loop. */
bool elementwise_supports(const Elementwise *function, const Node *node);

/* Computes a function of one to three inputs, on the device's threads when there are many elements.
 * INVALID_ARGUMENT for shapes that do not broadcast and for refused values. */
MUST_USE Status elementwise_compute(KernelContext *context, const Elementwise *function);

/* INVALID_ARGUMENT when the last input has integers that the function refuses; elementwise_compute() calls
 * it. */
MUST_USE Status elementwise_check(KernelContext *context, const Elementwise *function);

/* Describes the function for Kernel.element. False when it does not support the node. */
MUST_USE bool elementwise_describe(
    const Elementwise *function, const Node *node, ElementFunction *ret_function);

/* Any number of inputs, folded from the left with a loop of two; a single input is passed on. */
MUST_USE Status elementwise_fold(KernelContext *context, const Elementwise *function);

/* Describes a function that is folded. False also for a single input, which is not computed. */
MUST_USE bool elementwise_describe_fold(
    const Elementwise *function, const Node *node, ElementFunction *ret_function);

/* Defines the function `name` over the loops `name_loops`, and what a Kernel needs of it. `checked`: bits of
 * ELEMENTWISE_REFUSES_…; `first` and `second` name the attributes that are parameters, or are NULL. */
#define ELEMENTWISE(name, checked, first, second)                                                            \
    static const Elementwise name##_function = {                                                             \
        .loops = name##_loops, .checks = (checked), .parameters = {first, second}};                          \
    static bool name##_supports(const Node *node)                                                            \
    {                                                                                                        \
        return elementwise_supports(&name##_function, node);                                                 \
    }                                                                                                        \
    static Status name##_compute(KernelContext *context)                                                     \
    {                                                                                                        \
        return elementwise_compute(context, &name##_function);                                               \
    }                                                                                                        \
    static bool name##_element(const Node *node, ElementFunction *ret_function)                              \
    {                                                                                                        \
        return elementwise_describe(&name##_function, node, ret_function);                                   \
    }

/* A row of a family's table: the op is computed by the ELEMENTWISE() of this name. */
#define ELEMENTWISE_KERNEL(name, function)                                                                   \
    {                                                                                                        \
        .op = (name), .supports = function##_supports, .compute = function##_compute,                        \
        .element = function##_element, .sharing = KERNEL_FORWARDS                                            \
    }

/* Defines kernel functions that fold any number of inputs from the left by an ELEMENTWISE() of two. */
#define ELEMENTWISE_FOLD(function)                                                                           \
    static Status function##_fold_compute(KernelContext *context)                                            \
    {                                                                                                        \
        return elementwise_fold(context, &function##_function);                                              \
    }                                                                                                        \
    static bool function##_fold_element(const Node *node, ElementFunction *ret_function)                     \
    {                                                                                                        \
        return elementwise_describe_fold(&function##_function, node, ret_function);                          \
    }

#define ELEMENTWISE_FOLD_KERNEL(name, function)                                                              \
    {                                                                                                        \
        .op = (name), .supports = function##_supports, .compute = function##_fold_compute,                   \
        .element = function##_fold_element                                                                   \
    }

/* Loop of one input: its element is `a` in the expression. */
#define UNARY_LOOP(name, expression, upper, lower, storage, compute, read, write)                            \
    static void name##_##lower(const ElementRun *run)                                                        \
    {                                                                                                        \
        const storage *x = run->inputs[0];                                                                   \
        storage *z = run->output;                                                                            \
        for (int64_t n = 0; n < run->count; n++) {                                                           \
            compute a = read(x[n * run->strides[0]]);                                                        \
            z[n] = write(expression);                                                                        \
        }                                                                                                    \
    }

/* Loop of two inputs: their elements are `a` and `b` in the expression. */
#define BINARY_LOOP(name, expression, upper, lower, storage, compute, read, write)                           \
    static void name##_##lower(const ElementRun *run)                                                        \
    {                                                                                                        \
        const storage *x = run->inputs[0];                                                                   \
        const storage *y = run->inputs[1];                                                                   \
        storage *z = run->output;                                                                            \
        for (int64_t n = 0; n < run->count; n++) {                                                           \
            compute a = read(x[n * run->strides[0]]);                                                        \
            compute b = read(y[n * run->strides[1]]);                                                        \
            z[n] = write(expression);                                                                        \
        }                                                                                                    \
    }

/* The same as UNARY_LOOP, for an expression that is a bool. */
#define TEST_LOOP(name, expression, upper, lower, storage, compute, read, write)                             \
    static void name##_##lower(const ElementRun *run)                                                        \
    {                                                                                                        \
        const storage *x = run->inputs[0];                                                                   \
        uint8_t *z = run->output;                                                                            \
        for (int64_t n = 0; n < run->count; n++) {                                                           \
            compute a = read(x[n * run->strides[0]]);                                                        \
            bool is_true = (expression);                                                                     \
            z[n] = is_true;                                                                                  \
        }                                                                                                    \
    }

/* The same as BINARY_LOOP, for an expression that is a bool. Elements side by side have a loop of their own,
 * which compilers turn into vectors. */
#define COMPARE_ELEMENTS(expression, x_step, y_step, compute, read)                                          \
    for (int64_t n = 0; n < count; n++) {                                                                    \
        compute a = read(x[n * (x_step)]);                                                                   \
        compute b = read(y[n * (y_step)]);                                                                   \
        bool is_true = (expression);                                                                         \
        z[n] = is_true;                                                                                      \
    }

#define COMPARE_LOOP(name, expression, upper, lower, storage, compute, read, write)                          \
    static void name##_##lower(const ElementRun *run)                                                        \
    {                                                                                                        \
        const storage *x = run->inputs[0];                                                                   \
        const storage *y = run->inputs[1];                                                                   \
        uint8_t *z = run->output;                                                                            \
        int64_t count = run->count;                                                                          \
        int64_t x_step = run->strides[0];                                                                    \
        int64_t y_step = run->strides[1];                                                                    \
        if (x_step == 1 && y_step == 1) {                                                                    \
            COMPARE_ELEMENTS(expression, 1, 1, compute, read)                                                \
        } else {                                                                                             \
            COMPARE_ELEMENTS(expression, x_step, y_step, compute, read)                                      \
        }                                                                                                    \
    }
