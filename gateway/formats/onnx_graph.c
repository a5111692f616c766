/* Reads graphs: inputs and outputs, initializers, nodes. Nodes hold graphs again: subgraphs, each of which
 * becomes a function, and calls of the model's own functions, whose nodes are written out. */
#include <assert.h>

#include "gateway/formats/onnx.h"
#include "gateway/formats/onnx_import.h"
#include "shared/base/text.h"

static Status read_nodes(OnnxImport *import, const SliceList *nodes, Slice prefix, const char *pointer);

static Status
read_shape(OnnxImport *import, const OnnxValueProto *value, Shape *ret_shape)
{
    if (!value->has_shape) {
        *ret_shape = shape_unknown();
        return STATUS_OK;
    }
    if (value->dims.count > SHAPE_RANK_MAX) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT, "'%.*s' has rank %zu, at most %d",
            SLICE_PRINT(slice_part(value->name, 0, 128)), value->dims.count, SHAPE_RANK_MAX);
    }
    *ret_shape = shape_of_rank((int)value->dims.count);
    for (size_t index = 0; index < value->dims.count; index++) {
        ProtobufReader reader = protobuf_reader(value->dims.items[index]);
        ProtobufField field;
        while (protobuf_next(&reader, &field)) {
            if (field.number == 1 && field.wire == PROTOBUF_VARINT && field.value <= INT64_MAX) {
                ret_shape->dims[index] = (int64_t)field.value;
            }
        }
    }
    return STATUS_OK;
}

static Status
read_port(OnnxImport *import, Slice bytes, GraphPort *ret_port)
{
    OnnxValueProto value;
    TRY(onnx_parse_value(import->call, import->scratch, bytes, &value));
    *ret_port = (GraphPort){.name = value.name};
    if (value.elem_type != 0) {
        TRY(onnx_dtype(import, value.elem_type, value.name, &ret_port->dtype));
    }
    return read_shape(import, &value, &ret_port->shape);
}

static Status
emit_placeholder(OnnxImport *import, Slice name, const GraphPort *port)
{
    if (port->dtype == DTYPE_INVALID) {
        return call_fail(import->call, STATUS_UNIMPLEMENTED, "the model's input '%.*s' is not a tensor",
            SLICE_PRINT(slice_part(port->name, 0, 128)));
    }
    void *memory = NULL;
    TRY(builder_alloc(import->builder, 2, sizeof(Attr), &memory));
    Attr *attrs = memory;
    attrs[0] = (Attr){.name = SLICE("dtype"), .value = {.kind = ATTR_TYPE, .value.type = port->dtype}};
    attrs[1] = (Attr){.name = SLICE("shape"), .value = {.kind = ATTR_SHAPE, .value.shape = port->shape}};
    NodeDef def = {
        .name = name, .op = SLICE("Placeholder"), .device = SLICE(""), .attrs = attrs, .attr_count = 2};
    return onnx_emit(import, &def);
}

/* Reads the graph's inputs, except for those that have the name of an initializer: they are constants (IR
 * version 3 lists all of them as inputs). */
static Status
import_inputs(OnnxImport *import, const OnnxGraphProto *graph, Map *initialized)
{
    void *memory = NULL;
    TRY(builder_alloc(import->builder, graph->inputs.count, sizeof(GraphPort), &memory));
    GraphPort *ports = memory;
    size_t count = 0;
    for (size_t index = 0; index < graph->inputs.count; index++) {
        GraphPort *port = &ports[count];
        TRY(read_port(import, graph->inputs.items[index], port));
        if (map_get(initialized, port->name) != NULL) {
            continue;
        }
        TRY(onnx_name(import, port->name, &port->tensor));
        TRY(onnx_define(import, port->name, port->tensor, 0));
        TRY(emit_placeholder(import, port->tensor, port));
        count++;
    }
    import->builder->def->inputs = ports;
    import->builder->def->input_count = count;
    return STATUS_OK;
}

