/* GraphDef's messages as tables. Functions stand where a message has defaults, where errors name it, and
 * for AttrValue, which takes one of several forms; and for values: texts, dtypes, shapes, tensors, lists,
 * read into the graph's memory by functions for rows of tables (shared/json/reader.h), whose context is the
 * GraphBuilder. */
#include <assert.h>
#include <stdalign.h>
#include <stddef.h>

#include "shared/base/base64.h"
#include "shared/formats/builder.h"
#include "shared/formats/graphdef_json.h"
#include "shared/json/reader.h"
#include "shared/tensor/foreign_dtype.h"

/* The largest item of a list. */
enum { GRAPH_ITEM_SIZE_MAX = 512 };

static Status
take_string(JsonReader *reader, Slice *ret_text)
{
    return json_string(reader->scanner, reader->call->arena, ret_text) ? STATUS_OK
                                                                       : json_reader_fault(reader);
}

/* Reads a text into a Slice. */
static Status
graph_read_text(JsonReader *reader, const JsonMember *member, void *target)
{
    Slice text;
    (void)member;
    TRY(take_string(reader, &text));
    return builder_copy(reader->context, text, target);
}

/* Reads bytes in base64 into a Slice. */
static Status
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
read_dtype_number(JsonReader *reader, Dtype *ret_dtype, uint8_t *ret_foreign)
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
    *ret_foreign = foreign_dtype_tensorflow(number) == NULL ? 0 : (uint8_t)number;
    return STATUS_OK;
}

/* Reads a DataType's name or number; DTYPE_INVALID for a type that has no Dtype, and its number if it is one
 * of foreign_dtype.h. */
static Status
read_dtype(JsonReader *reader, Dtype *ret_dtype, uint8_t *ret_foreign)
{
    Slice name;
    if (json_peek(reader->scanner) == JSON_NUMBER) {
        return read_dtype_number(reader, ret_dtype, ret_foreign);
    }
    TRY(take_string(reader, &name));
    if (!slice_starts_with(name, SLICE("DT_"))) {
        return call_fail(reader->call, STATUS_INVALID_ARGUMENT, "'%.*s' is no DataType",
            SLICE_PRINT(slice_part(name, 0, 64)));
    }
    *ret_dtype = dtype_from_tensorflow_name(name);
    *ret_foreign = foreign_dtype_from_tensorflow_name(name);
    return STATUS_OK;
}

static Status
graph_read_dtype(JsonReader *reader, const JsonMember *member, void *target)
{
    uint8_t ignored = 0;
    (void)member;
    return read_dtype(reader, target, &ignored);
}

