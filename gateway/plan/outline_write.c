/* Every node goes home: into the graph or into a branch's function.
 *
 *   1. Branches' nodes, as they were. What they read from outside becomes an argument of their call; a
 * constant is copied instead. Nothing waits for pivots any more, so that constants behind them are constants
 * again.
 *   2. Call by call, inner ones first: the branches' results and arguments, then the call itself where its
 *      branching was. What it reads may be an argument of the call around it.
 *   3. The graph's own nodes, as far as they are read still. It is linked, and what is known of its nodes
 *      carried over. */
#include "gateway/plan/outline_write.h"

#include <assert.h>

#include "shared/base/text.h"
#include "shared/ops/registry.h"

enum { DEF_SIZE_MAX = 1 << 30 };

/* --- 1. Nodes ------------------------------------------------------------------------------------- */

static void
write_plain(Writing *writing, const Node *node)
{
    const uint32_t home = node_home(writing, node->id);
    if (is_dropped_switch(writing, node->id) || is_call_output(writing, node->id)) {
        return;
    }
    NodeDef def = {.name = node->name,
        .op = node->op->name,
        .device = node->def->device,
        .attrs = node->attrs,
        .attr_count = node->attr_count,
        .pointer = node->def->pointer};
    const Reading reading = {.home = home,
        .inputs = node->inputs,
        .input_count = node->input_count,
        .controls = node->controls,
        .control_count = node->control_count};
    outline_inputs(writing, &reading, &def);
    if (home == HOME_GRAPH) {
        writing->plain[node->id] = def;
        writing->is_plain[node->id] = true;
    } else {
        outline_append(writing, home, &def);
    }
}

static void
write_branches(Writing *writing)
{
    for (uint32_t id = 0; id < writing->graph->node_count; id++) {
        const uint32_t home = node_home(writing, id);
        const bool is_useless = is_pivot(writing, id) && !writing->has_data_readers[id];
        if (home != HOME_GRAPH && home != HOME_NONE && !is_useless) {
            write_plain(writing, &writing->graph->nodes[id]);
        }
    }
}

/* Readers come before what they read. What has gone into functions with all its readers is left out. */
static void
write_graph(Writing *writing)
{
    for (uint32_t place = writing->graph->node_count; place-- > 0;) {
        const Node *const node = &writing->graph->nodes[writing->graph->order[place]];
        const bool is_kept = writing->outline->compile->is_target[node->id] || op_is(node, "_Retval") ||
                             op_is(node, "NextIteration") || writing->is_read[node->id];
        if (is_kept && node_home(writing, node->id) == HOME_GRAPH) {
            write_plain(writing, node);
        }
    }
}

/* --- 3. The graph that is left -------------------------------------------------------------------------- */

static void
assemble(Writing *writing)
{
    const Buffer *const calls = &writing->homes[HOME_GRAPH].nodes;
    const size_t call_count = calls->size / sizeof(NodeDef);
    NodeDef *const nodes = outline_alloc(writing, writing->graph->node_count + call_count, sizeof *nodes);
    size_t count = 0;
    for (uint32_t id = 0; nodes != NULL && id < writing->graph->node_count; id++) {
        if (writing->is_plain[id]) {
            nodes[count++] = writing->plain[id];
        }
    }
    if (nodes != NULL && call_count > 0) {
        memcpy(nodes + count, calls->data, calls->size);
    }
    writing->def->nodes = nodes;
    writing->def->node_count = count + call_count;
    writing->def->functions = writing->functions;
    writing->def->function_count = writing->function_count;
    writing->def->producer = writing->graph->def->producer;
    writing->def->min_consumer = writing->graph->def->min_consumer;
}

static void
graph_release(void *graph)
{
    graph_unref(graph);
}

static Status
link_graph(const Writing *writing, Graph **ret_graph)
{
    const Compile *const compile = writing->outline->compile;
    const GraphLimits limits = {.node_count_max = writing->def->node_count, .allows_internal = true};
    Graph *graph = NULL;
    TRY(graph_link(compile->call, writing->def, op_find, limits, &graph));
    if (arena_defer(compile->call->arena, graph_release, graph) == NULL) {
        graph_unref(graph);
        return compile_no_memory(compile);
    }
    *ret_graph = graph;
    return STATUS_OK;
}

/* What is known of each node, by its new id. */
typedef struct Known {
    const Node **origins;
    uint32_t *ports;
    bool *is_target;
    const Shape **shapes;
    CallWeight *inside;
    PlanChange *calls;
    size_t call_count;
} Known;

