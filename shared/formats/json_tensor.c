/* TensorShapeProto and TensorProto from JSON. A tensor's members may come in any order, so that its values
 * are passed over first and read when dtype and shape are known. */
#include <stddef.h>

#include "shared/base/base64.h"
#include "shared/formats/json_reader.h"

/* --- Shapes --------------------------------------------------------------------------------------------- */

typedef struct ShapeMessage {
    Shape shape;
    bool is_unknown;
} ShapeMessage;

typedef struct DimMessage {
    int64_t size;
    Slice name;
} DimMessage;

static const JsonMember dim_members[] = {
    {"size", json_read_int, offsetof(DimMessage, size)},
    {"name", json_read_nothing, 0},
};
static const JsonMessage dim_message = JSON_MESSAGE("Dim", dim_members);

static Status
read_dims(JsonReader *reader, void *target)
{
    Shape *const shape = target;
    Call *const call = reader->builder->call;
    if (!json_array_begin(reader->scanner)) {
        return json_reader_fault(reader);
    }
    while (json_array_next(reader->scanner)) {
        DimMessage dim = {0};
        TRY(json_read_message(reader, &dim_message, &dim));
        if (shape->rank == SHAPE_RANK_MAX) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "a shape has more than %d dimensions", SHAPE_RANK_MAX);
        }
        if (dim.size < -1) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "a shape has dimension %lld", (long long)dim.size);
        }
        shape->dims[shape->rank++] = dim.size;
    }
    return json_scan_check(call, reader->scanner);
}

static const JsonMember shape_members[] = {
    {"dim", read_dims, offsetof(ShapeMessage, shape)},
    {"unknownRank", json_read_bool, offsetof(ShapeMessage, is_unknown)},
};
static const JsonMessage shape_message = JSON_MESSAGE("TensorShapeProto", shape_members);

Status
json_read_shape(JsonReader *reader, void *target)
{
    ShapeMessage message = {0};
    TRY(json_read_message(reader, &shape_message, &message));
    *(Shape *)target = message.is_unknown ? shape_unknown() : message.shape;
    return STATUS_OK;
}

/* --- Tensors -------------------------------------------------------------------------------------------- */

enum { VALUE_FIELD_COUNT = 18 };

typedef struct TensorMessage {
    Dtype dtype;
    Shape shape;
    Slice content;                   /* the JSON string, quotes included */
    Slice values[VALUE_FIELD_COUNT]; /* by field number: the JSON array */
} TensorMessage;

static Status
pass_over(JsonReader *reader, void *target)
{
    return json_skip(reader->scanner, target) ? STATUS_OK : json_reader_fault(reader);
}

#define VALUES(name, number)                                                                                 \
    {                                                                                                        \
        name, pass_over, offsetof(TensorMessage, values) + (number) * sizeof(Slice)                          \
    }
static const JsonMember tensor_members[] = {
    {"dtype", json_read_dtype, offsetof(TensorMessage, dtype)},
    {"tensorShape", json_read_shape, offsetof(TensorMessage, shape)},
    {"versionNumber", json_read_nothing, 0},
    {"tensorContent", pass_over, offsetof(TensorMessage, content)},
    VALUES("floatVal", 5),
    VALUES("doubleVal", 6),
    VALUES("intVal", 7),
    VALUES("stringVal", 8),
    VALUES("scomplexVal", 9),
    VALUES("int64Val", 10),
    VALUES("boolVal", 11),
    VALUES("dcomplexVal", 12),
    VALUES("halfVal", 13),
    {"resourceHandleVal", json_read_nothing, 0},
    {"variantVal", json_read_nothing, 0},
    VALUES("uint32Val", 16),
    VALUES("uint64Val", 17),
    {"float8Val", json_read_nothing, 0},
};
static const JsonMessage tensor_message = JSON_MESSAGE("TensorProto", tensor_members);

/* Reads one number of a tensor's values to `place`. The numbers of int fields are cut to the dtype's size. */
static bool
read_scalar(JsonScanner *scanner, Dtype dtype, void *place)
{
    if (dtype == DTYPE_FLOAT32 || dtype == DTYPE_COMPLEX64) {
        return json_float(scanner, place);
    }
    if (dtype == DTYPE_FLOAT64 || dtype == DTYPE_COMPLEX128) {
        return json_double(scanner, place);
    }
    if (dtype == DTYPE_BOOL) {
        return json_boolean(scanner, place);
    }
    if (dtype == DTYPE_UINT64) {
        return json_uint64(scanner, place);
    }
    int64_t number = 0;
    if (!json_int64(scanner, &number)) {
        return false;
    }
    memcpy(place, &number, dtype_size(dtype)); /* the low bytes: little-endian hosts only, as the formats */
    return true;
}

