#include "shared/ops/signature.h"

#include <ctype.h>
#include <stdlib.h>

typedef struct Parser {
    Arena *arena;
    Slice error; /* the part that could not be read */
} Parser;

static bool
refuse(Parser *parser, Slice part)
{
    parser->error = part;
    return false;
}

/* Takes the text within the brackets at the start of *rest, which moves behind them. `rest` and
 * `ret_inside` may be one variable. */
static bool
take_group(Slice *rest, char open, char close, Slice *ret_inside)
{
    if (rest->size == 0 || rest->data[0] != open) {
        return false;
    }
    int depth = 0;
    for (size_t index = 0; index < rest->size; index++) {
        depth += (rest->data[index] == open) - (rest->data[index] == close);
        if (depth == 0) {
            Slice inside = slice_part(*rest, 1, index - 1);
            *rest = slice_part(*rest, index + 1, SIZE_MAX);
            *ret_inside = inside;
            return true;
        }
    }
    return false;
}

static bool
take_text(Slice *rest, Slice text)
{
    if (!slice_starts_with(*rest, text)) {
        return false;
    }
    *rest = slice_part(*rest, text.size, SIZE_MAX);
    return true;
}

/* Takes the next item of a comma list; commas in brackets do not separate. */
static bool
take_item(Slice *rest, Slice *ret_item)
{
    if (rest->size == 0) {
        return false;
    }
    int depth = 0;
    size_t end = 0;
    for (; end < rest->size && (depth > 0 || rest->data[end] != ','); end++) {
        char byte = rest->data[end];
        depth += (byte == '[' || byte == '(') - (byte == ']' || byte == ')');
    }
    *ret_item = slice_trim(slice_part(*rest, 0, end));
    *rest = slice_part(*rest, end + 1, SIZE_MAX);
    return true;
}

static size_t
count_items(Slice list)
{
    size_t count = 0;
    Slice item;
    while (take_item(&list, &item)) {
        count++;
    }
    return count;
}

typedef struct KindName {
    const char *name;
    const char *plural; /* "ints" means the same as "list(int)" */
    AttrKind kind;
} KindName;

static const KindName kind_names[] = {
    {"string", "strings", ATTR_STRING},
    {"int", "ints", ATTR_INT},
    {"float", "floats", ATTR_FLOAT},
    {"bool", "bools", ATTR_BOOL},
    {"type", "types", ATTR_TYPE},
    {"shape", "shapes", ATTR_SHAPE},
    {"tensor", "tensors", ATTR_TENSOR},
    {"func", "funcs", ATTR_FUNCTION},
};

static bool
parse_kind(Parser *parser, Slice text, OpAttribute *attribute)
{
    Slice name = text;
    bool is_listed = take_text(&name, SLICE("list")) && take_group(&name, '(', ')', &name);
    for (size_t index = 0; index < COUNT_OF(kind_names); index++) {
        const KindName *row = &kind_names[index];
        bool is_plural = !is_listed && slice_equals_string(text, row->plural);
        if (is_plural || slice_equals_string(is_listed ? name : text, row->name)) {
            attribute->kind = row->kind;
            attribute->is_list = is_plural || is_listed;
            return true;
        }
    }
    return refuse(parser, text);
}

static char
unescape(char byte)
{
    switch (byte) {
    case 't':
        return '\t';
    case 'n':
        return '\n';
    default:
        return byte;
    }
}

static bool
parse_string(Parser *parser, Slice text, AttrValue *value)
{
    char *bytes = arena_alloc(parser->arena, text.size + 1);
    if (bytes == NULL) {
        return refuse(parser, SLICE(""));
    }
    size_t size = 0;
    for (size_t index = 0; index < text.size; index++) {
        bool is_escaped = text.data[index] == '\\' && index + 1 < text.size;
        index += is_escaped ? 1 : 0;
        bytes[size] = text.data[index];
        if (is_escaped) {
            bytes[size] = unescape(bytes[size]);
        }
        size++;
    }
    value->value.s = slice_of(bytes, size);
    return true;
}

static bool
parse_float(Slice text, float *ret_value)
{
    char digits[32];
    if (text.size == 0 || text.size >= sizeof digits) {
        return false;
    }
    memcpy(digits, text.data, text.size);
    digits[text.size] = '\0';
    char *end = NULL;
    *ret_value = strtof(digits, &end);
    return *end == '\0';
}

static bool
parse_bool(Slice text, bool *ret_value)
{
    *ret_value = slice_equal(text, SLICE("true"));
    return *ret_value || slice_equal(text, SLICE("false"));
}

