#include "shared/tensor/tensor.h"

#include <assert.h>
#include <string.h>

#include "shared/base/memory.h"
#include "shared/base/spare_memory.h"

/* One allocation holds both: the struct fills the first cache line, the bytes follow. */
_Static_assert(sizeof(TensorBuffer) <= MEMORY_CACHE_LINE, "a tensor's bytes start on the second line");

static void
heap_release(TensorBuffer *buffer)
{
    spare_memory_free(buffer, MEMORY_CACHE_LINE + buffer->size);
}

TensorBuffer *
tensor_buffer_new(size_t size)
{
    if (size > PTRDIFF_MAX - MEMORY_CACHE_LINE) {
        return NULL;
    }
    TensorBuffer *buffer = spare_memory_new(MEMORY_CACHE_LINE + size);
    if (buffer != NULL) {
        *buffer = (TensorBuffer){
            .reference_count = 1,
            .size = size,
            .data = (char *)buffer + MEMORY_CACHE_LINE,
            .release = heap_release,
        };
    }
    return buffer;
}

typedef struct WrappedBuffer {
    TensorBuffer buffer;
    void (*release)(TensorBuffer *buffer);
} WrappedBuffer;

static void
wrapped_release(TensorBuffer *buffer)
{
    WrappedBuffer *wrapped = (WrappedBuffer *)buffer;
    if (wrapped->release != NULL) {
        wrapped->release(buffer);
    }
    memory_free(wrapped);
}

TensorBuffer *
tensor_buffer_wrap(void *data, size_t size, void (*release)(TensorBuffer *), void *owner)
{
    assert(data != NULL || size == 0);
    WrappedBuffer *wrapped = memory_new(1, sizeof *wrapped);
    if (wrapped == NULL) {
        return NULL;
    }
    wrapped->release = release;
    wrapped->buffer = (TensorBuffer){
        .reference_count = 1,
        .size = size,
        .data = data,
        .release = wrapped_release,
        .owner = owner,
        .is_view = true,
    };
    return &wrapped->buffer;
}

bool
tensor_new(Dtype dtype, const Shape *shape, Tensor *ret_tensor)
{
    size_t size = 0;
    if (!shape_byte_size(shape, dtype, &size)) {
        return false;
    }
    TensorBuffer *buffer = size == 0 ? NULL : tensor_buffer_new(size);
    if (buffer == NULL && size > 0) {
        return false;
    }
    *ret_tensor = (Tensor){
        .dtype = dtype, .shape = *shape, .data = buffer == NULL ? NULL : buffer->data, .buffer = buffer};
    return true;
}

bool
tensor_view(Dtype dtype, const Shape *shape, TensorBuffer *buffer, void *data, Tensor *ret_tensor)
{
    assert(shape != NULL && ret_tensor != NULL);
    size_t size = 0;
    if (!shape_byte_size(shape, dtype, &size)) {
        return false;
    }
    if (size == 0) {
        *ret_tensor = (Tensor){.dtype = dtype, .shape = *shape};
        return true;
    }
    uintptr_t start = buffer == NULL ? 0 : (uintptr_t)buffer->data;
    uintptr_t offset = (uintptr_t)data - start;
    if (buffer == NULL || (uintptr_t)data < start || offset > buffer->size || size > buffer->size - offset) {
        return false;
    }
    *ret_tensor =
        (Tensor){.dtype = dtype, .shape = *shape, .data = data, .buffer = tensor_buffer_ref(buffer)};
    return true;
}

/* The size is that of the table of elements and of the bytes behind it. */
bool
tensor_strings_size(const Shape *shape, const Slice *elements, size_t *ret_size)
{
    int64_t count = 0;
    size_t size = 0;
    if (!shape_element_count(shape, &count) || __builtin_mul_overflow((size_t)count, sizeof(Slice), &size)) {
        return false;
    }
    for (int64_t index = 0; index < count; index++) {
        if (__builtin_add_overflow(size, elements[index].size, &size)) {
            return false;
        }
    }
    *ret_size = size;
    return true;
}

Tensor
tensor_fill_strings(const Shape *shape, const Slice *elements, TensorBuffer *buffer)
{
    assert(buffer != NULL);
    Tensor tensor = {.dtype = DTYPE_STRING, .shape = *shape, .data = buffer->data, .buffer = buffer};
    int64_t count = tensor_element_count(&tensor);
    Slice *table = buffer->data;
    char *bytes = (char *)(table + count);
    for (int64_t index = 0; index < count; index++) {
        Slice element = elements[index];
        table[index] = slice_of(bytes, element.size);
        if (element.size > 0) {
            memcpy(bytes, element.data, element.size);
        }
        bytes += element.size;
    }
    return tensor;
}

bool
tensor_new_strings(const Shape *shape, const Slice *elements, Tensor *ret_tensor)
{
    size_t size = 0;
    if (!tensor_strings_size(shape, elements, &size)) {
        return false;
    }
    if (size == 0) {
        *ret_tensor = (Tensor){.dtype = DTYPE_STRING, .shape = *shape};
        return true;
    }
    TensorBuffer *buffer = tensor_buffer_new(size);
    if (buffer == NULL) {
        return false;
    }
    *ret_tensor = tensor_fill_strings(shape, elements, buffer);
    return true;
}

