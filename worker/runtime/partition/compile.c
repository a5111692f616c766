/* Happy path: 1. link the graph and make a schedule row for each node; 2. classify the nodes: a table
 * names the ops that the executor does itself, all others get a kernel; 3. find the bytes of the
 * constants, those of the functions in the library too, and note every missing blob; 4. run the passes; 5.
 * build the schedule; 6. make the states of the kernels.
 *
 * Failures: any step frees the unfinished partition. */
#include "worker/runtime/partition/compile.h"

#include <assert.h>
#include <inttypes.h>

#include "shared/ops/registry.h"
#include "worker/runtime/partition/library.h"
#include "worker/runtime/partition/stages.h"
#include "worker/runtime/partition/visit_kernel.h"

typedef struct OwnOp {
    const char *op;
    ScheduleKind kind;
} OwnOp;

/* Ops that the executor does itself, because they move tensors or decide what runs. Ops that compute have
 * kernels. */
static const OwnOp OWN_OPS[] = {
    {"Const", SCHEDULE_STATIC},
    {"_BlobConst", SCHEDULE_STATIC},
    {"_Arg", SCHEDULE_ARG},
    {"_Retval", SCHEDULE_RETVAL},
    {"_Send", SCHEDULE_SEND},
    {"_Recv", SCHEDULE_RECV},
    {"Switch", SCHEDULE_SWITCH},
    {"Merge", SCHEDULE_MERGE},
    {"RefSwitch", SCHEDULE_SWITCH},
    {"RefMerge", SCHEDULE_MERGE},
    {"Enter", SCHEDULE_ENTER},
    {"RefEnter", SCHEDULE_ENTER},
    {"Exit", SCHEDULE_EXIT},
    {"RefExit", SCHEDULE_EXIT},
    {"NextIteration", SCHEDULE_NEXT},
    {"RefNextIteration", SCHEDULE_NEXT},
    {"LoopCond", SCHEDULE_FORWARD},
    {"ControlTrigger", SCHEDULE_TRIGGER},
    {"NoOp", SCHEDULE_NOTHING},
};

static Status
begin_partition(
    Call *call, GraphDef *def, DeviceSet devices, const BlobSource *blobs, Partition **ret_partition)
{
    AUTO_PARTITION partition = NULL;
    TRY(partition_new(call, devices, &partition));
    assert(partition != NULL);
    TRY(graph_link(
        call, def, op_find, (GraphLimits){.allows_internal = true, .is_to_run = true}, &partition->graph));
    partition->nodes =
        arena_alloc(partition->arena, (partition->graph->node_count + 1) * sizeof(ScheduleNode));
    if (partition->nodes == NULL) {
        return call_fail_memory(call, "a partition's nodes");
    }
    partition->node_count = partition->graph->node_count;
    partition->allows_tf32 =
        def->allows_tf32 && devices.accelerator != NULL && devices.accelerator->allows_tf32;
    partition->weights = blobs == NULL ? NULL : blobs->weights;
    partition->tenant = blobs == NULL ? 0 : blobs->tenant;
    *ret_partition = TAKE(partition);
    return STATUS_OK;
}

static Status
find_kernel(Call *call, Device *device, ScheduleNode *node)
{
    Slice op = node->node->def->op;
    if (node->node->op == NULL) {
        return call_fail(call, STATUS_UNIMPLEMENTED, "node '%.*s': op '%.*s' does not exist",
            SLICE_PRINT(node->node->name), SLICE_PRINT(op));
    }
    node->kernel = kernel_find(device, node->node);
    if (node->kernel == NULL) {
        return call_fail(call, STATUS_UNIMPLEMENTED,
            "node '%.*s': op '%.*s' has no kernel for its types and attributes on the CPU",
            SLICE_PRINT(node->node->name), SLICE_PRINT(op));
    }
    node->device = device;
    node->is_cheap = node->kernel->is_cheap || node->kernel->start != NULL;
    node->kind = node->kernel->start == NULL ? SCHEDULE_KERNEL : SCHEDULE_PROMISE;
    return STATUS_OK;
}

/* Checks that a Merge has few enough inputs: the executor counts them in 16 bits (merge_word()). */
static Status
check_merge(Call *call, const Node *node)
{
    return node->input_count <= UINT16_MAX ? STATUS_OK
                                           : call_fail(call, STATUS_INVALID_ARGUMENT,
                                                 "Merge '%.*s' has %" PRIu32 " inputs, at most %d can be",
                                                 SLICE_PRINT(node->name), node->input_count, UINT16_MAX);
}