static Status
name_initializers(
    OnnxImport *import, const OnnxGraphProto *graph, Map *ret_names, Tensor *tensors, Slice *names)
{
    for (size_t index = 0; index < graph->initializers.count; index++) {
        TRY(onnx_tensor(import, graph->initializers.items[index], &tensors[index], &names[index]));
        if (ret_names != NULL && !map_put(ret_names, names[index], &tensors[index])) {
            return call_fail_memory(import->call, "initializers");
        }
    }
    return STATUS_OK;
}

static Status
import_initializers(OnnxImport *import, const OnnxGraphProto *graph, Map *ret_names)
{
    void *memory = NULL;
    TRY(builder_alloc(import->builder, graph->initializers.count, sizeof(Tensor), &memory));
    Tensor *tensors = memory;
    Slice *names = arena_alloc(import->scratch, graph->initializers.count * sizeof *names);
    if (names == NULL) {
        return call_fail_memory(import->call, "initializers");
    }
    TRY(name_initializers(import, graph, ret_names, tensors, names));
    /* Inputs take their names before initializers do: users name them in feeds. */
    TRY(ret_names == NULL ? STATUS_OK : import_inputs(import, graph, ret_names));
    for (size_t index = 0; index < graph->initializers.count; index++) {
        Slice name;
        TRY(onnx_name(import, names[index], &name));
        TRY(onnx_define(import, names[index], name, 0));
        TRY(onnx_emit_const(import, name, &tensors[index]));
    }
    return STATUS_OK;
}

static Status
import_outputs(OnnxImport *import, const OnnxGraphProto *graph)
{
    void *memory = NULL;
    TRY(builder_alloc(import->builder, graph->outputs.count, sizeof(GraphPort), &memory));
    GraphPort *ports = memory;
    for (size_t index = 0; index < graph->outputs.count; index++) {
        TRY(read_port(import, graph->outputs.items[index], &ports[index]));
        const OnnxValue *value = NULL;
        TRY(onnx_find(import, ports[index].name, &value));
        if (value == NULL) {
            return call_fail(import->call, STATUS_INVALID_ARGUMENT,
                "the model's output '%.*s' is defined nowhere",
                SLICE_PRINT(slice_part(ports[index].name, 0, 128)));
        }
        ports[index].tensor = value->tensor;
    }
    import->builder->def->outputs = ports;
    import->builder->def->output_count = graph->outputs.count;
    return STATUS_OK;
}

static void
captures_release(void *resource)
{
    OnnxCaptures *captures = resource;
    buffer_done(&captures->items);
    map_free(captures->by_value);
}

static Status
open_captures(OnnxImport *import, OnnxNode *node)
{
    OnnxCaptures *captures =
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

static Status
import_arguments(OnnxImport *import, const SliceList *inputs, FunctionDef *function)
{
    void *memory = NULL;
    TRY(builder_alloc(import->builder, inputs->count, sizeof(FunctionArgument), &memory));
    FunctionArgument *arguments = memory;
    for (size_t index = 0; index < inputs->count; index++) {
        GraphPort port;
        TRY(read_port(import, inputs->items[index], &port));
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
    TRY(read_port(import, bytes, &port));
    TRY(onnx_find(import, port.name, &found));
    if (found == NULL) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT,
            "the subgraph's output '%.*s' is defined nowhere", SLICE_PRINT(slice_part(port.name, 0, 128)));
    }
    const char *name = text_format(import->builder->def->arena, "output_%zu", index);
    if (name == NULL) {
        return call_fail_memory(import->call, "names");
    }
    *output = (FunctionArgument){.name = slice_from_string(name), .dtype = port.dtype};
    *value = (FunctionReturn){.name = output->name, .value = found->tensor};
    *shape = (AttrValue){.kind = ATTR_SHAPE, .value.shape = port.shape};
    return STATUS_OK;
}

