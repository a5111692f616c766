/* Moves every node to its home, which is the graph or the function of a branch.
 *
 *   1. The nodes of branches are written unchanged. A tensor that they read from outside becomes an argument
 *      of their call; a constant is copied instead. Control edges from pivots are dropped, so that constants
 *      behind pivots are plain constants again.
 *   2. The calls are written, inner ones first: results and arguments of the branches, then the call in the
 *      home of its branching. Its inputs may become arguments of the call around it.
 *   3. The graph's own nodes are written as far as anything still reads them. The graph is linked, and what
 *      is known of its nodes moves to their new ids. */
#include "gateway/plan/outline.h"

#include <assert.h>

#include "shared/base/text.h"

enum { DEF_SIZE_MAX = 1 << 30, CALL_ATTR_COUNT = 4 };

typedef struct Reading {
    uint32_t home;
    const Endpoint *inputs;
    uint32_t input_count;
    const uint32_t *controls;
    uint32_t control_count;
} Reading;

typedef struct Home {
    Buffer nodes;   /* NodeDef[]; of HOME_GRAPH the calls alone */
    Map *constants; /* constants that were copied into it, by id */
} Home;

typedef struct Writing {
    Outline *outline;
    const Graph *graph; /* the graph before */
    GraphDef *def;
    Home *homes;
    NodeDef *plain; /* by node that stays in the graph */
    bool *is_plain;
    bool *is_read; /* by node: a node in the graph reads it */
    bool *has_data_readers;
    uint32_t *output_ports; /* by Merge of a call: its output */
    FunctionDef *functions;
    uint32_t function_count;
    bool has_no_memory;
} Writing;

static Slice
made_text(Writing *writing, const char *made)
{
    writing->has_no_memory = writing->has_no_memory || made == NULL;
    return made == NULL ? SLICE("") : slice_from_string(made);
}

static void *
alloc_noted(Writing *writing, size_t count, size_t size)
{
    size_t total = 0;
    void *memory =
        __builtin_mul_overflow(count, size, &total) ? NULL : arena_alloc(writing->def->arena, total);
    writing->has_no_memory = writing->has_no_memory || memory == NULL;
    return memory;
}

static bool
is_called(const Writing *writing, uint32_t branching)
{
    return branching != BRANCHING_NONE && writing->outline->candidates[branching].is_chosen;
}

static bool
is_dropped_switch(const Writing *writing, uint32_t id)
{
    const Conditions *conditions = &writing->outline->conditions;
    uint32_t fork = conditions->switches[id];
    return fork != FORK_NONE && is_called(writing, conditions->forks[fork].branching);
}

static bool
is_call_output(const Writing *writing, uint32_t id)
{
    return is_called(writing, writing->outline->conditions.merges[id]);
}

static uint32_t
node_home(const Writing *writing, uint32_t id)
{
    return home_of(writing->outline, writing->outline->conditions.nodes[id]);
}

static Slice
node_name(const Writing *writing, uint32_t id)
{
    const Conditions *conditions = &writing->outline->conditions;
    return is_call_output(writing, id) ? conditions->branchings[conditions->merges[id]].name
                                       : writing->graph->nodes[id].name;
}

static bool
is_pivot(const Writing *writing, uint32_t id)
{
    const Node *node = &writing->graph->nodes[id];
    return op_is(node, "Identity") && node->control_count == 0 && node_home(writing, id) != HOME_GRAPH &&
           is_dropped_switch(writing, node->inputs[0].node);
}

static void
append_node(Writing *writing, uint32_t home, const NodeDef *def)
{
    Buffer *nodes = &writing->homes[home].nodes;
    buffer_append(nodes, def, sizeof *def);
    writing->has_no_memory = writing->has_no_memory || !buffer_is_ok(nodes);
}

static void
copy_constant(Writing *writing, uint32_t home, const Node *node)
{
    Slice key = slice_of(&node->id, sizeof node->id);
    Map **constants = &writing->homes[home].constants;
    if (*constants == NULL) {
        *constants = compile_map(writing->outline->compile);
    }
    if (*constants == NULL || map_get(*constants, key) != NULL) {
        writing->has_no_memory = writing->has_no_memory || *constants == NULL;
        return;
    }
    writing->has_no_memory = writing->has_no_memory || !map_put(*constants, key, writing);
    NodeDef def = {.name = node->name,
        .op = node->op->name,
        .device = node->def->device,
        .attrs = node->attrs,
        .attr_count = node->attr_count};
    append_node(writing, home, &def);
}

