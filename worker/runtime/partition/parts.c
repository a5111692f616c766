/* Finds the parts of a partition that the accelerator may capture: stretches of nodes without copies,
 * promises, control flow and anything that the host decides.
 *
 * A part runs when all that it reads has come, so none of its nodes may wait for what another of them sets
 * going. Two numbers of each node see to that: its stage counts how often a way to it leaves what may be
 * captured, and its sources are all that its ways come from and that may be late (feeds, peers, promises) or
 * dead (branches). Nodes of one frame, stage and set of sources are a part: a way out of it and back would
 * lead through a higher stage or to more sources, and when one of them is dead all are. */
#include "worker/runtime/partition/stages.h"

#include <assert.h>

#include "shared/base/map.h"

enum {
    MEMBERS_MAX = 1024,  /* a run that has been cancelled notices after a part */
    WORDS_MAX = 1 << 22, /* of all sets of sources; a graph that would need more has no parts */
    WORD_BITS = 64,
};
static const size_t FINDING_MAX = (size_t)1 << 30;

typedef struct Finding {
    Call *call;
    Arena *arena; /* for what is needed here only */
    Partition *partition;
    uint32_t word_count; /* of a set */
    uint64_t *sources;   /* by node: its set */
    uint64_t *late;      /* the set of sources that may be late, not those that may be dead */
    uint32_t *first_bit; /* by node: of its own sources */
    uint32_t *stages;    /* by node */
    bool *is_member;     /* by node: may be captured */
    bool *is_fact;       /* by node: computed on the host of nothing but shapes */
    Map *groups;         /* frame, stage and sources → Group */
    struct Group *first; /* of all groups */
} Finding;

typedef struct Group {
    struct Group *next;
    uint32_t *nodes;
    uint32_t count;
    uint32_t capacity;
    uint32_t launch_count;
} Group;

static bool
is_pure(const ScheduleNode *node)
{
    return node->kind == SCHEDULE_KERNEL &&
           (node->node->op->flags & (OP_STATEFUL | OP_RANDOM | OP_KEEPS_STATE | OP_STEP_LOCAL)) == 0 &&
           !node->kernel->visits_variables && node->kernel->sharing != KERNEL_LENDS;
}

static bool
has_plain_tensors(const Finding *finding, const Node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        Endpoint from = node->inputs[i];
        if (from.node != NODE_NONE &&
            (!dtype_is_copyable(node->input_dtypes[i]) ||
                node_output_is_reference(&finding->partition->graph->nodes[from.node], from.port))) {
            return false;
        }
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (!dtype_is_copyable(node->output_dtypes[i]) || node_output_is_reference(node, i)) {
            return false;
        }
    }
    return node->output_count > 0;
}

/* Returns whether all elements that the node reads or passes on are facts about shapes, or constants. */
static bool
uses_facts_alone(const Finding *finding, const ScheduleNode *node)
{
    bool passes_on = node->kernel->sharing == KERNEL_PASSES;
    for (uint32_t i = 0; i < node->node->input_count; i++) {
        uint32_t from = node->node->inputs[i].node;
        bool is_used = from != NODE_NONE && (passes_on || input_memory(node, i) != MEMORY_ANY);
        if (is_used && !finding->is_fact[from] && finding->partition->nodes[from].kind != SCHEDULE_STATIC) {
            return false;
        }
    }
    return true;
}

/* Returns whether the host passes on what lies in the accelerator's memory, under another shape at most. */
static bool
passes_on_there(const ScheduleNode *node)
{
    bool passes = node->kernel->any_inputs != 0 && node->kernel->sharing == KERNEL_PASSES;
    for (uint32_t i = 0; i < node->node->output_count && passes; i++) {
        passes = node->memories[i] != MEMORY_HOST;
    }
    return passes;
}

static uint64_t *
sources_of(const Finding *finding, uint32_t node)
{
    return &finding->sources[(size_t)node * finding->word_count];
}

/* Returns whether the node's inputs are dead all or none, so that none of the nodes fused in it is computed
 * without the others. An output of a Switch may be dead alone. */
static bool
dies_at_once(const Finding *finding, const Node *node)
{
    const uint64_t *first = NULL;
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t from = node->inputs[i].node;
        ScheduleKind kind = finding->partition->nodes[from].kind;
        const uint64_t *set = sources_of(finding, from);
        first = first == NULL && kind != SCHEDULE_STATIC ? set : first;
        for (uint32_t word = 0; word < finding->word_count && kind != SCHEDULE_STATIC; word++) {
            if (((set[word] ^ first[word]) & ~finding->late[word]) != 0) {
                return false;
            }
        }
        if (kind == SCHEDULE_SWITCH) {
            return false;
        }
    }
    return true;
}