/* Reads the subgraph's outputs; declared shapes go into the attribute "_output_shapes", as TensorFlow has
 * it. */
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
    size_t mark = builder_mark(import->builder);
    TRY(onnx_parse_graph(import->call, import->scratch, bytes, &graph));
    if (graph.sparse_initializers.count > 0) {
        return call_fail(import->call, STATUS_UNIMPLEMENTED, "sparse initializers cannot be imported yet");
    }
    TRY(import_arguments(import, &graph.inputs, function));
    TRY(import_initializers(import, &graph, NULL));
    TRY(read_nodes(import, &graph.nodes, SLICE(""), pointer));
    TRY(import_returns(import, &graph.outputs, function));
    return BUILDER_TAKE(import->builder, mark, &function->nodes, &function->node_count);
}

static Status
name_function(OnnxImport *import, const OnnxNode *node, Slice attribute, FunctionDef *function)
{
    const char *text = text_format(
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

static Status
read_body(OnnxImport *import, OnnxNode *node, Slice attribute, Slice bytes, AttrValue *ret_value)
{
    OnnxScope scope;
    OnnxScope *outer = import->scope;
    FunctionDef function = {.node_count = 0};
    const char *pointer = text_format(
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
    size_t count = capture_count(node);
    void *memory = NULL;
    TRY(builder_alloc(import->builder, function->input_count + count, sizeof(FunctionArgument), &memory));
    FunctionArgument *arguments = memory;
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

/* Returns how many inputs the node has without captures. A Loop always has its first two, absent or not,
 * so that the others can be counted. */
static size_t
own_input_count(const OnnxNode *node)
{
    bool is_loop = node->is_default_domain && slice_equals_string(node->type, "Loop");
    return is_loop && node->input_count < 2 ? 2 : node->input_count;
}

static Status
add_captures(OnnxImport *import, OnnxNode *node)
{
    assert(node->captures != NULL);
    size_t own = own_input_count(node);
    size_t count = capture_count(node);
    Slice *inputs = arena_alloc(import->scratch, (own + count + ONNX_NODE_ROOM) * sizeof *inputs);
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
        FunctionDef *functions = (FunctionDef *)(void *)import->functions.data;
        TRY(add_arguments(import, node, &functions[node->bodies[index]]));
    }
    return STATUS_OK;
}

Status
onnx_opset(OnnxImport *import, const SliceList *opsets, int64_t *ret_opset)
{
    int64_t opset = 0;
    bool is_there = false;
    for (size_t index = 0; index < opsets->count; index++) {
        Slice domain;
        int64_t version = 0;
        TRY(onnx_parse_opset(import->call, opsets->items[index], &domain, &version));
        if (domain.size == 0 || slice_equals_string(domain, "ai.onnx")) {
            opset = version;
            is_there = true;
        }
    }
    if (is_there && (opset < ONNX_OPSET_MIN || opset > ONNX_OPSET_MAX)) {
        return call_fail(import->call, STATUS_UNIMPLEMENTED, "the model imports opset %lld, not %d to %d",
            (long long)opset, ONNX_OPSET_MIN, ONNX_OPSET_MAX);
    }
    *ret_opset = opset;
    return STATUS_OK;
}

struct OnnxLocal {
    OnnxFunctionProto proto;
    int64_t opset; /* 0: that of the model */
    bool is_open;  /* its nodes are being written out */
    const OnnxLocal *outer;
    OnnxNode bound; /* its attributes: those of the caller, then the defaults */
};

/* Makes the key of a function; "" and "ai.onnx" are the same domain. */
static Status
local_key(OnnxImport *import, Slice domain, Slice name, Slice overload, Slice *ret_key)
{
    Slice shown = slice_equals_string(domain, "ai.onnx") ? SLICE("") : domain;
    const char *text = text_format(
        import->scratch, "%.*s\n%.*s\n%.*s", SLICE_PRINT(shown), SLICE_PRINT(name), SLICE_PRINT(overload));
    *ret_key = slice_from_string(text);
    return text == NULL ? call_fail_memory(import->call, "functions") : STATUS_OK;
}

Status
onnx_read_locals(OnnxImport *import, const SliceList *functions)
{
    for (size_t index = 0; index < functions->count; index++) {
        Slice key;
        OnnxLocal *local = arena_alloc(import->scratch, sizeof *local);
        if (local == NULL) {
            return call_fail_memory(import->call, "functions");
        }
        TRY(onnx_parse_function(import->call, import->scratch, functions->items[index], &local->proto));
        TRY(onnx_opset(import, &local->proto.opsets, &local->opset));
        TRY(local_key(import, local->proto.domain, local->proto.name, local->proto.overload, &key));
        if (!map_put(import->locals, key, local)) {
            return call_fail_memory(import->call, "functions");
        }
    }
    return STATUS_OK;
}

static OnnxLocal *
find_local(OnnxImport *import, const OnnxNodeProto *proto)
{
    Slice key;
    if (map_count(import->locals) == 0 ||
        local_key(import, proto->domain, proto->op_type, proto->overload, &key) != STATUS_OK) {
        return NULL;
    }
    return map_get(import->locals, key);
}

static const AttrValue *
find_bound(const OnnxImport *import, Slice attribute)
{
    assert(import->local != NULL);
    const OnnxNode *bound = &import->local->bound;
    for (size_t index = 0; index < bound->attr_count; index++) {
        if (slice_equal(bound->attrs[index].name, attribute)) {
            return &bound->attrs[index].value;
        }
    }
    return NULL;
}

/* Takes over the value that the caller bound to the function's attribute; without one the attribute is
 * left out. */
static Status
read_reference(OnnxImport *import, const OnnxAttributeProto *proto, OnnxNode *node)
{
    if (import->local == NULL) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT,
            "attribute '%.*s' refers to a function's attribute outside of one",
            SLICE_PRINT(slice_part(proto->name, 0, 64)));
    }
    const AttrValue *bound = find_bound(import, proto->reference);
    if (bound == NULL) {
        return STATUS_OK;
    }
    Attr *attr = &node->attrs[node->attr_count++];
    *attr = (Attr){.name = proto->name, .value = *bound};
    if (onnx_names_dtype(proto->name) && bound->kind == ATTR_INT && !bound->is_list) {
        attr->value.kind = ATTR_TYPE;
        return onnx_dtype(import, bound->value.i, proto->name, &attr->value.value.type);
    }
    return STATUS_OK;
}

/* Reads an attribute that is not a graph. The lists of trees, which are long, stay what they are: numbers
 * side by side, and names that are views. */
static Status
read_plain(OnnxImport *import, Slice bytes, const OnnxAttributeProto *proto, const OnnxNode *node,
    AttrValue *ret_value)
{
    return onnx_is_list_of_trees(node, proto->name) ? onnx_read_trees(import, bytes, proto, ret_value)
                                                    : onnx_read_value(import, bytes, proto, ret_value);
}

static Status
read_attr(OnnxImport *import, Slice bytes, OnnxNode *node)
{
    OnnxAttributeProto proto;
    TRY(onnx_parse_attribute(import->call, import->scratch, bytes, &proto));
    Slice shown = slice_part(proto.name, 0, 64);
    if (proto.reference.size > 0) {
        return read_reference(import, &proto, node);
    }
    AttrValue value = {.kind = ATTR_NONE};
    Status status = onnx_attribute_type(&proto) == ONNX_GRAPH
                        ? read_body(import, node, proto.name, proto.graph, &value)
                        : read_plain(import, bytes, &proto, node, &value);
    if (status != STATUS_OK) {
        return call_wrap(import->call, "attribute '%.*s'", SLICE_PRINT(shown));
    }
    node->attrs[node->attr_count++] = (Attr){.name = proto.name, .value = value};
    return STATUS_OK;
}

static Status
resolve_inputs(OnnxImport *import, const OnnxNodeProto *proto, OnnxNode *node)
{
    for (size_t index = 0; index < proto->inputs.count; index++) {
        Slice name = proto->inputs.items[index];
        const OnnxValue *value = NULL;
        TRY(name.size == 0 ? STATUS_OK : onnx_find(import, name, &value));
        if (name.size > 0 && value == NULL) {
            return call_fail(import->call, STATUS_INVALID_ARGUMENT, "input %zu '%.*s' is defined nowhere",
                index, SLICE_PRINT(slice_part(name, 0, 128)));
        }
        node->inputs[index] = value == NULL ? SLICE("") : value->tensor;
    }
    node->input_count = proto->inputs.count;
    return STATUS_OK;
}

/* Returns true for the default domain, which has two names. */
static bool
is_default(Slice domain)
{
    return domain.size == 0 || slice_equals_string(domain, "ai.onnx");
}

static Status
make_node(OnnxImport *import, const OnnxNodeProto *proto, Slice name, const char *pointer, OnnxNode *ret_node)
{
    Arena *scratch = import->scratch;
    *ret_node = (OnnxNode){.name = name,
        .type = proto->op_type,
        .is_default_domain = is_default(proto->domain),
        .inputs = arena_alloc(scratch, (proto->inputs.count + ONNX_NODE_ROOM) * sizeof(Slice)),
        .attrs = arena_alloc(scratch, (proto->attributes.count + ONNX_NODE_ROOM) * sizeof(Attr)),
        .output_count = proto->outputs.count,
        .pointer = pointer};
    if (!ret_node->is_default_domain) {
        const char *type = text_format(import->builder->def->arena, "%.*s::%.*s", SLICE_PRINT(proto->domain),
            SLICE_PRINT(proto->op_type));
        ret_node->type = slice_from_string(type);
    }
    if (ret_node->inputs == NULL || ret_node->attrs == NULL || ret_node->type.data == NULL) {
        return call_fail_memory(import->call, "nodes");
    }
    for (size_t index = 0; index < proto->attributes.count; index++) {
        TRY(read_attr(import, proto->attributes.items[index], ret_node));
    }
    TRY(resolve_inputs(import, proto, ret_node));
    return ret_node->captures == NULL ? STATUS_OK : add_captures(import, ret_node);
}

static Status
define_call(OnnxImport *import, const OnnxNodeProto *proto, Slice name)
{
    for (size_t index = 0; index < proto->outputs.count; index++) {
        if (proto->outputs.items[index].size > 0) {
            Slice output;
            TRY(onnx_part_name(import, name, "output", &output));
            TRY(onnx_define(import, proto->outputs.items[index], output, 0));
        }
    }
    return STATUS_OK;
}

/* Defines the function's inputs; those that the caller leaves out are absent inside too. */
static Status
define_arguments(OnnxImport *import, const OnnxLocal *local, const OnnxNode *node)
{
    const SliceList *inputs = &local->proto.inputs;
    if (node->input_count > inputs->count) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT,
            "the function takes %zu inputs, %zu are given", inputs->count, node->input_count);
    }
    for (size_t index = 0; index < inputs->count; index++) {
        Slice tensor = index < node->input_count ? node->inputs[index] : SLICE("");
        TRY(onnx_define(import, inputs->items[index], tensor, 0));
    }
    return STATUS_OK;
}

