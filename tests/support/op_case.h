/* One op on written-down inputs: a one-node graph is linked, its shapes inferred, the reference kernel
 * run, and all of it compared.
 *
 *     {.op = "MatMul", .attrs = "transpose_a=true", .inputs = {"float32[1,1] 2", "float32[1,1] 3"},
 *         .outputs = {"float32[1,1] 6"}}
 *
 * Attributes: "name=value; name=value" in the form of signatures (lists in brackets), dtypes by name,
 * tensors as literals. Type and number attributes that follow from the inputs are filled in.
 *
 * An element-wise op is also run at edges that are made of the case's inputs: with empty tensors and, if it
 * is a function of one floating input, with NaN. */
#pragma once

#include "shared/base/call.h"
#include "shared/graph/graph.h"

enum { OP_CASE_TENSORS_MAX = 12 };

typedef struct OpCase {
    const char *op;
    const char *attrs;
    const char *inputs[OP_CASE_TENSORS_MAX]; /* "": an optional input that is absent */
    const char *outputs[OP_CASE_TENSORS_MAX];
    double tolerance;  /* 0: the dtype's own tolerance */
    const char *error; /* the expected message, instead of outputs */
    Status error_code;
} OpCase;

/* Computes a node as reference_compute() does. CANCELLED: the node is none of its business. */
typedef Status (*OpCompute)(Call *call, const Node *node, Tensor *inputs, Tensor *outputs);

/* Has each case computed in another way, once and at its edges, and fails the test with those that did not
 * hold. Of what is computed only the shapes are checked: to compare it is the other way's own work, which
 * fails when it is wrong. */
void op_cases_run_by(OpCompute compute, const OpCase *cases, size_t count);

/* Runs all cases and fails the test with those that did not hold. The shape rule is asked three times:
 * knowing the inputs' values, their shapes, nothing. Each answer must fit the kernel's result. */
void op_cases_run(const OpCase *cases, size_t count);
