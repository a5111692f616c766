#include "gateway/plan/outline.h"

#include <assert.h>

#include "gateway/plan/estimate.h"
#include "gateway/plan/placement.h"
#include "gateway/plan/stages.h"

/* Returns the branching that a Switch belongs to, else BRANCHING_NONE. */
static uint32_t
switch_branching(const Conditions *conditions, uint32_t id)
{
    uint32_t fork = conditions->switches[id];
    return fork == FORK_NONE ? BRANCHING_NONE : conditions->forks[fork].branching;
}

static bool
is_undecided(const Conditions *conditions, uint32_t condition)
{
    return condition != CONDITION_ALWAYS && condition != CONDITION_UNKNOWN &&
           condition_fork(conditions, condition)->branching != BRANCHING_NONE &&
           condition_branch(conditions, condition) == NODE_NONE;
}

/* Marks a branching as broken by a node between two of its tests that the call cannot replace, as it can
 * stateless nodes only. */
static void
check_undecided(const Outline *outline, const Node *node)
{
    const Conditions *conditions = &outline->conditions;
    uint32_t own = conditions->nodes[node->id];
    uint32_t inner = own;
    for (uint32_t at = own; at != CONDITION_ALWAYS; at = condition_fork(conditions, at)->parent) {
        bool is_next_test = inner != at && condition_fork(conditions, inner)->branching ==
                                               condition_fork(conditions, at)->branching;
        bool is_test = inner == at && (node->op->flags & OP_STATEFUL) == 0;
        if (is_undecided(conditions, at) && !is_next_test && !is_test) {
            conditions_break(conditions, at);
        }
        inner = at;
    }
}

static void
check_source(const Outline *outline, const Node *node, uint32_t source)
{
    const Conditions *conditions = &outline->conditions;
    uint32_t given = conditions->nodes[source];
    if (is_undecided(conditions, given) && given != conditions->nodes[node->id] &&
        switch_branching(conditions, source) == BRANCHING_NONE) {
        conditions_break(conditions, given);
    }
}

/* Only a Merge of the branching takes values out of its branches. An author who names a node inside a
 * branch from outside breaks it. */
static void
check_reach(const Conditions *conditions, const Node *node, uint32_t given)
{
    uint32_t own = conditions->nodes[node->id];
    if (conditions->merges[node->id] == BRANCHING_NONE) {
        conditions_break_between(conditions, given, own == CONDITION_UNKNOWN ? CONDITION_ALWAYS : own);
    }
}

/* A node that reads a reference must stay with the node that gives it. */
static bool
reads_reference_from_outside(const Outline *outline, const Node *node, uint32_t index)
{
    Endpoint source = node->inputs[index];
    const Node *giver = &outline->compile->graph->nodes[source.node];
    bool is_reference = node_input_is_reference(node, index) || node_output_is_reference(giver, source.port);
    return is_reference && outline->conditions.nodes[source.node] != outline->conditions.nodes[node->id];
}

static void
check_inputs(const Outline *outline, const Node *node)
{
    const Conditions *conditions = &outline->conditions;
    for (uint32_t index = 0; index < node->input_count; index++) {
        Endpoint source = node->inputs[index];
        if (source.node == NODE_NONE) {
            continue;
        }
        uint32_t ended = conditions->merges[source.node];
        check_source(outline, node, source.node);
        check_reach(conditions, node, endpoint_condition(conditions, source));
        if (ended != BRANCHING_NONE && source.port == 1) {
            conditions->branchings[ended].is_whole = false;
        }
        if (reads_reference_from_outside(outline, node, index)) {
            conditions_break(conditions, conditions->nodes[source.node]);
            conditions_break(conditions, conditions->nodes[node->id]);
        }
    }
    for (uint32_t index = 0; index < node->control_count; index++) {
        check_source(outline, node, node->controls[index]);
        check_reach(conditions, node, conditions->nodes[node->controls[index]]);
    }
}

