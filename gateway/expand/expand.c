#include "gateway/expand/expansion.h"

enum { DEF_SIZE_MAX = 1 << 30 };

/* --- Which nodes stand for more than themselves --------------------------------------------------------- */

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

static const Form call_by_name = {NULL, call_count_outputs, call_expand};

/* A function goes before an op of its name. */
const Form *
form_find(const Expansion *expansion, Slice op)
{
    if (map_get(expansion->functions, op) != NULL) {
        return &call_by_name;
    }
    for (size_t index = 0; index < COUNT_OF(forms); index++) {
        if (slice_equals_string(op, forms[index].op)) {
            return &forms[index];
        }
    }
    return NULL;
}

/* --- The graph ------------------------------------------------------------------------------------------ */

static bool
needs_expansion(const Expansion *expansion)
{
    for (size_t index = 0; index < expansion->source->node_count; index++) {
        if (form_find(expansion, expansion->source->nodes[index].op) != NULL) {
            return true;
        }
    }
    return false;
}

/* Of two functions with one name the first counts. */
static Status
index_functions(Expansion *expansion)
{
    const size_t count = expansion->source->function_count;
    expansion->library = expand_scratch(expansion, count, sizeof *expansion->library);
    if (expansion->library == NULL) {
        return expand_no_memory(expansion);
    }
    for (size_t index = 0; index < count; index++) {
        FunctionDef *const function = &expansion->library[index];
        *function = expansion->source->functions[index];
        if (map_get(expansion->functions, function->name) == NULL &&
            !map_put(expansion->functions, function->name, function)) {
            return expand_no_memory(expansion);
        }
    }
    return STATUS_OK;
}

static Status
expand_graph(Expansion *expansion)
{
    Scope graph = {.expansion = expansion, .path = SLICE(""), .device = SLICE(""), .pivot = SLICE("")};
    TRY(scope_open(&graph, expansion->source->nodes, expansion->source->node_count));
    TRY(scope_write(&graph));
    return recursions_write(expansion);
}

static Status
write_result(Expansion *expansion)
{
    const GraphDef *const source = expansion->source;
    GraphDef *const def = expansion->def;
    NodeDef *const nodes = expand_alloc(expansion, expansion->node_count, sizeof *nodes);
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
    AUTO_MAP functions = map_new();
    AUTO_MAP names = map_new();
    CLEANUP(expansion_done)
    Expansion expansion = {.call = call,
        .source = def,
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
