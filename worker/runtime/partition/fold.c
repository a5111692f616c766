/* Constant folding: a node whose inputs are all constants is computed once, when its partition is
 * compiled, by the same kernel that would run in each step, so that the bits are the same. In a loop or a
 * branch, where constants come through an Enter or a Switch, the result waits for what the node waited for:
 * weights that the body of a loop transposes are transposed once, not in each iteration.
 *
 * Not folded: nodes with state or with more than one output, nodes of control flow, and nodes that return
 * handles; nodes that fail, so that the run which needs them fails as it always did; and results for which
 * the partition has no room left (Device's constants_max), unless they are small or bytes of an input.
 * TensorFlow's limit of 10 MiB a result would have large weights that a model makes itself, by
 * ConstantOfShape or from bytes and a scale, made anew in each run. */
#include "worker/runtime/partition/stages.h"

#include "shared/base/memory.h"

/* Sizes and axes, which many a kernel has to know ahead. */
enum { SMALL_RESULT_SIZE = 4 << 10 };
static const size_t FOLD_SCRATCH_MAX = (size_t)1 << 30;

const ScheduleNode *
known_constant(const Partition *partition, Endpoint input)
{
    const ScheduleNode *producer = input.node == NODE_NONE ? NULL : &partition->nodes[input.node];
    while (producer != NULL && (producer->kind == SCHEDULE_SWITCH || producer->kind == SCHEDULE_ENTER)) {
        producer = &partition->nodes[producer->node->inputs[0].node];
    }
    bool is_constant =
        producer != NULL && (producer->kind == SCHEDULE_STATIC || producer->kind == SCHEDULE_CONST);
    return is_constant && producer->value != NULL ? producer : NULL;
}

/* An optional input that the node does not have is known as well. */
static bool
reads_constants_alone(const Partition *partition, const Node *node)
{
    uint32_t constant_count = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        bool is_constant = known_constant(partition, node->inputs[i]) != NULL;
        if (!is_constant && node->inputs[i].node != NODE_NONE) {
            return false;
        }
        constant_count += is_constant;
    }
    return constant_count > 0;
}

static bool
is_foldable(const Partition *partition, const ScheduleNode *node)
{
    return node->kind == SCHEDULE_KERNEL && (node->node->op->flags & OP_STATEFUL) == 0 &&
           node->node->output_count == 1 && reads_constants_alone(partition, node->node);
}

/* Marks the nodes whose output a Merge reads: it becomes ready when an input arrives, and what is bound to
 * its readers never arrives. */
static void
mark_read_by_merge(const Partition *partition, bool *marks)
{
    for (uint32_t id = 0; id < partition->node_count; id++) {
        const ScheduleNode *node = &partition->nodes[id];
        for (uint32_t i = 0; node->kind == SCHEDULE_MERGE && i < node->node->input_count; i++) {
            marks[node->node->inputs[i].node] = true;
        }
    }
}

typedef struct Folding {
    Partition *partition;
    const bool *is_read_by_merge; /* by node */
    Call *call;                   /* the kernels' call: an error in it does not fail the partition */
    uint64_t room_size;           /* bytes that results may still take */
} Folding;

static Status
make_state(const Folding *folding, const ScheduleNode *node, const Tensor *const *values, void **ret_state)
{
    const Kernel *kernel = node->kernel;
    if (kernel->create != NULL) {
        TRY(kernel->create(folding->call, node->node, ret_state));
    }
    return kernel->prepare == NULL
               ? STATUS_OK
               : kernel->prepare(folding->call, folding->partition->device, node->node, values, *ret_state);
}

static Status
compute_node(const Folding *folding, const ScheduleNode *node, Tensor *inputs, Tensor *ret_output)
{
    void *state = NULL;
    const Tensor **values = arena_alloc(folding->call->arena, node->node->input_count * sizeof(Tensor *));
    if (values == NULL) {
        return call_fail_memory(folding->call, "a kernel's constants");
    }
    for (uint32_t i = 0; i < node->node->input_count; i++) {
        const ScheduleNode *constant = known_constant(folding->partition, node->node->inputs[i]);
        values[i] = constant == NULL ? NULL : constant->value;
        inputs[i] = constant == NULL ? (Tensor){0} : tensor_ref(values[i]);
    }
    KernelContext context = {
        .call = folding->call,
        .device = folding->partition->device,
        .node = node->node,
        .inputs = inputs,
        .input_count = node->node->input_count,
        .outputs = ret_output,
        .output_count = 1,
    };
    Status status = make_state(folding, node, values, &state);
    if (status == STATUS_OK) {
        context.state = state;
        status = node->kernel->compute(&context);
    }
    if (state != NULL && node->kernel->destroy != NULL) {
        node->kernel->destroy(state);
    }
    return status;
}