static Status
bind_defaults(OnnxImport *import, const OnnxLocal *local, OnnxNode *bound)
{
    const SliceList *defaults = &local->proto.defaults;
    Attr *attrs = arena_alloc(import->scratch, (bound->attr_count + defaults->count) * sizeof *attrs);
    if (attrs == NULL) {
        return call_fail_memory(import->call, "functions");
    }
    for (size_t index = 0; index < bound->attr_count; index++) {
        attrs[index] = bound->attrs[index];
    }
    bound->attrs = attrs;
    for (size_t index = 0; index < defaults->count; index++) {
        /* The first attribute of a name counts, which is the caller's. */
        TRY(read_attr(import, defaults->items[index], bound));
    }
    return STATUS_OK;
}

static Status
emit_output(OnnxImport *import, const OnnxLocal *local, const OnnxNode *node, Slice output, Slice name)
{
    const OnnxValue *value = NULL;
    TRY(onnx_find(import, output, &value));
    if (value == NULL) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT,
            "function '%.*s' does not define its output '%.*s'", SLICE_PRINT(local->proto.name),
            SLICE_PRINT(slice_part(output, 0, 128)));
    }
    Slice input = value->tensor;
    OnnxNode identity = {.name = name,
        .type = SLICE("Identity"),
        .is_default_domain = true,
        .inputs = &input,
        .input_count = 1,
        .pointer = node->pointer};
    return onnx_emit_node(import, &identity);
}

