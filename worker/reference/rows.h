/* Tensors cut along their first dimension and joined along it: stacking, unstacking, splitting and joining
 * for resources that hold many tensors. Strings too.
 * Threads: any. */
#pragma once

#include "worker/runtime/kernel.h"

/* Returns the part of this shape that begins `offset` elements into the tensor: a reference, no copy. */
Tensor rows_part(const Tensor *tensor, int64_t offset, const Shape *shape);

/* Makes output `index` of this shape from the parts' elements, one part after the other; they fill it
 * exactly. INVALID_ARGUMENT when they are not of the output's dtype; RESOURCE_EXHAUSTED without memory. */
MUST_USE Status rows_join(
    KernelContext *context, uint32_t index, const Shape *shape, const Tensor *parts, int64_t part_count);

/* INVALID_ARGUMENT unless the shapes of all parts are equal from dimension `first` on. */
MUST_USE Status rows_check_shapes(Call *call, const Tensor *parts, int64_t part_count, int first);

/* Reads the integers of a vector into the call's memory. INVALID_ARGUMENT when the input is no vector of
 * integers. */
MUST_USE Status rows_read_vector(
    KernelContext *context, uint32_t input, int64_t **ret_values, int64_t *ret_count);

/* Makes the shape whose first dimension is `first`, followed by those of `rest` from `from` on. */
MUST_USE Status rows_prepend(Call *call, int64_t first, const Shape *rest, int from, Shape *ret_shape);

/* Allocates parts that are filled one by one; rows_free() releases all of them. RESOURCE_EXHAUSTED without
 * memory. */
MUST_USE Status rows_alloc(Call *call, int64_t count, Tensor **ret_parts);
void rows_free(Tensor *parts, int64_t count); /* NULL is allowed */
