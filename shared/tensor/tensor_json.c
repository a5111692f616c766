/* The members of a tensor's object may come in any order: `data` is read at once when its dtype is known
 * by then, else its text is kept and read after the last member. At the end the tensor is compared with
 * the dtype and shape that the members gave. */
#include "shared/tensor/tensor_json.h"

#include <assert.h>
#include <math.h>

#include "shared/base/base64.h"
#include "shared/base/memory.h"
#include "shared/json/reader.h"
#include "shared/tensor/half.h"
#include "shared/tensor/npy.h"

/* A complex element is an array of two numbers: its depth is the rank + 1. */
enum { DEPTH_MAX = SHAPE_RANK_MAX + 1, STORAGE_SIZE_MIN = 1024 };

typedef struct Elements Elements;

/* Reads one number, boolean or string into `target`. After false, the scanner or the call has the fault. */
typedef bool (*ElementRead)(Elements *elements, void *target);

struct Elements {
    Call *call;
    JsonScanner *scanner;
    Dtype dtype;
    size_t byte_size_max;
    ElementRead read;
    size_t size;  /* bytes that one call of `read` writes */
    size_t count; /* calls of `read` so far */
    size_t storage_size_max;
    TensorBuffer *storage;
    Status status; /* a refusal that is not the scanner's */

    /* The arrays that are open. At depth d, d of them are. */
    int depth;
    int leaf_depth; /* -1 until the first element */
    int64_t dims[DEPTH_MAX + 1];
    int64_t counts[DEPTH_MAX + 1];
};

#define REFUSE(elements, ...)                                                                                \
    ((elements)->status = call_fail((elements)->call, STATUS_INVALID_ARGUMENT, __VA_ARGS__), false)

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
    unsigned bits = 8 * (unsigned)elements->size;
    bool is_unsigned = elements->dtype >= DTYPE_UINT8;
    int64_t maximum = is_unsigned ? (INT64_C(1) << bits) - 1 : INT64_MAX >> (64 - bits);
    int64_t minimum = is_unsigned ? 0 : -maximum - 1;
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

/* Reads {"b64": "…"}: bytes of a string element that is no UTF-8, into call->arena. */
static bool
read_base64_bytes(Call *call, JsonScanner *scanner, Slice *ret_bytes)
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
    char *bytes = base64_decoded_size(text, &size) ? arena_alloc(call->arena, size) : NULL;
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
    JsonScanner *scanner = elements->scanner;
    return json_peek(scanner) == JSON_OBJECT ? read_base64_bytes(elements->call, scanner, target)
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

/* Doubles the room, or takes what is left up to the limit. */
static bool
storage_grow(Elements *elements, size_t size_wanted)
{
    TensorBuffer *old = elements->storage;
    if (size_wanted > elements->storage_size_max) {
        elements->status = call_fail(elements->call, STATUS_RESOURCE_EXHAUSTED,
            "a tensor has more than %zu bytes", elements->byte_size_max);
        return false;
    }
    size_t size = old == NULL ? STORAGE_SIZE_MIN : old->size * 2;
    size = size < size_wanted ? size_wanted : size;
    size = size > elements->storage_size_max ? elements->storage_size_max : size;
    TensorBuffer *grown = tensor_buffer_new(size);
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
    size_t used = elements->count * elements->size;
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

/* Checks that arrays of one depth have one size. */
static bool
array_close(Elements *elements)
{
    int depth = elements->depth--;
    int64_t count = elements->counts[depth];
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

/* Checks that all elements are at one depth: that of the first one, or of the first empty array. */
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

/* Enters arrays until elements have been read, or an empty array. */
static bool
enter_array(Elements *elements)
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

/* Leaves arrays that have closed, until one of them has a value left or all are closed. */
static bool
leave_array(Elements *elements)
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
        if (!enter_array(elements)) {
            return false;
        }
    } while (elements->depth > 0 && leave_array(elements) && elements->depth > 0);
    return elements->scanner->fault == NULL && elements->status == STATUS_OK;
}

static Status
shape_of_nesting(Elements *elements, Shape *ret_shape)
{
    int rank = elements->leaf_depth;
    bool is_complex = dtype_is_complex(elements->dtype);
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
    void *data = elements->count == 0 ? NULL : elements->storage->data;
    bool is_made = elements->dtype == DTYPE_STRING
                       ? tensor_new_strings(&shape, data, ret_tensor)
                       : tensor_view(elements->dtype, &shape, elements->storage, data, ret_tensor);
    if (!is_made) {
        return call_fail_memory(elements->call, "a tensor's elements");
    }
    size_t size = tensor_byte_size(ret_tensor);
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
    size_t believed = (size_t)(elements->scanner->end - elements->scanner->position);
    if (expected_count <= 0 || (size_t)expected_count > believed) {
        return true;
    }
    size_t parts = dtype_is_complex(elements->dtype) ? 2 : 1;
    return storage_grow(elements, (size_t)expected_count * parts * elements->size);
}