/* Returns the position of the endpoint among the arguments of the call. */
static uint32_t
find_or_add_arg(Writing *writing, Candidate *candidate, Endpoint endpoint)
{
    Slice key = slice_of(&endpoint, sizeof endpoint);
    uint32_t *number = map_get(candidate->arg_map, key);
    if (number == NULL) {
        number = alloc_noted(writing, 1, sizeof *number);
        if (number == NULL || !map_put(candidate->arg_map, key, number)) {
            writing->has_no_memory = true;
            return 0;
        }
        *number = (uint32_t)(candidate->args.size / sizeof endpoint);
        buffer_append(&candidate->args, &endpoint, sizeof endpoint);
    }
    return *number;
}

static Candidate *
home_owner(const Writing *writing, uint32_t home)
{
    assert(home != HOME_GRAPH && home != HOME_NONE);
    return &writing->outline->candidates[writing->outline->home_owners[home]];
}

static Slice
data_input(Writing *writing, uint32_t home, Endpoint source)
{
    if (source.node == NODE_NONE) {
        return SLICE("");
    }
    while (is_dropped_switch(writing, source.node)) {
        source = writing->graph->nodes[source.node].inputs[0];
    }
    const Node *node = &writing->graph->nodes[source.node];
    Arena *arena = writing->def->arena;
    if (home != HOME_GRAPH && node_is_loose_constant(node)) {
        copy_constant(writing, home, node);
    } else if (node_home(writing, node->id) != home) {
        return made_text(writing,
            text_format(arena, "_arg_%u", find_or_add_arg(writing, home_owner(writing, home), source)));
    }
    writing->is_read[node->id] = writing->is_read[node->id] || home == HOME_GRAPH;
    bool is_output = is_call_output(writing, node->id);
    uint32_t port = is_output ? writing->output_ports[node->id] : source.port;
    Slice name = node_name(writing, node->id);
    return port == 0 ? name : made_text(writing, text_format(arena, "%.*s:%u", SLICE_PRINT(name), port));
}

/* Makes the call around `home` wait for the node. */
static void
wait_outside(Writing *writing, uint32_t home, uint32_t source)
{
    Candidate *candidate = home_owner(writing, home);
    Slice key = slice_of(&source, sizeof source);
    if (map_get(candidate->control_map, key) == NULL) {
        writing->has_no_memory = writing->has_no_memory || !map_put(candidate->control_map, key, candidate);
        buffer_append(&candidate->controls, &source, sizeof source);
    }
}

/* Returns "" when the branch need not wait: it runs only when the node has run, or its call waits. */
static Slice
control_input(Writing *writing, uint32_t home, uint32_t source)
{
    bool is_constant = node_is_loose_constant(&writing->graph->nodes[source]);
    bool is_there = home != HOME_GRAPH && (is_constant || is_pivot(writing, source));
    if (is_there || is_dropped_switch(writing, source)) {
        return SLICE("");
    }
    if (!is_constant && node_home(writing, source) != home) {
        wait_outside(writing, home, source);
        return SLICE("");
    }
    writing->is_read[source] = true;
    return made_text(
        writing, text_format(writing->def->arena, "^%.*s", SLICE_PRINT(node_name(writing, source))));
}

static void
write_inputs(Writing *writing, const Reading *reading, NodeDef *def)
{
    Slice *inputs =
        alloc_noted(writing, (size_t)reading->input_count + reading->control_count, sizeof *inputs);
    for (uint32_t index = 0; inputs != NULL && index < reading->input_count; index++) {
        inputs[def->input_count++] = data_input(writing, reading->home, reading->inputs[index]);
    }
    for (uint32_t index = 0; inputs != NULL && index < reading->control_count; index++) {
        Slice control = control_input(writing, reading->home, reading->controls[index]);
        if (control.size > 0) {
            inputs[def->input_count++] = control;
        }
    }
    def->inputs = inputs;
}

static uint32_t
list_count(const Buffer *list, size_t size)
{
    return (uint32_t)(list->size / size);
}

static Endpoint
arg_at(const Candidate *candidate, uint32_t index)
{
    return ((const Endpoint *)(const void *)candidate->args.data)[index];
}

