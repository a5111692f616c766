/* Chooses which nodes are turned around. All that can are at first (layout_rules.c); each that costs less as
 * its author wrote it is turned back, as long as there are any; so are regions that gain no more than they
 * cost. Costs and gains are bytes that are transposed in each run: a region's where it begins and ends, a
 * convolution's image and result, which its library would transpose, or its filter alone. */
#include "worker/runtime/partition/layout.h"

#include "worker/runtime/partition/stages.h"

/* UNKNOWN_SIZE stands for a dimension of an image that is not known. A batch counts as one image.
 * TENSOR_CORE_CHANNELS divide the channels of convolutions that are worth it: eight 16-bit numbers are the 16
 * bytes of a load. ROUNDS_MAX bounds the rounds in which nodes are turned back. */
enum { UNKNOWN_SIZE = 16, TENSOR_CORE_CHANNELS = 8, ROUNDS_MAX = 16 };

static Status
no_memory(Call *call)
{
    return call_fail_memory(call, "the layouts of a partition's images");
}

bool
layout_needs_transpose(const Layouts *layouts, Endpoint output)
{
    bool is_made_last = layout_is_image(layouts, output);
    uint32_t number = layout_number(layouts, output);
    for (uint32_t at = layouts->reader_starts[number]; at < layouts->reader_starts[number + 1]; at++) {
        if (layout_reads_image(layouts, layouts->readers[at]) != is_made_last) {
            return true;
        }
    }
    return false;
}

static double
bytes_of(const Layouts *layouts, Endpoint output)
{
    const Shape *shape = layout_shape(&layouts->graph, output);
    double bytes = (double)dtype_size(layout_node(layouts, output.node)->output_dtypes[output.port]);
    for (int dimension = 0; dimension < shape->rank; dimension++) {
        int64_t size = shape->dims[dimension];
        bytes *= size >= 0 ? (double)size : dimension == 0 ? 1 : UNKNOWN_SIZE;
    }
    return bytes;
}

/* Returns the bytes that are transposed in each run because an output is made in one layout and read in the
 * other; those of a constant are transposed when the graph is compiled. */
static double
cost_of(const Layouts *layouts, Endpoint output)
{
    bool is_free =
        known_constant(layouts->partition, output) != NULL || !layout_needs_transpose(layouts, output);
    return is_free ? 0 : bytes_of(layouts, output);
}

/* Returns whether the tensor cores compute a convolution, and want channels last for it. Groups have engines
 * of their own. */
static bool
is_dense(const Layouts *layouts, const Node *node)
{
    uint8_t role = layouts->roles[layouts->input_starts[node->id] + 1];
    const Shape *filter = layout_shape(&layouts->graph, node->inputs[1]);
    const Shape *image = layout_shape(&layouts->graph, node->inputs[0]);
    int64_t inputs = role == LAYOUT_FILTER ? filter->dims[1] : filter->dims[filter->rank - 2];
    int64_t outputs = role == LAYOUT_FILTER ? filter->dims[0] : filter->dims[filter->rank - 1];
    return role != LAYOUT_KEPT && inputs > 0 && outputs > 0 && inputs % TENSOR_CORE_CHANNELS == 0 &&
           outputs % TENSOR_CORE_CHANNELS == 0 && (image->dims[1] < 0 || image->dims[1] == inputs);
}

/* Returns the bytes that are not transposed in each run if the node is turned around. */
static double
gain_of(const Layouts *layouts, uint32_t id)
{
    const Node *node = layout_node(layouts, id);
    const LayoutRule *rule = layouts->rules[id];
    double made = bytes_of(layouts, (Endpoint){.node = id});
    if (rule->is_transpose) {
        return made;
    }
    if (layout_is_filter_alone(rule, node)) {
        return known_constant(layouts->partition, node->inputs[1]) != NULL
                   ? bytes_of(layouts, node->inputs[1])
                   : 0;
    }
    return rule->is_convolution && is_dense(layouts, node) ? made + bytes_of(layouts, node->inputs[0]) : 0;
}