/* Returns the constant that the result is bytes of (Identity, Reshape), or NULL. */
static const ScheduleNode *
find_source(const Partition *partition, const Node *node, const Tensor *result)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        const ScheduleNode *input = known_constant(partition, node->inputs[i]);
        if (input != NULL && result->buffer != NULL && result->buffer == input->value->buffer) {
            return input;
        }
    }
    return NULL;
}

/* Returns whether the byte size of a tensor is all that it holds; a handle refers to something larger. */
static bool
is_plain(Dtype dtype)
{
    return dtype_is_copyable(dtype) || dtype == DTYPE_STRING;
}

/* Returns whether the result is worth its memory, of which it then takes its part. */
static bool
is_wanted(Folding *folding, const Node *node, const Tensor *result)
{
    bool is_known = is_plain(result->dtype) && result->dtype == node->output_dtypes[0];
    bool is_own = find_source(folding->partition, node, result) == NULL;
    size_t size = is_own ? tensor_byte_size(result) : 0;
    bool has_room = size <= folding->room_size;
    folding->room_size -= is_known && has_room ? size : 0;
    return is_known && (has_room || size <= SMALL_RESULT_SIZE);
}

static void
release_tensor(void *tensor)
{
    tensor_unref(tensor);
}

/* Lets a result that is bytes of an input count as that: their memory is counted already, with the input or
 * with the blobs. */
static void
count_result(Partition *partition, ScheduleNode *node, const Tensor *result)
{
    const ScheduleNode *source = find_source(partition, node->node, result);
    if (source == NULL) {
        partition->constant_bytes += tensor_byte_size(result);
        return;
    }
    bool is_whole =
        result->data == source->value->data && tensor_byte_size(result) == tensor_byte_size(source->value);
    node->blob = is_whole ? source->blob : node->blob;
}

/* Returns whether a folded node runs, to give its value when its inputs have come: those that come through a
 * Switch may be dead. */
static bool
waits(const Folding *folding, const Node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t input = node->inputs[i].node;
        if (input != NODE_NONE && folding->partition->nodes[input].kind != SCHEDULE_STATIC) {
            return true;
        }
    }
    return node->control_count > 0 || folding->is_read_by_merge[node->id];
}

static Status
keep_result(Call *call, const Folding *folding, ScheduleNode *node, Tensor *result)
{
    Partition *partition = folding->partition;
    Tensor *value = arena_alloc(partition->arena, sizeof *value);
    if (value == NULL || arena_defer(partition->arena, release_tensor, value) == NULL) {
        return call_fail_memory(call, "a folded constant");
    }
    count_result(partition, node, result);
    *value = *result;
    *result = (Tensor){0};
    node->kind = waits(folding, node->node) ? SCHEDULE_CONST : SCHEDULE_STATIC;
    node->is_cheap = true;
    node->kernel = NULL;
    node->value = value;
    return STATUS_OK;
}

static Status
fold_node(Call *call, Folding *folding, ScheduleNode *node)
{
    AUTO_TENSOR result = {0};
    Tensor *inputs = memory_new(node->node->input_count, sizeof *inputs);
    if (inputs == NULL) {
        return call_fail_memory(call, "a folded constant");
    }
    Status status = compute_node(folding, node, inputs, &result);
    for (uint32_t i = 0; i < node->node->input_count; i++) {
        tensor_unref(&inputs[i]);
    }
    memory_free(inputs);
    arena_clear(folding->call->arena);
    bool is_kept = status == STATUS_OK && is_wanted(folding, node->node, &result);
    return is_kept ? keep_result(call, folding, node, &result) : STATUS_OK;
}

static uint64_t
find_room(const Device *device)
{
    DeviceMemory memory;
    device->memory(device, &memory);
    return device->constants_max != 0 ? device->constants_max : memory.limit / 4;
}

Status
fold_constants(Call *call, Partition *partition)
{
    return fold_added(call, partition, 0);
}

Status
fold_added(Call *call, Partition *partition, uint32_t first)
{
    AUTO_ARENA scratch = arena_new(FOLD_SCRATCH_MAX);
    bool *is_read_by_merge = arena_alloc(call->arena, (partition->node_count + 1) * sizeof(bool));
    if (scratch == NULL || is_read_by_merge == NULL) {
        return call_fail_memory(call, "folding constants");
    }
    Call kernel_call = {.arena = scratch};
    Folding folding = {.partition = partition,
        .is_read_by_merge = is_read_by_merge,
        .call = &kernel_call,
        .room_size = find_room(partition->device)};
    mark_read_by_merge(partition, is_read_by_merge);
    for (uint32_t position = 0; position < partition->node_count; position++) {
        ScheduleNode *node = &partition->nodes[partition->graph->order[position]];
        if (node->node->id >= first && is_foldable(partition, node)) {
            TRY(fold_node(call, &folding, node));
        }
    }
    return STATUS_OK;
}