/* Returns true when "_class" names a node outside of the node's own branch. */
static bool
is_tied_to_outside(const Outline *outline, const Node *node)
{
    size_t position = 0;
    Slice name;
    while (next_colocation(outline->compile->origins[node->id], &position, &name)) {
        const Node *other = graph_find(outline->compile->graph, name);
        if (other != NULL && outline->conditions.nodes[other->id] != outline->conditions.nodes[node->id]) {
            return true;
        }
    }
    return false;
}

/* All nodes of a branching must ask for the same task. */
static void
note_member(const Outline *outline, const Node *node, uint32_t branching, int32_t task)
{
    Candidate *candidate = &outline->candidates[branching];
    if (!candidate->has_device) {
        candidate->has_device = true;
        candidate->task = task;
        candidate->device = node->def->device;
    } else if (candidate->task != task) {
        outline->conditions.branchings[branching].is_whole = false;
    }
    candidate->keeps_state = candidate->keeps_state || (node->op->flags & OP_KEEPS_STATE) != 0;
}

static Status
check_node(const Outline *outline, const Node *node)
{
    const Conditions *conditions = &outline->conditions;
    const Compile *compile = outline->compile;
    uint32_t condition = conditions->nodes[node->id];
    uint32_t ended = conditions->merges[node->id];
    bool is_target = compile->is_target[node->id];
    DeviceRequest request;
    check_inputs(outline, node);
    if (ended != BRANCHING_NONE &&
        (is_target || node->input_count != conditions->branchings[ended].test_count + 1)) {
        conditions->branchings[ended].is_whole = false;
    }
    if (condition == CONDITION_ALWAYS || condition == CONDITION_UNKNOWN) {
        return STATUS_OK;
    }
    if (is_target || op_is(node, "_Retval") || is_tied_to_outside(outline, node)) {
        conditions_break(conditions, condition);
    }
    check_undecided(outline, node);
    TRY(device_request(compile, node->def, &request));
    for (uint32_t at = condition; at != CONDITION_ALWAYS; at = condition_fork(conditions, at)->parent) {
        if (condition_fork(conditions, at)->branching != BRANCHING_NONE) {
            note_member(outline, node, condition_fork(conditions, at)->branching, request.task);
        }
    }
    return STATUS_OK;
}

/* A Switch that is a target, or has control inputs, does more than lowering gave it to do. */
static void
check_switch(const Outline *outline, const Node *node)
{
    uint32_t branching = switch_branching(&outline->conditions, node->id);
    if (branching != BRANCHING_NONE && (outline->compile->is_target[node->id] || node->control_count > 0)) {
        outline->conditions.branchings[branching].is_whole = false;
    }
}

/* Follows the endpoint back through the Switches of this branching, or of all for BRANCHING_NONE. */
static Endpoint
trace_through_switches(const Outline *outline, Endpoint endpoint, uint32_t branching)
{
    const Graph *graph = outline->compile->graph;
    uint32_t found = switch_branching(&outline->conditions, endpoint.node);
    while (found != BRANCHING_NONE && (branching == BRANCHING_NONE || found == branching)) {
        endpoint = graph->nodes[endpoint.node].inputs[0];
        found = switch_branching(&outline->conditions, endpoint.node);
    }
    return endpoint;
}

static bool
endpoints_equal(Endpoint left, Endpoint right)
{
    return left.node == right.node && left.port == right.port;
}

/* Returns true for a predicate that is Equal(index, number of the test). */
static bool
is_number_test(const Outline *outline, const Fork *fork, Endpoint *ret_index)
{
    const Graph *graph = outline->compile->graph;
    const Node *node = &graph->nodes[fork->predicate.node];
    int64_t number = 0;
    if (!op_is(node, "Equal") || node->input_dtypes[0] != DTYPE_INT32) {
        return false;
    }
    const Node *constant = &graph->nodes[node->inputs[1].node];
    *ret_index = trace_through_switches(outline, node->inputs[0], fork->branching);
    const Tensor *tested = node_known_value(constant);
    return tested != NULL && tensor_element_count(tested) == 1 && tensor_to_int64(tested, 0, &number) &&
           number == fork->test;
}