/* Returns all costs that depend on how a node is turned, less its gain. */
static double
balance_of(const Layouts *layouts, uint32_t id)
{
    const Node *node = layout_node(layouts, id);
    double balance = layouts->is_turned[id] ? -gain_of(layouts, id) : 0;
    for (uint32_t input = 0; input < node->input_count; input++) {
        if (node->inputs[input].node != NODE_NONE &&
            layouts->roles[layouts->input_starts[id] + input] == LAYOUT_IMAGE) {
            balance += cost_of(layouts, node->inputs[input]);
        }
    }
    return balance + cost_of(layouts, (Endpoint){.node = id});
}

/* Turns a node back if that costs less. Returns whether it does. */
static bool
turn_back(const Layouts *layouts, uint32_t id)
{
    double before = balance_of(layouts, id);
    layouts->is_turned[id] = false;
    layouts->is_turned[id] = balance_of(layouts, id) >= before;
    return !layouts->is_turned[id];
}

static void
turn_back_cheaper(const Layouts *layouts)
{
    bool has_changed = true;
    for (int round = 0; has_changed && round < ROUNDS_MAX; round++) {
        has_changed = false;
        for (uint32_t id = 0; id < layouts->first; id++) {
            has_changed = (layouts->is_turned[id] && turn_back(layouts, id)) || has_changed;
        }
    }
}

static uint32_t
region_of(const Layouts *layouts, uint32_t id)
{
    while (layouts->regions[id] != id) {
        layouts->regions[id] = layouts->regions[layouts->regions[id]];
        id = layouts->regions[id];
    }
    return id;
}

/* Joins what is turned around and hands images on to each other. */
static void
find_regions(const Layouts *layouts)
{
    for (uint32_t id = 0; id < layouts->first; id++) {
        layouts->regions[id] = id;
    }
    for (uint32_t id = 0; id < layouts->first; id++) {
        const Node *node = layout_node(layouts, id);
        for (uint32_t input = 0; input < node->input_count; input++) {
            Endpoint from = node->inputs[input];
            if (from.node != NODE_NONE && layout_is_image(layouts, from) &&
                layout_reads_image(layouts, (LayoutReader){.node = id, .input = input})) {
                layouts->regions[region_of(layouts, id)] = region_of(layouts, from.node);
            }
        }
    }
}

/* Returns the region that a cost is of: that of the producer, or of a reader. */
static uint32_t
bearer_of(const Layouts *layouts, Endpoint output)
{
    uint32_t number = layout_number(layouts, output);
    uint32_t at = layouts->reader_starts[number];
    if (layout_is_image(layouts, output)) {
        return region_of(layouts, output.node);
    }
    while (!layout_reads_image(layouts, layouts->readers[at])) {
        at++;
    }
    return region_of(layouts, layouts->readers[at].node);
}

static Status
turn_back_regions(const Layouts *layouts)
{
    double *balances = arena_alloc(layouts->arena, (layouts->first + (size_t)1) * sizeof *balances);
    if (balances == NULL) {
        return no_memory(layouts->call);
    }
    find_regions(layouts);
    for (uint32_t id = 0; id < layouts->first; id++) {
        const Node *node = layout_node(layouts, id);
        balances[region_of(layouts, id)] += layouts->is_turned[id] ? gain_of(layouts, id) : 0;
        for (uint32_t port = 0; port < node->output_count; port++) {
            Endpoint output = {.node = id, .port = port};
            double cost = cost_of(layouts, output);
            if (cost > 0) {
                balances[bearer_of(layouts, output)] -= cost;
            }
        }
    }
    for (uint32_t id = 0; id < layouts->first; id++) {
        layouts->is_turned[id] = layouts->is_turned[id] && balances[region_of(layouts, id)] > 0;
    }
    return STATUS_OK;
}

