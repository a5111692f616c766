/* Attributes of a body's node in one use of its function. A placeholder takes the value that the caller
 * bound, or the default that the function declares; names of nodes ("_class") and of frames become those
 * of the new graph. */
#include <assert.h>

#include "gateway/expand/scope.h"
#include "shared/base/text.h"
#include "shared/ops/registry.h"

static Status bind_value(
    const Scope *scope, const Member *member, const AttrValue *given, AttrValue *ret_value);

static const AttrValue *
find_attr(const Attr *attrs, size_t count, Slice name)
{
    for (size_t index = 0; index < count; index++) {
        if (slice_equal(attrs[index].name, name)) {
            return &attrs[index].value;
        }
    }
    return NULL;
}

/* Returns NULL when neither the caller binds the attribute nor the function has a default. */
static const AttrValue *
bound_value(const Scope *scope, Slice name)
{
    const AttrValue *bound = find_attr(scope->attrs, scope->attr_count, name);
    const FunctionDef *function = scope->function;
    for (size_t index = 0; bound == NULL && index < function->declared_attr_count; index++) {
        const Attr *declared = &function->declared_attrs[index].attr;
        if (slice_equal(declared->name, name) &&
            (declared->value.kind != ATTR_NONE || declared->value.is_list)) {
            return &declared->value;
        }
    }
    return bound;
}

static Status
bind_list(const Scope *scope, const Member *member, const AttrValue *given, AttrValue *ret_value)
{
    size_t count = given->value.list.count;
    AttrValue *items = expand_alloc(scope->expansion, count, sizeof *items);
    if (items == NULL) {
        return expand_no_memory(scope->expansion);
    }
    for (size_t index = 0; index < count; index++) {
        TRY(bind_value(scope, member, &given->value.list.items[index], &items[index]));
    }
    *ret_value = *given;
    ret_value->kind = count == 0 ? given->kind : items[0].kind;
    ret_value->value.list.items = items;
    return STATUS_OK;
}

static Status
bind_function(const Scope *scope, const Member *member, const AttrValue *given, AttrValue *ret_value)
{
    const FunctionRef *function = &given->value.function;
    Attr *attrs = expand_alloc(scope->expansion, function->attr_count, sizeof *attrs);
    if (attrs == NULL) {
        return expand_no_memory(scope->expansion);
    }
    for (size_t index = 0; index < function->attr_count; index++) {
        attrs[index].name = function->attrs[index].name;
        TRY(bind_value(scope, member, &function->attrs[index].value, &attrs[index].value));
    }
    *ret_value = *given;
    ret_value->value.function.attrs = attrs;
    return STATUS_OK;
}

static Status
bind_value(const Scope *scope, const Member *member, const AttrValue *given, AttrValue *ret_value)
{
    if (given->is_list) {
        return bind_list(scope, member, given, ret_value);
    }
    if (given->kind == ATTR_FUNCTION) {
        return bind_function(scope, member, given, ret_value);
    }
    if (given->kind != ATTR_PLACEHOLDER) {
        *ret_value = *given;
        return STATUS_OK;
    }
    const AttrValue *bound = bound_value(scope, given->value.s);
    if (bound == NULL) {
        return expand_fail(scope, member,
            "function '%.*s' leaves attribute '%.*s' to its callers, and this one "
            "does not bind it",
            SLICE_PRINT(scope->function->name), SLICE_PRINT(given->value.s));
    }
    *ret_value = *bound;
    return STATUS_OK;
}

/* Renames x in each "loc:@x"; one that names no member is left out. */
static Status
bind_class(const Scope *scope, const AttrValue *given, AttrValue *ret_value)
{
    static const Slice prefix = {.data = "loc:@", .size = 5};
    Expansion *expansion = scope->expansion;
    AttrValue *items = expand_alloc(expansion, given->value.list.count, sizeof *items);
    if (items == NULL) {
        return expand_no_memory(expansion);
    }
    size_t count = 0;
    for (size_t index = 0; index < given->value.list.count; index++) {
        const AttrValue *item = &given->value.list.items[index];
        const Member *member = item->kind == ATTR_STRING && slice_starts_with(item->value.s, prefix)
                                   ? map_get(scope->by_name, slice_part(item->value.s, prefix.size, SIZE_MAX))
                                   : NULL;
        if (member == NULL) {
            continue;
        }
        const char *text = text_format(expansion->def->arena, "loc:@%.*s", SLICE_PRINT(member->name));
        if (text == NULL) {
            return expand_no_memory(expansion);
        }
        items[count++] = (AttrValue){.kind = ATTR_STRING, .value.s = slice_from_string(text)};
    }
    *ret_value = (AttrValue){.kind = ATTR_STRING, .is_list = true, .value.list = {count, items}};
    return STATUS_OK;
}

