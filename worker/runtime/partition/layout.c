/* Turns regions of a graph around, so that their images have the channels last, for accelerators whose 16-bit
 * convolutions want them so (Device.prefers_channels_last). Every such convolution with channels first would
 * have its vendor's library transpose its image and its result, in every run; a region is transposed where it
 * begins and where it ends.
 *
 * Happy path: shapes are inferred, with images that have the rank of their filters → what is to be turned
 * around is chosen → transposes are put where a value is made in one layout and read in the other → the nodes
 * become ones for channels that are last. The filters' transposes are folded (fold.c).
 *
 * Every sum has the same terms in the same order as before, as far as the accelerator's own kernels compute
 * it; its vendor's library may choose another algorithm, whose order differs. */
#include "worker/runtime/partition/layout.h"

#include <assert.h>
#include <inttypes.h>

#include "shared/base/text.h"
#include "shared/ops/registry.h"
#include "worker/runtime/partition/stages.h"

static const size_t LAYOUT_MAX = (size_t)1 << 30;

static Status
no_memory(Call *call)
{
    return call_fail_memory(call, "the layouts of a partition's images");
}

static bool
wants_own(uint8_t role)
{
    return role == LAYOUT_FILTER || role == LAYOUT_FILTER2 || role == LAYOUT_ALIGNED;
}

/* Numbers the nodes that are added. */
static void
number_transposes(Layouts *layouts)
{
    for (uint32_t id = 0; id < layouts->first; id++) {
        const Node *node = layout_node(layouts, id);
        uint32_t start = layouts->input_starts[id];
        for (uint32_t input = 0; layouts->is_turned[id] && input < node->input_count; input++) {
            if (wants_own(layouts->roles[start + input])) {
                layouts->owns[start + input] = layouts->first + layouts->count++;
            }
        }
        for (uint32_t port = 0; port < node->output_count; port++) {
            Endpoint output = {.node = id, .port = port};
            if (layout_needs_transpose(layouts, output)) {
                layouts->transposed[layout_number(layouts, output)] = layouts->first + layouts->count++;
            }
        }
    }
}

/* A node that is added. */
typedef struct Added {
    uint32_t id;
    Endpoint from;
    LayoutOrder order;
    const char *name;
    int rank;
} Added;

static Status
make_attributes(const Layouts *layouts, const Added *added, Dtype dtype, Attr **ret_attrs)
{
    int64_t axes[SHAPE_RANK_MAX];
    Attr *attrs = arena_alloc(layouts->partition->arena, 2 * sizeof *attrs);
    AttrValue *items = arena_alloc(layouts->partition->arena, (size_t)added->rank * sizeof *items);
    if (attrs == NULL || items == NULL) {
        return no_memory(layouts->call);
    }
    layout_permutation(added->order, added->rank, axes);
    for (int index = 0; index < added->rank; index++) {
        items[index] = (AttrValue){.kind = ATTR_INT, .value.i = axes[index]};
    }
    attrs[0] = (Attr){.name = SLICE("perm"), .value = {.kind = ATTR_INT, .is_list = true}};
    attrs[0].value.value.list.count = (size_t)added->rank;
    attrs[0].value.value.list.items = items;
    attrs[1] = (Attr){.name = SLICE("T"), .value = {.kind = ATTR_TYPE, .value.type = dtype}};
    *ret_attrs = attrs;
    return STATUS_OK;
}

static Status
make_transpose(const Layouts *layouts, const Added *added)
{
    Partition *partition = layouts->partition;
    Endpoint *input = arena_alloc(partition->arena, sizeof *input);
    Dtype *dtype = arena_alloc(partition->arena, sizeof *dtype);
    NodeDef *def = arena_alloc(partition->arena, sizeof *def);
    Attr *attrs = NULL;
    if (input == NULL || dtype == NULL || def == NULL || added->name == NULL) {
        return no_memory(layouts->call);
    }
    *input = added->from;
    *dtype = partition->graph->nodes[added->from.node].output_dtypes[added->from.port];
    *def = (NodeDef){.name = slice_from_string(added->name), .op = SLICE("onnx::Transpose")};
    TRY(make_attributes(layouts, added, *dtype, &attrs));
    Node *node = &partition->graph->nodes[added->id];
    *node = (Node){.id = added->id,
        .name = def->name,
        .op = op_find(def->op),
        .def = def,
        .attrs = attrs,
        .attr_count = 2,
        .inputs = input,
        .input_dtypes = dtype,
        .input_count = 1,
        .output_dtypes = dtype,
        .output_count = 1,
        .read_outputs = 1};
    partition->nodes[added->id] = (ScheduleNode){.kind = SCHEDULE_KERNEL,
        .node = node,
        .kernel = kernel_find(partition->device, node),
        .device = partition->device};
    assert(partition->nodes[added->id].kernel != NULL); /* it moves elements of every dtype */
    return STATUS_OK;
}

