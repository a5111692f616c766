/* The frame of a loop (TensorFlow's lowering of While):
 *
 *     Enter → Merge → (condition) → Switch → :1 (body) → NextIteration → Merge
 *                                         → :0 Exit
 *
 * A variable that is the same in every iteration needs only an Enter, a constant one.
 *
 * Order: loop_open(), the caller fills the variables, loop_enter(), the condition, loop_decide(), the body,
 * loop_close(). */
#pragma once

#include "gateway/expand/scope.h"

typedef struct LoopVariable {
    Slice initial;
    Dtype dtype;
    bool is_invariant; /* the same in every iteration */
    Slice merged;      /* read by the condition */
    Slice current;     /* read by the body */
    Slice back;        /* name of its NextIteration */
    Slice final;       /* name that its last value must have; "" for any */
} LoopVariable;

typedef struct Loop {
    const Scope *scope;
    Member *member;
    Slice start; /* control input of all Enters; "" for none */
    int64_t parallel_iterations;
    LoopVariable *variables; /* the first is never invariant */
    size_t variable_count;
    Slice condition_pivot;
    Slice body_pivot;
} Loop;

MUST_USE Status loop_open(
    const Scope *scope, Member *member, const Endpoints *controls, size_t variable_count, Loop *ret_loop);

/* Writes the Enters and Merges; sets `merged` of each variable and condition_pivot. */
MUST_USE Status loop_enter(Loop *loop);

/* Writes LoopCond and the Switches; sets `current` of each variable and body_pivot. */
MUST_USE Status loop_decide(Loop *loop, Slice predicate);

/* Writes NextIterations and Exits. `next` has a value for each variable; those of invariants are ignored. */
MUST_USE Status loop_close(Loop *loop, const Slice *next);