/* Reads numbers, booleans or strings in arrays of any depth. `expected_count` is how many elements there
 * should be (the memory is taken at once then), or -1. The tensor has the shape of the nesting: [] for a bare
 * value. INVALID_ARGUMENT when the arrays are ragged or an element is none of `dtype`. */
static Status
read_data_elements(Call *call, JsonScanner *scanner, Dtype dtype, int64_t expected_count,
    size_t byte_size_max, Tensor *ret_tensor)
{
    if (readers[dtype].read == NULL) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "JSON cannot hold %s elements", dtype_name(dtype));
    }
    /* A string counts with its length of 8 bytes, but its Slice takes twice that. */
    bool is_doubled = dtype == DTYPE_STRING && byte_size_max <= SIZE_MAX / 2;
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
    bool is_read = storage_begin(&elements, expected_count) && nested_read(&elements);
    if (elements.status == STATUS_OK) {
        elements.status = is_read ? tensor_make(&elements, ret_tensor) : json_scan_check(call, scanner);
    }
    tensor_buffer_unref(elements.storage);
    if (elements.status != STATUS_OK) {
        json_fault(scanner, "a tensor was refused");
    }
    return elements.status;
}

/* bytes of a .npy file before its elements, at most */
enum { NPY_HEADER_SIZE_MAX = 65536 };

typedef struct Reading {
    Call *call;
    JsonScanner *scanner;
    TensorJsonOptions options;
    Dtype dtype; /* of the member 'dtype' */
    bool has_shape;
    Shape shape;   /* of the member 'shape' */
    Slice data;    /* text that is kept until its dtype is known */
    bool has_data; /* its text is kept, or it has been read */
    Slice b64;     /* base64; data NULL: absent */
    Slice npy;     /* base64; data NULL: absent */
    Slice reference;
    Tensor tensor;
} Reading;

static void
reading_donep(Reading *reading)
{
    tensor_unref(&reading->tensor);
}

/* Returns the scanner's fault as a Status, OK when there is none. */
static Status
scan_failure(Reading *reading)
{
    return json_scan_check(reading->call, reading->scanner);
}

static Status
read_dtype(JsonReader *reader, const JsonMember *member, void *target)
{
    Reading *reading = target;
    (void)reader;
    (void)member;
    Slice name;
    if (!json_string(reading->scanner, reading->call->arena, &name)) {
        return scan_failure(reading);
    }
    reading->dtype = dtype_from_name(name);
    if (reading->dtype == DTYPE_INVALID) {
        return call_fail(reading->call, STATUS_INVALID_ARGUMENT, "there is no dtype '%.*s'",
            SLICE_PRINT(slice_part(name, 0, 64)));
    }
    return STATUS_OK;
}

static Status
read_shape(JsonReader *reader, const JsonMember *member, void *target)
{
    Reading *reading = target;
    (void)reader;
    (void)member;
    JsonScanner *scanner = reading->scanner;
    Shape shape = shape_scalar();
    int64_t dim = 0;
    (void)json_array_begin(scanner);
    while (json_array_next(scanner) && json_int64(scanner, &dim)) {
        if (dim < 0) {
            return call_fail(reading->call, STATUS_INVALID_ARGUMENT, "dimension %d of 'shape' is %lld",
                shape.rank, (long long)dim);
        }
        if (shape.rank == SHAPE_RANK_MAX) {
            return call_fail(reading->call, STATUS_INVALID_ARGUMENT, "'shape' has more than %d dimensions",
                SHAPE_RANK_MAX);
        }
        shape.dims[shape.rank++] = dim;
    }
    TRY(scan_failure(reading));
    int64_t count = 0;
    if (!shape_element_count(&shape, &count)) {
        return call_fail(
            reading->call, STATUS_INVALID_ARGUMENT, "the number of elements of 'shape' is too large");
    }
    reading->shape = shape;
    reading->has_shape = true;
    return STATUS_OK;
}

/* Returns the dtype as far as it is known. */
static Dtype
known_dtype(const Reading *reading)
{
    return reading->dtype != DTYPE_INVALID ? reading->dtype : reading->options.expected;
}

static Status
elements_read(Reading *reading, JsonScanner *scanner)
{
    int64_t count = -1;
    if (reading->has_shape && !shape_element_count(&reading->shape, &count)) {
        count = -1;
    }
    return read_data_elements(reading->call, scanner, known_dtype(reading), count,
        reading->options.byte_size_max, &reading->tensor);
}

