/* Small nodes that ONNX's loops are made of. */
#include "gateway/expand/expansion.h"

Status
emit_scalar(const Scope *scope, const char *part, Slice input, Dtype dtype, Slice *ret_scalar)
{
    Slice shape;
    Emission node;
    TRY(expand_part(scope->expansion, scope->within, "no_dimensions", &shape));
    TRY(emit_ints(scope, shape, DTYPE_INT32, NULL, 0));
    TRY(expand_part(scope->expansion, scope->within, part, ret_scalar));
    TRY(emission_begin(&node, scope, *ret_scalar, "Reshape", 2));
    emission_input(&node, input);
    emission_input(&node, shape);
    emission_type(&node, "T", dtype);
    emission_type(&node, "Tshape", DTYPE_INT32);
    return emission_end(&node);
}

Status
emit_binary(const Scope *scope, const char *part, Binary binary, Slice *ret_result)
{
    Emission node;
    TRY(expand_part(scope->expansion, scope->within, part, ret_result));
    TRY(emission_begin(&node, scope, *ret_result, binary.op, 2));
    emission_input(&node, binary.left);
    emission_input(&node, binary.right);
    emission_type(&node, "T", binary.dtype);
    return emission_end(&node);
}

Status
emit_cast(const Scope *scope, const char *part, Slice input, Dtype from, Dtype to, Slice *ret_result)
{
    Emission node;
    TRY(expand_part(scope->expansion, scope->within, part, ret_result));
    TRY(emission_begin(&node, scope, *ret_result, "Cast", 1));
    emission_input(&node, input);
    emission_type(&node, "SrcT", from);
    emission_type(&node, "DstT", to);
    return emission_end(&node);
}

Status
emit_number(const Scope *scope, const char *part, Dtype dtype, int64_t value, Slice *ret_name)
{
    TRY(expand_part(scope->expansion, scope->within, part, ret_name));
    return emit_int(scope, *ret_name, dtype, value);
}

Status
member_function(const Scope *scope, const Member *member, const char *attr, const FunctionDef **ret_function)
{
    const AttrValue *const value = member_attr(member, attr);
    if (value == NULL || value->kind != ATTR_FUNCTION || value->is_list) {
        return expand_fail(scope, member, "attribute '%s' names no function", attr);
    }
    return expand_function(scope, member, value->value.function.name, ret_function);
}

Shape
function_output_shape(const FunctionDef *function, size_t index)
{
    for (size_t attr = 0; attr < function->attr_count; attr++) {
        const AttrValue *const value = &function->attrs[attr].value;
        if (slice_equals_string(function->attrs[attr].name, "_output_shapes") && value->is_list &&
            value->kind == ATTR_SHAPE && index < value->value.list.count) {
            return value->value.list.items[index].value.shape;
        }
    }
    return shape_unknown();
}
