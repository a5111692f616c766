/* The steps that a fused op applies to its sums, as TensorFlow's attribute "fused_ops" names them
 * (_FusedConv2D, _FusedDepthwiseConv2dNative, _FusedMatMul): a bias or a batch normalisation, then an
 * addend, then an activation. Each is optional. Their operands follow the op's own two inputs in the same
 * order.
 * Threads: any.
 * Errors:  INVALID_ARGUMENT for steps that are not known, not in this order or without their operands. */
#pragma once

#include "shared/ops/infer.h"

typedef enum EpilogueActivation {
    EPILOGUE_NONE,
    EPILOGUE_ELU,
    EPILOGUE_GELU,      /* by the error function */
    EPILOGUE_GELU_TANH, /* by tanh */
    EPILOGUE_HARD_SWISH,
    EPILOGUE_LEAKY_RELU,
    EPILOGUE_RELU,
    EPILOGUE_RELU6,
    EPILOGUE_SIGMOID,
    EPILOGUE_SWISH,
    EPILOGUE_TANH,
} EpilogueActivation;

/* Operands are indexes of the node's inputs; 0 where a step is absent. */
typedef struct Epilogue {
    uint32_t bias;   /* one number a channel */
    uint32_t norm;   /* scale, offset, mean and variance follow each other, one number a channel each */
    uint32_t addend; /* of the output's shape */
    EpilogueActivation activation;
    float alpha;   /* of LeakyRelu */
    float epsilon; /* of the batch normalisation */
} Epilogue;

/* The attributes that a fused op's signature declares. */
#define EPILOGUE_ATTRIBUTES "fused_ops:list(string)=[], epsilon:float=0.0001, leakyrelu_alpha:float=0.2"

enum {
    EPILOGUE_STEPS_MAX = 3,
    EPILOGUE_FIRST_OPERAND = 2,
    EPILOGUE_NORM_INPUTS = 4,
    EPILOGUE_OPERANDS_MAX = EPILOGUE_NORM_INPUTS + 1,
};

/* Returns the name that the attribute uses: "Relu", "GeluExact"; NULL for no activation. */
const char *epilogue_activation_name(EpilogueActivation activation);

/* True for Elu, Gelu, Sigmoid, Swish and Tanh, which take more than comparing and multiplying. */
bool epilogue_is_transcendental(EpilogueActivation activation);

/* Returns whether a step may follow another, both by name ("": the sums themselves), and fast kernels compute
 * it there. None computes a transcendental function after an addend. */
bool epilogue_may_follow(Slice before, Slice step);

/* Reads a node that declares fused_ops, epsilon and leakyrelu_alpha and has two inputs of its own. */
MUST_USE Status epilogue_read(Call *call, const Node *node, Epilogue *ret_epilogue);

/* Checks that the operands fit an output of this shape, whose channels are its dimension `channel`. */
MUST_USE Status epilogue_check(Call *call, const InferContext *context, const Shape *output, int channel);
