#include "worker/cpu/onednn/convolve.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "worker/cpu/sizes.h"

enum {
    BLOCK = 4,
    LINE = 16,                 /* elements of a line of the cache, which no two threads both read */
    TRANSPOSED_AT_ONCE = 4096, /* elements at least: they take a thread a microsecond or two */
};

typedef float Four __attribute__((vector_size(16)));

static void
transpose_block(const float *input, int64_t input_step, float *output, int64_t output_step)
{
    Four rows[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        memcpy(&rows[i], input + i * input_step, sizeof rows[i]);
    }
    Four a = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
    Four b = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
    Four c = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
    Four d = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
    const Four columns[BLOCK] = {
        __builtin_shufflevector(a, b, 0, 1, 4, 5),
        __builtin_shufflevector(a, b, 2, 3, 6, 7),
        __builtin_shufflevector(c, d, 0, 1, 4, 5),
        __builtin_shufflevector(c, d, 2, 3, 6, 7),
    };
    for (int i = 0; i < BLOCK; i++) {
        memcpy(output + i * output_step, &columns[i], sizeof columns[i]);
    }
}

static void
transpose_rest(
    const float *input, int64_t rows, int64_t columns, int64_t input_step, float *output, int64_t output_step)
{
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t column = 0; column < columns; column++) {
            output[column * output_step + row] = input[row * input_step + column];
        }
    }
}

/* Transposes a matrix, between channels first and channels last: output[column × output_step + row] =
 * input[row × input_step + column]. Steps are in elements. */
static void
transpose(
    const float *input, int64_t rows, int64_t columns, int64_t input_step, float *output, int64_t output_step)
{
    int64_t whole_rows = rows / BLOCK * BLOCK;
    int64_t whole_columns = columns / BLOCK * BLOCK;
    for (int64_t column = 0; column < whole_columns; column += BLOCK) {
        for (int64_t row = 0; row < whole_rows; row += BLOCK) {
            transpose_block(input + row * input_step + column, input_step,
                output + column * output_step + row, output_step);
        }
    }
    transpose_rest(input + whole_columns, whole_rows, columns - whole_columns, input_step,
        output + whole_columns * output_step, output_step);
    transpose_rest(input + whole_rows * input_step, rows - whole_rows, columns, input_step,
        output + whole_rows, output_step);
}

enum { PLANS_MAX = 64 }; /* shapes whose plans are kept */

typedef struct PackedFilter {
    struct PackedFilter *next;
    Packed *packed;
} PackedFilter;

struct Convolve {
    const float *filter; /* the constant filter; NULL: it differs between runs */
    Mutex lock;
    ConvolvePlan *plans;   /* guarded by `lock`; a plan in the list is immutable once it has its filter */
    PackedFilter *filters; /* guarded by `lock`; shared by plans whose layouts agree */
    int plan_count;
};

Status
convolve_new(Call *call, Convolve **ret_convolve)
{
    Convolve *convolve = memory_new(1, sizeof *convolve);
    if (convolve == NULL) {
        return call_fail_memory(call, "a convolution");
    }
    mutex_init(&convolve->lock);
    *ret_convolve = convolve;
    return STATUS_OK;
}

void
convolve_set_filter(Convolve *convolve, const float *filter)
{
    assert(convolve->plans == NULL);
    convolve->filter = filter;
}

void
convolve_free(Convolve *convolve)
{
    if (convolve == NULL) {
        return;
    }
    for (ConvolvePlan *plan = convolve->plans, *next = NULL; plan != NULL; plan = next) {
        next = plan->next;
        convolve_plan_free(plan);
    }
    for (PackedFilter *filter = convolve->filters, *next = NULL; filter != NULL; filter = next) {
        next = filter->next;
        packed_free(filter->packed);
        memory_free(filter);
    }
    mutex_done(&convolve->lock);
    memory_free(convolve);
}

static Status
plan_pack(Call *call, Convolve *convolve, Device *device, ConvolvePlan *plan)
{
    const dnnl_memory_desc_t *wanted = convolve_plan_filter(plan);
    for (PackedFilter *filter = convolve->filters; filter != NULL; filter = filter->next) {
        if (dnnl_memory_desc_equal(packed_layout(filter->packed), wanted)) {
            plan->filter = filter->packed;
            return STATUS_OK;
        }
    }
    PackedFilter *filter = memory_new(1, sizeof *filter);
    if (filter == NULL) {
        return call_fail_memory(call, "a packed filter");
    }
    Status status =
        convolve_plan_pack(call, device, plan, convolve->filter, packed_new_shared, &filter->packed);
    if (status != STATUS_OK) {
        memory_free(filter);
        return status;
    }
    filter->next = convolve->filters;
    convolve->filters = filter;
    plan->filter = filter->packed;
    return STATUS_OK;
}

