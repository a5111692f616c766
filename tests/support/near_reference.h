/* Fast kernels of the CPU beside the reference kernels: near them on all numbers, infinities and NaN, with
 * the same bits for any number of threads and on any instruction set. Most kernels need no more of a test
 * than a table of cases:
 *
 *     NEAR_TEST(results_are_near_the_reference_kernels, CASES),
 *     NEAR_TEST(bits_depend_neither_on_threads_nor_on_the_instruction_set, CASES),
 *
 * Errors: what does not hold fails the test. */
#pragma once

#include <stddef.h>

#include "shared/base/compiler.h"
#include "shared/tensor/tensor.h"
#include "tests/support/cmocka_all.h"

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

/* The state of the tests below. */
typedef struct NearCases {
    const NearCase *cases;
    size_t count;
} NearCases;

void results_are_near_the_reference_kernels(void **state);
void bits_depend_neither_on_threads_nor_on_the_instruction_set(void **state);
void infinities_and_nan_are_the_references(void **state);

#define NEAR_TEST(test, table) cmocka_unit_test_prestate(test, (&(NearCases){table, COUNT_OF(table)}))