/* Writes out the nodes of a call. `names` are those that the caller expects the outputs at, "" for the
 * ones that it does not want. */
static Status
write_out(OnnxImport *import, OnnxLocal *local, const OnnxNode *node, const Slice *names)
{
    OnnxScope scope;
    OnnxScope *before = import->scope;
    TRY(onnx_scope_open(import, &scope, NULL, NULL));
    TRY(define_arguments(import, local, node));
    TRY(read_nodes(import, &local->proto.nodes, node->name, node->pointer));
    for (size_t index = 0; index < node->output_count; index++) {
        if (names[index].size > 0) {
            TRY(emit_output(import, local, node, local->proto.outputs.items[index], names[index]));
        }
    }
    onnx_scope_close(import, &scope, before);
    return STATUS_OK;
}

static Status
find_names(OnnxImport *import, const OnnxNodeProto *proto, Slice **ret_names)
{
    Slice *names = arena_alloc(import->scratch, proto->outputs.count * sizeof *names);
    if (names == NULL) {
        return call_fail_memory(import->call, "functions");
    }
    for (size_t index = 0; index < proto->outputs.count; index++) {
        const OnnxValue *value = NULL;
        if (proto->outputs.items[index].size > 0) {
            TRY(onnx_find(import, proto->outputs.items[index], &value));
            names[index] = value->tensor;
        }
    }
    *ret_names = names;
    return STATUS_OK;
}