/* Numbers inputs and outputs. */
static Status
number_edges(Layouts *layouts)
{
    uint32_t inputs = 0;
    uint32_t outputs = 0;
    size_t room = layouts->first + (size_t)1;
    layouts->input_starts = arena_alloc(layouts->arena, room * sizeof(uint32_t));
    layouts->output_starts = arena_alloc(layouts->arena, room * sizeof(uint32_t));
    if (layouts->input_starts == NULL || layouts->output_starts == NULL) {
        return no_memory(layouts->call);
    }
    for (uint32_t id = 0; id < layouts->first; id++) {
        layouts->input_starts[id] = inputs;
        layouts->output_starts[id] = outputs;
        inputs += layout_node(layouts, id)->input_count;
        outputs += layout_node(layouts, id)->output_count;
    }
    layouts->input_starts[layouts->first] = inputs;
    layouts->output_starts[layouts->first] = outputs;
    layouts->roles = arena_alloc(layouts->arena, (inputs + (size_t)1) * sizeof *layouts->roles);
    layouts->owns = arena_alloc(layouts->arena, (inputs + (size_t)1) * sizeof(uint32_t));
    layouts->readers = arena_alloc(layouts->arena, (inputs + (size_t)1) * sizeof(LayoutReader));
    layouts->transposed = arena_alloc(layouts->arena, (outputs + (size_t)1) * sizeof(uint32_t));
    layouts->reader_starts = arena_alloc(layouts->arena, (outputs + (size_t)2) * sizeof(uint32_t));
    return layouts->roles == NULL || layouts->owns == NULL || layouts->readers == NULL ||
                   layouts->transposed == NULL || layouts->reader_starts == NULL
               ? no_memory(layouts->call)
               : STATUS_OK;
}

/* Sorts all inputs by the output that they read: counts them, adds the counts up, and puts each where its
 * output's begin, which moves on to where they end. */
static void
find_readers(const Layouts *layouts)
{
    uint32_t *starts = layouts->reader_starts;
    for (uint32_t id = 0; id < layouts->first; id++) {
        const Node *node = layout_node(layouts, id);
        for (uint32_t input = 0; input < node->input_count; input++) {
            if (node->inputs[input].node != NODE_NONE) {
                starts[layout_number(layouts, node->inputs[input]) + 2]++;
            }
        }
    }
    for (uint32_t number = 0; number < layouts->output_starts[layouts->first]; number++) {
        starts[number + 1] += starts[number];
    }
    for (uint32_t id = 0; id < layouts->first; id++) {
        const Node *node = layout_node(layouts, id);
        for (uint32_t input = 0; input < node->input_count; input++) {
            if (node->inputs[input].node != NODE_NONE) {
                uint32_t number = layout_number(layouts, node->inputs[input]);
                layouts->readers[starts[number + 1]++] = (LayoutReader){.node = id, .input = input};
            }
        }
    }
}

/* Returns whether the node could be the accelerator's: its own rules come later (assign.c), but none takes
 * back a node that computes floats there. */
static bool
is_candidate(const Partition *partition, const ScheduleNode *scheduled)
{
    return scheduled->kind == SCHEDULE_KERNEL &&
           !slice_equals_string(scheduled->node->def->device, "/device:CPU:0") &&
           kernel_find(partition->accelerator, scheduled->node) != NULL;
}

static Status
find_rules(Layouts *layouts)
{
    size_t room = layouts->first + (size_t)1;
    layouts->rules = arena_alloc(layouts->arena, room * sizeof(const LayoutRule *));
    layouts->is_turned = arena_alloc(layouts->arena, room * sizeof(bool));
    layouts->makes_image = arena_alloc(layouts->arena, room * sizeof(bool));
    layouts->regions = arena_alloc(layouts->arena, room * sizeof(uint32_t));
    if (layouts->rules == NULL || layouts->is_turned == NULL || layouts->makes_image == NULL ||
        layouts->regions == NULL) {
        return no_memory(layouts->call);
    }
    for (uint32_t id = 0; id < layouts->first; id++) {
        const ScheduleNode *scheduled = &layouts->partition->nodes[id];
        const Node *node = scheduled->node;
        const LayoutRule *rule =
            is_candidate(layouts->partition, scheduled) ? layout_rule(&layouts->graph, node) : NULL;
        layouts->rules[id] = rule;
        layouts->is_turned[id] = rule != NULL;
        layouts->makes_image[id] =
            rule != NULL && layout_makes_image(&layouts->graph, rule, (Endpoint){.node = id});
        for (uint32_t input = 0; rule != NULL && input < node->input_count; input++) {
            LayoutRole role = node->inputs[input].node == NODE_NONE
                                  ? LAYOUT_KEPT
                                  : rule->role(&layouts->graph, node, input);
            layouts->roles[layouts->input_starts[id] + input] = (uint8_t)role;
        }
    }
    return STATUS_OK;
}

Status
layout_choose(Layouts *layouts)
{
    TRY(number_edges(layouts));
    find_readers(layouts);
    TRY(find_rules(layouts));
    turn_back_cheaper(layouts);
    TRY(turn_back_regions(layouts));
    return STATUS_OK;
}
