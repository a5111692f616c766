#include "worker/cpu/convolve/planes.h"

#include <assert.h>
#include <string.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "worker/cpu/convolve/depthwise.h"
#include "worker/cpu/convolve/planes_plan.h"
#include "worker/cpu/convolve/planes_tile.h"
#include "worker/cpu/convolve/store.h"
#include "worker/cpu/sizes.h"

enum {
    FINISH_MIN = 2048,     /* outputs that are finished together, which stay in the L1 cache */
    COPY_WORK = 16 * 1024, /* floats that a thread copies at once */
    POSITIONS_MIN = 16, /* fewer are about a product of a matrix and a vector, which oneDNN computes faster */
    LINE_MIN = 5,       /* positions of a line: with fewer, micro-tiles wait for each other's sums */
    COLUMNS_MIN = 128,  /* as few outputs leave much of their panels empty */
    DEPTH_MAX = 640,    /* of the inner dimension: oneDNN is faster where there is more of it */
};

struct Planes {
    const float *filter; /* the constant filter; NULL: it differs between runs */
    Mutex lock;
    /* Guarded by `lock`: the filter packed for channels as rows, and for positions; NULL: there was no such
     * run yet. */
    TensorBuffer *packed[2];
};

Status
planes_new(Call *call, Planes **ret_planes)
{
    Planes *planes = memory_new(1, sizeof *planes);
    if (planes == NULL) {
        return call_fail_memory(call, "a convolution");
    }
    mutex_init(&planes->lock);
    *ret_planes = planes;
    return STATUS_OK;
}

void
planes_free(Planes *planes)
{
    if (planes != NULL) {
        tensor_buffer_unref(planes->packed[false]);
        tensor_buffer_unref(planes->packed[true]);
        mutex_done(&planes->lock);
        memory_free(planes);
    }
}

void
planes_set_filter(Planes *planes, const float *filter)
{
    assert(planes->packed[false] == NULL && planes->packed[true] == NULL);
    planes->filter = filter;
}

static const float *
entry_input(const PlanesRun *run, int64_t entry)
{
    return run->operands->input + entry * run->plan->shape->inputs * run->plan->lattice.input_step;
}

/* Returns how many micro-tiles of the filter, or panels of it, row tiles are made of. */
static int64_t
row_count(const PlanesPlan *plan)
{
    return plan->is_turned ? plan->pixels.panels : plan->filter.tiles;
}

/* Prepares a tile of an entry whose rows and columns are all. */
static PlanesTile
tile_of(const PlanesRun *run, int64_t entry, float *room)
{
    const PlanesPlan *plan = run->plan;
    const ConvolveShape *shape = plan->shape;
    const float *bias = run->operands->bias;
    int64_t group = entry % shape->groups;
    return (PlanesTile){
        .run = run,
        .lattice = run->copies == NULL ? entry_input(run, entry) : run->copies + entry * plan->copy_size,
        .filter = run->filter + group * plan->filter_size,
        .bias = bias == NULL ? NULL : bias + group * shape->outputs,
        .output = run->operands->output + entry * shape->outputs * plan->outputs,
        .end = plan->lattice.columns,
        .end_rows = row_count(plan),
        .panel_room = room,
        .sums_room = room + plan->panel_size,
    };
}

static void
take_columns(PlanesTile *tile, int64_t index)
{
    const PlanesPlan *plan = tile->run->plan;
    tile->first = index * plan->columns;
    if (plan->is_turned || plan->is_lined) {
        int64_t count = plan->is_turned ? plan->pixels.tiles : plan->lines;
        tile->first = count * index / plan->column_tiles;
        tile->end = count * (index + 1) / plan->column_tiles;
        return;
    }
    bool is_last = index == plan->column_tiles - 1;
    tile->end = is_last ? plan->lattice.columns : tile->first + plan->columns;
}

static void
copy_channels(const PlanesRun *run, int64_t entry, float *to)
{
    const PlanesPlan *plan = run->plan;
    const float *input = entry_input(run, entry);
    for (int64_t channel = 0; channel < plan->shape->inputs; channel++) {
        lattice_copy(&plan->lattice, input + channel * plan->lattice.input_step,
            to + channel * plan->lattice.channel_step);
    }
    memset(to + plan->shape->inputs * plan->lattice.channel_step, 0, LATTICE_SLACK * sizeof *to);
}

/* Brings one channel to where depthwise_run() reads it. The zeros of a lattice are those of the first one. */
static const float *
take_channel(const PlanesRun *run, int64_t entry, bool is_first, float *room)
{
    if (run->plan->reads_input) {
        return entry_input(run, entry);
    }
    if (is_first) {
        copy_channels(run, entry, room);
    } else {
        lattice_copy_over(&run->plan->lattice, entry_input(run, entry), room);
    }
    return room;
}