static Status
classify_node(Call *call, Device *device, ScheduleNode *node)
{
    for (size_t i = 0; i < COUNT_OF(OWN_OPS); i++) {
        if (slice_equals_string(node->node->def->op, OWN_OPS[i].op)) {
            node->kind = OWN_OPS[i].kind;
            node->is_cheap = true;
            return node->kind == SCHEDULE_MERGE ? check_merge(call, node->node) : STATUS_OK;
        }
    }
    return find_kernel(call, device, node);
}

/* Makes the constants that a Merge reads run as nodes: a Merge becomes ready when an input arrives, and a
 * bound constant never arrives. */
static void
keep_constants_of_merge(Partition *partition, const ScheduleNode *merge)
{
    for (uint32_t i = 0; i < merge->node->input_count; i++) {
        ScheduleNode *producer = &partition->nodes[merge->node->inputs[i].node];
        if (producer->kind == SCHEDULE_STATIC) {
            producer->kind = SCHEDULE_CONST;
        }
    }
}

static void
classify_constants(Partition *partition)
{
    for (uint32_t i = 0; i < partition->node_count; i++) {
        ScheduleNode *node = &partition->nodes[i];
        if (node->kind == SCHEDULE_STATIC && node->node->control_count > 0) {
            node->kind = SCHEDULE_CONST;
        } else if (node->kind == SCHEDULE_MERGE) {
            keep_constants_of_merge(partition, node);
        }
    }
}

static Status
classify_nodes(Call *call, Partition *partition)
{
    for (uint32_t i = 0; i < partition->node_count; i++) {
        ScheduleNode *node = &partition->nodes[i];
        node->node = &partition->graph->nodes[i];
        TRY(classify_node(call, partition->device, node));
        partition->arg_count += node->kind == SCHEDULE_ARG;
        partition->retval_count += node->kind == SCHEDULE_RETVAL;
        partition->transfer_count += node->kind == SCHEDULE_SEND || node->kind == SCHEDULE_RECV;
    }
    classify_constants(partition);
    return STATUS_OK;
}

/* Finds the node of each arg or retval; their "index" attributes must be 0…count-1, each used once. */
static Status
index_nodes(Call *call, Partition *partition, ScheduleKind kind, uint32_t count, uint32_t **ret_index)
{
    uint32_t *index = arena_alloc(partition->arena, (count + 1) * sizeof *index);
    if (index == NULL) {
        return call_fail_memory(call, "a partition's args");
    }
    memset(index, 0xff, count * sizeof *index);
    for (uint32_t i = 0; i < partition->node_count; i++) {
        ScheduleNode *node = &partition->nodes[i];
        if (node->kind != kind) {
            continue;
        }
        int64_t position = node_attr_int(node->node, "index");
        if (position < 0 || position >= count || index[position] != NODE_NONE) {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "node '%.*s': index %" PRId64 " must be one of 0…%" PRIu32 ", each used once",
                SLICE_PRINT(node->node->name), position, count - 1);
        }
        node->index = (uint32_t)position;
        index[position] = i;
    }
    *ret_index = index;
    return STATUS_OK;
}

static void
tensor_release(void *tensor)
{
    tensor_unref(tensor);
}

static Status
blob_tensor(Call *call, const Node *node, TensorBuffer *blob, Tensor *ret_tensor)
{
    const Shape *shape = &node_attr(node, "shape")->value.shape;
    Dtype dtype = node_attr_type(node, "dtype");
    size_t size = 0;
    char text[SHAPE_TEXT_SIZE];
    if (!dtype_is_copyable(dtype) || !shape_is_known(shape) || !shape_byte_size(shape, dtype, &size) ||
        size != blob->size) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "node '%.*s': a blob of %zu bytes is no %s tensor of shape %s", SLICE_PRINT(node->name),
            blob->size, dtype_name(dtype), shape_text(shape, text));
    }
    if (!tensor_view(dtype, shape, blob, blob->data, ret_tensor)) {
        return call_fail_memory(call, "a blob's tensor");
    }
    return STATUS_OK;
}

