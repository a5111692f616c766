#include "gateway/traces/plan_costs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/map.h"
#include "shared/base/text.h"
#include "shared/wire/trace.h"

enum { ROWS_ARENA_SIZE_MAX = 256 << 20 };

/* The cost of a node on a slot, summed over all traced steps. */
typedef struct NodeCost {
    Slice name;
    Slice op;
    uint32_t slot;
    uint64_t run_count;
    uint64_t total_ns;
    uint64_t output_bytes;
    uint64_t allocated_bytes;
    uint64_t scratch_bytes; /* the most of any run */
} NodeCost;

typedef struct Costs {
    Arena *arena;
    Map *nodes; /* "SLOT NAME" → NodeCost */
} Costs;

/* NULL without memory. */
static NodeCost *
node_obtain(const Costs *costs, uint32_t slot, const WireTraceNode *node)
{
    AUTO_BUFFER key = {0};
    buffer_append_format(&key, "%u %.*s", slot, SLICE_PRINT(node->name));
    NodeCost *cost = buffer_is_ok(&key) ? map_get(costs->nodes, buffer_slice(&key)) : NULL;
    if (cost != NULL || !buffer_is_ok(&key)) {
        return cost;
    }
    cost = arena_alloc(costs->arena, sizeof *cost);
    const char *name = text_copy(costs->arena, node->name);
    const char *op = text_copy(costs->arena, node->op);
    if (cost == NULL || name == NULL || op == NULL || !map_put(costs->nodes, buffer_slice(&key), cost)) {
        return NULL;
    }
    *cost =
        (NodeCost){.name = slice_of(name, node->name.size), .op = slice_of(op, node->op.size), .slot = slot};
    return cost;
}

static bool
add_rows(const Costs *costs, uint32_t slot, const WireTrace *trace)
{
    for (size_t index = 0; index < trace->row_count; index++) {
        const WireTraceRow *row = &trace->rows[index];
        if (row->key.size > 0) {
            continue;
        }
        NodeCost *cost = node_obtain(costs, slot, &trace->nodes[row->node]);
        if (cost == NULL) {
            return false;
        }
        cost->run_count++;
        cost->total_ns += row->end_ns > row->start_ns ? row->end_ns - row->start_ns : 0;
        cost->output_bytes += row->output_bytes;
        cost->allocated_bytes += row->allocated_bytes;
        cost->scratch_bytes =
            row->scratch_bytes > cost->scratch_bytes ? row->scratch_bytes : cost->scratch_bytes;
    }
    return true;
}

/* Returns the plan's partition if the step's slot ran this one, or NULL. */
static const PlanPartition *
partition_of(const Plan *plan, const TraceSlot *slot)
{
    bool is_there = slot->number < plan->partition_count && slot->nodes.size > 0;
    const PlanPartition *partition = is_there ? &plan->partitions[slot->number] : NULL;
    return is_there && strcmp(partition->digest, slot->digest) == 0 ? partition : NULL;
}

/* Adds a trace; slots whose trace cannot be read are left out. */
static Status
add_trace(Call *call, const Costs *costs, const Plan *plan, const StepTrace *trace, uint64_t *step_count)
{
    bool is_counted = false;
    for (size_t index = 0; index < trace->slot_count; index++) {
        const PlanPartition *partition = partition_of(plan, &trace->slots[index]);
        AUTO_ARENA arena = partition == NULL ? NULL : arena_new(ROWS_ARENA_SIZE_MAX);
        Call reading = {.arena = arena};
        WireTrace rows;
        if (arena == NULL || wire_trace_read(&reading, trace->slots[index].nodes, &rows) != STATUS_OK) {
            continue;
        }
        is_counted = true;
        if (!add_rows(costs, partition->slot, &rows)) {
            return call_fail_memory(call, "the costs of a plan");
        }
    }
    *step_count += is_counted;
    return STATUS_OK;
}

static int
dearest_first(const void *left, const void *right)
{
    const NodeCost *a = *(const NodeCost *const *)left;
    const NodeCost *b = *(const NodeCost *const *)right;
    return (a->total_ns < b->total_ns) - (a->total_ns > b->total_ns);
}

static void
write_node(JsonWriter *writer, const NodeCost *cost)
{
    json_write_object_begin(writer);
    json_member_slice(writer, "node", cost->name);
    json_member_slice(writer, "op", cost->op);
    json_member_uint64(writer, "slot", cost->slot);
    json_member_uint64(writer, "runs", cost->run_count);
    json_member_uint64(writer, "mean_ns", cost->total_ns / cost->run_count);
    json_member_uint64(writer, "output_bytes", cost->output_bytes / cost->run_count);
    json_member_uint64(writer, "allocated_bytes", cost->allocated_bytes / cost->run_count);
    json_member_uint64(writer, "scratch_bytes", cost->scratch_bytes);
    json_write_object_end(writer);
}

static Status
write_costs(Call *call, JsonWriter *writer, const Costs *costs, uint64_t step_count)
{
    size_t count = map_count(costs->nodes);
    NodeCost **nodes = arena_alloc(costs->arena, (count + 1) * sizeof *nodes);
    size_t cursor = 0;
    size_t index = 0;
    if (nodes == NULL) {
        return call_fail_memory(call, "the costs of a plan");
    }
    for (const MapEntry *at = map_next(costs->nodes, &cursor); at != NULL;
         at = map_next(costs->nodes, &cursor)) {
        nodes[index++] = at->value;
    }
    qsort(nodes, count, sizeof *nodes, dearest_first);
    json_write_name(writer, "costs");
    json_write_object_begin(writer);
    json_member_uint64(writer, "steps", step_count);
    json_write_name(writer, "nodes");
    json_write_array_begin(writer);
    for (index = 0; index < count; index++) {
        write_node(writer, nodes[index]);
    }
    json_write_array_end(writer);
    json_write_object_end(writer);
    return STATUS_OK;
}

Status
plan_costs_write(Call *call, JsonWriter *writer, TraceCache *traces, const PlanCostsRequest *request)
{
    assert(request->plan != NULL);

    AUTO_MAP nodes = map_new();
    Costs costs = {.arena = call->arena, .nodes = nodes};
    StepTrace *kept[PLAN_COSTS_TRACES_MAX];
    uint64_t step_count = 0;
    if (nodes == NULL) {
        return call_fail_memory(call, "the costs of a plan");
    }
    Status status = STATUS_OK;
    size_t count = trace_cache_newest(traces, request->tenant, kept, COUNT_OF(kept));
    for (size_t index = 0; index < count; index++) {
        if (status == STATUS_OK) {
            status = add_trace(call, &costs, request->plan, kept[index], &step_count);
        }
        step_trace_unref(kept[index]);
    }
    TRY(status);
    return write_costs(call, writer, &costs, step_count);
}
