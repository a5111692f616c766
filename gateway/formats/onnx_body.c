/* A node's subgraph becomes a function of the library: its inputs, then what it takes from around it, are the
 * arguments. All subgraphs of one node take the same, so that its branches can be called alike. */
#include "gateway/formats/onnx_import.h"
#include "shared/base/text.h"

static void
captures_release(void *resource)
{
    OnnxCaptures *const captures = resource;
    buffer_done(&captures->items);
    map_free(captures->by_value);
}

static Status
open_captures(OnnxImport *import, OnnxNode *node)
{
    OnnxCaptures *const captures =
        node->captures != NULL ? node->captures : arena_alloc(import->scratch, sizeof *captures);
    if (captures == node->captures) {
        return STATUS_OK;
    }
    captures->by_value = map_new();
    if (captures->by_value == NULL || arena_defer(import->scratch, captures_release, captures) == NULL) {
        captures_release(captures);
        return call_fail_memory(import->call, "captured values");
    }
    node->captures = captures;
    return STATUS_OK;
}

/* --- The function --------------------------------------------------------------------------------------- */

static Status
import_arguments(OnnxImport *import, const SliceList *inputs, FunctionDef *function)
{
    void *memory = NULL;
    TRY(builder_alloc(import->builder, inputs->count, sizeof(FunctionArgument), &memory));
    FunctionArgument *const arguments = memory;
    for (size_t index = 0; index < inputs->count; index++) {
        GraphPort port;
        TRY(onnx_port(import, inputs->items[index], &port));
        arguments[index] = (FunctionArgument){.dtype = port.dtype};
        TRY(onnx_name(import, port.name, &arguments[index].name));
        TRY(onnx_define(import, port.name, arguments[index].name, 0));
    }
    function->inputs = arguments;
    function->input_count = inputs->count;
    return STATUS_OK;
}

static Status
import_return(OnnxImport *import, Slice bytes, size_t index, FunctionArgument *output, FunctionReturn *value,
    AttrValue *shape)
{
    GraphPort port;
    const OnnxValue *found = NULL;
    TRY(onnx_port(import, bytes, &port));
    TRY(onnx_find(import, port.name, &found));
    if (found == NULL) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT,
            "the subgraph's output '%.*s' is defined nowhere", SLICE_PRINT(slice_part(port.name, 0, 128)));
    }
    const char *const name = text_format(import->builder->def->arena, "output_%zu", index);
    if (name == NULL) {
        return call_fail_memory(import->call, "names");
    }
    *output = (FunctionArgument){.name = slice_from_string(name), .dtype = port.dtype};
    *value = (FunctionReturn){.name = output->name, .value = found->tensor};
    *shape = (AttrValue){.kind = ATTR_SHAPE, .value.shape = port.shape};
    return STATUS_OK;
}

/* Shapes as far as they are declared: "_output_shapes", as TensorFlow calls it. */
static Status
import_returns(OnnxImport *import, const SliceList *list, FunctionDef *function)
{
    void *outputs = NULL;
    void *returns = NULL;
    void *shapes = NULL;
    void *attr = NULL;
    TRY(builder_alloc(import->builder, list->count, sizeof(FunctionArgument), &outputs));
    TRY(builder_alloc(import->builder, list->count, sizeof(FunctionReturn), &returns));
    TRY(builder_alloc(import->builder, list->count, sizeof(AttrValue), &shapes));
    TRY(builder_alloc(import->builder, 1, sizeof(Attr), &attr));
    for (size_t index = 0; index < list->count; index++) {
        TRY(import_return(import, list->items[index], index, (FunctionArgument *)outputs + index,
            (FunctionReturn *)returns + index, (AttrValue *)shapes + index));
    }
    *(Attr *)attr = (Attr){.name = SLICE("_output_shapes"),
        .value = {.kind = ATTR_SHAPE, .is_list = true, .value.list = {list->count, shapes}}};
    function->outputs = outputs;
    function->output_count = list->count;
    function->returns = returns;
    function->return_count = list->count;
    function->attrs = attr;
    function->attr_count = 1;
    return STATUS_OK;
}

static Status
import_body(OnnxImport *import, Slice bytes, const char *pointer, FunctionDef *function)
{
    OnnxGraphProto graph;
    const size_t mark = builder_mark(import->builder);
    TRY(onnx_parse_graph(import->call, import->scratch, bytes, &graph));
    if (graph.sparse_initializers.count > 0) {
        return call_fail(import->call, STATUS_UNIMPLEMENTED, "sparse initializers cannot be imported yet");
    }
    TRY(import_arguments(import, &graph.inputs, function));
    TRY(onnx_initializers(import, &graph, NULL));
    TRY(onnx_nodes(import, &graph.nodes, SLICE(""), pointer));
    TRY(import_returns(import, &graph.outputs, function));
    return BUILDER_TAKE(import->builder, mark, &function->nodes, &function->node_count);
}

