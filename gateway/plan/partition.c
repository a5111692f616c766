/* The placed graph → one GraphDef for each slot, with _Send and _Recv where an edge crosses.
 *
 * Nodes are written in the author's order. Before a node come the copies and receives it reads; a send goes
 * behind what its own slot has so far. All names derive from the author's, never from counters of the whole
 * plan, so that a partition that is the same in two plans has the same digest in both.
 *
 * A control edge that crosses sends an empty constant that waits for the source; the reader waits for its
 * receive (TensorFlow's AddControlFlow-free part of Partition(), without the Identity in between). */
#include "gateway/plan/partition.h"

#include "shared/base/text.h"

/* --- Writing nodes -------------------------------------------------------------------------------------- */

Slice
partition_name(const Partitioning *partitioning, const char *prefix, Slice name)
{
    return slice_from_string(
        text_format(partitioning->compile->call->arena, "%s%.*s", prefix, SLICE_PRINT(name)));
}

void
partition_emit(Partitioning *partitioning, uint32_t slot, const NodeDef *def)
{
    NodeDef placed = *def;
    placed.device = SLICE("/device:CPU:0");
    partitioning->has_no_memory = partitioning->has_no_memory || placed.name.data == NULL ||
                                  (placed.attr_count > 0 && placed.attrs == NULL) ||
                                  (placed.input_count > 0 && placed.inputs == NULL);
    buffer_append(&partitioning->parts[slot].nodes, &placed, sizeof placed);
}

static void
decide(Partitioning *partitioning, const Node *node, uint32_t slot)
{
    const Compile *const compile = partitioning->compile;
    const bool is_feed = op_is(node, "_Arg");
    if (compile->origins[node->id] == NULL && !is_feed) {
        return;
    }
    const PlanDecision decision = {
        .node = is_feed ? compile->request->signature->feeds[compile->ports[node->id]].name : node->name,
        .slot = slot,
        .why = compile->whys[node->id],
        .subject = compile->subjects[node->id],
    };
    buffer_append(&partitioning->decisions, &decision, sizeof decision);
}

Attr
partition_type(Slice name, Dtype dtype)
{
    return (Attr){.name = name, .value = {.kind = ATTR_TYPE, .value.type = dtype}};
}

static Attr
string_attr(Slice name, Slice value)
{
    return (Attr){.name = name, .value = {.kind = ATTR_STRING, .value.s = value}};
}

/* Copied to the arena; NULL without memory, which partition_emit() notes. */
Attr *
partition_attrs(const Partitioning *partitioning, const Attr *attrs, size_t count)
{
    Attr *const list = compile_alloc(partitioning->compile, count, sizeof *list);
    if (list != NULL) {
        memcpy(list, attrs, count * sizeof *list);
    }
    return list;
}

/* --- Transfers ------------------------------------------------------------------------------------------ */