static Status
read_data(JsonReader *reader, const JsonMember *member, void *target)
{
    Reading *reading = target;
    (void)reader;
    (void)member;
    reading->has_data = true;
    if (known_dtype(reading) != DTYPE_INVALID) {
        return elements_read(reading, reading->scanner);
    }
    return json_skip(reading->scanner, &reading->data) ? STATUS_OK : scan_failure(reading);
}

static Status
fail_several_strings(Call *call)
{
    return call_fail(call, STATUS_INVALID_ARGUMENT,
        "'b64' holds one string; several are 'data' with an object {\"b64\": …} for each");
}

static Status
read_b64(JsonReader *reader, const JsonMember *member, void *target)
{
    Reading *reading = target;
    (void)reader;
    (void)member;
    if (json_peek(reading->scanner) == JSON_ARRAY) {
        return fail_several_strings(reading->call);
    }
    return json_string(reading->scanner, reading->call->arena, &reading->b64) ? STATUS_OK
                                                                              : scan_failure(reading);
}

static const JsonMember members[] = {
    {"dtype", .read = read_dtype},
    {"shape", .read = read_shape},
    {"data", .read = read_data},
    {"b64", .read = read_b64},
    {"npy", JSON_SLICE, .offset = offsetof(Reading, npy)},
    {"ref", JSON_SLICE, .offset = offsetof(Reading, reference)},
};
static const JsonTable table = JSON_TABLE("a tensor", members);

static Status
members_read(Reading *reading)
{
    static const JsonDialect dialect = {.unknown = JSON_UNKNOWN_IS_REFUSED};
    JsonReader reader = {.call = reading->call, .scanner = reading->scanner, .dialect = &dialect};
    TRY(json_read_object(&reader, &table, reading));
    int forms = reading->has_data + (reading->b64.data != NULL) + (reading->npy.data != NULL) +
                (reading->reference.data != NULL);
    if (forms != 1) {
        return call_fail(reading->call, STATUS_INVALID_ARGUMENT,
            "a tensor has one of 'data', 'b64', 'npy' and 'ref', not %d", forms);
    }
    return STATUS_OK;
}

static Status
data_finish(Reading *reading)
{
    if (reading->data.data == NULL) {
        return STATUS_OK;
    }
    if (known_dtype(reading) == DTYPE_INVALID) {
        return call_fail(reading->call, STATUS_INVALID_ARGUMENT, "a tensor with 'data' needs 'dtype'");
    }
    JsonScanner scanner;
    json_scan_within(&scanner, reading->scanner, reading->data);
    return elements_read(reading, &scanner);
}

/* Decodes a string scalar, whose one element the bytes are. */
static Status
b64_string_finish(Reading *reading)
{
    Call *call = reading->call;
    Shape scalar = shape_scalar();
    size_t size = 0;
    if (reading->has_shape && reading->shape.rank != 0) {
        return fail_several_strings(call);
    }
    if (!base64_decoded_size(reading->b64, &size)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'b64' is no base64");
    }
    size_t tensor_size = size + sizeof(uint64_t); /* a string's length counts too */
    if (tensor_size > reading->options.byte_size_max) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED, "a tensor has %zu bytes, more than %zu",
            tensor_size, reading->options.byte_size_max);
    }
    AUTO_MEMORY void *bytes = memory_new_aligned(size);
    Slice element = slice_of(bytes, size);
    if (bytes == NULL) {
        return call_fail_memory(call, "a tensor's elements");
    }
    if (!base64_decode(reading->b64, bytes)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'b64' is no base64");
    }
    return tensor_new_strings(&scalar, &element, &reading->tensor)
               ? STATUS_OK
               : call_fail_memory(call, "a tensor's elements");
}

static Status
b64_finish(Reading *reading)
{
    Call *call = reading->call;
    Dtype dtype = known_dtype(reading);
    if (dtype == DTYPE_STRING) {
        return b64_string_finish(reading);
    }
    char text[SHAPE_TEXT_SIZE];
    size_t size = 0;
    size_t decoded_size = 0;
    if (dtype == DTYPE_INVALID || !reading->has_shape) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a tensor with 'b64' needs 'dtype' and 'shape'");
    }
    if (!dtype_is_copyable(dtype)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'b64' cannot hold %s elements", dtype_name(dtype));
    }
    if (!shape_byte_size(&reading->shape, dtype, &size) || size > reading->options.byte_size_max) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED, "shape %s of %s has more than %zu bytes",
            shape_text(&reading->shape, text), dtype_name(dtype), reading->options.byte_size_max);
    }
    if (!base64_decoded_size(reading->b64, &decoded_size)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'b64' is no base64");
    }
    if (decoded_size != size) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'b64' has %zu bytes, but shape %s of %s has %zu",
            decoded_size, shape_text(&reading->shape, text), dtype_name(dtype), size);
    }
    if (!tensor_new(dtype, &reading->shape, &reading->tensor)) {
        return call_fail_memory(call, "a tensor's elements");
    }
    if (size > 0 && !base64_decode(reading->b64, reading->tensor.data)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'b64' is no base64");
    }
    if (!tensor_is_valid(&reading->tensor)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a bool in 'b64' is neither 0 nor 1");
    }
    return STATUS_OK;
}

