#include <stddef.h>

#include "shared/formats/graphdef_json.h"
#include "shared/formats/json_reader.h"

/* --- Attributes ----------------------------------------------------------------------------------------- */

static Status read_attr(JsonReader *reader, void *target);
static Status read_attrs(JsonReader *reader, void *target);
static Status read_attr_list(JsonReader *reader, void *target);

/* Two of these in a row: a pointer to items and their count, as all lists here have them. */
typedef struct List {
    const void *items;
    size_t count;
} List;

static const JsonMember function_ref_members[] = {
    {"name", json_read_text, offsetof(FunctionRef, name)},
    {"attr", read_attrs, offsetof(FunctionRef, attrs)},
};
static const JsonMessage function_ref_message = JSON_MESSAGE("NameAttrList", function_ref_members);

static Status
read_function_ref(JsonReader *reader, void *target)
{
    return json_read_message(reader, &function_ref_message, target);
}

/* The members of AttrValue's oneof, and of its ListValue. */
typedef struct AttrForm {
    const char *name;
    AttrKind kind;
    JsonRead read;
    bool is_in_list;
} AttrForm;

static const AttrForm attr_forms[] = {
    {"s", ATTR_STRING, json_read_bytes, true},
    {"i", ATTR_INT, json_read_int, true},
    {"f", ATTR_FLOAT, json_read_float, true},
    {"b", ATTR_BOOL, json_read_bool, true},
    {"type", ATTR_TYPE, json_read_dtype, true},
    {"shape", ATTR_SHAPE, json_read_shape, true},
    {"tensor", ATTR_TENSOR, json_read_tensor, true},
    {"func", ATTR_FUNCTION, read_function_ref, true},
    {"placeholder", ATTR_PLACEHOLDER, json_read_text, false},
    {"list", ATTR_NONE, read_attr_list, false},
};

static const AttrForm *
find_form(Slice name, bool is_in_list)
{
    for (size_t index = 0; index < COUNT_OF(attr_forms); index++) {
        if (slice_equals_string(name, attr_forms[index].name) &&
            (attr_forms[index].is_in_list || !is_in_list)) {
            return &attr_forms[index];
        }
    }
    return NULL;
}

static Status
fail_form(JsonReader *reader, const char *message, Slice name)
{
    return call_fail(reader->builder->call, STATUS_INVALID_ARGUMENT, "%s has no member '%.*s'", message,
        SLICE_PRINT(slice_part(name, 0, 64)));
}

/* An item of a list: the form it takes is known from outside. */
static Status
read_items(JsonReader *reader, const AttrForm *form, AttrValue *list)
{
    const size_t mark = builder_mark(reader->builder);
    if (list->value.list.count > 0) {
        return call_fail(reader->builder->call, STATUS_INVALID_ARGUMENT, "a list has items of two kinds");
    }
    if (!json_array_begin(reader->scanner)) {
        return json_reader_fault(reader);
    }
    while (json_array_next(reader->scanner)) {
        AttrValue item = {.kind = form->kind};
        TRY(form->read(reader, &item.value));
        TRY(builder_push(reader->builder, &item, sizeof item));
    }
    TRY(json_scan_check(reader->builder->call, reader->scanner));
    TRY(BUILDER_TAKE(reader->builder, mark, &list->value.list.items, &list->value.list.count));
    list->kind = list->value.list.count == 0 ? ATTR_NONE : form->kind;
    return STATUS_OK;
}

/* `target` is an AttrValue's value. */
static Status
read_attr_list(JsonReader *reader, void *target)
{
    AttrValue *const list = (AttrValue *)(void *)((char *)target - offsetof(AttrValue, value));
    *list = (AttrValue){.is_list = true};
    if (!json_object_begin(reader->scanner)) {
        return json_reader_fault(reader);
    }
    Slice name;
    while (json_object_next(reader->scanner, &name)) {
        const AttrForm *const form = find_form(name, true);
        if (form == NULL) {
            return fail_form(reader, "ListValue", name);
        }
        if (json_peek(reader->scanner) == JSON_NULL) {
            (void)json_null(reader->scanner);
        } else {
            TRY(read_items(reader, form, list));
        }
    }
    return json_scan_check(reader->builder->call, reader->scanner);
}

static Status
read_attr(JsonReader *reader, void *target)
{
    AttrValue *const value = &((Attr *)target)->value;
    if (!json_object_begin(reader->scanner)) {
        return json_reader_fault(reader);
    }
    Slice name;
    bool is_given = false;
    while (json_object_next(reader->scanner, &name)) {
        const AttrForm *const form = find_form(name, false);
        if (form == NULL) {
            return fail_form(reader, "AttrValue", name);
        }
        if (json_peek(reader->scanner) == JSON_NULL) {
            (void)json_null(reader->scanner);
            continue;
        }
        if (is_given) {
            return call_fail(
                reader->builder->call, STATUS_INVALID_ARGUMENT, "AttrValue has two values at once");
        }
        is_given = true;
        value->kind = form->kind;
        TRY(form->read(reader, &value->value));
    }
    return json_scan_check(reader->builder->call, reader->scanner);
}