/* Finds the one predicate of two branches, or the number that all tests of a Case compare. It must have a
 * value exactly when the branching runs, so that the call that reads it runs then. */
static bool
find_index(const Outline *outline, uint32_t branching, Endpoint *ret_index)
{
    const Conditions *conditions = &outline->conditions;
    bool is_found = false;
    for (uint32_t id = 0; id < conditions->fork_count; id++) {
        const Fork *fork = &conditions->forks[id];
        Endpoint index = fork->predicate;
        if (fork->branching != branching) {
            continue;
        }
        if (conditions->branchings[branching].test_count > 1 && !is_number_test(outline, fork, &index)) {
            return false;
        }
        if (is_found && !endpoints_equal(index, *ret_index)) {
            return false;
        }
        *ret_index = index;
        is_found = true;
    }
    return is_found && endpoint_condition(conditions, *ret_index) == conditions->branchings[branching].parent;
}

static uint64_t
constant_bytes(const Node *node)
{
    return op_is(node, "Const") ? tensor_byte_size(node_attr_tensor(node, "value")) : 0;
}

/* Counts constants outside, too, when they move along with their readers. */
static BranchWeight
node_weight(const Outline *outline, const Node *node)
{
    BranchWeight weight = {.node_count = 1,
        .constant_bytes = constant_bytes(node),
        .cost = estimate_cost(outline->compile, node)};
    for (uint32_t index = 0; index < node->input_count; index++) {
        if (node->inputs[index].node != NODE_NONE) {
            Endpoint source = trace_through_switches(outline, node->inputs[index], BRANCHING_NONE);
            const Node *giver = &outline->compile->graph->nodes[source.node];
            weight.constant_bytes += node_is_loose_constant(giver) ? constant_bytes(giver) : 0;
        }
    }
    return weight;
}

static void
weigh_node(const Outline *outline, const Node *node)
{
    const Conditions *conditions = &outline->conditions;
    uint32_t at = conditions->nodes[node->id];
    if (at == CONDITION_ALWAYS || at == CONDITION_UNKNOWN || conditions->switches[node->id] != FORK_NONE ||
        conditions->merges[node->id] != BRANCHING_NONE) {
        return;
    }
    BranchWeight weight = node_weight(outline, node);
    for (; at != CONDITION_ALWAYS; at = condition_fork(conditions, at)->parent) {
        uint32_t branching = condition_fork(conditions, at)->branching;
        uint32_t branch = branching == BRANCHING_NONE ? NODE_NONE : condition_branch(conditions, at);
        if (branch != NODE_NONE) {
            BranchWeight *sum = &outline->candidates[branching].weights[branch];
            sum->node_count += weight.node_count;
            sum->constant_bytes += weight.constant_bytes;
            sum->cost += weight.cost;
        }
    }
}

/* A branch runs on one slot: where nodes are to be spread, only the author's wish makes it a call. */
static bool
is_worth_it(const Outline *outline, uint32_t branching)
{
    const PlanOptions *options = &outline->compile->request->signature->options;
    uint32_t heavy_count = 0;
    for (uint32_t branch = 0; branch <= outline->conditions.branchings[branching].test_count; branch++) {
        const BranchWeight *weight = &outline->candidates[branching].weights[branch];
        heavy_count +=
            weight->node_count >= LAZY_NODE_COUNT_MIN || weight->constant_bytes >= LAZY_CONSTANT_BYTES_MIN;
    }
    bool is_spread = options->placement == PLACEMENT_SPREAD && options->slot_count > 1;
    return outline->conditions.branchings[branching].is_wanted || (heavy_count >= 2 && !is_spread);
}