static Status
npy_finish(Reading *reading)
{
    Call *call = reading->call;
    size_t byte_size_max = reading->options.byte_size_max;
    size_t size = 0;
    if (!base64_decoded_size(reading->npy, &size)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'npy' is no base64");
    }
    if (size > byte_size_max && size - byte_size_max > NPY_HEADER_SIZE_MAX) {
        return call_fail(
            call, STATUS_RESOURCE_EXHAUSTED, "'npy' has %zu bytes, more than %zu", size, byte_size_max);
    }
    AUTO_MEMORY void *file = memory_new_aligned(size);
    if (file == NULL) {
        return call_fail_memory(call, "a .npy file");
    }
    if (!base64_decode(reading->npy, file)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'npy' is no base64");
    }
    return npy_read(call, slice_of(file, size), byte_size_max, &reading->tensor);
}

/* Compares the tensor with what the members said. Flat data takes its shape from 'shape'. */
static Status
agreement_check(Reading *reading)
{
    Tensor *tensor = &reading->tensor;
    if (reading->dtype != DTYPE_INVALID && reading->dtype != tensor->dtype) {
        return call_fail(reading->call, STATUS_INVALID_ARGUMENT, "the elements are %s, but 'dtype' is %s",
            dtype_name(tensor->dtype), dtype_name(reading->dtype));
    }
    if (!reading->has_shape || shape_equal(&tensor->shape, &reading->shape)) {
        return STATUS_OK;
    }
    int64_t count = 0;
    bool is_flat = reading->has_data && tensor->shape.rank == 1;
    if (!is_flat || !shape_element_count(&reading->shape, &count) || count != tensor->shape.dims[0]) {
        char found[SHAPE_TEXT_SIZE];
        char stated[SHAPE_TEXT_SIZE];
        return call_fail(reading->call, STATUS_INVALID_ARGUMENT,
            "the elements have shape %s, but 'shape' is %s", shape_text(&tensor->shape, found),
            shape_text(&reading->shape, stated));
    }
    tensor->shape = reading->shape;
    return STATUS_OK;
}

static Status
expectation_check(Reading *reading, Dtype dtype)
{
    Dtype expected = reading->options.expected;
    if (expected != DTYPE_INVALID && dtype != DTYPE_INVALID && dtype != expected) {
        return call_fail(reading->call, STATUS_INVALID_ARGUMENT, "the tensor is %s, but %s is expected",
            dtype_name(dtype), dtype_name(expected));
    }
    return STATUS_OK;
}

static Status
object_read(Reading *reading)
{
    TRY(members_read(reading));
    TRY(expectation_check(reading, reading->dtype));
    if (reading->reference.data != NULL) {
        return STATUS_OK;
    }
    if (reading->b64.data != NULL) {
        TRY(b64_finish(reading));
    } else if (reading->npy.data != NULL) {
        TRY(npy_finish(reading));
        TRY(expectation_check(reading, reading->tensor.dtype));
    } else {
        TRY(data_finish(reading));
    }
    return agreement_check(reading);
}

static Status
bare_value_read(Reading *reading)
{
    if (reading->options.expected == DTYPE_INVALID) {
        return call_fail(reading->call, STATUS_INVALID_ARGUMENT,
            "a bare value needs a graph that says its dtype; send an object with 'dtype' and 'data'");
    }
    return elements_read(reading, reading->scanner);
}

Status
tensor_json_read(
    Call *call, JsonScanner *scanner, TensorJsonOptions options, Tensor *ret_tensor, Slice *ret_ref)
{
    assert(scanner != NULL && ret_tensor != NULL && ret_ref != NULL);
    CLEANUP(reading_donep) Reading reading = {.call = call, .scanner = scanner, .options = options};
    bool is_object = json_peek(scanner) == JSON_OBJECT;
    Status status = is_object ? object_read(&reading) : bare_value_read(&reading);
    if (status != STATUS_OK) {
        json_fault(scanner, "a tensor was refused");
        return status;
    }
    *ret_ref = reading.reference;
    *ret_tensor = tensor_ref(&reading.tensor);
    return STATUS_OK;
}
