/* Temporary tensors of a running kernel, from the device's memory, and floats widened to double: a kernel
 * that is no plain loop computes in double and rounds once, at the end.
 *
 * Ownership: the caller releases what it gets with tensor_unref().
 * Errors:    RESOURCE_EXHAUSTED without memory. */
#pragma once

#include "worker/runtime/kernel.h"

MUST_USE Status scratch_new(KernelContext *context, Dtype dtype, const Shape *shape, Tensor *ret_tensor);

/* Makes *ret_tensor the input in float32: the input itself when it is, else a copy. */
MUST_USE Status scratch_floats(KernelContext *context, const Tensor *input, Tensor *ret_tensor);

/* Allocates `count` items of `size` bytes, zeroed, as a tensor of bytes. */
MUST_USE Status scratch_array(KernelContext *context, int64_t count, size_t size, Tensor *ret_array);

/* Does the same without zeros. */
MUST_USE Status scratch_bytes(KernelContext *context, int64_t count, size_t size, Tensor *ret_array);

/* The most bytes that a kernel may put on the heap, which the device does not count, for something whose
 * size it learns as it writes: a quarter of what the device has left, because a buffer doubles as it grows
 * and its tensor must fit beside it. 0: no limit. */
size_t scratch_heap_max(const KernelContext *context);

/* Converts an input to another dtype (cast.h); UNIMPLEMENTED where there is no conversion. */
MUST_USE Status scratch_cast(KernelContext *context, const Tensor *input, Dtype dtype, Tensor *ret_tensor);

/* Makes output `index`, of dtype node->output_dtypes[index], from doubles. */
MUST_USE Status scratch_finish(KernelContext *context, uint32_t index, const Tensor *doubles);

/* A tensor seen as lines along one dimension: element (o, k, i) is at (o × size + k) × inner + i. */
typedef struct Lines {
    int64_t outer;
    int64_t size;
    int64_t inner;
} Lines;

Lines lines_along(const Shape *shape, int axis);
