#include "shared/tensor/tensor_json_data.h"

#include <math.h>

#include "shared/base/base64.h"
#include "shared/tensor/half.h"

/* A complex element is an array of two numbers: its depth is the rank + 1. */
enum { DEPTH_MAX = SHAPE_RANK_MAX + 1, STORAGE_SIZE_MIN = 1024 };

typedef struct Elements Elements;

/* Reads one number, boolean or string into `target`. False: the scanner or the call has the reason. */
typedef bool (*ElementRead)(Elements *elements, void *target);

struct Elements {
    Call *call;
    JsonScanner *scanner;
    Dtype dtype;
    size_t byte_size_max;
    ElementRead read;
    size_t size;  /* of what `read` writes */
    size_t count; /* how often it has */
    size_t storage_size_max;
    TensorBuffer *storage;
    Status status; /* of a refusal that the scanner does not know of */

    /* The nesting. A depth of d means inside d arrays. */
    int depth;
    int leaf_depth; /* -1 until the first element */
    int64_t dims[DEPTH_MAX + 1];
    int64_t counts[DEPTH_MAX + 1];
};

#define REFUSE(elements, ...)                                                                                \
    ((elements)->status = call_fail((elements)->call, STATUS_INVALID_ARGUMENT, __VA_ARGS__), false)

/* --- One element of each dtype -------------------------------------------------------------------------- */

static bool
bool_read(Elements *elements, void *target)
{
    return json_boolean(elements->scanner, target);
}

static bool
float32_read(Elements *elements, void *target)
{
    return json_float(elements->scanner, target);
}

static bool
float64_read(Elements *elements, void *target)
{
    return json_double(elements->scanner, target);
}

static bool
half_check(Elements *elements, double value, float narrowed)
{
    if (isinf(narrowed) && !isinf(value)) {
        return REFUSE(elements, "element %zu is %.9g, too large for %s", elements->count, value,
            dtype_name(elements->dtype));
    }
    return true;
}

static bool
float16_read(Elements *elements, void *target)
{
    double value = 0;
    if (!json_double(elements->scanner, &value)) {
        return false;
    }
    *(uint16_t *)target = half_from_double(value);
    return half_check(elements, value, half_to_float(*(uint16_t *)target));
}

static bool
bfloat16_read(Elements *elements, void *target)
{
    double value = 0;
    if (!json_double(elements->scanner, &value)) {
        return false;
    }
    *(uint16_t *)target = bfloat16_from_double(value);
    return half_check(elements, value, bfloat16_to_float(*(uint16_t *)target));
}

static bool
int_read(Elements *elements, void *target)
{
    int64_t value = 0;
    if (!json_int64(elements->scanner, &value)) {
        return false;
    }
    const unsigned bits = 8 * (unsigned)elements->size;
    const bool is_unsigned = elements->dtype >= DTYPE_UINT8;
    const int64_t maximum = is_unsigned ? (INT64_C(1) << bits) - 1 : INT64_MAX >> (64 - bits);
    const int64_t minimum = is_unsigned ? 0 : -maximum - 1;
    if (value < minimum || value > maximum) {
        return REFUSE(elements, "element %zu is %lld, but %s goes from %lld to %lld", elements->count,
            (long long)value, dtype_name(elements->dtype), (long long)minimum, (long long)maximum);
    }
    memcpy(target, &value, elements->size);
    return true;
}

static bool
int64_read(Elements *elements, void *target)
{
    return json_int64(elements->scanner, target);
}

static bool
uint64_read(Elements *elements, void *target)
{
    return json_uint64(elements->scanner, target);
}

bool
tensor_json_bytes_read(Call *call, JsonScanner *scanner, Slice *ret_bytes)
{
    Slice name = {0};
    Slice text = {0};
    size_t size = 0;
    if (!json_object_begin(scanner) || !json_object_next(scanner, &name)) {
        json_fault(scanner, "an object in place of a string needs the member 'b64'");
        return false;
    }
    if (!slice_equals_string(name, "b64")) {
        json_fault(scanner, "an object in place of a string has only the member 'b64'");
        return false;
    }
    if (!json_string(scanner, call->arena, &text)) {
        return false;
    }
    char *const bytes = base64_decoded_size(text, &size) ? arena_alloc(call->arena, size) : NULL;
    if (bytes == NULL || !base64_decode(text, bytes)) {
        json_fault(scanner, "'b64' is no base64, or too large");
        return false;
    }
    if (json_object_next(scanner, &name)) {
        json_fault(scanner, "an object in place of a string has only the member 'b64'");
        return false;
    }
    *ret_bytes = slice_of(bytes, size);
    return true;
}