/* Makes the node that gives the other layout of an output. */
static Status
transpose_output(const Layouts *layouts, Endpoint output)
{
    bool is_made_last = layout_is_image(layouts, output);
    Added added = {.id = layouts->transposed[layout_number(layouts, output)],
        .from = output,
        .order = is_made_last ? LAYOUT_TO_FIRST : LAYOUT_TO_LAST,
        .rank = layout_shape(&layouts->graph, output)->rank};
    added.name = text_format(layouts->partition->arena, "%.*s:%" PRIu32 "/_channels_%s",
        SLICE_PRINT(layout_node(layouts, output.node)->name), output.port, is_made_last ? "first" : "last");
    return make_transpose(layouts, &added);
}

/* Returns the output, or its transpose, in the layout that the reader wants. */
static Endpoint
layout_for(const Layouts *layouts, Endpoint from, bool wants_last)
{
    bool is_there = layout_is_image(layouts, from) == wants_last;
    return is_there ? from : (Endpoint){.node = layouts->transposed[layout_number(layouts, from)]};
}

static Status
transpose_input(const Layouts *layouts, uint32_t id, uint32_t input, uint32_t own)
{
    static const LayoutOrder orders[] = {[LAYOUT_FILTER] = LAYOUT_TO_LAST,
        [LAYOUT_FILTER2] = LAYOUT_OF_FILTER2,
        [LAYOUT_ALIGNED] = LAYOUT_TO_LAST_ALIGNED};
    const Node *node = layout_node(layouts, id);
    Added added = {.id = own,
        .from = layout_for(layouts, node->inputs[input], false),
        .order = orders[layouts->roles[layouts->input_starts[id] + input]],
        .rank = layout_shape(&layouts->graph, node->inputs[input])->rank};
    added.name = text_format(
        layouts->partition->arena, "%.*s/_input_%" PRIu32 "_channels_last", SLICE_PRINT(node->name), input);
    return make_transpose(layouts, &added);
}

/* Lets a node read every input in the layout that it wants, and makes the transposes that are its own. */
static Status
reread(const Layouts *layouts, uint32_t id)
{
    Node *node = &layouts->partition->graph->nodes[id];
    Endpoint *inputs =
        arena_alloc(layouts->partition->arena, (node->input_count + (size_t)1) * sizeof *inputs);
    if (inputs == NULL) {
        return no_memory(layouts->call);
    }
    for (uint32_t input = 0; input < node->input_count; input++) {
        uint32_t own = layouts->owns[layouts->input_starts[id] + input];
        inputs[input] = node->inputs[input];
        if (own != 0) {
            TRY(transpose_input(layouts, id, input, own));
            inputs[input] = (Endpoint){.node = own};
        } else if (inputs[input].node != NODE_NONE) {
            LayoutReader reader = {.node = id, .input = input};
            inputs[input] = layout_for(layouts, inputs[input], layout_reads_image(layouts, reader));
        }
    }
    node->inputs = inputs;
    return STATUS_OK;
}

static Status
turn_node(const Layouts *layouts, uint32_t id)
{
    Partition *partition = layouts->partition;
    Node *node = &partition->graph->nodes[id];
    node->is_channels_last = true;
    if (layouts->rules[id]->turn != NULL) {
        TRY(layouts->rules[id]->turn(layouts->call, &layouts->graph, node));
    }
    partition->nodes[id].kernel = kernel_find(partition->device, node);
    return partition->nodes[id].kernel != NULL ? STATUS_OK
                                               : call_fail(layouts->call, STATUS_INTERNAL,
                                                     "node '%.*s': '%.*s' cannot have its channels last",
                                                     SLICE_PRINT(node->name), SLICE_PRINT(node->op->name));
}

/* Puts each transpose behind what it reads and before what reads it. */
static Status
order_transposes(const Layouts *layouts)
{
    Partition *partition = layouts->partition;
    size_t room = (size_t)layouts->first + layouts->count;
    uint32_t *order = arena_alloc(partition->arena, room * sizeof *order);
    uint32_t count = 0;
    if (order == NULL) {
        return no_memory(layouts->call);
    }
    for (uint32_t position = 0; position < layouts->first; position++) {
        uint32_t id = partition->graph->order[position];
        for (uint32_t at = layouts->input_starts[id]; at < layouts->input_starts[id + 1]; at++) {
            if (layouts->owns[at] != 0) {
                order[count++] = layouts->owns[at];
            }
        }
        order[count++] = id;
        for (uint32_t at = layouts->output_starts[id]; at < layouts->output_starts[id + 1]; at++) {
            if (layouts->transposed[at] != 0) {
                order[count++] = layouts->transposed[at];
            }
        }
    }
    assert(count == room);
    partition->graph->order = order;
    return STATUS_OK;
}

