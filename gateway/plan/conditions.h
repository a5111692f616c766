/* When each node of the pruned graph runs: always, or on one side of a Switch, where the Switch itself runs
 * (the deadness of TensorFlow's functionalize_control_flow, as a tree). Loops are looked through: what is in
 * a loop runs when the loop does.
 *
 * Switch and Merge that If and Case were lowered to say so (shared marks: "_branching", the name that a call
 * in their place may have; "_test", the number of the test). A branching is whole when they still are what
 * lowering made of them: test b's true side is branch b, the last test's false side the last branch, and
 * every Merge takes one value of each branch.
 *
 * Inside gateway/plan. Everything lives in the call's arena. */
#pragma once

#include "gateway/plan/compile.h"

#define CONDITION_ALWAYS 0
#define CONDITION_UNKNOWN                                                                                    \
    UINT32_MAX /* no branch's alone: one value of several conditions, or a contradiction */
#define FORK_NONE UINT32_MAX
#define BRANCHING_NONE UINT32_MAX

/* A predicate where it is tested. Its two sides are conditions: 1 + 2 * fork + side. */
typedef struct Fork {
    uint32_t parent; /* condition */
    Endpoint predicate;
    uint32_t branching; /* BRANCHING_NONE: a Switch of the author's own */
    uint32_t test;
    uint32_t depth; /* forks around it */
} Fork;

typedef struct Branching {
    Slice name;
    uint32_t parent; /* condition: when it runs */
    uint32_t test_count;
    uint32_t last_fork;
    uint32_t output_count;
    bool is_whole;
    bool is_wanted; /* its author asks for calls ("_is_lazy") */
} Branching;

typedef struct Conditions {
    const Compile *compile;
    uint32_t *nodes;    /* of each node: the condition under which it runs */
    uint32_t *switches; /* of each node: a Switch's fork, else FORK_NONE */
    uint32_t *merges;   /* of each node: the branching that the Merge ends, else BRANCHING_NONE */
    Fork *forks;        /* an outer one before those inside it */
    uint32_t fork_count;
    Branching *branchings; /* an outer one before those inside it */
    uint32_t branching_count;
    Map *fork_map;      /* Fork, without its test → itself */
    Map *branching_map; /* name → Branching */
} Conditions;

/* False: no Switch is marked. */
bool has_branchings(const Graph *graph);

MUST_USE Status find_conditions(const Compile *compile, Conditions *ret_conditions);

static inline uint32_t
condition_of(uint32_t fork, uint32_t side)
{
    return 1 + 2 * fork + side;
}

static inline uint32_t
condition_side(uint32_t condition)
{
    return (condition - 1) % 2;
}

static inline const Fork *
condition_fork(const Conditions *conditions, uint32_t condition)
{
    return &conditions->forks[(condition - 1) / 2];
}

/* Of what an endpoint gives. */
uint32_t endpoint_condition(const Conditions *conditions, Endpoint endpoint);

/* The condition's branch of `branching`, which the fork tests; NODE_NONE while it is not decided yet. */
uint32_t condition_branch(const Conditions *conditions, uint32_t condition);

/* No branching around the condition is whole. */
void conditions_break(const Conditions *conditions, uint32_t condition);
/* … of those that are not around `inside` as well: what is there is read where it need not be. */
void conditions_break_between(const Conditions *conditions, uint32_t condition, uint32_t inside);
