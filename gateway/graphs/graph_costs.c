#include "gateway/graphs/graph_costs.h"

#include <assert.h>

#include "shared/base/memory.h"

/* A definition in memory. The definitions that it holds itself are held once by it, however many hold it. */
typedef struct HeldDef {
    size_t holder_count;
} HeldDef;

bool
graph_costs_init(GraphCosts *costs)
{
    *costs = (GraphCosts){.defs = map_new()};
    return costs->defs != NULL;
}

void
graph_costs_done(GraphCosts *costs)
{
    size_t cursor = 0;
    if (costs->defs == NULL) {
        return;
    }
    for (const MapEntry *entry = map_next(costs->defs, &cursor); entry != NULL;
         entry = map_next(costs->defs, &cursor)) {
        memory_free(entry->value);
    }
    map_free(costs->defs);
}

static size_t
own_size(const GraphDef *def)
{
    return arena_size(def->arena) + (def->source == NULL ? 0 : def->source->size);
}

/* Returns the definitions that this one holds, one by one: its parts, then the one that it was made of;
 * NULL after the last. */
static const GraphDef *
held_by(const GraphDef *def, size_t index)
{
    return index < def->part_count ? def->parts[index] : index == def->part_count ? def->origin : NULL;
}

static Slice
key_of(const GraphDef *const *def)
{
    return slice_of(def, sizeof *def);
}

static void
release_def(GraphCosts *costs, const GraphDef *def)
{
    HeldDef *held = map_get(costs->defs, key_of(&def));
    assert(held != NULL);
    if (--held->holder_count > 0) {
        return;
    }
    memory_free(map_remove(costs->defs, key_of(&def)));
    costs->byte_size -= own_size(def);
    for (size_t index = 0; held_by(def, index) != NULL; index++) {
        release_def(costs, held_by(def, index));
    }
}

static bool
note_def(GraphCosts *costs, const GraphDef *def)
{
    HeldDef *held = memory_new(1, sizeof *held);
    if (held == NULL || !map_put(costs->defs, key_of(&def), held)) {
        memory_free(held);
        return false;
    }
    held->holder_count = 1;
    costs->byte_size += own_size(def);
    return true;
}

static bool
hold_def(GraphCosts *costs, const GraphDef *def)
{
    HeldDef *held = map_get(costs->defs, key_of(&def));
    if (held != NULL) {
        held->holder_count++;
        return true;
    }
    size_t count = 0;
    while (held_by(def, count) != NULL && hold_def(costs, held_by(def, count))) {
        count++;
    }
    if (held_by(def, count) == NULL && note_def(costs, def)) {
        return true;
    }
    while (count > 0) {
        release_def(costs, held_by(def, --count));
    }
    return false;
}

bool
graph_costs_add(GraphCosts *costs, const Graph *graph)
{
    assert(graph->def != NULL && graph->arena != NULL);

    if (!hold_def(costs, graph->def)) {
        return false;
    }
    costs->byte_size += arena_size(graph->arena);
    return true;
}

void
graph_costs_remove(GraphCosts *costs, const Graph *graph)
{
    assert(costs->byte_size >= arena_size(graph->arena));

    costs->byte_size -= arena_size(graph->arena);
    release_def(costs, graph->def);
}

static size_t
def_cost(const GraphDef *def)
{
    size_t cost = own_size(def);
    for (size_t index = 0; held_by(def, index) != NULL; index++) {
        cost += def_cost(held_by(def, index));
    }
    return cost;
}

size_t
graph_cost(const Graph *graph)
{
    return arena_size(graph->arena) + def_cost(graph->def);
}