static CallWeight
call_weight(const Candidate *candidate, uint32_t branch_count, uint32_t *ret_node_count)
{
    CallWeight weight = {0};
    *ret_node_count = 0;
    for (uint32_t branch = 0; branch < branch_count; branch++) {
        const BranchWeight *const one = &candidate->weights[branch];
        *ret_node_count += one->node_count;
        weight.constant_bytes += one->constant_bytes;
        weight.cost = one->cost > weight.cost ? one->cost : weight.cost;
    }
    return weight;
}

static Status
know_call(const Writing *writing, uint32_t branching, const Node *node, Known *known)
{
    Compile *const compile = writing->outline->compile;
    const Candidate *const candidate = &writing->outline->candidates[branching];
    const uint32_t branch_count = writing->outline->conditions.branchings[branching].test_count + 1;
    Shape *const shapes = compile_alloc(compile, node->output_count, sizeof *shapes);
    uint32_t node_count = 0;
    if (shapes == NULL) {
        return compile_no_memory(compile);
    }
    for (uint32_t index = 0; index < node->output_count; index++) {
        shapes[index] = compile->shapes[candidate_output(candidate, index)][0];
    }
    known->shapes[node->id] = shapes;
    known->origins[node->id] = compile->origins[candidate_output(candidate, 0)];
    known->inside[node->id] = call_weight(candidate, branch_count, &node_count);
    const char *const reason = text_format(compile->call->arena,
        "called when it is taken: %u branches with %u nodes and %llu bytes of constants", branch_count,
        node_count, (unsigned long long)known->inside[node->id].constant_bytes);
    if (reason == NULL) {
        return compile_no_memory(compile);
    }
    known->calls[known->call_count++] =
        (PlanChange){.pass = "lazy_branches", .node = node->name, .reason = slice_from_string(reason)};
    return STATUS_OK;
}

static void
know_plain(const Writing *writing, uint32_t before, uint32_t id, const Known *known)
{
    const Compile *const compile = writing->outline->compile;
    known->origins[id] = compile->origins[before];
    known->ports[id] = compile->ports[before];
    known->is_target[id] = compile->is_target[before];
    known->shapes[id] = compile->shapes[before];
}

static Status
alloc_known(const Compile *compile, uint32_t count, uint32_t call_count, Known *ret_known)
{
    *ret_known = (Known){
        .origins = compile_alloc(compile, count, sizeof(const Node *)),
        .ports = compile_alloc(compile, count, sizeof(uint32_t)),
        .is_target = compile_alloc(compile, count, sizeof(bool)),
        .shapes = compile_alloc(compile, count, sizeof(const Shape *)),
        .inside = compile_alloc(compile, count, sizeof(CallWeight)),
        .calls = compile_alloc(compile, call_count, sizeof(PlanChange)),
    };
    const bool is_all = ret_known->origins != NULL && ret_known->ports != NULL &&
                        ret_known->is_target != NULL && ret_known->shapes != NULL &&
                        ret_known->inside != NULL && ret_known->calls != NULL;
    return is_all ? STATUS_OK : compile_no_memory(compile);
}

/* Plain nodes stand first, in the old order; calls behind them. */
static Status
carry_over(const Writing *writing, Graph *graph)
{
    const Outline *const outline = writing->outline;
    Compile *const compile = outline->compile;
    Known known;
    uint32_t count = 0;
    TRY(alloc_known(compile, graph->node_count, outline->chosen_count, &known));
    for (uint32_t id = 0; id < writing->graph->node_count; id++) {
        if (writing->is_plain[id]) {
            know_plain(writing, id, count++, &known);
        }
    }
    for (uint32_t id = outline->conditions.branching_count; id-- > 0;) {
        const bool is_here = outline->candidates[id].is_chosen &&
                             home_of(outline, outline->conditions.branchings[id].parent) == HOME_GRAPH;
        TRY(is_here ? know_call(writing, id, &graph->nodes[count++], &known) : STATUS_OK);
    }
    compile->def = writing->def;
    compile->graph = graph;
    compile->origins = known.origins;
    compile->ports = known.ports;
    compile->is_target = known.is_target;
    compile->shapes = known.shapes;
    compile->inside = known.inside;
    compile->calls = known.calls;
    compile->call_count = known.call_count;
    return STATUS_OK;
}

