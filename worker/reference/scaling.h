/* The scales and zero points of quantised tensors: one for all elements, or one for each position along an
 * axis. Element n has those at n / inner % size of the lines. No element is read, so that tensors may lie in
 * any memory.
 *
 * Threads: any.
 * Errors:  INVALID_ARGUMENT when there are not as many scales or zero points as positions. */
#pragma once

#include "worker/reference/requantize.h"
#include "worker/reference/scratch.h"

/* Returns whether the dtype is one that numbers are quantised to. */
bool scaling_has(Dtype dtype);

/* Returns whether the node has neither blocks of elements with a scale each nor another dtype of the result:
 * neither is supported. */
bool scaling_is_plain(const Node *node);

/* Reads the lines of the scales in input `first`, and of the zero points in the next one, if it is there, of
 * elements of this shape. */
MUST_USE Status scaling_lines(
    KernelContext *context, uint32_t first, const Shape *shape, int64_t axis, Lines *ret_lines);

/* Reads the lines of zero points alone, in input `zero_points`, for the elements of input `input`; `from_end`
 * counts their dimension from the last one, which is 1. Absent ones have lines as a single one has. */
MUST_USE Status scaling_zero_lines(
    KernelContext *context, uint32_t input, uint32_t zero_points, int from_end, Lines *ret_lines);

/* Reads what turns sums of products into numbers of the output: for each of `channels` the product of the
 * scales in inputs 1 and 4 over the one in input 6, as floats, and the zero point in input 7 (QLinearConv,
 * QLinearMatMul). The scale in input 4 is one for all channels or one for each. */
MUST_USE Status scaling_product(
    KernelContext *context, int64_t channels, Tensor *ret_scales, Requantizer *ret_requantizer);