static uint32_t
candidate_output_count(const Candidate *candidate)
{
    return list_count(&candidate->outputs, sizeof(uint32_t));
}

static uint32_t
candidate_output(const Candidate *candidate, uint32_t index)
{
    return ((const uint32_t *)(const void *)candidate->outputs.data)[index];
}

static Dtype
dtype_of(const Writing *writing, Endpoint endpoint)
{
    return writing->graph->nodes[endpoint.node].output_dtypes[endpoint.port];
}

/* Returns the attributes T and index of an _Arg or _Retval. */
static const Attr *
port_attrs(Writing *writing, Dtype dtype, uint32_t index)
{
    Attr *attrs = alloc_noted(writing, 2, sizeof *attrs);
    if (attrs != NULL) {
        attrs[0] = (Attr){.name = SLICE("T"), .value = {.kind = ATTR_TYPE, .value.type = dtype}};
        attrs[1] = (Attr){.name = SLICE("index"), .value = {.kind = ATTR_INT, .value.i = index}};
    }
    return attrs;
}

static void
write_results(Writing *writing, const Candidate *candidate, uint32_t branch)
{
    uint32_t home = candidate->first_home + branch;
    for (uint32_t index = 0; index < candidate_output_count(candidate); index++) {
        const Node *merge = &writing->graph->nodes[candidate_output(candidate, index)];
        NodeDef def = {.name = made_text(writing, text_format(writing->def->arena, "_retval_%u", index)),
            .op = SLICE("_Retval"),
            .attrs = port_attrs(writing, merge->output_dtypes[0], index),
            .attr_count = 2};
        Reading reading = {.home = home, .inputs = &merge->inputs[branch], .input_count = 1};
        write_inputs(writing, &reading, &def);
        append_node(writing, home, &def);
    }
}

static void
write_arguments(Writing *writing, const Candidate *candidate, uint32_t home)
{
    for (uint32_t index = 0; index < list_count(&candidate->args, sizeof(Endpoint)); index++) {
        NodeDef def = {.name = made_text(writing, text_format(writing->def->arena, "_arg_%u", index)),
            .op = SLICE("_Arg"),
            .attrs = port_attrs(writing, dtype_of(writing, arg_at(candidate, index)), index),
            .attr_count = 2};
        append_node(writing, home, &def);
    }
}

/* Copies the home's nodes to the memory of the new graph. */
static const NodeDef *
take_nodes(Writing *writing, uint32_t home, size_t *ret_count)
{
    const Buffer *nodes = &writing->homes[home].nodes;
    NodeDef *copy = alloc_noted(writing, nodes->size, 1);
    if (copy != NULL && nodes->size > 0) {
        memcpy(copy, nodes->data, nodes->size);
    }
    *ret_count = nodes->size / sizeof(NodeDef);
    return copy;
}

static AttrValue *
new_list(Writing *writing, AttrKind kind, uint32_t count, AttrValue *ret_list)
{
    AttrValue *items = alloc_noted(writing, count, sizeof *items);
    *ret_list = (AttrValue){
        .kind = kind, .is_list = true, .value.list = {.count = items == NULL ? 0 : count, .items = items}};
    return items;
}

static AttrValue
write_functions(Writing *writing, uint32_t branching, uint32_t branch_count)
{
    const Candidate *candidate = &writing->outline->candidates[branching];
    AttrValue list;
    AttrValue *items = new_list(writing, ATTR_FUNCTION, branch_count, &list);
    for (uint32_t branch = 0; branch < branch_count; branch++) {
        write_results(writing, candidate, branch);
    }
    for (uint32_t branch = 0; items != NULL && branch < branch_count; branch++) {
        FunctionDef *function = &writing->functions[writing->function_count++];
        write_arguments(writing, candidate, candidate->first_home + branch);
        function->name = made_text(
            writing, text_format(writing->def->arena, "%.*s_%u",
                         SLICE_PRINT(writing->outline->conditions.branchings[branching].name), branch));
        function->nodes = take_nodes(writing, candidate->first_home + branch, &function->node_count);
        items[branch] = (AttrValue){.kind = ATTR_FUNCTION, .value.function = {.name = function->name}};
    }
    return list;
}

