#include "shared/formats/graphdef_json_value.h"

#include <assert.h>
#include <stdalign.h>
#include <stddef.h>

#include "shared/base/base64.h"

static Status
take_string(JsonReader *reader, Slice *ret_text)
{
    return json_string(reader->scanner, reader->call->arena, ret_text) ? STATUS_OK
                                                                       : json_reader_fault(reader);
}

Status
graph_read_text(JsonReader *reader, const JsonMember *member, void *target)
{
    Slice text;
    (void)member;
    TRY(take_string(reader, &text));
    return builder_copy(reader->context, text, target);
}

Status
graph_read_bytes(JsonReader *reader, const JsonMember *member, void *target)
{
    Slice text;
    size_t size = 0;
    void *bytes = NULL;
    (void)member;
    TRY(take_string(reader, &text));
    if (!base64_decoded_size(text, &size)) {
        return call_fail(reader->call, STATUS_INVALID_ARGUMENT, "bytes are not in base64");
    }
    TRY(builder_alloc(reader->context, 1, size, &bytes));
    if (!base64_decode(text, bytes)) {
        return call_fail(reader->call, STATUS_INVALID_ARGUMENT, "bytes are not in base64");
    }
    *(Slice *)target = slice_of(bytes, size);
    return STATUS_OK;
}

static Status
read_dtype_number(JsonReader *reader, Dtype *ret_dtype)
{
    enum { TENSORFLOW_NUMBER_MAX = 199 }; /* references included, whose numbers are 100 higher */
    int64_t number = 0;
    if (!json_int64(reader->scanner, &number)) {
        return json_reader_fault(reader);
    }
    if (number < 0 || number > TENSORFLOW_NUMBER_MAX) {
        return call_fail(reader->call, STATUS_INVALID_ARGUMENT, "%lld is no DataType", (long long)number);
    }
    *ret_dtype = dtype_from_tensorflow_number(number);
    return STATUS_OK;
}

Status
graph_read_dtype(JsonReader *reader, const JsonMember *member, void *target)
{
    Slice name;
    (void)member;
    if (json_peek(reader->scanner) == JSON_NUMBER) {
        return read_dtype_number(reader, target);
    }
    TRY(take_string(reader, &name));
    if (!slice_starts_with(name, SLICE("DT_"))) {
        return call_fail(reader->call, STATUS_INVALID_ARGUMENT, "'%.*s' is no DataType",
            SLICE_PRINT(slice_part(name, 0, 64)));
    }
    *(Dtype *)target = dtype_from_tensorflow_name(name);
    return STATUS_OK;
}

typedef struct Item {
    alignas(max_align_t) unsigned char bytes[GRAPH_ITEM_SIZE_MAX];
} Item;

static Status
push_item(JsonReader *reader, const JsonList *list, Slice name)
{
    Item item;
    memset(item.bytes, 0, list->item_size);
    if (!list->is_map) {
        TRY(json_read_value(reader, &list->item, item.bytes));
        return builder_push(reader->context, item.bytes, list->item_size);
    }
    Slice *key = (Slice *)(void *)item.bytes;
    TRY(builder_copy(reader->context, name, key));
    if (json_read_value(reader, &list->item, item.bytes) != STATUS_OK) {
        return call_wrap(reader->call, "'%.*s'", SLICE_PRINT(slice_part(*key, 0, 64)));
    }
    return builder_push(reader->context, item.bytes, list->item_size);
}

/* A list as it stands in the graph's structs. */
typedef struct List {
    const void *items;
    size_t count;
} List;

Status
graph_read_list(JsonReader *reader, const JsonMember *member, void *target)
{
    const JsonList *list = member->list;
    List *ret_list = target;
    size_t mark = builder_mark(reader->context);
    Slice name = {0};
    assert(list->item_size <= GRAPH_ITEM_SIZE_MAX);
    if (!(list->is_map ? json_object_begin(reader->scanner) : json_array_begin(reader->scanner))) {
        return json_reader_fault(reader);
    }
    while (list->is_map ? json_object_next(reader->scanner, &name) : json_array_next(reader->scanner)) {
        TRY(push_item(reader, list, name));
    }
    TRY(json_scan_check(reader->call, reader->scanner));
    return builder_take(reader->context, mark, list->item_size, &ret_list->items, &ret_list->count);
}

