/* TensorFlow's TensorList: a list of tensors that is a value. An op that changes a list returns a new one;
 * it changes the list in place only when nobody else holds it.
 *
 * Elements are references to the tensors that went in; one of dtype DTYPE_INVALID was never set and reads
 * as zeros.
 *
 * Lists in lists are freed from the outside in, so that the depth of recursion is bounded. No list holds
 * handles of anything that can change, so that no list holds itself.
 *
 * Ownership: a resource (resource.h) behind a scalar of dtype variant.
 * Threads:   any; a list that more than one handle holds does not change.
 * Errors:    INVALID_ARGUMENT for elements that do not fit; RESOURCE_EXHAUSTED without memory, above
 *            TENSOR_LIST_SIZE_MAX elements and TENSOR_LIST_DEPTH_MAX lists in lists. */
#pragma once

#include "worker/reference/room.h"
#include "worker/runtime/resource.h"

enum { TENSOR_LIST_SIZE_MAX = 1 << 20, TENSOR_LIST_DEPTH_MAX = 64 };

typedef struct TensorList {
    Resource resource;
    Device *device; /* whose memory the elements take */
    Dtype dtype;
    Shape element_shape;
    uint32_t depth; /* largest depth among the lists inside */
    int64_t size_max;
    int64_t size;
    Room room;
    Tensor *elements; /* in `room` */
} TensorList;

extern const ResourceType tensor_list_type;

/* Makes a list of `size` elements that were never set. The reference is the caller's. */
MUST_USE Status tensor_list_new(
    KernelContext *context, Dtype dtype, const Shape *element_shape, int64_t size, TensorList **ret_list);

/* Returns the list behind an input, for reading. */
MUST_USE Status kernel_list(KernelContext *context, uint32_t input, const TensorList **ret_list);

/* Makes output `index` the list of input `input`, which the caller may then change: the same list if
 * nobody else holds it, else a copy. */
MUST_USE Status kernel_list_change(
    KernelContext *context, uint32_t input, uint32_t index, TensorList **ret_list);

/* Makes output `index` a handle of the list, whose reference it takes. */
static inline Status
kernel_list_output(KernelContext *context, uint32_t index, TensorList *list)
{
    return kernel_handle(context, index, &list->resource);
}

/* Cuts the list, or appends elements that were never set. */
MUST_USE Status tensor_list_resize(Call *call, TensorList *list, int64_t size);

/* Replaces an element by a reference to the value. */
MUST_USE Status tensor_list_set(Call *call, TensorList *list, int64_t index, const Tensor *value);

/* Returns a new reference; zeros for an element that was never set, when `shape` (partly known) and the
 * list's own tell its shape. */
MUST_USE Status tensor_list_get(
    KernelContext *context, const TensorList *list, int64_t index, const Shape *shape, Tensor *ret_value);

/* Reads a shape in the form that ops take: a vector of dimensions, -1 for an unknown one; a scalar for an
 * unknown rank. */
MUST_USE Status kernel_shape(KernelContext *context, uint32_t input, Shape *ret_shape);