typedef struct Edge {
    Slice source; /* the node that is sent: the author's, or the stand-in of a control edge */
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

const Slice *
partition_inputs(const Partitioning *partitioning, const Slice *texts, size_t count)
{
    Slice *const inputs = compile_alloc(partitioning->compile, count, sizeof *inputs);
    for (size_t index = 0; index < count && inputs != NULL; index++) {
        if (texts[index].data == NULL) {
            return NULL;
        }
        inputs[index] = texts[index];
    }
    return inputs;
}

static const Slice *
one_input(const Partitioning *partitioning, Slice text)
{
    return partition_inputs(partitioning, &text, 1);
}

/* An empty float constant behind a control edge from the source. */
static void
emit_control_stand_in(Partitioning *partitioning, const Edge *edge)
{
    static const Shape empty = {.rank = 1};
    const Attr attrs[] = {
        partition_type(SLICE("dtype"), DTYPE_FLOAT32),
        {.name = SLICE("value"),
            .value = {.kind = ATTR_TENSOR, .value.tensor = {.dtype = DTYPE_FLOAT32, .shape = empty}}},
    };
    const NodeDef def = {
        .name = edge->source,
        .op = SLICE("Const"),
        .inputs = one_input(partitioning, partition_name(partitioning, "^", edge->node->name)),
        .input_count = 1,
        .attrs = partition_attrs(partitioning, attrs, COUNT_OF(attrs)),
        .attr_count = COUNT_OF(attrs),
    };
    partition_emit(partitioning, edge->from, &def);
}

/* As far as the graph tells it for feeds of any shape. */
static Shape
edge_shape(const Compile *compile, const Edge *edge)
{
    return edge->is_control ? shape_vector(0) : compile->shapes[edge->node->id][edge->port];
}

static void
note_transfer(Partitioning *partitioning, const Edge *edge, Dtype dtype, const char *tensor_name)
{
    const Compile *const compile = partitioning->compile;
    const PlanTransfer transfer = {
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

/* What the receiver is told of the shape, for its memory plan. */
static size_t
shape_attrs(Partitioning *partitioning, const Edge *edge, Attr *ret_attrs)
{
    const Compile *const compile = partitioning->compile;
    const Shape shape = edge_shape(compile, edge);
    const Endpoint endpoint = {.node = edge->node->id, .port = edge->port};
    if (shape.rank < 0) {
        return 0;
    }
    ret_attrs[0] = (Attr){.name = SLICE("shape"), .value = {.kind = ATTR_SHAPE, .value.shape = shape}};
    const bool grows = !edge->is_control && growth_attr(compile, endpoint, &ret_attrs[1]);
    partitioning->has_no_memory =
        partitioning->has_no_memory || (grows && ret_attrs[1].value.value.list.items == NULL);
    return grows ? 2 : 1;
}

static void
emit_transfer(Partitioning *partitioning, const Edge *edge)
{
    enum { SEND_ATTRS = 4, SHAPE_ATTRS = 2 };
    Arena *const arena = partitioning->compile->call->arena;
    const Dtype dtype = edge->is_control ? DTYPE_FLOAT32 : edge->node->output_dtypes[edge->port];
    const char *const tensor_name = text_format(arena, "edge_%u_%.*s", edge->port, SLICE_PRINT(edge->source));
    const Slice from = slice_from_string(text_format(arena, "/slot:%u/device:CPU:0", edge->from));
    const Slice to = slice_from_string(text_format(arena, "/slot:%u/device:CPU:0", edge->to));
    Attr attrs[SEND_ATTRS + SHAPE_ATTRS] = {
        partition_type(SLICE("T"), dtype),
        string_attr(SLICE("tensor_name"), slice_from_string(tensor_name)),
        string_attr(SLICE("send_device"), from),
        string_attr(SLICE("recv_device"), to),
    };
    NodeDef def = {
        .name = slice_from_string(
            text_format(arena, "_send_%.*s_%u_%u", SLICE_PRINT(edge->source), edge->port, edge->to)),
        .op = SLICE("_Send"),
        .inputs = one_input(partitioning, port_text(partitioning, edge->source, edge->port)),
        .input_count = 1,
        .attrs = partition_attrs(partitioning, attrs, SEND_ATTRS),
        .attr_count = SEND_ATTRS,
    };
    partition_emit(partitioning, edge->from, &def);

    attrs[0].name = SLICE("tensor_type");
    def.name = receive_name(partitioning, edge->source, edge->port);
    def.op = SLICE("_Recv");
    const uint32_t frame = partitioning->compile->frames.outputs[edge->node->id];
    def.input_count = frame == FRAME_ROOT ? 0 : 1;
    def.inputs =
        frame == FRAME_ROOT ? NULL : one_input(partitioning, control_loop_input(partitioning, frame));
    def.attr_count = SEND_ATTRS + shape_attrs(partitioning, edge, &attrs[SEND_ATTRS]);
    def.attrs = partition_attrs(partitioning, attrs, def.attr_count);
    partition_emit(partitioning, edge->to, &def);
    note_transfer(partitioning, edge, dtype, tensor_name);
}

/* Once for each tensor and slot, however many read it there. */
static void
ensure_transfer(Partitioning *partitioning, const Edge *edge)
{
    uint16_t *const sent = &partitioning->sent[partitioning->output_starts[edge->node->id] +
                                               (edge->is_control ? edge->node->output_count : edge->port)];
    if (edge->is_control && *sent == 0) {
        emit_control_stand_in(partitioning, edge);
    }
    if ((*sent & 1u << edge->to) == 0) {
        *sent = (uint16_t)(*sent | 1u << edge->to);
        emit_transfer(partitioning, edge);
    }
}

/* --- Feeds and constants ------------------------------------------------------------------------------- */

static void
emit_feed(Partitioning *partitioning, const Node *node, uint32_t slot)
{
    Part *const part = &partitioning->parts[slot];
    const Attr attrs[] = {
        partition_type(SLICE("T"), node->output_dtypes[0]),
        {.name = SLICE("index"),
            .value = {.kind = ATTR_INT, .value.i = (int64_t)(part->feeds.size / sizeof(uint32_t))}},
    };
    const NodeDef def = {.name = node->name,
        .op = node->def->op,
        .attrs = partition_attrs(partitioning, attrs, COUNT_OF(attrs)),
        .attr_count = COUNT_OF(attrs)};
    buffer_append(&part->feeds, &partitioning->compile->ports[node->id], sizeof(uint32_t));
    partition_emit(partitioning, slot, &def);
}

void
partition_name_blob(Partitioning *partitioning, const PlanBlob *blob, NodeDef *def)
{
    const Attr attrs[] = {
        partition_type(SLICE("dtype"), blob->tensor.dtype),
        {.name = SLICE("shape"), .value = {.kind = ATTR_SHAPE, .value.shape = blob->tensor.shape}},
        string_attr(SLICE("sha256"), slice_from_string(blob->sha256)),
    };
    def->op = SLICE("_BlobConst");
    def->attrs = partition_attrs(partitioning, attrs, COUNT_OF(attrs));
    def->attr_count = COUNT_OF(attrs);
    partitioning->has_no_memory = partitioning->has_no_memory || def->attrs == NULL;
}

static void
emit_constant(Partitioning *partitioning, const Node *node, const NodeDef *written, uint32_t slot)
{
    NodeDef def = *written;
    const PlanBlob *const blob = partition_blob(partitioning, node);
    if (blob != NULL) {
        partition_name_blob(partitioning, blob, &def);
        partition_add_blob(partitioning, slot, blob);
    }
    partition_emit(partitioning, slot, &def);
}

/* --- Nodes ---------------------------------------------------------------------------------------------- */

static void ensure_copy(Partitioning *partitioning, const Node *node, uint32_t slot);

Slice
partition_data_input(Partitioning *partitioning, Endpoint endpoint, uint32_t slot)
{
    const Compile *const compile = partitioning->compile;
    if (endpoint.node == NODE_NONE) {
        return SLICE("");
    }
    const Node *const source = &compile->graph->nodes[endpoint.node];
    const uint32_t from = compile->slots[source->id];
    if (from == SLOT_COPIED) {
        ensure_copy(partitioning, source, slot);
    } else if (from != slot) {
        const Edge edge = {
            .source = source->name, .node = source, .port = endpoint.port, .from = from, .to = slot};
        ensure_transfer(partitioning, &edge);
        return receive_name(partitioning, source->name, endpoint.port);
    }
    return port_text(partitioning, source->name, endpoint.port);
}

static Slice
control_input(Partitioning *partitioning, uint32_t id, uint32_t slot)
{
    const Compile *const compile = partitioning->compile;
    const Node *const source = &compile->graph->nodes[id];
    const uint32_t from = compile->slots[id];
    if (from == SLOT_COPIED) {
        ensure_copy(partitioning, source, slot);
    } else if (from != slot) {
        const Edge edge = {.source = partition_name(partitioning, "_control_", source->name),
            .node = source,
            .from = from,
            .to = slot,
            .is_control = true};
        ensure_transfer(partitioning, &edge);
        const Slice received = receive_name(partitioning, edge.source, 0);
        return received.data == NULL ? received : partition_name(partitioning, "^", received);
    }
    return partition_name(partitioning, "^", source->name);
}

static const Slice *
node_inputs(Partitioning *partitioning, const Node *node, uint32_t slot)
{
    const size_t count = node->input_count + node->control_count;
    Slice *const inputs = compile_alloc(partitioning->compile, count, sizeof *inputs);
    if (inputs == NULL) {
        return NULL;
    }
    for (uint32_t index = 0; index < node->input_count; index++) {
        inputs[index] = partition_data_input(partitioning, node->inputs[index], slot);
    }
    for (uint32_t index = 0; index < node->control_count; index++) {
        inputs[node->input_count + index] = control_input(partitioning, node->controls[index], slot);
    }
    for (size_t index = 0; index < count; index++) {
        if (inputs[index].data == NULL) {
            return NULL;
        }
    }
    return inputs;
}

/* `_Retval`s are counted anew in each partition. */
static const Attr *
retval_attrs(Partitioning *partitioning, const Node *node, uint32_t slot)
{
    Part *const part = &partitioning->parts[slot];
    const Attr attrs[] = {
        partition_type(SLICE("T"), node->input_dtypes[0]),
        {.name = SLICE("index"),
            .value = {.kind = ATTR_INT, .value.i = (int64_t)(part->fetches.size / sizeof(uint32_t))}},
    };
    buffer_append(&part->fetches, &partitioning->compile->ports[node->id], sizeof(uint32_t));
    return partition_attrs(partitioning, attrs, COUNT_OF(attrs));
}

/* A session handle says which task it must be read on: one is asked for, where the session keeps things on
 * several. */
static void
add_task(Partitioning *partitioning, uint32_t slot, NodeDef *def)
{
    const Compile *const compile = partitioning->compile;
    const int32_t task = compile->slot_tasks[slot];
    if (task == PLAN_TASK_NONE) {
        return;
    }
    Attr *const attrs = compile_alloc(compile, def->attr_count + 1, sizeof *attrs);
    if (attrs != NULL) {
        memcpy(attrs, def->attrs, def->attr_count * sizeof *attrs);
        attrs[def->attr_count] = string_attr(SLICE("_requested_device"),
            slice_from_string(text_format(compile->call->arena, "/job:worker/replica:0/task:%d", task)));
    }
    def->attrs = attrs;
    def->attr_count++;
}

static void
emit_node(Partitioning *partitioning, const Node *node, uint32_t slot)
{
    NodeDef def = {
        .name = node->name,
        .op = node->def->op,
        .inputs = node_inputs(partitioning, node, slot),
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
        emit_constant(partitioning, node, &def, slot);
    } else {
        partition_emit(partitioning, slot, &def);
    }
    decide(partitioning, node, slot);
}

/* A loop's constant is copied with what brings its value. */
static void
ensure_copy(Partitioning *partitioning, const Node *node, uint32_t slot)
{
    uint16_t *const copied = &partitioning->copied[node->id];
    if ((*copied & 1u << slot) == 0) {
        *copied = (uint16_t)(*copied | 1u << slot);
        emit_node(partitioning, node, slot);
    }
}

/* --- All ------------------------------------------------------------------------------------------------ */

static Status
alloc_tables(Partitioning *partitioning)
{
    const Compile *const compile = partitioning->compile;
    const Graph *const graph = compile->graph;
    partitioning->output_starts =
        compile_alloc(compile, graph->node_count, sizeof *partitioning->output_starts);
    partitioning->copied = compile_alloc(compile, graph->node_count, sizeof *partitioning->copied);
    partitioning->blobs = compile_alloc(compile, graph->node_count, sizeof *partitioning->blobs);
    if (partitioning->output_starts == NULL || partitioning->copied == NULL || partitioning->blobs == NULL) {
        return compile_no_memory(compile);
    }
    size_t output_count = 0;
    for (uint32_t id = 0; id < graph->node_count; id++) {
        partitioning->output_starts[id] = output_count;
        output_count += graph->nodes[id].output_count + 1;
    }
    for (uint32_t slot = 0; slot < compile->slot_count; slot++) {
        partitioning->parts[slot].blob_names = compile_map(compile);
        if (partitioning->parts[slot].blob_names == NULL) {
            return compile_no_memory(compile);
        }
    }
    partitioning->sent = compile_alloc(compile, output_count, sizeof *partitioning->sent);
    return partitioning->sent == NULL ? compile_no_memory(compile) : STATUS_OK;
}

static void
partitioning_done(Partitioning *partitioning)
{
    for (size_t slot = 0; slot < COUNT_OF(partitioning->parts); slot++) {
        buffer_done(&partitioning->parts[slot].nodes);
        buffer_done(&partitioning->parts[slot].functions);
        buffer_done(&partitioning->parts[slot].feeds);
        buffer_done(&partitioning->parts[slot].fetches);
        buffer_done(&partitioning->parts[slot].blobs);
    }
    buffer_done(&partitioning->transfers);
    buffer_done(&partitioning->decisions);
}

static bool
is_all_written(const Partitioning *partitioning)
{
    bool is_ok = !partitioning->has_no_memory && buffer_is_ok(&partitioning->transfers) &&
                 buffer_is_ok(&partitioning->decisions);
    for (size_t slot = 0; slot < COUNT_OF(partitioning->parts); slot++) {
        const Part *const part = &partitioning->parts[slot];
        is_ok = is_ok && buffer_is_ok(&part->nodes) && buffer_is_ok(&part->functions) &&
                buffer_is_ok(&part->feeds) && buffer_is_ok(&part->fetches) && buffer_is_ok(&part->blobs);
    }
    return is_ok;
}

Status
partition(Compile *compile, Plan *plan)
{
    CLEANUP(partitioning_done) Partitioning partitioning = {.compile = compile};
    TRY(alloc_tables(&partitioning));
    TRY(emit_control_loops(&partitioning));
    for (uint32_t id = 0; id < compile->graph->node_count; id++) {
        if (compile->slots[id] != SLOT_COPIED) {
            emit_node(&partitioning, &compile->graph->nodes[id], compile->slots[id]);
        }
    }
    TRY(emit_functions(&partitioning));
    if (!is_all_written(&partitioning)) {
        return compile_no_memory(compile);
    }
    return partition_seal(&partitioning, plan);
}
