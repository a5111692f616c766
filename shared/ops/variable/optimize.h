/* The rules by which optimisers change variables, element by element, in the order in which TensorFlow's
 * training_ops.cc computes them, for the same bits. Threads: any; the caller holds the variables' locks. */
#pragma once

#include "shared/base/slice.h"
#include "shared/tensor/dtype.h"

enum { OPTIMIZE_VARIABLES_MAX = 4, OPTIMIZE_SCALARS_MAX = 6 };

/* A part of a parameter: `count` elements of each variable and of the gradient. */
typedef struct OptimizeRun {
    void *variables[OPTIMIZE_VARIABLES_MAX];   /* in the rule's order */
    const void *scalars[OPTIMIZE_SCALARS_MAX]; /* one element each, in the rule's order */
    const void *gradient;
    int64_t count;
    bool has_flag; /* use_nesterov or update_slots, whichever the op has */
} OptimizeRun;

typedef void (*OptimizeLoop)(const OptimizeRun *run);

typedef struct OptimizeRule {
    const char *name;                              /* "Adam", for ApplyAdam, ResourceSparseApplyAdam, … */
    const OptimizeLoop *loops;                     /* by dtype; NULL where there is none */
    const char *variables[OPTIMIZE_VARIABLES_MAX]; /* names of the op's inputs; NULL behind the last */
    const char *scalars[OPTIMIZE_SCALARS_MAX];
} OptimizeRule;

/* Returns NULL when no rule has this name. */
const OptimizeRule *optimize_rule(Slice name);
