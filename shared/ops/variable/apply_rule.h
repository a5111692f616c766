/* The optimisers and the inputs of their ops: ApplyAdam, ResourceApplyAdam, SparseApplyAdam and
 * ResourceSparseApplyAdam have the rule "Adam", as the names of their inputs say
 * (tensorflow/core/ops/training_ops.cc).
 *
 * Threads: pure functions. */
#pragma once

#include "shared/graph/graph.h"

enum { APPLY_VARIABLES_MAX = 4, APPLY_SCALARS_MAX = 6 };
static const uint32_t APPLY_NO_INPUT = UINT32_MAX;

typedef struct ApplyRule {
    const char *name;
    const char *variables[APPLY_VARIABLES_MAX]; /* names of the op's inputs; NULL behind the last */
    const char *scalars[APPLY_SCALARS_MAX];
} ApplyRule;

/* The numbers of a node's inputs; APPLY_NO_INPUT where it has none. */
typedef struct ApplyInputs {
    const ApplyRule *rule;
    uint32_t variables[APPLY_VARIABLES_MAX]; /* in the rule's order */
    size_t variable_count;
    uint32_t scalars[APPLY_SCALARS_MAX]; /* in the rule's order */
    uint32_t gradient;
    uint32_t indices; /* APPLY_NO_INPUT: every element changes */
    bool has_flag;    /* use_nesterov or update_slots, whichever the op has */
} ApplyInputs;

/* Returns the rule of an op, or NULL. */
const ApplyRule *apply_rule(Slice op);

/* Finds the inputs of a node whose op has a rule. */
ApplyInputs apply_inputs(const Node *node);