static Status
read_attrs(JsonReader *reader, void *target)
{
    List *const list = target;
    return json_read_map(reader, read_attr, sizeof(Attr), &list->items, &list->count);
}

/* --- Nodes ---------------------------------------------------------------------------------------------- */

static Status
read_texts(JsonReader *reader, void *target)
{
    List *const list = target;
    return json_read_list(reader, json_read_text, sizeof(Slice), &list->items, &list->count);
}

static const JsonMember node_members[] = {
    {"name", json_read_text, offsetof(NodeDef, name)},
    {"op", json_read_text, offsetof(NodeDef, op)},
    {"input", read_texts, offsetof(NodeDef, inputs)},
    {"device", json_read_text, offsetof(NodeDef, device)},
    {"attr", read_attrs, offsetof(NodeDef, attrs)},
    {"experimentalDebugInfo", json_read_nothing, 0},
    {"experimentalType", json_read_nothing, 0},
};
static const JsonMessage node_message = JSON_MESSAGE("NodeDef", node_members);

static Status
read_node(JsonReader *reader, void *target)
{
    NodeDef *const node = target;
    node->name = node->op = node->device = SLICE("");
    if (json_read_message(reader, &node_message, node) != STATUS_OK) {
        return call_wrap(reader->builder->call, "node '%.*s'", SLICE_PRINT(slice_part(node->name, 0, 128)));
    }
    return STATUS_OK;
}

static Status
read_nodes(JsonReader *reader, void *target)
{
    List *const list = target;
    return json_read_list(reader, read_node, sizeof(NodeDef), &list->items, &list->count);
}

/* --- Functions ------------------------------------------------------------------------------------------ */

static const JsonMember argument_members[] = {
    {"name", json_read_text, offsetof(FunctionArgument, name)},
    {"description", json_read_nothing, 0},
    {"type", json_read_dtype, offsetof(FunctionArgument, dtype)},
    {"typeAttr", json_read_text, offsetof(FunctionArgument, type_attr)},
    {"numberAttr", json_read_text, offsetof(FunctionArgument, number_attr)},
    {"typeListAttr", json_read_text, offsetof(FunctionArgument, type_list_attr)},
    {"isRef", json_read_bool, offsetof(FunctionArgument, is_reference)},
    {"handleData", json_read_nothing, 0},
    {"experimentalFullType", json_read_nothing, 0},
};
static const JsonMessage argument_message = JSON_MESSAGE("ArgDef", argument_members);

static Status
read_argument(JsonReader *reader, void *target)
{
    FunctionArgument *const argument = target;
    *argument = (FunctionArgument){
        .name = SLICE(""), .type_attr = SLICE(""), .number_attr = SLICE(""), .type_list_attr = SLICE("")};
    return json_read_message(reader, &argument_message, target);
}

static Status
read_arguments(JsonReader *reader, void *target)
{
    List *const list = target;
    return json_read_list(reader, read_argument, sizeof(FunctionArgument), &list->items, &list->count);
}

static const JsonMember declared_members[] = {
    {"name", json_read_text, offsetof(FunctionAttribute, attr.name)},
    {"type", json_read_text, offsetof(FunctionAttribute, type)},
    {"defaultValue", read_attr, offsetof(FunctionAttribute, attr)},
    {"description", json_read_nothing, 0},
    {"hasMinimum", json_read_nothing, 0},
    {"minimum", json_read_nothing, 0},
    {"allowedValues", json_read_nothing, 0},
};
static const JsonMessage declared_message = JSON_MESSAGE("AttrDef", declared_members);

static Status
read_declared(JsonReader *reader, void *target)
{
    *(FunctionAttribute *)target = (FunctionAttribute){.attr.name = SLICE(""), .type = SLICE("")};
    return json_read_message(reader, &declared_message, target);
}

static Status
read_declared_list(JsonReader *reader, void *target)
{
    List *const list = target;
    return json_read_list(reader, read_declared, sizeof(FunctionAttribute), &list->items, &list->count);
}

