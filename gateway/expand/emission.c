#include <assert.h>

#include "gateway/expand/emission.h"

Status
expand_emit(Expansion *expansion, const NodeDef *def)
{
    assert(def->attrs != NULL || def->attr_count == 0);
    if (expansion->node_count >= expansion->node_count_max) {
        return call_fail(expansion->call, STATUS_OUT_OF_RANGE,
            "the graph has more than %llu nodes once its functions are inlined, the limit graph_nodes",
            (unsigned long long)expansion->node_count_max);
    }
    buffer_append(&expansion->nodes, def, sizeof *def);
    expansion->node_count++;
    return buffer_is_ok(&expansion->nodes) ? STATUS_OK : expand_no_memory(expansion);
}

Status
emission_begin(Emission *emission, const Scope *scope, Slice name, const char *op, size_t input_max)
{
    Slice *inputs = expand_alloc(scope->expansion, input_max, sizeof *inputs);
    if (inputs == NULL) {
        return expand_no_memory(scope->expansion);
    }
    *emission = (Emission){.scope = scope,
        .def = {.name = name, .op = slice_from_string(op), .device = scope->device, .inputs = inputs},
        .inputs = inputs,
        .input_max = input_max};
    return STATUS_OK;
}

void
emission_input(Emission *emission, Slice input)
{
    if (input.size > 0) {
        assert(emission->def.input_count < emission->input_max);
        emission->inputs[emission->def.input_count++] = input;
    }
}

void
emission_inputs(Emission *emission, const Endpoints *inputs)
{
    for (size_t index = 0; inputs != NULL && index < inputs->count; index++) {
        emission_input(emission, inputs->items[index]);
    }
}

void
emission_value(Emission *emission, const char *name, AttrValue value)
{
    assert(emission->def.attr_count < EMISSION_ATTRS_MAX);
    emission->attrs[emission->def.attr_count++] = (Attr){.name = slice_from_string(name), .value = value};
}

void
emission_type(Emission *emission, const char *name, Dtype dtype)
{
    if (dtype != DTYPE_INVALID) {
        emission_value(emission, name, (AttrValue){.kind = ATTR_TYPE, .value.type = dtype});
    }
}

void
emission_int(Emission *emission, const char *name, int64_t value)
{
    emission_value(emission, name, (AttrValue){.kind = ATTR_INT, .value.i = value});
}

void
emission_bool(Emission *emission, const char *name, bool value)
{
    emission_value(emission, name, (AttrValue){.kind = ATTR_BOOL, .value.b = value});
}

void
emission_string(Emission *emission, const char *name, Slice value)
{
    emission_value(emission, name, (AttrValue){.kind = ATTR_STRING, .value.s = value});
}

Status
emission_end(Emission *emission)
{
    Expansion *expansion = emission->scope->expansion;
    Attr *attrs = expand_alloc(expansion, emission->def.attr_count, sizeof *attrs);
    if (attrs == NULL) {
        return expand_no_memory(expansion);
    }
    if (emission->def.attr_count > 0) {
        memcpy(attrs, emission->attrs, emission->def.attr_count * sizeof *attrs);
    }
    emission->def.attrs = attrs;
    return expand_emit(expansion, &emission->def);
}

Status
emit_identity(const Scope *scope, Slice name, Slice input, Dtype dtype, const Endpoints *controls)
{
    Emission node;
    TRY(emission_begin(&node, scope, name, "Identity", 1 + (controls == NULL ? 0 : controls->count)));
    emission_input(&node, input);
    emission_inputs(&node, controls);
    emission_type(&node, "T", dtype);
    return emission_end(&node);
}

Status
emit_no_op(const Scope *scope, Slice name, const Endpoints *controls)
{
    Emission node;
    TRY(emission_begin(&node, scope, name, "NoOp", controls->count + 1));
    emission_inputs(&node, controls);
    emission_input(&node, scope->pivot);
    return emission_end(&node);
}

Status
emit_switch(const Scope *scope, Slice name, Slice data, Slice predicate, Dtype dtype)
{
    Emission node;
    TRY(emission_begin(&node, scope, name, "Switch", 2));
    emission_input(&node, data);
    emission_input(&node, predicate);
    emission_type(&node, "T", dtype);
    return emission_end(&node);
}

static void
buffer_release(void *buffer)
{
    tensor_buffer_unref(buffer);
}

static Status
emit_constant(
    const Scope *scope, Slice name, Dtype dtype, const Shape *shape, const int64_t *values, size_t count)
{
    Expansion *expansion = scope->expansion;
    assert(dtype == DTYPE_INT64 || dtype == DTYPE_INT32 || dtype == DTYPE_BOOL);
    Tensor tensor;
    if (!tensor_new(dtype, shape, &tensor)) {
        return expand_no_memory(expansion);
    }
    for (size_t index = 0; index < count; index++) {
        /* Numbers are little-endian: the low bytes come first. */
        memcpy((char *)tensor.data + index * dtype_size(dtype), &values[index], dtype_size(dtype));
    }
    if (tensor.buffer != NULL && arena_defer(expansion->def->arena, buffer_release, tensor.buffer) == NULL) {
        tensor_unref(&tensor);
        return expand_no_memory(expansion);
    }
    Emission node;
    TRY(emission_begin(&node, scope, name, "Const", 1));
    emission_input(&node, scope->pivot);
    emission_type(&node, "dtype", dtype);
    emission_value(&node, "value", (AttrValue){.kind = ATTR_TENSOR, .value.tensor = tensor});
    return emission_end(&node);
}

Status
emit_int(const Scope *scope, Slice name, Dtype dtype, int64_t value)
{
    Shape shape = shape_scalar();
    return emit_constant(scope, name, dtype, &shape, &value, 1);
}

Status
emit_ints(const Scope *scope, Slice name, Dtype dtype, const int64_t *values, size_t count)
{
    Shape shape = shape_vector((int64_t)count);
    return emit_constant(scope, name, dtype, &shape, values, count);
}

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