/* Those of the values that the tensor has room for, then the last one again and again. */
static Status
read_numbers(JsonReader *values, const Tensor *tensor)
{
    JsonScanner *const scanner = values->scanner;
    const Dtype dtype = tensor->dtype;
    const int64_t parts = dtype == DTYPE_COMPLEX64 || dtype == DTYPE_COMPLEX128 ? 2 : 1;
    const size_t size = dtype_size(dtype) / (size_t)parts;
    const int64_t room = tensor_element_count(tensor) * parts;
    int64_t done = 0;
    if (!json_array_begin(scanner)) {
        return json_reader_fault(values);
    }
    while (json_array_next(scanner)) {
        Slice rest;
        const bool is_read = done < room
                                 ? read_scalar(scanner, dtype, (char *)tensor->data + (size_t)done * size)
                                 : json_skip(scanner, &rest);
        if (!is_read) {
            return json_reader_fault(values);
        }
        done += done < room ? 1 : 0;
    }
    TRY(json_scan_check(values->builder->call, scanner));
    tensor_repeat_last(tensor, done / parts);
    return STATUS_OK;
}

static Status
read_strings(JsonReader *values, const Shape *shape, Tensor *ret_tensor)
{
    GraphBuilder *const builder = values->builder;
    const void *elements = NULL;
    size_t count = 0;
    TRY(json_read_list(values, json_read_bytes, sizeof(Slice), &elements, &count));
    return builder_string_tensor(builder, shape, elements, count, ret_tensor);
}

static Status
read_content(JsonReader *reader, const TensorMessage *message, Slice text, Tensor *ret_tensor)
{
    Call *const call = reader->builder->call;
    Tensor tensor;
    int64_t count = 0;
    size_t size = 0;
    if (!base64_decoded_size(text, &size)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the tensor's content is not in base64");
    }
    TRY(builder_tensor(reader->builder, message->dtype, &message->shape, &tensor, &count));
    const size_t expected = (size_t)count * dtype_size(message->dtype);
    if (size != expected) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "the tensor's content has %zu bytes, its shape asks for %zu", size, expected);
    }
    if (!base64_decode(text, tensor.data)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the tensor's content is not in base64");
    }
    *ret_tensor = tensor;
    return STATUS_OK;
}

static Status
read_string_content(JsonReader *reader, const TensorMessage *message, Slice text, Tensor *ret_tensor)
{
    Call *const call = reader->builder->call;
    void *bytes = NULL;
    size_t size = 0;
    if (!base64_decoded_size(text, &size)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the tensor's content is not in base64");
    }
    TRY(builder_alloc(reader->builder, 1, size, &bytes));
    if (!base64_decode(text, bytes)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the tensor's content is not in base64");
    }
    return builder_string_content(reader->builder, &message->shape, slice_of(bytes, size), ret_tensor);
}

static Status
read_values(JsonReader *reader, const TensorMessage *message, Slice text, Tensor *ret_tensor)
{
    JsonScanner scanner;
    JsonReader values = {.builder = reader->builder, .scanner = &scanner};
    json_scan_within(&scanner, reader->scanner, text);
    if (message->dtype == DTYPE_STRING) {
        return read_strings(&values, &message->shape, ret_tensor);
    }
    Tensor tensor;
    int64_t count = 0;
    TRY(builder_tensor(reader->builder, message->dtype, &message->shape, &tensor, &count));
    TRY(read_numbers(&values, &tensor));
    *ret_tensor = tensor;
    return STATUS_OK;
}

Status
json_read_tensor(JsonReader *reader, void *target)
{
    TensorMessage message = {0};
    TRY(json_read_message(reader, &tensor_message, &message));
    const TensorField *const field = tensor_field(message.dtype);
    if (field == NULL) {
        /* Of a dtype we cannot hold; whoever needs it finds it invalid. */
        *(Tensor *)target = (Tensor){.shape = message.shape};
        return STATUS_OK;
    }
    Slice content = SLICE("");
    if (message.content.size > 0) {
        JsonScanner scanner;
        json_scan_within(&scanner, reader->scanner, message.content);
        if (!json_string(&scanner, reader->builder->call->arena, &content)) {
            JsonReader failed = {.builder = reader->builder, .scanner = &scanner};
            return json_reader_fault(&failed);
        }
    }
    int64_t count = 0;
    if (content.size > 0 && !(shape_element_count(&message.shape, &count) && count == 0)) {
        return message.dtype == DTYPE_STRING ? read_string_content(reader, &message, content, target)
                                             : read_content(reader, &message, content, target);
    }
    const Slice values = message.values[field->number];
    return values.size > 0 ? read_values(reader, &message, values, target)
                           : builder_zeros(reader->builder, message.dtype, &message.shape, target);
}
