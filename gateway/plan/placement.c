/* Assigns every node to a slot, and notes the reason.
 *
 *   1. Nodes that must be together are grouped; a group has the task that any of its nodes asks for. Tasks
 *      take slots in ascending order.
 *   2. In topological order, a node that asks for a task gets its slot. Light nodes, and under the local
 *      policy all nodes, go to the slot that holds most bytes of their inputs. Under the spread policy the
 *      others take turns.
 *   3. Backwards, a light node none of whose inputs has a slot goes to that of its first reader.
 *   4. Unused slots are closed up.
 *
 * Constants and feeds are copied to every slot that reads them, which saves a transfer. Nodes that keep
 * state in the session and ask for no task share one slot, so that where a variable lives does not depend
 * on which of them a step needs. */
#include <assert.h>
#include <stdlib.h>

#include "gateway/plan/estimate.h"
#include "gateway/plan/placement.h"
#include "gateway/plan/stages.h"

/* The bytes that a slot holds of the inputs of one node. */
typedef struct Weight {
    uint64_t bytes;
    const Node *first; /* the first of these inputs */
} Weight;

typedef struct Placement {
    Compile *compile;
    const uint32_t *groups; /* by node: the first node of its group */
    int32_t *tasks;         /* by node: the task that the node itself asks for */
    uint32_t *group_sizes;  /* by the group's first node, as all lists that begin with group_ */
    int32_t *group_tasks;
    const Node **group_askers;
    uint32_t *group_slots;
    bool *group_keeps_state;
    uint32_t state_slot; /* the slot of all groups that keep state and ask for no task */
    bool *has_reader;
    uint32_t *wanted; /* by node that has no slot yet: the slot of its first reader … */
    uint32_t *wanted_by;
    uint32_t turn;
    Weight *weights; /* by slot; zero outside of find_nearest_input() */
} Placement;

/* Gives the task that a node asks for to its whole group. */
static Status
add_request(const Placement *placement, uint32_t group, const Node *asker, int32_t *ret_task)
{
    const Compile *compile = placement->compile;
    int32_t *known = &placement->group_tasks[group];
    DeviceRequest request;
    TRY(device_request(compile, asker->def, &request));
    *ret_task = request.task;
    if (*ret_task == PLAN_TASK_NONE || *ret_task == *known) {
        return STATUS_OK;
    }
    if (*known != PLAN_TASK_NONE) {
        const Node *other = placement->group_askers[group];
        return call_fail(compile->call, STATUS_INVALID_ARGUMENT,
            "nodes '%.*s' and '%.*s' must be together, but ask for '%.*s' and '%.*s'",
            SLICE_PRINT(other->name), SLICE_PRINT(asker->name), SLICE_PRINT(other->def->device),
            SLICE_PRINT(asker->def->device));
    }
    *known = *ret_task;
    placement->group_askers[group] = asker;
    return STATUS_OK;
}

/* Counts the node for its group and adds its request; and that of a node that it is colocated with by
 * name, even if the step does not need that node. */
static Status
add_requests(const Placement *placement, uint32_t id)
{
    const Compile *compile = placement->compile;
    const Node *node = &compile->graph->nodes[id];
    uint32_t group = placement->groups[id];
    size_t position = 0;
    Slice name;
    placement->group_sizes[group]++;
    placement->group_keeps_state[group] = placement->group_keeps_state[group] || node_keeps_state(node);
    TRY(add_request(placement, group, node, &placement->tasks[id]));
    while (next_colocation(compile->origins[id], &position, &name)) {
        const Node *other =
            graph_find(compile->graph, name) == NULL ? graph_find(compile->source, name) : NULL;
        int32_t ignored = PLAN_TASK_NONE;
        TRY(other == NULL ? STATUS_OK : add_request(placement, group, other, &ignored));
    }
    return STATUS_OK;
}

