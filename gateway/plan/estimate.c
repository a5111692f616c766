#include "gateway/plan/estimate.h"

#include <assert.h>

#include "gateway/plan/partition.h"

static double
element_count(const Shape *shape)
{
    double count = 1;
    for (int index = 0; index < shape->rank; index++) {
        count *= shape->dims[index] < 0 ? 1 : (double)shape->dims[index];
    }
    return count;
}

/* A string or handle counts as the pointer that stands for it. */
uint64_t
estimate_bytes(const Compile *compile, const Node *node, uint32_t port)
{
    enum { HANDLE_SIZE = 16 };
    assert(port < node->output_count);
    size_t size = dtype_size(node->output_dtypes[port]);
    double bytes = element_count(&compile->shapes[node->id][port]) * (double)(size == 0 ? HANDLE_SIZE : size);
    return bytes < (double)INT64_MAX ? (uint64_t)bytes : INT64_MAX;
}

static const Shape *
input_shape(const Compile *compile, const Node *node, uint32_t index)
{
    static const Shape unknown = {.rank = -1};
    if (index >= node->input_count || node->inputs[index].node == NODE_NONE) {
        return &unknown;
    }
    return &compile->shapes[node->inputs[index].node][node->inputs[index].port];
}

/* Returns the inner dimension of a matrix product. */
static double
product_depth(const Compile *compile, const Node *node)
{
    const Shape *left = input_shape(compile, node, 0);
    const AttrValue *transposes = node_attr(node, "transpose_a");
    bool is_transposed = transposes != NULL && transposes->value.b;
    if (left->rank < 2) {
        return 1;
    }
    int64_t depth = left->dims[left->rank - (is_transposed ? 2 : 1)];
    return depth < 0 ? 1 : (double)depth;
}

/* TensorFlow's filters are [height, width, in, out]: each output element reads all but the last dimension. */
static double
filter_depth(const Compile *compile, const Node *node)
{
    const Shape *filter = input_shape(compile, node, 1);
    int64_t out = filter->rank > 0 ? filter->dims[filter->rank - 1] : 1;
    return element_count(filter) / (double)(out > 0 ? out : 1);
}

/* ONNX's filters are [out, in, …]. */
static double
onnx_filter_depth(const Compile *compile, const Node *node)
{
    const Shape *filter = input_shape(compile, node, 1);
    int64_t out = filter->rank > 0 ? filter->dims[0] : 1;
    return element_count(filter) / (double)(out > 0 ? out : 1);
}

typedef struct CostRule {
    Slice op;
    double (*depth)(const Compile *compile, const Node *node); /* multiplications for one output element */
} CostRule;

#define RULE(name, function)                                                                                 \
    {                                                                                                        \
        .op = {.data = (name), .size = sizeof(name) - 1}, .depth = (function)                                \
    }
static const CostRule cost_rules[] = {
    RULE("MatMul", product_depth),
    RULE("BatchMatMul", product_depth),
    RULE("BatchMatMulV2", product_depth),
    RULE("onnx::MatMul", product_depth),
    RULE("onnx::Gemm", product_depth),
    RULE("Conv2D", filter_depth),
    RULE("DepthwiseConv2dNative", filter_depth),
    RULE("onnx::Conv", onnx_filter_depth),
};

double
estimate_cost(const Compile *compile, const Node *node)
{
    double depth = 0.5;
    for (size_t index = 0; index < COUNT_OF(cost_rules); index++) {
        if (slice_equal(node->def->op, cost_rules[index].op)) {
            depth = cost_rules[index].depth(compile, node);
        }
    }
    bool is_free = node->op->flags & OP_SOURCE;
    if (compile->inside != NULL && compile->inside[node->id].cost > 0) {
        return compile->inside[node->id].cost;
    }
    double elements = 0;
    for (uint32_t port = 0; port < node->output_count; port++) {
        elements += element_count(&compile->shapes[node->id][port]);
    }
    return is_free ? 0 : 2 * depth * elements;
}

static uint64_t
node_bytes(const Compile *compile, const Node *node)
{
    uint64_t bytes = compile->inside == NULL ? 0 : compile->inside[node->id].constant_bytes;
    for (uint32_t port = 0; port < node->output_count; port++) {
        uint64_t size = estimate_bytes(compile, node, port);
        bytes = bytes > INT64_MAX - size ? INT64_MAX : bytes + size;
    }
    return bytes;
}

/* Finds for each node the last position in the order at which it is read; its own position when nothing
 * reads it. */
