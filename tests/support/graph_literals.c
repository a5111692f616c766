#include "tests/support/graph_literals.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/base/buffer.h"
#include "shared/base/text.h"
#include "shared/ops/signature.h"
#include "shared/tensor/half.h"

enum { PARTS_MAX = 512, NODES_MAX = 32 };

static void
must(bool is_true)
{
    if (!is_true) {
        (void)fputs("a graph literal cannot be read\n", stderr);
        abort();
    }
}

/* Returns the part before `separator`; *rest moves behind it. */
static Slice
cut(Slice *rest, char separator)
{
    size_t end = slice_find(*rest, separator);
    Slice part = slice_part(*rest, 0, end);
    *rest = slice_part(*rest, end + 1, SIZE_MAX);
    return slice_trim(part);
}

static void *
copy_of(Arena *arena, const void *items, size_t size)
{
    void *copy = arena_alloc(arena, size);
    if (copy != NULL && size > 0) {
        memcpy(copy, items, size);
    }
    return copy;
}

static Slice
inside(Slice text)
{
    return slice_part(text, 1, text.size - 2);
}

static void
read_shape(Slice text, Shape *shape)
{
    *shape = shape_scalar();
    while (text.size > 0) {
        must(slice_to_int64(cut(&text, ','), &shape->dims[shape->rank++]));
    }
}

static void
release_buffer(void *buffer)
{
    tensor_buffer_unref(buffer);
}

/* Writes a number of an integer type, bool, float32 or float64 as the bytes of one element. */
static void
read_number(Slice text, Dtype dtype, void *element)
{
    int64_t number = 0;
    if (dtype == DTYPE_FLOAT32) {
        float value = strtof(text.data, NULL);
        memcpy(element, &value, sizeof value);
    } else if (dtype == DTYPE_FLOAT64) {
        double value = strtod(text.data, NULL);
        memcpy(element, &value, sizeof value);
    } else {
        must(slice_to_int64(text, &number) && (dtype_is_integer(dtype) || dtype == DTYPE_BOOL));
        memcpy(element, &number, dtype_size(dtype));
    }
}

/* Draws numbers from -scale to scale, the same ones each time. */
static void
draw_numbers(float scale, Tensor *tensor)
{
    uint64_t drawn = 1;
    int64_t count = tensor_element_count(tensor);
    for (int64_t i = 0; i < count; i++) {
        drawn = drawn * 6364136223846793005U + 1442695040888963407U;
        float number = scale * (float)(int32_t)(drawn >> 32) / (float)(1U << 31);
        if (tensor->dtype == DTYPE_FLOAT32) {
            ((float *)tensor->data)[i] = number;
        } else {
            must(tensor->dtype == DTYPE_FLOAT16 || tensor->dtype == DTYPE_BFLOAT16);
            ((uint16_t *)tensor->data)[i] =
                tensor->dtype == DTYPE_FLOAT16 ? half_from_float(number) : bfloat16_from_float(number);
        }
    }
}

static void
read_numbers(Slice numbers, Tensor *tensor)
{
    Slice rest = {0};
    int64_t count = tensor_element_count(tensor);
    for (int64_t i = 0; i < count; i++) {
        rest = rest.size == 0 ? numbers : rest;
        read_number(
            cut(&rest, ';'), tensor->dtype, (char *)tensor->data + (size_t)i * dtype_size(tensor->dtype));
    }
}

static void
read_tensor(Arena *arena, Slice text, Tensor *tensor)
{
    Slice type = cut(&text, '(');
    Dtype dtype = dtype_from_name(cut(&type, '<'));
    Shape shape;
    read_shape(cut(&type, '>'), &shape);
    if (tensor_new(dtype, &shape, tensor)) {
        Slice numbers = cut(&text, ')');
        if (numbers.size > 0 && numbers.data[0] == '~') {
            draw_numbers(strtof(numbers.data + 1, NULL), tensor);
        } else {
            read_numbers(numbers, tensor);
        }
        must(tensor->buffer == NULL || arena_defer(arena, release_buffer, tensor->buffer) != NULL);
    }
}

static void read_value(Arena *arena, Slice text, AttrValue *value);

