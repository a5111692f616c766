/* TensorFlow's TensorList: a list of tensors that is a value. An op that changes a list gives a new one; it
 * changes the list in place only when nobody else holds it.
 *
 * Elements are references to the tensors that went in; one of dtype DTYPE_INVALID was never set and reads as
 * zeros.
 *
 * Lists in lists are given back from the outside in, so that their depth is bounded; and no list holds
 * handles of what may change, so that nothing ever holds itself.
 *
 * Ownership: a resource (resource.h) behind a scalar of dtype variant.
 * Threads:   any; a list that more than one handle holds does not change.
 * Errors:    INVALID_ARGUMENT for what does not fit; RESOURCE_EXHAUSTED without memory, above
 *            TENSOR_LIST_SIZE_MAX elements and TENSOR_LIST_DEPTH_MAX lists in lists. */
#pragma once

#include "worker/reference/room.h"
#include "worker/runtime/resource.h"

enum { TENSOR_LIST_SIZE_MAX = 1 << 20, TENSOR_LIST_DEPTH_MAX = 64 };

typedef struct TensorList {
    Resource resource;
    Device *device; /* whose memory the elements' places take */
    Dtype dtype;
    Shape element_shape;
    uint32_t depth; /* of the lists inside */
    int64_t size_max;
    int64_t size;
    Room room;
    Tensor *elements; /* in `room` */
} TensorList;

extern const ResourceType tensor_list_type;

/* `size` elements that were never set. The reference is the caller's. */
MUST_USE Status tensor_list_new(
    KernelContext *context, Dtype dtype, const Shape *element_shape, int64_t size, TensorList **ret_list);

/* The list behind an input, to be read. */
MUST_USE Status kernel_list(KernelContext *context, uint32_t input, const TensorList **ret_list);

/* Output `index` becomes the list of input `input`, which may be changed from then on: the same one if nobody
 * else holds it, else a copy. */
MUST_USE Status kernel_list_change(
    KernelContext *context, uint32_t input, uint32_t index, TensorList **ret_list);

/* Makes output `index` a handle of the list, whose reference it takes. */
static inline Status
kernel_list_output(KernelContext *context, uint32_t index, TensorList *list)
{
    return kernel_handle(context, index, &list->resource);
}

/* Cuts it, or adds elements that were never set. */
MUST_USE Status tensor_list_resize(Call *call, TensorList *list, int64_t size);

/* Puts a reference to the value in the place of an element. */
MUST_USE Status tensor_list_set(Call *call, TensorList *list, int64_t index, const Tensor *value);

/* A new reference; zeros for an element that was never set, when `shape` (partly known) and the list's own
 * tell their shape. */
MUST_USE Status tensor_list_get(
    KernelContext *context, const TensorList *list, int64_t index, const Shape *shape, Tensor *ret_value);

/* A shape as ops take it: a vector of dimensions, -1 for an unknown one; a scalar for an unknown rank. */
MUST_USE Status kernel_shape(KernelContext *context, uint32_t input, Shape *ret_shape);