static void
judge_node(const Finding *finding, uint32_t id)
{
    const ScheduleNode *node = &finding->partition->nodes[id];
    if (!is_pure(node) || !has_plain_tensors(finding, node->node) ||
        (node->kernel->compute_dead != NULL &&
            (device_is_host(node->device) || !dies_at_once(finding, node->node)))) {
        return;
    }
    if (!device_is_host(node->device)) {
        finding->is_member[id] = node->kernel->host_outputs == 0;
        return;
    }
    bool is_about_shapes = node->is_kept || node->kernel->any_inputs != 0;
    finding->is_fact[id] =
        is_about_shapes && node->memories[0] == MEMORY_HOST && uses_facts_alone(finding, node);
    finding->is_member[id] = finding->is_fact[id] || passes_on_there(node);
}

/* The sources that nodes of a kind are. */
typedef struct SourceRule {
    uint8_t late_count;
    uint8_t dead_count;
    bool is_alive_again; /* it does not follow from its inputs whether it is dead */
} SourceRule;

static const SourceRule SOURCE_RULES[] = {
    [SCHEDULE_PROMISE] = {.late_count = 1, .dead_count = 1},
    [SCHEDULE_ARG] = {.late_count = 1},
    [SCHEDULE_RECV] = {.late_count = 1, .dead_count = 1},
    [SCHEDULE_SWITCH] = {.dead_count = 2},
    [SCHEDULE_MERGE] = {.dead_count = 1, .is_alive_again = true},
    [SCHEDULE_ENTER] = {.dead_count = 1, .is_alive_again = true},
    [SCHEDULE_EXIT] = {.dead_count = 1, .is_alive_again = true},
    [SCHEDULE_NEXT] = {.dead_count = 1, .is_alive_again = true},
    [SCHEDULE_TRIGGER] = {.dead_count = 1, .is_alive_again = true},
    [SCHEDULE_NOTHING] = {0},
};

/* Returns the sources that a node is. Copies between memories and visits of variables wait for nothing but
 * this worker's own work. */
static SourceRule
source_rule(const ScheduleNode *node)
{
    bool waits_for_none =
        node->kind == SCHEDULE_PROMISE &&
        (node->kernel->visits_variables || slice_equals_string(node->node->op->name, "_Copy"));
    return SOURCE_RULES[waits_for_none ? SCHEDULE_NOTHING : node->kind];
}

static void
set_bit(uint64_t *set, uint32_t bit)
{
    set[bit / WORD_BITS] |= (uint64_t)1 << bit % WORD_BITS;
}

static void
add_sources(const Finding *finding, uint32_t node, uint32_t from)
{
    uint64_t *set = sources_of(finding, node);
    const uint64_t *more = sources_of(finding, from);
    for (uint32_t word = 0; word < finding->word_count; word++) {
        set[word] |= more[word];
    }
}

static void
raise_stage(const Finding *finding, uint32_t node, uint32_t from)
{
    uint32_t stage = finding->stages[from] + (finding->is_member[from] && !finding->is_member[node]);
    if (stage > finding->stages[node]) {
        finding->stages[node] = stage;
    }
}

/* Adds what a node is itself to what its inputs come from. */
static void
add_own_sources(const Finding *finding, uint32_t id)
{
    SourceRule rule = source_rule(&finding->partition->nodes[id]);
    uint64_t *set = sources_of(finding, id);
    uint32_t bit = finding->first_bit[id];
    for (uint32_t word = 0; word < finding->word_count && rule.is_alive_again; word++) {
        set[word] &= finding->late[word];
    }
    for (uint32_t i = 0; i < rule.late_count; i++, bit++) {
        set_bit(set, bit);
        set_bit(finding->late, bit);
    }
    if (rule.dead_count == 1) {
        set_bit(set, bit);
    }
}

