/* Element functions: the loops of element-wise kernels, each over one run of elements. A kernel that shows
 * its loop (Kernel.element) can be computed together with its neighbours, tile by tile (fused.h).
 *
 * This header is valid C11 and C++, so that nvcc can read it.
 *
 * Threads: any; loops have no state. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { ELEMENT_INPUTS_MAX = 3, ELEMENT_PARAMETERS_MAX = 2 };

/* One run of elements: element n of input i is at inputs[i][n × strides[i]], that of the output at
 * output[n]. Strides are counted in elements; 0 repeats one element. The output may be the memory of an
 * input of stride 1. */
typedef struct ElementRun {
    const void *inputs[ELEMENT_INPUTS_MAX];
    int64_t strides[ELEMENT_INPUTS_MAX];
    void *output;
    int64_t count;
    const float *parameters; /* numeric attributes of the node (alpha, …) */
} ElementRun;

typedef void (*ElementLoop)(const ElementRun *run);

/* Returns whether the loop accepts these elements, such as divisors that are not 0. */
typedef bool (*ElementTest)(const ElementRun *run);

/* The computation of a node, element by element. The output has the shape to which the inputs broadcast. */
typedef struct ElementFunction {
    ElementLoop loop;
    /* NULL: accepts all. The error for a refused element comes from the kernel's compute(). */
    ElementTest accepts;
    float parameters[ELEMENT_PARAMETERS_MAX];
    bool is_fold; /* the node has any number of inputs; the loop combines two, from the left */

    /* 1 + the dimension of the output that the first dimension of the input aligns with; 0: the last
     * dimensions align, as in NumPy. */
    uint8_t axes[ELEMENT_INPUTS_MAX];
} ElementFunction;
