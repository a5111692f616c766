/* Makes the plan of finished partitions: each becomes a document with its digest, and whatever the plan tells
 * is copied to memory of its own, since the compilation's ends with the call. */
#include <assert.h>

#include "gateway/plan/estimate.h"
#include "gateway/plan/partition.h"
#include "shared/base/text.h"
#include "shared/formats/graphdef_json.h"

enum { PLAN_ARENA_SIZE_MAX = 1 << 30 };

static Plan *
plan_new(void)
{
    AUTO_ARENA arena = arena_new(PLAN_ARENA_SIZE_MAX);
    Plan *plan = arena == NULL ? NULL : arena_alloc(arena, sizeof *plan);
    if (plan != NULL) {
        plan->reference_count = 1;
        plan->arena = TAKE(arena);
    }
    return plan;
}

/* Copies a text of the graph or the call to the plan. Returns false without memory. */
static bool
own_text(const Plan *plan, Slice *text)
{
    text->data = text_copy(plan->arena, *text);
    return text->data != NULL;
}

static Status
seal_names(const Compile *compile, Plan *plan)
{
    const Signature *signature = compile->request->signature;
    size_t count = signature->feed_count + signature->fetch_count;
    Slice *names = arena_alloc(plan->arena, count * sizeof *names);
    if (names == NULL) {
        return compile_no_memory(compile);
    }
    for (size_t index = 0; index < count; index++) {
        Slice name = index < signature->feed_count ? signature->feeds[index].name
                                                   : signature->fetches[index - signature->feed_count];
        names[index] = slice_of(text_copy(plan->arena, name), name.size);
        if (names[index].data == NULL) {
            return compile_no_memory(compile);
        }
    }
    Shape *shapes = arena_alloc(plan->arena, (signature->feed_count + 1) * sizeof *shapes);
    if (shapes == NULL) {
        return compile_no_memory(compile);
    }
    if (signature->feed_count > 0) {
        memcpy(shapes, compile->feed_shapes, signature->feed_count * sizeof *shapes);
    }
    plan->feed_shapes = shapes;
    plan->feeds = names;
    plan->feed_count = signature->feed_count;
    plan->fetches = names + signature->feed_count;
    plan->fetch_count = signature->fetch_count;
    return STATUS_OK;
}

/* Arithmetic operations of a run from which on a slot gains by a GPU that it does not ask for: about a
 * millisecond of one core, where launches and copies of a small graph take tens of microseconds. Unknown
 * dimensions count as 1 in the cost, so that what wants a GPU does so for any feeds. */
static const double GPU_COST_MIN = 1e7;

static PlanGpu
gpu_of(const Part *part, double cost)
{
    if (part->gpu_node.size > 0) {
        return PLAN_GPU_NEEDED;
    }
    return part->wants_gpu || cost >= GPU_COST_MIN ? PLAN_GPU_WANTED : PLAN_GPU_UNUSED;
}

static Status
seal_slots(const Partitioning *partitioning, Plan *plan)
{
    const Compile *compile = partitioning->compile;
    PlanSlot *slots = arena_alloc(plan->arena, compile->slot_count * sizeof *slots);
    if (slots == NULL) {
        return compile_no_memory(compile);
    }
    for (uint32_t slot = 0; slot < compile->slot_count; slot++) {
        slots[slot].task = compile->slot_tasks[slot];
    }
    for (uint32_t id = 0; id < compile->graph->node_count; id++) {
        if (node_keeps_state(&compile->graph->nodes[id])) {
            slots[compile->slots[id]].keeps_state = true;
        }
    }
    TRY(estimate_slots(compile, slots));
    for (uint32_t slot = 0; slot < compile->slot_count; slot++) {
        const Part *part = &partitioning->parts[slot];
        slots[slot].gpu = gpu_of(part, slots[slot].free_cost);
        slots[slot].gpu_node = part->gpu_node;
        if (!own_text(plan, &slots[slot].gpu_node)) {
            return compile_no_memory(compile);
        }
    }
    plan->slots = slots;
    plan->slot_count = compile->slot_count;
    return STATUS_OK;
}

static void
tensor_release(void *tensor)
{
    tensor_unref(tensor);
}

