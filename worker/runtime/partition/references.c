/* Makes reads of variables that come by reference nodes of their own, in workers whose variables may lie on
 * an accelerator: a value may have to be copied first, which the executor, which reads references when a node
 * has all its inputs, cannot wait for.
 *
 * Such a read stands before the node that wants the value and has the same inputs and controls, so that it
 * sees what the node would have seen, and is dead when that is. A Merge takes what comes first: the read
 * before it has the one input that it is for. */
#include <assert.h>

#include "shared/base/text.h"
#include "worker/runtime/partition/stages.h"

static const Slice READ = {.data = "ReadVariableOp", .size = sizeof "ReadVariableOp" - 1};

typedef struct Reading {
    Call *call;
    Partition *partition;
    const Kernel *kernel; /* of reads by handle: a reference is one */
    uint32_t first;       /* id of the first read */
    uint32_t count;
} Reading;

static Status
no_memory(const Reading *reading)
{
    return call_fail_memory(reading->call, "the reads of a partition's variables");
}

static bool
wants_value(const Partition *partition, const Node *node, uint32_t input)
{
    Endpoint from = node->inputs[input];
    return from.node != NODE_NONE && !node_input_is_reference(node, input) &&
           node_output_is_reference(&partition->graph->nodes[from.node], from.port);
}

static uint32_t
count_reads(const Partition *partition, const Node *node)
{
    uint32_t count = 0;
    for (uint32_t input = 0; input < node->input_count; input++) {
        count += wants_value(partition, node, input);
    }
    return count;
}

static Status
infer_value(Call *call, InferContext *context)
{
    (void)call;
    context->outputs[0] = context->inputs[0];
    return STATUS_OK;
}

/* Makes an op whose inputs are all references, so that nothing is read of them but the first. */
static Op *
make_op(Arena *arena, uint32_t input_count, Dtype dtype)
{
    Op *op = arena_alloc(arena, sizeof *op);
    OpArgument *inputs = arena_alloc(arena, input_count * sizeof *inputs);
    OpArgument *output = arena_alloc(arena, sizeof *output);
    if (op == NULL || inputs == NULL || output == NULL) {
        return NULL;
    }
    for (uint32_t input = 0; input < input_count; input++) {
        inputs[input] = (OpArgument){.dtype = dtype, .is_reference = true};
    }
    *output = (OpArgument){.dtype = dtype};
    *op = (Op){.name = READ,
        .flags = OP_STATEFUL,
        .inputs = inputs,
        .input_count = input_count,
        .outputs = output,
        .output_count = 1,
        .infer_shapes = infer_value};
    return op;
}

/* Gives a read the reference first, then the other inputs of its reader. */
static Status
give_inputs(const Reading *reading, const ScheduleNode *reader, uint32_t input, Node *read)
{
    const Node *node = reader->node;
    Arena *arena = reading->partition->arena;
    Endpoint *inputs = arena_alloc(arena, node->input_count * sizeof *inputs);
    Dtype *dtypes = arena_alloc(arena, node->input_count * sizeof *dtypes);
    if (inputs == NULL || dtypes == NULL) {
        return no_memory(reading);
    }
    inputs[0] = node->inputs[input];
    dtypes[0] = node->input_dtypes[input];
    read->input_count = 1;
    for (uint32_t other = 0; reader->kind != SCHEDULE_MERGE && other < node->input_count; other++) {
        if (other != input && node->inputs[other].node != NODE_NONE) {
            inputs[read->input_count] = node->inputs[other];
            dtypes[read->input_count++] = node->input_dtypes[other];
        }
    }
    read->inputs = inputs;
    read->input_dtypes = dtypes;
    read->output_dtypes = dtypes;
    read->output_count = 1;
    return STATUS_OK;
}

static Status
make_read(const Reading *reading, const ScheduleNode *reader, uint32_t input, uint32_t id)
{
    Partition *partition = reading->partition;
    Arena *arena = partition->arena;
    Node *read = &partition->graph->nodes[id];
    NodeDef *def = arena_alloc(arena, sizeof *def);
    char *name = text_format(arena, "%.*s/_read_%u", SLICE_PRINT(reader->node->name), input);
    *read =
        (Node){.id = id, .controls = reader->node->controls, .control_count = reader->node->control_count};
    TRY(give_inputs(reading, reader, input, read));
    read->op = make_op(arena, read->input_count, read->input_dtypes[0]);
    if (def == NULL || name == NULL || read->op == NULL) {
        return no_memory(reading);
    }
    *def = (NodeDef){.name = slice_from_string(name), .op = READ, .device = reader->node->def->device};
    read->name = def->name;
    read->def = def;
    partition->nodes[id] = (ScheduleNode){.kind = SCHEDULE_KERNEL,
        .is_cheap = true,
        .node = read,
        .kernel = reading->kernel,
        .device = partition->device};
    return STATUS_OK;
}

/* Puts the reads of a node before it, in its place and in the order. */
static Status
read_before(Reading *reading, uint32_t id, uint32_t *order, uint32_t *position)
{
    const ScheduleNode *reader = &reading->partition->nodes[id];
    Node *node = &reading->partition->graph->nodes[id];
    if (count_reads(reading->partition, node) == 0) {
        return STATUS_OK;
    }
    Endpoint *inputs = arena_alloc(reading->partition->arena, node->input_count * sizeof *inputs);
    if (inputs == NULL) {
        return no_memory(reading);
    }
    memcpy(inputs, node->inputs, node->input_count * sizeof *inputs);
    for (uint32_t input = 0; input < node->input_count; input++) {
        if (wants_value(reading->partition, node, input)) {
            uint32_t read = reading->first + reading->count++;
            TRY(make_read(reading, reader, input, read));
            inputs[input] = (Endpoint){.node = read};
            order[(*position)++] = read;
        }
    }
    node->inputs = inputs;
    return STATUS_OK;
}

Status
read_references(Call *call, Partition *partition)
{
    Reading reading = {.call = call, .partition = partition, .first = partition->node_count};
    size_t total = partition->node_count;
    for (uint32_t id = 0; partition->visited != NULL && id < partition->node_count; id++) {
        total += count_reads(partition, partition->nodes[id].node);
    }
    if (total == partition->node_count) {
        return STATUS_OK;
    }
    reading.kernel = kernel_reference(READ);
    uint32_t *order = arena_alloc(partition->arena, total * sizeof *order);
    assert(reading.kernel != NULL);
    if (order == NULL) {
        return no_memory(&reading);
    }
    TRY(lengthen_nodes(call, partition, total));
    uint32_t position = 0;
    for (uint32_t n = 0; n < reading.first; n++) {
        uint32_t id = partition->graph->order[n];
        TRY(read_before(&reading, id, order, &position));
        order[position++] = id;
    }
    assert(position == total);
    partition->graph->order = order;
    partition->node_count = (uint32_t)total;
    partition->graph->node_count = (uint32_t)total;
    return STATUS_OK;
}