static void
read_list(Arena *arena, Slice text, AttrValue *list)
{
    AttrValue items[PARTS_MAX] = {0};
    size_t count = 0;
    while (text.size > 0) {
        read_value(arena, cut(&text, ','), &items[count++]);
    }
    list->is_list = true;
    list->kind = items[0].kind;
    list->value.list.count = count;
    list->value.list.items = copy_of(arena, items, count * sizeof *items);
}

/* Reads a function's name, "f" or "f{T:float32}". */
static void
read_function_ref(Arena *arena, Slice text, AttrValue *value)
{
    value->kind = ATTR_FUNCTION;
    FunctionRef *function = &value->value.function;
    function->name = cut(&text, '{');
    Slice bound = cut(&text, '}');
    Attr attrs[PARTS_MAX] = {0};
    while (bound.size > 0) {
        Slice pair = cut(&bound, ';');
        attrs[function->attr_count].name = cut(&pair, ':');
        read_value(arena, pair, &attrs[function->attr_count++].value);
    }
    function->attrs = copy_of(arena, attrs, function->attr_count * sizeof *attrs);
}

static void
read_value(Arena *arena, Slice text, AttrValue *value)
{
    must(text.size > 0);
    if (text.data[0] == '[') {
        read_list(arena, inside(text), value);
    } else if (text.data[0] == '\'') {
        value->kind = ATTR_STRING;
        value->value.s = inside(text);
    } else if (text.data[0] == '@') {
        read_function_ref(arena, slice_part(text, 1, SIZE_MAX), value);
    } else if (text.data[0] == '$') {
        value->kind = ATTR_PLACEHOLDER;
        value->value.s = slice_part(text, 1, SIZE_MAX);
    } else if (text.data[0] == '<') {
        value->kind = ATTR_SHAPE;
        read_shape(inside(text), &value->value.shape);
    } else if (slice_find(text, '(') < text.size) {
        value->kind = ATTR_TENSOR;
        read_tensor(arena, text, &value->value.tensor);
    } else if (slice_to_int64(text, &value->value.i)) {
        value->kind = ATTR_INT;
    } else if (slice_find(text, '.') < text.size) {
        value->kind = ATTR_FLOAT;
        value->value.f = strtof(text.data, NULL);
    } else if (slice_equals_string(text, "true") || slice_equals_string(text, "false")) {
        value->kind = ATTR_BOOL;
        value->value.b = slice_equals_string(text, "true");
    } else {
        value->kind = ATTR_TYPE;
        value->value.type = dtype_from_name(text);
    }
}

static void
read_node(Arena *arena, Slice line, NodeDef *node)
{
    node->name = cut(&line, '=');
    line = slice_trim(line);
    node->op = cut(&line, '(');
    Slice inputs = cut(&line, ')');
    Slice parts[PARTS_MAX];
    while (inputs.size > 0) {
        assert(node->input_count < PARTS_MAX);
        parts[node->input_count++] = cut(&inputs, ',');
    }
    node->inputs = copy_of(arena, parts, node->input_count * sizeof *parts);
    Attr attrs[PARTS_MAX] = {0};
    line = slice_trim(line);
    while (line.size > 0) {
        Slice pair = cut(&line, ' ');
        if (slice_starts_with(pair, SLICE("@"))) {
            node->device = slice_part(pair, 1, pair.size);
            continue;
        }
        attrs[node->attr_count].name = cut(&pair, '=');
        read_value(arena, pair, &attrs[node->attr_count++].value);
    }
    node->attrs = copy_of(arena, attrs, node->attr_count * sizeof *attrs);
}

/* Reads an argument: "x:float32", "x:$T", "x:$N*$T" or "x:$*Tin". */
static void
read_argument(Slice text, FunctionArgument *argument)
{
    argument->name = cut(&text, ':');
    Slice type = slice_trim(text);
    if (!slice_starts_with(type, SLICE("$"))) {
        argument->dtype = dtype_from_name(type);
        return;
    }
    size_t star = slice_find(type, '*');
    Slice first = slice_part(type, 1, star - 1);
    Slice second = slice_part(type, star + 1, SIZE_MAX);
    if (star == type.size) {
        argument->type_attr = first;
    } else if (first.size == 0) {
        argument->type_list_attr = second;
    } else {
        argument->number_attr = first;
        argument->type_attr = slice_part(second, 1, SIZE_MAX);
    }
}

