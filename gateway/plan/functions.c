/* Functions go with the nodes that call them: each gets the slot of its caller, which is in the graph or in
 * another function. Callers of a function that calls itself share a slot (group.c). */
#include "gateway/plan/partition.h"

typedef struct Function {
    const FunctionDef *def;
    uint32_t slot;
} Function;

/* Whether a function has got its slot. */
static bool
place_called(const Map *by_name, const Attr *attrs, size_t attr_count, uint32_t slot)
{
    bool has_placed = false;
    for (size_t index = 0; index < attr_count; index++) {
        const AttrValue *const value = &attrs[index].value;
        for (size_t item = 0;
             value->kind == ATTR_FUNCTION && value->is_list && item < value->value.list.count; item++) {
            Function *const called = map_get(by_name, value->value.list.items[item].value.function.name);
            if (called != NULL && called->slot == SLOT_NONE && slot != SLOT_NONE) {
                called->slot = slot;
                has_placed = true;
            }
        }
    }
    return has_placed;
}

/* Large constants leave the body as they leave a partition. */
static void
emit_body(Partitioning *partitioning, const Function *function)
{
    FunctionDef def = *function->def;
    NodeDef *const nodes = compile_alloc(partitioning->compile, def.node_count, sizeof *nodes);
    if (nodes == NULL) {
        partitioning->has_no_memory = true;
        return;
    }
    for (size_t index = 0; index < def.node_count; index++) {
        nodes[index] = def.nodes[index];
        nodes[index].device = SLICE("/device:CPU:0");
        const AttrValue *const value = slice_equals_string(nodes[index].op, "Const")
                                           ? node_def_attr(&nodes[index], SLICE("value"))
                                           : NULL;
        const PlanBlob *const blob =
            value == NULL ? NULL : partition_new_blob(partitioning, &value->value.tensor);
        if (blob != NULL) {
            partition_name_blob(partitioning, blob, &nodes[index]);
            partition_add_blob(partitioning, function->slot, blob);
        }
    }
    def.nodes = nodes;
    buffer_append(&partitioning->parts[function->slot].functions, &def, sizeof def);
}

/* From the last back to the first: a branch's functions stand before their callers, so that one turn does,
 * unless they call each other. */
static bool
place_inner(const Compile *compile, const Map *by_name, const Function *functions)
{
    bool has_placed = false;
    for (size_t index = compile->def->function_count; index-- > 0;) {
        const FunctionDef *const def = functions[index].def;
        for (size_t node = 0; node < def->node_count; node++) {
            has_placed = place_called(by_name, def->nodes[node].attrs, def->nodes[node].attr_count,
                             functions[index].slot) ||
                         has_placed;
        }
    }
    return has_placed;
}

static void
place_functions(const Compile *compile, const Map *by_name, const Function *functions)
{
    for (uint32_t id = 0; id < compile->graph->node_count; id++) {
        const Node *const node = &compile->graph->nodes[id];
        (void)place_called(by_name, node->attrs, node->attr_count, compile->slots[id]);
    }
    bool has_placed = true;
    while (has_placed) {
        has_placed = place_inner(compile, by_name, functions);
    }
}

Status
emit_functions(Partitioning *partitioning)
{
    const Compile *const compile = partitioning->compile;
    const size_t count = compile->def->function_count;
    Function *const functions = compile_alloc(compile, count, sizeof *functions);
    Map *const by_name = compile_map(compile);
    if (functions == NULL || by_name == NULL) {
        return compile_no_memory(compile);
    }
    for (size_t index = 0; index < count; index++) {
        functions[index] = (Function){.def = &compile->def->functions[index], .slot = SLOT_NONE};
        if (!map_put(by_name, functions[index].def->name, &functions[index])) {
            return compile_no_memory(compile);
        }
    }
    place_functions(compile, by_name, functions);
    for (size_t index = 0; index < count; index++) {
        if (functions[index].slot < compile->slot_count) {
            emit_body(partitioning, &functions[index]);
        }
    }
    return STATUS_OK;
}
