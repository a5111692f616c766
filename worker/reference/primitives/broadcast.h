/* Walks tensors that broadcast against each other (NumPy's rules) and hands runs of elements to a loop that
 * is written for one dtype.
 * Threads: any; the caller owns the tensors. */
#pragma once

#include "shared/tensor/tensor.h"

enum { BROADCAST_INPUTS_MAX = 3 };

/* Elements that lie on a line: input i's element n is at inputs[i][n × strides[i]], the output's at
 * output[n]. Strides are counted in elements. */
typedef struct ElementRun {
    const void *inputs[BROADCAST_INPUTS_MAX];
    int64_t strides[BROADCAST_INPUTS_MAX];
    void *output;
    int64_t count;
    const float *parameters; /* attributes the loop needs (alpha, …) */
} ElementRun;

typedef void (*ElementLoop)(const ElementRun *run);

/* Every input must broadcast to the output's shape. The output may be one of the inputs of its shape. */
void broadcast_run(
    const Tensor *const *inputs, int input_count, Tensor *output, const float *parameters, ElementLoop loop);
