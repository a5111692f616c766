/* Fast kernels of the CPU beside the reference kernels: near them on all numbers, infinities and NaN, with
 * the same bits for any number of threads and on any instruction set.
 *
 * Errors: what does not hold fails the test. */
#pragma once

#include <stddef.h>

#include "shared/tensor/tensor.h"

/* A node 'y' over the input 'x', with the lines of other nodes that it reads in front; a fast kernel computes
 * it. */
typedef struct NearCase {
    const char *node;
    Shape shape;     /* of x */
    float error_max; /* times the larger of 1 and the expected number; 0: all bits */
} NearCase;

/* Compares the results for numbers from -8 to 8. */
void assert_near_reference(const NearCase *cases, size_t count);

/* Compares them with infinities, NaN and other edges among the numbers. */
void assert_edges_near_reference(const NearCase *cases, size_t count);

/* Compares the bits of one thread and several, and of all instruction sets; one that the machine lacks is the
 * next smaller one there. */
void assert_bits_of_all_machines(const NearCase *cases, size_t count);

/* Does both for nodes of another dtype: every bit is the reference kernel's, on all machines. */
void assert_bits_of_reference(Dtype dtype, const NearCase *cases, size_t count);
