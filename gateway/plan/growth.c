/* Sizes that steps choose: a batch's, mostly. A plan serves feeds of any shape, so that what crosses slots
 * has dimensions that it cannot know. Most of them follow from the one size that all open dimensions of the
 * feeds have in a step, evenly: scale × size + offset. The receiving worker is told the rule, and with each
 * run the size; it plans its memory by that, and nothing else.
 *
 * Rules are found by trying: shapes are inferred for three sizes, and what grows evenly over them is taken to
 * do so everywhere. */
#include "gateway/plan/compile.h"

/* So large that windows fit, so odd that halves do not look even. */
static const int64_t SIZES[GROWTH_PROBES] = {97, 194, 339};

static bool
is_open(const Shape *shape)
{
    return shape->rank > 0 && !shape_is_known(shape);
}

static bool
has_open_feed(const Compile *compile)
{
    bool has = false;
    for (size_t feed = 0; feed < compile->request->signature->feed_count; feed++) {
        has = has || is_open(&compile->feed_shapes[feed]);
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
    if (!compile->grows || !is_open(shape)) {
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

int64_t
plan_open_size(const Plan *plan, const Tensor *feeds)
{
    int64_t size = 0;
    for (size_t feed = 0; plan->grows && feed < plan->feed_count; feed++) {
        const Shape *const declared = &plan->feed_shapes[feed];
        const Shape *const fed = &feeds[feed].shape;
        for (int dimension = 0; is_open(declared) && dimension < declared->rank; dimension++) {
            if (declared->dims[dimension] >= 0) {
                continue;
            }
            const bool agrees = feeds[feed].dtype != DTYPE_INVALID && fed->rank == declared->rank &&
                                (size == 0 || fed->dims[dimension] == size);
            if (!agrees) {
                return 0;
            }
            size = fed->dims[dimension];
        }
    }
    return size;
}