static size_t
read_arguments(Arena *arena, Slice list, const FunctionArgument **ret_arguments)
{
    FunctionArgument arguments[PARTS_MAX] = {0};
    size_t count = 0;
    while (list.size > 0) {
        read_argument(cut(&list, ','), &arguments[count++]);
    }
    *ret_arguments = copy_of(arena, arguments, count * sizeof *arguments);
    return count;
}

static size_t
read_returns(Arena *arena, Slice list, const FunctionReturn **ret_returns)
{
    FunctionReturn returns[PARTS_MAX] = {0};
    size_t count = 0;
    while (list.size > 0) {
        Slice pair = cut(&list, ',');
        returns[count].name = cut(&pair, '=');
        returns[count++].value = slice_trim(pair);
    }
    *ret_returns = copy_of(arena, returns, count * sizeof *returns);
    return count;
}

/* Reads "f(inputs) -> (outputs) returns {controls}", the text behind "function ". */
static void
read_signature(Arena *arena, Slice line, FunctionDef *function)
{
    function->name = cut(&line, '(');
    function->input_count = read_arguments(arena, cut(&line, ')'), &function->inputs);
    (void)cut(&line, '(');
    function->output_count = read_arguments(arena, cut(&line, ')'), &function->outputs);
    function->return_count = read_returns(arena, cut(&line, '{'), &function->returns);
    function->control_return_count = read_returns(arena, cut(&line, '}'), &function->control_returns);
}

static size_t
read_nodes(Arena *arena, Slice *rest, const NodeDef **ret_nodes)
{
    NodeDef nodes[NODES_MAX] = {0};
    size_t count = 0;
    Slice line;
    while (rest->size > 0 && !slice_equals_string(line = cut(rest, '\n'), "end")) {
        must(count < NODES_MAX);
        read_node(arena, line, &nodes[count++]);
    }
    *ret_nodes = copy_of(arena, nodes, count * sizeof *nodes);
    return count;
}

static Slice
read_functions(GraphDef *def, Slice rest)
{
    static const Slice word = {.data = "function ", .size = 9};
    FunctionDef functions[PARTS_MAX] = {0};
    while (slice_starts_with(rest, word)) {
        FunctionDef *function = &functions[def->function_count++];
        Slice line = cut(&rest, '\n');
        read_signature(def->arena, slice_part(line, word.size, SIZE_MAX), function);
        function->node_count = read_nodes(def->arena, &rest, &function->nodes);
    }
    def->functions = copy_of(def->arena, functions, def->function_count * sizeof *functions);
    return rest;
}

GraphDef *
graph_literal(const char *text)
{
    GraphDef *def = graph_def_new(1 << 20);
    if (def == NULL) {
        return NULL;
    }
    Slice rest = read_functions(def, slice_from_string(text));
    size_t capacity = 1;
    for (size_t index = 0; index < rest.size; index++) {
        capacity += rest.data[index] == '\n' ? 1 : 0;
    }
    NodeDef *nodes = arena_alloc(def->arena, capacity * sizeof *nodes);
    while (nodes != NULL && rest.size > 0) {
        Slice line = cut(&rest, '\n');
        if (line.size > 0) {
            read_node(def->arena, line, &nodes[def->node_count++]);
        }
    }
    def->nodes = nodes;
    return def;
}

static void
write_nodes(Buffer *text, const NodeDef *nodes, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        const NodeDef *node = &nodes[index];
        buffer_append_format(text, "%.*s = %.*s(", SLICE_PRINT(node->name), SLICE_PRINT(node->op));
        for (size_t input = 0; input < node->input_count; input++) {
            buffer_append_format(text, "%s%.*s", input == 0 ? "" : ", ", SLICE_PRINT(node->inputs[input]));
        }
        buffer_append_string(text, ")\n");
    }
}

const char *
graph_literal_text(Arena *arena, const GraphDef *def)
{
    AUTO_BUFFER text = {0};
    write_nodes(&text, def->nodes, def->node_count);
    return text_copy(arena, buffer_slice(&text));
}