static Status
bind_blob(
    Call *call, Partition *partition, ScheduleNode *node, const BlobSource *blobs, MissingBlobs *missing)
{
    Slice sha256 = node_attr_string(node->node, "sha256");
    TensorBuffer *blob = blobs == NULL ? NULL : blobs->find(blobs->context, sha256);
    if (blob == NULL) {
        return missing_blobs_add(call, sha256, missing);
    }
    Tensor *tensor = arena_alloc(partition->arena, sizeof *tensor);
    bool is_kept = tensor != NULL && arena_defer(partition->arena, tensor_release, tensor) != NULL;
    Status status =
        is_kept ? blob_tensor(call, node->node, blob, tensor) : call_fail_memory(call, "a constant");
    tensor_buffer_unref(blob);
    node->value = tensor;
    node->blob = sha256;
    return status;
}

/* Weights come as bytes that only the worker sees: kernels may rely on a bool that is 0 or 1. */
static Status
check_value(Call *call, const ScheduleNode *node)
{
    return node->value == NULL || tensor_is_valid(node->value)
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT,
                     "node '%.*s': a bool constant has a byte that is neither 0 nor 1",
                     SLICE_PRINT(slice_part(node->node->name, 0, 128)));
}

static Status
bind_values(Call *call, Partition *partition, const BlobSource *blobs, MissingBlobs *missing)
{
    for (uint32_t i = 0; i < partition->node_count; i++) {
        ScheduleNode *node = &partition->nodes[i];
        if (node->kind != SCHEDULE_STATIC && node->kind != SCHEDULE_CONST) {
            continue;
        }
        if (slice_equals_string(node->node->def->op, "_BlobConst")) {
            TRY(bind_blob(call, partition, node, blobs, missing));
        } else {
            node->value = node_attr_tensor(node->node, "value");
            partition->constant_bytes += node->value == NULL ? 0 : tensor_byte_size(node->value);
        }
        TRY(check_value(call, node));
    }
    return STATUS_OK;
}

static Status
check_missing(Call *call, const MissingBlobs *missing)
{
    return missing->count == 0
               ? STATUS_OK
               : call_fail(call, STATUS_FAILED_PRECONDITION, "%zu blobs%s are missing, the first is '%s'",
                     missing->count, missing->count == MISSING_BLOBS_MAX ? " or more" : "",
                     missing->sha256[0]);
}

/* An accelerator is told of the constants that were uploaded to it alone. */
static Status
prepare_kernel(Call *call, const Partition *partition, const ScheduleNode *node)
{
    const Tensor **values = arena_alloc(call->arena, (node->node->input_count + 1) * sizeof *values);
    if (values == NULL) {
        return call_fail_memory(call, "a kernel's constants");
    }
    for (uint32_t i = 0; i < node->constant_count; i++) {
        uint32_t input = node->constants[i].input;
        values[input] = partition->nodes[node->node->inputs[input].node].value;
    }
    for (uint32_t i = 0; i < node->node->input_count && node->device == partition->device; i++) {
        const ScheduleNode *constant = known_constant(partition, node->node->inputs[i]);
        values[i] = constant == NULL ? NULL : constant->value;
    }
    return node->kernel->prepare(call, node->device, node->node, values, node->state);
}

static Status
create_kernels(Call *call, Partition *partition)
{
    for (uint32_t i = 0; i < partition->node_count; i++) {
        ScheduleNode *node = &partition->nodes[i];
        Status status = STATUS_OK;
        if (node->kernel != NULL && node->kernel->create != NULL) {
            status = node->kernel->create(call, node->node, &node->state);
        }
        if (status == STATUS_OK && node->kernel != NULL && node->kernel->prepare != NULL) {
            status = prepare_kernel(call, partition, node);
        }
        if (status != STATUS_OK) {
            return call_wrap(call, "node '%.*s'", SLICE_PRINT(node->node->name));
        }
    }
    return STATUS_OK;
}

/* Lets runs of this partition plan their memory in one arena; without it, they allocate each tensor. A plan
 * knows one memory only. */
static Status
allow_arena(Call *call, Partition *partition)
{
    (void)call;
    partition->has_arena = partition->accelerator == NULL;
    return STATUS_OK;
}

static bool
is_off(const GraphDef *def, const char *name)
{
    for (size_t i = 0; i < def->passes_off_count; i++) {
        if (slice_equals_string(def->passes_off[i], name)) {
            return true;
        }
    }
    return false;
}

