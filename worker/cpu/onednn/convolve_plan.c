#include "worker/cpu/onednn/convolve_plan.h"

#include <assert.h>

#include "shared/base/memory.h"
#include "worker/cpu/sizes.h"

enum {
    TILE_WORK = 4 * 1024 * 1024, /* multiplications of a tile, which take some eighty microseconds */
    FEW_TILES = 8,               /* so few are an even number, lest one of two threads waits for the other */
};

/* Describes an image with the channels last: its dimensions are batch, channel, space…, its strides those
 * of batch, space…, channel. */
static dnnl_status_t
image_layout(
    const ConvolveShape *shape, int64_t channels, const int64_t *space, int64_t rows, dnnl_memory_desc_t *ret)
{
    int rank = (int)shape->rank;
    dnnl_dims_t dims = {1, channels, rows};
    dnnl_dims_t strides = {0, 1};
    int64_t step = channels;
    for (int i = rank - 1; i >= 0; i--) {
        dims[i + 2] = i == 0 ? rows : space[i];
        strides[i + 2] = step;
        step *= dims[i + 2];
    }
    strides[0] = step;
    return dnnl_memory_desc_init_by_strides(ret, rank + 2, dims, dnnl_f32, strides);
}

/* Describes a filter as [group,] output, input, space…; when it is not plain, oneDNN chooses the layout. */
static dnnl_status_t
filter_layout(const ConvolveShape *shape, bool is_plain, dnnl_memory_desc_t *ret)
{
    dnnl_dims_t dims = {shape->groups, shape->outputs, shape->inputs};
    dnnl_dims_t strides = {shape->filter_group, shape->filter_output, shape->filter_input};
    int first = shape->groups == 1 ? 1 : 0;
    for (int i = 0; i < shape->rank; i++) {
        dims[i + 3] = shape->size[i];
        strides[i + 3] = shape->filter_space[i];
    }
    int rank = (int)shape->rank + 3 - first;
    return is_plain ? dnnl_memory_desc_init_by_strides(ret, rank, dims + first, dnnl_f32, strides + first)
                    : dnnl_memory_desc_init_by_tag(ret, rank, dims + first, dnnl_f32, dnnl_format_tag_any);
}

/* Returns how far the windows of `output` positions reach, from the start of the first one. */
static int64_t
window_reach(const ConvolveShape *shape, int axis, int64_t output)
{
    return (output - 1) * shape->stride[axis] + (shape->size[axis] - 1) * shape->dilation[axis] + 1;
}

static void
tile_cut(const ConvolveShape *shape, int64_t output_start, int64_t output_rows, ConvolveTile *ret_tile)
{
    int64_t start = output_start * shape->stride[0] - shape->before[0];
    int64_t end = start + window_reach(shape, 0, output_rows);
    ret_tile->output_start = output_start;
    ret_tile->output_rows = output_rows;
    ret_tile->input_start = smaller_of(larger_of(start, 0), shape->input[0]);
    ret_tile->input_rows = smaller_of(end, shape->input[0]) - ret_tile->input_start;
    ret_tile->before = larger_of(-start, 0);
}

/* Finds the rows of all tiles: the first ones have a row more if they do not come out even. Returns false
 * when a tile would read padding alone. */
static bool
tiles_cut(const ConvolveShape *shape, ConvolvePlan *plan)
{
    int64_t rows = shape->output[0] / plan->tile_count;
    int64_t longer = shape->output[0] % plan->tile_count;
    for (int64_t i = 0; i < plan->tile_count; i++) {
        tile_cut(shape, i * rows + smaller_of(i, longer), rows + (i < longer), &plan->tiles[i]);
        if (plan->tiles[i].input_rows < 1) {
            return false;
        }
    }
    return true;
}

static void
plan_uncut(ConvolvePlan *plan)
{
    plan->tile_count = 1;
    tile_cut(&plan->shape, 0, plan->shape.output[0], &plan->tiles[0]);
}

