/* Inserts _Copy nodes. A copy belongs to the output that it copies, and all readers in the other memory share
 * it. It is an ordinary node with an ordinary kernel, in the loop that its output is in, dead when that is
 * dead.
 *
 * Constants that the accelerator reads are uploaded here, once, or lie there for another partition already
 * (weights.h), instead of being copied in every run. */
#include <assert.h>
#include <inttypes.h>

#include "shared/base/text.h"
#include "worker/runtime/partition/copy_kernel.h"
#include "worker/runtime/partition/stages.h"

static const size_t COPYING_MAX = (size_t)1 << 30;

typedef struct Copying {
    Call *call;
    Partition *partition;
    uint32_t *copies; /* by output, as ScheduleNode.memories: the node that copies it; 0: none does */
    uint32_t count;
    uint32_t first; /* id of the first copy */
} Copying;

static Status
no_memory(const Copying *copying)
{
    return call_fail_memory(copying->call, "the copies between devices");
}

static uint32_t *
copy_of(const Copying *copying, Endpoint output)
{
    const ScheduleNode *nodes = copying->partition->nodes;
    return &copying->copies[&nodes[output.node].memories[output.port] - nodes[0].memories];
}

static bool
needs_copy(const Partition *partition, const ScheduleNode *node, uint32_t input)
{
    uint16_t wanted = input_memory(node, input);
    return wanted != MEMORY_ANY && wanted != output_memory(partition, node->node->inputs[input]);
}

static void
release_weight(void *weight)
{
    weight_release(weight);
}

static void
release_buffer(void *buffer)
{
    tensor_buffer_unref(buffer);
}

/* Ties what the partition holds to its arena. */
static Status
hold(const Copying *copying, void (*release)(void *held), void *held)
{
    if (arena_defer(copying->partition->arena, release, held) == NULL) {
        release(held);
        return no_memory(copying);
    }
    return STATUS_OK;
}

/* Returns the bytes of a constant in the accelerator's memory, which the partition holds. */
static Status
obtain_bytes(const Copying *copying, const ScheduleNode *constant, TensorBuffer **ret_bytes)
{
    const Partition *partition = copying->partition;
    if (partition->weights == NULL || constant->blob.size == 0) {
        TensorBuffer *bytes = NULL;
        TRY(upload_value(copying->call, partition->accelerator, partition->tenant, constant->value, &bytes));
        TRY(hold(copying, release_buffer, bytes));
        *ret_bytes = bytes;
        return STATUS_OK;
    }
    Weight *weight = NULL;
    WeightKey key = {.tenant = partition->tenant, .blob = constant->blob};
    TRY(weight_obtain(copying->call, partition->weights, key, constant->value, &weight));
    TRY(hold(copying, release_weight, weight));
    *ret_bytes = weight_bytes(weight);
    return STATUS_OK;
}

/* Makes the value of a constant that readers on the accelerator get. */
static Status
place_constant(const Copying *copying, ScheduleNode *constant)
{
    if (constant->uploaded != NULL) {
        return STATUS_OK;
    }
    Tensor *value = arena_alloc(copying->partition->arena, sizeof *value);
    if (value == NULL) {
        return no_memory(copying);
    }
    value->dtype = constant->value->dtype;
    shape_copy(&value->shape, &constant->value->shape);
    if (tensor_byte_size(constant->value) > 0) {
        Status status = obtain_bytes(copying, constant, &value->buffer);
        if (status != STATUS_OK) {
            return call_wrap(copying->call, "node '%.*s'", SLICE_PRINT(constant->node->name));
        }
        value->data = value->buffer->data;
    }
    constant->uploaded = value;
    return STATUS_OK;
}

static bool
is_constant(const ScheduleNode *node)
{
    return node->kind == SCHEDULE_STATIC || node->kind == SCHEDULE_CONST;
}

/* Notes that an output is read in the other memory: uploads it when it is a constant, and numbers its copy
 * unless it never runs. */
static Status
note_copy(Copying *copying, Endpoint from)
{
    ScheduleNode *producer = &copying->partition->nodes[from.node];
    if (is_constant(producer)) {
        TRY(place_constant(copying, producer));
    }
    uint32_t *copy = copy_of(copying, from);
    if (producer->kind != SCHEDULE_STATIC && *copy == 0) {
        *copy = copying->first + copying->count++;
    }
    return STATUS_OK;
}

static Status
find_copies(Copying *copying)
{
    const Partition *partition = copying->partition;
    for (uint32_t id = 0; id < partition->node_count; id++) {
        const ScheduleNode *node = &partition->nodes[id];
        for (uint32_t i = 0; node->kind != SCHEDULE_STATIC && i < node->node->input_count; i++) {
            if (needs_copy(partition, node, i)) {
                TRY(note_copy(copying, node->node->inputs[i]));
            }
        }
    }
    return STATUS_OK;
}

/* Makes the twin of a constant that runs: it lies on the accelerator already, and runs when the constant has.
 */
static Status
make_twin(const Copying *copying, const ScheduleNode *constant, uint32_t id)
{
    Partition *partition = copying->partition;
    uint32_t *control = arena_alloc(partition->arena, sizeof *control);
    uint16_t *memory = arena_alloc(partition->arena, sizeof *memory);
    char *name = text_format(
        partition->arena, "%.*s/_on_%s", SLICE_PRINT(constant->node->name), partition->accelerator->type);
    if (control == NULL || memory == NULL || name == NULL) {
        return no_memory(copying);
    }
    *control = constant->node->id;
    *memory = partition->accelerator->memory_number;
    Node *node = &partition->graph->nodes[id];
    *node = *constant->node;
    node->id = id;
    node->name = slice_from_string(name);
    node->controls = control;
    node->control_count = 1;
    partition->nodes[id] = (ScheduleNode){.kind = SCHEDULE_CONST,
        .is_cheap = true,
        .node = node,
        .memories = memory,
        .value = constant->value,
        .uploaded = constant->uploaded};
    return STATUS_OK;
}

