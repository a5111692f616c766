/* Plans how a fused node computes the tiles of its result for given input shapes.
 *
 * Ownership: a plan owns all that it points to.
 * Threads:   a plan is immutable. */
#pragma once

#include "worker/runtime/kernel.h"

/* One of the fused nodes. Values are numbered: first the inputs of the fused node, then the results of the
 * steps. */
typedef struct FusedStep {
    const Node *node;
    const Kernel *kernel;
    void *state; /* of the kernel; NULL on the host, whose element functions have none */
    ElementFunction function;
    const uint32_t *values; /* the values that it reads, one for each input */
} FusedStep;

typedef struct FusedPlan FusedPlan;

enum { FUSED_PLAN_COUNT = 4 }; /* the number of shape combinations whose plans are kept */

typedef struct Fused {
    const FusedStep *steps; /* topological order; the last step gives the result */
    uint32_t step_count;
    uint32_t input_count;
    const FusedPlan **plans;    /* of the host: FUSED_PLAN_COUNT entries, atomic; filled from the first on */
    const KernelFusion *fusion; /* of an accelerator */
    void *group;                /* its state of the group */
} Fused;

enum {
    FUSED_REGISTER_COUNT = 8,
    /* Bytes of a register, which holds one tile; a few fit into a core's level 1 cache. */
    FUSED_REGISTER_SIZE = 4 * 1024,
};

/* The path through a value's memory in the order of the result, in elements. Innermost dimension first;
 * dimensions of size 1 are left out, and neighbours that a single stride can cross are joined. */
typedef struct FusedWalk {
    int rank;
    int64_t dims[SHAPE_RANK_MAX];
    int64_t strides[SHAPE_RANK_MAX];
} FusedWalk;

typedef enum FusedOperandKind {
    FUSED_REGISTER, /* result of an earlier operation on the same tile */
    FUSED_LINE,     /* a value with as many elements as the result, in the same order */
    FUSED_SCALAR,
    FUSED_WALK,
} FusedOperandKind;

typedef struct FusedOperand {
    FusedOperandKind kind;
    uint32_t source; /* number of the register or of the value */
    size_t size;     /* bytes of an element */
    const FusedWalk *walk;
} FusedOperand;

static const uint32_t FUSED_OUTPUT = UINT32_MAX;

typedef struct FusedOperation {
    const ElementFunction *function;
    FusedOperand operands[ELEMENT_INPUTS_MAX];
    uint32_t operand_count;
    uint32_t target; /* a register, or FUSED_OUTPUT */
} FusedOperation;

struct FusedPlan {
    Arena *arena;
    const Shape *inputs;   /* the input shapes that the plan is for */
    Shape shape;           /* shape of the result */
    int64_t count;         /* elements of the result */
    int64_t tile;          /* elements of one tile */
    const uint32_t *whole; /* steps of other shapes, computed first by their own kernels */
    uint32_t whole_count;
    const FusedOperation *operations;
    uint32_t operation_count; /* 0: there are no tiles, all steps are computed by their own kernels */
    bool may_refuse;          /* some operation may refuse elements */
};

/* Returns the plan for these inputs. *ret_is_kept: the Fused owns it; otherwise the caller frees it. */
MUST_USE Status fused_plan_get(
    Call *call, const Fused *fused, const Tensor *inputs, const FusedPlan **ret_plan, bool *ret_is_kept);
void fused_plan_free(const FusedPlan *plan); /* NULL is allowed */
