/* onnx::ScatterND and onnx::ScatterElements: where each update goes is computed and checked first; then the
 * updates are combined with what is there, in their order, so that of several for one place the last is the
 * last on any number of threads. A thread has columns of the slices, or a range of the target, to itself. */
#include "worker/reference/combine.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/strided_copy.h"
#include "worker/reference/walk.h"

enum {
    BLOCK = 1 << 14,       /* updates whose places one thread computes, bytes that are worth a thread */
    PARTS_MAX = 16,        /* of columns */
    RANGES = 4,            /* of the target: each thread reads the places of all updates */
    COLUMNS_MIN = 1 << 10, /* bytes of a slice that are worth a thread */
};

static const struct {
    const char *name;
    Combine combine;
} REDUCTIONS[] = {
    {"none", COMBINE_SET},
    {"add", COMBINE_ADD},
    {"mul", COMBINE_MUL},
    {"min", COMBINE_MIN},
    {"max", COMBINE_MAX},
};

static Combine
reduction_of(const Node *node)
{
    Slice name = node_attr_string(node, "reduction");
    for (size_t index = 0; index < COUNT_OF(REDUCTIONS); index++) {
        if (slice_equals_string(name, REDUCTIONS[index].name)) {
            return REDUCTIONS[index].combine;
        }
    }
    return COMBINE_COUNT;
}

static bool
is_index(Dtype dtype)
{
    return dtype == DTYPE_INT32 || dtype == DTYPE_INT64;
}

static bool
scatter_supports(const Node *node)
{
    Combine combine = reduction_of(node);
    return combine != COMBINE_COUNT && combine_supports(combine, node->input_dtypes[0]) &&
           is_index(node->input_dtypes[1]);
}

/* The places of all updates, as numbers of slices of the target. */
typedef struct Places {
    const Tensor *indices;
    const Shape *target;
    int axis;         /* of ScatterElements */
    int64_t depth;    /* of the coordinates of ScatterND */
    int64_t count;    /* updates */
    int64_t *offsets; /* one for each update */
    int64_t *faults;  /* one for each block: 1 + the number of its first index that is out of range */
} Places;

static int64_t
index_at(const Tensor *indices, int64_t n)
{
    return indices->dtype == DTYPE_INT64 ? ((const int64_t *)indices->data)[n]
                                         : ((const int32_t *)indices->data)[n];
}

/* Reads an index, which may be negative and then counts from the end; -1: it is out of range. */
static int64_t
index_within(const Tensor *indices, int64_t n, int64_t size)
{
    int64_t index = index_at(indices, n);
    index += index < 0 ? size : 0;
    return index >= 0 && index < size ? index : -1;
}

static int64_t
block_end(const Places *places, int64_t block)
{
    int64_t end = (block + 1) * BLOCK;
    return end < places->count ? end : places->count;
}

static void
place_slices(void *context, int64_t block)
{
    const Places *places = context;
    for (int64_t tuple = block * BLOCK; tuple < block_end(places, block); tuple++) {
        int64_t slice = 0;
        for (int64_t n = 0; n < places->depth; n++) {
            int64_t element = tuple * places->depth + n;
            int64_t index = index_within(places->indices, element, places->target->dims[n]);
            if (index < 0) {
                places->faults[block] = element + 1;
                return;
            }
            slice = slice * places->target->dims[n] + index;
        }
        places->offsets[tuple] = slice;
    }
}

/* Begins a walk over the indices at element `first`, whose offset is that of the target without the axis. */
static Walk
walk_from(const Places *places, const int64_t *strides, int64_t first)
{
    const Shape *shape = &places->indices->shape;
    Walk walk = {.rank = shape->rank};
    for (int dimension = shape->rank - 1; dimension >= 0; dimension--) {
        walk.dims[dimension] = shape->dims[dimension];
        walk.strides[dimension] = dimension == places->axis ? 0 : strides[dimension];
        walk.position[dimension] = first % shape->dims[dimension];
        walk.offset += walk.position[dimension] * walk.strides[dimension];
        first /= shape->dims[dimension];
    }
    return walk;
}

static void
place_elements(void *context, int64_t block)
{
    const Places *places = context;
    int64_t strides[STRIDED_RANK_MAX];
    strides_dense(places->target, strides);
    Walk walk = walk_from(places, strides, block * BLOCK);
    int64_t stride = places->target->rank == 0 ? 0 : strides[places->axis];
    int64_t size = places->target->rank == 0 ? 1 : places->target->dims[places->axis];
    for (int64_t element = block * BLOCK; element < block_end(places, block); element++) {
        int64_t index = index_within(places->indices, element, size);
        if (index < 0) {
            places->faults[block] = element + 1;
            return;
        }
        places->offsets[element] = walk.offset + index * stride;
        (void)walk_next(&walk);
    }
}

static Status
check_faults(Call *call, const Places *places, int64_t blocks)
{
    for (int64_t block = 0; block < blocks; block++) {
        int64_t element = places->faults[block] - 1;
        if (element >= 0) {
            int64_t size = places->target->dims[places->depth > 0 ? element % places->depth : places->axis];
            return call_fail(call, STATUS_INVALID_ARGUMENT, "index %lld at %lld is not within %lld",
                (long long)index_at(places->indices, element), (long long)element, (long long)size);
        }
    }
    return STATUS_OK;
}

/* What is combined: `count` slices of `size` elements each. */
typedef struct Scattering {
    Combine combine;
    Dtype dtype;
    size_t element;
    const int64_t *offsets;
    const char *updates;
    char *target;
    int64_t count;
    int64_t size;
    int64_t slices; /* of the target */
    int64_t columns;
    int64_t ranges;
} Scattering;