/* Gives each use of a function loops of its own. */
static Status
bind_frame(const Scope *scope, AttrValue *value)
{
    const char *text = text_format(
        scope->expansion->def->arena, "%.*s/%.*s", SLICE_PRINT(scope->path), SLICE_PRINT(value->value.s));
    if (text == NULL) {
        return expand_no_memory(scope->expansion);
    }
    value->value.s = slice_from_string(text);
    return STATUS_OK;
}

static Status
bind_attr(const Scope *scope, const Member *member, Attr *attr)
{
    AttrValue given = attr->value;
    if (slice_equals_string(attr->name, "_class") && given.is_list) {
        return bind_class(scope, &given, &attr->value);
    }
    TRY(bind_value(scope, member, &given, &attr->value));
    bool is_frame = slice_equals_string(attr->name, "frame_name") && attr->value.kind == ATTR_STRING &&
                    !attr->value.is_list;
    return is_frame ? bind_frame(scope, &attr->value) : STATUS_OK;
}

Status
bind_attrs(const Scope *scope, Member *member)
{
    const NodeDef *def = member->def;
    assert(def != NULL);
    member->attrs = def->attrs;
    member->attr_count = def->attr_count;
    if (scope->function == NULL || def->attr_count == 0) {
        return STATUS_OK;
    }
    Attr *attrs = expand_alloc(scope->expansion, def->attr_count, sizeof *attrs);
    if (attrs == NULL) {
        return expand_no_memory(scope->expansion);
    }
    for (size_t index = 0; index < def->attr_count; index++) {
        attrs[index] = def->attrs[index];
        TRY(bind_attr(scope, member, &attrs[index]));
    }
    member->attrs = attrs;
    return STATUS_OK;
}

const AttrValue *
member_attr(const Member *member, const char *name)
{
    return find_attr(member->attrs, member->attr_count, slice_from_string(name));
}

bool
member_wants_lowering(const Member *member)
{
    const AttrValue *lowers = member_attr(member, "_lower_using_switch_merge");
    return lowers != NULL && lowers->kind == ATTR_BOOL && !lowers->is_list && lowers->value.b;
}

int64_t
member_int(const Member *member, const char *name, int64_t otherwise)
{
    const AttrValue *value = member_attr(member, name);
    return value != NULL && value->kind == ATTR_INT && !value->is_list ? value->value.i : otherwise;
}

Dtype
member_type(const Member *member, const char *name, size_t index)
{
    const AttrValue *list = member_attr(member, name);
    bool is_there =
        list != NULL && list->is_list && list->kind == ATTR_TYPE && index < list->value.list.count;
    return is_there ? list->value.list.items[index].value.type : DTYPE_INVALID;
}

Status
argument_size(const Scope *scope, const FunctionArgument *argument, size_t *ret_count)
{
    assert(scope->function != NULL);
    *ret_count = 1;
    if (argument->number_attr.size > 0) {
        const AttrValue *number = bound_value(scope, argument->number_attr);
        bool is_count = number != NULL && number->kind == ATTR_INT && !number->is_list &&
                        number->value.i >= 0 && number->value.i <= GRAPH_NODE_COUNT_MAX;
        *ret_count = is_count ? (size_t)number->value.i : SIZE_MAX;
    } else if (argument->type_list_attr.size > 0) {
        const AttrValue *types = bound_value(scope, argument->type_list_attr);
        *ret_count = types != NULL && types->is_list ? types->value.list.count : SIZE_MAX;
    }
    if (*ret_count != SIZE_MAX) {
        return STATUS_OK;
    }
    return call_fail(scope->expansion->call, STATUS_INVALID_ARGUMENT,
        "function '%.*s' is used without a count for its argument '%.*s'", SLICE_PRINT(scope->function->name),
        SLICE_PRINT(argument->name));
}

Dtype
argument_type(const Scope *scope, const FunctionArgument *argument, size_t index)
{
    assert(scope->function != NULL);
    bool is_list = argument->type_list_attr.size > 0;
    Slice attr = is_list ? argument->type_list_attr : argument->type_attr;
    const AttrValue *value = attr.size == 0 ? NULL : bound_value(scope, attr);
    if (value != NULL && value->is_list) {
        value = index < value->value.list.count ? &value->value.list.items[index] : NULL;
    }
    return value != NULL && value->kind == ATTR_TYPE ? value->value.type : argument->dtype;
}

Status
member_function_ref(
    const Scope *scope, const Member *member, const char *attr, const FunctionRef **ret_function)
{
    const AttrValue *value = member_attr(member, attr);
    if (value == NULL || value->kind != ATTR_FUNCTION || value->is_list) {
        return expand_fail(scope, member, "attribute '%s' names no function", attr);
    }
    *ret_function = &value->value.function;
    return STATUS_OK;
}

Status
member_function(const Scope *scope, const Member *member, const char *attr, const FunctionDef **ret_function)
{
    const FunctionRef *function = NULL;
    TRY(member_function_ref(scope, member, attr, &function));
    return expand_function(scope, member, function->name, ret_function);
}