/* Walks the graph in its order: what a NextIteration gives a loop comes later and is none of its sources. */
static void
follow_inputs(const Finding *finding)
{
    const Partition *partition = finding->partition;
    for (uint32_t position = 0; position < partition->node_count; position++) {
        uint32_t id = partition->graph->order[position];
        const Node *node = partition->nodes[id].node;
        judge_node(finding, id);
        for (uint32_t i = 0; i < node->input_count; i++) {
            Endpoint from = node->inputs[i];
            if (from.node != NODE_NONE) {
                add_sources(finding, id, from.node);
                raise_stage(finding, id, from.node);
            }
            if (from.node != NODE_NONE && partition->nodes[from.node].kind == SCHEDULE_SWITCH) {
                set_bit(sources_of(finding, id), finding->first_bit[from.node] + from.port);
            }
        }
        for (uint32_t i = 0; i < node->control_count; i++) {
            add_sources(finding, id, node->controls[i]);
            raise_stage(finding, id, node->controls[i]);
        }
        add_own_sources(finding, id);
    }
}

static bool
add_to_group(const Finding *finding, Group *group, uint32_t id)
{
    if (group->count == group->capacity) {
        uint32_t capacity = group->capacity == 0 ? 8 : group->capacity * 2;
        uint32_t *nodes = arena_alloc(finding->arena, capacity * sizeof *nodes);
        if (nodes == NULL) {
            return false;
        }
        if (group->count > 0) {
            memcpy(nodes, group->nodes, group->count * sizeof *nodes);
        }
        group->nodes = nodes;
        group->capacity = capacity;
    }
    group->nodes[group->count++] = id;
    group->launch_count += !device_is_host(finding->partition->nodes[id].device);
    return true;
}

/* Makes a part of a group that is worth it. */
static Status
make_part(const Finding *finding, const Group *group)
{
    Partition *partition = finding->partition;
    if (group->launch_count < captures_launch_min(partition->accelerator->captures)) {
        return STATUS_OK;
    }
    SchedulePart *part = arena_alloc(partition->arena, sizeof *part);
    PartMember *members = arena_alloc(partition->arena, group->count * sizeof *members);
    if (part == NULL || members == NULL) {
        return call_fail_memory(finding->call, "a partition's parts");
    }
    for (uint32_t i = 0; i < group->count; i++) {
        members[i].node = group->nodes[i];
        partition->nodes[group->nodes[i]].part = part;
    }
    list_init(&part->site.captures);
    part->members = members;
    part->member_count = group->count;
    part->launch_count = group->launch_count;
    part->next = partition->parts;
    partition->parts = part;
    return STATUS_OK;
}

/* Finds or adds the group of a node. A full group becomes a part, and another begins behind it. */
static Status
find_group(Finding *finding, uint32_t id, Group **ret_group)
{
    size_t set_size = finding->word_count * sizeof(uint64_t);
    uint32_t *key = arena_alloc(finding->arena, 2 * sizeof *key + set_size);
    if (key == NULL) {
        return call_fail_memory(finding->call, "a partition's parts");
    }
    key[0] = finding->partition->nodes[id].frame;
    key[1] = finding->stages[id];
    memcpy(key + 2, sources_of(finding, id), set_size);
    Slice text = slice_of(key, 2 * sizeof *key + set_size);
    Group *group = map_get(finding->groups, text);
    if (group != NULL && group->count == MEMBERS_MAX) {
        TRY(make_part(finding, group));
        *group = (Group){.next = group->next};
    }
    if (group == NULL) {
        group = arena_alloc(finding->arena, sizeof *group);
        if (group == NULL || !map_put(finding->groups, text, group)) {
            return call_fail_memory(finding->call, "a partition's parts");
        }
        group->next = finding->first;
        finding->first = group;
    }
    *ret_group = group;
    return STATUS_OK;
}

static Status
group_nodes(Finding *finding)
{
    const Partition *partition = finding->partition;
    for (uint32_t position = 0; position < partition->node_count; position++) {
        uint32_t id = partition->graph->order[position];
        if (finding->is_member[id]) {
            Group *group = NULL;
            TRY(find_group(finding, id, &group));
            if (!add_to_group(finding, group, id)) {
                return call_fail_memory(finding->call, "a partition's parts");
            }
        }
    }
    for (const Group *group = finding->first; group != NULL; group = group->next) {
        TRY(make_part(finding, group));
    }
    return STATUS_OK;
}

