/* The members of a tensor's object may come in any order: `data` is read at once when its dtype is known by
 * then, else passed over and read behind the last member. What the members say of dtype and shape is
 * compared at the end. */
#include "shared/tensor/tensor_json.h"

#include "shared/base/base64.h"
#include "shared/base/memory.h"
#include "shared/json/reader.h"
#include "shared/tensor/npy.h"
#include "shared/tensor/tensor_json_data.h"

/* Bytes of a .npy file before its elements, at most. */
enum { NPY_HEADER_SIZE_MAX = 65536 };

typedef struct Reading {
    Call *call;
    JsonScanner *scanner;
    TensorJsonOptions options;
    Dtype dtype; /* what 'dtype' says */
    bool has_shape;
    Shape shape;   /* what 'shape' says */
    Slice data;    /* passed over: its dtype came later */
    bool has_data; /* passed over or read */
    Slice b64;     /* as text; data NULL without */
    Slice npy;     /* as text */
    Slice reference;
    Tensor tensor;
} Reading;

static void
reading_donep(Reading *reading)
{
    tensor_unref(&reading->tensor);
}

/* A scanner's fault as a Status: for calls that have just failed. */
static Status
scan_failure(Reading *reading)
{
    return json_scan_check(reading->call, reading->scanner);
}

static Status
read_dtype(JsonReader *reader, const JsonMember *member, void *target)
{
    Reading *const reading = target;
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
    Reading *const reading = target;
    (void)reader;
    (void)member;
    JsonScanner *const scanner = reading->scanner;
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

/* The dtype as far as it is known by now. */
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
    return tensor_json_data_read(reading->call, scanner, known_dtype(reading), count,
        reading->options.byte_size_max, &reading->tensor);
}

static Status
read_data(JsonReader *reader, const JsonMember *member, void *target)
{
    Reading *const reading = target;
    (void)reader;
    (void)member;
    reading->has_data = true;
    if (known_dtype(reading) != DTYPE_INVALID) {
        return elements_read(reading, reading->scanner);
    }
    return json_skip(reading->scanner, &reading->data) ? STATUS_OK : scan_failure(reading);
}

static const JsonMember members[] = {
    {"dtype", .read = read_dtype},
    {"shape", .read = read_shape},
    {"data", .read = read_data},
    {"b64", JSON_SLICE, .offset = offsetof(Reading, b64)},
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
    const int forms = reading->has_data + (reading->b64.data != NULL) + (reading->npy.data != NULL) +
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

/* A string scalar: the bytes are its one element. */
static Status
b64_string_finish(Reading *reading)
{
    Call *const call = reading->call;
    const Shape scalar = shape_scalar();
    size_t size = 0;
    if (reading->has_shape && reading->shape.rank != 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "'b64' holds one string; several are 'data' with an object {\"b64\": …} for each");
    }
    if (!base64_decoded_size(reading->b64, &size)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'b64' is no base64");
    }
    const size_t tensor_size = size + sizeof(uint64_t); /* a string's length counts too */
    if (tensor_size > reading->options.byte_size_max) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED, "a tensor has %zu bytes, more than %zu",
            tensor_size, reading->options.byte_size_max);
    }
    AUTO_MEMORY void *bytes = memory_new_aligned(size);
    const Slice element = slice_of(bytes, size);
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
    Call *const call = reading->call;
    const Dtype dtype = known_dtype(reading);
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
    Call *const call = reading->call;
    const size_t byte_size_max = reading->options.byte_size_max;
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

/* What the members say must be what was read. Flat data takes its shape from 'shape'. */
static Status
agreement_check(Reading *reading)
{
    Tensor *const tensor = &reading->tensor;
    if (reading->dtype != DTYPE_INVALID && reading->dtype != tensor->dtype) {
        return call_fail(reading->call, STATUS_INVALID_ARGUMENT, "the elements are %s, but 'dtype' is %s",
            dtype_name(tensor->dtype), dtype_name(reading->dtype));
    }
    if (!reading->has_shape || shape_equal(&tensor->shape, &reading->shape)) {
        return STATUS_OK;
    }
    int64_t count = 0;
    const bool is_flat = reading->has_data && tensor->shape.rank == 1;
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
    const Dtype expected = reading->options.expected;
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
    CLEANUP(reading_donep) Reading reading = {.call = call, .scanner = scanner, .options = options};
    const bool is_object = json_peek(scanner) == JSON_OBJECT;
    const Status status = is_object ? object_read(&reading) : bare_value_read(&reading);
    if (status != STATUS_OK) {
        json_fault(scanner, "a tensor was refused");
        return status;
    }
    *ret_ref = reading.reference;
    *ret_tensor = tensor_ref(&reading.tensor);
    return STATUS_OK;
}