static AttrValue
arg_types(Writing *writing, const Candidate *candidate)
{
    AttrValue list;
    AttrValue *items = new_list(writing, ATTR_TYPE, list_count(&candidate->args, sizeof(Endpoint)), &list);
    for (uint32_t index = 0; items != NULL && index < list.value.list.count; index++) {
        items[index] =
            (AttrValue){.kind = ATTR_TYPE, .value.type = dtype_of(writing, arg_at(candidate, index))};
    }
    return list;
}

static AttrValue
output_types(Writing *writing, const Candidate *candidate)
{
    AttrValue list;
    AttrValue *items = new_list(writing, ATTR_TYPE, candidate_output_count(candidate), &list);
    for (uint32_t index = 0; items != NULL && index < list.value.list.count; index++) {
        const Node *merge = &writing->graph->nodes[candidate_output(candidate, index)];
        items[index] = (AttrValue){.kind = ATTR_TYPE, .value.type = merge->output_dtypes[0]};
    }
    return list;
}

/* May add arguments to the call around this one. */
static void
write_call_inputs(Writing *writing, const Candidate *candidate, uint32_t home, NodeDef *def)
{
    uint32_t arg_count = list_count(&candidate->args, sizeof(Endpoint));
    Endpoint *inputs = alloc_noted(writing, (size_t)arg_count + 1, sizeof *inputs);
    if (inputs == NULL) {
        return;
    }
    inputs[0] = candidate->index;
    for (uint32_t index = 0; index < arg_count; index++) {
        inputs[index + 1] = arg_at(candidate, index);
    }
    Reading reading = {.home = home,
        .inputs = inputs,
        .input_count = arg_count + 1,
        .controls = (const uint32_t *)(const void *)candidate->controls.data,
        .control_count = list_count(&candidate->controls, sizeof(uint32_t))};
    write_inputs(writing, &reading, def);
}

static void
write_call(Writing *writing, uint32_t branching)
{
    const Branching *called = &writing->outline->conditions.branchings[branching];
    Candidate *candidate = &writing->outline->candidates[branching];
    Attr *attrs = alloc_noted(writing, CALL_ATTR_COUNT, sizeof *attrs);
    if (attrs == NULL) {
        return;
    }
    AttrValue functions = write_functions(writing, branching, called->test_count + 1);
    attrs[0] = (Attr){.name = SLICE("Tindex"),
        .value = {.kind = ATTR_TYPE, .value.type = dtype_of(writing, candidate->index)}};
    attrs[1] = (Attr){.name = SLICE("Tin"), .value = arg_types(writing, candidate)};
    attrs[2] = (Attr){.name = SLICE("Tout"), .value = output_types(writing, candidate)};
    attrs[3] = (Attr){.name = SLICE("branches"), .value = functions};
    NodeDef def = {.name = called->name,
        .op = candidate->keeps_state ? SLICE("_StateBranch") : SLICE("_Branch"),
        .device = candidate->device,
        .attrs = attrs,
        .attr_count = CALL_ATTR_COUNT};
    uint32_t home = home_of(writing->outline, called->parent);
    write_call_inputs(writing, candidate, home, &def);
    append_node(writing, home, &def);
}

static void
write_node(Writing *writing, const Node *node)
{
    uint32_t home = node_home(writing, node->id);
    if (is_dropped_switch(writing, node->id) || is_call_output(writing, node->id)) {
        return;
    }
    NodeDef def = {.name = node->name,
        .op = node->op->name,
        .device = node->def->device,
        .attrs = node->attrs,
        .attr_count = node->attr_count,
        .pointer = node->def->pointer};
    Reading reading = {.home = home,
        .inputs = node->inputs,
        .input_count = node->input_count,
        .controls = node->controls,
        .control_count = node->control_count};
    write_inputs(writing, &reading, &def);
    if (home == HOME_GRAPH) {
        writing->plain[node->id] = def;
        writing->is_plain[node->id] = true;
    } else {
        append_node(writing, home, &def);
    }
}

static void
write_branches(Writing *writing)
{
    for (uint32_t id = 0; id < writing->graph->node_count; id++) {
        uint32_t home = node_home(writing, id);
        bool is_useless = is_pivot(writing, id) && !writing->has_data_readers[id];
        if (home != HOME_GRAPH && home != HOME_NONE && !is_useless) {
            write_node(writing, &writing->graph->nodes[id]);
        }
    }
}

/* Visits readers before what they read, so that a node all of whose readers have moved into functions is
 * left out. */