static int
compare_tasks(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left;
    int32_t b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

/* Lists the tasks that groups ask for, in the order of their numbers, not of names: task 2 comes before task
 * 10. */
static Status
list_tasks(const Placement *placement, int32_t **ret_tasks, uint32_t *ret_count)
{
    const Compile *compile = placement->compile;
    int32_t *tasks = compile_alloc(compile, compile->graph->node_count, sizeof *tasks);
    uint32_t asked = 0;
    uint32_t count = 0;
    if (tasks == NULL) {
        return compile_no_memory(compile);
    }
    for (uint32_t id = 0; id < compile->graph->node_count; id++) {
        int32_t task = placement->group_tasks[id];
        if (task != PLAN_TASK_NONE && (asked == 0 || tasks[asked - 1] != task)) {
            tasks[asked++] = task;
        }
    }
    qsort(tasks, asked, sizeof *tasks, compare_tasks);
    for (uint32_t index = 0; index < asked; index++) {
        if (count == 0 || tasks[count - 1] != tasks[index]) {
            tasks[count++] = tasks[index];
        }
    }
    *ret_tasks = tasks;
    *ret_count = count;
    return STATUS_OK;
}

static bool
keeps_state_anywhere(const Placement *placement)
{
    bool keeps_state = false;
    for (uint32_t id = 0; id < placement->compile->graph->node_count; id++) {
        keeps_state =
            keeps_state || (placement->group_tasks[id] == PLAN_TASK_NONE && placement->group_keeps_state[id]);
    }
    return keeps_state;
}

static Status
open_slots(Placement *placement)
{
    Compile *compile = placement->compile;
    uint32_t configured = compile->request->signature->options.slot_count;
    bool keeps_state = keeps_state_anywhere(placement);
    int32_t *tasks = NULL;
    uint32_t count = 0;
    uint32_t most =
        compile->request->slot_count_max == 0 ? PLAN_SLOT_COUNT_MAX : compile->request->slot_count_max;
    TRY(list_tasks(placement, &tasks, &count));
    if (count + keeps_state > most) {
        return call_fail(compile->call, STATUS_INVALID_ARGUMENT,
            "the nodes of this step ask for %u worker tasks, %u slots are possible", count, most);
    }
    assert(tasks != NULL && most <= PLAN_SLOT_COUNT_MAX);
    memcpy(compile->slot_tasks, tasks, count * sizeof *tasks);
    placement->state_slot = count;
    uint32_t wanted = keeps_state && configured <= count ? count + 1 : configured;
    for (; count < wanted; count++) {
        compile->slot_tasks[count] = PLAN_TASK_NONE;
    }
    compile->slot_count = count;
    return STATUS_OK;
}

/* The slots of tasks stand first, in the order of the tasks. */
static uint32_t
slot_of_task(const Placement *placement, int32_t task)
{
    const int32_t *tasks = placement->compile->slot_tasks;
    const int32_t *found = bsearch(&task, tasks, placement->state_slot, sizeof *tasks, compare_tasks);
    assert(found != NULL);
    return (uint32_t)(found - tasks);
}

/* Returns true for ops that only look at, rename or reshape their input. */
static bool
is_light(const Node *node)
{
    static const char *const light[] = {"_Retval", "CheckNumerics", "ExpandDims", "Identity", "IdentityN",
        "NoOp", "PreventGradient", "Rank", "Reshape", "Shape", "ShapeN", "Size", "Snapshot", "Squeeze",
        "StopGradient", "onnx::Flatten", "onnx::Identity", "onnx::Reshape", "onnx::Shape", "onnx::Size",
        "onnx::Squeeze", "onnx::Unsqueeze"};
    if (node->op->flags & (OP_SOURCE | OP_CONTROL_FLOW)) {
        return true;
    }
    for (size_t index = 0; index < COUNT_OF(light); index++) {
        if (op_is(node, light[index])) {
            return true;
        }
    }
    return false;
}

/* Copied are nodes that cost nothing to have twice and wait for nothing; and an Enter of a loop's
 * constant, so that the value crosses once, in front of the loop. */
static bool
is_copied(const Placement *placement, const Node *node)
{
    uint32_t group = placement->groups[node->id];
    return (op_is(node, "Const") || op_is(node, "_Arg") || is_constant_enter(node)) &&
           node->control_count == 0 && placement->group_sizes[group] == 1 &&
           placement->group_tasks[group] == PLAN_TASK_NONE && placement->has_reader[node->id] &&
           !placement->compile->is_target[node->id];
}

static void
assign_slot(Placement *placement, const Node *node, uint32_t slot, const char *why, Slice subject)
{
    Compile *compile = placement->compile;
    compile->slots[node->id] = slot;
    compile->whys[node->id] = why;
    compile->subjects[node->id] = subject;
    placement->group_slots[placement->groups[node->id]] = slot;
}

static bool
has_slot(const Compile *compile, uint32_t id)
{
    return id != NODE_NONE && compile->slots[id] != SLOT_NONE && compile->slots[id] != SLOT_COPIED;
}

/* Counts one byte more than the input has, so that empty ones count. */
static void
weigh_input(const Placement *placement, Endpoint endpoint)
{
    const Compile *compile = placement->compile;
    const Node *source = &compile->graph->nodes[endpoint.node];
    Weight *weight = &placement->weights[compile->slots[endpoint.node]];
    uint64_t bytes = estimate_bytes(compile, source, endpoint.port) + 1;
    weight->bytes = weight->bytes > INT64_MAX - bytes ? INT64_MAX : weight->bytes + bytes;
    weight->first = weight->first == NULL ? source : weight->first;
}

/* Returns the input on the slot that holds most bytes of the node's inputs, the lowest slot of equals;
 * without data, its first control input that has a slot. A Switch follows its data, not its predicate.
 * NULL when no input has a slot. */
static const Node *
find_nearest_input(const Placement *placement, const Node *node)
{
    const Compile *compile = placement->compile;
    bool is_switch = op_is(node, "Switch") && has_slot(compile, node->inputs[0].node);
    uint32_t count = is_switch ? 1 : node->input_count;
    Weight best = {0};
    for (uint32_t index = 0; index < count; index++) {
        if (has_slot(compile, node->inputs[index].node)) {
            weigh_input(placement, node->inputs[index]);
        }
    }
    for (uint32_t index = 0; index < count; index++) {
        if (!has_slot(compile, node->inputs[index].node)) {
            continue;
        }
        uint32_t slot = compile->slots[node->inputs[index].node];
        Weight weight = placement->weights[slot];
        if (weight.bytes > best.bytes ||
            (weight.first != NULL && weight.bytes == best.bytes && slot < compile->slots[best.first->id])) {
            best = weight;
        }
        placement->weights[slot] = (Weight){0}; /* the slot's other inputs are in this weight */
    }
    for (uint32_t index = 0; best.first == NULL && index < node->control_count; index++) {
        if (has_slot(compile, node->controls[index])) {
            return &compile->graph->nodes[node->controls[index]];
        }
    }
    return best.first;
}

static void
assign_free(Placement *placement, const Node *node)
{
    Compile *compile = placement->compile;
    assert(compile->slot_count > 0);
    bool is_alone = placement->group_sizes[placement->groups[node->id]] == 1;
    bool is_spread = compile->request->signature->options.placement == PLACEMENT_SPREAD;
    bool is_small = is_alone && is_light(node);
    const Node *near = is_spread && !is_small ? NULL : find_nearest_input(placement, node);
    if (near != NULL) {
        assign_slot(placement, node, compile->slots[near->id], "next to its input", near->name);
    } else if (is_small) {
        compile->slots[node->id] = SLOT_NONE;
    } else if (is_spread) {
        assign_slot(placement, node, placement->turn++ % compile->slot_count, "next in turn", SLICE(""));
    } else {
        assign_slot(placement, node, 0, "nothing asks for another place", SLICE(""));
    }
}

static void
assign_forward(Placement *placement, const Node *node)
{
    Compile *compile = placement->compile;
    uint32_t group = placement->groups[node->id];
    int32_t task = placement->group_tasks[group];
    if (is_copied(placement, node)) {
        compile->slots[node->id] = SLOT_COPIED;
        compile->whys[node->id] = op_is(node, "_Arg")    ? "a feed goes to where it is read"
                                  : op_is(node, "Const") ? "a constant is copied to its readers"
                                                         : "a loop's constant is copied to its readers";
        compile->subjects[node->id] = SLICE("");
    } else if (task != PLAN_TASK_NONE) {
        const Node *asker = placement->group_askers[group];
        bool is_own = placement->tasks[node->id] == task;
        assign_slot(placement, node, slot_of_task(placement, task), is_own ? "asks for" : "together with",
            is_own ? node->def->device : asker->name);
    } else if (placement->group_slots[group] != SLOT_NONE) {
        assign_slot(placement, node, placement->group_slots[group], "together with",
            compile->graph->nodes[group].name);
    } else if (placement->group_keeps_state[group]) {
        assign_slot(placement, node, placement->state_slot, "with all that the session keeps", SLICE(""));
    } else {
        assign_free(placement, node);
    }
}

static void
wish_slot(Placement *placement, uint32_t id, const Node *reader)
{
    if (id != NODE_NONE) {
        placement->wanted[id] = placement->compile->slots[reader->id];
        placement->wanted_by[id] = reader->id;
    }
}

/* Readers are visited before what they read; the last wish that a node gets is its first reader's. */
static void
assign_backward(Placement *placement, const Node *node)
{
    Compile *compile = placement->compile;
    if (compile->slots[node->id] == SLOT_NONE && placement->wanted[node->id] != SLOT_NONE) {
        assign_slot(placement, node, placement->wanted[node->id], "next to its reader",
            compile->graph->nodes[placement->wanted_by[node->id]].name);
    } else if (compile->slots[node->id] == SLOT_NONE) {
        assign_slot(placement, node, 0, "nothing asks for another place", SLICE(""));
    }
    if (compile->slots[node->id] == SLOT_COPIED) {
        return;
    }
    for (uint32_t index = node->control_count; index-- > 0;) {
        wish_slot(placement, node->controls[index], node);
    }
    for (uint32_t index = node->input_count; index-- > 0;) {
        wish_slot(placement, node->inputs[index].node, node);
    }
}

static void
close_slots(Compile *compile)
{
    uint32_t numbers[PLAN_SLOT_COUNT_MAX];
    bool is_used[PLAN_SLOT_COUNT_MAX] = {false};
    uint32_t node_count = compile->graph->node_count;
    for (uint32_t id = 0; id < node_count; id++) {
        if (compile->slots[id] != SLOT_COPIED) {
            is_used[compile->slots[id]] = true;
        }
    }
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < compile->slot_count; slot++) {
        numbers[slot] = count;
        compile->slot_tasks[count] = compile->slot_tasks[slot];
        count += is_used[slot];
    }
    for (uint32_t id = 0; id < node_count; id++) {
        if (compile->slots[id] != SLOT_COPIED) {
            compile->slots[id] = numbers[compile->slots[id]];
        }
    }
    compile->slot_count = count;
}