static void
find_last_reads(const Compile *compile, uint32_t *last)
{
    const Graph *graph = compile->graph;
    for (uint32_t position = 0; position < graph->node_count; position++) {
        const Node *node = &graph->nodes[graph->order[position]];
        last[node->id] = position > last[node->id] ? position : last[node->id];
        for (uint32_t index = 0; index < node->input_count; index++) {
            uint32_t source = node->inputs[index].node;
            if (source != NODE_NONE && position > last[source]) {
                last[source] = position;
            }
        }
    }
}

typedef struct Liveness {
    uint64_t live[PLAN_SLOT_COUNT_MAX];
    uint64_t peak[PLAN_SLOT_COUNT_MAX];
} Liveness;

static void
live_add(Liveness *liveness, uint32_t slot, uint64_t bytes)
{
    uint64_t *live = &liveness->live[slot];
    *live = *live > INT64_MAX - bytes ? INT64_MAX : *live + bytes;
    liveness->peak[slot] = *live > liveness->peak[slot] ? *live : liveness->peak[slot];
}

/* Notes that the node reads `source`, which is on the same slots if it is copied. */
static void
find_copies_of(const Compile *compile, SlotSets copies, const Node *node, uint32_t source)
{
    uint32_t slot = compile->slots[node->id];
    if (source == NODE_NONE || compile->slots[source] != SLOT_COPIED) {
        return;
    }
    if (slot == SLOT_COPIED) {
        slot_sets_add_all(copies, source, node->id);
    } else {
        slot_sets_add(copies, source, slot);
    }
}

/* Notes for each copied node the slots that have a copy: those of its readers, which may be copied themselves
 * (the Enter of a loop's constant). */
static void
find_copies(const Compile *compile, SlotSets copies)
{
    const Graph *graph = compile->graph;
    for (uint32_t position = graph->node_count; position-- > 0;) {
        const Node *node = &graph->nodes[graph->order[position]];
        for (uint32_t index = 0; index < node->input_count; index++) {
            find_copies_of(compile, copies, node, node->inputs[index].node);
        }
        for (uint32_t index = 0; index < node->control_count; index++) {
            find_copies_of(compile, copies, node, node->controls[index]);
        }
    }
}

/* Copied nodes count on the slots that have a copy, for the whole run: constants stay, and most feeds do. */
static Status
count_copies(const Compile *compile, Liveness *liveness)
{
    const Graph *graph = compile->graph;
    SlotSets copies = slot_sets_new(compile, graph->node_count);
    if (copies.words == NULL) {
        return compile_no_memory(compile);
    }
    find_copies(compile, copies);
    for (uint32_t id = 0; id < graph->node_count; id++) {
        uint64_t bytes = compile->slots[id] == SLOT_COPIED ? node_bytes(compile, &graph->nodes[id]) : 0;
        for (uint32_t slot = 0; bytes > 0 && slot < compile->slot_count; slot++) {
            if (slot_sets_have(copies, id, slot)) {
                live_add(liveness, slot, bytes);
            }
        }
    }
    return STATUS_OK;
}

/* Subtracts the inputs that the node at this position reads last; each once, however often it reads them. */
static void
count_last_reads(
    const Compile *compile, const Node *node, uint32_t position, uint32_t *last, Liveness *liveness)
{
    for (uint32_t index = 0; index < node->input_count; index++) {
        uint32_t source = node->inputs[index].node;
        if (source == NODE_NONE || last[source] != position || compile->slots[source] == SLOT_COPIED) {
            continue;
        }
        last[source] = UINT32_MAX;
        uint64_t bytes = node_bytes(compile, &compile->graph->nodes[source]);
        uint64_t *live = &liveness->live[compile->slots[source]];
        *live = *live > bytes ? *live - bytes : 0;
    }
}

Status
estimate_slots(const Compile *compile, PlanSlot *slots)
{
    const Graph *graph = compile->graph;
    assert(compile->slots != NULL && compile->slot_count <= PLAN_SLOT_COUNT_MAX);
    uint32_t *last = compile_alloc(compile, graph->node_count, sizeof *last);
    if (last == NULL) {
        return compile_no_memory(compile);
    }
    find_last_reads(compile, last);
    Liveness liveness = {0};
    TRY(count_copies(compile, &liveness));
    for (uint32_t position = 0; position < graph->node_count; position++) {
        const Node *node = &graph->nodes[graph->order[position]];
        uint32_t slot = compile->slots[node->id];
        if (slot != SLOT_COPIED) {
            live_add(&liveness, slot, node_bytes(compile, node));
            double cost = estimate_cost(compile, node);
            slots[slot].cost += cost;
            slots[slot].free_cost += compile->asks[node->id] == DEVICE_CPU ? 0 : cost;
        }
        count_last_reads(compile, node, position, last, &liveness);
    }
    for (uint32_t slot = 0; slot < compile->slot_count; slot++) {
        slots[slot].memory = liveness.peak[slot];
    }
    return STATUS_OK;
}