/* Folds the transposes of weights at once. */
static Status
turn_and_fold(Call *call, Partition *partition)
{
    uint32_t first = partition->node_count;
    TRY(turn_channels_last(call, partition));
    if (partition->node_count > first && !is_off(partition->graph->def, "constant_folding")) {
        TRY(fold_added(call, partition, first));
        return name_turned(call, partition, first);
    }
    return STATUS_OK;
}

typedef struct PartitionPass {
    const char *name; /* the name by which a session switches it off; NULL: it always runs */
    Status (*run)(Call *call, Partition *partition);
} PartitionPass;

/* The order matters: a node that was folded needs no device and must not be fused, and what is fused is all
 * on one device. */
static const PartitionPass PASSES[] = {
    {"constant_folding", fold_constants},
    {NULL, read_references},
    {"channels_last", turn_and_fold},
    {NULL, assign_devices},
    {NULL, visit_variables},
    {NULL, insert_copies},
    {"elementwise_fusion", fuse_elementwise},
    {"memory_plan", allow_arena},
};

static Status
run_passes(Call *call, Partition *partition)
{
    for (size_t i = 0; i < COUNT_OF(PASSES); i++) {
        if (PASSES[i].name == NULL || !is_off(partition->graph->def, PASSES[i].name)) {
            TRY(PASSES[i].run(call, partition));
        }
    }
    return STATUS_OK;
}

/* Finishes a partition whose constants are all here: passes, schedule, kernel states. */
static Status
lay_out(Call *call, Partition *partition)
{
    TRY(run_passes(call, partition));
    TRY(schedule_build(call, partition));
    return create_kernels(call, partition);
}

static Status
classify_and_bind(Call *call, Partition *partition, const BlobSource *blobs, MissingBlobs *missing)
{
    TRY(classify_nodes(call, partition));
    TRY(index_nodes(call, partition, SCHEDULE_ARG, partition->arg_count, &partition->args));
    TRY(index_nodes(call, partition, SCHEDULE_RETVAL, partition->retval_count, &partition->retvals));
    return bind_values(call, partition, blobs, missing);
}

/* Compiles the body of a function for `library`, whose functions the body may call in turn. */
static Status
compile_body(Call *call, GraphDef *body, DeviceSet devices, const BlobSource *blobs, Library *library,
    Partition **ret_partition)
{
    AUTO_PARTITION partition = NULL;
    MissingBlobs missing = {0};
    TRY(begin_partition(call, body, devices, blobs, &partition));
    assert(partition != NULL);
    partition->library = library;
    partition->is_function = true;
    TRY(classify_and_bind(call, partition, blobs, &missing));
    TRY(check_missing(call, &missing));
    TRY(lay_out(call, partition));
    *ret_partition = TAKE(partition);
    return STATUS_OK;
}

static void
release_library(void *library)
{
    library_free(library);
}

/* Makes the library of the partition's functions, if there are any. It is freed with the partition's
 * arena. */
static Status
add_library(
    Call *call, Partition *partition, DeviceSet devices, const BlobSource *blobs, MissingBlobs *missing)
{
    AUTO_LIBRARY library = NULL;
    LibraryOptions options = {.devices = devices, .blobs = blobs, .compile_body = compile_body};
    TRY(library_new(call, partition->graph->def, &options, missing, &library));
    if (library == NULL) {
        return STATUS_OK;
    }
    if (arena_defer(partition->arena, release_library, library) == NULL) {
        return call_fail_memory(call, "a library of functions");
    }
    partition->library = TAKE(library);
    return STATUS_OK;
}

Status
partition_compile(Call *call, GraphDef *def, DeviceSet devices, const BlobSource *blobs,
    MissingBlobs *ret_missing, Partition **ret_partition)
{
    AUTO_PARTITION partition = NULL;
    assert(call->arena != NULL);
    *ret_missing = (MissingBlobs){0};
    TRY(begin_partition(call, def, devices, blobs, &partition));
    assert(partition != NULL);
    TRY(classify_and_bind(call, partition, blobs, ret_missing));
    TRY(add_library(call, partition, devices, blobs, ret_missing));
    TRY(check_missing(call, ret_missing));
    TRY(lay_out(call, partition));
    *ret_partition = TAKE(partition);
    return STATUS_OK;
}
