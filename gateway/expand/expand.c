#include <assert.h>

#include "gateway/expand/expand.h"

#include "gateway/expand/emission.h"
#include "gateway/expand/form.h"
#include "gateway/expand/recursion.h"

enum { DEF_SIZE_MAX = 1 << 30 };

static const Form forms[] = {
    {"PartitionedCall", call_count_outputs, call_expand},
    {"StatefulPartitionedCall", call_count_outputs, call_expand},
    {"If", branch_count_outputs, if_expand},
    {"StatelessIf", branch_count_outputs, if_expand},
    {"Case", branch_count_outputs, case_expand},
    {"StatelessCase", branch_count_outputs, case_expand},
    {"While", while_count_outputs, while_expand},
    {"StatelessWhile", while_count_outputs, while_expand},
    {"onnx::If", onnx_if_count_outputs, onnx_if_expand},
    {"onnx::Loop", onnx_loop_count_outputs, onnx_loop_expand},
    {"onnx::Scan", onnx_scan_count_outputs, onnx_scan_expand},
};

static const Form call_form = {NULL, call_count_outputs, call_expand};

static bool
needs_expansion(const Expansion *expansion)
{
    for (size_t index = 0; index < expansion->source->node_count; index++) {
        if (expand_form(expansion, expansion->source->nodes[index].op) != NULL) {
            return true;
        }
    }
    return false;
}

/* The first of two functions with one name is used. */
static Status
index_functions(Expansion *expansion)
{
    size_t count = expansion->source->function_count;
    expansion->library = expand_scratch(expansion, count, sizeof *expansion->library);
    expansion->library_names = expand_scratch(expansion, count, sizeof *expansion->library_names);
    if (expansion->library == NULL || expansion->library_names == NULL) {
        return expand_no_memory(expansion);
    }
    for (size_t index = 0; index < count; index++) {
        FunctionDef *function = &expansion->library[index];
        *function = expansion->source->functions[index];
        if (map_get(expansion->functions, function->name) == NULL &&
            !map_put(expansion->functions, function->name, function)) {
            return expand_no_memory(expansion);
        }
    }
    return STATUS_OK;
}

static Status
emit_port(const Scope *scope, Slice name, const char *op, Slice input, Dtype dtype, size_t index)
{
    Emission node;
    TRY(emission_begin(&node, scope, name, op, 1));
    emission_input(&node, input);
    emission_type(&node, "T", dtype);
    emission_int(&node, "index", (int64_t)index);
    return emission_end(&node);
}

static Status
emit_arguments(const Scope *scope, Slice body, const FunctionDef *function, Endpoints *ret_arguments)
{
    TRY(endpoints_new(scope->expansion, function->input_count, ret_arguments));
    for (size_t index = 0; index < function->input_count; index++) {
        Slice *name = &ret_arguments->items[index];
        TRY(expand_item(scope->expansion, body, "arg_", index, name));
        TRY(emit_port(scope, *name, "_Arg", SLICE(""), function->inputs[index].dtype, index));
    }
    return STATUS_OK;
}

/* Writes the body with names that begin with '_', which no author can use. */
static Status
write_called_body(Expansion *expansion, const Recursion *recursion)
{
    Scope scope = {.expansion = expansion, .path = SLICE(""), .device = SLICE(""), .pivot = SLICE("")};
    Member member = {.name = recursion->name};
    Endpoints arguments;
    Used used;
    TRY(emit_arguments(&scope, recursion->name, recursion->function, &arguments));
    Use use = {.member = &member,
        .function = recursion->function->name,
        .part = "",
        .pivot = SLICE(""),
        .arguments = &arguments,
        .only_asked = recursion->function->control_return_count > 0};
    TRY(expand_use(&scope, &use, &used));
    for (size_t index = 0; index < used.outputs.count; index++) {
        Slice name;
        TRY(expand_item(expansion, recursion->name, "retval_", index, &name));
        TRY(emit_port(&scope, name, "_Retval", used.outputs.items[index], used.dtypes[index], index));
    }
    return STATUS_OK;
}