static bool
string_read(Elements *elements, void *target)
{
    JsonScanner *const scanner = elements->scanner;
    return json_peek(scanner) == JSON_OBJECT ? tensor_json_bytes_read(elements->call, scanner, target)
                                             : json_string(scanner, elements->call->arena, target);
}

static const struct {
    ElementRead read;
    size_t size;
} readers[DTYPE_COUNT] = {
    [DTYPE_BOOL] = {bool_read, 1},
    [DTYPE_INT8] = {int_read, 1},
    [DTYPE_INT16] = {int_read, 2},
    [DTYPE_INT32] = {int_read, 4},
    [DTYPE_INT64] = {int64_read, 8},
    [DTYPE_UINT8] = {int_read, 1},
    [DTYPE_UINT16] = {int_read, 2},
    [DTYPE_UINT32] = {int_read, 4},
    [DTYPE_UINT64] = {uint64_read, 8},
    [DTYPE_FLOAT16] = {float16_read, 2},
    [DTYPE_BFLOAT16] = {bfloat16_read, 2},
    [DTYPE_FLOAT32] = {float32_read, 4},
    [DTYPE_FLOAT64] = {float64_read, 8},
    [DTYPE_COMPLEX64] = {float32_read, 4},
    [DTYPE_COMPLEX128] = {float64_read, 8},
    [DTYPE_STRING] = {string_read, sizeof(Slice)},
};

/* --- The arrays around them ----------------------------------------------------------------------------- */

/* Twice the room, or what is left up to the limit. */
static bool
storage_grow(Elements *elements, size_t size_wanted)
{
    TensorBuffer *const old = elements->storage;
    if (size_wanted > elements->storage_size_max) {
        elements->status = call_fail(elements->call, STATUS_RESOURCE_EXHAUSTED,
            "a tensor has more than %zu bytes", elements->byte_size_max);
        return false;
    }
    size_t size = old == NULL ? STORAGE_SIZE_MIN : old->size * 2;
    size = size < size_wanted ? size_wanted : size;
    size = size > elements->storage_size_max ? elements->storage_size_max : size;
    TensorBuffer *const grown = tensor_buffer_new(size);
    if (grown == NULL) {
        elements->status = call_fail_memory(elements->call, "a tensor's elements");
        return false;
    }
    if (old != NULL) {
        memcpy(grown->data, old->data, elements->count * elements->size);
    }
    tensor_buffer_unref(old);
    elements->storage = grown;
    return true;
}

static bool
element_read(Elements *elements)
{
    const size_t used = elements->count * elements->size;
    if ((elements->storage == NULL || elements->storage->size - used < elements->size) &&
        !storage_grow(elements, used + elements->size)) {
        return false;
    }
    if (!elements->read(elements, (char *)elements->storage->data + used)) {
        return false;
    }
    elements->count++;
    return true;
}

/* Arrays of one depth must have one size. */
static bool
array_close(Elements *elements)
{
    const int depth = elements->depth--;
    const int64_t count = elements->counts[depth];
    if (elements->dims[depth] < 0) {
        elements->dims[depth] = count;
    } else if (elements->dims[depth] != count) {
        return REFUSE(elements, "the arrays at depth %d are ragged: %lld elements and %lld", depth,
            (long long)elements->dims[depth], (long long)count);
    }
    return true;
}

static bool
array_open(Elements *elements)
{
    if (!json_array_begin(elements->scanner)) {
        return false;
    }
    if (elements->depth == DEPTH_MAX) {
        return REFUSE(elements, "the arrays are nested more than %d deep", SHAPE_RANK_MAX);
    }
    elements->counts[++elements->depth] = 0;
    return true;
}

/* Elements are at one depth: that of the first one, or of the first empty array. */
static bool
leaf_check(Elements *elements)
{
    if (elements->leaf_depth < 0) {
        elements->leaf_depth = elements->depth;
    }
    if (elements->leaf_depth != elements->depth) {
        return REFUSE(elements, "the arrays are ragged: elements at depth %d and at %d", elements->leaf_depth,
            elements->depth);
    }
    return true;
}

/* The rest of an array whose next value is an element; reads its end too. An array in there is refused by the
 * element's reader. */
static bool
leaves_read(Elements *elements)
{
    int64_t count = 0;
    do {
        if (!element_read(elements)) {
            return false;
        }
        count++;
    } while (elements->depth > 0 && json_array_next(elements->scanner));
    elements->counts[elements->depth] = count;
    return elements->scanner->fault == NULL;
}

