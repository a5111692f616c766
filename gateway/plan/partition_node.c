/* A node of a partition. An edge from another slot becomes a _Send there and a _Recv here, once for each
 * tensor and slot, however many nodes read it; a node that is copied to its readers is written before its
 * first one.
 *
 * All names derive from the author's, never from counters of the whole plan, so that a partition that is the
 * same in two plans has the same digest in both.
 *
 * A control edge that crosses sends an empty constant that waits for the edge's source, and the reader waits
 * for its receive (TensorFlow's Partition() puts an Identity in between). */
#include <assert.h>

#include "gateway/plan/estimate.h"
#include "gateway/plan/partition.h"
#include "gateway/plan/shapes.h"
#include "shared/base/text.h"

/* Notes where the node runs and why, for nodes that the author has written and for feeds. */
static void
note_decision(Partitioning *partitioning, const Node *node, uint32_t slot)
{
    const Compile *compile = partitioning->compile;
    bool is_feed = op_is(node, "_Arg");
    if (compile->origins[node->id] == NULL && !is_feed) {
        return;
    }
    PlanDecision decision = {
        .node = is_feed ? compile->request->signature->feeds[compile->ports[node->id]].name : node->name,
        .slot = slot,
        .why = compile->whys[node->id],
        .subject = compile->subjects[node->id],
        .device = is_feed ? "" : partition_device(compile->asks[node->id]),
    };
    buffer_append(&partitioning->decisions, &decision, sizeof decision);
}

/* A tensor, or a control edge, that crosses from one slot to another. */
typedef struct Edge {
    Slice source; /* name of the sending node: the author's, or the signal of a control edge */
    const Node *node;
    uint32_t port;
    uint32_t from;
    uint32_t to;
    bool is_control;
} Edge;

static Slice
port_text(const Partitioning *partitioning, Slice name, uint32_t port)
{
    if (port == 0) {
        return name;
    }
    return slice_from_string(
        text_format(partitioning->compile->call->arena, "%.*s:%u", SLICE_PRINT(name), port));
}

static Slice
receive_name(const Partitioning *partitioning, Slice source, uint32_t port)
{
    return slice_from_string(
        text_format(partitioning->compile->call->arena, "_recv_%.*s_%u", SLICE_PRINT(source), port));
}

static const Slice *
single_input(const Partitioning *partitioning, Slice text)
{
    return partition_inputs(partitioning, &text, 1);
}

/* Writes the tensor that is sent for a control edge, behind the edge's source. */
static void
emit_control_signal(Partitioning *partitioning, const Edge *edge)
{
    partition_emit_signal(partitioning, edge->from, edge->source,
        single_input(partitioning, partition_name(partitioning, "^", edge->node->name)), 1);
}

/* Returns what is known of the shape for all shapes of the feeds. */
static Shape
edge_shape(const Compile *compile, const Edge *edge)
{
    return edge->is_control ? shape_vector(0) : compile->shapes[edge->node->id][edge->port];
}

static void
note_transfer(Partitioning *partitioning, const Edge *edge, Dtype dtype, const char *tensor_name)
{
    const Compile *compile = partitioning->compile;
    PlanTransfer transfer = {
        .tensor_name = tensor_name,
        .node = edge->node->name,
        .from = edge->from,
        .to = edge->to,
        .dtype = dtype,
        .shape = edge_shape(compile, edge),
        .bytes = edge->is_control ? 0 : estimate_bytes(compile, edge->node, edge->port),
        .loop = compile->frames.frames[compile->frames.outputs[edge->node->id]].name,
        .is_control = edge->is_control,
    };
    buffer_append(&partitioning->transfers, &transfer, sizeof transfer);
}

/* Fills the attributes that tell a receiver the shape, for its memory plan; returns how many there are. */
static size_t
shape_attrs(Partitioning *partitioning, const Edge *edge, Attr *ret_attrs)
{
    const Compile *compile = partitioning->compile;
    Shape shape = edge_shape(compile, edge);
    Endpoint endpoint = {.node = edge->node->id, .port = edge->port};
    if (shape.rank < 0) {
        return 0;
    }
    ret_attrs[0] = (Attr){.name = SLICE("shape"), .value = {.kind = ATTR_SHAPE, .value.shape = shape}};
    bool grows = !edge->is_control && growth_attr(compile, endpoint, &ret_attrs[1]);
    partitioning->has_no_memory =
        partitioning->has_no_memory || (grows && ret_attrs[1].value.value.list.items == NULL);
    return grows ? 2 : 1;
}

/* The control input by which a receive inside a loop runs once an iteration. */
static Slice
loop_control(const Partitioning *partitioning, uint32_t frame)
{
    return partition_name(partitioning, "^", partition_loop_part(partitioning, frame, "merge"));
}