/* Moves the nodes that were written since `first` to the function. */
static Status
move_nodes_to_body(Expansion *expansion, size_t first, Recursion *recursion)
{
    recursion->node_count = expansion->node_count - first;
    recursion->nodes = expand_alloc(expansion, recursion->node_count, sizeof(NodeDef));
    if (recursion->nodes == NULL) {
        return expand_no_memory(expansion);
    }
    memcpy(recursion->nodes, (const NodeDef *)(const void *)expansion->nodes.data + first,
        recursion->node_count * sizeof(NodeDef));
    return STATUS_OK;
}

static Status
write_functions(Expansion *expansion)
{
    size_t count = recursion_count(expansion);
    FunctionDef *functions = expand_alloc(expansion, count, sizeof *functions);
    if (functions == NULL) {
        return expand_no_memory(expansion);
    }
    for (size_t index = 0; index < count; index++) {
        const Recursion *recursion = recursion_at(expansion, index);
        functions[index] = (FunctionDef){.name = recursion->name,
            .is_stateful = recursion->has_state,
            .nodes = recursion->nodes,
            .node_count = recursion->node_count};
    }
    expansion->def->functions = functions;
    expansion->def->function_count = count;
    return STATUS_OK;
}

/* A body may call further functions, which extends the list. */
static Status
write_called_bodies(Expansion *expansion)
{
    size_t graph_nodes = expansion->node_count;
    for (size_t index = 0; index < recursion_count(expansion); index++) {
        size_t first = expansion->node_count;
        Recursion recursion = *recursion_at(expansion, index);
        TRY(write_called_body(expansion, &recursion));
        TRY(move_nodes_to_body(expansion, first, recursion_at(expansion, index)));
    }
    expansion->node_count = graph_nodes;
    return write_functions(expansion);
}

static Status
expand_graph(Expansion *expansion)
{
    Scope graph = {.expansion = expansion, .path = SLICE(""), .device = SLICE(""), .pivot = SLICE("")};
    TRY(scope_open(&graph, expansion->source->nodes, expansion->source->node_count));
    TRY(scope_write(&graph));
    return write_called_bodies(expansion);
}

static Status
write_result(Expansion *expansion)
{
    const GraphDef *source = expansion->source;
    GraphDef *def = expansion->def;
    NodeDef *nodes = expand_alloc(expansion, expansion->node_count, sizeof *nodes);
    if (nodes == NULL) {
        return expand_no_memory(expansion);
    }
    memcpy(nodes, expansion->nodes.data, expansion->node_count * sizeof *nodes);
    def->nodes = nodes;
    def->node_count = expansion->node_count;
    def->producer = source->producer;
    def->min_consumer = source->min_consumer;
    def->inputs = source->inputs;
    def->input_count = source->input_count;
    def->outputs = source->outputs;
    def->output_count = source->output_count;
    def->warnings = source->warnings;
    def->warning_count = source->warning_count;
    return STATUS_OK;
}

static void
expansion_done(Expansion *expansion)
{
    buffer_done(&expansion->nodes);
    buffer_done(&expansion->recursions);
    graph_def_unref(expansion->def);
}

Status
graph_expand(Call *call, GraphDef *def, uint64_t node_count_max, GraphDef **ret_def)
{
    assert(call->arena != NULL && def != NULL);
    AUTO_MAP functions = map_new();
    AUTO_MAP names = map_new();
    CLEANUP(expansion_done)
    Expansion expansion = {.call = call,
        .source = def,
        .forms = forms,
        .form_count = COUNT_OF(forms),
        .call_form = &call_form,
        .functions = functions,
        .names = names,
        .node_count_max = node_count_max};
    if (functions == NULL || names == NULL) {
        return expand_no_memory(&expansion);
    }
    TRY(index_functions(&expansion));
    if (!needs_expansion(&expansion)) {
        *ret_def = graph_def_ref(def);
        return STATUS_OK;
    }
    expansion.def = graph_def_new(DEF_SIZE_MAX);
    if (expansion.def == NULL) {
        return expand_no_memory(&expansion);
    }
    expansion.def->origin = graph_def_ref(def);
    TRY(expand_graph(&expansion));
    TRY(write_result(&expansion));
    *ret_def = TAKE(expansion.def);
    return STATUS_OK;
}
