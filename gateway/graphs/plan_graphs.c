#include "gateway/graphs/plan_graphs.h"

#include "gateway/formats/dot.h"
#include "shared/base/text.h"
#include "shared/formats/graphdef_json.h"

static Status
check_size(Call *call, const Plan *plan)
{
    size_t size = 0;
    for (size_t index = 0; index < plan->partition_count; index++) {
        size += plan->partitions[index].document.size;
    }
    return size <= PLAN_GRAPHS_SIZE_MAX
               ? STATUS_OK
               : call_fail(call, STATUS_OUT_OF_RANGE,
                     "the partition graphs take %zu bytes, more than the %d that are told", size,
                     PLAN_GRAPHS_SIZE_MAX);
}

Status
plan_graphs_write(Call *call, JsonWriter *writer, const Plan *plan)
{
    TRY(check_size(call, plan));
    json_write_name(writer, "partition_graphs");
    json_write_array_begin(writer);
    for (size_t index = 0; index < plan->partition_count; index++) {
        json_write_object_begin(writer);
        json_member_uint64(writer, "slot", plan->partitions[index].slot);
        json_write_name(writer, "graph");
        json_write_raw(writer, plan->partitions[index].document);
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
    return STATUS_OK;
}

static void
release_def(void *def)
{
    graph_def_unref(def);
}

/* Reads a partition's graph for drawing; the arena of the call keeps it. */
static Status
read_partition(Call *call, const PlanPartition *partition, DotPartition *ret_partition)
{
    GraphDef *def = NULL;
    TRY(graphdef_json_read(call, partition->document, &def));
    if (arena_defer(call->arena, release_def, def) == NULL) {
        graph_def_unref(def);
        return call_fail_memory(call, "a drawing");
    }
    const char *title = text_format(call->arena, "slot %u", partition->slot);
    *ret_partition = (DotPartition){.title = title, .def = def};
    return title != NULL ? STATUS_OK : call_fail_memory(call, "a drawing");
}

Status
plan_graphs_draw(Call *call, Buffer *buffer, const Plan *plan)
{
    DotPartition *partitions = arena_alloc(call->arena, (plan->partition_count + 1) * sizeof *partitions);
    TRY(check_size(call, plan));
    if (partitions == NULL) {
        return call_fail_memory(call, "a drawing");
    }
    for (size_t index = 0; index < plan->partition_count; index++) {
        TRY(read_partition(call, &plan->partitions[index], &partitions[index]));
    }
    dot_write_partitions(buffer, partitions, plan->partition_count);
    return STATUS_OK;
}
