/* Temporary tensors of a running kernel, out of the device's memory, and floats widened to double: a kernel
 * that is no plain loop computes in double and rounds once, at the end.
 *
 * Ownership: the caller gives what it gets back with tensor_unref().
 * Errors:    RESOURCE_EXHAUSTED without memory. */
#pragma once

#include "worker/runtime/kernel.h"

MUST_USE Status scratch_new(KernelContext *context, Dtype dtype, const Shape *shape, Tensor *ret_tensor);

/* `count` things of `size` bytes, zeroed, as a tensor of bytes. */
MUST_USE Status scratch_array(KernelContext *context, int64_t count, size_t size, Tensor *ret_array);

/* How many bytes a kernel may put on the heap, outside of what the device counts, for something whose size it
 * learns as it writes: a quarter of what the device has left, because a buffer doubles as it grows and what
 * is made of it must fit beside it. 0: as many as it likes. */
size_t scratch_heap_max(const KernelContext *context);

/* The input in another dtype (cast.h). */
MUST_USE Status scratch_cast(KernelContext *context, const Tensor *input, Dtype dtype, Tensor *ret_tensor);

/* Output `index` of dtype node->output_dtypes[index], filled from doubles. */
MUST_USE Status scratch_finish(KernelContext *context, uint32_t index, const Tensor *doubles);

/* A tensor as lines along one dimension: element (o, k, i) is at (o × size + k) × inner + i. */
typedef struct Lines {
    int64_t outer;
    int64_t size;
    int64_t inner;
} Lines;

Lines lines_along(const Shape *shape, int axis);
