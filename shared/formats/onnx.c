/* The import in order:
 *   1. views of the model, its graph and opsets
 *   2. graph inputs take their names; initializers and nodes take theirs, and define their values
 *   3. Placeholder and Const nodes, then each node, its inputs resolved and brought to the newest version
 *   4. the model's outputs as ports
 * A node may use values of later nodes: ONNX forbids it, but the linker orders nodes anyway. */
#include "shared/formats/onnx.h"

#include "shared/base/text.h"
#include "shared/formats/onnx_import.h"

/* --- Opsets --------------------------------------------------------------------------------------------- */

static Status
read_opset(OnnxImport *import, const OnnxModelProto *model)
{
    for (size_t index = 0; index < model->opsets.count; index++) {
        Slice domain;
        int64_t version = 0;
        TRY(onnx_parse_opset(import->call, model->opsets.items[index], &domain, &version));
        if (domain.size == 0 || slice_equals_string(domain, "ai.onnx")) {
            import->opset = version;
        }
    }
    if (import->opset < ONNX_OPSET_MIN || import->opset > ONNX_OPSET_MAX) {
        return call_fail(import->call, STATUS_UNIMPLEMENTED, "the model imports opset %lld, not %d to %d",
            (long long)import->opset, ONNX_OPSET_MIN, ONNX_OPSET_MAX);
    }
    if (model->functions.count > 0) {
        return call_fail(import->call, STATUS_UNIMPLEMENTED, "model-local functions cannot be imported yet");
    }
    return STATUS_OK;
}

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
import_initializers(OnnxImport *import, const OnnxGraphProto *graph, Map *initialized)
{
    void *memory = NULL;
    TRY(builder_alloc(import->builder, graph->initializers.count, sizeof(Tensor), &memory));
    Tensor *const tensors = memory;
    Slice *const names = arena_alloc(import->scratch, graph->initializers.count * sizeof *names);
    if (names == NULL) {
        return call_fail_memory(import->call, "initializers");
    }
    for (size_t index = 0; index < graph->initializers.count; index++) {
        TRY(onnx_tensor(import, graph->initializers.items[index], &tensors[index], &names[index]));
        if (!map_put(initialized, names[index], &tensors[index])) {
            return call_fail_memory(import->call, "initializers");
        }
    }
    TRY(import_inputs(import, graph, initialized));
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
        TRY(read_port(import, graph->outputs.items[index], &ports[index]));
        const OnnxValue *const value = onnx_find(import, ports[index].name);
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

static Status
import_nodes(OnnxImport *import, const OnnxGraphProto *graph)
{
    const size_t count = graph->nodes.count;
    OnnxNodeProto *const protos = arena_alloc(import->scratch, count * sizeof *protos);
    Slice *const names = arena_alloc(import->scratch, count * sizeof *names);
    if (protos == NULL || names == NULL) {
        return call_fail_memory(import->call, "nodes");
    }
    for (size_t index = 0; index < count; index++) {
        TRY(onnx_parse_node(import->call, import->scratch, graph->nodes.items[index], &protos[index]));
        TRY(onnx_name(import, wanted_name(&protos[index]), &names[index]));
        TRY(define_outputs(import, &protos[index], names[index]));
    }
    for (size_t index = 0; index < count; index++) {
        const char *const pointer = text_format(import->builder->def->arena, "/graph/node/%zu", index);
        if (pointer == NULL) {
            return call_fail_memory(import->call, "nodes");
        }
        TRY(onnx_node(import, &protos[index], names[index], pointer));
    }
    return STATUS_OK;
}

static Status
import_graph(OnnxImport *import, Slice bytes)
{
    OnnxGraphProto graph;
    GraphDef *const def = import->builder->def;
    AUTO_MAP initialized = map_new();
    if (initialized == NULL) {
        return call_fail_memory(import->call, "initializers");
    }
    TRY(onnx_parse_graph(import->call, import->scratch, bytes, &graph));
    if (graph.sparse_initializers.count > 0) {
        return call_fail(import->call, STATUS_UNIMPLEMENTED, "sparse initializers cannot be imported yet");
    }
    TRY(import_initializers(import, &graph, initialized));
    TRY(import_nodes(import, &graph));
    TRY(import_outputs(import, &graph));
    return BUILDER_TAKE(import->builder, 0, &def->nodes, &def->node_count);
}

Status
onnx_read(Call *call, TensorBuffer *source, GraphDef **ret_def)
{
    enum { SCRATCH_SIZE_MIN = 16 << 20, SCRATCH_FACTOR = 16 };
    AUTO_GRAPH_BUILDER builder;
    TRY(builder_begin(&builder, call, source->size));
    AUTO_ARENA scratch = arena_new(SCRATCH_SIZE_MIN + source->size * SCRATCH_FACTOR);
    AUTO_MAP names = map_new();
    AUTO_MAP values = map_new();
    if (scratch == NULL || names == NULL || values == NULL) {
        return call_fail_memory(call, "the model");
    }
    builder.def->source = tensor_buffer_ref(source);
    OnnxImport import = {.call = call,
        .builder = &builder,
        .scratch = scratch,
        .source = source,
        .names = names,
        .values = values};
    OnnxModelProto model;
    TRY(onnx_parse_model(call, scratch, slice_of(source->data, source->size), &model));
    if (model.graph.data == NULL) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the model has no graph; is it ONNX?");
    }
    TRY(read_opset(&import, &model));
    TRY(import_graph(&import, model.graph));
    *ret_def = builder_finish(&builder);
    return STATUS_OK;
}
