/* Finds out when each node of the pruned graph runs: always, or on one side of a Switch, under the
 * condition of the Switch itself (the deadness of TensorFlow's functionalize_control_flow, as a tree). A
 * loop adds no condition: its nodes run when the loop does.
 *
 * A Switch or Merge that was lowered from an If or Case is marked: "_branching" is the name that one call
 * in place of the whole may have, "_test" the number of the test. A branching is whole while it is as
 * lowering made it: the true side of test b is branch b, the false side of the last test is the last
 * branch, and every Merge takes one value of each branch.
 *
 * Ownership: everything lives in the call's arena. */
#pragma once

#include "gateway/plan/compile.h"

#define CONDITION_ALWAYS 0
#define CONDITION_UNKNOWN                                                                                    \
    UINT32_MAX /* a value of several conditions, or of conditions that contradict each other */
#define FORK_NONE UINT32_MAX
#define BRANCHING_NONE UINT32_MAX

/* A predicate where it is tested. Its two sides are conditions, with the numbers 1 + 2 * fork + side. */
typedef struct Fork {
    uint32_t parent; /* the condition under which the test is made */
    Endpoint predicate;
    uint32_t branching; /* BRANCHING_NONE for a Switch of the author's own */
    uint32_t test;
    uint32_t depth; /* number of forks around it */
} Fork;

typedef struct Branching {
    Slice name;
    uint32_t parent; /* the condition under which it runs */
    uint32_t test_count;
    uint32_t last_fork;
    uint32_t output_count;
    bool is_whole;
    bool is_wanted; /* the author asks for a call ("_is_lazy") */
} Branching;

typedef struct Conditions {
    const Compile *compile;
    uint32_t *nodes;    /* by node: the condition under which it runs */
    uint32_t *switches; /* by node: the fork of a Switch, else FORK_NONE */
    uint32_t *merges;   /* by node: the branching that a Merge ends, else BRANCHING_NONE */
    Fork *forks;        /* outer forks before inner ones */
    uint32_t fork_count;
    Branching *branchings; /* outer branchings before inner ones */
    uint32_t branching_count;
    Map *fork_map;      /* the members of a Fork up to `test` → that Fork */
    Map *branching_map; /* name → Branching */
} Conditions;

/* Returns true when a Switch of the graph is marked. */
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

/* Returns the condition under which the endpoint has a value. */
uint32_t endpoint_condition(const Conditions *conditions, Endpoint endpoint);

/* Returns the branch that is taken under the condition, whose fork is part of a branching; NODE_NONE when
 * a later test decides. */
uint32_t condition_branch(const Conditions *conditions, uint32_t condition);

/* Notes that no branching around the condition is whole. */
void conditions_break(const Conditions *conditions, uint32_t condition);
/* Does the same for the branchings around the condition that are not around `inside` as well. */
void conditions_break_between(const Conditions *conditions, uint32_t condition, uint32_t inside);