/* Makes the node that copies an output. */
static Status
make_copy(const Copying *copying, Endpoint from, uint32_t id)
{
    Partition *partition = copying->partition;
    Arena *arena = partition->arena;
    if (is_constant(&partition->nodes[from.node])) {
        return make_twin(copying, &partition->nodes[from.node], id);
    }
    const Node *producer = partition->nodes[from.node].node;
    bool is_download = output_memory(partition, from) != MEMORY_HOST;
    Endpoint *input = arena_alloc(arena, sizeof *input);
    Dtype *dtype = arena_alloc(arena, sizeof *dtype);
    uint16_t *memory = arena_alloc(arena, sizeof *memory);
    NodeDef *def = arena_alloc(arena, sizeof *def);
    char *name = text_format(arena, "%.*s:%" PRIu32 "/_copy_to_%s", SLICE_PRINT(producer->name), from.port,
        is_download ? partition->device->type : partition->accelerator->type);
    if (input == NULL || dtype == NULL || memory == NULL || def == NULL || name == NULL) {
        return no_memory(copying);
    }
    *input = from;
    *dtype = producer->output_dtypes[from.port];
    *memory = is_download ? MEMORY_HOST : partition->accelerator->memory_number;
    *def = (NodeDef){.name = slice_from_string(name), .op = copy_op.name};
    partition->graph->nodes[id] = (Node){.id = id,
        .name = def->name,
        .op = &copy_op,
        .def = def,
        .inputs = input,
        .input_dtypes = dtype,
        .input_count = 1,
        .output_dtypes = dtype,
        .output_count = 1};
    partition->nodes[id] = (ScheduleNode){.kind = SCHEDULE_PROMISE,
        .is_cheap = true,
        .node = &partition->graph->nodes[id],
        .kernel = is_download ? &download_kernel : &upload_kernel,
        .device = partition->device,
        .memories = memory,
        .state = partition->accelerator};
    return STATUS_OK;
}

/* Lets a node read copies instead of what they copy. */
static Status
read_copies(const Copying *copying, uint32_t id)
{
    const Partition *partition = copying->partition;
    Node *node = &partition->graph->nodes[id];
    Endpoint *inputs = NULL;
    for (uint32_t i = 0; partition->nodes[id].kind != SCHEDULE_STATIC && i < node->input_count; i++) {
        Endpoint from = node->inputs[i];
        if (!needs_copy(partition, &partition->nodes[id], i) ||
            partition->nodes[from.node].kind == SCHEDULE_STATIC) {
            continue;
        }
        if (inputs == NULL) {
            inputs = arena_alloc(partition->arena, node->input_count * sizeof *inputs);
            if (inputs == NULL) {
                return no_memory(copying);
            }
            memcpy(inputs, node->inputs, node->input_count * sizeof *inputs);
        }
        uint32_t copy = *copy_of(copying, from);
        inputs[i] = (Endpoint){.node = copy, .port = 0};
    }
    node->inputs = inputs == NULL ? node->inputs : inputs;
    return STATUS_OK;
}

static Status
make_copies(const Copying *copying)
{
    for (uint32_t id = 0; id < copying->first; id++) {
        const Node *node = copying->partition->nodes[id].node;
        for (uint32_t port = 0; port < node->output_count; port++) {
            Endpoint from = {.node = id, .port = port};
            uint32_t copy = *copy_of(copying, from);
            if (copy != 0) {
                TRY(make_copy(copying, from, copy));
            }
        }
    }
    for (uint32_t id = 0; id < copying->first; id++) {
        TRY(read_copies(copying, id));
    }
    return STATUS_OK;
}

/* Puts each copy behind what it copies. */
static Status
order_copies(const Copying *copying)
{
    Partition *partition = copying->partition;
    size_t room = (size_t)copying->first + copying->count;
    uint32_t *order = arena_alloc(partition->arena, room * sizeof *order);
    uint32_t count = 0;
    if (order == NULL) {
        return no_memory(copying);
    }
    for (uint32_t position = 0; position < copying->first; position++) {
        uint32_t id = partition->graph->order[position];
        const Node *node = partition->nodes[id].node;
        order[count++] = id;
        for (uint32_t port = 0; port < node->output_count; port++) {
            uint32_t copy = *copy_of(copying, (Endpoint){.node = id, .port = port});
            if (copy != 0) {
                order[count++] = copy;
            }
        }
    }
    assert(count == room);
    partition->graph->order = order;
    return STATUS_OK;
}

Status
insert_copies(Call *call, Partition *partition)
{
    Copying copying = {.call = call, .partition = partition, .first = partition->node_count};
    size_t output_count = 0;
    if (partition->accelerator == NULL) {
        return STATUS_OK;
    }
    for (uint32_t id = 0; id < partition->node_count; id++) {
        output_count += partition->nodes[id].node->output_count;
    }
    AUTO_ARENA arena = arena_new(COPYING_MAX);
    copying.copies = arena == NULL ? NULL : arena_alloc(arena, (output_count + 1) * sizeof *copying.copies);
    if (copying.copies == NULL) {
        return no_memory(&copying);
    }
    TRY(find_copies(&copying));
    if (copying.count == 0) {
        return STATUS_OK;
    }
    TRY(lengthen_nodes(call, partition, (size_t)partition->node_count + copying.count));
    TRY(make_copies(&copying));
    TRY(order_copies(&copying));
    partition->node_count += copying.count;
    partition->graph->node_count += copying.count;
    return STATUS_OK;
}
