/* Building blocks of shape rules, for all families.
 *
 * Kernels check their inputs and size their outputs with the same rules (then all shapes and values are
 * known), so that the planner and the worker cannot disagree.
 *
 * Threads: any.
 * Errors:  INVALID_ARGUMENT with the shapes that do not fit; RESOURCE_EXHAUSTED for results whose element
 *          count passes int64. */
#pragma once

#include "shared/graph/graph.h"

Status infer_unknown(Call *call, InferContext *context);   /* leaves all outputs unknown */
Status infer_unchanged(Call *call, InferContext *context); /* each output has the shape of the input of its
                                                            * index */
Status infer_scalar(Call *call, InferContext *context);    /* every output is a scalar */
Status infer_broadcast(Call *call, InferContext *context); /* all inputs broadcast together, by NumPy's
                                                            * rules */

/* Returns whether the input's value is known: that of a constant, or any when a kernel asks. */
bool infer_knows(const InferContext *context, uint32_t input);

/* Reads the values of an integer input; a count of 0 when they are not known. INVALID_ARGUMENT when there
 * are more than `capacity`, the rank is above 1 or the dtype is no integer. */
MUST_USE Status infer_ints(Call *call, const InferContext *context, uint32_t input, int64_t *ret_values,
    size_t capacity, size_t *ret_count);

/* Reads one value, otherwise as infer_ints(). */
MUST_USE Status infer_int(
    Call *call, const InferContext *context, uint32_t input, int64_t *ret_value, bool *ret_is_known);

/* Turns an axis in -rank…rank-1 into one in 0…rank-1. */
MUST_USE Status infer_axis(Call *call, int64_t axis, int rank, int *ret_axis);

/* Checks that the input has this rank. A shape of unknown rank gives one of unknown dimensions. */
MUST_USE Status infer_rank(
    Call *call, const InferContext *context, uint32_t input, int rank, Shape *ret_shape);

/* Sets output 0 to the shape whose dimensions are the values of this input; to one of unknown dimensions when
 * the values are not known. INVALID_ARGUMENT for a negative dimension. */
MUST_USE Status infer_shape_input(Call *call, InferContext *context, uint32_t input);

/* Merges two dimensions that must be equal; -1 is unknown. `what` names them in the error. */
MUST_USE Status infer_equal(
    Call *call, int64_t left, int64_t right, const char *what, int64_t *ret_dimension);

/* Appends dimensions first…last - 1 of a shape; INVALID_ARGUMENT when they become too many. */
MUST_USE Status infer_append(Call *call, const Shape *from, int first, int last, Shape *to);

/* Checks an output shape made of values that a user gave: no negative dimension, an element count within
 * int64. */
MUST_USE Status infer_check_size(Call *call, const Shape *shape);

/* The sum and the product of two dimensions, of which -1 is unknown and gives -1. RESOURCE_EXHAUSTED past
 * int64. */
MUST_USE Status infer_add(Call *call, int64_t left, int64_t right, int64_t *ret_sum);
MUST_USE Status infer_multiply(Call *call, int64_t left, int64_t right, int64_t *ret_product);

/* Returns whether the optional input is present. */
bool infer_has_input(const InferContext *context, uint32_t input);