/* Sets single elements of a common size. */
#define SET_ELEMENTS(type)                                                                                   \
    for (int64_t n = 0; n < all->count; n++) {                                                               \
        int64_t offset = all->offsets[n];                                                                    \
        if (offset >= first && offset < end) {                                                               \
            ((type *)(void *)all->target)[offset] = ((const type *)(const void *)all->updates)[n];           \
        }                                                                                                    \
    }

static bool
set_elements(const Scattering *all, int64_t first, int64_t end)
{
    if (all->combine != COMBINE_SET || all->size != 1) {
        return false;
    }
    if (all->element == sizeof(uint32_t)) {
        SET_ELEMENTS(uint32_t)
    } else if (all->element == sizeof(uint64_t)) {
        SET_ELEMENTS(uint64_t)
    } else {
        return false;
    }
    return true;
}

/* Part number `part` is one range of slices, or one range of columns of all slices. */
static void
scatter_part(void *context, int64_t part)
{
    const Scattering *all = context;
    int64_t range = part / all->columns;
    int64_t column = part % all->columns;
    int64_t first = all->slices * range / all->ranges;
    int64_t end = all->slices * (range + 1) / all->ranges;
    int64_t left = all->size * column / all->columns;
    int64_t width = all->size * (column + 1) / all->columns - left;
    if (set_elements(all, first, end)) {
        return;
    }
    for (int64_t n = 0; n < all->count; n++) {
        int64_t slice = all->offsets[n];
        if (slice >= first && slice < end) {
            (void)!combine_elements(all->combine, all->dtype,
                all->target + (size_t)(slice * all->size + left) * all->element,
                all->updates + (size_t)(n * all->size + left) * all->element, 1, width);
        }
    }
}

static void
share_parts(Scattering *all)
{
    int64_t bytes = all->size * (int64_t)all->element;
    int64_t columns = bytes / COLUMNS_MIN;
    bool is_large = all->count > BLOCK / bytes;
    all->columns = !is_large || columns < 2 ? 1 : columns < PARTS_MAX ? columns : PARTS_MAX;
    all->ranges = all->columns > 1 || all->count < BLOCK ? 1 : RANGES;
}

static Status
scatter_all(KernelContext *context, Places *places, void (*place)(void *context, int64_t block))
{
    const Tensor *data = &context->inputs[0];
    AUTO_TENSOR offsets = {0};
    AUTO_TENSOR faults = {0};
    Tensor *output = NULL;
    int64_t blocks = (places->count + BLOCK - 1) / BLOCK;
    TRY(scratch_array(context, places->count, sizeof(int64_t), &offsets));
    TRY(scratch_array(context, blocks, sizeof(int64_t), &faults));
    places->offsets = offsets.data;
    places->faults = faults.data;
    context->device->parallel_for(context->device, blocks, place, places);
    TRY(check_faults(context->call, places, blocks));
    TRY(output_forward(context, 0, &output));
    if (output->data != data->data && tensor_element_count(data) > 0) {
        memcpy(output->data, data->data, tensor_byte_size(data));
    }
    Scattering all = {.combine = reduction_of(context->node),
        .dtype = data->dtype,
        .element = dtype_size(data->dtype),
        .offsets = places->offsets,
        .updates = context->inputs[2].data,
        .target = output->data,
        .count = places->count,
        .size = 1,
        .slices = 1};
    for (int n = 0; n < data->shape.rank; n++) {
        *(n < places->depth || places->depth < 0 ? &all.slices : &all.size) *= data->shape.dims[n];
    }
    if (all.size > 0 && all.count > 0) {
        share_parts(&all);
        context->device->parallel_for(context->device, all.columns * all.ranges, scatter_part, &all);
    }
    return STATUS_OK;
}

static Status
scatter_nd_onnx_compute(KernelContext *context)
{
    const Tensor *indices = &context->inputs[1];
    Shape shape;
    TRY(output_shapes(context, &shape));
    Places places = {.indices = indices,
        .target = &context->inputs[0].shape,
        .depth = indices->shape.dims[indices->shape.rank - 1],
        .count = 1};
    for (int n = 0; n < indices->shape.rank - 1; n++) {
        places.count *= indices->shape.dims[n];
    }
    places.count = tensor_element_count(&context->inputs[2]) == 0 ? 0 : places.count;
    return scatter_all(context, &places, place_slices);
}

static Status
scatter_elements_compute(KernelContext *context)
{
    const Shape *data = &context->inputs[0].shape;
    Shape shape;
    int64_t axis = node_attr_int(context->node, "axis");
    TRY(output_shapes(context, &shape));
    Places places = {.indices = &context->inputs[1],
        .target = data,
        .axis = (int)(axis < 0 ? axis + data->rank : axis),
        .depth = -1,
        .count = tensor_element_count(&context->inputs[1])};
    return scatter_all(context, &places, place_elements);
}

static const Kernel onnx_scatter_kernels[] = {
    {.op = "onnx::ScatterND",
        .supports = scatter_supports,
        .compute = scatter_nd_onnx_compute,
        .sharing = KERNEL_FORWARDS},
    {.op = "onnx::ScatterElements",
        .supports = scatter_supports,
        .compute = scatter_elements_compute,
        .sharing = KERNEL_FORWARDS},
};

KERNEL_FAMILY(reference, scatter_onnx, onnx_scatter_kernels);
