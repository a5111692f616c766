/* A tensor: element type, shape and a reference to an immutable buffer. Copying a Tensor's struct does not
 * copy or reference the buffer; tensor_ref() does. Only the maker writes into a buffer, before it hands the
 * tensor on, or a kernel that finds itself the only owner (tensor_is_unique).
 *
 * A weight of a large model is absent: its bytes are a blob in the store, and only their size and their
 * digest are here. Whoever reads elements asks tensor_is_absent() first, or knows that all tensors are
 * whole, as kernels do.
 *
 * Ownership: a Tensor holds one reference to its buffer; tensor_unref() gives it back and zeroes the struct.
 * Threads:   reference counts are atomic; contents are immutable once shared.
 * Errors:    false when memory is short or the size overflows. */
#pragma once

#include <assert.h>

#include "shared/base/atomic.h"
#include "shared/base/call.h"
#include "shared/crypto/digest.h"
#include "shared/tensor/shape.h"

typedef struct TensorBuffer TensorBuffer;

/* The number of the host's memory. Others are memories of devices, whose bytes the host cannot read. */
#define MEMORY_HOST 0

struct TensorBuffer {
    int32_t reference_count;               /* atomic */
    size_t size;                           /* bytes usable at data */
    void *data;                            /* aligned to 64 bytes unless it is a view; NULL: the bytes are
                                            * absent */
    void (*release)(TensorBuffer *buffer); /* called when the last reference goes */
    void *owner;                           /* the allocator's, or the parent of a view */
    bool is_view;                          /* the bytes belong to somebody else and are never written in
                                            * place */
    uint16_t memory;                       /* in which the bytes lie: MEMORY_HOST or Device.memory_number */
};

/* Fits one cache line while its rank is small. */
typedef struct Tensor {
    Dtype dtype; /* DTYPE_INVALID: no tensor (absent, or dead) */
    void *data;  /* NULL when there are no elements or they are absent; of strings: Slice elements[] */
    TensorBuffer *buffer;
    Shape shape; /* fully known */
} Tensor;

/* Makes a buffer on the system's heap, 64-byte aligned, with unspecified contents. The worker's devices
 * have allocators of their own (worker/runtime/device.h), which make TensorBuffers too. */
MUST_USE TensorBuffer *tensor_buffer_new(size_t size);

/* Makes a view of bytes that `release` gives back: it is called once, with the buffer, and must not free
 * the struct. NULL when memory is short; the bytes are still the caller's then. */
MUST_USE TensorBuffer *tensor_buffer_wrap(
    void *data, size_t size, void (*release)(TensorBuffer *), void *owner);

/* `buffer` may be NULL. */
static inline TensorBuffer *
tensor_buffer_ref(TensorBuffer *buffer)
{
    if (buffer != NULL) {
        int32_t before = atomic_fetch_add_relaxed(&buffer->reference_count, 1);
        assert(before > 0 && before < INT32_MAX);
        (void)before;
    }
    return buffer;
}

/* `buffer` may be NULL. The holder of the only reference needs no locked instruction: nobody else can take
 * one. */
static inline void
tensor_buffer_unref(TensorBuffer *buffer)
{
    if (buffer == NULL) {
        return;
    }
    int32_t left = 0;
    if (atomic_load_acquire(&buffer->reference_count) == 1) {
        atomic_store_release(&buffer->reference_count, 0);
    } else {
        left = atomic_sub_acq_rel(&buffer->reference_count, 1);
    }
    assert(left >= 0);
    if (left == 0) {
        buffer->release(buffer);
    }
}

/* Makes a tensor of a copyable dtype with uninitialised elements; one without elements has no buffer. */
MUST_USE bool tensor_new(Dtype dtype, const Shape *shape, Tensor *ret_tensor);

/* Makes a tensor over bytes of an existing buffer, of which it takes a new reference. Returns false when
 * they do not lie inside it. */
MUST_USE bool tensor_view(
    Dtype dtype, const Shape *shape, TensorBuffer *buffer, void *data, Tensor *ret_tensor);

/* Makes a string tensor; the bytes of the elements are copied behind their table, in one buffer. */
MUST_USE bool tensor_new_strings(const Shape *shape, const Slice *elements, Tensor *ret_tensor);

/* Makes the same in a buffer of the caller's, whose reference moves to the tensor. It has as many bytes as
 * tensor_strings_size() says, which returns false when the size overflows. */
MUST_USE bool tensor_strings_size(const Shape *shape, const Slice *elements, size_t *ret_size);
Tensor tensor_fill_strings(const Shape *shape, const Slice *elements, TensorBuffer *buffer);

/* Makes a tensor whose elements are absent: `digest` is the SHA-256 of their little-endian bytes. Returns
 * false also for a dtype that is not copyable. A tensor without elements is never absent. */
MUST_USE bool tensor_new_absent(Dtype dtype, const Shape *shape, const Sha256 *digest, Tensor *ret_tensor);

/* Returns true when the tensor has elements, but not here. */
static inline bool
tensor_is_absent(const Tensor *tensor)
{
    return tensor->buffer != NULL && tensor->buffer->data == NULL;
}

/* Returns the digest of an absent tensor's bytes. Asking for that of any other ends the process. */
const Sha256 *tensor_digest(const Tensor *tensor);

/* Returns whether the elements, if there are any, lie in the host's memory, whose addresses the CPU may
 * read. */
static inline bool
tensor_is_on_host(const Tensor *tensor)
{
    return tensor->buffer == NULL || tensor->buffer->memory == MEMORY_HOST;
}

Tensor tensor_ref(const Tensor *tensor);
void tensor_unref(Tensor *tensor);

/* Copies the struct alone: the reference belongs to one of the two from then on. */
static inline void
tensor_copy(Tensor *to, const Tensor *from)
{
    to->dtype = from->dtype;
    to->data = from->data;
    to->buffer = from->buffer;
    shape_copy(&to->shape, &from->shape);
}

/* Returns true when the buffer has one reference and is no view; an absent one is a view. */
static inline bool
tensor_is_unique(const Tensor *tensor)
{
    const TensorBuffer *buffer = tensor->buffer;
    return buffer != NULL && !buffer->is_view && atomic_load_acquire(&buffer->reference_count) == 1;
}

int64_t tensor_element_count(const Tensor *tensor);
size_t tensor_byte_size(const Tensor *tensor); /* of the elements; of strings their lengths (8 bytes each)
                                                * and bytes */
bool tensor_equal(const Tensor *left, const Tensor *right); /* compares dtype, shape and bits; absent ones
                                                             * by their digests */

/* Checks bytes from outside: returns false when a bool element is neither 0 nor 1, which C must not read
 * as bool. Whoever brings the bytes of an absent tensor checks them then. */
bool tensor_is_valid(const Tensor *tensor);

/* Reads one element of a tensor of any integer dtype, in which axes and sizes come. Returns false when the
 * dtype is no integer, the elements are absent, `index` is outside, or a uint64 passes int64. */
MUST_USE bool tensor_to_int64(const Tensor *tensor, int64_t index, int64_t *ret_value);

static inline void
tensor_unrefp(Tensor *tensor)
{
    tensor_unref(tensor);
}
#define AUTO_TENSOR CLEANUP(tensor_unrefp) Tensor
