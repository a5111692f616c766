#include "gateway/plan/conditions.h"

enum { CONDITION_DEPTH_MAX = 256 }; /* deeper ones are unknown: every question walks through all around */

/* --- Marks ---------------------------------------------------------------------------------------------- */

static const AttrValue *
mark(const Node *node, const char *name, AttrKind kind)
{
    const AttrValue *const value = node_attr(node, name);
    return value != NULL && value->kind == kind && !value->is_list ? value : NULL;
}

bool
has_branchings(const Graph *graph)
{
    for (uint32_t id = 0; id < graph->node_count; id++) {
        if (op_is(&graph->nodes[id], "Switch") &&
            mark(&graph->nodes[id], "_branching", ATTR_STRING) != NULL) {
            return true;
        }
    }
    return false;
}

/* BRANCHING_NONE when the node has no mark. */
static Status
branching_of(Conditions *conditions, const Node *node, uint32_t *ret_branching)
{
    const AttrValue *const name = mark(node, "_branching", ATTR_STRING);
    if (name == NULL || (!op_is(node, "Switch") && !op_is(node, "Merge"))) {
        *ret_branching = BRANCHING_NONE;
        return STATUS_OK;
    }
    Branching *branching = map_get(conditions->branching_map, name->value.s);
    if (branching == NULL) {
        const AttrValue *const is_lazy = mark(node, "_is_lazy", ATTR_BOOL);
        branching = &conditions->branchings[conditions->branching_count];
        *branching = (Branching){
            .name = name->value.s, .is_whole = true, .is_wanted = is_lazy != NULL && is_lazy->value.b};
        if (!map_put(conditions->branching_map, branching->name, branching)) {
            return compile_no_memory(conditions->compile);
        }
        conditions->branching_count++;
    }
    *ret_branching = (uint32_t)(branching - conditions->branchings);
    return STATUS_OK;
}

/* --- Conditions ----------------------------------------------------------------------------------------- */

uint32_t
endpoint_condition(const Conditions *conditions, Endpoint endpoint)
{
    const uint32_t fork = conditions->switches[endpoint.node];
    return fork == FORK_NONE ? conditions->nodes[endpoint.node] : condition_of(fork, endpoint.port);
}

uint32_t
condition_branch(const Conditions *conditions, uint32_t condition)
{
    const Fork *const fork = condition_fork(conditions, condition);
    const uint32_t last = conditions->branchings[fork->branching].test_count - 1;
    if (condition_side(condition) == 1) {
        return fork->test;
    }
    return fork->test == last ? last + 1 : NODE_NONE;
}

/* The condition around it, whose branching is not whole any more. */
static uint32_t
break_one(const Conditions *conditions, uint32_t condition)
{
    const Fork *const fork = condition_fork(conditions, condition);
    if (fork->branching != BRANCHING_NONE) {
        conditions->branchings[fork->branching].is_whole = false;
    }
    return fork->parent;
}

void
conditions_break(const Conditions *conditions, uint32_t condition)
{
    conditions_break_between(conditions, condition, CONDITION_ALWAYS);
}

/* Conditions inside of others have greater numbers. */
void
conditions_break_between(const Conditions *conditions, uint32_t condition, uint32_t inside)
{
    if (condition == CONDITION_UNKNOWN) {
        return;
    }
    while (condition != inside) {
        if (condition > inside) {
            condition = break_one(conditions, condition);
        } else {
            inside = condition_fork(conditions, inside)->parent;
        }
    }
}

static bool
is_within(const Conditions *conditions, uint32_t inner, uint32_t outer)
{
    while (inner != outer && inner != CONDITION_ALWAYS) {
        inner = condition_fork(conditions, inner)->parent;
    }
    return inner == outer;
}

/* Both have to hold: the inner one, if they are one inside the other. */
static uint32_t
both(const Conditions *conditions, uint32_t left, uint32_t right)
{
    if (left == CONDITION_UNKNOWN || right == CONDITION_UNKNOWN) {
        return CONDITION_UNKNOWN;
    }
    if (is_within(conditions, left, right)) {
        return left;
    }
    return is_within(conditions, right, left) ? right : CONDITION_UNKNOWN;
}

static void
break_inputs(const Conditions *conditions, const Node *node)
{
    for (uint32_t index = 0; index < node->input_count; index++) {
        if (node->inputs[index].node != NODE_NONE) {
            conditions_break(conditions, endpoint_condition(conditions, node->inputs[index]));
        }
    }
    for (uint32_t index = 0; index < node->control_count; index++) {
        conditions_break(conditions, conditions->nodes[node->controls[index]]);
    }
}