typedef struct ShapeMessage {
    Shape shape;
    bool is_unknown;
} ShapeMessage;

typedef struct DimMessage {
    int64_t size;
    Slice name;
} DimMessage;

static const JsonMember dim_members[] = {
    {"size", JSON_INT64, .offset = offsetof(DimMessage, size)},
    {"name", JSON_IGNORED, .offset = 0},
};
static const JsonTable dim_table = JSON_TABLE("Dim", dim_members);

static Status
read_dims(JsonReader *reader, const JsonMember *member, void *target)
{
    Shape *shape = target;
    Call *call = reader->call;
    (void)member;
    if (!json_array_begin(reader->scanner)) {
        return json_reader_fault(reader);
    }
    while (json_array_next(reader->scanner)) {
        DimMessage dim = {0};
        TRY(json_read_object(reader, &dim_table, &dim));
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
    {"dim", .offset = offsetof(ShapeMessage, shape), .read = read_dims},
    {"unknownRank", JSON_BOOLEAN, .offset = offsetof(ShapeMessage, is_unknown)},
};
static const JsonTable shape_table = JSON_TABLE("TensorShapeProto", shape_members);

Status
graph_read_shape(JsonReader *reader, const JsonMember *member, void *target)
{
    (void)member;
    ShapeMessage message = {0};
    TRY(json_read_object(reader, &shape_table, &message));
    *(Shape *)target = message.is_unknown ? shape_unknown() : message.shape;
    return STATUS_OK;
}

enum { VALUE_FIELD_COUNT = 18 };

typedef struct TensorMessage {
    Dtype dtype;
    Shape shape;
    Slice content;                   /* the JSON string with its quotes */
    Slice values[VALUE_FIELD_COUNT]; /* the JSON array, by field number */
} TensorMessage;

#define VALUES(name, number)                                                                                 \
    {                                                                                                        \
        name, JSON_TEXT, .offset = offsetof(TensorMessage, values) + (number) * sizeof(Slice)                \
    }
static const JsonMember tensor_members[] = {
    {"dtype", .offset = offsetof(TensorMessage, dtype), .read = graph_read_dtype},
    {"tensorShape", .offset = offsetof(TensorMessage, shape), .read = graph_read_shape},
    {"versionNumber", JSON_IGNORED, .offset = 0},
    {"tensorContent", JSON_TEXT, .offset = offsetof(TensorMessage, content)},
    VALUES("floatVal", 5),
    VALUES("doubleVal", 6),
    VALUES("intVal", 7),
    VALUES("stringVal", 8),
    VALUES("scomplexVal", 9),
    VALUES("int64Val", 10),
    VALUES("boolVal", 11),
    VALUES("dcomplexVal", 12),
    VALUES("halfVal", 13),
    {"resourceHandleVal", JSON_IGNORED, .offset = 0},
    {"variantVal", JSON_IGNORED, .offset = 0},
    VALUES("uint32Val", 16),
    VALUES("uint64Val", 17),
    {"float8Val", JSON_IGNORED, .offset = 0},
};
static const JsonTable tensor_table = JSON_TABLE("TensorProto", tensor_members);

/* Reads one number of a tensor's values into `element`. Numbers of int fields are cut to the dtype's size. */
static bool
read_scalar(JsonScanner *scanner, Dtype dtype, void *element)
{
    if (dtype == DTYPE_FLOAT32 || dtype == DTYPE_COMPLEX64) {
        return json_float(scanner, element);
    }
    if (dtype == DTYPE_FLOAT64 || dtype == DTYPE_COMPLEX128) {
        return json_double(scanner, element);
    }
    if (dtype == DTYPE_BOOL) {
        return json_boolean(scanner, element);
    }
    if (dtype == DTYPE_UINT64) {
        return json_uint64(scanner, element);
    }
    int64_t number = 0;
    if (!json_int64(scanner, &number)) {
        return false;
    }
    memcpy(element, &number, dtype_size(dtype)); /* the low bytes come first: all hosts are little-endian */
    return true;
}

/* Reads as many values as the tensor has room for; the last one fills the rest. */
static Status
read_numbers(JsonReader *values, const Tensor *tensor)
{
    JsonScanner *scanner = values->scanner;
    Dtype dtype = tensor->dtype;
    int64_t parts = dtype == DTYPE_COMPLEX64 || dtype == DTYPE_COMPLEX128 ? 2 : 1;
    size_t size = dtype_size(dtype) / (size_t)parts;
    int64_t room = tensor_element_count(tensor) * parts;
    int64_t done = 0;
    if (!json_array_begin(scanner)) {
        return json_reader_fault(values);
    }
    while (json_array_next(scanner)) {
        Slice rest;
        bool is_read = done < room ? read_scalar(scanner, dtype, (char *)tensor->data + (size_t)done * size)
                                   : json_skip(scanner, &rest);
        if (!is_read) {
            return json_reader_fault(values);
        }
        done += done < room ? 1 : 0;
    }
    TRY(json_scan_check(values->call, scanner));
    tensor_repeat_last(tensor, done / parts);
    return STATUS_OK;
}

static Status
read_strings(JsonReader *values, const Shape *shape, Tensor *ret_tensor)
{
    static const JsonList strings = {.item = {.read = graph_read_bytes}, .item_size = sizeof(Slice)};
    static const JsonMember member = {.list = &strings};
    List list = {0};
    TRY(graph_read_list(values, &member, &list));
    return builder_string_tensor(values->context, shape, list.items, list.count, ret_tensor);
}

static Status
read_content(JsonReader *reader, const TensorMessage *message, Slice text, Tensor *ret_tensor)
{
    Call *call = reader->call;
    Tensor tensor;
    int64_t count = 0;
    size_t size = 0;
    if (!base64_decoded_size(text, &size)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the tensor's content is not in base64");
    }
    TRY(builder_tensor(reader->context, message->dtype, &message->shape, &tensor, &count));
    size_t expected = (size_t)count * dtype_size(message->dtype);
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
    Call *call = reader->call;
    void *bytes = NULL;
    size_t size = 0;
    if (!base64_decoded_size(text, &size)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the tensor's content is not in base64");
    }
    TRY(builder_alloc(reader->context, 1, size, &bytes));
    if (!base64_decode(text, bytes)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the tensor's content is not in base64");
    }
    return builder_string_content(reader->context, &message->shape, slice_of(bytes, size), ret_tensor);
}

static Status
read_values(JsonReader *reader, const TensorMessage *message, Slice text, Tensor *ret_tensor)
{
    JsonScanner scanner;
    JsonReader values = *reader;
    values.scanner = &scanner;
    json_scan_within(&scanner, reader->scanner, text);
    if (message->dtype == DTYPE_STRING) {
        return read_strings(&values, &message->shape, ret_tensor);
    }
    Tensor tensor;
    int64_t count = 0;
    TRY(builder_tensor(reader->context, message->dtype, &message->shape, &tensor, &count));
    TRY(read_numbers(&values, &tensor));
    *ret_tensor = tensor;
    return STATUS_OK;
}

Status
graph_read_tensor(JsonReader *reader, const JsonMember *member, void *target)
{
    (void)member;
    TensorMessage message = {0};
    TRY(json_read_object(reader, &tensor_table, &message));
    const TensorField *field = tensor_field(message.dtype);
    if (field == NULL) {
        /* A dtype without elements here: only whoever needs the tensor finds it invalid. */
        *(Tensor *)target = (Tensor){.shape = message.shape};
        return STATUS_OK;
    }
    Slice content = SLICE("");
    if (message.content.size > 0) {
        JsonScanner scanner;
        json_scan_within(&scanner, reader->scanner, message.content);
        if (!json_string(&scanner, reader->call->arena, &content)) {
            return json_scan_check(reader->call, &scanner);
        }
    }
    int64_t count = 0;
    if (content.size > 0 && !(shape_element_count(&message.shape, &count) && count == 0)) {
        return message.dtype == DTYPE_STRING ? read_string_content(reader, &message, content, target)
                                             : read_content(reader, &message, content, target);
    }
    Slice values = message.values[field->number];
    return values.size > 0 ? read_values(reader, &message, values, target)
                           : builder_zeros(reader->context, message.dtype, &message.shape, target);
}