/* Goes down into arrays until elements have been read, or an empty array. */
static bool
descend(Elements *elements)
{
    while (json_peek(elements->scanner) == JSON_ARRAY) {
        if (!array_open(elements)) {
            return false;
        }
        if (!json_array_next(elements->scanner)) {
            return elements->scanner->fault == NULL && leaf_check(elements);
        }
    }
    return leaf_check(elements) && leaves_read(elements);
}

/* Goes up out of arrays that have closed, until one of them has a value left or all are closed. */
static bool
ascend(Elements *elements)
{
    do {
        if (!array_close(elements)) {
            return false;
        }
        if (elements->depth > 0) {
            elements->counts[elements->depth]++;
        }
    } while (elements->depth > 0 && !json_array_next(elements->scanner));
    return elements->scanner->fault == NULL;
}

static bool
nested_read(Elements *elements)
{
    do {
        if (!descend(elements)) {
            return false;
        }
    } while (elements->depth > 0 && ascend(elements) && elements->depth > 0);
    return elements->scanner->fault == NULL && elements->status == STATUS_OK;
}

/* --- The tensor ----------------------------------------------------------------------------------------- */

static Status
shape_of_nesting(Elements *elements, Shape *ret_shape)
{
    int rank = elements->leaf_depth;
    const bool is_complex = dtype_is_complex(elements->dtype);
    if (is_complex && elements->count > 0) {
        if (rank == 0 || elements->dims[rank] != 2) {
            return call_fail(elements->call, STATUS_INVALID_ARGUMENT,
                "elements of %s are arrays of two numbers", dtype_name(elements->dtype));
        }
        rank--;
    }
    if (rank > SHAPE_RANK_MAX) {
        return call_fail(elements->call, STATUS_INVALID_ARGUMENT, "the arrays are nested more than %d deep",
            SHAPE_RANK_MAX);
    }
    *ret_shape = (Shape){.rank = rank};
    for (int axis = 0; axis < rank; axis++) {
        ret_shape->dims[axis] = elements->dims[axis + 1];
    }
    return STATUS_OK;
}

static Status
tensor_make(Elements *elements, Tensor *ret_tensor)
{
    Shape shape;
    TRY(shape_of_nesting(elements, &shape));
    void *const data = elements->count == 0 ? NULL : elements->storage->data;
    const bool is_made = elements->dtype == DTYPE_STRING
                             ? tensor_new_strings(&shape, data, ret_tensor)
                             : tensor_view(elements->dtype, &shape, elements->storage, data, ret_tensor);
    if (!is_made) {
        return call_fail_memory(elements->call, "a tensor's elements");
    }
    const size_t size = tensor_byte_size(ret_tensor);
    if (size > elements->byte_size_max) {
        tensor_unref(ret_tensor);
        return call_fail(elements->call, STATUS_RESOURCE_EXHAUSTED, "a tensor has %zu bytes, more than %zu",
            size, elements->byte_size_max);
    }
    return STATUS_OK;
}

/* Takes the memory for as many elements as there should be. A count that the text is too short for is not
 * believed: an element takes a character and what separates it from the next. */
static bool
storage_begin(Elements *elements, int64_t expected_count)
{
    const size_t believed = (size_t)(elements->scanner->end - elements->scanner->position);
    if (expected_count <= 0 || (size_t)expected_count > believed) {
        return true;
    }
    const size_t parts = dtype_is_complex(elements->dtype) ? 2 : 1;
    return storage_grow(elements, (size_t)expected_count * parts * elements->size);
}

Status
tensor_json_data_read(Call *call, JsonScanner *scanner, Dtype dtype, int64_t expected_count,
    size_t byte_size_max, Tensor *ret_tensor)
{
    if (readers[dtype].read == NULL) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "JSON cannot hold %s elements", dtype_name(dtype));
    }
    /* A string's Slice is twice the length that byte sizes count. */
    const bool is_doubled = dtype == DTYPE_STRING && byte_size_max <= SIZE_MAX / 2;
    Elements elements = {
        .call = call,
        .scanner = scanner,
        .dtype = dtype,
        .byte_size_max = byte_size_max,
        .read = readers[dtype].read,
        .size = readers[dtype].size,
        .storage_size_max = is_doubled ? byte_size_max * 2 : byte_size_max,
        .leaf_depth = -1,
    };
    for (int depth = 0; depth <= DEPTH_MAX; depth++) {
        elements.dims[depth] = -1;
    }
    const bool is_read = storage_begin(&elements, expected_count) && nested_read(&elements);
    if (elements.status == STATUS_OK) {
        elements.status = is_read ? tensor_make(&elements, ret_tensor) : json_scan_check(call, scanner);
    }
    tensor_buffer_unref(elements.storage);
    if (elements.status != STATUS_OK) {
        json_fault(scanner, "a tensor was refused");
    }
    return elements.status;
}