static Status
name_function(OnnxImport *import, const OnnxNode *node, Slice attribute, FunctionDef *function)
{
    const char *const text = text_format(
        import->builder->def->arena, "%.*s_%.*s", SLICE_PRINT(node->name), SLICE_PRINT(attribute));
    return text == NULL ? call_fail_memory(import->call, "names")
                        : onnx_name(import, slice_from_string(text), &function->name);
}

static Status
add_function(OnnxImport *import, OnnxNode *node, const FunctionDef *function)
{
    if (node->body_count == ONNX_BODIES_MAX) {
        return call_fail(
            import->call, STATUS_UNIMPLEMENTED, "a node with more than %d subgraphs", ONNX_BODIES_MAX);
    }
    node->bodies[node->body_count++] = import->functions.size / sizeof *function;
    buffer_append(&import->functions, function, sizeof *function);
    return buffer_is_ok(&import->functions) ? STATUS_OK : call_fail_memory(import->call, "subgraphs");
}

Status
onnx_body(OnnxImport *import, OnnxNode *node, Slice attribute, Slice bytes, AttrValue *ret_value)
{
    OnnxScope scope;
    OnnxScope *const outer = import->scope;
    FunctionDef function = {.node_count = 0};
    const char *const pointer = text_format(
        import->builder->def->arena, "%s/attribute/%.*s/g", node->pointer, SLICE_PRINT(attribute));
    if (pointer == NULL) {
        return call_fail_memory(import->call, "names");
    }
    TRY(open_captures(import, node));
    TRY(name_function(import, node, attribute, &function));
    TRY(onnx_scope_open(import, &scope, outer, node->captures));
    TRY(import_body(import, bytes, pointer, &function));
    onnx_scope_close(import, &scope, outer);
    TRY(add_function(import, node, &function));
    *ret_value = (AttrValue){.kind = ATTR_FUNCTION, .value.function = {.name = function.name}};
    return STATUS_OK;
}

/* --- Captures ------------------------------------------------------------------------------------------- */

static size_t
capture_count(const OnnxNode *node)
{
    return node->captures->items.size / sizeof(void *);
}

static const OnnxCapture *
capture_at(const OnnxNode *node, size_t index)
{
    return ((OnnxCapture *const *)(const void *)node->captures->items.data)[index];
}

static Status
add_arguments(OnnxImport *import, const OnnxNode *node, FunctionDef *function)
{
    const size_t count = capture_count(node);
    void *memory = NULL;
    TRY(builder_alloc(import->builder, function->input_count + count, sizeof(FunctionArgument), &memory));
    FunctionArgument *const arguments = memory;
    for (size_t index = 0; index < function->input_count; index++) {
        arguments[index] = function->inputs[index];
    }
    for (size_t index = 0; index < count; index++) {
        arguments[function->input_count + index].name = capture_at(node, index)->argument;
    }
    function->inputs = arguments;
    function->input_count += count;
    return STATUS_OK;
}

/* A Loop always has its two inputs, absent or not, so that the others can be counted. */
static size_t
own_input_count(const OnnxNode *node)
{
    const bool is_loop = node->is_default_domain && slice_equals_string(node->type, "Loop");
    return is_loop && node->input_count < 2 ? 2 : node->input_count;
}

Status
onnx_add_captures(OnnxImport *import, OnnxNode *node)
{
    const size_t own = own_input_count(node);
    const size_t count = capture_count(node);
    Slice *const inputs = arena_alloc(import->scratch, (own + count + ONNX_NODE_ROOM) * sizeof *inputs);
    if (inputs == NULL) {
        return call_fail_memory(import->call, "nodes");
    }
    for (size_t index = 0; index < own; index++) {
        inputs[index] = index < node->input_count ? node->inputs[index] : SLICE("");
    }
    for (size_t index = 0; index < count; index++) {
        inputs[own + index] = capture_at(node, index)->tensor;
    }
    node->inputs = inputs;
    node->input_count = own + count;
    onnx_attr_set(node, "_captures", (AttrValue){.kind = ATTR_INT, .value.i = (int64_t)count});
    for (size_t index = 0; index < node->body_count; index++) {
        FunctionDef *const functions = (FunctionDef *)(void *)import->functions.data;
        TRY(add_arguments(import, node, &functions[node->bodies[index]]));
    }
    return STATUS_OK;
}
