/* Tensors cut along their first dimension, and laid one behind the other: stacking, unstacking, splitting and
 * joining for things that hold many tensors. Strings too.
 * Threads: any. */
#pragma once

#include "worker/runtime/kernel.h"

/* The part that begins `offset` elements into the tensor, under this shape: a reference, no copy. */
Tensor rows_part(const Tensor *tensor, int64_t offset, const Shape *shape);

/* Output `index` of this shape, filled with the parts' elements one part behind the other; they are as many.
 * RESOURCE_EXHAUSTED without memory. */
MUST_USE Status rows_join(
    KernelContext *context, uint32_t index, const Shape *shape, const Tensor *parts, int64_t part_count);

/* INVALID_ARGUMENT unless the shapes of all parts are equal from dimension `first` on. */
MUST_USE Status rows_check_shapes(Call *call, const Tensor *parts, int64_t part_count, int first);

/* The integers of a vector, in the call's memory. INVALID_ARGUMENT when the input is none. */
MUST_USE Status rows_read_vector(
    KernelContext *context, uint32_t input, int64_t **ret_values, int64_t *ret_count);

/* first × the dimensions of `rest` from `from` on. */
MUST_USE Status rows_prepend(Call *call, int64_t first, const Shape *rest, int from, Shape *ret_shape);

/* Parts under way, all of them given back by rows_free(). RESOURCE_EXHAUSTED without memory. */
MUST_USE Status rows_alloc(Call *call, int64_t count, Tensor **ret_parts);
void rows_free(Tensor *parts, int64_t count); /* NULL is allowed */
