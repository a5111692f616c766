/* An operation as planner and worker know it: its signature and its shape rule. shared/ops has the
 * operations; the worker has the kernels that compute them (worker/runtime/kernel.h). */
#pragma once

#include "shared/base/call.h"
#include "shared/graph/attribute.h"

typedef struct Node Node;

typedef struct OpArgument {
    Slice name;
    Dtype dtype;          /* DTYPE_INVALID unless the signature fixes it */
    Slice type_attr;      /* "T": the attribute that gives the dtype */
    Slice number_attr;    /* "N": the attribute that gives the number of tensors; "": 1 */
    Slice type_list_attr; /* "Tin": the attribute that lists the dtype of each tensor */
    bool is_reference;    /* TensorFlow's Ref(T) */
    bool is_optional;     /* may be absent (onnx:: ops) */
} OpArgument;

typedef struct OpAttribute {
    Slice name;
    AttrKind kind;
    bool is_list;
    bool has_default;
    bool is_fixed;    /* it came with a later version: only its default is understood */
    bool has_minimum; /* of an int */
    int64_t minimum;
    AttrValue default_value;
} OpAttribute;

enum {
    OP_STATEFUL = 1 << 0,     /* never folded, merged or repeated */
    OP_COMMUTATIVE = 1 << 1,  /* the same bits in either order; not a maximum, which may take either of 0
                               * and -0 */
    OP_CONTROL_FLOW = 1 << 2, /* Switch, Merge, Enter, Exit, NextIteration, LoopCond, ControlTrigger */
    OP_SOURCE = 1 << 3,       /* Const, Placeholder: costs nothing */
    OP_STEP_LOCAL = 1 << 4,   /* its state begins and ends with the step, which may therefore run again */
    OP_KEEPS_STATE = 1 << 5,  /* names state that the session keeps on a worker: its slot stays there */
    OP_RANDOM = 1 << 6,       /* with "seed" or "seed2", the session keeps the position in its sequence */
    OP_ELEMENTWISE = 1 << 7,  /* an element of its output depends only on the elements at the same position */
    OP_INTERNAL = 1 << 8,     /* Sluice writes such nodes itself; nobody's graph may have one */
};

/* The question to a shape rule, and its answer. Shapes may be partly known: a rule leaves unknown what it
 * cannot tell, and fails only when the inputs can never fit. */
typedef struct InferContext {
    const Node *node;
    const Shape *inputs;         /* by data input; rank -1 for an absent optional one */
    const Tensor *const *values; /* by data input: the value of a constant whose elements are here,
                                  * else NULL */
    Shape *outputs;              /* unknown before the rule fills them */
} InferContext;

/* Fails with INVALID_ARGUMENT and the reason when the inputs do not fit. */
typedef Status (*InferShapes)(Call *call, InferContext *context);

typedef struct Op {
    Slice name; /* "MatMul", "onnx::Conv" */
    unsigned flags;
    const OpArgument *inputs;
    size_t input_count;
    const OpArgument *outputs;
    size_t output_count;
    const OpAttribute *attrs;
    size_t attr_count;
    InferShapes infer_shapes;
} Op;

typedef const Op *(*OpFind)(Slice name); /* NULL when there is none */