/* Numbers the sources. Returns false when their sets would take too much memory. */
static bool
number_sources(Finding *finding)
{
    const Partition *partition = finding->partition;
    uint64_t count = 0;
    for (uint32_t id = 0; id < partition->node_count; id++) {
        SourceRule rule = source_rule(&partition->nodes[id]);
        finding->first_bit[id] = (uint32_t)count;
        count += (uint64_t)rule.late_count + rule.dead_count;
    }
    uint64_t words = count / WORD_BITS + 1;
    finding->word_count = (uint32_t)words;
    return words * partition->node_count <= WORDS_MAX;
}

static bool
has_all_arrays(Finding *finding)
{
    size_t count = finding->partition->node_count + (size_t)1;
    finding->sources = arena_alloc(finding->arena, count * finding->word_count * sizeof(uint64_t));
    finding->late = arena_alloc(finding->arena, finding->word_count * sizeof(uint64_t));
    finding->stages = arena_alloc(finding->arena, count * sizeof(uint32_t));
    finding->is_member = arena_alloc(finding->arena, count * sizeof(bool));
    finding->is_fact = arena_alloc(finding->arena, count * sizeof(bool));
    return finding->sources != NULL && finding->late != NULL && finding->stages != NULL &&
           finding->is_member != NULL && finding->is_fact != NULL;
}

Status
find_parts(Call *call, Partition *partition)
{
    if (partition->accelerator == NULL || partition->accelerator->captures == NULL) {
        return STATUS_OK;
    }
    partition->captures = partition->accelerator->captures;
    AUTO_ARENA arena = arena_new(FINDING_MAX);
    AUTO_MAP groups = map_new();
    Finding finding = {.call = call, .arena = arena, .partition = partition, .groups = groups};
    finding.first_bit =
        arena == NULL ? NULL : arena_alloc(arena, (partition->node_count + (size_t)1) * sizeof(uint32_t));
    if (finding.first_bit == NULL || groups == NULL) {
        return call_fail_memory(call, "a partition's parts");
    }
    if (!number_sources(&finding)) {
        return STATUS_OK;
    }
    if (!has_all_arrays(&finding)) {
        return call_fail_memory(call, "a partition's parts");
    }
    follow_inputs(&finding);
    return group_nodes(&finding);
}

/* Parts whose edges are being told apart. */
typedef struct Connecting {
    Call *call;
    Partition *partition;
    SchedulePart *part;
    uint32_t *seen; /* by port: a stamp (mark_last_edges()) */
    uint32_t stamp;
    uint32_t slot_count;
} Connecting;

static Status
no_memory(const Connecting *connecting)
{
    return call_fail_memory(connecting->call, "a partition's parts");
}

static bool
is_inner_edge(const Connecting *connecting, const ScheduleNode *node, const ScheduleEdge *edge)
{
    const Partition *partition = connecting->partition;
    uint32_t reader = partition->frames[node->child].nodes[edge->cell];
    return partition->nodes[reader].part == connecting->part;
}

/* Copies the member's edges of one side into a row of its own. */
static Status
make_row(Connecting *connecting, const ScheduleNode *node, bool is_inner, ScheduleNode *ret_row)
{
    ScheduleEdge *edges =
        arena_alloc(connecting->partition->arena, (node->edge_count + (size_t)1) * sizeof *edges);
    if (edges == NULL) {
        return no_memory(connecting);
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->edge_count; i++) {
        if (is_inner_edge(connecting, node, &node->edges[i]) == is_inner) {
            edges[count++] = node->edges[i];
        }
    }
    mark_last_edges(edges, count, ++connecting->stamp, connecting->seen);
    *ret_row = *node;
    ret_row->edges = edges;
    ret_row->edge_count = count;
    return STATUS_OK;
}

static void
list_outputs(SchedulePart *part, uint32_t member)
{
    const ScheduleNode *row = &part->members[member].outer;
    for (uint32_t i = 0; i < row->edge_count; i++) {
        if (row->edges[i].slot != SLOT_NONE && row->edges[i].is_last) {
            part->outputs[part->output_count++] = (PartOutput){.member = member, .port = row->edges[i].port};
        }
    }
}

static Status
connect_outputs(Connecting *connecting)
{
    SchedulePart *part = connecting->part;
    size_t edge_count = 0;
    for (uint32_t i = 0; i < part->member_count; i++) {
        const ScheduleNode *node = &connecting->partition->nodes[part->members[i].node];
        TRY(make_row(connecting, node, true, &part->members[i].inner));
        TRY(make_row(connecting, node, false, &part->members[i].outer));
        edge_count += part->members[i].outer.edge_count;
    }
    part->outputs = arena_alloc(connecting->partition->arena, (edge_count + 1) * sizeof *part->outputs);
    if (part->outputs == NULL) {
        return no_memory(connecting);
    }
    for (uint32_t i = 0; i < part->member_count; i++) {
        list_outputs(part, i);
    }
    return STATUS_OK;
}

