/* Fuses neighbouring element-wise nodes into one node that computes them tile by tile (fused.h), if nobody
 * else reads what lies between them. Exact: not a bit of any result changes.
 *
 * The fused node has the id and the name of the last node of its group; the name of its op lists all of
 * them, for traces. Nodes of an accelerator are fused among themselves, if it makes kernels for groups. When
 * an input is dead, the nodes that it does not reach are still computed, because they may fail. */
#include "worker/runtime/partition/stages.h"

#include <assert.h>

#include "shared/base/text.h"
#include "shared/graph/fusion.h"
#include "worker/runtime/partition/fused.h"

/* Returns whether no input is a reference to a variable. Such an input must be read when this node runs;
 * fused, it would be read when the whole group runs. */
static bool
reads_values(const Partition *partition, const Node *node)
{
    for (uint32_t index = 0; index < node->input_count; index++) {
        Endpoint from = node->inputs[index];
        if (from.node == NODE_NONE || !dtype_is_copyable(node->input_dtypes[index]) ||
            node_output_is_reference(&partition->graph->nodes[from.node], from.port)) {
            return false;
        }
    }
    return true;
}

static bool
may_join(const void *context, const Node *node)
{
    const Partition *partition = context;
    const ScheduleNode *scheduled = &partition->nodes[node->id];
    ElementFunction function;
    if (scheduled->kind != SCHEDULE_KERNEL || !reads_values(partition, node)) {
        return false;
    }
    const Kernel *kernel = scheduled->kernel;
    return device_is_host(scheduled->device) ? kernel->element != NULL && kernel->element(node, &function)
                                             : kernel->fusion != NULL && kernel->fusion->may_join(node);
}

/* The groups of nodes to be fused: each is a list of nodes in topological order that ends with its root. */
typedef struct Groups {
    uint32_t *roots;     /* the root of its group, by node */
    uint32_t *firsts;    /* first node of the list, by root */
    uint32_t *nexts;     /* next node of the list, by node */
    uint32_t *counts;    /* number of nodes, by root */
    uint32_t *positions; /* index in the list, by node */
} Groups;

static Status
groups_new(Call *call, const Graph *graph, Groups *ret_groups)
{
    uint32_t **const lists[] = {
        &ret_groups->firsts, &ret_groups->nexts, &ret_groups->counts, &ret_groups->positions};
    for (size_t index = 0; index < COUNT_OF(lists); index++) {
        *lists[index] = arena_alloc(call->arena, (graph->node_count + 1) * sizeof **lists[index]);
        if (*lists[index] == NULL) {
            return call_fail_memory(call, "groups of nodes");
        }
    }
    return STATUS_OK;
}

/* Tells the nodes of an accelerator from those of the host. */
static Status
find_places(Call *call, const Partition *partition, const uint32_t **ret_places)
{
    uint32_t *places = arena_alloc(call->arena, (partition->node_count + (size_t)1) * sizeof *places);
    if (places == NULL) {
        return call_fail_memory(call, "groups of nodes");
    }
    for (uint32_t id = 0; id < partition->node_count; id++) {
        const Device *device = partition->nodes[id].device;
        places[id] = device != NULL && !device_is_host(device);
    }
    *ret_places = places;
    return STATUS_OK;
}

static Status
find_groups(Call *call, const Partition *partition, Groups *ret_groups)
{
    const Graph *graph = partition->graph;
    FusionRule rule = {.context = partition, .may_join = may_join};
    TRY(find_places(call, partition, &rule.slots));
    TRY(groups_new(call, graph, ret_groups));
    TRY(graph_find_fusions(call, graph, &rule, &ret_groups->roots));
    for (uint32_t left = graph->node_count; left > 0; left--) {
        uint32_t id = graph->order[left - 1];
        uint32_t root = ret_groups->roots[id];
        ret_groups->nexts[id] = id == root ? NODE_NONE : ret_groups->firsts[root];
        ret_groups->firsts[root] = id;
        ret_groups->counts[root]++;
    }
    return STATUS_OK;
}

typedef struct Fusing {
    Call *call;
    Partition *partition;
    const Groups *groups;
    uint32_t root;
    FusedStep *steps;
    Endpoint *inputs; /* outputs that the group reads from outside, each once */
    Dtype *dtypes;
    uint32_t input_count;
} Fusing;

static Status
no_memory(const Fusing *fusing)
{
    return call_fail_memory(fusing->call, "fused nodes");
}