const char *
graph_literal_library_text(Arena *arena, const GraphDef *def)
{
    AUTO_BUFFER text = {0};
    for (size_t index = 0; index < def->function_count; index++) {
        const FunctionDef *function = &def->functions[index];
        buffer_append_format(&text, "function %.*s:\n", SLICE_PRINT(function->name));
        write_nodes(&text, function->nodes, function->node_count);
    }
    return text_copy(arena, buffer_slice(&text));
}

static Status
infer_same(Call *call, InferContext *context)
{
    if (context->node->input_count == 2 &&
        !shape_broadcast(&context->inputs[0], &context->inputs[1], &context->outputs[0])) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the inputs do not fit");
    }
    context->outputs[0] = context->node->input_count == 1 ? context->inputs[0] : context->outputs[0];
    return STATUS_OK;
}

static Status
infer_source(Call *call, InferContext *context)
{
    (void)call;
    const AttrValue *value = node_attr(context->node, "value");
    context->outputs[0] =
        value == NULL ? node_attr(context->node, "shape")->value.shape : value->value.tensor.shape;
    return STATUS_OK;
}

/* Infers the shape from the second input's value, which is known only when that input is a constant. */
static Status
infer_fill(Call *call, InferContext *context)
{
    (void)call;
    int64_t size = 0;
    if (context->values[0] != NULL && tensor_to_int64(context->values[0], 0, &size)) {
        context->outputs[0] = shape_vector(size);
    }
    return STATUS_OK;
}

static const OpDefinition definitions[] = {
    {"Add(x:T, y:T)->(z:T) {T:type}", OP_COMMUTATIVE, infer_same},
    {"Assign(ref:Ref(T), value:T)->(output_ref:Ref(T)) {T:type}", 0, NULL},
    {"Const()->(output:dtype) {value:tensor, dtype:type}", OP_SOURCE, infer_source},
    {"Enter(data:T)->(output:T) {T:type, frame_name:string, parallel_iterations:int=10}", OP_CONTROL_FLOW,
        infer_same},
    {"Exit(data:T)->(output:T) {T:type}", OP_CONTROL_FLOW, infer_same},
    {"Fill(dims:int32)->(output:float) {}", 0, infer_fill},
    {"Identity(input:T)->(output:T) {T:type}", 0, infer_same},
    {"IdentityN(input:T)->(output:T) {T:list(type)}", 0, NULL},
    {"LoopCond(input:bool)->(output:bool) {}", OP_CONTROL_FLOW, infer_same},
    {"MatMul(a:T, b:T)->(product:T) {transpose_a:bool=false, transpose_b:bool=false, T:type}", 0, NULL},
    {"Merge(inputs:N*T)->(output:T, value_index:int32) {T:type, N:int}", OP_CONTROL_FLOW, NULL},
    {"NextIteration(data:T)->(output:T) {T:type}", OP_CONTROL_FLOW, infer_same},
    {"NoOp()->() {}", 0, NULL},
    {"Pack(values:N*T)->(output:T) {N:int, T:type, axis:int=0}", 0, NULL},
    {"Placeholder()->(output:dtype) {dtype:type, shape:shape=unk}", OP_SOURCE, infer_source},
    {"Split(split_dim:int32, value:T)->(output:num_split*T) {num_split:int, T:type}", 0, NULL},
    {"Test(input:float)->(output:bool) {}", 0, infer_same},
    {"Variable!()->(ref:Ref(dtype)) {shape:shape, dtype:type}", 0, NULL},
    {"onnx::Add(A:T, B:T)->(C:T) {T:type}", 0, infer_same},
    {"onnx::Clip(input:T, min?:T, max?:T)->(output:T) {T:type}", 0, NULL},
};

const Op *
literal_op_find(Slice name)
{
    static Op ops[COUNT_OF(definitions)];
    static Arena *arena; /* lives as long as the program, as the real registry does */
    if (arena == NULL) {
        arena = arena_new(1 << 20);
        for (size_t index = 0; index < COUNT_OF(definitions); index++) {
            Slice error;
            if (arena == NULL || !signature_parse(arena, &definitions[index], &ops[index], &error)) {
                abort();
            }
        }
    }
    for (size_t index = 0; index < COUNT_OF(definitions); index++) {
        if (slice_equal(ops[index].name, name)) {
            return &ops[index];
        }
    }
    return NULL;
}