static Status
alloc_placement(Placement *placement)
{
    Compile *compile = placement->compile;
    uint32_t count = compile->graph->node_count;
    compile->slots = compile_alloc(compile, count, sizeof *compile->slots);
    compile->whys = compile_alloc(compile, count, sizeof *compile->whys);
    compile->subjects = compile_alloc(compile, count, sizeof *compile->subjects);
    placement->tasks = compile_alloc(compile, count, sizeof *placement->tasks);
    placement->group_sizes = compile_alloc(compile, count, sizeof *placement->group_sizes);
    placement->group_tasks = compile_alloc(compile, count, sizeof *placement->group_tasks);
    placement->group_askers = compile_alloc(compile, count, sizeof(const Node *));
    placement->group_slots = compile_alloc(compile, count, sizeof *placement->group_slots);
    placement->group_keeps_state = compile_alloc(compile, count, sizeof *placement->group_keeps_state);
    placement->has_reader = compile_alloc(compile, count, sizeof *placement->has_reader);
    placement->wanted = compile_alloc(compile, count, sizeof *placement->wanted);
    placement->wanted_by = compile_alloc(compile, count, sizeof *placement->wanted_by);
    bool is_all = compile->slots != NULL && compile->whys != NULL && compile->subjects != NULL &&
                  placement->tasks != NULL && placement->group_sizes != NULL &&
                  placement->group_tasks != NULL && placement->group_askers != NULL &&
                  placement->group_slots != NULL && placement->group_keeps_state != NULL &&
                  placement->has_reader != NULL && placement->wanted != NULL && placement->wanted_by != NULL;
    if (!is_all) {
        return compile_no_memory(compile);
    }
    for (uint32_t id = 0; id < count; id++) {
        compile->slots[id] = SLOT_NONE;
        placement->group_tasks[id] = PLAN_TASK_NONE;
        placement->group_slots[id] = SLOT_NONE;
        placement->wanted[id] = SLOT_NONE;
    }
    return STATUS_OK;
}