static void
write_graph(Writing *writing)
{
    for (uint32_t position = writing->graph->node_count; position-- > 0;) {
        const Node *node = &writing->graph->nodes[writing->graph->order[position]];
        bool is_kept = writing->outline->compile->is_target[node->id] || op_is(node, "_Retval") ||
                       op_is(node, "NextIteration") || writing->is_read[node->id];
        if (is_kept && node_home(writing, node->id) == HOME_GRAPH) {
            write_node(writing, node);
        }
    }
}

static void
assemble_graph(Writing *writing)
{
    const Buffer *calls = &writing->homes[HOME_GRAPH].nodes;
    size_t call_count = calls->size / sizeof(NodeDef);
    NodeDef *nodes = alloc_noted(writing, writing->graph->node_count + call_count, sizeof *nodes);
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

/* Facts about each node, by its id in the new graph. */
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
        const BranchWeight *one = &candidate->weights[branch];
        *ret_node_count += one->node_count;
        weight.constant_bytes += one->constant_bytes;
        weight.cost = one->cost > weight.cost ? one->cost : weight.cost;
    }
    return weight;
}

static Status
know_call(const Writing *writing, uint32_t branching, const Node *node, Known *known)
{
    Compile *compile = writing->outline->compile;
    const Candidate *candidate = &writing->outline->candidates[branching];
    uint32_t branch_count = writing->outline->conditions.branchings[branching].test_count + 1;
    Shape *shapes = compile_alloc(compile, node->output_count, sizeof *shapes);
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
    const char *reason = text_format(compile->call->arena,
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
    const Compile *compile = writing->outline->compile;
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
    bool is_all = ret_known->origins != NULL && ret_known->ports != NULL && ret_known->is_target != NULL &&
                  ret_known->shapes != NULL && ret_known->inside != NULL && ret_known->calls != NULL;
    return is_all ? STATUS_OK : compile_no_memory(compile);
}

/* Plain nodes come first in the new graph, in the old order; calls follow. */
static Status
carry_over(const Writing *writing, Graph *graph)
{
    const Outline *outline = writing->outline;
    Compile *compile = outline->compile;
    Known known;
    uint32_t count = 0;
    TRY(alloc_known(compile, graph->node_count, outline->chosen_count, &known));
    for (uint32_t id = 0; id < writing->graph->node_count; id++) {
        if (writing->is_plain[id]) {
            know_plain(writing, id, count++, &known);
        }
    }
    for (uint32_t id = outline->conditions.branching_count; id-- > 0;) {
        bool is_here = outline->candidates[id].is_chosen &&
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
        Candidate *candidate = &writing->outline->candidates[writing->outline->conditions.merges[id]];
        writing->output_ports[id] = candidate_output_count(candidate);
        buffer_append(&candidate->outputs, &id, sizeof id);
    }
}

static void
alloc_maps(Writing *writing)
{
    const Outline *outline = writing->outline;
    for (uint32_t id = 0; id < outline->conditions.branching_count; id++) {
        Candidate *candidate = &outline->candidates[id];
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
    const Compile *compile = outline->compile;
    uint32_t count = compile->graph->node_count;
    *writing = (Writing){.outline = outline,
        .graph = compile->graph,
        .def = compile_keep_def(compile, graph_def_new(DEF_SIZE_MAX))};
    if (writing->def == NULL) {
        return compile_no_memory(compile);
    }
    writing->homes = alloc_noted(writing, outline->home_count, sizeof *writing->homes);
    writing->plain = alloc_noted(writing, count, sizeof *writing->plain);
    writing->is_plain = alloc_noted(writing, count, sizeof *writing->is_plain);
    writing->is_read = alloc_noted(writing, count, sizeof *writing->is_read);
    writing->has_data_readers = alloc_noted(writing, count, sizeof *writing->has_data_readers);
    writing->output_ports = alloc_noted(writing, count, sizeof *writing->output_ports);
    size_t called = compile->def->function_count;
    writing->functions = alloc_noted(writing, outline->home_count + called, sizeof *writing->functions);
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
        const Candidate *candidate = &outline->candidates[id];
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
    assemble_graph(&writing);
    if (writing.has_no_memory || !are_lists_whole(outline)) {
        return compile_no_memory(outline->compile);
    }
    Graph *graph = NULL;
    TRY(compile_link(outline->compile, writing.def, &graph));
    assert(graph != NULL);
    return carry_over(&writing, graph);
}