/* Reads the type of an AttrValue, whose `value` is the target. */
static Status
read_attr_type(JsonReader *reader, const JsonMember *member, void *target)
{
    AttrValue *attr = (AttrValue *)(void *)((char *)target - offsetof(AttrValue, value));
    (void)member;
    return read_dtype(reader, &attr->value.type, &attr->foreign_type);
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

/* Reads a list into a pointer to items and after it their count, a size_t, by the member's `list`, whose
 * `count_max` is not read: the builder has bounds of its own. The names of a map's members are copied to
 * the start of the items, and errors inside an item name it. */
static Status
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

/* Reads a TensorShapeProto into a Shape. */
static Status
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
    Slice ref;                       /* names the blob that holds the elements */
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
    {"ref", JSON_SLICE, .offset = offsetof(TensorMessage, ref)},
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

static Status
read_absent(JsonReader *reader, const TensorMessage *message, Tensor *ret_tensor)
{
    Sha256 digest;
    TRY(sha256_parse_ref(reader->call, message->ref, &digest));
    return builder_absent(reader->context, message->dtype, &message->shape, &digest, ret_tensor);
}

/* Reads a TensorProto into a Tensor. */
static Status
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
    if (message.ref.size > 0) {
        return read_absent(reader, &message, target);
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

/* Lists in the graph's structs are a pointer to items and after it their count. */
#define ASSERT_LIST(type, items, item_count)                                                                 \
    _Static_assert(offsetof(type, item_count) == offsetof(type, items) + sizeof(void *), #items)
ASSERT_LIST(FunctionRef, attrs, attr_count);
ASSERT_LIST(NodeDef, inputs, input_count);
ASSERT_LIST(NodeDef, attrs, attr_count);
ASSERT_LIST(FunctionDef, inputs, input_count);
ASSERT_LIST(FunctionDef, outputs, output_count);
ASSERT_LIST(FunctionDef, declared_attrs, declared_attr_count);
ASSERT_LIST(FunctionDef, nodes, node_count);
ASSERT_LIST(FunctionDef, returns, return_count);
ASSERT_LIST(FunctionDef, control_returns, control_return_count);
ASSERT_LIST(FunctionDef, attrs, attr_count);
ASSERT_LIST(GraphDef, nodes, node_count);
ASSERT_LIST(GraphDef, functions, function_count);
ASSERT_LIST(GraphDef, passes_off, passes_off_count);

static Status read_attr_value(JsonReader *reader, const JsonMember *member, void *target);

static const JsonList texts = {.item = {.read = graph_read_text}, .item_size = sizeof(Slice)};
static const JsonList attrs = {
    .item = {.offset = offsetof(Attr, value), .read = read_attr_value},
    .item_size = sizeof(Attr),
    .is_map = true,
};

static const JsonMember function_ref_members[] = {
    {"name", .offset = offsetof(FunctionRef, name), .read = graph_read_text},
    {"attr", .offset = offsetof(FunctionRef, attrs), .read = graph_read_list, .list = &attrs},
};
static const JsonTable function_ref_table = JSON_TABLE("NameAttrList", function_ref_members);

/* The forms of an AttrValue and of the items of a ListValue: the member, the kind, and how the value is
 * read. */
#define ATTR_FORMS(X)                                                                                        \
    X("s", ATTR_STRING, .read = graph_read_bytes)                                                            \
    X("i", ATTR_INT, .type = JSON_INT64)                                                                     \
    X("f", ATTR_FLOAT, .type = JSON_FLOAT)                                                                   \
    X("b", ATTR_BOOL, .type = JSON_BOOLEAN)                                                                  \
    X("type", ATTR_TYPE, .read = read_attr_type)                                                             \
    X("shape", ATTR_SHAPE, .read = graph_read_shape)                                                         \
    X("tensor", ATTR_TENSOR, .read = graph_read_tensor)                                                      \
    X("func", ATTR_FUNCTION, .type = JSON_STRUCT, .table = &function_ref_table)                              \
    X("placeholder", ATTR_PLACEHOLDER, .read = graph_read_text)

enum { LIST_FORM_COUNT = 8 }; /* the placeholder, the last form, is none of a list's */

typedef struct AttrForm {
    AttrKind kind;
    JsonMember value;
} AttrForm;

static const AttrForm attr_forms[] = {
#define X(name, form_kind, ...) {.kind = (form_kind), .value = {__VA_ARGS__}},
    ATTR_FORMS(X)
#undef X
};

/* Reads the items of a list in the form that the member names. */
static Status read_list_form(JsonReader *reader, const JsonMember *member, void *target);

static const JsonMember list_members[] = {
#define X(member_name, kind, ...) {member_name, .read = read_list_form},
    ATTR_FORMS(X)
#undef X
};
static const JsonTable list_table = {
    .name = "ListValue", .members = list_members, .member_count = LIST_FORM_COUNT};

static Status
read_list_form(JsonReader *reader, const JsonMember *member, void *target)
{
    const AttrForm *form = &attr_forms[member - list_members];
    AttrValue *list = target;
    size_t mark = builder_mark(reader->context);
    if (list->value.list.count > 0) {
        return call_fail(reader->call, STATUS_INVALID_ARGUMENT, "a list has items of two kinds");
    }
    if (!json_array_begin(reader->scanner)) {
        return json_reader_fault(reader);
    }
    while (json_array_next(reader->scanner)) {
        AttrValue item = {.kind = form->kind};
        TRY(json_read_value(reader, &form->value, &item.value));
        TRY(builder_push(reader->context, &item, sizeof item));
    }
    TRY(json_scan_check(reader->call, reader->scanner));
    TRY(BUILDER_TAKE(reader->context, mark, &list->value.list.items, &list->value.list.count));
    list->kind = list->value.list.count == 0 ? ATTR_NONE : form->kind;
    return STATUS_OK;
}

/* An AttrValue while it is read, to refuse a second value. */
typedef struct AttrReading {
    AttrValue *value;
    bool has_value;
} AttrReading;

static Status
take_only_value(JsonReader *reader, AttrReading *reading)
{
    if (reading->has_value) {
        return call_fail(reader->call, STATUS_INVALID_ARGUMENT, "AttrValue has two values at once");
    }
    reading->has_value = true;
    return STATUS_OK;
}

static Status read_attr_form(JsonReader *reader, const JsonMember *member, void *target);

static Status
read_attr_list(JsonReader *reader, const JsonMember *member, void *target)
{
    AttrReading *reading = target;
    (void)member;
    TRY(take_only_value(reader, reading));
    *reading->value = (AttrValue){.is_list = true};
    return json_read_object(reader, &list_table, reading->value);
}

static const JsonMember attr_members[] = {
#define X(member_name, kind, ...) {member_name, .read = read_attr_form},
    ATTR_FORMS(X)
#undef X
        {"list", .read = read_attr_list},
};
static const JsonTable attr_table = JSON_TABLE("AttrValue", attr_members);

static Status
read_attr_form(JsonReader *reader, const JsonMember *member, void *target)
{
    const AttrForm *form = &attr_forms[member - attr_members];
    AttrReading *reading = target;
    TRY(take_only_value(reader, reading));
    reading->value->kind = form->kind;
    return json_read_value(reader, &form->value, &reading->value->value);
}

static Status
read_attr_value(JsonReader *reader, const JsonMember *member, void *target)
{
    AttrReading reading = {.value = target};
    (void)member;
    return json_read_object(reader, &attr_table, &reading);
}

static const JsonMember node_members[] = {
    {"name", .offset = offsetof(NodeDef, name), .read = graph_read_text},
    {"op", .offset = offsetof(NodeDef, op), .read = graph_read_text},
    {"input", .offset = offsetof(NodeDef, inputs), .read = graph_read_list, .list = &texts},
    {"device", .offset = offsetof(NodeDef, device), .read = graph_read_text},
    {"attr", .offset = offsetof(NodeDef, attrs), .read = graph_read_list, .list = &attrs},
    {"experimentalDebugInfo", JSON_IGNORED, .offset = 0},
    {"experimentalType", JSON_IGNORED, .offset = 0},
};
static const JsonTable node_table = JSON_TABLE("NodeDef", node_members);

static Status
read_node(JsonReader *reader, const JsonMember *member, void *target)
{
    NodeDef *node = target;
    (void)member;
    node->name = node->op = node->device = SLICE("");
    if (json_read_object(reader, &node_table, node) != STATUS_OK) {
        return call_wrap(reader->call, "node '%.*s'", SLICE_PRINT(slice_part(node->name, 0, 128)));
    }
    return STATUS_OK;
}

static const JsonList nodes = {.item = {.read = read_node}, .item_size = sizeof(NodeDef)};

static const JsonMember argument_members[] = {
    {"name", .offset = offsetof(FunctionArgument, name), .read = graph_read_text},
    {"description", JSON_IGNORED, .offset = 0},
    {"type", .offset = offsetof(FunctionArgument, dtype), .read = graph_read_dtype},
    {"typeAttr", .offset = offsetof(FunctionArgument, type_attr), .read = graph_read_text},
    {"numberAttr", .offset = offsetof(FunctionArgument, number_attr), .read = graph_read_text},
    {"typeListAttr", .offset = offsetof(FunctionArgument, type_list_attr), .read = graph_read_text},
    {"isRef", JSON_BOOLEAN, .offset = offsetof(FunctionArgument, is_reference)},
    {"handleData", JSON_IGNORED, .offset = 0},
    {"experimentalFullType", JSON_IGNORED, .offset = 0},
};
static const JsonTable argument_table = JSON_TABLE("ArgDef", argument_members);

static Status
read_argument(JsonReader *reader, const JsonMember *member, void *target)
{
    FunctionArgument *argument = target;
    (void)member;
    *argument = (FunctionArgument){
        .name = SLICE(""), .type_attr = SLICE(""), .number_attr = SLICE(""), .type_list_attr = SLICE("")};
    return json_read_object(reader, &argument_table, target);
}

static const JsonList arguments = {.item = {.read = read_argument}, .item_size = sizeof(FunctionArgument)};

static const JsonMember declared_members[] = {
    {"name", .offset = offsetof(FunctionAttribute, attr.name), .read = graph_read_text},
    {"type", .offset = offsetof(FunctionAttribute, type), .read = graph_read_text},
    {"defaultValue", .offset = offsetof(FunctionAttribute, attr.value), .read = read_attr_value},
    {"description", JSON_IGNORED, .offset = 0},
    {"hasMinimum", JSON_IGNORED, .offset = 0},
    {"minimum", JSON_IGNORED, .offset = 0},
    {"allowedValues", JSON_IGNORED, .offset = 0},
};
static const JsonTable declared_table = JSON_TABLE("AttrDef", declared_members);

static Status
read_declared(JsonReader *reader, const JsonMember *member, void *target)
{
    (void)member;
    *(FunctionAttribute *)target = (FunctionAttribute){.attr.name = SLICE(""), .type = SLICE("")};
    return json_read_object(reader, &declared_table, target);
}

static const JsonList declared_attrs = {
    .item = {.read = read_declared}, .item_size = sizeof(FunctionAttribute)};

static const JsonMember signature_members[] = {
    {"name", .offset = offsetof(FunctionDef, name), .read = graph_read_text},
    {"inputArg", .offset = offsetof(FunctionDef, inputs), .read = graph_read_list, .list = &arguments},
    {"outputArg", .offset = offsetof(FunctionDef, outputs), .read = graph_read_list, .list = &arguments},
    {"attr", .offset = offsetof(FunctionDef, declared_attrs), .read = graph_read_list,
        .list = &declared_attrs},
    {"summary", JSON_IGNORED, .offset = 0},
    {"description", JSON_IGNORED, .offset = 0},
    {"deprecation", JSON_IGNORED, .offset = 0},
    {"isAggregate", JSON_IGNORED, .offset = 0},
    {"isStateful", JSON_BOOLEAN, .offset = offsetof(FunctionDef, is_stateful)},
    {"isCommutative", JSON_IGNORED, .offset = 0},
    {"allowsUninitializedInput", JSON_IGNORED, .offset = 0},
    {"controlOutput", JSON_IGNORED, .offset = 0}, /* repeats the names of controlRet */
    {"isDistributedCommunication", JSON_IGNORED, .offset = 0},
};
static const JsonTable signature_table = JSON_TABLE("OpDef", signature_members);

static const JsonList returns = {
    .item = {.offset = offsetof(FunctionReturn, value), .read = graph_read_text},
    .item_size = sizeof(FunctionReturn),
    .is_map = true,
};

static const JsonMember function_members[] = {
    {"signature", JSON_STRUCT, .table = &signature_table},
    {"nodeDef", .offset = offsetof(FunctionDef, nodes), .read = graph_read_list, .list = &nodes},
    {"ret", .offset = offsetof(FunctionDef, returns), .read = graph_read_list, .list = &returns},
    {"attr", .offset = offsetof(FunctionDef, attrs), .read = graph_read_list, .list = &attrs},
    {"controlRet", .offset = offsetof(FunctionDef, control_returns), .read = graph_read_list,
        .list = &returns},
    {"argAttr", JSON_IGNORED, .offset = 0},
    {"resourceArgUniqueId", JSON_IGNORED, .offset = 0},
};
static const JsonTable function_table = JSON_TABLE("FunctionDef", function_members);

static Status
read_function(JsonReader *reader, const JsonMember *member, void *target)
{
    FunctionDef *function = target;
    (void)member;
    function->name = SLICE("");
    if (json_read_object(reader, &function_table, function) != STATUS_OK) {
        return call_wrap(reader->call, "function '%.*s'", SLICE_PRINT(slice_part(function->name, 0, 128)));
    }
    return STATUS_OK;
}

static const JsonList functions = {.item = {.read = read_function}, .item_size = sizeof(FunctionDef)};

static const JsonMember library_members[] = {
    {"function", .offset = offsetof(GraphDef, functions), .read = graph_read_list, .list = &functions},
    {"gradient", JSON_IGNORED, .offset = 0},
    {"registeredGradients", JSON_IGNORED, .offset = 0},
};
static const JsonTable library_table = JSON_TABLE("FunctionDefLibrary", library_members);

static const JsonMember version_members[] = {
    {"producer", JSON_INT64, .offset = offsetof(GraphDef, producer)},
    {"minConsumer", JSON_INT64, .offset = offsetof(GraphDef, min_consumer)},
    {"badConsumers", JSON_IGNORED, .offset = 0},
};
static const JsonTable version_table = JSON_TABLE("VersionDef", version_members);

static const JsonMember graph_members[] = {
    {"node", .offset = offsetof(GraphDef, nodes), .read = graph_read_list, .list = &nodes},
    {"library", JSON_STRUCT, .table = &library_table},
    {"version", JSON_IGNORED, .offset = 0},
    {"versions", JSON_STRUCT, .table = &version_table},
    {"debugInfo", JSON_IGNORED, .offset = 0},
    {"passesOff", .offset = offsetof(GraphDef, passes_off), .read = graph_read_list, .list = &texts},
    {"allowTf32", JSON_BOOLEAN, .offset = offsetof(GraphDef, allows_tf32)},
};
static const JsonTable graph_table = JSON_TABLE("GraphDef", graph_members);

_Static_assert(sizeof(FunctionDef) <= GRAPH_ITEM_SIZE_MAX, "the largest item of a list");

Status
graphdef_json_read(Call *call, Slice text, GraphDef **ret_def)
{
    assert(ret_def != NULL);
    static const JsonDialect dialect = {
        .unknown = JSON_UNKNOWN_IS_REFUSED, .null_is_absent = true, .has_snake_case = true};
    AUTO_GRAPH_BUILDER builder;
    JsonScanner scanner;
    JsonReader reader = {.call = call, .scanner = &scanner, .dialect = &dialect, .context = &builder};
    TRY(builder_begin(&builder, call, text.size));
    json_scan_begin(&scanner, text, JSON_DEPTH_MAX);
    TRY(json_read_object(&reader, &graph_table, builder.def));
    TRY(json_scan_end(call, &scanner));
    *ret_def = builder_finish(&builder);
    return STATUS_OK;
}
