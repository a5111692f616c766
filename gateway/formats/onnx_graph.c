/* A graph of the model: what it takes and gives, its constants, its nodes. */
#include "gateway/formats/onnx_import.h"
#include "shared/base/text.h"

/* --- Values of the model -------------------------------------------------------------------------------- */

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

Status
onnx_port(OnnxImport *import, Slice bytes, GraphPort *ret_port)
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
    Attr *const attrs = memory;
    attrs[0] = (Attr){.name = SLICE("dtype"), .value = {.kind = ATTR_TYPE, .value.type = port->dtype}};
    attrs[1] = (Attr){.name = SLICE("shape"), .value = {.kind = ATTR_SHAPE, .value.shape = port->shape}};
    const NodeDef def = {
        .name = name, .op = SLICE("Placeholder"), .device = SLICE(""), .attrs = attrs, .attr_count = 2};
    return onnx_emit(import, &def);
}

/* What an initializer shares its name with is no input but has a value (IR 3 lists them all as inputs). */
static Status
import_inputs(OnnxImport *import, const OnnxGraphProto *graph, Map *initialized)
{
    void *memory = NULL;
    TRY(builder_alloc(import->builder, graph->inputs.count, sizeof(GraphPort), &memory));
    GraphPort *const ports = memory;
    size_t count = 0;
    for (size_t index = 0; index < graph->inputs.count; index++) {
        GraphPort *const port = &ports[count];
        TRY(onnx_port(import, graph->inputs.items[index], port));
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

Status
onnx_initializers(OnnxImport *import, const OnnxGraphProto *graph, Map *ret_names)
{
    void *memory = NULL;
    TRY(builder_alloc(import->builder, graph->initializers.count, sizeof(Tensor), &memory));
    Tensor *const tensors = memory;
    Slice *const names = arena_alloc(import->scratch, graph->initializers.count * sizeof *names);
    if (names == NULL) {
        return call_fail_memory(import->call, "initializers");
    }
    TRY(name_initializers(import, graph, ret_names, tensors, names));
    /* Inputs take their names first: they are what a user says. */
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
    GraphPort *const ports = memory;
    for (size_t index = 0; index < graph->outputs.count; index++) {
        TRY(onnx_port(import, graph->outputs.items[index], &ports[index]));
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

/* --- Nodes ---------------------------------------------------------------------------------------------- */

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

/* Below the call's name when a function's nodes are written out. */
static Status
name_node(OnnxImport *import, const OnnxNodeProto *proto, Slice prefix, Slice *ret_name)
{
    Slice wanted = wanted_name(proto);
    if (prefix.size > 0) {
        const char *const text =
            text_format(import->builder->def->arena, "%.*s/%.*s", SLICE_PRINT(prefix), SLICE_PRINT(wanted));
        if (text == NULL) {
            return call_fail_memory(import->call, "names");
        }
        wanted = slice_from_string(text);
    }
    TRY(onnx_name(import, wanted, ret_name));
    return onnx_find_local(import, proto) == NULL ? define_outputs(import, proto, *ret_name)
                                                  : onnx_define_call(import, proto, *ret_name);
}

Status
onnx_nodes(OnnxImport *import, const SliceList *nodes, Slice prefix, const char *pointer)
{
    const size_t count = nodes->count;
    OnnxNodeProto *const protos = arena_alloc(import->scratch, count * sizeof *protos);
    Slice *const names = arena_alloc(import->scratch, count * sizeof *names);
    if (protos == NULL || names == NULL) {
        return call_fail_memory(import->call, "nodes");
    }
    for (size_t index = 0; index < count; index++) {
        TRY(onnx_parse_node(import->call, import->scratch, nodes->items[index], &protos[index]));
        TRY(name_node(import, &protos[index], prefix, &names[index]));
    }
    for (size_t index = 0; index < count; index++) {
        const char *const place = text_format(import->builder->def->arena, "%s/node/%zu", pointer, index);
        if (place == NULL) {
            return call_fail_memory(import->call, "nodes");
        }
        TRY(onnx_node(import, &protos[index], names[index], place));
    }
    return STATUS_OK;
}

Status
onnx_graph(OnnxImport *import, Slice bytes)
{
    OnnxGraphProto graph;
    AUTO_MAP initialized = map_new();
    if (initialized == NULL) {
        return call_fail_memory(import->call, "initializers");
    }
    TRY(onnx_parse_graph(import->call, import->scratch, bytes, &graph));
    if (graph.sparse_initializers.count > 0) {
        return call_fail(import->call, STATUS_UNIMPLEMENTED, "sparse initializers cannot be imported yet");
    }
    TRY(onnx_initializers(import, &graph, initialized));
    TRY(onnx_nodes(import, &graph.nodes, SLICE(""), "/graph"));
    return import_outputs(import, &graph);
}