static void
choose_branchings(Outline *outline)
{
    const Conditions *conditions = &outline->conditions;
    outline->home_count = 1;
    for (uint32_t id = 0; id < conditions->branching_count; id++) {
        const Branching *branching = &conditions->branchings[id];
        Candidate *candidate = &outline->candidates[id];
        candidate->is_chosen = branching->is_whole && branching->test_count > 0 &&
                               branching->output_count > 0 && is_worth_it(outline, id) &&
                               find_index(outline, id, &candidate->index);
        if (candidate->is_chosen) {
            candidate->first_home = outline->home_count;
            outline->home_count += branching->test_count + 1;
            outline->chosen_count++;
        }
    }
}

static uint32_t
side_home(const Outline *outline, const Fork *fork, uint32_t condition)
{
    if (fork->branching == BRANCHING_NONE || !outline->candidates[fork->branching].is_chosen) {
        return outline->homes[fork->parent];
    }
    uint32_t branch = condition_branch(&outline->conditions, condition);
    return branch == NODE_NONE ? HOME_NONE : outline->candidates[fork->branching].first_home + branch;
}

static Status
find_homes(Outline *outline)
{
    const Conditions *conditions = &outline->conditions;
    outline->homes =
        compile_alloc(outline->compile, 1 + 2 * (size_t)conditions->fork_count, sizeof *outline->homes);
    outline->home_owners = compile_alloc(outline->compile, outline->home_count, sizeof *outline->home_owners);
    if (outline->homes == NULL || outline->home_owners == NULL) {
        return compile_no_memory(outline->compile);
    }
    outline->homes[CONDITION_ALWAYS] = HOME_GRAPH;
    for (uint32_t id = 0; id < conditions->fork_count; id++) {
        for (uint32_t side = 0; side < 2; side++) {
            uint32_t condition = condition_of(id, side);
            outline->homes[condition] = side_home(outline, &conditions->forks[id], condition);
        }
    }
    for (uint32_t id = 0; id < conditions->branching_count; id++) {
        const Candidate *candidate = &outline->candidates[id];
        for (uint32_t branch = 0; candidate->is_chosen && branch <= conditions->branchings[id].test_count;
             branch++) {
            outline->home_owners[candidate->first_home + branch] = id;
        }
    }
    return STATUS_OK;
}

static Status
alloc_candidates(Outline *outline)
{
    const Conditions *conditions = &outline->conditions;
    outline->candidates =
        compile_alloc(outline->compile, conditions->branching_count, sizeof *outline->candidates);
    for (uint32_t id = 0; outline->candidates != NULL && id < conditions->branching_count; id++) {
        outline->candidates[id].weights = compile_alloc(
            outline->compile, (size_t)conditions->branchings[id].test_count + 1, sizeof(BranchWeight));
        if (outline->candidates[id].weights == NULL) {
            return compile_no_memory(outline->compile);
        }
    }
    return outline->candidates == NULL ? compile_no_memory(outline->compile) : STATUS_OK;
}

static void
outline_done(Outline *outline)
{
    for (uint32_t id = 0; outline->candidates != NULL && id < outline->conditions.branching_count; id++) {
        buffer_done(&outline->candidates[id].args);
        buffer_done(&outline->candidates[id].controls);
        buffer_done(&outline->candidates[id].outputs);
    }
}

Status
outline_branches(Compile *compile)
{
    const Graph *graph = compile->graph;
    assert(compile->inside == NULL && compile->shapes != NULL);
    if (pass_set_has(compile->request->signature->options.passes_off, SLICE("lazy_branches")) ||
        !has_branchings(graph)) {
        return STATUS_OK;
    }
    CLEANUP(outline_done) Outline outline = {.compile = compile};
    TRY(find_conditions(compile, &outline.conditions));
    TRY(alloc_candidates(&outline));
    for (uint32_t id = 0; id < graph->node_count; id++) {
        TRY(check_node(&outline, &graph->nodes[id]));
        check_switch(&outline, &graph->nodes[id]);
    }
    for (uint32_t id = 0; id < graph->node_count; id++) {
        weigh_node(&outline, &graph->nodes[id]);
    }
    choose_branchings(&outline);
    if (outline.chosen_count == 0) {
        return STATUS_OK;
    }
    TRY(find_homes(&outline));
    return outline_write(&outline);
}