/* Returns into how many tiles an output of so many rows is cut. */
static int64_t
count_tiles(int64_t rows, int64_t row_work)
{
    int64_t count = rows * row_work / TILE_WORK;
    count += count < FEW_TILES && count % 2 == 1;
    return larger_of(1, smaller_of(count, rows));
}

/* Cuts the output into tiles of about as many rows, so that threads end at the same time: oneDNN may have no
 * fast primitive for a tile of the row or two that are left over. */
static Status
plan_cut(Call *call, ConvolvePlan *plan)
{
    const ConvolveShape *shape = &plan->shape;
    int64_t row_work = convolve_product(shape->output, 1, shape->rank) *
                       convolve_product(shape->size, 0, shape->rank) * shape->inputs * shape->outputs *
                       shape->groups;
    plan->tile_count = count_tiles(shape->output[0], row_work);
    plan->tiles = memory_new((size_t)plan->tile_count, sizeof *plan->tiles);
    if (plan->tiles == NULL) {
        plan->tile_count = 0;
        return call_fail_memory(call, "the tiles of a convolution");
    }
    if (!tiles_cut(shape, plan)) {
        plan_uncut(plan);
    }
    return STATUS_OK;
}

static dnnl_status_t
tile_operation(const ConvolveShape *shape, const ConvolveTile *tile, const dnnl_memory_desc_t *chosen,
    dnnl_convolution_desc_t *ret)
{
    dnnl_memory_desc_t input;
    dnnl_memory_desc_t output;
    dnnl_memory_desc_t filter;
    dnnl_memory_desc_t bias;
    dnnl_dims_t channels = {shape->groups * shape->outputs};
    dnnl_dims_t strides = {0};
    dnnl_dims_t dilates = {0};
    dnnl_dims_t before = {0};
    dnnl_dims_t after = {0};
    for (int i = 0; i < shape->rank; i++) {
        int64_t input_size = i == 0 ? tile->input_rows : shape->input[i];
        int64_t output_size = i == 0 ? tile->output_rows : shape->output[i];
        strides[i] = shape->stride[i];
        dilates[i] = shape->dilation[i] - 1;
        before[i] = i == 0 ? tile->before : shape->before[i];
        after[i] = larger_of(window_reach(shape, i, output_size) - before[i] - input_size, 0);
    }
    dnnl_status_t status =
        image_layout(shape, shape->groups * shape->inputs, shape->input, tile->input_rows, &input);
    if (status == dnnl_success) {
        status = image_layout(shape, channels[0], shape->output, tile->output_rows, &output);
    }
    if (status == dnnl_success) {
        status = dnnl_memory_desc_init_by_tag(&bias, 1, channels, dnnl_f32, dnnl_a);
    }
    if (status == dnnl_success) {
        status = chosen == NULL ? filter_layout(shape, false, &filter) : dnnl_success;
    }
    if (status != dnnl_success) {
        return status;
    }
    return dnnl_dilated_convolution_forward_desc_init(ret, dnnl_forward_inference, dnnl_convolution_direct,
        &input, chosen == NULL ? &filter : chosen, shape->has_bias ? &bias : NULL, &output, strides, dilates,
        before, after);
}

static Status
tile_make(Call *call, const ConvolvePlan *plan, const dnnl_memory_desc_t *chosen, ConvolveTile *tile)
{
    dnnl_convolution_desc_t operation;
    TRY(onednn_status(call, tile_operation(&plan->shape, tile, chosen, &operation), "a convolution"));
    PrimitiveOptions options = {
        .operation = &operation,
        .arguments = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS},
        .argument_count = plan->shape.has_bias ? 4 : 3,
    };
    Status status = primitive_new(call, &options, &tile->primitive);
    tile->is_owner = status == STATUS_OK;
    return status;
}

static bool
tile_is_like(const ConvolveTile *left, const ConvolveTile *right)
{
    return left->output_rows == right->output_rows && left->input_rows == right->input_rows &&
           left->before == right->before;
}