static Status
rewrite(const Layouts *layouts)
{
    Partition *partition = layouts->partition;
    TRY(lengthen_nodes(layouts->call, partition, (size_t)layouts->first + layouts->count));
    for (uint32_t id = 0; id < layouts->first; id++) {
        for (uint32_t port = 0; port < layout_node(layouts, id)->output_count; port++) {
            Endpoint output = {.node = id, .port = port};
            if (layouts->transposed[layout_number(layouts, output)] != 0) {
                TRY(transpose_output(layouts, output));
            }
        }
    }
    for (uint32_t id = 0; id < layouts->first; id++) {
        TRY(reread(layouts, id));
    }
    for (uint32_t id = 0; id < layouts->first; id++) {
        if (layouts->is_turned[id]) {
            TRY(turn_node(layouts, id));
        }
    }
    TRY(order_transposes(layouts));
    partition->node_count += layouts->count;
    partition->graph->node_count += layouts->count;
    return STATUS_OK;
}

/* Returns whether there is anything to gain. */
static bool
has_halves(const Partition *partition)
{
    for (uint32_t id = 0; id < partition->node_count; id++) {
        if (partition->nodes[id].kind == SCHEDULE_KERNEL &&
            layout_is_convolution(partition->nodes[id].node)) {
            return true;
        }
    }
    return false;
}

/* A partition's feeds have no shapes. What a convolution reads has the rank of its filter, or it fails. */
static Status
seed_images(const Layouts *layouts, ShapeSeed **ret_seeds, size_t *ret_count)
{
    const Partition *partition = layouts->partition;
    ShapeSeed *seeds = arena_alloc(layouts->arena, (partition->node_count + (size_t)1) * sizeof *seeds);
    size_t count = 0;
    if (seeds == NULL) {
        return no_memory(layouts->call);
    }
    for (uint32_t id = 0; id < partition->node_count; id++) {
        const Node *node = partition->nodes[id].node;
        if (partition->nodes[id].kind != SCHEDULE_KERNEL || !layout_is_convolution(node)) {
            continue;
        }
        Shape image = layout_image(&layouts->graph, node);
        if (image.rank > 0 && layout_shape(&layouts->graph, node->inputs[0])->rank < 0) {
            seeds[count++] = (ShapeSeed){.endpoint = node->inputs[0], .shape = image};
        }
    }
    *ret_seeds = seeds;
    *ret_count = count;
    return STATUS_OK;
}

/* Infers the shapes of all outputs. False: they contradict each other, and the graph fails when it runs, in
 * the layout of its author. */
static bool
infer_shapes(Layouts *layouts, const ShapeSeed *seeds, size_t count)
{
    Call call = {.arena = layouts->arena};
    return graph_infer_shapes(&call, layouts->partition->graph, seeds, count, &layouts->graph.shapes) ==
           STATUS_OK;
}

static bool
has_turned(const Layouts *layouts)
{
    for (uint32_t id = 0; id < layouts->first; id++) {
        if (layouts->is_turned[id]) {
            return true;
        }
    }
    return false;
}

/* Names a filter that was transposed and folded by its blob, its shape and its order: the accelerator has it
 * once for all partitions of the tenant. */
static Status
name_folded(Call *call, const Partition *partition, ScheduleNode *folded)
{
    const ScheduleNode *from = known_constant(partition, folded->node->inputs[0]);
    if (folded->value == NULL || from == NULL || from->blob.size == 0) {
        return STATUS_OK;
    }
    char shape[SHAPE_TEXT_SIZE];
    const AttrValue *axes = node_attr(folded->node, "perm");
    assert(axes != NULL && axes->value.list.count > 0); /* it is one of make_transpose() */
    char *name = text_format(partition->arena, "%.*s/%s/%" PRId64 "%" PRId64, SLICE_PRINT(from->blob),
        shape_text(&from->value->shape, shape), axes->value.list.items[0].value.i,
        axes->value.list.items[1].value.i);
    if (name == NULL) {
        return no_memory(call);
    }
    folded->blob = slice_from_string(name);
    return STATUS_OK;
}

Status
name_turned(Call *call, const Partition *partition, uint32_t first)
{
    for (uint32_t id = first; id < partition->node_count; id++) {
        TRY(name_folded(call, partition, &partition->nodes[id]));
    }
    return STATUS_OK;
}

Status
turn_channels_last(Call *call, Partition *partition)
{
    const Device *accelerator = partition->accelerator;
    if (accelerator == NULL || !accelerator->prefers_channels_last || !has_halves(partition)) {
        return STATUS_OK;
    }
    AUTO_ARENA arena = arena_new(LAYOUT_MAX);
    Layouts layouts = {.call = call,
        .arena = arena,
        .partition = partition,
        .graph = {.partition = partition},
        .first = partition->node_count};
    ShapeSeed *seeds = NULL;
    size_t seed_count = 0;
    if (arena == NULL) {
        return no_memory(call);
    }
    if (!infer_shapes(&layouts, NULL, 0)) {
        return STATUS_OK;
    }
    TRY(seed_images(&layouts, &seeds, &seed_count));
    if (seed_count > 0 && !infer_shapes(&layouts, seeds, seed_count)) {
        return STATUS_OK;
    }
    TRY(layout_choose(&layouts));
    number_transposes(&layouts);
    return has_turned(&layouts) ? rewrite(&layouts) : STATUS_OK;
}