static PartInput *
find_input(const SchedulePart *part, Endpoint from)
{
    for (uint32_t i = 0; i < part->input_count; i++) {
        if (part->inputs[i].from.node == from.node && part->inputs[i].from.port == from.port) {
            return &part->inputs[i];
        }
    }
    return NULL;
}

/* Returns whether what a member does, or gives out on the host, depends on the elements of an input. */
static bool
is_read_on_host(const Connecting *connecting, const ScheduleNode *node, uint32_t index)
{
    Endpoint from = node->node->inputs[index];
    bool passes_on = device_is_host(node->device) && node->kernel->sharing == KERNEL_PASSES;
    bool is_on_host = connecting->partition->nodes[from.node].memories[from.port] == MEMORY_HOST;
    return input_memory(node, index) == MEMORY_HOST || (passes_on && is_on_host);
}

static void
count_slot(Connecting *connecting, const ScheduleNode *node, uint32_t index)
{
    SchedulePart *part = connecting->part;
    Endpoint from = node->node->inputs[index];
    PartInput *input = find_input(part, from);
    if (input == NULL) {
        input = &part->inputs[part->input_count++];
        input->from = from;
    }
    input->slot_count++;
    connecting->slot_count++;
    input->is_read_on_host = input->is_read_on_host || is_read_on_host(connecting, node, index);
}

static void
list_slot(Connecting *connecting, const ScheduleNode *node, uint32_t index)
{
    PartInput *input = find_input(connecting->part, node->node->inputs[index]);
    assert(input != NULL);
    input->slots[input->slot_count++] = node->slot + index;
}

/* Visits the inputs that come from outside of the part, and are no constants. */
static void
visit_inputs(Connecting *connecting, void (*visit)(Connecting *, const ScheduleNode *node, uint32_t index))
{
    const Partition *partition = connecting->partition;
    const SchedulePart *part = connecting->part;
    for (uint32_t i = 0; i < part->member_count; i++) {
        const ScheduleNode *node = &partition->nodes[part->members[i].node];
        for (uint32_t k = 0; k < node->node->input_count; k++) {
            uint32_t from = node->node->inputs[k].node;
            if (from != NODE_NONE && partition->nodes[from].kind != SCHEDULE_STATIC &&
                partition->nodes[from].part != part) {
                visit(connecting, node, k);
            }
        }
    }
}

static Status
connect_inputs(Connecting *connecting)
{
    SchedulePart *part = connecting->part;
    Arena *arena = connecting->partition->arena;
    size_t room = 1;
    for (uint32_t i = 0; i < part->member_count; i++) {
        room += connecting->partition->nodes[part->members[i].node].node->input_count;
    }
    part->inputs = arena_alloc(arena, room * sizeof *part->inputs);
    if (part->inputs == NULL) {
        return no_memory(connecting);
    }
    connecting->slot_count = 0;
    visit_inputs(connecting, count_slot);
    uint32_t *slots = arena_alloc(arena, (connecting->slot_count + (size_t)1) * sizeof *slots);
    if (slots == NULL) {
        return no_memory(connecting);
    }
    for (uint32_t i = 0; i < part->input_count; i++) {
        part->inputs[i].slots = slots;
        slots += part->inputs[i].slot_count;
        part->inputs[i].slot_count = 0;
    }
    visit_inputs(connecting, list_slot);
    return STATUS_OK;
}

Status
connect_parts(Call *call, Partition *partition)
{
    Connecting connecting = {.call = call, .partition = partition};
    uint32_t port_max = 1;
    for (uint32_t id = 0; id < partition->node_count; id++) {
        uint32_t count = partition->nodes[id].node->output_count;
        port_max = count > port_max ? count : port_max;
    }
    if (partition->parts != NULL) {
        connecting.seen = arena_alloc(partition->arena, port_max * sizeof *connecting.seen);
        if (connecting.seen == NULL) {
            return no_memory(&connecting);
        }
    }
    for (SchedulePart *part = partition->parts; part != NULL; part = part->next) {
        connecting.part = part;
        TRY(connect_outputs(&connecting));
        TRY(connect_inputs(&connecting));
    }
    return STATUS_OK;
}
