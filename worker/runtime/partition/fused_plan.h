/* Plans the tiles of a fused node for its inputs' shapes.
 *
 * Ownership: a plan owns all it shows. Threads: immutable. */
#pragma once

#include "worker/runtime/kernel.h"

/* Values are numbered: the inputs of the fused node, then what the steps give. */
typedef struct FusedStep {
    const Node *node;
    const Kernel *kernel;
    ElementFunction function;
    const uint32_t *values; /* its inputs */
} FusedStep;

typedef struct FusedPlan FusedPlan;

enum { FUSED_PLAN_COUNT = 4 }; /* for as many combinations of shapes */

typedef struct Fused {
    const FusedStep *steps; /* each behind those it reads; the last gives the result */
    uint32_t step_count;
    uint32_t input_count;
    const FusedPlan **plans; /* FUSED_PLAN_COUNT, atomic: filled from the first on */
} Fused;

enum {
    FUSED_REGISTER_COUNT = 8,
    FUSED_REGISTER_SIZE = 4 * 1024, /* bytes: a few of them fit into a core's first cache */
};

/* The way along the result in a value's memory, counted in elements: dimensions innermost first, those of
 * size 1 left out, neighbours that continue each other joined. */
typedef struct FusedWalk {
    int rank;
    int64_t dims[SHAPE_RANK_MAX];
    int64_t strides[SHAPE_RANK_MAX];
} FusedWalk;

typedef enum FusedOperandKind {
    FUSED_REGISTER, /* made by an earlier operation of the tile */
    FUSED_LINE,     /* as many elements as the result, in its order */
    FUSED_SCALAR,
    FUSED_WALK,
} FusedOperandKind;

typedef struct FusedOperand {
    FusedOperandKind kind;
    uint32_t source; /* a register or a value */
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
    const Shape *inputs;   /* for which it is made */
    Shape shape;           /* of the result */
    int64_t count;         /* elements of the result */
    int64_t tile;          /* elements that are computed at once */
    const uint32_t *whole; /* steps of other shapes, which their own kernels compute before */
    uint32_t whole_count;
    const FusedOperation *operations;
    uint32_t operation_count; /* 0: every step is left to its own kernel */
    bool may_refuse;          /* some operation does not accept all elements */
};

/* The plan for these inputs. *ret_is_kept: it belongs to the node and stays; else the caller frees it. */
MUST_USE Status fused_plan_get(
    Call *call, const Fused *fused, const Tensor *inputs, const FusedPlan **ret_plan, bool *ret_is_kept);
void fused_plan_free(const FusedPlan *plan); /* NULL is allowed */