static bool
parse_type(Slice text, Dtype *ret_dtype)
{
    *ret_dtype = dtype_from_tensorflow_name(text);
    return *ret_dtype != DTYPE_INVALID;
}

/* The only shape that occurs as a default is "unk". */
static bool
parse_shape(Slice text, Shape *ret_shape)
{
    *ret_shape = shape_unknown();
    return slice_equal(text, SLICE("unk"));
}

static bool
parse_scalar(Parser *parser, Slice text, AttrKind kind, AttrValue *value)
{
    value->kind = kind;
    bool is_read = false;
    if (kind == ATTR_STRING) {
        return parse_string(parser, text, value);
    }
    if (kind == ATTR_INT) {
        is_read = slice_to_int64(text, &value->value.i);
    } else if (kind == ATTR_FLOAT) {
        is_read = parse_float(text, &value->value.f);
    } else if (kind == ATTR_BOOL) {
        is_read = parse_bool(text, &value->value.b);
    } else if (kind == ATTR_TYPE) {
        is_read = parse_type(text, &value->value.type);
    } else if (kind == ATTR_SHAPE) {
        is_read = parse_shape(text, &value->value.shape);
    }
    return is_read || refuse(parser, text);
}

static bool
parse_list(Parser *parser, Slice text, AttrKind kind, AttrValue *value)
{
    Slice items;
    Slice rest = text;
    if (!take_group(&rest, '[', ']', &items) || rest.size > 0) {
        return refuse(parser, text);
    }
    size_t count = count_items(items);
    AttrValue *values = arena_alloc(parser->arena, (count + 1) * sizeof *values);
    if (values == NULL) {
        return refuse(parser, SLICE(""));
    }
    Slice item;
    for (size_t index = 0; take_item(&items, &item); index++) {
        if (!parse_scalar(parser, item, kind, &values[index])) {
            return false;
        }
    }
    value->kind = kind;
    value->is_list = true;
    value->value.list.count = count;
    value->value.list.items = values;
    return true;
}

/* Parses the number behind ">=" in "name:int>=minimum". */
static bool
parse_minimum(Parser *parser, Slice text, OpAttribute *attribute)
{
    attribute->has_minimum = attribute->kind == ATTR_INT && !attribute->is_list;
    return (attribute->has_minimum && slice_to_int64(text, &attribute->minimum)) || refuse(parser, text);
}

static bool
parse_default(Parser *parser, Slice text, OpAttribute *attribute)
{
    attribute->has_default = true;
    return attribute->is_list ? parse_list(parser, text, attribute->kind, &attribute->default_value)
                              : parse_scalar(parser, text, attribute->kind, &attribute->default_value);
}

/* Parses "name:kind", "name:int>=minimum", "name:kind=default" or "~name:kind=default". */
static bool
parse_attribute(Parser *parser, Slice text, OpAttribute *attribute)
{
    attribute->is_fixed = take_text(&text, SLICE("~"));
    size_t equals = slice_find(text, '=');
    bool is_minimum = equals > 0 && equals < text.size && text.data[equals - 1] == '>';
    Slice declared = slice_part(text, 0, is_minimum ? equals - 1 : equals);
    size_t colon = slice_find(declared, ':');
    attribute->name = slice_part(declared, 0, colon);
    if (colon == 0 || colon == declared.size) {
        return refuse(parser, text);
    }
    if (!parse_kind(parser, slice_part(declared, colon + 1, SIZE_MAX), attribute)) {
        return false;
    }
    Slice value = slice_part(text, equals + 1, SIZE_MAX);
    if (equals == text.size) {
        return !attribute->is_fixed || refuse(parser, text);
    }
    return is_minimum ? parse_minimum(parser, value, attribute) : parse_default(parser, value, attribute);
}

static bool
parse_attributes(Parser *parser, Slice list, Op *op)
{
    size_t count = count_items(list);
    OpAttribute *attributes = arena_alloc(parser->arena, (count + 1) * sizeof *attributes);
    if (attributes == NULL) {
        return refuse(parser, SLICE(""));
    }
    Slice item;
    for (size_t index = 0; take_item(&list, &item); index++) {
        if (!parse_attribute(parser, item, &attributes[index])) {
            return false;
        }
    }
    op->attrs = attributes;
    op->attr_count = count;
    return true;
}

static const OpAttribute *
find_attribute(const Op *op, Slice name)
{
    for (size_t index = 0; index < op->attr_count; index++) {
        if (slice_equal(op->attrs[index].name, name)) {
            return &op->attrs[index];
        }
    }
    return NULL;
}

