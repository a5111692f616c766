/* TensorFlow's TensorArray: tensors by index, each written once and usually read once. The gradient of an
 * array is another array beside it, in which writes to one index add up.
 *
 * Rules: TensorFlow's tensor_array.cc. An element is a reference to the tensor that was written; nothing
 * is copied.
 * Threads: any; locks inside.
 * Errors:  INVALID_ARGUMENT for uses that the rules forbid; RESOURCE_EXHAUSTED without memory and above
 *          TENSOR_ARRAY_SIZE_MAX elements. */
#pragma once

#include "worker/runtime/resource.h"

enum { TENSOR_ARRAY_SIZE_MAX = 1 << 20 };

typedef struct TensorArray TensorArray;

extern const ResourceType tensor_array_type;

typedef struct TensorArrayOptions {
    Device *device; /* whose memory the elements take */
    Dtype dtype;
    Shape element_shape; /* partly known */
    bool is_dynamic;     /* grows when written behind its end */
    bool clears;         /* the first read of an element frees it */
    bool is_uniform;     /* all elements have the shape of the first */
    bool accumulates;    /* a gradient: a second write to an index adds to the first */
} TensorArrayOptions;

MUST_USE Status tensor_array_new(
    Call *call, const TensorArrayOptions *options, int64_t size, TensorArray **ret_array);
static inline Resource *
tensor_array_resource(TensorArray *array)
{
    return (Resource *)(void *)array;
}

/* Returns the array behind input 0 of a running kernel. */
MUST_USE Status kernel_tensor_array(KernelContext *context, TensorArray **ret_array);

/* Passes a flow on: input `input`, a scalar, becomes output `output`. */
MUST_USE Status kernel_pass_flow(KernelContext *context, uint32_t input, uint32_t output);

/* Stores a reference to the value. */
MUST_USE Status tensor_array_write(
    KernelContext *context, TensorArray *array, int64_t index, const Tensor *value);

/* Returns a new reference. An index that was not written gives zeros where the shape is known: that of the
 * array's elements, or, in a gradient, that of the array's element of this index. */
MUST_USE Status tensor_array_read(
    KernelContext *context, TensorArray *array, int64_t index, Tensor *ret_value);

MUST_USE Status tensor_array_size(Call *call, TensorArray *array, int64_t *ret_size);
Dtype tensor_array_dtype(const TensorArray *array);
Shape tensor_array_element_shape(TensorArray *array);

/* Frees the elements; any later use fails. */
void tensor_array_close(TensorArray *array);

/* Returns a new reference to the gradient for `source` (a name that distinguishes the gradients computed
 * in one graph), which is created when new. `prefix` is added in front of the elements' shapes. From now
 * on the array keeps its size. */
MUST_USE Status tensor_array_gradient(
    Call *call, TensorArray *array, Slice source, const Shape *prefix, TensorArray **ret_gradient);
