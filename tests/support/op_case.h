/* One op on written-down inputs: a one-node graph is linked, its shapes inferred, the reference kernel run,
 * and all of it compared.
 *
 *     {.op = "MatMul", .attrs = "transpose_a=true", .inputs = {"float32[1,1] 2", "float32[1,1] 3"},
 *         .outputs = {"float32[1,1] 6"}}
 *
 * Attributes: "name=value; name=value" in the form of signatures (lists in brackets), dtypes by name, tensors
 * as literals. Type and number attributes that the inputs tell are filled in. */
#pragma once

#include "shared/base/call.h"
#include "shared/tensor/tensor.h"

enum { OP_CASE_TENSORS_MAX = 10 };

typedef struct OpCase {
    const char *op;
    const char *attrs;
    const char *inputs[OP_CASE_TENSORS_MAX]; /* "" is an absent optional one */
    const char *outputs[OP_CASE_TENSORS_MAX];
    double tolerance;  /* 0: what the dtype allows */
    const char *error; /* the message expected instead of outputs */
    Status error_code;
} OpCase;

/* Runs all and fails the test with the cases that did not hold. The shape rule is asked three times: knowing
 * the inputs' values, their shapes, nothing. Each answer must fit what the kernel computes. */
void op_cases_run(const OpCase *cases, size_t count);