static uint32_t
controls_condition(const Conditions *conditions, const Node *node, uint32_t condition)
{
    for (uint32_t index = 0; index < node->control_count; index++) {
        condition = both(conditions, condition, conditions->nodes[node->controls[index]]);
    }
    return condition;
}

static uint32_t
inputs_condition(const Conditions *conditions, const Node *node)
{
    uint32_t condition = CONDITION_ALWAYS;
    for (uint32_t index = 0; index < node->input_count; index++) {
        if (node->inputs[index].node != NODE_NONE) {
            condition = both(conditions, condition, endpoint_condition(conditions, node->inputs[index]));
        }
    }
    return controls_condition(conditions, node, condition);
}

/* --- Switch --------------------------------------------------------------------------------------------- */

/* The next test of its branching, where the one before said no. */
static void
add_test(Conditions *conditions, Fork *fork, const Node *node)
{
    Branching *const branching = &conditions->branchings[fork->branching];
    const AttrValue *const test = mark(node, "_test", ATTR_INT);
    const uint32_t before = condition_of(branching->last_fork, 0);
    fork->test = branching->test_count;
    if (branching->test_count == 0) {
        branching->parent = fork->parent;
    } else if (fork->parent != before) {
        branching->is_whole = false;
    }
    if (test == NULL || test->value.i != branching->test_count) {
        branching->is_whole = false;
    }
    branching->last_fork = (uint32_t)(fork - conditions->forks);
    branching->test_count++;
}

static uint32_t
depth_of(const Conditions *conditions, uint32_t condition)
{
    return condition == CONDITION_ALWAYS ? 0 : condition_fork(conditions, condition)->depth;
}

/* Switches of one test share a fork. */
static Status
fork_of(Conditions *conditions, const Node *node, uint32_t parent, uint32_t *ret_fork)
{
    Fork *const made = &conditions->forks[conditions->fork_count];
    *made = (Fork){.parent = parent, .predicate = node->inputs[1], .depth = depth_of(conditions, parent) + 1};
    TRY(branching_of(conditions, node, &made->branching));
    const Slice key = slice_of(made, offsetof(Fork, test));
    const Fork *const known = map_get(conditions->fork_map, key);
    if (known != NULL) {
        *ret_fork = (uint32_t)(known - conditions->forks);
        return STATUS_OK;
    }
    if (!map_put(conditions->fork_map, key, made)) {
        return compile_no_memory(conditions->compile);
    }
    if (made->branching != BRANCHING_NONE) {
        add_test(conditions, made, node);
    }
    *ret_fork = conditions->fork_count++;
    return STATUS_OK;
}

static bool
is_loop_switch(const Conditions *conditions, const Node *node)
{
    return op_is(&conditions->compile->graph->nodes[node->inputs[1].node], "LoopCond");
}

static Status
visit_switch(Conditions *conditions, const Node *node)
{
    const uint32_t condition = inputs_condition(conditions, node);
    conditions->nodes[node->id] = condition;
    if (is_loop_switch(conditions, node) || condition == CONDITION_UNKNOWN) {
        return STATUS_OK;
    }
    if (depth_of(conditions, condition) == CONDITION_DEPTH_MAX) {
        conditions->nodes[node->id] = CONDITION_UNKNOWN;
        return STATUS_OK;
    }
    return fork_of(conditions, node, condition, &conditions->switches[node->id]);
}

/* --- Merge ---------------------------------------------------------------------------------------------- */

/* The value that comes round is not there yet when the others are looked at. */
static uint32_t
loop_merge_condition(const Conditions *conditions, const Node *node)
{
    uint32_t condition = CONDITION_ALWAYS;
    for (uint32_t index = 0; index < node->input_count; index++) {
        const Endpoint input = node->inputs[index];
        if (!slice_ends_with(conditions->compile->graph->nodes[input.node].def->op, SLICE("NextIteration"))) {
            condition = both(conditions, condition, endpoint_condition(conditions, input));
        }
    }
    return controls_condition(conditions, node, condition);
}

static bool
is_loop_merge(const Conditions *conditions, const Node *node)
{
    for (uint32_t index = 0; index < node->input_count; index++) {
        const Node *const source = &conditions->compile->graph->nodes[node->inputs[index].node];
        if (slice_ends_with(source->def->op, SLICE("NextIteration"))) {
            return true;
        }
    }
    return false;
}

static bool
are_two_sides(const Conditions *conditions, uint32_t left, uint32_t right)
{
    return left != CONDITION_ALWAYS && right != CONDITION_ALWAYS && left != CONDITION_UNKNOWN &&
           right != CONDITION_UNKNOWN && left != right &&
           condition_fork(conditions, left) == condition_fork(conditions, right);
}