static const JsonMember signature_members[] = {
    {"name", json_read_text, offsetof(FunctionDef, name)},
    {"inputArg", read_arguments, offsetof(FunctionDef, inputs)},
    {"outputArg", read_arguments, offsetof(FunctionDef, outputs)},
    {"attr", read_declared_list, offsetof(FunctionDef, declared_attrs)},
    {"summary", json_read_nothing, 0},
    {"description", json_read_nothing, 0},
    {"deprecation", json_read_nothing, 0},
    {"isAggregate", json_read_nothing, 0},
    {"isStateful", json_read_bool, offsetof(FunctionDef, is_stateful)},
    {"isCommutative", json_read_nothing, 0},
    {"allowsUninitializedInput", json_read_nothing, 0},
    {"controlOutput", json_read_nothing, 0}, /* the names of controlRet again */
    {"isDistributedCommunication", json_read_nothing, 0},
};
static const JsonMessage signature_message = JSON_MESSAGE("OpDef", signature_members);

/* The signature's members are the FunctionDef's own. */
static Status
read_signature(JsonReader *reader, void *target)
{
    return json_read_message(reader, &signature_message, target);
}

static Status
read_return(JsonReader *reader, void *target)
{
    return json_read_text(reader, &((FunctionReturn *)target)->value);
}

static Status
read_returns(JsonReader *reader, void *target)
{
    List *const list = target;
    return json_read_map(reader, read_return, sizeof(FunctionReturn), &list->items, &list->count);
}

static const JsonMember function_members[] = {
    {"signature", read_signature, 0},
    {"nodeDef", read_nodes, offsetof(FunctionDef, nodes)},
    {"ret", read_returns, offsetof(FunctionDef, returns)},
    {"attr", read_attrs, offsetof(FunctionDef, attrs)},
    {"controlRet", read_returns, offsetof(FunctionDef, control_returns)},
    {"argAttr", json_read_nothing, 0},
    {"resourceArgUniqueId", json_read_nothing, 0},
};
static const JsonMessage function_message = JSON_MESSAGE("FunctionDef", function_members);

static Status
read_function(JsonReader *reader, void *target)
{
    FunctionDef *const function = target;
    function->name = SLICE("");
    if (json_read_message(reader, &function_message, function) != STATUS_OK) {
        return call_wrap(
            reader->builder->call, "function '%.*s'", SLICE_PRINT(slice_part(function->name, 0, 128)));
    }
    return STATUS_OK;
}

static Status
read_functions(JsonReader *reader, void *target)
{
    List *const list = target;
    return json_read_list(reader, read_function, sizeof(FunctionDef), &list->items, &list->count);
}

static const JsonMember library_members[] = {
    {"function", read_functions, offsetof(GraphDef, functions)},
    {"gradient", json_read_nothing, 0},
    {"registeredGradients", json_read_nothing, 0},
};
static const JsonMessage library_message = JSON_MESSAGE("FunctionDefLibrary", library_members);

static Status
read_library(JsonReader *reader, void *target)
{
    return json_read_message(reader, &library_message, target);
}

/* --- The graph ------------------------------------------------------------------------------------------ */

static const JsonMember version_members[] = {
    {"producer", json_read_int, offsetof(GraphDef, producer)},
    {"minConsumer", json_read_int, offsetof(GraphDef, min_consumer)},
    {"badConsumers", json_read_nothing, 0},
};
static const JsonMessage version_message = JSON_MESSAGE("VersionDef", version_members);

static Status
read_versions(JsonReader *reader, void *target)
{
    return json_read_message(reader, &version_message, target);
}

static const JsonMember graph_members[] = {
    {"node", read_nodes, offsetof(GraphDef, nodes)},
    {"library", read_library, 0},
    {"version", json_read_nothing, 0},
    {"versions", read_versions, 0},
    {"debugInfo", json_read_nothing, 0},
    {"passesOff", read_texts, offsetof(GraphDef, passes_off)},
};
static const JsonMessage graph_message = JSON_MESSAGE("GraphDef", graph_members);

_Static_assert(sizeof(FunctionDef) <= JSON_ITEM_SIZE_MAX && sizeof(Attr) <= JSON_ITEM_SIZE_MAX,
    "the largest items of lists");
_Static_assert(offsetof(NodeDef, attr_count) == offsetof(NodeDef, attrs) + sizeof(void *) &&
                   offsetof(FunctionRef, attr_count) == offsetof(FunctionRef, attrs) + sizeof(void *),
    "lists are a pointer and a count behind it");

Status
graphdef_json_read(Call *call, Slice text, GraphDef **ret_def)
{
    AUTO_GRAPH_BUILDER builder;
    JsonScanner scanner;
    JsonReader reader = {.builder = &builder, .scanner = &scanner};
    TRY(builder_begin(&builder, call, text.size));
    json_scan_begin(&scanner, text, JSON_DEPTH_MAX);
    TRY(json_read_message(&reader, &graph_message, builder.def));
    TRY(json_scan_end(call, &scanner));
    *ret_def = builder_finish(&builder);
    return STATUS_OK;
}
