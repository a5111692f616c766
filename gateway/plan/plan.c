#include "gateway/plan/plan.h"

#include <assert.h>

#include "shared/base/atomic.h"

Plan *
plan_ref(Plan *plan)
{
    assert(atomic_load_relaxed(&plan->reference_count) > 0);
    reference_count_add(&plan->reference_count);
    return plan;
}

void
plan_unref(Plan *plan)
{
    if (plan != NULL && reference_count_drop(&plan->reference_count)) {
        arena_free(plan->arena);
    }
}

/* Loses one of two steps that end at the same time, which an average tolerates. */
void
plan_note_computed(Plan *plan, uint64_t computed_ns)
{
    enum { WEIGHT = 8 };
    uint64_t average_ns = atomic_load_relaxed(&plan->computed_ns);
    uint64_t next_ns =
        average_ns == 0 ? computed_ns : average_ns - average_ns / WEIGHT + computed_ns / WEIGHT;
    atomic_store_relaxed(&plan->computed_ns, next_ns);
}

static bool
has_open_dimension(const Shape *shape)
{
    return shape->rank > 0 && !shape_is_known(shape);
}

int64_t
plan_open_size(const Plan *plan, const Tensor *feeds)
{
    int64_t size = 0;
    assert(feeds != NULL || plan->feed_count == 0);
    for (size_t feed = 0; plan->grows && feed < plan->feed_count; feed++) {
        const Shape *declared = &plan->feed_shapes[feed];
        const Shape *fed = &feeds[feed].shape;
        for (int dimension = 0; has_open_dimension(declared) && dimension < declared->rank; dimension++) {
            if (declared->dims[dimension] >= 0) {
                continue;
            }
            bool agrees = feeds[feed].dtype != DTYPE_INVALID && fed->rank == declared->rank &&
                          (size == 0 || fed->dims[dimension] == size);
            if (!agrees) {
                return 0;
            }
            size = fed->dims[dimension];
        }
    }
    return size;
}

static void
write_shape(JsonWriter *writer, const Shape *shape)
{
    json_write_name(writer, "shape");
    if (shape->rank < 0) {
        json_write_null(writer);
        return;
    }
    json_write_array_begin(writer);
    for (int index = 0; index < shape->rank; index++) {
        json_write_int64(writer, shape->dims[index]);
    }
    json_write_array_end(writer);
}

static const char *const gpu_names[] = {
    [PLAN_GPU_UNUSED] = "unused",
    [PLAN_GPU_WANTED] = "wanted",
    [PLAN_GPU_NEEDED] = "needed",
};