/* From the last test back to the first: input b runs where test b says yes. */
static uint32_t
branching_merge_condition(const Conditions *conditions, const Node *node, uint32_t index)
{
    const Branching *const branching = &conditions->branchings[index];
    uint32_t rest = endpoint_condition(conditions, node->inputs[node->input_count - 1]);
    if (node->input_count != branching->test_count + 1 || node->control_count > 0) {
        return CONDITION_UNKNOWN;
    }
    for (uint32_t input = node->input_count - 1; input-- > 0;) {
        const uint32_t condition = endpoint_condition(conditions, node->inputs[input]);
        if (!are_two_sides(conditions, condition, rest) || condition_side(condition) != 1 ||
            condition_fork(conditions, condition)->branching != index) {
            return CONDITION_UNKNOWN;
        }
        rest = condition_fork(conditions, condition)->parent;
    }
    return rest;
}

static Status
visit_merge(Conditions *conditions, const Node *node)
{
    uint32_t *const condition = &conditions->nodes[node->id];
    uint32_t branching = BRANCHING_NONE;
    TRY(branching_of(conditions, node, &branching));
    if (branching != BRANCHING_NONE) {
        Branching *const ended = &conditions->branchings[branching];
        *condition = branching_merge_condition(conditions, node, branching);
        conditions->merges[node->id] = branching;
        ended->output_count++;
        ended->is_whole = ended->is_whole && *condition != CONDITION_UNKNOWN;
        return STATUS_OK;
    }
    const uint32_t first = endpoint_condition(conditions, node->inputs[0]);
    const bool is_pair = node->input_count == 2 &&
                         are_two_sides(conditions, first, endpoint_condition(conditions, node->inputs[1]));
    *condition = is_pair ? controls_condition(conditions, node, condition_fork(conditions, first)->parent)
                         : CONDITION_UNKNOWN;
    return STATUS_OK;
}

/* --- All ------------------------------------------------------------------------------------------------ */

/* A ControlTrigger runs whatever happens to what it waits for. */
static Status
visit(Conditions *conditions, const Node *node)
{
    const bool is_merge = slice_ends_with(node->def->op, SLICE("Merge")) && node->input_count > 0 &&
                          (node->op->flags & OP_CONTROL_FLOW) != 0;
    uint32_t *const condition = &conditions->nodes[node->id];
    if (slice_ends_with(node->def->op, SLICE("Switch")) && (node->op->flags & OP_CONTROL_FLOW) != 0) {
        TRY(visit_switch(conditions, node));
    } else if (is_merge && is_loop_merge(conditions, node)) {
        *condition = loop_merge_condition(conditions, node);
    } else if (is_merge) {
        TRY(visit_merge(conditions, node));
    } else {
        *condition = inputs_condition(conditions, node);
    }
    if (op_is(node, "ControlTrigger") && *condition != CONDITION_ALWAYS) {
        *condition = CONDITION_UNKNOWN;
    }
    if (*condition == CONDITION_UNKNOWN) {
        break_inputs(conditions, node);
    }
    return STATUS_OK;
}

static Status
alloc(const Compile *compile, Conditions *conditions)
{
    const uint32_t count = compile->graph->node_count;
    *conditions = (Conditions){
        .compile = compile,
        .nodes = compile_alloc(compile, count, sizeof *conditions->nodes),
        .switches = compile_alloc(compile, count, sizeof *conditions->switches),
        .merges = compile_alloc(compile, count, sizeof *conditions->merges),
        .forks = compile_alloc(compile, (size_t)count + 1, sizeof *conditions->forks),
        .branchings = compile_alloc(compile, (size_t)count + 1, sizeof *conditions->branchings),
        .fork_map = compile_map(compile),
        .branching_map = compile_map(compile),
    };
    const bool is_all = conditions->nodes != NULL && conditions->switches != NULL &&
                        conditions->merges != NULL && conditions->forks != NULL &&
                        conditions->branchings != NULL && conditions->fork_map != NULL &&
                        conditions->branching_map != NULL;
    if (!is_all) {
        return compile_no_memory(compile);
    }
    for (uint32_t id = 0; id < count; id++) {
        conditions->switches[id] = FORK_NONE;
        conditions->merges[id] = BRANCHING_NONE;
    }
    return STATUS_OK;
}

Status
find_conditions(const Compile *compile, Conditions *ret_conditions)
{
    Conditions conditions;
    TRY(alloc(compile, &conditions));
    for (uint32_t place = 0; place < compile->graph->node_count; place++) {
        TRY(visit(&conditions, &compile->graph->nodes[compile->graph->order[place]]));
    }
    *ret_conditions = conditions;
    return STATUS_OK;
}
