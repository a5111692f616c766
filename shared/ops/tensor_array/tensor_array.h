/* TensorFlow's TensorArray: tensors by index, each written once and, as a rule, read once. The gradient of an
 * array is an array beside it, in which what is written to one index adds up.
 *
 * Rules: TensorFlow's tensor_array.cc. An element is a reference to the tensor that was written; nothing is
 * copied.
 * Threads: any; locks inside.
 * Errors:  INVALID_ARGUMENT for what the rules forbid; RESOURCE_EXHAUSTED without memory and above
 *          TENSOR_ARRAY_SIZE_MAX elements. */
#pragma once

#include "worker/runtime/resource.h"

enum { TENSOR_ARRAY_SIZE_MAX = 1 << 20 };

typedef struct TensorArray TensorArray;

extern const ResourceType tensor_array_type;

typedef struct TensorArrayOptions {
    Device *device; /* whose memory the elements' places take */
    Dtype dtype;
    Shape element_shape; /* partly known */
    bool is_dynamic;     /* grows when written behind its end */
    bool clears;         /* an element goes with its first read */
    bool is_uniform;     /* all elements have the first one's shape */
    bool accumulates;    /* a gradient: a second write to an index adds to the first */
} TensorArrayOptions;

MUST_USE Status tensor_array_new(
    Call *call, const TensorArrayOptions *options, int64_t size, TensorArray **ret_array);
static inline Resource *
tensor_array_resource(TensorArray *array)
{
    return (Resource *)(void *)array;
}

/* Of a running kernel: the array behind input 0. */
MUST_USE Status kernel_tensor_array(KernelContext *context, TensorArray **ret_array);

/* Keeps a reference to the value. */
MUST_USE Status tensor_array_write(
    KernelContext *context, TensorArray *array, int64_t index, const Tensor *value);

/* A new reference. An index that was not written gives zeros where the shape is known: the array's own
 * elements', or of a gradient the shape of what the array holds at this index. */
MUST_USE Status tensor_array_read(
    KernelContext *context, TensorArray *array, int64_t index, Tensor *ret_value);

MUST_USE Status tensor_array_size(Call *call, TensorArray *array, int64_t *ret_size);
Dtype tensor_array_dtype(const TensorArray *array);
Shape tensor_array_element_shape(TensorArray *array);

/* Gives the elements back; any use of it later fails. */
void tensor_array_close(TensorArray *array);

/* The gradient for `source` (a name that tells apart the gradients computed in one graph), made when new; a
 * new reference. The elements' shapes get `prefix` in front. From now on the array keeps its size. */
MUST_USE Status tensor_array_gradient(
    Call *call, TensorArray *array, Slice source, const Shape *prefix, TensorArray **ret_gradient);