static void
emit_transfer(Partitioning *partitioning, const Edge *edge)
{
    enum { SEND_ATTRS = 4, SHAPE_ATTRS = 2 };
    Arena *arena = partitioning->compile->call->arena;
    Dtype dtype = edge->is_control ? DTYPE_FLOAT32 : edge->node->output_dtypes[edge->port];
    const char *tensor_name = text_format(arena, "edge_%u_%.*s", edge->port, SLICE_PRINT(edge->source));
    Slice from = slice_from_string(text_format(arena, "/slot:%u/device:CPU:0", edge->from));
    Slice to = slice_from_string(text_format(arena, "/slot:%u/device:CPU:0", edge->to));
    Attr attrs[SEND_ATTRS + SHAPE_ATTRS] = {
        partition_type_attr(SLICE("T"), dtype),
        partition_string_attr(SLICE("tensor_name"), slice_from_string(tensor_name)),
        partition_string_attr(SLICE("send_device"), from),
        partition_string_attr(SLICE("recv_device"), to),
    };
    NodeDef def = {
        .name = slice_from_string(
            text_format(arena, "_send_%.*s_%u_%u", SLICE_PRINT(edge->source), edge->port, edge->to)),
        .op = SLICE("_Send"),
        .inputs = single_input(partitioning, port_text(partitioning, edge->source, edge->port)),
        .input_count = 1,
        .attrs = partition_attrs(partitioning, attrs, SEND_ATTRS),
        .attr_count = SEND_ATTRS,
    };
    partition_emit(partitioning, edge->from, &def);

    attrs[0].name = SLICE("tensor_type");
    def.name = receive_name(partitioning, edge->source, edge->port);
    def.op = SLICE("_Recv");
    uint32_t frame = partitioning->compile->frames.outputs[edge->node->id];
    def.input_count = frame == FRAME_ROOT ? 0 : 1;
    def.inputs = frame == FRAME_ROOT ? NULL : single_input(partitioning, loop_control(partitioning, frame));
    def.attr_count = SEND_ATTRS + shape_attrs(partitioning, edge, &attrs[SEND_ATTRS]);
    def.attrs = partition_attrs(partitioning, attrs, def.attr_count);
    partition_emit(partitioning, edge->to, &def);
    note_transfer(partitioning, edge, dtype, tensor_name);
}

static void
ensure_transfer(Partitioning *partitioning, const Edge *edge)
{
    size_t output = partitioning->output_starts[edge->node->id] +
                    (edge->is_control ? edge->node->output_count : edge->port);
    if (slot_sets_have(partitioning->sent, output, edge->to)) {
        return;
    }
    /* The signal has the sender's own bit: it is written once, before it is sent to the first slot. */
    if (edge->is_control && !slot_sets_have(partitioning->sent, output, edge->from)) {
        slot_sets_add(partitioning->sent, output, edge->from);
        emit_control_signal(partitioning, edge);
    }
    slot_sets_add(partitioning->sent, output, edge->to);
    emit_transfer(partitioning, edge);
}

static void
emit_feed(Partitioning *partitioning, const Node *node, uint32_t slot)
{
    Part *part = &partitioning->parts[slot];
    const Attr attrs[] = {
        partition_type_attr(SLICE("T"), node->output_dtypes[0]),
        {.name = SLICE("index"),
            .value = {.kind = ATTR_INT, .value.i = (int64_t)(part->feeds.size / sizeof(uint32_t))}},
    };
    NodeDef def = {.name = node->name,
        .op = node->def->op,
        .attrs = partition_attrs(partitioning, attrs, COUNT_OF(attrs)),
        .attr_count = COUNT_OF(attrs)};
    buffer_append(&part->feeds, &partitioning->compile->ports[node->id], sizeof(uint32_t));
    partition_emit(partitioning, slot, &def);
}

static void
emit_constant(Partitioning *partitioning, const Node *node, const NodeDef *written, uint32_t slot)
{
    NodeDef def = *written;
    const PlanBlob **blob = &partitioning->blobs[node->id];
    if (*blob == NULL) {
        *blob = partition_new_blob(partitioning, node_attr_tensor(node, "value"));
    }
    if (*blob != NULL) {
        partition_use_blob(partitioning, slot, *blob, &def);
    }
    partition_emit(partitioning, slot, &def);
}

static void ensure_copy(Partitioning *partitioning, const Node *node, uint32_t slot);

Slice
partition_data_input(Partitioning *partitioning, Endpoint endpoint, uint32_t slot)
{
    const Compile *compile = partitioning->compile;
    if (endpoint.node == NODE_NONE) {
        return SLICE("");
    }
    const Node *source = &compile->graph->nodes[endpoint.node];
    uint32_t from = compile->slots[source->id];
    if (from == SLOT_COPIED) {
        ensure_copy(partitioning, source, slot);
    } else if (from != slot) {
        Edge edge = {.source = source->name, .node = source, .port = endpoint.port, .from = from, .to = slot};
        ensure_transfer(partitioning, &edge);
        return receive_name(partitioning, source->name, endpoint.port);
    }
    return port_text(partitioning, source->name, endpoint.port);
}