typedef struct AbsentBuffer {
    TensorBuffer buffer;
    Sha256 digest;
} AbsentBuffer;

/* Frees the struct alone: `size` says what the absent bytes would take, and none of them were allocated. */
static void
absent_release(TensorBuffer *buffer)
{
    memory_free(buffer);
}

bool
tensor_new_absent(Dtype dtype, const Shape *shape, const Sha256 *digest, Tensor *ret_tensor)
{
    assert(shape != NULL && digest != NULL && ret_tensor != NULL);
    size_t size = 0;
    if (!dtype_is_copyable(dtype) || !shape_byte_size(shape, dtype, &size)) {
        return false;
    }
    AbsentBuffer *absent = size == 0 ? NULL : memory_new(1, sizeof *absent);
    if (absent == NULL && size > 0) {
        return false;
    }
    if (absent != NULL) {
        absent->digest = *digest;
        absent->buffer =
            (TensorBuffer){.reference_count = 1, .size = size, .release = absent_release, .is_view = true};
    }
    *ret_tensor =
        (Tensor){.dtype = dtype, .shape = *shape, .buffer = absent == NULL ? NULL : &absent->buffer};
    return true;
}

const Sha256 *
tensor_digest(const Tensor *tensor)
{
    assert(tensor_is_absent(tensor));
    return &((const AbsentBuffer *)tensor->buffer)->digest;
}

Tensor
tensor_ref(const Tensor *tensor)
{
    Tensor copy = *tensor;
    copy.buffer = tensor_buffer_ref(tensor->buffer);
    return copy;
}

void
tensor_unref(Tensor *tensor)
{
    tensor_buffer_unref(tensor->buffer);
    *tensor = (Tensor){0};
}

int64_t
tensor_element_count(const Tensor *tensor)
{
    int64_t count = 0;
    bool is_known = tensor->dtype != DTYPE_INVALID && shape_element_count(&tensor->shape, &count);
    return is_known ? count : 0;
}

size_t
tensor_byte_size(const Tensor *tensor)
{
    int64_t count = tensor_element_count(tensor);
    if (tensor->dtype != DTYPE_STRING) {
        return (size_t)count * dtype_size(tensor->dtype);
    }
    size_t size = (size_t)count * sizeof(uint64_t);
    const Slice *elements = tensor->data;
    for (int64_t index = 0; index < count; index++) {
        size += elements[index].size;
    }
    return size;
}

static bool
strings_equal(const Tensor *left, const Tensor *right)
{
    int64_t count = tensor_element_count(left);
    const Slice *left_elements = left->data;
    const Slice *right_elements = right->data;
    for (int64_t index = 0; index < count; index++) {
        if (!slice_equal(left_elements[index], right_elements[index])) {
            return false;
        }
    }
    return true;
}

bool
tensor_equal(const Tensor *left, const Tensor *right)
{
    if (left->dtype != right->dtype || !shape_equal(&left->shape, &right->shape)) {
        return false;
    }
    if (left->dtype == DTYPE_STRING) {
        return strings_equal(left, right);
    }
    if (tensor_is_absent(left) || tensor_is_absent(right)) {
        return tensor_is_absent(left) && tensor_is_absent(right) &&
               memcmp(tensor_digest(left), tensor_digest(right), sizeof(Sha256)) == 0;
    }
    size_t size = tensor_byte_size(left);
    return size == 0 || left->data == right->data || memcmp(left->data, right->data, size) == 0;
}

bool
tensor_is_valid(const Tensor *tensor)
{
    bool has_bools = tensor->dtype == DTYPE_BOOL && !tensor_is_absent(tensor);
    size_t size = has_bools ? tensor_byte_size(tensor) : 0;
    const unsigned char *bytes = tensor->data;
    unsigned char seen = 0;
    for (size_t index = 0; index < size; index++) {
        seen |= bytes[index];
    }
    return seen <= 1;
}

/* Returns the element's bits in the low bytes, as unsigned. A view's elements may lie at any address. */
static uint64_t
element_bits(const Tensor *tensor, int64_t index, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, (const char *)tensor->data + (size_t)index * size, size);
    return bits;
}

bool
tensor_to_int64(const Tensor *tensor, int64_t index, int64_t *ret_value)
{
    if (!dtype_is_integer(tensor->dtype) || tensor_is_absent(tensor) || index < 0 ||
        index >= tensor_element_count(tensor)) {
        return false;
    }
    size_t size = dtype_size(tensor->dtype);
    uint64_t bits = element_bits(tensor, index, size);
    if (tensor->dtype >= DTYPE_UINT8) {
        if (bits > INT64_MAX) {
            return false;
        }
        *ret_value = (int64_t)bits;
        return true;
    }
    unsigned unused = (unsigned)(8 * (sizeof bits - size));
    *ret_value = (int64_t)(bits << unused) >> unused;
    return true;
}
