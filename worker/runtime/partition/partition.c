#include "worker/runtime/partition/partition.h"

#include <assert.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "shared/base/text.h"
#include "worker/runtime/partition/stages.h"

static const size_t PARTITION_ARENA_MAX = (size_t)1 << 30;

Status
partition_new(Call *call, DeviceSet devices, Partition **ret_partition)
{
    assert(devices.host != NULL && device_is_host(devices.host));
    AUTO_PARTITION partition = memory_new(1, sizeof *partition);
    if (partition == NULL) {
        return call_fail_memory(call, "a partition");
    }
    mutex_init(&partition->pool.lock);
    partition->reference_count = 1;
    partition->device = devices.host;
    (void)atomic_add_relaxed(&devices.host->partition_count, 1);
    partition->accelerator = devices.accelerator;
    partition->visited = devices.accelerator;
    partition->loop_bytes_max = LOOP_BYTES_MAX;
    partition->arena = arena_new(PARTITION_ARENA_MAX);
    if (partition->arena == NULL) {
        return call_fail_memory(call, "a partition");
    }
    *ret_partition = TAKE(partition);
    return STATUS_OK;
}

Partition *
partition_ref(Partition *partition)
{
    assert(partition != NULL);
    reference_count_add(&partition->reference_count);
    return partition;
}

void
partition_unref(Partition *partition)
{
    if (partition == NULL || !reference_count_drop(&partition->reference_count)) {
        return;
    }
    if (partition->pool.empty != NULL) {
        partition->pool.empty(partition);
    }
    for (SchedulePart *part = partition->parts; part != NULL; part = part->next) {
        captures_forget(partition->captures, &part->site);
    }
    for (uint32_t i = 0; i < partition->node_count; i++) {
        const ScheduleNode *node = &partition->nodes[i];
        if (node->kernel != NULL && node->kernel->destroy != NULL && node->state != NULL) {
            node->kernel->destroy(node->state);
        }
    }
    arena_free(partition->arena);
    graph_unref(partition->graph);
    mutex_done(&partition->pool.lock);
    Device *host = partition->device;
    memory_free(partition);
    (void)atomic_sub_acq_rel(&host->partition_count, 1);
}

Status
missing_blobs_add(Call *call, Slice sha256, MissingBlobs *missing)
{
    if (missing->count == MISSING_BLOBS_MAX) {
        return STATUS_OK;
    }
    for (size_t i = 0; i < missing->count; i++) {
        if (slice_equals_string(sha256, missing->sha256[i])) {
            return STATUS_OK;
        }
    }
    if (missing->count == 0) {
        missing->sha256 = arena_alloc(call->arena, MISSING_BLOBS_MAX * sizeof *missing->sha256);
    }
    const char *text = missing->sha256 == NULL ? NULL : text_copy(call->arena, sha256);
    if (text == NULL) {
        return call_fail_memory(call, "the missing blobs");
    }
    missing->sha256[missing->count++] = text;
    return STATUS_OK;
}

bool
partition_is_used(const Partition *partition)
{
    return atomic_load_acquire(&partition->reference_count) > 1;
}

uint32_t
partition_arg_count(const Partition *partition)
{
    return partition->arg_count;
}

uint32_t
partition_retval_count(const Partition *partition)
{
    return partition->retval_count;
}

uint32_t
partition_node_count(const Partition *partition)
{
    return partition->node_count;
}

Dtype
partition_arg_dtype(const Partition *partition, uint32_t index)
{
    assert(index < partition->arg_count);
    return partition->nodes[partition->args[index]].node->output_dtypes[0];
}

Slice
partition_retval_name(const Partition *partition, uint32_t index)
{
    assert(index < partition->retval_count);
    return partition->nodes[partition->retvals[index]].node->name;
}

uint32_t
partition_frame_count(const Partition *partition)
{
    return partition->frame_count;
}

Slice
partition_frame_name(const Partition *partition, uint32_t frame)
{
    assert(frame < partition->frame_count);
    return partition->frames[frame].name;
}

PartitionNode
partition_node(const Partition *partition, uint32_t index)
{
    assert(index < partition->node_count);
    const ScheduleNode *node = &partition->nodes[index];
    return (PartitionNode){.name = node->node->name,
        .op = node->node->op->name,
        .key = node->key,
        .device = node->kernel == NULL ? NULL : node->device,
        .reason = node->reason};
}

bool
partition_uses_accelerator(const Partition *partition)
{
    return partition->accelerator != NULL;
}

bool
partition_keeps_accelerator_memory(const Partition *partition, uint64_t tenant)
{
    bool is_meant = tenant == 0 || partition->tenant == tenant;
    return is_meant && (partition->accelerator != NULL || partition->library != NULL);
}

bool
partition_has_transfers(const Partition *partition)
{
    return partition->transfer_count > 0;
}

size_t
partition_size(const Partition *partition)
{
    return sizeof *partition + arena_size(partition->arena) + arena_size(partition->graph->arena) +
           arena_size(partition->graph->def->arena) + partition->constant_bytes;
}

size_t
partition_constant_size(const Partition *partition)
{
    return partition->constant_bytes;
}

uint64_t
partition_cost_ns(const Partition *partition)
{
    return atomic_load_relaxed(&partition->total_cost);
}

Status
lengthen_nodes(Call *call, Partition *partition, size_t count)
{
    assert(count >= partition->node_count);

    Graph *graph = partition->graph;
    Node *nodes = arena_alloc(partition->arena, count * sizeof *nodes);
    ScheduleNode *scheduled = arena_alloc(partition->arena, count * sizeof *scheduled);
    if (nodes == NULL || scheduled == NULL) {
        return call_fail_memory(call, "the nodes that a partition needs beside its graph's");
    }
    memcpy(nodes, graph->nodes, partition->node_count * sizeof *nodes);
    memcpy(scheduled, partition->nodes, partition->node_count * sizeof *scheduled);
    for (uint32_t id = 0; id < partition->node_count; id++) {
        scheduled[id].node = &nodes[id];
    }
    graph->nodes = nodes;
    partition->nodes = scheduled;
    return STATUS_OK;
}