static Slice
control_edge_input(Partitioning *partitioning, uint32_t id, uint32_t slot)
{
    const Compile *compile = partitioning->compile;
    const Node *source = &compile->graph->nodes[id];
    uint32_t from = compile->slots[id];
    if (from == SLOT_COPIED) {
        ensure_copy(partitioning, source, slot);
    } else if (from != slot) {
        Edge edge = {.source = partition_name(partitioning, "_control_", source->name),
            .node = source,
            .from = from,
            .to = slot,
            .is_control = true};
        ensure_transfer(partitioning, &edge);
        Slice received = receive_name(partitioning, edge.source, 0);
        return received.data == NULL ? received : partition_name(partitioning, "^", received);
    }
    return partition_name(partitioning, "^", source->name);
}

static const Slice *
write_inputs(Partitioning *partitioning, const Node *node, uint32_t slot)
{
    size_t count = node->input_count + node->control_count;
    Slice *inputs = compile_alloc(partitioning->compile, count, sizeof *inputs);
    if (inputs == NULL) {
        return NULL;
    }
    for (uint32_t index = 0; index < node->input_count; index++) {
        inputs[index] = partition_data_input(partitioning, node->inputs[index], slot);
    }
    for (uint32_t index = 0; index < node->control_count; index++) {
        inputs[node->input_count + index] = control_edge_input(partitioning, node->controls[index], slot);
    }
    for (size_t index = 0; index < count; index++) {
        if (inputs[index].data == NULL) {
            return NULL;
        }
    }
    return inputs;
}

/* The index of a _Retval counts those of its own partition. */
static const Attr *
retval_attrs(Partitioning *partitioning, const Node *node, uint32_t slot)
{
    Part *part = &partitioning->parts[slot];
    const Attr attrs[] = {
        partition_type_attr(SLICE("T"), node->input_dtypes[0]),
        {.name = SLICE("index"),
            .value = {.kind = ATTR_INT, .value.i = (int64_t)(part->fetches.size / sizeof(uint32_t))}},
    };
    buffer_append(&part->fetches, &partitioning->compile->ports[node->id], sizeof(uint32_t));
    return partition_attrs(partitioning, attrs, COUNT_OF(attrs));
}

/* A session handle names the task that it must be read on, if the slot was asked for by a task: the session
 * may keep tensors on several workers. */
static void
add_task(Partitioning *partitioning, uint32_t slot, NodeDef *def)
{
    const Compile *compile = partitioning->compile;
    int32_t task = compile->slot_tasks[slot];
    if (task == PLAN_TASK_NONE) {
        return;
    }
    Attr *attrs = compile_alloc(compile, def->attr_count + 1, sizeof *attrs);
    if (attrs != NULL) {
        memcpy(attrs, def->attrs, def->attr_count * sizeof *attrs);
        attrs[def->attr_count] = partition_string_attr(SLICE("_requested_device"),
            slice_from_string(text_format(compile->call->arena, "/job:worker/replica:0/task:%d", task)));
    }
    def->attrs = attrs;
    def->attr_count++;
}

void
partition_emit_node(Partitioning *partitioning, const Node *node, uint32_t slot)
{
    assert(slot < partitioning->compile->slot_count);
    DeviceAsk ask = partitioning->compile->asks[node->id];
    NodeDef def = {
        .name = node->name,
        .op = node->def->op,
        .device = slice_from_string(partition_device(ask)),
        .inputs = write_inputs(partitioning, node, slot),
        .input_count = node->input_count + node->control_count,
        .attrs = node->attrs,
        .attr_count = node->attr_count,
    };
    if (op_is(node, "_Retval")) {
        def.attrs = retval_attrs(partitioning, node, slot);
    }
    if (op_is(node, "GetSessionHandle")) {
        add_task(partitioning, slot, &def);
    }
    if (op_is(node, "_Arg")) {
        emit_feed(partitioning, node, slot);
    } else if (op_is(node, "Const")) {
        def.device = SLICE(""); /* its readers say where its value is needed */
        emit_constant(partitioning, node, &def, slot);
    } else {
        partition_emit(partitioning, slot, &def);
        partition_note_ask(&partitioning->parts[slot], ask, node->name);
    }
    note_decision(partitioning, node, slot);
}

/* An Enter of a loop's constant is copied together with the node whose value it passes on. */
static void
ensure_copy(Partitioning *partitioning, const Node *node, uint32_t slot)
{
    if (!slot_sets_have(partitioning->copied, node->id, slot)) {
        slot_sets_add(partitioning->copied, node->id, slot);
        partition_emit_node(partitioning, node, slot);
    }
}
