/* Written partitions → documents with digests, in the plan's own memory. */
#include "gateway/plan/partition.h"

#include <assert.h>

#include "shared/base/text.h"
#include "shared/crypto/digest.h"
#include "shared/formats/graphdef_json.h"

static_assert((int)PLAN_DIGEST_SIZE == (int)SHA256_HEX_SIZE, "a digest is a sha256");

/* --- Blobs ---------------------------------------------------------------------------------------------- */

static void
digest_text(Slice bytes, char ret_hex[PLAN_DIGEST_SIZE])
{
    Sha256 digest;
    sha256(bytes, &digest);
    sha256_to_hex(&digest, ret_hex);
}

PlanBlob *
partition_new_blob(Partitioning *partitioning, const Tensor *tensor)
{
    const size_t size = dtype_is_copyable(tensor->dtype) ? tensor_byte_size(tensor) : 0;
    if (size <= PLAN_BLOB_SIZE_MIN) {
        return NULL;
    }
    PlanBlob *const blob = compile_alloc(partitioning->compile, 1, sizeof *blob);
    if (blob == NULL) {
        partitioning->has_no_memory = true;
        return NULL;
    }
    blob->tensor = *tensor;
    digest_text(slice_of(tensor->data, size), blob->sha256);
    return blob;
}

const PlanBlob *
partition_blob(Partitioning *partitioning, const Node *node)
{
    const PlanBlob **const blob = &partitioning->blobs[node->id];
    if (*blob == NULL) {
        *blob = partition_new_blob(partitioning, node_attr_tensor(node, "value"));
    }
    return *blob;
}

void
partition_add_blob(Partitioning *partitioning, uint32_t slot, const PlanBlob *blob)
{
    Part *const part = &partitioning->parts[slot];
    const Slice name = slice_from_string(blob->sha256);
    if (map_get(part->blob_names, name) == NULL) {
        partitioning->has_no_memory = partitioning->has_no_memory || !map_put(part->blob_names, name, part);
        buffer_append(&part->blobs, &blob, sizeof blob);
    }
}

static void
tensor_release(void *tensor)
{
    tensor_unref(tensor);
}

static Status
seal_blobs(const Partitioning *partitioning, const Part *part, Plan *plan, PlanPartition *sealed)
{
    const Compile *const compile = partitioning->compile;
    const size_t count = part->blobs.size / sizeof(PlanBlob *);
    PlanBlob *const blobs = arena_alloc(plan->arena, count * sizeof *blobs);
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

/* --- Documents ------------------------------------------------------------------------------------------ */

static Status
seal_document(const Partitioning *partitioning, const Part *part, Plan *plan, PlanPartition *sealed)
{
    const Compile *const compile = partitioning->compile;
    const GraphDef *const from = compile->def;
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
    };
    AUTO_BUFFER buffer = {0};
    graphdef_json_write(&buffer, &def);
    const char *const document = buffer_is_ok(&buffer) ? text_copy(plan->arena, buffer_slice(&buffer)) : NULL;
    if (document == NULL) {
        return compile_no_memory(compile);
    }
    sealed->document = slice_of(document, buffer.size);
    sealed->node_count = (uint32_t)def.node_count;
    digest_text(sealed->document, sealed->digest);
    return STATUS_OK;
}

/* --- Lists ---------------------------------------------------------------------------------------------- */

static void *
seal_list(const Plan *plan, const Buffer *list)
{
    void *const copy = arena_alloc(plan->arena, list->size);
    if (copy != NULL && list->size > 0) {
        memcpy(copy, list->data, list->size);
    }
    return copy;
}

static Status
seal_partition(const Partitioning *partitioning, uint32_t slot, Plan *plan, PlanPartition *sealed)
{
    const Part *const part = &partitioning->parts[slot];
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
    PlanTransfer *const transfers = seal_list(plan, &partitioning->transfers);
    plan->transfers = transfers;
    plan->transfer_count = partitioning->transfers.size / sizeof *transfers;
    bool is_ok = transfers != NULL;
    for (size_t index = 0; is_ok && index < plan->transfer_count; index++) {
        transfers[index].tensor_name =
            text_copy(plan->arena, slice_from_string(transfers[index].tensor_name));
        is_ok = plan_own_text(plan, &transfers[index].node) && plan_own_text(plan, &transfers[index].loop) &&
                transfers[index].tensor_name != NULL;
    }
    return is_ok ? STATUS_OK : compile_no_memory(partitioning->compile);
}

static Status
seal_decisions(const Partitioning *partitioning, Plan *plan)
{
    PlanDecision *const decisions = seal_list(plan, &partitioning->decisions);
    plan->decisions = decisions;
    plan->decision_count = partitioning->decisions.size / sizeof *decisions;
    bool is_ok = decisions != NULL;
    for (size_t index = 0; is_ok && index < plan->decision_count; index++) {
        is_ok = plan_own_text(plan, &decisions[index].node) && plan_own_text(plan, &decisions[index].subject);
    }
    return is_ok ? STATUS_OK : compile_no_memory(partitioning->compile);
}

Status
partition_seal(const Partitioning *partitioning, Plan *plan)
{
    const uint32_t slot_count = partitioning->compile->slot_count;
    PlanPartition *const partitions = arena_alloc(plan->arena, slot_count * sizeof *partitions);
    if (partitions == NULL) {
        return compile_no_memory(partitioning->compile);
    }
    for (uint32_t slot = 0; slot < slot_count; slot++) {
        TRY(seal_partition(partitioning, slot, plan, &partitions[slot]));
    }
    plan->partitions = partitions;
    plan->partition_count = slot_count;
    TRY(seal_transfers(partitioning, plan));
    return seal_decisions(partitioning, plan);
}