/* --- All ------------------------------------------------------------------------------------------------ */

static void
note_readers(const Writing *writing, const Node *node)
{
    for (uint32_t index = 0; index < node->input_count; index++) {
        if (node->inputs[index].node != NODE_NONE) {
            writing->has_data_readers[node->inputs[index].node] = true;
        }
    }
}

static void
note_output(const Writing *writing, uint32_t id)
{
    if (is_call_output(writing, id)) {
        Candidate *const candidate = &writing->outline->candidates[writing->outline->conditions.merges[id]];
        writing->output_ports[id] = candidate_output_count(candidate);
        buffer_append(&candidate->outputs, &id, sizeof id);
    }
}

static void
graph_def_release(void *def)
{
    graph_def_unref(def);
}

static void
alloc_maps(Writing *writing)
{
    const Outline *const outline = writing->outline;
    for (uint32_t id = 0; id < outline->conditions.branching_count; id++) {
        Candidate *const candidate = &outline->candidates[id];
        if (candidate->is_chosen) {
            candidate->arg_map = compile_map(outline->compile);
            candidate->control_map = compile_map(outline->compile);
            writing->has_no_memory =
                writing->has_no_memory || candidate->arg_map == NULL || candidate->control_map == NULL;
        }
    }
}

static Status
alloc_writing(Outline *outline, Writing *writing)
{
    const Compile *const compile = outline->compile;
    const uint32_t count = compile->graph->node_count;
    GraphDef *const def = graph_def_new(DEF_SIZE_MAX);
    *writing = (Writing){.outline = outline,
        .graph = compile->graph,
        .def = def == NULL ? NULL : arena_defer(compile->call->arena, graph_def_release, def)};
    if (writing->def == NULL) {
        graph_def_unref(def);
        return compile_no_memory(compile);
    }
    writing->homes = outline_alloc(writing, outline->home_count, sizeof *writing->homes);
    writing->plain = outline_alloc(writing, count, sizeof *writing->plain);
    writing->is_plain = outline_alloc(writing, count, sizeof *writing->is_plain);
    writing->is_read = outline_alloc(writing, count, sizeof *writing->is_read);
    writing->has_data_readers = outline_alloc(writing, count, sizeof *writing->has_data_readers);
    writing->output_ports = outline_alloc(writing, count, sizeof *writing->output_ports);
    const size_t called = compile->def->function_count;
    writing->functions = outline_alloc(writing, outline->home_count + called, sizeof *writing->functions);
    if (writing->functions != NULL && called > 0) {
        memcpy(writing->functions, compile->def->functions, called * sizeof *writing->functions);
        writing->function_count = (uint32_t)called;
    }
    alloc_maps(writing);
    return writing->has_no_memory ? compile_no_memory(compile) : STATUS_OK;
}

static void
writing_done(Writing *writing)
{
    for (uint32_t home = 0; writing->homes != NULL && home < writing->outline->home_count; home++) {
        buffer_done(&writing->homes[home].nodes);
    }
}

static bool
are_lists_whole(const Outline *outline)
{
    bool is_ok = true;
    for (uint32_t id = 0; id < outline->conditions.branching_count; id++) {
        const Candidate *const candidate = &outline->candidates[id];
        is_ok = is_ok && buffer_is_ok(&candidate->args) && buffer_is_ok(&candidate->controls) &&
                buffer_is_ok(&candidate->outputs);
    }
    return is_ok;
}

Status
outline_write(Outline *outline)
{
    CLEANUP(writing_done) Writing writing = {.outline = outline};
    TRY(alloc_writing(outline, &writing));
    assert(writing.homes != NULL && writing.has_data_readers != NULL && writing.output_ports != NULL);
    for (uint32_t id = 0; id < writing.graph->node_count; id++) {
        note_readers(&writing, &writing.graph->nodes[id]);
        note_output(&writing, id);
    }
    write_branches(&writing);
    for (uint32_t id = outline->conditions.branching_count; id-- > 0;) {
        if (outline->candidates[id].is_chosen) {
            write_call(&writing, id);
        }
    }
    write_graph(&writing);
    assemble(&writing);
    if (writing.has_no_memory || !are_lists_whole(outline)) {
        return compile_no_memory(outline->compile);
    }
    Graph *graph = NULL;
    TRY(link_graph(&writing, &graph));
    assert(graph != NULL);
    return carry_over(&writing, graph);
}
