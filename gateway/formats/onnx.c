/* The import in order:
 *   1. the model, its graph, opsets and functions are read as views
 *   2. graph inputs take their names; initializers and nodes take theirs, and define their values
 *   3. Placeholder and Const nodes are emitted, then each node, its inputs resolved and its operator brought
 *      to the newest version
 *   4. the model's outputs become ports
 * A node may use values of later nodes: ONNX forbids it, but the linker orders nodes anyway. */
#include "gateway/formats/onnx.h"

#include <assert.h>

#include "gateway/formats/onnx_import.h"

/* Reads the model's opset. A model all of whose nodes are calls of its functions may leave its own out. */
static Status
read_opset(OnnxImport *import, const OnnxModelProto *model)
{
    TRY(onnx_opset(import, &model->opsets, &import->opset));
    if (import->opset == 0 && model->functions.count == 0) {
        return call_fail(import->call, STATUS_UNIMPLEMENTED, "the model imports opset 0, not %d to %d",
            ONNX_OPSET_MIN, ONNX_OPSET_MAX);
    }
    return STATUS_OK;
}

static Status
import_model(OnnxImport *import, Slice graph)
{
    OnnxScope scope;
    GraphDef *def = import->builder->def;
    TRY(onnx_scope_open(import, &scope, NULL, NULL));
    TRY(onnx_graph(import, graph));
    onnx_scope_close(import, &scope, NULL);
    TRY(BUILDER_TAKE(import->builder, 0, &def->nodes, &def->node_count));
    void *functions = NULL;
    TRY(builder_alloc(import->builder, 1, import->functions.size, &functions));
    if (import->functions.size > 0) {
        memcpy(functions, import->functions.data, import->functions.size);
    }
    def->functions = functions;
    def->function_count = import->functions.size / sizeof(FunctionDef);
    return STATUS_OK;
}

static void
import_done(OnnxImport *import)
{
    buffer_done(&import->functions);
}

Status
onnx_read(Call *call, TensorBuffer *source, GraphDef **ret_def)
{
    assert(source != NULL && ret_def != NULL);
    enum { SCRATCH_SIZE_MIN = 16 << 20, SCRATCH_FACTOR = 16 };
    AUTO_GRAPH_BUILDER builder;
    TRY(builder_begin(&builder, call, source->size));
    AUTO_ARENA scratch = arena_new(SCRATCH_SIZE_MIN + source->size * SCRATCH_FACTOR);
    AUTO_MAP names = map_new();
    AUTO_MAP constants = map_new();
    AUTO_MAP locals = map_new();
    if (scratch == NULL || names == NULL || constants == NULL || locals == NULL) {
        return call_fail_memory(call, "the model");
    }
    builder.def->source = tensor_buffer_ref(source);
    CLEANUP(import_done)
    OnnxImport import = {.call = call,
        .builder = &builder,
        .scratch = scratch,
        .source = source,
        .names = names,
        .constants = constants,
        .locals = locals};
    OnnxModelProto model;
    TRY(onnx_parse_model(call, scratch, slice_of(source->data, source->size), &model));
    if (model.graph.data == NULL) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the model has no graph; is it ONNX?");
    }
    TRY(read_opset(&import, &model));
    TRY(onnx_read_locals(&import, &model.functions));
    TRY(import_model(&import, model.graph));
    *ret_def = builder_finish(&builder);
    return STATUS_OK;
}