static bool
is_inside(const Fusing *fusing, Endpoint from)
{
    return from.node != fusing->root && fusing->groups->roots[from.node] == fusing->root;
}

static void
add_input(Fusing *fusing, Endpoint from, Dtype dtype)
{
    for (uint32_t index = 0; index < fusing->input_count; index++) {
        if (fusing->inputs[index].node == from.node && fusing->inputs[index].port == from.port) {
            return;
        }
    }
    fusing->dtypes[fusing->input_count] = dtype;
    fusing->inputs[fusing->input_count++] = from;
}

static uint32_t
value_of(const Fusing *fusing, Endpoint from)
{
    if (is_inside(fusing, from)) {
        return fusing->input_count + fusing->groups->positions[from.node];
    }
    uint32_t index = 0;
    while (fusing->inputs[index].node != from.node || fusing->inputs[index].port != from.port) {
        index++;
    }
    return index;
}

static Status
find_inputs(Fusing *fusing)
{
    Arena *arena = fusing->partition->arena;
    fusing->inputs = arena_alloc(arena, FUSION_INPUTS_MAX * sizeof *fusing->inputs);
    fusing->dtypes = arena_alloc(arena, FUSION_INPUTS_MAX * sizeof *fusing->dtypes);
    if (fusing->inputs == NULL || fusing->dtypes == NULL) {
        return no_memory(fusing);
    }
    uint32_t position = 0;
    for (uint32_t id = fusing->groups->firsts[fusing->root]; id != NODE_NONE;
         id = fusing->groups->nexts[id]) {
        const Node *node = &fusing->partition->graph->nodes[id];
        fusing->groups->positions[id] = position++;
        for (uint32_t index = 0; index < node->input_count; index++) {
            if (!is_inside(fusing, node->inputs[index])) {
                add_input(fusing, node->inputs[index], node->input_dtypes[index]);
            }
        }
    }
    return STATUS_OK;
}

static Status
make_step(const Fusing *fusing, const ScheduleNode *scheduled)
{
    const Node *node = scheduled->node;
    FusedStep *step = &fusing->steps[fusing->groups->positions[node->id]];
    uint32_t *values = arena_alloc(fusing->partition->arena, node->input_count * sizeof *values);
    if (values == NULL) {
        return no_memory(fusing);
    }
    for (uint32_t index = 0; index < node->input_count; index++) {
        values[index] = value_of(fusing, node->inputs[index]);
    }
    *step = (FusedStep){.node = node, .kernel = scheduled->kernel, .values = values};
    bool is_told = !device_is_host(scheduled->device) || scheduled->kernel->element(node, &step->function);
    assert(is_told);
    return STATUS_OK;
}

static Status
make_steps(Fusing *fusing)
{
    uint32_t count = fusing->groups->counts[fusing->root];
    fusing->steps = arena_alloc(fusing->partition->arena, count * sizeof *fusing->steps);
    if (fusing->steps == NULL) {
        return no_memory(fusing);
    }
    for (uint32_t id = fusing->groups->firsts[fusing->root]; id != NODE_NONE;
         id = fusing->groups->nexts[id]) {
        TRY(make_step(fusing, &fusing->partition->nodes[id]));
    }
    return STATUS_OK;
}

/* Makes the op of the fused node, whose name lists the nodes for traces: "_Fused(a: Mul, b: Add)". */
static Status
make_op(const Fusing *fusing, Op **ret_op)
{
    AUTO_BUFFER name = {0};
    buffer_append_string(&name, "_Fused(");
    for (uint32_t index = 0; index < fusing->groups->counts[fusing->root]; index++) {
        const Node *node = fusing->steps[index].node;
        buffer_append_format(&name, "%s%.*s: %.*s", index == 0 ? "" : ", ", SLICE_PRINT(node->name),
            SLICE_PRINT(node->op->name));
    }
    buffer_append_string(&name, ")");
    Op *op = arena_alloc(fusing->partition->arena, sizeof *op);
    const char *text = buffer_is_ok(&name) ? text_copy(fusing->partition->arena, buffer_slice(&name)) : NULL;
    if (op == NULL || text == NULL) {
        return no_memory(fusing);
    }
    op->name = slice_from_string(text);
    *ret_op = op;
    return STATUS_OK;
}