/* Finishes the outputs of some entries of one channel, which lie side by side. */
static void
finish_channels(const PlanesRun *run, int64_t first, int64_t end)
{
    const float *addend = run->operands->addend;
    int64_t offset = first * run->plan->outputs;
    finish_run(&run->plan->shape->finish, addend == NULL ? NULL : addend + offset,
        run->operands->output + offset, (end - first) * run->plan->outputs);
}

/* Computes entries of one channel. */
static void
run_channels(const PlanesRun *run, int64_t first, int64_t end, float *room)
{
    const PlanesPlan *plan = run->plan;
    const ConvolveOperands *operands = run->operands;
    FinishLimits limits = finish_limits(operands->addend == NULL ? &plan->shape->finish : NULL);
    Depthwise depthwise = depthwise_of(&plan->lattice, run->taps, plan->filter.depth, limits);
    DepthwiseChannel channel = {.room = room + plan->copy_size};
    memset(channel.room, 0, (size_t)plan->sums_size * sizeof *room);
    int64_t finished = first;
    for (int64_t entry = first; entry < end; entry++) {
        int64_t group = entry % plan->shape->groups;
        channel.from = take_channel(run, entry, entry == first, room);
        channel.filter = run->filter + group * plan->filter.depth;
        channel.bias = operands->bias == NULL ? NO_BIAS : operands->bias[group];
        channel.output = operands->output + entry * plan->outputs;
        depthwise_run(&depthwise, &channel);
        bool is_due = entry + 1 == end || (entry + 1 - finished) * plan->outputs >= FINISH_MIN;
        if (!limits.is_finished && is_due) {
            finish_channels(run, finished, entry + 1);
            finished = entry + 1;
        }
    }
}

/* Computes an entry with a lattice of its own, which lies in front of the room. */
static void
run_entry(const PlanesRun *run, int64_t entry, float *room)
{
    const PlanesPlan *plan = run->plan;
    copy_channels(run, entry, room);
    PlanesTile tile = tile_of(run, entry, room + plan->copy_size);
    tile.lattice = room;
    for (int64_t index = 0; index < plan->column_tiles; index++) {
        take_columns(&tile, index);
        planes_tile_run(&tile);
    }
}

static void
run_index(const PlanesRun *run, int64_t index, float *room)
{
    const PlanesPlan *plan = run->plan;
    if (plan->is_alone) {
        run_entry(run, index, room);
        return;
    }
    int64_t row_tile = index % plan->row_tiles;
    int64_t column_tile = index / plan->row_tiles % plan->column_tiles;
    PlanesTile tile = tile_of(run, index / plan->row_tiles / plan->column_tiles, room);
    int64_t rows = row_count(plan);
    tile.first_rows = rows * row_tile / plan->row_tiles;
    tile.end_rows = rows * (row_tile + 1) / plan->row_tiles;
    take_columns(&tile, column_tile);
    planes_tile_run(&tile);
}

static void
run_group(void *context, int64_t index)
{
    PlanesRun *run = context;
    const PlanesPlan *plan = run->plan;
    TensorBuffer *room = run->device->allocate(run->device, planes_plan_room(plan));
    if (room == NULL) {
        atomic_store_relaxed(&run->has_failed, 1);
        return;
    }
    int64_t first = index * plan->group;
    int64_t end = smaller_of(first + plan->group, planes_plan_tiles(plan));
    if (plan->is_depthwise) {
        run_channels(run, first, end, room->data);
    }
    for (int64_t tile = first; tile < end && !plan->is_depthwise; tile++) {
        run_index(run, tile, room->data);
    }
    tensor_buffer_unref(room);
}

/* Channels of all entries are copied some at a time. */
static int64_t
channels_at_once(const PlanesPlan *plan)
{
    return divide_up(COPY_WORK, plan->lattice.channel_step);
}

static void
copy_group(void *context, int64_t index)
{
    const PlanesRun *run = context;
    const PlanesPlan *plan = run->plan;
    int64_t inputs = plan->shape->inputs;
    int64_t first = index * channels_at_once(plan);
    int64_t end = smaller_of(first + channels_at_once(plan), plan->entries * inputs);
    for (int64_t channel = first; channel < end; channel++) {
        float *to =
            run->copies + channel / inputs * plan->copy_size + channel % inputs * plan->lattice.channel_step;
        lattice_copy(&plan->lattice, run->operands->input + channel * plan->lattice.input_step, to);
        if (channel % inputs == inputs - 1) {
            memset(to + plan->lattice.channel_step, 0, LATTICE_SLACK * sizeof *to);
        }
    }
}

static void
pack_filter(const PlanesPlan *plan, const float *filter, float *to)
{
    if (plan->is_turned) {
        filter_pack_panels(&plan->filter, plan->shape, &plan->lattice, filter, plan->kernels->columns, to);
    } else {
        filter_pack(&plan->filter, plan->shape, &plan->lattice, filter, to);
    }
}