static void
write_slots(JsonWriter *writer, const Plan *plan)
{
    json_write_name(writer, "slots");
    json_write_array_begin(writer);
    for (size_t index = 0; index < plan->slot_count; index++) {
        const PlanSlot *slot = &plan->slots[index];
        json_write_object_begin(writer);
        json_member_uint64(writer, "slot", index);
        json_member_string(writer, "device_type", slot->gpu == PLAN_GPU_NEEDED ? "GPU" : "CPU");
        json_member_string(writer, "gpu", gpu_names[slot->gpu]);
        if (slot->task != PLAN_TASK_NONE) {
            json_member_int64(writer, "task", slot->task);
        }
        json_member_uint64(writer, "memory_bytes", slot->memory);
        json_member_double(writer, "operations", slot->cost);
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
}

static void
write_names(JsonWriter *writer, const char *name, const Slice *names, const uint32_t *positions, size_t count)
{
    json_write_name(writer, name);
    json_write_array_begin(writer);
    for (size_t index = 0; index < count; index++) {
        json_write_slice(writer, names[positions[index]]);
    }
    json_write_array_end(writer);
}

static void
write_blobs(JsonWriter *writer, const PlanPartition *partition)
{
    json_write_name(writer, "blobs");
    json_write_array_begin(writer);
    for (size_t index = 0; index < partition->blob_count; index++) {
        json_write_object_begin(writer);
        json_member_string(writer, "sha256", partition->blobs[index].sha256);
        json_member_uint64(writer, "bytes", tensor_byte_size(&partition->blobs[index].tensor));
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
}

static void
write_partitions(JsonWriter *writer, const Plan *plan)
{
    json_write_name(writer, "partitions");
    json_write_array_begin(writer);
    for (size_t index = 0; index < plan->partition_count; index++) {
        const PlanPartition *partition = &plan->partitions[index];
        json_write_object_begin(writer);
        json_member_uint64(writer, "slot", partition->slot);
        json_member_string(writer, "digest", partition->digest);
        json_member_uint64(writer, "nodes", partition->node_count);
        json_member_uint64(writer, "bytes", partition->document.size);
        write_names(writer, "feeds", plan->feeds, partition->feeds, partition->feed_count);
        write_names(writer, "fetches", plan->fetches, partition->fetches, partition->fetch_count);
        write_blobs(writer, partition);
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
}

static void
write_transfers(JsonWriter *writer, const Plan *plan)
{
    json_write_name(writer, "transfers");
    json_write_array_begin(writer);
    for (size_t index = 0; index < plan->transfer_count; index++) {
        const PlanTransfer *transfer = &plan->transfers[index];
        json_write_object_begin(writer);
        json_member_string(writer, "tensor", transfer->tensor_name);
        json_member_slice(writer, "node", transfer->node);
        json_member_uint64(writer, "from", transfer->from);
        json_member_uint64(writer, "to", transfer->to);
        json_member_boolean(writer, "control", transfer->is_control);
        json_member_string(writer, "dtype", dtype_name(transfer->dtype));
        write_shape(writer, &transfer->shape);
        json_member_uint64(writer, "bytes", transfer->bytes);
        if (transfer->loop.size > 0) {
            json_member_slice(writer, "loop", transfer->loop);
        }
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
}

/* Writes a reason with its subject: "next to its input 'conv1'". */
static void
write_reason(JsonWriter *writer, const PlanDecision *decision)
{
    AUTO_BUFFER reason = {0};
    buffer_append_string(&reason, decision->why);
    if (decision->subject.size > 0) {
        buffer_append_format(&reason, " '%.*s'", SLICE_PRINT(decision->subject));
    }
    json_member_slice(writer, "reason", buffer_slice(&reason));
}

static void
write_decisions(JsonWriter *writer, const Plan *plan, const char *free_device)
{
    json_write_name(writer, "nodes");
    json_write_array_begin(writer);
    for (size_t index = 0; index < plan->decision_count; index++) {
        const PlanDecision *decision = &plan->decisions[index];
        json_write_object_begin(writer);
        json_member_slice(writer, "node", decision->node);
        json_member_uint64(writer, "slot", decision->slot);
        const char *device = decision->device[0] == '\0' ? free_device : decision->device;
        if (device != NULL) {
            json_member_string(writer, "device", device);
        }
        write_reason(writer, decision);
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
}

static void
write_changes(JsonWriter *writer, const Plan *plan)
{
    json_write_name(writer, "changes");
    json_write_array_begin(writer);
    for (size_t index = 0; index < plan->change_count; index++) {
        json_write_object_begin(writer);
        json_member_string(writer, "pass", plan->changes[index].pass);
        json_member_slice(writer, "node", plan->changes[index].node);
        if (plan->changes[index].into.size > 0) {
            json_member_slice(writer, "into", plan->changes[index].into);
        }
        if (plan->changes[index].reason.size > 0) {
            json_member_slice(writer, "reason", plan->changes[index].reason);
        }
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
}

void
plan_write_json(JsonWriter *writer, const Plan *plan, const char *free_device)
{
    write_slots(writer, plan);
    write_partitions(writer, plan);
    write_transfers(writer, plan);
    write_decisions(writer, plan, free_device);
    write_changes(writer, plan);
}
