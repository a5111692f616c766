/* Sizes that steps choose: a batch's, mostly. A plan serves feeds of any shape, so that what crosses slots
 * has dimensions that it cannot know. Most of them follow from the one size that all open dimensions of the
 * feeds have in a step, evenly: scale × size + offset. The receiving worker is told the rule, and with each
 * run the size; it plans its memory by that, and nothing else.
 *
 * Rules are found by trying: shapes are inferred for three sizes, and what grows evenly over them is taken to
 * do so everywhere. */
#include "gateway/plan/shapes.h"

#include "gateway/plan/stages.h"

/* A placeholder of rank 0 says nothing: older graphs write it for "any shape". */
Shape
feed_declared_shape(const Graph *graph, Endpoint endpoint)
{
    const Node *const node = &graph->nodes[endpoint.node];
    const bool is_placeholder = op_is(node, "Placeholder") || op_is(node, "PlaceholderV2");
    const AttrValue *const shape = is_placeholder ? node_attr(node, "shape") : NULL;
    const bool is_declared = shape != NULL && shape->kind == ATTR_SHAPE && shape->value.shape.rank != 0;
    return is_declared ? shape->value.shape : shape_unknown();
}

static Status
find_feed_shapes(Compile *compile)
{
    const Signature *const signature = compile->request->signature;
    compile->feed_shapes = compile_alloc(compile, signature->feed_count, sizeof *compile->feed_shapes);
    for (uint32_t id = 0; compile->feed_shapes != NULL && id < compile->graph->node_count; id++) {
        if (!op_is(&compile->graph->nodes[id], "_Arg")) {
            continue;
        }
        const uint32_t feed = compile->ports[id];
        const Shape declared = feed_declared_shape(compile->source, compile->feeds[feed]);
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
    ShapeSeed *const seeds = compile_alloc(compile, compile->request->signature->feed_count, sizeof *seeds);
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
    TRY(find_feed_shapes(compile));
    return infer_shapes_for(compile, compile->call, -1, &compile->shapes);
}

/* So large that windows fit, so odd that halves do not look even. */
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
    if (compile->slot_count < 2 || !has_open_feed(compile)) {
        return STATUS_OK;
    }
    compile->grows = true;
    for (size_t probe = 0; probe < GROWTH_PROBES && compile->grows; probe++) {
        Call call = {.arena = compile->call->arena}; /* sizes that do not fit are no failure */
        const Status status = infer_shapes_for(compile, &call, SIZES[probe], &compile->probes[probe]);
        if (status == STATUS_RESOURCE_EXHAUSTED) {
            return compile_no_memory(compile);
        }
        compile->grows = status == STATUS_OK;
    }
    return STATUS_OK;
}

/* False when it does not follow evenly. */
static bool
find_rule(const Compile *compile, Endpoint endpoint, int dimension, int64_t *ret_scale, int64_t *ret_offset)
{
    int64_t sizes[GROWTH_PROBES];
    for (size_t probe = 0; probe < GROWTH_PROBES; probe++) {
        const Shape *const shape = &compile->probes[probe][endpoint.node][endpoint.port];
        if (shape->rank <= dimension || shape->dims[dimension] < 0 || shape->dims[dimension] > INT32_MAX) {
            return false;
        }
        sizes[probe] = shape->dims[dimension];
    }
    const int64_t scale = (sizes[1] - sizes[0]) / (SIZES[1] - SIZES[0]);
    const int64_t offset = sizes[0] - scale * SIZES[0];
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
    const Shape *const shape = &compile->shapes[endpoint.node][endpoint.port];
    if (!compile->grows || !has_open_dimension(shape)) {
        return false;
    }
    AttrValue *const items = compile_alloc(compile, 2 * (size_t)shape->rank, sizeof *items);
    bool is_found = true;
    for (int dimension = 0; is_found && items != NULL && dimension < shape->rank; dimension++) {
        int64_t scale = 0;
        int64_t offset = 0;
        is_found = find_rule(compile, endpoint, dimension, &scale, &offset);
        AttrValue *const rule = &items[2 * (size_t)dimension];
        rule[0] = int_value(scale);
        rule[1] = int_value(offset);
    }
    *ret_attr = (Attr){.name = SLICE("grows"),
        .value = {.kind = ATTR_INT,
            .is_list = true,
            .value.list = {.items = items, .count = 2 * (size_t)shape->rank}}};
    return is_found;
}