static void
find_readers(const Placement *placement)
{
    const Graph *graph = placement->compile->graph;
    for (uint32_t id = 0; id < graph->node_count; id++) {
        const Node *node = &graph->nodes[id];
        for (uint32_t index = 0; index < node->input_count; index++) {
            if (node->inputs[index].node != NODE_NONE) {
                placement->has_reader[node->inputs[index].node] = true;
            }
        }
        for (uint32_t index = 0; index < node->control_count; index++) {
            placement->has_reader[node->controls[index]] = true;
        }
    }
}

Status
assign_slots(Compile *compile)
{
    const Graph *graph = compile->graph;
    uint32_t *groups = NULL;
    assert(compile->shapes != NULL && compile->is_target != NULL && compile->frames.frames != NULL);
    TRY(group_nodes(compile, &groups));
    Placement placement = {.compile = compile, .groups = groups};
    TRY(alloc_placement(&placement));
    find_readers(&placement);
    for (uint32_t id = 0; id < graph->node_count; id++) {
        TRY(add_requests(&placement, id));
    }
    TRY(open_slots(&placement));
    placement.weights = compile_alloc(compile, compile->slot_count, sizeof *placement.weights);
    if (placement.weights == NULL) {
        return compile_no_memory(compile);
    }
    for (uint32_t index = 0; index < graph->node_count; index++) {
        assign_forward(&placement, &graph->nodes[graph->order[index]]);
    }
    for (uint32_t index = graph->node_count; index-- > 0;) {
        assign_backward(&placement, &graph->nodes[graph->order[index]]);
    }
    close_slots(compile);
    return STATUS_OK;
}
