#include "shared/graph/attribute.h"

#include <assert.h>

#include "shared/tensor/half.h"

static bool
function_ref_equal(const FunctionRef *left, const FunctionRef *right)
{
    if (!slice_equal(left->name, right->name) || left->attr_count != right->attr_count) {
        return false;
    }
    for (size_t index = 0; index < left->attr_count; index++) {
        if (!slice_equal(left->attrs[index].name, right->attrs[index].name) ||
            !attr_value_equal(&left->attrs[index].value, &right->attrs[index].value)) {
            return false;
        }
    }
    return true;
}

static bool
attr_list_equal(const AttrValue *left, const AttrValue *right)
{
    if (left->value.list.count != right->value.list.count) {
        return false;
    }
    for (size_t index = 0; index < left->value.list.count; index++) {
        if (!attr_value_equal(&left->value.list.items[index], &right->value.list.items[index])) {
            return false;
        }
    }
    return true;
}

bool
attr_value_equal(const AttrValue *left, const AttrValue *right)
{
    if (left->kind != right->kind || left->is_list != right->is_list) {
        return false;
    }
    if (left->is_list) {
        return attr_list_equal(left, right);
    }
    switch (left->kind) {
    case ATTR_NONE:
        return true;
    case ATTR_STRING:
    case ATTR_PLACEHOLDER:
        return slice_equal(left->value.s, right->value.s);
    case ATTR_INT:
        return left->value.i == right->value.i;
    case ATTR_FLOAT:
        return float_to_bits(left->value.f) == float_to_bits(right->value.f);
    case ATTR_BOOL:
        return left->value.b == right->value.b;
    case ATTR_TYPE:
        return left->value.type == right->value.type && left->foreign_type == right->foreign_type;
    case ATTR_SHAPE:
        return shape_equal(&left->value.shape, &right->value.shape);
    case ATTR_TENSOR:
        return tensor_equal(&left->value.tensor, &right->value.tensor);
    case ATTR_FUNCTION:
        return function_ref_equal(&left->value.function, &right->value.function);
    }
    return false;
}

const char *
attr_kind_name(AttrKind kind)
{
    static const char *const names[] = {
        [ATTR_NONE] = "empty list",
        [ATTR_STRING] = "string",
        [ATTR_INT] = "int",
        [ATTR_FLOAT] = "float",
        [ATTR_BOOL] = "bool",
        [ATTR_TYPE] = "type",
        [ATTR_SHAPE] = "shape",
        [ATTR_TENSOR] = "tensor",
        [ATTR_FUNCTION] = "function",
        [ATTR_PLACEHOLDER] = "placeholder",
    };
    assert((size_t)kind < COUNT_OF(names));
    return names[kind];
}
