/* Functions that call themselves, perhaps through others. They are written out up to where the circle closes,
 * and are called from there on: the call is a _Branch with one branch, whose body is written out once, in the
 * same way, and which a worker runs in a run of its own. Whether the recursion ends depends on data: a branch
 * of an If runs only when it is taken.
 *
 *     f(n) = if n < 2 then 1 else n * f(n - 1)
 *     graph:  if n < 2 then 1 else n * (if n - 1 < 2 then … else … _Branch(f))
 *     f:      _Arg → if … then 1 else … _Branch(f) → _Retval */
#pragma once

#include "gateway/expand/expansion.h"

/* A function that is called. */
typedef struct Recursion {
    const FunctionDef *function;
    Slice name; /* of the function in the new graph */
    bool has_state;
    NodeDef *nodes; /* of its body, once that is written */
    size_t node_count;
} Recursion;

static inline size_t
recursion_count(const Expansion *expansion)
{
    return expansion->recursions.size / sizeof(Recursion);
}

/* The pointer holds until the next call of recursion_use(). */
static inline Recursion *
recursion_at(const Expansion *expansion, size_t index)
{
    return (Recursion *)(void *)expansion->recursions.data + index;
}

/* Returns true when the function is being written out around the scope. */
bool recursion_is(const Scope *scope, const FunctionDef *function);

/* Writes a call of the function. INVALID_ARGUMENT when the function has attributes. */
MUST_USE Status recursion_use(
    const Scope *scope, const Use *use, const FunctionDef *function, Used *ret_used);
