/* Writes the partitions of a graph whose nodes have slots, in this order:
 *
 *   1. the control loops of loops that lie on several slots;
 *   2. all nodes in the author's order, each behind the copies and receives that it reads;
 *   3. the functions that nodes call, beside their callers. */
#include "gateway/plan/partition.h"

#include <assert.h>

#include "gateway/plan/device_request.h"

typedef struct Function {
    const FunctionDef *def;
    uint32_t slot; /* SLOT_NONE while no caller of it is known */
} Function;

/* Assigns the slot of a caller to the functions that its attributes name. Returns true when one was
 * without. */
static bool
assign_called(const Map *by_name, const Attr *attrs, size_t attr_count, uint32_t slot)
{
    bool has_assigned = false;
    for (size_t index = 0; index < attr_count; index++) {
        const AttrValue *value = &attrs[index].value;
        for (size_t item = 0;
             value->kind == ATTR_FUNCTION && value->is_list && item < value->value.list.count; item++) {
            Function *called = map_get(by_name, value->value.list.items[item].value.function.name);
            if (called != NULL && called->slot == SLOT_NONE && slot != SLOT_NONE) {
                called->slot = slot;
                has_assigned = true;
            }
        }
    }
    return has_assigned;
}

/* Writes the function into its slot's partition; its large constants become blobs, as those of the
 * graph do. */
static Status
emit_function(Partitioning *partitioning, const Function *function)
{
    FunctionDef def = *function->def;
    Part *part = &partitioning->parts[function->slot];
    NodeDef *nodes = compile_alloc(partitioning->compile, def.node_count, sizeof *nodes);
    if (nodes == NULL) {
        return compile_no_memory(partitioning->compile);
    }
    for (size_t index = 0; index < def.node_count; index++) {
        DeviceRequest request;
        TRY(device_request(partitioning->compile, &def.nodes[index], &request));
        partition_note_ask(part, request.device, def.nodes[index].name);
        nodes[index] = def.nodes[index];
        nodes[index].device = slice_from_string(partition_device(request.device));
        const AttrValue *value = slice_equals_string(nodes[index].op, "Const")
                                     ? node_def_attr(&nodes[index], SLICE("value"))
                                     : NULL;
        const PlanBlob *blob = value == NULL ? NULL : partition_new_blob(partitioning, &value->value.tensor);
        if (blob != NULL) {
            partition_use_blob(partitioning, function->slot, blob, &nodes[index]);
        }
    }
    def.nodes = nodes;
    buffer_append(&part->functions, &def, sizeof def);
    return STATUS_OK;
}

/* Goes from the last function back to the first: the functions of a branch stand before their callers, so
 * that one turn reaches all but those that call each other. */
static bool
assign_inner(const Compile *compile, const Map *by_name, const Function *functions)
{
    bool has_assigned = false;
    for (size_t index = compile->def->function_count; index-- > 0;) {
        const FunctionDef *def = functions[index].def;
        for (size_t node = 0; node < def->node_count; node++) {
            has_assigned = assign_called(by_name, def->nodes[node].attrs, def->nodes[node].attr_count,
                               functions[index].slot) ||
                           has_assigned;
        }
    }
    return has_assigned;
}

/* A function runs where its caller does, which is in the graph or in another function. Callers of a function
 * that calls itself share a slot (group.c). */
static void
assign_functions(const Compile *compile, const Map *by_name, const Function *functions)
{
    for (uint32_t id = 0; id < compile->graph->node_count; id++) {
        const Node *node = &compile->graph->nodes[id];
        (void)assign_called(by_name, node->attrs, node->attr_count, compile->slots[id]);
    }
    bool has_assigned = true;
    while (has_assigned) {
        has_assigned = assign_inner(compile, by_name, functions);
    }
}

