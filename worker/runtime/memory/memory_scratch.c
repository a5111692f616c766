#include "worker/runtime/memory/memory_scratch.h"

#include "worker/runtime/partition/schedule.h"

/* The input shapes and constant values of one node, as a KernelForecast shows them to its kernel. The
 * arrays have room for the node with the most inputs and are filled again for each node. */
typedef struct Telling {
    Shape *shapes;
    const Tensor **values;
} Telling;

static bool
telling_new(Arena *arena, const Partition *partition, Telling *ret_telling)
{
    size_t input_max = 0;
    for (uint32_t id = 0; id < partition->node_count; id++) {
        size_t count = partition->nodes[id].node->input_count;
        input_max = count > input_max ? count : input_max;
    }
    ret_telling->shapes = arena_alloc(arena, (input_max + 1) * sizeof *ret_telling->shapes);
    ret_telling->values = arena_alloc(arena, (input_max + 1) * sizeof *ret_telling->values);
    return ret_telling->shapes != NULL && ret_telling->values != NULL;
}

/* Fills in the inputs of a node; an absent optional one has an unknown shape. False when the shape of
 * another is not known. */
static bool
tell_inputs(const Telling *telling, const Partition *partition, const Shape *const *shapes, const Node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        Endpoint from = node->inputs[i];
        telling->shapes[i] = shape_unknown();
        telling->values[i] = NULL;
        if (from.node == NODE_NONE) {
            continue;
        }
        telling->shapes[i] = shapes[from.node][from.port];
        telling->values[i] = from.port == 0 ? partition->nodes[from.node].value : NULL;
        if (!shape_is_known(&telling->shapes[i])) {
            return false;
        }
    }
    return true;
}

static uint64_t
forecast_size(const KernelForecast *told, const Kernel *kernel)
{
    return kernel->scratch != NULL ? kernel->scratch(told)
                                   : kernel_wide_size(told, kernel->wide_inputs, kernel->wide_outputs);
}

static bool
takes_scratch(const ScheduleNode *node)
{
    return node->kind == SCHEDULE_KERNEL &&
           (node->kernel->scratch != NULL || node->kernel->wide_inputs != 0 ||
               node->kernel->wide_outputs != 0);
}

uint64_t *
memory_scratch_find(Arena *arena, const Partition *partition, const Shape *const *shapes)
{
    uint64_t *sizes = arena_alloc(arena, ((size_t)partition->node_count + 1) * sizeof *sizes);
    Telling telling;
    if (sizes == NULL || !telling_new(arena, partition, &telling)) {
        return NULL;
    }
    for (uint32_t id = 0; id < partition->node_count; id++) {
        const ScheduleNode *node = &partition->nodes[id];
        if (!takes_scratch(node) || !tell_inputs(&telling, partition, shapes, node->node)) {
            continue;
        }
        Call call = {.arena = arena};
        KernelForecast told = {
            .call = &call,
            .device = partition->device,
            .state = node->state,
            .shapes = {.node = node->node,
                .inputs = telling.shapes,
                .values = telling.values,
                .outputs = without_const(shapes[id])},
        };
        sizes[id] = forecast_size(&told, node->kernel);
    }
    return sizes;
}