/* Called under the lock. Plans of more than PLANS_MAX shapes are not kept. */
static Status
plan_get(Call *call, Convolve *convolve, const ConvolveShape *shape, ConvolvePlan **ret_plan)
{
    for (ConvolvePlan *plan = convolve->plans; plan != NULL; plan = plan->next) {
        if (memcmp(&plan->shape, shape, sizeof *shape) == 0) {
            *ret_plan = plan;
            return STATUS_OK;
        }
    }
    ConvolvePlan *plan = NULL;
    TRY(convolve_plan_new(call, shape, &plan));
    plan->is_kept = convolve->plan_count < PLANS_MAX;
    if (plan->is_kept) {
        convolve->plan_count++;
        plan->next = convolve->plans;
        convolve->plans = plan;
    }
    *ret_plan = plan;
    return STATUS_OK;
}

static void
plan_put(ConvolvePlan *plan)
{
    if (plan != NULL && !plan->is_kept) {
        convolve_plan_free(plan);
    }
}

/* Returns a plan that has the constant filter, if there is one. */
static Status
plan_get_packed(
    Call *call, Convolve *convolve, Device *device, const ConvolveShape *shape, ConvolvePlan **ret_plan)
{
    mutex_lock(&convolve->lock);
    Status status = plan_get(call, convolve, shape, ret_plan);
    if (status == STATUS_OK && convolve->filter != NULL && (*ret_plan)->filter == NULL) {
        status = plan_pack(call, convolve, device, *ret_plan);
    }
    mutex_unlock(&convolve->lock);
    return status;
}

typedef struct ConvolveRun {
    const ConvolvePlan *plan;
    const ConvolveOperands *operands;
    const Packed *filter;
    const float *input; /* with the channels last */
    Device *device;
    int64_t input_channels;
    int64_t output_channels;
    int64_t input_row; /* elements of one row: all dimensions behind the first spatial one */
    int64_t output_row;
    int status; /* atomic dnnl_status_t of a tile that failed */
} ConvolveRun;

static dnnl_status_t
tile_compute(const ConvolveRun *run, const ConvolveTile *tile, int64_t image, PrimitiveData output)
{
    int64_t row = image * run->plan->shape.input[0] + tile->input_start;
    const PrimitiveData data[] = {
        {.data = run->input + row * run->input_row * run->input_channels},
        {.packed = run->filter},
        output,
        {.data = run->operands->bias},
    };
    return primitive_run(tile->primitive, run->device, data);
}

/* Finishes `count` values of the output from `offset` on. */
static void
finish_values(const ConvolveRun *run, int64_t offset, int64_t count)
{
    const float *addend = run->operands->addend;
    finish_run(&run->plan->shape.finish, addend == NULL ? NULL : addend + offset,
        run->operands->output + offset, count);
}

/* Computes a tile straight into the rows of the output. */
static dnnl_status_t
tile_compute_rows(const ConvolveRun *run, const ConvolveTile *tile, int64_t image)
{
    int64_t row = image * run->plan->shape.output[0] + tile->output_start;
    int64_t offset = row * run->output_row * run->output_channels;
    dnnl_status_t status =
        tile_compute(run, tile, image, (PrimitiveData){.data = run->operands->output + offset});
    finish_values(run, offset, tile->output_rows * run->output_row * run->output_channels);
    return status;
}

/* Computes a tile with the channels last into scratch memory and transposes it into the output. */
static dnnl_status_t
tile_compute_transposed(const ConvolveRun *run, const ConvolveTile *tile, int64_t image)
{
    int64_t positions = tile->output_rows * run->output_row;
    int64_t image_positions = run->plan->shape.output[0] * run->output_row;
    TensorBuffer *scratch = run->device->allocate(run->device, convolve_plan_transposed(run->plan, tile));
    if (scratch == NULL) {
        return dnnl_out_of_memory;
    }
    dnnl_status_t status = tile_compute(run, tile, image, (PrimitiveData){.data = scratch->data});
    int64_t offset = image * image_positions * run->output_channels + tile->output_start * run->output_row;
    transpose(scratch->data, positions, run->output_channels, run->output_channels,
        run->operands->output + offset, image_positions);
    tensor_buffer_unref(scratch);
    for (int64_t channel = 0; channel < run->output_channels; channel++) {
        finish_values(run, offset + channel * image_positions, positions);
    }
    return status;
}

static void
run_tile(void *context, int64_t index)
{
    ConvolveRun *run = context;
    const ConvolveShape *shape = &run->plan->shape;
    const ConvolveTile *tile = &run->plan->tiles[index % run->plan->tile_count];
    int64_t image = index / run->plan->tile_count;
    dnnl_status_t status = shape->is_channels_last ? tile_compute_rows(run, tile, image)
                                                   : tile_compute_transposed(run, tile, image);
    if (status != dnnl_success) {
        atomic_store_relaxed(&run->status, (int)status);
    }
}