static Status
emit_functions(Partitioning *partitioning)
{
    const Compile *compile = partitioning->compile;
    size_t count = compile->def->function_count;
    Function *functions = compile_alloc(compile, count, sizeof *functions);
    Map *by_name = compile_map(compile);
    if (functions == NULL || by_name == NULL) {
        return compile_no_memory(compile);
    }
    for (size_t index = 0; index < count; index++) {
        functions[index] = (Function){.def = &compile->def->functions[index], .slot = SLOT_NONE};
        if (!map_put(by_name, functions[index].def->name, &functions[index])) {
            return compile_no_memory(compile);
        }
    }
    assign_functions(compile, by_name, functions);
    for (size_t index = 0; index < count; index++) {
        if (functions[index].slot < compile->slot_count) {
            TRY(emit_function(partitioning, &functions[index]));
        }
    }
    return STATUS_OK;
}

static Status
alloc_tables(Partitioning *partitioning)
{
    const Compile *compile = partitioning->compile;
    const Graph *graph = compile->graph;
    partitioning->output_starts =
        compile_alloc(compile, graph->node_count, sizeof *partitioning->output_starts);
    partitioning->copied = slot_sets_new(compile, graph->node_count);
    partitioning->blobs = compile_alloc(compile, graph->node_count, sizeof *partitioning->blobs);
    partitioning->parts = compile_alloc(compile, compile->slot_count, sizeof *partitioning->parts);
    if (partitioning->output_starts == NULL || partitioning->copied.words == NULL ||
        partitioning->blobs == NULL || partitioning->parts == NULL) {
        return compile_no_memory(compile);
    }
    size_t output_count = 0;
    for (uint32_t id = 0; id < graph->node_count; id++) {
        partitioning->output_starts[id] = output_count;
        output_count += graph->nodes[id].output_count + 1;
    }
    for (uint32_t slot = 0; slot < compile->slot_count; slot++) {
        partitioning->parts[slot].blob_names = compile_map(compile);
        if (partitioning->parts[slot].blob_names == NULL) {
            return compile_no_memory(compile);
        }
    }
    partitioning->sent = slot_sets_new(compile, output_count);
    return partitioning->sent.words == NULL ? compile_no_memory(compile) : STATUS_OK;
}

static bool
is_all_written(const Partitioning *partitioning)
{
    bool is_ok = !partitioning->has_no_memory && buffer_is_ok(&partitioning->transfers) &&
                 buffer_is_ok(&partitioning->decisions);
    for (uint32_t slot = 0; slot < partitioning->compile->slot_count; slot++) {
        const Part *part = &partitioning->parts[slot];
        is_ok = is_ok && buffer_is_ok(&part->nodes) && buffer_is_ok(&part->functions) &&
                buffer_is_ok(&part->feeds) && buffer_is_ok(&part->fetches) && buffer_is_ok(&part->blobs);
    }
    return is_ok;
}

Status
partition_graph(Partitioning *partitioning)
{
    const Compile *compile = partitioning->compile;
    assert(compile->slots != NULL && compile->slot_count <= PLAN_SLOT_COUNT_MAX);
    TRY(alloc_tables(partitioning));
    TRY(partition_control_loops(partitioning));
    for (uint32_t id = 0; id < compile->graph->node_count; id++) {
        if (compile->slots[id] != SLOT_COPIED) {
            partition_emit_node(partitioning, &compile->graph->nodes[id], compile->slots[id]);
        }
    }
    TRY(emit_functions(partitioning));
    return is_all_written(partitioning) ? STATUS_OK : compile_no_memory(compile);
}

void
partitioning_done(Partitioning *partitioning)
{
    for (uint32_t slot = 0; partitioning->parts != NULL && slot < partitioning->compile->slot_count; slot++) {
        buffer_done(&partitioning->parts[slot].nodes);
        buffer_done(&partitioning->parts[slot].functions);
        buffer_done(&partitioning->parts[slot].feeds);
        buffer_done(&partitioning->parts[slot].fetches);
        buffer_done(&partitioning->parts[slot].blobs);
    }
    buffer_done(&partitioning->transfers);
    buffer_done(&partitioning->decisions);
}
