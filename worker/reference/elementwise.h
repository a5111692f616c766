/* Kernels that compute each output element from the input elements at its place: one row of a table and one
 * loop a dtype each.
 * Threads: any; rows and loops are immutable. */
#pragma once

#include "worker/reference/broadcast.h"
#include "worker/reference/elements.h"
#include "worker/runtime/kernel.h"

enum {
    ELEMENTWISE_REFUSES_ZERO = 1 << 0,     /* integers in the second input must not be 0 */
    ELEMENTWISE_REFUSES_NEGATIVE = 1 << 1, /* … must not be negative */
};

typedef struct ElementwiseOp {
    const char *name;
    const ElementLoop *loops; /* by dtype of the first input; NULL where there is none */
    unsigned checks;
    const char
        *parameters[ELEMENT_PARAMETERS_MAX]; /* float attributes that the loop reads as run->parameters */
} ElementwiseOp;

/* The row of this node's op, or NULL; also NULL when its dtype has no loop or the inputs' dtypes differ. */
const ElementwiseOp *elementwise_find(const ElementwiseOp *ops, size_t op_count, const Node *node);

/* One to three inputs. INVALID_ARGUMENT for shapes that do not broadcast and for refused values. */
MUST_USE Status elementwise_compute(KernelContext *context, const ElementwiseOp *op);

/* INVALID_ARGUMENT when the last input has integers that the op refuses; elementwise_compute() asks itself.
 */
MUST_USE Status elementwise_check(KernelContext *context, const ElementwiseOp *op);

/* What the row computes in one element, for Kernel.element. False when `op` is NULL. */
MUST_USE bool elementwise_tell(const ElementwiseOp *op, const Node *node, ElementFunction *ret_function);

/* … of a row that is folded. */
MUST_USE bool elementwise_tell_fold(const ElementwiseOp *op, const Node *node, ElementFunction *ret_function);

/* Any number of inputs, folded from the left with a loop of two; one input is passed on. */
MUST_USE Status elementwise_fold(KernelContext *context, const ElementwiseOp *op);

/* Kernel functions for the table `ops` of a family file. */
#define ELEMENTWISE_FUNCTIONS(prefix, ops, function, tell)                                                   \
    static bool prefix##_supports(const Node *node)                                                          \
    {                                                                                                        \
        return elementwise_find(ops, COUNT_OF(ops), node) != NULL;                                           \
    }                                                                                                        \
    static Status prefix##_compute(KernelContext *context)                                                   \
    {                                                                                                        \
        return function(context, elementwise_find(ops, COUNT_OF(ops), context->node));                       \
    }                                                                                                        \
    static bool prefix##_element(const Node *node, ElementFunction *ret_function)                            \
    {                                                                                                        \
        return tell(elementwise_find(ops, COUNT_OF(ops), node), node, ret_function);                         \
    }

/* --- Loops ---------------------------------------------------------------------------------------------- */

/* x → expression of `a` */
#define UNARY_LOOP(name, expression, upper, lower, storage, compute, read, write)                            \
    static void name##_##lower(const ElementRun *run)                                                        \
    {                                                                                                        \
        const storage *x = run->inputs[0];                                                                   \
        storage *z = run->output;                                                                            \
        for (int64_t n = 0; n < run->count; n++) {                                                           \
            const compute a = read(x[n * run->strides[0]]);                                                  \
            z[n] = write(expression);                                                                        \
        }                                                                                                    \
    }

/* x, y → expression of `a` and `b` */
#define BINARY_LOOP(name, expression, upper, lower, storage, compute, read, write)                           \
    static void name##_##lower(const ElementRun *run)                                                        \
    {                                                                                                        \
        const storage *x = run->inputs[0];                                                                   \
        const storage *y = run->inputs[1];                                                                   \
        storage *z = run->output;                                                                            \
        for (int64_t n = 0; n < run->count; n++) {                                                           \
            const compute a = read(x[n * run->strides[0]]);                                                  \
            const compute b = read(y[n * run->strides[1]]);                                                  \
            z[n] = write(expression);                                                                        \
        }                                                                                                    \
    }

/* x → truth of an expression of `a` */
#define TEST_LOOP(name, expression, upper, lower, storage, compute, read, write)                             \
    static void name##_##lower(const ElementRun *run)                                                        \
    {                                                                                                        \
        const storage *x = run->inputs[0];                                                                   \
        uint8_t *z = run->output;                                                                            \
        for (int64_t n = 0; n < run->count; n++) {                                                           \
            const compute a = read(x[n * run->strides[0]]);                                                  \
            const bool is_true = (expression);                                                               \
            z[n] = is_true;                                                                                  \
        }                                                                                                    \
    }

/* x, y → truth of an expression of `a` and `b` */
#define COMPARE_LOOP(name, expression, upper, lower, storage, compute, read, write)                          \
    static void name##_##lower(const ElementRun *run)                                                        \
    {                                                                                                        \
        const storage *x = run->inputs[0];                                                                   \
        const storage *y = run->inputs[1];                                                                   \
        uint8_t *z = run->output;                                                                            \
        for (int64_t n = 0; n < run->count; n++) {                                                           \
            const compute a = read(x[n * run->strides[0]]);                                                  \
            const compute b = read(y[n * run->strides[1]]);                                                  \
            const bool is_true = (expression);                                                               \
            z[n] = is_true;                                                                                  \
        }                                                                                                    \
    }