/* Returns the dtype of a fixed name: "int32" is DT_INT32, "float" is DT_FLOAT. */
static Dtype
fixed_dtype(Slice name)
{
    char text[32] = "DT_";
    size_t size = 3;
    for (size_t index = 0; index < name.size && size < sizeof text; index++) {
        text[size++] = (char)toupper((unsigned char)name.data[index]);
    }
    return dtype_from_tensorflow_name(slice_of(text, size));
}

/* Parses the text behind an argument's colon: "T", "N*T", "int32", "Ref(T)" or "N*int32". */
static bool
parse_argument_type(Parser *parser, const Op *op, Slice text, OpArgument *argument)
{
    Slice type = text;
    argument->is_reference = take_text(&type, SLICE("Ref"));
    if (argument->is_reference && !take_group(&type, '(', ')', &type)) {
        return refuse(parser, text);
    }
    size_t star = slice_find(type, '*');
    if (star < type.size) {
        argument->number_attr = slice_part(type, 0, star);
        type = slice_part(type, star + 1, SIZE_MAX);
        const OpAttribute *number = find_attribute(op, argument->number_attr);
        if (number == NULL || number->kind != ATTR_INT || number->is_list) {
            return refuse(parser, text);
        }
    }
    const OpAttribute *attribute = find_attribute(op, type);
    if (attribute == NULL) {
        argument->dtype = fixed_dtype(type);
        return argument->dtype != DTYPE_INVALID || refuse(parser, text);
    }
    *(attribute->is_list ? &argument->type_list_attr : &argument->type_attr) = type;
    return attribute->kind == ATTR_TYPE || refuse(parser, text);
}

/* Parses "name:type" or "name?:type". */
static bool
parse_argument(Parser *parser, const Op *op, Slice text, OpArgument *argument)
{
    size_t colon = slice_find(text, ':');
    Slice name = slice_part(text, 0, colon);
    argument->is_optional = slice_ends_with(name, SLICE("?"));
    argument->name = slice_part(name, 0, name.size - (argument->is_optional ? 1 : 0));
    if (argument->name.size == 0 || colon == text.size) {
        return refuse(parser, text);
    }
    return parse_argument_type(parser, op, slice_part(text, colon + 1, SIZE_MAX), argument);
}

static bool
parse_arguments(Parser *parser, const Op *op, Slice list, const OpArgument **ret_arguments, size_t *ret_count)
{
    size_t count = count_items(list);
    OpArgument *arguments = arena_alloc(parser->arena, (count + 1) * sizeof *arguments);
    if (arguments == NULL) {
        return refuse(parser, SLICE(""));
    }
    Slice item;
    for (size_t index = 0; take_item(&list, &item); index++) {
        if (!parse_argument(parser, op, item, &arguments[index])) {
            return false;
        }
    }
    *ret_arguments = arguments;
    *ret_count = count;
    return true;
}

static bool
parse(Parser *parser, Slice text, Op *op)
{
    Slice rest = text;
    Slice inputs;
    Slice outputs;
    Slice attributes = SLICE("");
    op->name = slice_part(rest, 0, slice_find(rest, '('));
    rest = slice_part(rest, op->name.size, SIZE_MAX);
    if (slice_ends_with(op->name, SLICE("!"))) {
        op->flags |= OP_STATEFUL;
        op->name.size--;
    }
    if (op->name.size == 0 || !take_group(&rest, '(', ')', &inputs) || !take_text(&rest, SLICE("->")) ||
        !take_group(&rest, '(', ')', &outputs)) {
        return refuse(parser, text);
    }
    if (take_text(&rest, SLICE(" ")) && !take_group(&rest, '{', '}', &attributes)) {
        return refuse(parser, rest);
    }
    if (rest.size > 0) {
        return refuse(parser, rest);
    }
    return parse_attributes(parser, attributes, op) &&
           parse_arguments(parser, op, inputs, &op->inputs, &op->input_count) &&
           parse_arguments(parser, op, outputs, &op->outputs, &op->output_count);
}

bool
signature_parse(Arena *arena, const OpDefinition *definition, Op *ret_op, Slice *ret_error)
{
    Parser parser = {.arena = arena};
    Op op = {.flags = definition->flags, .infer_shapes = definition->infer_shapes};
    if (!parse(&parser, slice_from_string(definition->signature), &op)) {
        *ret_error = parser.error;
        return false;
    }
    *ret_op = op;
    return true;
}