/* Makes the fused node: a copy of the root that reads the inputs of the whole group. */
static Status
make_node(const Fusing *fusing, const Node **ret_node)
{
    Node *node = arena_alloc(fusing->partition->arena, sizeof *node);
    Op *op = NULL;
    if (node == NULL) {
        return no_memory(fusing);
    }
    TRY(make_op(fusing, &op));
    *node = fusing->partition->graph->nodes[fusing->root];
    node->op = op;
    node->inputs = fusing->inputs;
    node->input_dtypes = fusing->dtypes;
    node->input_count = fusing->input_count;
    *ret_node = node;
    return STATUS_OK;
}

static Status
make_state(const Fusing *fusing, Fused **ret_fused)
{
    Fused *fused = arena_alloc(fusing->partition->arena, sizeof *fused);
    const FusedPlan **plans =
        arena_alloc(fusing->partition->arena, FUSED_PLAN_COUNT * sizeof(const FusedPlan *));
    if (fused == NULL || plans == NULL) {
        return no_memory(fusing);
    }
    *fused = (Fused){
        .steps = fusing->steps,
        .step_count = fusing->groups->counts[fusing->root],
        .input_count = fusing->input_count,
        .plans = plans,
    };
    *ret_fused = fused;
    return STATUS_OK;
}

/* Replaces the root of a group by the fused node. The other nodes of the group become static and never
 * run: nobody outside the group reads them. */
static void
replace_root(const Fusing *fusing, const Node *node, const Kernel *kernel, Fused *fused)
{
    for (uint32_t index = 0; index + 1 < fused->step_count; index++) {
        ScheduleNode *inside = &fusing->partition->nodes[fused->steps[index].node->id];
        inside->kind = SCHEDULE_STATIC;
        inside->is_cheap = true;
        inside->kernel = NULL;
    }
    ScheduleNode *last = &fusing->partition->nodes[fusing->root];
    last->node = node;
    last->kernel = kernel;
    last->state = fused;
    last->is_cheap = last->is_cheap && !device_is_host(last->device);
}

static Status
make_member_states(const Fusing *fusing, KernelMember *members)
{
    for (uint32_t index = 0; index < fusing->groups->counts[fusing->root]; index++) {
        FusedStep *step = &fusing->steps[index];
        assert(step->kernel->prepare == NULL && step->kernel->host_inputs == 0);
        if (step->kernel->create != NULL) {
            TRY(step->kernel->create(fusing->call, step->node, &step->state));
        }
        members[index] = (KernelMember){.node = step->node, .state = step->state, .values = step->values};
    }
    return STATUS_OK;
}

/* Asks the accelerator for a kernel of the group; fused->group stays NULL when it can have none. */
static Status
make_group(const Fusing *fusing, Fused *fused)
{
    KernelMember *members = arena_alloc(fusing->call->arena, fused->step_count * sizeof *members);
    if (members == NULL) {
        return no_memory(fusing);
    }
    TRY(make_member_states(fusing, members));
    KernelGroup group = {.members = members,
        .member_count = fused->step_count,
        .inputs = fusing->dtypes,
        .input_count = fused->input_count};
    return fused->fusion->create(fusing->call, &group, &fused->group);
}

static Status
fuse_on_device(const Fusing *fusing, const Node *node, Fused *fused)
{
    fused->fusion = fusing->steps[fused->step_count - 1].kernel->fusion;
    Status status = make_group(fusing, fused);
    if (status != STATUS_OK || fused->group == NULL) {
        fused_device_clear(fused);
        return status;
    }
    replace_root(fusing, node, &fused_device_kernel, fused);
    return STATUS_OK;
}

static Status
fuse_group(Fusing *fusing)
{
    const Node *node = NULL;
    Fused *fused = NULL;
    TRY(find_inputs(fusing));
    TRY(make_steps(fusing));
    TRY(make_node(fusing, &node));
    TRY(make_state(fusing, &fused));
    if (!device_is_host(fusing->partition->nodes[fusing->root].device)) {
        return fuse_on_device(fusing, node, fused);
    }
    replace_root(fusing, node, &fused_kernel, fused);
    return STATUS_OK;
}

Status
fuse_elementwise(Call *call, Partition *partition)
{
    Groups groups = {0};
    TRY(find_groups(call, partition, &groups));
    for (uint32_t root = 0; root < partition->node_count; root++) {
        if (groups.counts[root] > 1) {
            Fusing fusing = {.call = call, .partition = partition, .groups = &groups, .root = root};
            TRY(fuse_group(&fusing));
        }
    }
    return STATUS_OK;
}