/* Packs the constant filter, for all runs: its bytes are counted to none of them (memory_account.h). */
static Status
pack_constant(
    Call *call, const Planes *planes, Device *device, const PlanesPlan *plan, TensorBuffer **ret_packed)
{
    MemoryAccount *before = device->charge(device, NULL);
    *ret_packed = device->allocate(device, planes_plan_filter(plan));
    (void)device->charge(device, before);
    if (*ret_packed == NULL) {
        return call_fail(
            call, STATUS_RESOURCE_EXHAUSTED, "a packed filter needs %zu bytes", planes_plan_filter(plan));
    }
    pack_filter(plan, planes->filter, (*ret_packed)->data);
    return STATUS_OK;
}

static Status
take_constant(Call *call, Planes *planes, Device *device, const PlanesPlan *plan, const float **ret_filter)
{
    TensorBuffer **packed = &planes->packed[plan->is_turned];
    mutex_lock(&planes->lock);
    Status status = *packed == NULL ? pack_constant(call, planes, device, plan, packed) : STATUS_OK;
    *ret_filter = status == STATUS_OK ? (*packed)->data : NULL;
    mutex_unlock(&planes->lock);
    return status;
}

/* What one run takes from the device beside the rooms of tiles: taps, then copies, then a filter that is not
 * constant. */
static size_t
run_size(const Planes *planes, const PlanesPlan *plan)
{
    return planes_plan_taps(plan) + planes_plan_copy(plan) +
           (planes->filter == NULL ? planes_plan_filter(plan) : 0);
}

static void
write_taps(const PlanesPlan *plan, int64_t *taps)
{
    lattice_taps(&plan->lattice, plan->shape->inputs, taps);
    for (int64_t k = 0; k < plan->filter.block; k++) {
        taps[plan->filter.depth + k] = k * plan->kernels->columns;
    }
}

static void
run_all(PlanesRun *run)
{
    const PlanesPlan *plan = run->plan;
    if (run->copies != NULL) {
        int64_t channels = plan->entries * plan->shape->inputs;
        run->device->parallel_for(run->device, divide_up(channels, channels_at_once(plan)), copy_group, run);
    }
    run->device->parallel_for(run->device, divide_up(planes_plan_tiles(plan), plan->group), run_group, run);
}

Status
planes_run(
    Call *call, Planes *planes, Device *device, const ConvolveShape *shape, const ConvolveOperands *operands)
{
    assert(planes != NULL && device != NULL);
    PlanesPlan plan = planes_plan(shape);
    PlanesRun run = {
        .plan = &plan, .operands = operands, .device = device, .limits = finish_limits(&shape->finish)};
    if (planes->filter != NULL) {
        TRY(take_constant(call, planes, device, &plan, &run.filter));
    }
    TensorBuffer *room = device->allocate(device, run_size(planes, &plan));
    if (room == NULL) {
        return call_fail(
            call, STATUS_RESOURCE_EXHAUSTED, "a convolution needs %zu bytes", run_size(planes, &plan));
    }
    char *rest = (char *)room->data + planes_plan_taps(&plan);
    run.taps = room->data;
    write_taps(&plan, room->data);
    run.copies = planes_plan_copy(&plan) == 0 ? NULL : (float *)rest;
    if (planes->filter == NULL) {
        float *filter = (float *)(rest + planes_plan_copy(&plan));
        pack_filter(&plan, operands->filter, filter);
        run.filter = filter;
    }
    run_all(&run);
    tensor_buffer_unref(room);
    return run.has_failed == 0 ? STATUS_OK
                               : call_fail(call, STATUS_RESOURCE_EXHAUSTED,
                                     "a tile of a convolution needs %zu bytes", planes_plan_room(&plan));
}

uint64_t
planes_scratch(const Planes *planes, const Device *device, const ConvolveShape *shape)
{
    PlanesPlan plan = planes_plan(shape);
    int64_t at_once = smaller_of(divide_up(planes_plan_tiles(&plan), plan.group), device->thread_count);
    return run_size(planes, &plan) + (uint64_t)at_once * planes_plan_room(&plan);
}

/* Returns whether oneDNN is faster than micro-tiles whose rows are positions. */
static bool
has_few_positions(const ConvolveShape *shape)
{
    bool is_single = convolve_product(shape->size, 0, shape->rank) == 1;
    return convolve_product(shape->output, 0, shape->rank) < POSITIONS_MIN ||
           (!is_single && shape->output[shape->rank - 1] < LINE_MIN);
}

/* Returns whether oneDNN is faster than micro-tiles whose rows are channels. */
static bool
is_deep_or_small(const ConvolveShape *shape)
{
    int64_t depth = shape->inputs * convolve_product(shape->size, 0, shape->rank);
    return convolve_product(shape->output, 0, shape->rank) < COLUMNS_MIN ||
           (depth > DEPTH_MAX && depth > shape->inputs);
}

bool
planes_can(const ConvolveShape *shape)
{
    bool is_slow =
        microkernels_choose()->has_wide_positions ? has_few_positions(shape) : is_deep_or_small(shape);
    return shape->is_channels_last == 0 && lattice_can(shape) && (shape->groups > 1 || !is_slow);
}