static Status
seal_blobs(const Partitioning *partitioning, const Part *part, Plan *plan, PlanPartition *sealed)
{
    const Compile *compile = partitioning->compile;
    size_t count = part->blobs.size / sizeof(PlanBlob *);
    PlanBlob *blobs = arena_alloc(plan->arena, count * sizeof *blobs);
    for (size_t index = 0; blobs != NULL && index < count; index++) {
        const PlanBlob *blob = NULL;
        memcpy(&blob, part->blobs.data + index * sizeof blob, sizeof blob);
        blobs[index] = *blob;
        blobs[index].tensor = (Tensor){.dtype = DTYPE_INVALID};
        if (arena_defer(plan->arena, tensor_release, &blobs[index].tensor) == NULL) {
            return compile_no_memory(compile);
        }
        blobs[index].tensor = tensor_ref(&blob->tensor);
    }
    sealed->blobs = blobs;
    sealed->blob_count = count;
    return blobs == NULL ? compile_no_memory(compile) : STATUS_OK;
}

static Status
seal_document(const Partitioning *partitioning, const Part *part, Plan *plan, PlanPartition *sealed)
{
    const Compile *compile = partitioning->compile;
    const GraphDef *from = compile->def;
    Slice passes_off[PASS_COUNT_MAX];
    GraphDef def = {
        .nodes = (const NodeDef *)(const void *)part->nodes.data,
        .node_count = part->nodes.size / sizeof(NodeDef),
        .functions = (const FunctionDef *)(const void *)part->functions.data,
        .function_count = part->functions.size / sizeof(FunctionDef),
        .producer = from->producer,
        .min_consumer = from->min_consumer,
        .passes_off = passes_off,
        .passes_off_count = pass_set_of_worker(compile->request->signature->options.passes_off, passes_off),
        .allows_tf32 = compile->request->signature->options.allows_tf32,
    };
    AUTO_BUFFER buffer = {0};
    graphdef_json_write(&buffer, &def);
    const char *document = buffer_is_ok(&buffer) ? text_copy(plan->arena, buffer_slice(&buffer)) : NULL;
    if (document == NULL) {
        return compile_no_memory(compile);
    }
    sealed->document = slice_of(document, buffer.size);
    sealed->node_count = (uint32_t)def.node_count;
    partition_digest(sealed->document, sealed->digest);
    return STATUS_OK;
}

static void *
seal_list(const Plan *plan, const Buffer *list)
{
    void *copy = arena_alloc(plan->arena, list->size);
    if (copy != NULL && list->size > 0) {
        memcpy(copy, list->data, list->size);
    }
    return copy;
}

static Status
seal_partition(const Partitioning *partitioning, uint32_t slot, Plan *plan, PlanPartition *sealed)
{
    const Part *part = &partitioning->parts[slot];
    sealed->slot = slot;
    sealed->feeds = seal_list(plan, &part->feeds);
    sealed->feed_count = part->feeds.size / sizeof(uint32_t);
    sealed->fetches = seal_list(plan, &part->fetches);
    sealed->fetch_count = part->fetches.size / sizeof(uint32_t);
    if (sealed->feeds == NULL || sealed->fetches == NULL) {
        return compile_no_memory(partitioning->compile);
    }
    TRY(seal_blobs(partitioning, part, plan, sealed));
    return seal_document(partitioning, part, plan, sealed);
}

static Status
seal_transfers(const Partitioning *partitioning, Plan *plan)
{
    PlanTransfer *transfers = seal_list(plan, &partitioning->transfers);
    plan->transfers = transfers;
    plan->transfer_count = partitioning->transfers.size / sizeof *transfers;
    bool is_ok = transfers != NULL;
    for (size_t index = 0; is_ok && index < plan->transfer_count; index++) {
        transfers[index].tensor_name =
            text_copy(plan->arena, slice_from_string(transfers[index].tensor_name));
        is_ok = own_text(plan, &transfers[index].node) && own_text(plan, &transfers[index].loop) &&
                transfers[index].tensor_name != NULL;
    }
    return is_ok ? STATUS_OK : compile_no_memory(partitioning->compile);
}

static Status
seal_decisions(const Partitioning *partitioning, Plan *plan)
{
    PlanDecision *decisions = seal_list(plan, &partitioning->decisions);
    plan->decisions = decisions;
    plan->decision_count = partitioning->decisions.size / sizeof *decisions;
    bool is_ok = decisions != NULL;
    for (size_t index = 0; is_ok && index < plan->decision_count; index++) {
        is_ok = own_text(plan, &decisions[index].node) && own_text(plan, &decisions[index].subject);
    }
    return is_ok ? STATUS_OK : compile_no_memory(partitioning->compile);
}

static size_t
list_slots(SlotSets sets, uint32_t set, uint32_t slot_count, uint32_t *slots)
{
    size_t count = 0;
    for (uint32_t slot = 0; slot < slot_count; slot++) {
        if (slot_sets_have(sets, set, slot)) {
            slots[count++] = slot;
        }
    }
    return count;
}

