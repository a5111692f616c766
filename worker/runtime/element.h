/* Functions of single elements: the loops that element-wise kernels are made of. A kernel that tells which
 * loop is its own (Kernel.element) can be computed together with its neighbours, tile by tile (fused.h).
 * Read by nvcc too: valid C11 and C++.
 *
 * Threads: any; loops keep nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { ELEMENT_INPUTS_MAX = 3, ELEMENT_PARAMETERS_MAX = 2 };

/* Elements that lie on a line: input i's element n is at inputs[i][n × strides[i]], the output's at
 * output[n]. Strides are counted in elements. The output may be an input of stride 1. */
typedef struct ElementRun {
    const void *inputs[ELEMENT_INPUTS_MAX];
    int64_t strides[ELEMENT_INPUTS_MAX];
    void *output;
    int64_t count;
    const float *parameters; /* attributes the loop needs (alpha, …) */
} ElementRun;

typedef void (*ElementLoop)(const ElementRun *run);

/* Returns whether the loop may be given these elements. */
typedef bool (*ElementTest)(const ElementRun *run);

/* A node's computation, element by element: its output has the shape to which its inputs broadcast. */
typedef struct ElementFunction {
    ElementLoop loop;
    ElementTest accepts; /* NULL: all elements. The kernel explains what it does not accept */
    float parameters[ELEMENT_PARAMETERS_MAX];
    bool is_fold; /* of any number of inputs: the loop takes two, from the left */

    /* 1 + the output's dimension along which the input's first one lies; 0: the last ones lie along each
     * other, as NumPy has it. */
    uint8_t axes[ELEMENT_INPUTS_MAX];
} ElementFunction;
