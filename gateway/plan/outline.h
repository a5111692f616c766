/* Branches that are called. An If or Case with heavy branches becomes one _Branch node, and its branches
 * become functions: a worker makes kernels and prepares weights only for branches that are taken, and a
 * step does not visit the nodes of the others. This comes after the optimising passes, which see the graph
 * as a whole, so that results have the same bits either way.
 *
 *     conditions.c      when each node runs; which branchings are as they were lowered
 *     outline.c         which branchings become calls, and which branch each node belongs to
 *     outline_write.c   the functions, and the graph that is left
 *
 * A branching stays as it is when one of its nodes is fed, fetched, a target, asks for another device than
 * the rest, or must share a slot with a node outside.
 *
 * Ownership: everything lives in the call's arena, but for the lists of a Candidate, which outline_branches()
 * frees.
 *            */
#pragma once

#include "gateway/plan/conditions.h"

/* Branches are heavy from these sizes on: a call pays when a branch that is not taken costs more than the
 * start of a run inside a run. */
enum {
    LAZY_NODE_COUNT_MIN = 256, /* of one branch, or … */
    LAZY_CONSTANT_BYTES_MIN = 1 << 20,
};

#define HOME_GRAPH 0         /* the graph itself; branches are the homes 1, 2, … */
#define HOME_NONE UINT32_MAX /* between two tests of a branching that becomes a call, and goes with it */

typedef struct BranchWeight {
    uint32_t node_count;
    uint64_t constant_bytes;
    double cost;
} BranchWeight;

/* A branching that may become a call. */
typedef struct Candidate {
    bool is_chosen;
    bool keeps_state;
    bool has_device;
    int32_t task;
    Slice device;
    BranchWeight *weights; /* by branch */
    uint32_t first_home;   /* of its branches, once it is chosen; the others follow */
    Endpoint index;        /* the input that selects the branch: a bool, or the number of a Case */
    Buffer args;           /* Endpoint[]: the tensors that the branches read from outside */
    Map *arg_map;
    Buffer controls; /* uint32_t[]: the nodes that the call waits for */
    Map *control_map;
    Buffer outputs; /* uint32_t[]: its Merges, which become the call's outputs */
} Candidate;

typedef struct Outline {
    Compile *compile;
    Conditions conditions;
    Candidate *candidates; /* by branching */
    uint32_t *homes;       /* by condition: the branch that its nodes move to, or HOME_GRAPH */
    uint32_t *home_owners; /* by home: its branching */
    uint32_t home_count;
    uint32_t chosen_count;
} Outline;

static inline uint32_t
home_of(const Outline *outline, uint32_t condition)
{
    return condition == CONDITION_UNKNOWN ? HOME_GRAPH : outline->homes[condition];
}

MUST_USE Status outline_write(Outline *outline);
