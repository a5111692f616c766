/* Shapes of the pruned graph: as far as feeds and placeholders declare them, and how they grow with the
 * size of a batch.
 *
 * A plan serves feeds of any shape, so that a tensor that crosses slots may have dimensions that the plan
 * cannot know. Most of them follow linearly, as scale × size + offset, from the one size that all open
 * dimensions of the feeds have in a step. The receiving worker is told the rule in the plan and the size
 * with each step, and plans its memory by it; results never depend on the rule.
 *
 * Rules are found by trial: shapes are inferred for three sizes, and a dimension that is linear over these
 * is taken to be linear everywhere. */
#include "gateway/plan/shapes.h"

#include <assert.h>

#include "gateway/plan/stages.h"

/* GraphDefs of this version and later say "any shape" as such; older ones write rank 0 for it. */
enum { PRODUCER_OF_SCALARS = 24 };

Shape
feed_declared_shape(const Graph *graph, Endpoint endpoint)
{
    assert(endpoint.node < graph->node_count);
    const Node *node = &graph->nodes[endpoint.node];
    bool is_placeholder = op_is(node, "Placeholder") || op_is(node, "PlaceholderV2");
    const AttrValue *shape = is_placeholder ? node_attr(node, "shape") : NULL;
    bool is_declared = shape != NULL && shape->kind == ATTR_SHAPE &&
                       (shape->value.shape.rank != 0 || graph->def->producer >= PRODUCER_OF_SCALARS);
    return is_declared ? shape->value.shape : shape_unknown();
}

static Status
find_feed_shapes(Compile *compile)
{
    const Signature *signature = compile->request->signature;
    compile->feed_shapes = compile_alloc(compile, signature->feed_count, sizeof *compile->feed_shapes);
    for (uint32_t id = 0; compile->feed_shapes != NULL && id < compile->graph->node_count; id++) {
        if (!op_is(&compile->graph->nodes[id], "_Arg")) {
            continue;
        }
        uint32_t feed = compile->ports[id];
        Shape declared = feed_declared_shape(compile->source, compile->feeds[feed]);
        if (!shape_merge(&signature->feeds[feed].shape, &declared, &compile->feed_shapes[feed])) {
            compile->feed_shapes[feed] = shape_unknown();
        }
    }
    return compile->feed_shapes == NULL ? compile_no_memory(compile) : STATUS_OK;
}

static Shape
seed_shape(const Shape *declared, int64_t open_size)
{
    Shape shape = *declared;
    for (int dimension = 0; dimension < shape.rank; dimension++) {
        shape.dims[dimension] = shape.dims[dimension] < 0 ? open_size : shape.dims[dimension];
    }
    return shape;
}

static Status
infer_shapes_for(const Compile *compile, Call *call, int64_t open_size, const Shape *const **ret_shapes)
{
    ShapeSeed *seeds = compile_alloc(compile, compile->request->signature->feed_count, sizeof *seeds);
    size_t count = 0;
    if (seeds == NULL) {
        return call_fail_memory(call, "the shapes of feeds");
    }
    for (uint32_t id = 0; id < compile->graph->node_count; id++) {
        if (op_is(&compile->graph->nodes[id], "_Arg")) {
            seeds[count++] = (ShapeSeed){.endpoint = {.node = id},
                .shape = seed_shape(&compile->feed_shapes[compile->ports[id]], open_size)};
        }
    }
    return graph_infer_shapes(call, compile->graph, seeds, count, ret_shapes);
}

Status
infer_shapes(Compile *compile)
{
    assert(compile->graph != NULL && compile->ports != NULL);
    TRY(find_feed_shapes(compile));
    return infer_shapes_for(compile, compile->call, -1, &compile->shapes);
}

/* Sizes to try: larger than common pooling windows, and with no common factor among all three, so that a
 * size that is halved with rounding does not pass for a linear rule. */
static const int64_t SIZES[GROWTH_PROBES] = {97, 194, 339};

static bool
has_open_dimension(const Shape *shape)
{
    return shape->rank > 0 && !shape_is_known(shape);
}

static bool
has_open_feed(const Compile *compile)
{
    bool has = false;
    for (size_t feed = 0; feed < compile->request->signature->feed_count; feed++) {
        has = has || has_open_dimension(&compile->feed_shapes[feed]);
    }
    return has;
}

Status
find_growth(Compile *compile)
{
    assert(compile->slot_count > 0);
    if (compile->slot_count < 2 || !has_open_feed(compile)) {
        return STATUS_OK;
    }
    compile->grows = true;
    for (size_t probe = 0; probe < GROWTH_PROBES && compile->grows; probe++) {
        Call call = {.arena = compile->call->arena}; /* a size that does not fit the graph is no failure */
        Status status = infer_shapes_for(compile, &call, SIZES[probe], &compile->probes[probe]);
        if (status == STATUS_RESOURCE_EXHAUSTED) {
            return compile_no_memory(compile);
        }
        compile->grows = status == STATUS_OK;
    }
    return STATUS_OK;
}

/* Returns false when the dimension is not linear in the size. */
static bool
find_rule(const Compile *compile, Endpoint endpoint, int dimension, int64_t *ret_scale, int64_t *ret_offset)
{
    int64_t sizes[GROWTH_PROBES];
    for (size_t probe = 0; probe < GROWTH_PROBES; probe++) {
        const Shape *shape = &compile->probes[probe][endpoint.node][endpoint.port];
        if (shape->rank <= dimension || shape->dims[dimension] < 0 || shape->dims[dimension] > INT32_MAX) {
            return false;
        }
        sizes[probe] = shape->dims[dimension];
    }
    int64_t scale = (sizes[1] - sizes[0]) / (SIZES[1] - SIZES[0]);
    int64_t offset = sizes[0] - scale * SIZES[0];
    *ret_scale = scale;
    *ret_offset = offset;
    return scale * SIZES[1] + offset == sizes[1] && scale * SIZES[2] + offset == sizes[2];
}

static AttrValue
int_value(int64_t value)
{
    return (AttrValue){.kind = ATTR_INT, .value.i = value};
}

bool
growth_attr(const Compile *compile, Endpoint endpoint, Attr *ret_attr)
{
    assert(endpoint.node < compile->graph->node_count);
    const Shape *shape = &compile->shapes[endpoint.node][endpoint.port];
    if (!compile->grows || !has_open_dimension(shape)) {
        return false;
    }
    AttrValue *items = compile_alloc(compile, 2 * (size_t)shape->rank, sizeof *items);
    bool is_found = true;
    for (int dimension = 0; is_found && items != NULL && dimension < shape->rank; dimension++) {
        int64_t scale = 0;
        int64_t offset = 0;
        is_found = find_rule(compile, endpoint, dimension, &scale, &offset);
        AttrValue *rule = &items[2 * (size_t)dimension];
        rule[0] = int_value(scale);
        rule[1] = int_value(offset);
    }
    *ret_attr = (Attr){.name = SLICE("grows"),
        .value = {.kind = ATTR_INT,
            .is_list = true,
            .value.list = {.items = items, .count = 2 * (size_t)shape->rank}}};
    return is_found;
}
