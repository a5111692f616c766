#include "gateway/plan/conditions.h"

#include <assert.h>

enum {
    CONDITION_DEPTH_MAX = 256
}; /* a deeper condition is unknown: many functions walk through all forks
    * around one */

static const AttrValue *
find_mark(const Node *node, const char *name, AttrKind kind)
{
    const AttrValue *value = node_attr(node, name);
    return value != NULL && value->kind == kind && !value->is_list ? value : NULL;
}

bool
has_branchings(const Graph *graph)
{
    for (uint32_t id = 0; id < graph->node_count; id++) {
        if (op_is(&graph->nodes[id], "Switch") &&
            find_mark(&graph->nodes[id], "_branching", ATTR_STRING) != NULL) {
            return true;
        }
    }
    return false;
}

/* Returns BRANCHING_NONE for a node without the mark. */
static Status
obtain_branching(Conditions *conditions, const Node *node, uint32_t *ret_branching)
{
    const AttrValue *name = find_mark(node, "_branching", ATTR_STRING);
    if (name == NULL || (!op_is(node, "Switch") && !op_is(node, "Merge"))) {
        *ret_branching = BRANCHING_NONE;
        return STATUS_OK;
    }
    Branching *branching = map_get(conditions->branching_map, name->value.s);
    if (branching == NULL) {
        const AttrValue *is_lazy = find_mark(node, "_is_lazy", ATTR_BOOL);
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

uint32_t
endpoint_condition(const Conditions *conditions, Endpoint endpoint)
{
    assert(endpoint.node < conditions->compile->graph->node_count);
    uint32_t fork = conditions->switches[endpoint.node];
    return fork == FORK_NONE ? conditions->nodes[endpoint.node] : condition_of(fork, endpoint.port);
}

uint32_t
condition_branch(const Conditions *conditions, uint32_t condition)
{
    const Fork *fork = condition_fork(conditions, condition);
    assert(fork->branching < conditions->branching_count);
    uint32_t last = conditions->branchings[fork->branching].test_count - 1;
    if (condition_side(condition) == 1) {
        return fork->test;
    }
    return fork->test == last ? last + 1 : NODE_NONE;
}

/* Marks the condition's own branching as not whole. Returns the condition around it. */
static uint32_t
break_one(const Conditions *conditions, uint32_t condition)
{
    const Fork *fork = condition_fork(conditions, condition);
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

/* Relies on inner conditions having greater numbers than outer ones. */
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

/* Returns the condition under which both hold: the inner one when one is inside the other, else
 * CONDITION_UNKNOWN. */
static uint32_t
join_conditions(const Conditions *conditions, uint32_t left, uint32_t right)
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
        condition = join_conditions(conditions, condition, conditions->nodes[node->controls[index]]);
    }
    return condition;
}

static uint32_t
inputs_condition(const Conditions *conditions, const Node *node)
{
    uint32_t condition = CONDITION_ALWAYS;
    for (uint32_t index = 0; index < node->input_count; index++) {
        if (node->inputs[index].node != NODE_NONE) {
            condition =
                join_conditions(conditions, condition, endpoint_condition(conditions, node->inputs[index]));
        }
    }
    return controls_condition(conditions, node, condition);
}

/* Counts the fork as the next test of its branching, which must stand where the test before said no. */
static void
add_test(Conditions *conditions, Fork *fork, const Node *node)
{
    Branching *branching = &conditions->branchings[fork->branching];
    const AttrValue *test = find_mark(node, "_test", ATTR_INT);
    uint32_t before = condition_of(branching->last_fork, 0);
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
condition_depth(const Conditions *conditions, uint32_t condition)
{
    return condition == CONDITION_ALWAYS ? 0 : condition_fork(conditions, condition)->depth;
}

/* Finds or makes the fork of a Switch; all Switches of one test share it. */
static Status
obtain_fork(Conditions *conditions, const Node *node, uint32_t parent, uint32_t *ret_fork)
{
    Fork *made = &conditions->forks[conditions->fork_count];
    *made = (Fork){
        .parent = parent, .predicate = node->inputs[1], .depth = condition_depth(conditions, parent) + 1};
    TRY(obtain_branching(conditions, node, &made->branching));
    Slice key = slice_of(made, offsetof(Fork, test));
    const Fork *known = map_get(conditions->fork_map, key);
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
    uint32_t condition = inputs_condition(conditions, node);
    conditions->nodes[node->id] = condition;
    if (is_loop_switch(conditions, node) || condition == CONDITION_UNKNOWN) {
        return STATUS_OK;
    }
    if (condition_depth(conditions, condition) == CONDITION_DEPTH_MAX) {
        conditions->nodes[node->id] = CONDITION_UNKNOWN;
        return STATUS_OK;
    }
    return obtain_fork(conditions, node, condition, &conditions->switches[node->id]);
}

/* Ignores the values that come back by NextIteration, which is visited later than the Merge. */
static uint32_t
loop_merge_condition(const Conditions *conditions, const Node *node)
{
    uint32_t condition = CONDITION_ALWAYS;
    for (uint32_t index = 0; index < node->input_count; index++) {
        Endpoint input = node->inputs[index];
        if (!slice_ends_with(conditions->compile->graph->nodes[input.node].def->op, SLICE("NextIteration"))) {
            condition = join_conditions(conditions, condition, endpoint_condition(conditions, input));
        }
    }
    return controls_condition(conditions, node, condition);
}

static bool
is_loop_merge(const Conditions *conditions, const Node *node)
{
    for (uint32_t index = 0; index < node->input_count; index++) {
        const Node *source = &conditions->compile->graph->nodes[node->inputs[index].node];
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

/* Follows the tests from the last to the first: input b must come from the true side of test b. */
static uint32_t
branching_merge_condition(const Conditions *conditions, const Node *node, uint32_t index)
{
    const Branching *branching = &conditions->branchings[index];
    uint32_t rest = endpoint_condition(conditions, node->inputs[node->input_count - 1]);
    if (node->input_count != branching->test_count + 1 || node->control_count > 0) {
        return CONDITION_UNKNOWN;
    }
    for (uint32_t input = node->input_count - 1; input-- > 0;) {
        uint32_t condition = endpoint_condition(conditions, node->inputs[input]);
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
    uint32_t *condition = &conditions->nodes[node->id];
    uint32_t branching = BRANCHING_NONE;
    TRY(obtain_branching(conditions, node, &branching));
    if (branching != BRANCHING_NONE) {
        Branching *ended = &conditions->branchings[branching];
        *condition = branching_merge_condition(conditions, node, branching);
        conditions->merges[node->id] = branching;
        ended->output_count++;
        ended->is_whole = ended->is_whole && *condition != CONDITION_UNKNOWN;
        return STATUS_OK;
    }
    uint32_t first = endpoint_condition(conditions, node->inputs[0]);
    bool is_pair = node->input_count == 2 &&
                   are_two_sides(conditions, first, endpoint_condition(conditions, node->inputs[1]));
    *condition = is_pair ? controls_condition(conditions, node, condition_fork(conditions, first)->parent)
                         : CONDITION_UNKNOWN;
    return STATUS_OK;
}

/* A ControlTrigger runs even when its control inputs are dead, so that its condition is unknown. */
static Status
visit_node(Conditions *conditions, const Node *node)
{
    bool is_merge = slice_ends_with(node->def->op, SLICE("Merge")) && node->input_count > 0 &&
                    (node->op->flags & OP_CONTROL_FLOW) != 0;
    uint32_t *condition = &conditions->nodes[node->id];
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
alloc_conditions(const Compile *compile, Conditions *conditions)
{
    uint32_t count = compile->graph->node_count;
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
    bool is_all = conditions->nodes != NULL && conditions->switches != NULL && conditions->merges != NULL &&
                  conditions->forks != NULL && conditions->branchings != NULL &&
                  conditions->fork_map != NULL && conditions->branching_map != NULL;
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
    TRY(alloc_conditions(compile, &conditions));
    for (uint32_t position = 0; position < compile->graph->node_count; position++) {
        TRY(visit_node(&conditions, &compile->graph->nodes[compile->graph->order[position]]));
    }
    *ret_conditions = conditions;
    return STATUS_OK;
}
