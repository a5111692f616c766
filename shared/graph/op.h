/* What an operation is, to the planner and to the worker alike: its signature and its shape rule. Which
 * operations exist is shared/ops' business; how one is computed is the worker's (worker/runtime/kernel.h). */
#pragma once

#include "shared/base/call.h"
#include "shared/graph/attribute.h"

typedef struct Node Node;

typedef struct OpArgument {
    Slice name;
    Dtype dtype;          /* when the signature fixes it, else DTYPE_INVALID */
    Slice type_attr;      /* "T": the dtype is this attribute's */
    Slice number_attr;    /* "N": this many tensors, 1 when empty */
    Slice type_list_attr; /* "Tin": one tensor for each type in the list */
    bool is_reference;    /* TensorFlow's Ref(T) */
    bool is_optional;     /* may be absent (onnx:: ops) */
} OpArgument;

typedef struct OpAttribute {
    Slice name;
    AttrKind kind;
    bool is_list;
    bool has_default;
    bool is_fixed;    /* a later version's: of its values only the default is understood */
    bool has_minimum; /* of an int … */
    int64_t minimum;
    AttrValue default_value;
} OpAttribute;

enum {
    OP_STATEFUL = 1 << 0,     /* never folded, merged or repeated */
    OP_COMMUTATIVE = 1 << 1,  /* of numbers, to the bit: not a maximum, which of 0 and -0 may take either */
    OP_CONTROL_FLOW = 1 << 2, /* Switch, Merge, Enter, Exit, NextIteration, LoopCond, ControlTrigger */
    OP_SOURCE = 1 << 3,       /* Const, Placeholder: no work */
    OP_STEP_LOCAL = 1 << 4,  /* its state is made by the step and goes with it: the step may be tried again */
    OP_KEEPS_STATE = 1 << 5, /* names what the session keeps on a worker: its slot stays where it is */
    OP_RANDOM = 1 << 6,      /* with "seed" or "seed2", the session keeps how far its sequence has come */
    OP_ELEMENTWISE = 1 << 7, /* an element of its output depends on the elements at its place alone */
};

/* What a shape rule may ask and must answer. Shapes may be partly known; a rule leaves unknown what it
 * cannot tell and fails only when the inputs can never fit. */
typedef struct InferContext {
    const Node *node;
    const Shape *inputs;         /* one a data input; rank -1 for an absent optional one */
    const Tensor *const *values; /* the input's value when it is a constant, else NULL */
    Shape *outputs;              /* to be filled; unknown beforehand */
} InferContext;

/* INVALID_ARGUMENT with the reason the inputs do not fit. */
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