static Status
check_call(OnnxImport *import, const OnnxLocal *local, const OnnxNodeProto *proto)
{
    if (local->is_open) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT, "function '%.*s' calls itself",
            SLICE_PRINT(slice_part(local->proto.name, 0, 128)));
    }
    if (proto->outputs.count > local->proto.outputs.count) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT, "the function has %zu outputs, not %zu",
            local->proto.outputs.count, proto->outputs.count);
    }
    return STATUS_OK;
}

static Status
write_out_call(
    OnnxImport *import, OnnxLocal *local, const OnnxNodeProto *proto, Slice name, const char *pointer)
{
    OnnxNode node;
    Slice *names = NULL;
    TRY(check_call(import, local, proto));
    TRY(make_node(import, proto, name, pointer, &node));
    if (node.captures != NULL) {
        return call_fail(
            import->call, STATUS_UNIMPLEMENTED, "a subgraph as a function's attribute cannot be imported");
    }
    TRY(find_names(import, proto, &names));
    int64_t opset = import->opset;
    local->outer = import->local;
    local->bound = node;
    local->is_open = true;
    TRY(bind_defaults(import, local, &local->bound));
    import->opset = local->opset == 0 ? opset : local->opset;
    import->local = local;
    TRY(write_out(import, local, &node, names));
    import->local = local->outer;
    import->opset = opset;
    local->is_open = false;
    return STATUS_OK;
}