/* An input with the channels first is a matrix of channels and positions for each image, of which a thread
 * takes some columns at once. */
typedef struct TransposedInput {
    const ConvolveRun *run;
    float *output;
    int64_t positions; /* of an image */
    int64_t at_once;
    int64_t parts; /* of an image */
} TransposedInput;

static void
transpose_part(void *context, int64_t index)
{
    const TransposedInput *transposed = context;
    int64_t channels = transposed->run->input_channels;
    int64_t image = index / transposed->parts * transposed->positions * channels;
    int64_t begin = index % transposed->parts * transposed->at_once;
    int64_t count = smaller_of(transposed->at_once, transposed->positions - begin);
    transpose(transposed->run->operands->input + image + begin, channels, count, transposed->positions,
        transposed->output + image + begin * channels, channels);
}

static void
transpose_input(const ConvolveRun *run, const TensorBuffer *output)
{
    const ConvolveShape *shape = &run->plan->shape;
    int64_t positions = convolve_product(shape->input, 0, shape->rank);
    int64_t at_once = divide_up(TRANSPOSED_AT_ONCE, run->input_channels * LINE) * LINE;
    TransposedInput transposed = {.run = run,
        .output = output->data,
        .positions = positions,
        .at_once = at_once,
        .parts = divide_up(positions, at_once)};
    run->device->parallel_for(run->device, shape->batch * transposed.parts, transpose_part, &transposed);
}

/* Returns 0 when the input is as it is wanted: it has the channels last, or a single channel or position. */
static size_t
transposed_input_size(const ConvolveShape *shape)
{
    int64_t channels = shape->groups * shape->inputs;
    int64_t positions = convolve_product(shape->input, 0, shape->rank);
    bool is_as_wanted = shape->is_channels_last || channels == 1 || positions == 1;
    return is_as_wanted ? 0 : (size_t)(shape->batch * channels * positions) * sizeof(float);
}

static Status
run_plan(Call *call, ConvolveRun *run)
{
    const ConvolveShape *shape = &run->plan->shape;
    Device *device = run->device;
    TensorBuffer *transposed = NULL;
    run->input = run->operands->input;
    size_t size = transposed_input_size(shape);
    if (size > 0) {
        transposed = device->allocate(device, size);
        if (transposed == NULL) {
            return call_fail(
                call, STATUS_RESOURCE_EXHAUSTED, "a convolution needs %zu bytes of scratch memory", size);
        }
        transpose_input(run, transposed);
        run->input = transposed->data;
    }
    device->parallel_for(device, shape->batch * run->plan->tile_count, run_tile, run);
    tensor_buffer_unref(transposed);
    return onednn_status(call, (dnnl_status_t)run->status, "a convolution");
}

Status
convolve_run(Call *call, Convolve *convolve, Device *device, const ConvolveShape *shape,
    const ConvolveOperands *operands)
{
    assert(convolve != NULL && device != NULL && shape->rank > 0 && shape->rank <= CONVOLVE_RANK_MAX);
    ConvolvePlan *plan = NULL;
    Packed *own = NULL;
    Status status = plan_get_packed(call, convolve, device, shape, &plan);
    if (status == STATUS_OK && plan->filter == NULL) {
        status = convolve_plan_pack(call, device, plan, operands->filter, packed_new, &own);
    }
    if (status == STATUS_OK) {
        ConvolveRun run = {
            .plan = plan,
            .operands = operands,
            .filter = own != NULL ? own : plan->filter,
            .device = device,
            .input_channels = shape->groups * shape->inputs,
            .output_channels = shape->groups * shape->outputs,
            .input_row = convolve_product(shape->input, 1, shape->rank),
            .output_row = convolve_product(shape->output, 1, shape->rank),
        };
        status = run_plan(call, &run);
    }
    packed_free(own);
    plan_put(plan);
    return status;
}

uint64_t
convolve_scratch(Call *call, Convolve *convolve, const Device *device, const ConvolveShape *shape)
{
    ConvolvePlan *plan = NULL;
    mutex_lock(&convolve->lock);
    Status status = plan_get(call, convolve, shape, &plan);
    mutex_unlock(&convolve->lock);
    if (status != STATUS_OK) {
        return 0;
    }
    int64_t tiles = shape->batch * plan->tile_count;
    uint64_t threads = (uint64_t)(tiles < device->thread_count ? tiles : device->thread_count);
    uint64_t filter = convolve->filter == NULL ? dnnl_memory_desc_get_size(convolve_plan_filter(plan)) : 0;
    uint64_t size = filter + transposed_input_size(shape) + threads * (uint64_t)convolve_plan_scratch(plan);
    plan_put(plan);
    return size;
}
