/* Building blocks of shape rules: what many ops share. The families put them together.
 *
 * A rule is also what kernels use to check their inputs and to size their outputs (with all shapes and
 * values known), so that the planner and the worker cannot disagree.
 *
 * Threads: any.
 * Errors:  INVALID_ARGUMENT with the shapes that do not fit; RESOURCE_EXHAUSTED for results whose element
 *          count passes int64. */
#pragma once

#include "shared/graph/graph.h"

Status infer_unknown(Call *call, InferContext *context);   /* nothing can be said */
Status infer_unchanged(Call *call, InferContext *context); /* each output is as the input of its index */
Status infer_scalar(Call *call, InferContext *context);    /* every output */
Status infer_broadcast(Call *call, InferContext *context); /* all inputs together, NumPy's rules */

/* Whether the input's value is known: a constant, or any when a kernel asks. */
bool infer_knows(const InferContext *context, uint32_t input);

/* Values of a known integer input; none, with a count of 0, when it is not known. INVALID_ARGUMENT when it
 * has more than `capacity` elements, a rank above 1 or is no integer tensor. */
MUST_USE Status infer_ints(Call *call, const InferContext *context, uint32_t input, int64_t *ret_values,
    size_t capacity, size_t *ret_count);

/* As infer_ints(), one value. */
MUST_USE Status infer_int(
    Call *call, const InferContext *context, uint32_t input, int64_t *ret_value, bool *ret_is_known);

/* -rank…rank-1 → 0…rank-1 */
MUST_USE Status infer_axis(Call *call, int64_t axis, int rank, int *ret_axis);

/* The input has this rank, or an unknown one (then ret_shape has unknown dimensions). */
MUST_USE Status infer_rank(
    Call *call, const InferContext *context, uint32_t input, int rank, Shape *ret_shape);

/* Sets output 0 to the shape whose dimensions are the values of this input; to one of unknown dimensions when
 * the values are not known. INVALID_ARGUMENT for a negative dimension. */
MUST_USE Status infer_shape_input(Call *call, InferContext *context, uint32_t input);

/* Two dimensions that must be equal; -1 is unknown. */
MUST_USE Status infer_equal(
    Call *call, int64_t left, int64_t right, const char *what, int64_t *ret_dimension);

/* Appends dimensions first…last - 1 of a shape; INVALID_ARGUMENT when they become too many. */
MUST_USE Status infer_append(Call *call, const Shape *from, int first, int last, Shape *to);

/* An output shape made of values a user gave: no negative dimension, an element count within int64. */
MUST_USE Status infer_check_size(Call *call, const Shape *shape);

/* left + right, left × right, where -1 is unknown and gives -1. RESOURCE_EXHAUSTED past int64. */
MUST_USE Status infer_add(Call *call, int64_t left, int64_t right, int64_t *ret_sum);
MUST_USE Status infer_multiply(Call *call, int64_t left, int64_t right, int64_t *ret_product);

/* Whether the optional input is there. */
bool infer_has_input(const InferContext *context, uint32_t input);
