#include "worker/cpu/onednn/convolve.h"

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "worker/cpu/onednn/convolve_plan.h"
#include "worker/cpu/onednn/transpose.h"

enum { PLANS_MAX = 64 }; /* shapes remembered */

typedef struct PackedFilter {
    struct PackedFilter *next;
    Packed *packed;
} PackedFilter;

struct Convolve {
    const float *filter; /* NULL: any */
    Mutex lock;
    ConvolvePlan *plans;   /* under the lock; a plan in the list is immutable once it has its filter */
    PackedFilter *filters; /* under the lock; shared by plans whose layouts agree */
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
    const Status status =
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

/* Under the lock. Past PLANS_MAX shapes new plans are not kept. */
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

/* With its filter, when that is constant. */
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
    const float *input; /* channels last */
    Device *device;
    int64_t input_channels;
    int64_t output_channels;
    int64_t input_row; /* positions in one row: what is behind the first spatial dimension */
    int64_t output_row;
    int status; /* atomic dnnl_status_t: of a tile that failed */
} ConvolveRun;

static dnnl_status_t
tile_compute(const ConvolveRun *run, const ConvolveTile *tile, int64_t image, PrimitiveData output)
{
    const int64_t row = image * run->plan->shape.input[0] + tile->input_start;
    const PrimitiveData data[] = {
        {.data = run->input + row * run->input_row * run->input_channels},
        {.packed = run->filter},
        output,
        {.data = run->operands->bias},
    };
    return primitive_run(tile->primitive, run->device, data);
}

/* Of `count` values `offset` behind the output's first. */
static void
finish_values(const ConvolveRun *run, int64_t offset, int64_t count)
{
    const float *addend = run->operands->addend;
    finish_run(&run->plan->shape.finish, addend == NULL ? NULL : addend + offset,
        run->operands->output + offset, count);
}

/* Rows of the output as they lie. */
static dnnl_status_t
tile_compute_rows(const ConvolveRun *run, const ConvolveTile *tile, int64_t image)
{
    const int64_t row = image * run->plan->shape.output[0] + tile->output_start;
    const int64_t offset = row * run->output_row * run->output_channels;
    const dnnl_status_t status =
        tile_compute(run, tile, image, (PrimitiveData){.data = run->operands->output + offset});
    finish_values(run, offset, tile->output_rows * run->output_row * run->output_channels);
    return status;
}

/* Into scratch memory with the channels last, then turned into the output. */
static dnnl_status_t
tile_compute_turned(const ConvolveRun *run, const ConvolveTile *tile, int64_t image)
{
    const int64_t positions = tile->output_rows * run->output_row;
    const int64_t image_positions = run->plan->shape.output[0] * run->output_row;
    TensorBuffer *scratch = run->device->allocate(run->device, convolve_plan_turned(run->plan, tile));
    if (scratch == NULL) {
        return dnnl_out_of_memory;
    }
    const dnnl_status_t status = tile_compute(run, tile, image, (PrimitiveData){.data = scratch->data});
    const int64_t offset =
        image * image_positions * run->output_channels + tile->output_start * run->output_row;
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
    const int64_t image = index / run->plan->tile_count;
    const dnnl_status_t status =
        shape->is_channels_last ? tile_compute_rows(run, tile, image) : tile_compute_turned(run, tile, image);
    if (status != dnnl_success) {
        atomic_store_relaxed(&run->status, (int)status);
    }
}

typedef struct TurnedInput {
    const ConvolveRun *run;
    float *output;
} TurnedInput;

/* One row of one image. */
static void
turn_row(void *context, int64_t index)
{
    const TurnedInput *turned = context;
    const ConvolveRun *run = turned->run;
    const int64_t rows = run->plan->shape.input[0];
    const int64_t image = index / rows * rows * run->input_row * run->input_channels;
    const int64_t row = index % rows * run->input_row;
    transpose(run->operands->input + image + row, run->input_channels, run->input_row, rows * run->input_row,
        turned->output + image + row * run->input_channels, run->input_channels);
}

static size_t
turned_input_size(const ConvolveShape *shape)
{
    return shape->is_channels_last ? 0
                                   : (size_t)(shape->batch * shape->groups * shape->inputs *
                                              convolve_product(shape->input, 0, shape->rank)) *
                                         sizeof(float);
}

static Status
run_plan(Call *call, ConvolveRun *run)
{
    const ConvolveShape *shape = &run->plan->shape;
    Device *device = run->device;
    TensorBuffer *turned = NULL;
    run->input = run->operands->input;
    if (!shape->is_channels_last) {
        const size_t size = turned_input_size(shape);
        turned = device->allocate(device, size);
        if (turned == NULL) {
            return call_fail(
                call, STATUS_RESOURCE_EXHAUSTED, "a convolution needs %zu bytes of scratch memory", size);
        }
        TurnedInput context = {.run = run, .output = turned->data};
        device->parallel_for(device, shape->batch * shape->input[0], turn_row, &context);
        run->input = turned->data;
    }
    device->parallel_for(device, shape->batch * run->plan->tile_count, run_tile, run);
    tensor_buffer_unref(turned);
    return onednn_status(call, (dnnl_status_t)run->status, "a convolution");
}

Status
convolve_run(Call *call, Convolve *convolve, Device *device, const ConvolveShape *shape,
    const ConvolveOperands *operands)
{
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
    const Status status = plan_get(call, convolve, shape, &plan);
    mutex_unlock(&convolve->lock);
    if (status != STATUS_OK) {
        return 0;
    }
    const int64_t tiles = shape->batch * plan->tile_count;
    const uint64_t threads = (uint64_t)(tiles < device->thread_count ? tiles : device->thread_count);
    const uint64_t filter =
        convolve->filter == NULL ? dnnl_memory_desc_get_size(convolve_plan_filter(plan)) : 0;
    const uint64_t size = filter + turned_input_size(shape) + threads * (uint64_t)convolve_plan_scratch(plan);
    plan_put(plan);
    return size;
}