/* Notes for each slot which others it exchanges tensors with. */
static Status
seal_peers(const Compile *compile, const Plan *plan, PlanPartition *partitions)
{
    SlotSets peers = slot_sets_new(compile, compile->slot_count);
    SlotSets senders = slot_sets_new(compile, compile->slot_count);
    uint32_t *slots = compile_alloc(compile, compile->slot_count, sizeof *slots);
    if (peers.words == NULL || senders.words == NULL || slots == NULL) {
        return compile_no_memory(compile);
    }
    for (size_t index = 0; index < plan->transfer_count; index++) {
        const PlanTransfer *transfer = &plan->transfers[index];
        slot_sets_add(peers, transfer->from, transfer->to);
        slot_sets_add(peers, transfer->to, transfer->from);
        slot_sets_add(senders, transfer->to, transfer->from);
    }
    for (uint32_t slot = 0; slot < compile->slot_count; slot++) {
        PlanPartition *partition = &partitions[slot];
        partition->sender_count = (uint32_t)list_slots(senders, slot, compile->slot_count, slots);
        partition->peer_count = list_slots(peers, slot, compile->slot_count, slots);
        uint32_t *sealed = arena_alloc(plan->arena, partition->peer_count * sizeof *sealed);
        if (sealed == NULL) {
            return compile_no_memory(compile);
        }
        memcpy(sealed, slots, partition->peer_count * sizeof *sealed);
        partition->peers = sealed;
    }
    return STATUS_OK;
}

static Status
seal_partitions(const Partitioning *partitioning, Plan *plan)
{
    uint32_t slot_count = partitioning->compile->slot_count;
    PlanPartition *partitions = arena_alloc(plan->arena, slot_count * sizeof *partitions);
    if (partitions == NULL) {
        return compile_no_memory(partitioning->compile);
    }
    for (uint32_t slot = 0; slot < slot_count; slot++) {
        TRY(seal_partition(partitioning, slot, plan, &partitions[slot]));
    }
    TRY(seal_peers(partitioning->compile, plan, partitions));
    plan->partitions = partitions;
    plan->partition_count = slot_count;
    return STATUS_OK;
}

static uint32_t
count_fused(const Compile *compile)
{
    uint32_t count = 0;
    for (uint32_t id = 0; id < compile->graph->node_count; id++) {
        count += compile->fusions[id] != id;
    }
    return count;
}

/* Returns false without memory for the texts. */
static bool
add_change(Plan *plan, PlanChange *changes, const PlanChange *change)
{
    PlanChange *added = &changes[plan->change_count++];
    *added = *change;
    return own_text(plan, &added->node) && own_text(plan, &added->into) && own_text(plan, &added->reason);
}

/* The changes made here come first, then those that the workers will make. */
static Status
seal_changes(const Compile *compile, Plan *plan)
{
    const Optimised *done = &compile->optimised;
    size_t count = done->note_count + compile->call_count + count_fused(compile);
    PlanChange *changes = arena_alloc(plan->arena, (count + 1) * sizeof *changes);
    bool is_ok = changes != NULL;
    for (size_t index = 0; is_ok && index < done->note_count; index++) {
        const RewriteNote *note = &done->notes[index];
        is_ok = add_change(plan, changes, &(PlanChange){.pass = note->pass, .node = note->node});
    }
    for (size_t index = 0; is_ok && index < compile->call_count; index++) {
        is_ok = add_change(plan, changes, &compile->calls[index]);
    }
    for (uint32_t id = 0; is_ok && id < compile->graph->node_count; id++) {
        const Node *nodes = compile->graph->nodes;
        uint32_t into = compile->fusions[id];
        PlanChange fused = {.pass = "elementwise_fusion", .node = nodes[id].name, .into = nodes[into].name};
        is_ok = into == id || add_change(plan, changes, &fused);
    }
    plan->changes = changes;
    return is_ok ? STATUS_OK : compile_no_memory(compile);
}

Status
seal_plan(const Partitioning *partitioning, Plan **ret_plan)
{
    const Compile *compile = partitioning->compile;
    assert(compile->fusions != NULL && compile->slot_count > 0);
    AUTO_PLAN plan = plan_new();
    if (plan == NULL) {
        return compile_no_memory(compile);
    }
    TRY(seal_names(compile, plan));
    TRY(seal_slots(partitioning, plan));
    TRY(seal_transfers(partitioning, plan));
    TRY(seal_partitions(partitioning, plan));
    TRY(seal_decisions(partitioning, plan));
    TRY(seal_changes(compile, plan));
    plan->is_pure = compile->is_pure;
    plan->grows = compile->grows;
    plan->byte_size = arena_size(plan->arena);
    *ret_plan = TAKE(plan);
    return STATUS_OK;
}
