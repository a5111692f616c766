/* Elements that are moved and filled where they lie: a kernel that does nothing else computes on every
 * device, by the same code, when the device's own kernel calls it with `moves` in its context.
 *
 * Threads: any. */
#pragma once

#include "worker/reference/strided_copy.h"
#include "worker/runtime/kernel.h"

/* The loops that a device with a memory of its own has in place of the host's loops. */
struct KernelMoves {
    /* The copy is simplified (strided_simplify). */
    Status (*copy)(KernelContext *context, const StridedCopy *copy, const Tensor *from, Tensor *to);

    /* `element` is on the host; NULL: zeros. The tensor has elements. */
    Status (*fill)(KernelContext *context, Tensor *tensor, const void *element);

    /* Adds to each element of `sum` that of `value`, which is of the same shape and floating dtype. Both have
     * elements. */
    Status (*add)(KernelContext *context, const Tensor *value, Tensor *sum);
};

/* Do what strided_copy(), memcpy(), fill_element(), fill_zero() and combine_elements() do on the host. */
MUST_USE Status move_elements(
    KernelContext *context, const StridedCopy *copy, const Tensor *from, Tensor *to);
/* Copies all elements of `from`, to where the elements of `to` from number `offset` on lie. */
MUST_USE Status move_all(KernelContext *context, const Tensor *from, Tensor *to, int64_t offset);
MUST_USE Status move_element_into(KernelContext *context, Tensor *tensor, const void *element);
MUST_USE Status move_zeros_into(KernelContext *context, Tensor *tensor);
/* Adds elements of a dtype that combine_supports(COMBINE_ADD, …). */
MUST_USE Status move_sum_into(KernelContext *context, const Tensor *value, Tensor *sum);
