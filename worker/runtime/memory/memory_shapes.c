#include "worker/runtime/memory/memory_shapes.h"

#include "worker/runtime/partition/schedule.h"

enum { RULES_MAX = 2 * SHAPE_RANK_MAX };

/* Computes a shape from pairs of scale and offset, one pair for each dimension: size = scale * open_size +
 * offset. False when open_size is not known or a rule makes no valid size. */
static bool
grow_shape(const int64_t *rules, size_t count, int64_t open_size, Shape *ret_shape)
{
    Shape shape = {.rank = (int)(count / 2)};
    bool is_good = open_size > 0 && count <= RULES_MAX && count % 2 == 0;
    for (int i = 0; is_good && i < shape.rank; i++) {
        const int64_t *rule = &rules[2 * (size_t)i];
        int64_t *size = &shape.dims[i];
        is_good = !__builtin_mul_overflow(rule[0], open_size, size) &&
                  !__builtin_add_overflow(*size, rule[1], size) && *size >= 0;
    }
    *ret_shape = shape;
    return is_good;
}

/* Gives a _Recv's tensor its shape when the gateway has said how it follows from the open size (attribute
 * `grows`). False when it has not. */
static bool
seed_received(MemoryShapes *shapes, const Node *node, ShapeSeed *ret_seed)
{
    int64_t rules[RULES_MAX];
    size_t count = node_attr_ints(node, "grows", rules, COUNT_OF(rules));
    shapes->grow = shapes->grow || count > 0;
    ret_seed->endpoint.node = node->id;
    return count > 0 && grow_shape(rules, count, shapes->open_size, &ret_seed->shape);
}

static size_t
collect_seeds(MemoryShapes *shapes, const Partition *partition, ShapeSeed *seeds)
{
    size_t count = 0;
    for (uint32_t id = 0; id < partition->node_count; id++) {
        const ScheduleNode *node = &partition->nodes[id];
        if (node->kind == SCHEDULE_ARG) {
            seeds[count++] = (ShapeSeed){.endpoint = {.node = id}, .shape = shapes->feeds[node->index].shape};
        } else if (node->kind == SCHEDULE_RECV) {
            count += seed_received(shapes, node->node, &seeds[count]) ? 1 : 0;
        } else if (node->value != NULL) {
            seeds[count++] =
                (ShapeSeed){.endpoint = {.node = id}, .shape = node->value->shape, .value = node->value};
        }
    }
    return count;
}

bool
memory_shapes_find(Arena *arena, const Partition *partition, MemoryShapes *shapes)
{
    size_t seed_max = (size_t)partition->node_count + 1;
    ShapeSeed *seeds = arena_alloc(arena, seed_max * sizeof *seeds);
    if (seeds == NULL) {
        return false;
    }
    Call call = {.arena = arena};
    size_t count = collect_seeds(shapes, partition, seeds);
    return graph_infer_shapes(&call, partition->graph, seeds, count, &shapes->outputs) == STATUS_OK;
}
