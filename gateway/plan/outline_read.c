/* What a node of a branch reads, as it is named there: what the branch has, an argument of its call for what
 * is outside, a copy of a constant. */
#include <assert.h>

#include "gateway/plan/outline_write.h"
#include "shared/base/text.h"

/* --- Pieces --------------------------------------------------------------------------------------------- */

Slice
outline_text(Writing *writing, const char *made)
{
    writing->has_no_memory = writing->has_no_memory || made == NULL;
    return made == NULL ? SLICE("") : slice_from_string(made);
}

void *
outline_alloc(Writing *writing, size_t count, size_t size)
{
    size_t total = 0;
    void *const memory =
        __builtin_mul_overflow(count, size, &total) ? NULL : arena_alloc(writing->def->arena, total);
    writing->has_no_memory = writing->has_no_memory || memory == NULL;
    return memory;
}

static bool
is_called(const Writing *writing, uint32_t branching)
{
    return branching != BRANCHING_NONE && writing->outline->candidates[branching].is_chosen;
}

bool
is_dropped_switch(const Writing *writing, uint32_t id)
{
    const Conditions *const conditions = &writing->outline->conditions;
    const uint32_t fork = conditions->switches[id];
    return fork != FORK_NONE && is_called(writing, conditions->forks[fork].branching);
}

bool
is_call_output(const Writing *writing, uint32_t id)
{
    return is_called(writing, writing->outline->conditions.merges[id]);
}

uint32_t
node_home(const Writing *writing, uint32_t id)
{
    return home_of(writing->outline, writing->outline->conditions.nodes[id]);
}

static Slice
node_name(const Writing *writing, uint32_t id)
{
    const Conditions *const conditions = &writing->outline->conditions;
    return is_call_output(writing, id) ? conditions->branchings[conditions->merges[id]].name
                                       : writing->graph->nodes[id].name;
}

bool
is_pivot(const Writing *writing, uint32_t id)
{
    const Node *const node = &writing->graph->nodes[id];
    return op_is(node, "Identity") && node->control_count == 0 && node_home(writing, id) != HOME_GRAPH &&
           is_dropped_switch(writing, node->inputs[0].node);
}

void
outline_append(Writing *writing, uint32_t home, const NodeDef *def)
{
    Buffer *const nodes = &writing->homes[home].nodes;
    buffer_append(nodes, def, sizeof *def);
    writing->has_no_memory = writing->has_no_memory || !buffer_is_ok(nodes);
}

/* --- What a node reads ---------------------------------------------------------------------------------- */

static void
copy_constant(Writing *writing, uint32_t home, const Node *node)
{
    const Slice key = slice_of(&node->id, sizeof node->id);
    Map **const constants = &writing->homes[home].constants;
    if (*constants == NULL) {
        *constants = compile_map(writing->outline->compile);
    }
    if (*constants == NULL || map_get(*constants, key) != NULL) {
        writing->has_no_memory = writing->has_no_memory || *constants == NULL;
        return;
    }
    writing->has_no_memory = writing->has_no_memory || !map_put(*constants, key, writing);
    const NodeDef def = {.name = node->name,
        .op = node->op->name,
        .device = node->def->device,
        .attrs = node->attrs,
        .attr_count = node->attr_count};
    outline_append(writing, home, &def);
}

/* The number of the endpoint among what the call's branches read from outside. */
static uint32_t
argument(Writing *writing, Candidate *candidate, Endpoint endpoint)
{
    const Slice key = slice_of(&endpoint, sizeof endpoint);
    uint32_t *number = map_get(candidate->arg_map, key);
    if (number == NULL) {
        number = outline_alloc(writing, 1, sizeof *number);
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
owner(const Writing *writing, uint32_t home)
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
    const Node *const node = &writing->graph->nodes[source.node];
    Arena *const arena = writing->def->arena;
    if (home != HOME_GRAPH && node_is_loose_constant(node)) {
        copy_constant(writing, home, node);
    } else if (node_home(writing, node->id) != home) {
        return outline_text(
            writing, text_format(arena, "_arg_%u", argument(writing, owner(writing, home), source)));
    }
    writing->is_read[node->id] = writing->is_read[node->id] || home == HOME_GRAPH;
    const bool is_output = is_call_output(writing, node->id);
    const uint32_t port = is_output ? writing->output_ports[node->id] : source.port;
    const Slice name = node_name(writing, node->id);
    return port == 0 ? name : outline_text(writing, text_format(arena, "%.*s:%u", SLICE_PRINT(name), port));
}

/* Once, of the call around `home`. */
static void
wait_outside(Writing *writing, uint32_t home, uint32_t source)
{
    Candidate *const candidate = owner(writing, home);
    const Slice key = slice_of(&source, sizeof source);
    if (map_get(candidate->control_map, key) == NULL) {
        writing->has_no_memory = writing->has_no_memory || !map_put(candidate->control_map, key, candidate);
        buffer_append(&candidate->controls, &source, sizeof source);
    }
}

/* "" when there is nothing to wait for: the branch runs, or the call waits. */
static Slice
control_input(Writing *writing, uint32_t home, uint32_t source)
{
    const bool is_constant = node_is_loose_constant(&writing->graph->nodes[source]);
    const bool is_there = home != HOME_GRAPH && (is_constant || is_pivot(writing, source));
    if (is_there || is_dropped_switch(writing, source)) {
        return SLICE("");
    }
    if (!is_constant && node_home(writing, source) != home) {
        wait_outside(writing, home, source);
        return SLICE("");
    }
    writing->is_read[source] = true;
    return outline_text(
        writing, text_format(writing->def->arena, "^%.*s", SLICE_PRINT(node_name(writing, source))));
}

void
outline_inputs(Writing *writing, const Reading *reading, NodeDef *def)
{
    Slice *const inputs =
        outline_alloc(writing, (size_t)reading->input_count + reading->control_count, sizeof *inputs);
    for (uint32_t index = 0; inputs != NULL && index < reading->input_count; index++) {
        inputs[def->input_count++] = data_input(writing, reading->home, reading->inputs[index]);
    }
    for (uint32_t index = 0; inputs != NULL && index < reading->control_count; index++) {
        const Slice control = control_input(writing, reading->home, reading->controls[index]);
        if (control.size > 0) {
            inputs[def->input_count++] = control;
        }
    }
    def->inputs = inputs;
}