/* Makes the primitives. Inner tiles are alike; the first tile's primitive chooses the filter's layout for
 * all. */
static Status
plan_tiles(Call *call, ConvolvePlan *plan)
{
    const dnnl_memory_desc_t *chosen = NULL;
    for (int64_t i = 0; i < plan->tile_count; i++) {
        ConvolveTile *tile = &plan->tiles[i];
        for (int64_t k = larger_of(i - 1, 0); k < i && tile->primitive == NULL; k++) {
            tile->primitive = tile_is_like(&plan->tiles[k], tile) ? plan->tiles[k].primitive : NULL;
        }
        if (tile->primitive == NULL) {
            TRY(tile_make(call, plan, chosen, tile));
        }
        chosen = primitive_layout(plan->tiles[0].primitive, DNNL_ARG_WEIGHTS);
    }
    return STATUS_OK;
}

static bool
has_slow_tile(const ConvolvePlan *plan)
{
    for (int64_t i = 0; i < plan->tile_count; i++) {
        if (plan->tiles[i].is_owner && primitive_is_slow(plan->tiles[i].primitive)) {
            return true;
        }
    }
    return false;
}

static void
tiles_free(ConvolvePlan *plan)
{
    for (int64_t i = 0; i < plan->tile_count; i++) {
        if (plan->tiles[i].is_owner) {
            primitive_free(plan->tiles[i].primitive);
        }
        plan->tiles[i] = (ConvolveTile){0};
    }
}

Status
convolve_plan_new(Call *call, const ConvolveShape *shape, ConvolvePlan **ret_plan)
{
    assert(shape->rank > 0 && shape->rank <= CONVOLVE_RANK_MAX);
    ConvolvePlan *plan = memory_new(1, sizeof *plan);
    if (plan == NULL) {
        return call_fail_memory(call, "a plan of a convolution");
    }
    plan->shape = *shape;
    Status status = plan_cut(call, plan);
    if (status == STATUS_OK) {
        status = plan_tiles(call, plan);
    }
    if (status == STATUS_OK && plan->tile_count > 1 && has_slow_tile(plan)) {
        tiles_free(plan);
        plan_uncut(plan);
        status = plan_tiles(call, plan);
    }
    if (status != STATUS_OK) {
        convolve_plan_free(plan);
        return status;
    }
    *ret_plan = plan;
    return STATUS_OK;
}

void
convolve_plan_free(ConvolvePlan *plan)
{
    tiles_free(plan);
    memory_free(plan->tiles);
    memory_free(plan);
}

const dnnl_memory_desc_t *
convolve_plan_filter(const ConvolvePlan *plan)
{
    assert(plan->tile_count > 0);
    return primitive_layout(plan->tiles[0].primitive, DNNL_ARG_WEIGHTS);
}

Status
convolve_plan_pack(Call *call, Device *device, const ConvolvePlan *plan, const float *data, PackNew pack,
    Packed **ret_packed)
{
    dnnl_memory_desc_t plain;
    TRY(onednn_status(call, filter_layout(&plan->shape, true, &plain), "a filter's layout"));
    return pack(call, device, &plain, data, convolve_plan_filter(plan), ret_packed);
}

size_t
convolve_plan_transposed(const ConvolvePlan *plan, const ConvolveTile *tile)
{
    const ConvolveShape *shape = &plan->shape;
    return shape->is_channels_last != 0
               ? 0
               : (size_t)(tile->output_rows * convolve_product(shape->output, 1, shape->rank) *
                          shape->groups * shape->outputs) *
                     sizeof(float);
}

size_t
convolve_plan_scratch(const ConvolvePlan *plan)
{
    size_t most = 0;
    for (int64_t i = 0; i < plan->tile_count; i++) {
        const ConvolveTile *tile = &plan->tiles[i];
        size_t size = primitive_scratch(tile->primitive) + convolve_plan_transposed(plan, tile);
        most = size > most ? size : most;
    }
    return most;
}