static Status
import_node(OnnxImport *import, const OnnxNodeProto *proto, Slice name, const char *pointer)
{
    OnnxNode node;
    OnnxLocal *local = find_local(import, proto);
    if (local != NULL) {
        return write_out_call(import, local, proto, name, pointer);
    }
    TRY(make_node(import, proto, name, pointer, &node));
    TRY(onnx_spell_out(import, &node));
    if (!node.is_default_domain) {
        return onnx_emit_node(import, &node);
    }
    if (slice_equals_string(node.type, "Constant")) {
        return onnx_emit_constant(import, &node);
    }
    return onnx_adapt(import, &node);
}

static Status
read_node(OnnxImport *import, const OnnxNodeProto *proto, Slice name, const char *pointer)
{
    if (import_node(import, proto, name, pointer) != STATUS_OK) {
        return call_wrap(import->call, "node '%.*s' (%.*s)", SLICE_PRINT(slice_part(name, 0, 128)),
            SLICE_PRINT(slice_part(proto->op_type, 0, 64)));
    }
    return STATUS_OK;
}

static Slice
wanted_name(const OnnxNodeProto *proto)
{
    if (proto->name.size > 0) {
        return proto->name;
    }
    return proto->outputs.count > 0 && proto->outputs.items[0].size > 0 ? proto->outputs.items[0]
                                                                        : proto->op_type;
}

static Status
define_outputs(OnnxImport *import, const OnnxNodeProto *proto, Slice name)
{
    for (size_t port = 0; port < proto->outputs.count; port++) {
        if (proto->outputs.items[port].size > 0) {
            TRY(onnx_define(import, proto->outputs.items[port], name, port));
        }
    }
    return STATUS_OK;
}

/* Names a node, below the call's name when a function's nodes are written out, and defines its outputs. */
static Status
name_node(OnnxImport *import, const OnnxNodeProto *proto, Slice prefix, Slice *ret_name)
{
    Slice wanted = wanted_name(proto);
    if (prefix.size > 0) {
        const char *text =
            text_format(import->builder->def->arena, "%.*s/%.*s", SLICE_PRINT(prefix), SLICE_PRINT(wanted));
        if (text == NULL) {
            return call_fail_memory(import->call, "names");
        }
        wanted = slice_from_string(text);
    }
    TRY(onnx_name(import, wanted, ret_name));
    return find_local(import, proto) == NULL ? define_outputs(import, proto, *ret_name)
                                             : define_call(import, proto, *ret_name);
}

static Status
read_nodes(OnnxImport *import, const SliceList *nodes, Slice prefix, const char *pointer)
{
    size_t count = nodes->count;
    OnnxNodeProto *protos = arena_alloc(import->scratch, count * sizeof *protos);
    Slice *names = arena_alloc(import->scratch, count * sizeof *names);
    if (protos == NULL || names == NULL) {
        return call_fail_memory(import->call, "nodes");
    }
    for (size_t index = 0; index < count; index++) {
        TRY(onnx_parse_node(import->call, import->scratch, nodes->items[index], &protos[index]));
        TRY(name_node(import, &protos[index], prefix, &names[index]));
    }
    for (size_t index = 0; index < count; index++) {
        const char *node_pointer = text_format(import->builder->def->arena, "%s/node/%zu", pointer, index);
        if (node_pointer == NULL) {
            return call_fail_memory(import->call, "nodes");
        }
        TRY(read_node(import, &protos[index], names[index], node_pointer));
    }
    return STATUS_OK;
}

Status
onnx_graph(OnnxImport *import, Slice bytes)
{
    assert(import->scope != NULL);
    OnnxGraphProto graph;
    AUTO_MAP initialized = map_new();
    if (initialized == NULL) {
        return call_fail_memory(import->call, "initializers");
    }
    TRY(onnx_parse_graph(import->call, import->scratch, bytes, &graph));
    if (graph.sparse_initializers.count > 0) {
        return call_fail(import->call, STATUS_UNIMPLEMENTED, "sparse initializers cannot be imported yet");
    }
    TRY(import_initializers(import, &graph, initialized));
    TRY(read_nodes(import, &graph.nodes, SLICE(""), "/graph"));
    return import_outputs(import, &graph);
}
