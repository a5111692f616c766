/* GraphDef's messages as tables. Functions stand where a message has defaults, where errors name it, and
 * for AttrValue, which takes one of several forms. */
#include <assert.h>
#include <stddef.h>

#include "shared/formats/graphdef_json.h"
#include "shared/formats/graphdef_json_value.h"

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
    X("type", ATTR_TYPE, .read = graph_read_dtype)                                                           \
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
