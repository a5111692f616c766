/* Branches that are called. An If or Case whose branches are heavy becomes one node, _Branch, and its
 * branches functions: the worker makes kernels and lays weights out for what is taken, and a step does not
 * walk what is not. It is done behind all optimising passes, which see the graph as a whole, so that the bits
 * are the same.
 *
 *     conditions.c      when each node runs; which branchings are as they were lowered
 *     outline.c         what may not be called, what is heavy enough, who belongs where
 *     outline_write.c   the functions, and the graph that is left
 *
 * A branching stays as it is when something in it is fed, fetched or a target, asks for another place than
 * the rest, or belongs together with something outside.
 *
 * Inside gateway/plan. Everything lives in the call's arena. */
#pragma once

#include "gateway/plan/conditions.h"

/* A call pays where a branch that is not taken costs more than the start of a run in a run. */
enum {
    LAZY_NODE_COUNT_MIN = 256, /* of a branch, or … */
    LAZY_CONSTANT_BYTES_MIN = 1 << 20,
};

#define HOME_GRAPH 0         /* the graph itself; other homes are branches: 1, 2, … */
#define HOME_NONE UINT32_MAX /* between two tests: goes with its branching */

typedef struct BranchWeight {
    uint32_t node_count;
    uint64_t constant_bytes;
    double cost;
} BranchWeight;

/* A branching on its way to a call. */
typedef struct Candidate {
    bool is_chosen;
    bool keeps_state;
    bool has_device;
    int32_t task;
    Slice device;
    BranchWeight *weights; /* of each branch */
    uint32_t first_home;   /* of its branches, when it is chosen */
    Endpoint index;        /* what decides: a bool, or Case's number */
    Buffer args;           /* Endpoint[]: what the branches read from outside */
    Map *arg_map;
    Buffer controls; /* uint32_t[]: what it waits for */
    Map *control_map;
    Buffer outputs; /* uint32_t[]: its Merges */
} Candidate;

typedef struct Outline {
    Compile *compile;
    Conditions conditions;
    Candidate *candidates; /* of each branching */
    uint32_t *homes;       /* of each condition */
    uint32_t *home_owners; /* of each home, its branching */
    uint32_t home_count;
    uint32_t chosen_count;
} Outline;

static inline uint32_t
home_of(const Outline *outline, uint32_t condition)
{
    return condition == CONDITION_UNKNOWN ? HOME_GRAPH : outline->homes[condition];
}

MUST_USE Status outline_write(Outline *outline);
