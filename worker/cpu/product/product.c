/* A product is cut into tiles of the output by its shape alone; the device's threads share them. A tile takes
 * the inner dimension in blocks, and goes on with its sums from one block to the next:
 *
 * 1. rows of a are copied to where they lie close together (a block of them stays in the L2 cache);
 * 2. columns of b are packed into panels (panels.h), unless they are constant weights, which were packed
 *    before, or so few rows read them that they are read where they lie;
 * 3. each panel, which stays in the L1 cache, meets all rows of the block (microkernel.h).
 *
 * Sums are kept in the output itself where whole panels fit into it, else beside it. */
#include "worker/cpu/product/product.h"

#include <assert.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "shared/tensor/half.h"
#include "worker/cpu/product/microkernel.h"
#include "worker/cpu/product/panels.h"
#include "worker/cpu/sizes.h"
#include "worker/cpu/vector/variants.h"

enum {
    BLOCK_ROWS = 144,                  /* a multiple of all micro-tiles' rows */
    FEW_ROWS = 48,                     /* fewer take longer to read b than to compute */
    PACKING_ROWS_MIN = 2 * BLOCK_ROWS, /* of a tile that packs b */
    PACKING_ROWS_MAX = 4 * BLOCK_ROWS,
    IN_PLACE_ROWS = 4, /* as many rows read b where it lies: packing would take longer */
    TILE_COLUMNS_MIN = 64,
    TILE_COLUMNS_MAX = 256,          /* a multiple of all panels' columns */
    TILES = 16,                      /* of a product that is neither small nor large */
    TILE_WORK_MIN = 512 * 1024,      /* multiplications of a tile, which take some ten microseconds … */
    TILE_WORK_MAX = 4 * 1024 * 1024, /* … and some fifty */
    READING_WORK = 8,                /* reading an element of b takes as long as so many multiplications */
};

/* The tiles of one dimension: `count`, all of `size` but the last one. */
typedef struct Cut {
    int64_t size;
    int64_t count;
    int64_t last;
} Cut;

struct Product {
    const float *weights; /* the constant weights; NULL: they differ between runs */
    Mutex lock;
    TensorBuffer *panels; /* guarded by `lock`: the packed weights; NULL: there was no run yet */
};

/* How products of one shape are computed. */
typedef struct Plan {
    const MicroKernels *kernels;
    const ProductShape *shape;
    Cut rows;
    Cut columns;
    int64_t group;     /* tiles that a thread takes at once */
    bool is_packed;    /* b is constant and packed */
    bool is_direct;    /* sums of whole panels are kept in the output meanwhile */
    bool is_in_place;  /* b is read where it lies, but for panels that are not whole */
    int64_t a_size;    /* floats that a tile takes from the device: for rows of a, … */
    int64_t b_size;    /* … panels of b … */
    int64_t sums_size; /* … and sums */
} Plan;

Status
product_new(Call *call, Product **ret_product)
{
    Product *product = memory_new(1, sizeof *product);
    if (product == NULL) {
        return call_fail_memory(call, "a matrix product");
    }
    mutex_init(&product->lock);
    *ret_product = product;
    return STATUS_OK;
}

void
product_set_weights(Product *product, const float *weights)
{
    assert(product->panels == NULL);
    product->weights = weights;
}

void
product_free(Product *product)
{
    if (product != NULL) {
        tensor_buffer_unref(product->panels);
        mutex_done(&product->lock);
        memory_free(product);
    }
}

static Cut
cut_into(int64_t whole, int64_t size)
{
    int64_t count = divide_up(whole, size);
    return (Cut){.size = size, .count = count, .last = whole - (count - 1) * size};
}

static int64_t
cut_size(const Cut *cut, int64_t index)
{
    return index == cut->count - 1 ? cut->last : cut->size;
}

/* Cuts into as few parts of at most `size_max` as possible, about equal multiples of `unit`. */
static Cut
cut_evenly(int64_t whole, int64_t size_max, int64_t unit)
{
    int64_t count = divide_up(whole, size_max);
    return cut_into(whole, divide_up(divide_up(whole, count), unit) * unit);
}

static int64_t
between(int64_t number, int64_t least, int64_t most)
{
    return number < least ? least : smaller_of(number, most);
}

/* Makes tiles that are worth handing to another thread, where the output is large enough. They are rather
 * wide than high, since each copies its rows of a; but few rows are cut into narrow tiles, so that several
 * threads read b. A tile that packs b is high, since other tiles pack the same panels. */
static void
plan_cut(Plan *plan)
{
    const ProductShape *shape = plan->shape;
    bool packs = !plan->is_packed && !plan->is_in_place;
    int64_t depth = shape->k < 1 ? 1 : shape->k;
    int64_t columns = TILE_COLUMNS_MAX;
    int64_t column_work = (shape->m + READING_WORK) * depth;
    int64_t work = between(column_work * shape->n / TILES, TILE_WORK_MIN, TILE_WORK_MAX);
    if (shape->m < FEW_ROWS) {
        columns = between(work / column_work, TILE_COLUMNS_MIN, TILE_COLUMNS_MAX);
    }
    plan->columns = cut_evenly(shape->n, columns, plan->kernels->columns);
    columns = smaller_of(plan->columns.size, shape->n);
    int64_t rows = work / (columns * depth);
    rows = packs ? between(rows, PACKING_ROWS_MIN, PACKING_ROWS_MAX) : between(rows, FEW_ROWS, BLOCK_ROWS);
    plan->rows = cut_evenly(shape->m, rows, plan->kernels->rows);
    rows = smaller_of(plan->rows.size, shape->m);
    plan->group = divide_up(work, (rows + READING_WORK) * columns * depth);
}

static void
plan_sizes(Plan *plan)
{
    const ProductShape *shape = plan->shape;
    int64_t rows = smaller_of(plan->rows.size, shape->m);
    int64_t depth = smaller_of(shape->k, MICROKERNEL_DEPTH);
    int64_t ragged = shape->n % plan->kernels->columns == 0 ? 0 : plan->kernels->columns;
    bool reads_a = rows == 1 && !shape->transposes_a;
    plan->a_size = reads_a ? 0 : smaller_of(rows, BLOCK_ROWS) * MICROKERNEL_ROW_STEP;
    plan->b_size = plan->is_packed ? 0 : depth * (plan->is_in_place ? ragged : plan->columns.size);
    plan->sums_size = rows * (plan->is_direct ? ragged : plan->columns.size);
}

/* `shape` must outlive the plan; m and n are not 0. */
static Plan
plan_of(const Product *product, const ProductShape *shape)
{
    assert(shape->m > 0 && shape->n > 0 && shape->k >= 0);
    Plan plan = {
        .kernels = microkernels_choose(),
        .shape = shape,
        .is_packed = product->weights != NULL && shape->k > 0,
    };
    plan.is_direct = float_to_bits(shape->alpha) == float_to_bits(1) && !shape->accumulates;
    plan.is_in_place = !plan.is_packed && shape->m <= IN_PLACE_ROWS && !shape->transposes_b;
    plan_cut(&plan);
    plan_sizes(&plan);
    return plan;
}

static size_t
plan_scratch(const Plan *plan)
{
    return (size_t)(plan->a_size + plan->b_size + plan->sums_size) * sizeof(float);
}

/* Columns of a tile: its whole panels, or the one that its last columns do not fill. */
typedef struct Strip {
    MatrixPart b;
    const float *weights; /* the packed panels; NULL: b is not packed */
    float *b_room;
    float *sums;
    int64_t sums_step;
} Strip;

enum { STRIPS = 2 };

/* A tile of the output on its way. */
typedef struct Tile {
    const Plan *plan;
    MatrixPart a;
    float *a_room;        /* NULL: a is read where it lies */
    Strip strips[STRIPS]; /* that without columns has no part */
} Tile;

/* Some of the inner dimension of a tile. */
typedef struct Depth {
    int64_t first;
    int64_t size;
} Depth;

static MatrixPart
part_columns(const MatrixPart *part, int64_t first, int64_t count)
{
    MatrixPart columns = *part;
    columns.first += first * part->column_step;
    columns.columns = count;
    return columns;
}

static MatrixPart
part_rows(const MatrixPart *part, int64_t first, int64_t count)
{
    MatrixPart rows = *part;
    rows.first += first * part->row_step;
    rows.rows = count;
    return rows;
}

/* Finds the panels for this depth, or makes them. */
static void
take_panels(const Plan *plan, const Strip *strip, const Depth *depth, MicroTile *ret)
{
    int panel = plan->kernels->columns;
    MatrixPart part = part_rows(&strip->b, depth->first, depth->size);
    ret->b_step = panel;
    if (strip->weights != NULL) {
        ret->b = strip->weights + depth->first * panel;
        ret->panel_step = plan->shape->k * panel;
    } else if (plan->is_in_place && part.columns % panel == 0) {
        ret->b = part.first;
        ret->b_step = part.row_step;
        ret->panel_step = panel;
    } else {
        panels_pack(&part, panel, strip->b_room);
        ret->b = strip->b_room;
        ret->panel_step = depth->size * panel;
    }
}

/* Multiplies rows by panels, the first of both being those of `first`. The rows are cut into about equal
 * micro-tiles; few of them meet several panels at once. */
static void
multiply_panels(const MicroKernels *kernels, const MicroTile *first, int64_t rows, int64_t panels)
{
    int64_t across = divide_up(rows, kernels->rows);
    int together = across == 1 && kernels->several[rows].kernel != NULL ? kernels->several[rows].panels : 1;
    for (int64_t panel = 0, taken = 0; panel < panels; panel += taken) {
        taken = panels - panel >= together ? together : 1;
        for (int64_t index = 0; index < across; index++) {
            int64_t from = rows * index / across;
            int64_t count = rows * (index + 1) / across - from;
            MicroTile micro = *first;
            micro.a += from * MICROKERNEL_ROW_STEP;
            micro.b += panel * first->panel_step;
            micro.sums += from * first->sums_step + panel * kernels->columns;
            (taken > 1 ? kernels->several[count].kernel : kernels->single[count])(&micro);
        }
    }
}

/* Multiplies rows of a tile, of which a block was copied for this depth. */
static void
multiply_block(const Tile *tile, MicroTile *micro, int64_t row, const MatrixPart *block)
{
    const MicroKernels *kernels = tile->plan->kernels;
    for (int index = 0; index < STRIPS; index++) {
        const Strip *strip = &tile->strips[index];
        micro[index].a = tile->a_room == NULL ? block->first : tile->a_room;
        micro[index].sums = strip->sums + row * strip->sums_step;
        multiply_panels(kernels, &micro[index], block->rows, divide_up(strip->b.columns, kernels->columns));
    }
}

static void
multiply_depth(const Tile *tile, const Depth *depth)
{
    MicroTile micro[STRIPS];
    for (int index = 0; index < STRIPS; index++) {
        const Strip *strip = &tile->strips[index];
        micro[index] =
            (MicroTile){.depth = depth->size, .sums_step = strip->sums_step, .begins = depth->first == 0};
        take_panels(tile->plan, strip, depth, &micro[index]);
    }
    MatrixPart part = part_columns(&tile->a, depth->first, depth->size);
    for (int64_t row = 0; row < part.rows; row += BLOCK_ROWS) {
        MatrixPart block = part_rows(&part, row, smaller_of(BLOCK_ROWS, part.rows - row));
        if (tile->a_room != NULL) {
            matrix_copy(&block, tile->a_room, MICROKERNEL_ROW_STEP);
        }
        multiply_block(tile, micro, row, &block);
    }
}

/* Without an inner dimension the sums are 0, which a depth of 0 makes them. */
static void
tile_multiply(const Tile *tile)
{
    Depth depth = {0};
    do {
        depth.size = smaller_of(MICROKERNEL_DEPTH, tile->plan->shape->k - depth.first);
        multiply_depth(tile, &depth);
        depth.first += MICROKERNEL_DEPTH;
    } while (depth.first < tile->plan->shape->k);
}

typedef struct ProductRun {
    const Plan *plan;
    const ProductOperands *operands;
    const float *weights; /* packed; NULL: they are not */
    Device *device;
    int64_t tile_count; /* of all batches */
    int32_t has_failed; /* atomic: the device had no memory for a tile */
} ProductRun;

/* Brings a row of sums to the output. */
static void
store_row(const ProductShape *shape, const float *sums, float *output, int64_t count)
{
    if (shape->accumulates) {
        VECTOR_LOOP for (int64_t n = 0; n < count; n++)
        {
            output[n] = shape->alpha * sums[n] + output[n];
        }
    } else {
        VECTOR_LOOP for (int64_t n = 0; n < count; n++)
        {
            output[n] = shape->alpha * sums[n];
        }
    }
}

static void
add_row(const float *bias, float *output, int64_t count)
{
    VECTOR_LOOP for (int64_t n = 0; n < count; n++)
    {
        output[n] += bias[n];
    }
}

/* Finishes the tile whose first element is number `offset` of the output, in column `column`. */
static void
tile_finish(const ProductRun *run, const Tile *tile, int64_t offset, int64_t column)
{
    const ProductShape *shape = run->plan->shape;
    const ProductOperands *operands = run->operands;
    int64_t columns = tile->strips[0].b.columns + tile->strips[1].b.columns;
    for (int64_t row = 0; row < tile->a.rows; row++, offset += shape->n) {
        float *output = operands->output + offset;
        for (int index = 0; index < STRIPS; index++) {
            const Strip *strip = &tile->strips[index];
            const float *sums = strip->sums + row * strip->sums_step;
            if (sums != output) {
                store_row(shape, sums, output, strip->b.columns);
            }
            output += strip->b.columns;
        }
        output -= columns;
        if (operands->bias != NULL) {
            add_row(operands->bias + column, output, columns);
        }
        finish_run(
            &shape->finish, operands->addend == NULL ? NULL : operands->addend + offset, output, columns);
    }
}

/* Returns the index of the matrix of an input that batch entry `entry` reads. */
static int64_t
batch_offset(const ProductOperands *operands, const int64_t *strides, int64_t entry)
{
    int64_t offset = 0;
    for (int i = operands->batch_rank - 1; i >= 0; i--) {
        offset += entry % operands->batch_dims[i] * strides[i];
        entry /= operands->batch_dims[i];
    }
    return offset;
}

static MatrixPart
matrix_of(const float *data, int64_t rows, int64_t columns, bool is_transposed)
{
    return (MatrixPart){.first = data,
        .row_step = is_transposed ? 1 : columns,
        .column_step = is_transposed ? rows : 1,
        .rows = rows,
        .columns = columns};
}

/* Divides the columns of a tile, of which `b` has `first`…, and the room for panels and sums between strips.
 * `output` is the tile's first element. */
static void
tile_divide(const ProductRun *run, const MatrixPart *b, int64_t first, float *room, float *output, Tile *tile)
{
    const Plan *plan = run->plan;
    int64_t panel = plan->kernels->columns;
    int64_t whole = b->columns / panel * panel;
    const int64_t from[STRIPS + 1] = {0, whole, b->columns};
    float *sums_room = room + plan->b_size;
    for (int index = 0; index < STRIPS; index++) {
        Strip *strip = &tile->strips[index];
        bool is_direct = plan->is_direct && index == 0;
        strip->b = part_columns(b, from[index], from[index + 1] - from[index]);
        strip->weights = run->weights == NULL ? NULL : run->weights + (first + from[index]) * plan->shape->k;
        strip->b_room =
            plan->is_in_place ? room : room + from[index] * smaller_of(plan->shape->k, MICROKERNEL_DEPTH);
        strip->sums = is_direct ? output : plan->is_direct ? sums_room : sums_room + from[index];
        strip->sums_step = is_direct ? plan->shape->n : plan->is_direct ? panel : plan->columns.size;
    }
}

static void
run_tile(const ProductRun *run, int64_t index, float *room)
{
    const Plan *plan = run->plan;
    const ProductShape *shape = plan->shape;
    const ProductOperands *operands = run->operands;
    int64_t column_tile = index % plan->columns.count;
    int64_t row_tile = index / plan->columns.count % plan->rows.count;
    int64_t entry = index / plan->columns.count / plan->rows.count;
    int64_t m = row_tile * plan->rows.size;
    int64_t n = column_tile * plan->columns.size;
    int64_t offset = (entry * shape->m + m) * shape->n + n;
    const float *a = operands->a + batch_offset(operands, operands->a_strides, entry) * shape->m * shape->k;
    const float *b = operands->b + batch_offset(operands, operands->b_strides, entry) * shape->k * shape->n;
    MatrixPart left = matrix_of(a, shape->m, shape->k, shape->transposes_a);
    MatrixPart right = matrix_of(b, shape->k, shape->n, shape->transposes_b);
    Tile tile = {
        .plan = plan,
        .a = part_rows(&left, m, cut_size(&plan->rows, row_tile)),
        .a_room = plan->a_size == 0 ? NULL : room,
    };
    right = part_columns(&right, n, cut_size(&plan->columns, column_tile));
    tile_divide(run, &right, n, room + plan->a_size, operands->output + offset, &tile);
    tile_multiply(&tile);
    tile_finish(run, &tile, offset, n);
}

static void
run_group(void *context, int64_t index)
{
    ProductRun *run = context;
    size_t size = plan_scratch(run->plan);
    TensorBuffer *room = size == 0 ? NULL : run->device->allocate(run->device, size);
    if (room == NULL && size > 0) {
        atomic_store_relaxed(&run->has_failed, 1);
        return;
    }
    int64_t end = smaller_of((index + 1) * run->plan->group, run->tile_count);
    for (int64_t tile = index * run->plan->group; tile < end; tile++) {
        run_tile(run, tile, room == NULL ? NULL : room->data);
    }
    tensor_buffer_unref(room);
}

/* Packs the constant weights, for all runs: their bytes are counted to none of them (memory_account.h). */
static Status
pack_weights(Call *call, Product *product, Device *device, const Plan *plan)
{
    const ProductShape *shape = plan->shape;
    MatrixPart weights = matrix_of(product->weights, shape->k, shape->n, shape->transposes_b);
    size_t size = (size_t)panels_size(shape->k, shape->n, plan->kernels->columns) * sizeof(float);
    MemoryAccount *before = device->charge(device, NULL);
    product->panels = device->allocate(device, size);
    (void)device->charge(device, before);
    if (product->panels == NULL) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED, "packed weights need %zu bytes", size);
    }
    panels_pack(&weights, plan->kernels->columns, product->panels->data);
    return STATUS_OK;
}

/* Returns the packed weights; NULL when they are not constant. */
static Status
take_weights(Call *call, Product *product, Device *device, const Plan *plan, const float **ret_weights)
{
    Status status = STATUS_OK;
    mutex_lock(&product->lock);
    if (plan->is_packed && product->panels == NULL) {
        status = pack_weights(call, product, device, plan);
    }
    *ret_weights = product->panels == NULL ? NULL : product->panels->data;
    mutex_unlock(&product->lock);
    return status;
}

Status
product_run(
    Call *call, Product *product, Device *device, const ProductShape *shape, const ProductOperands *operands)
{
    assert(product != NULL && device != NULL);
    Plan plan = plan_of(product, shape);
    ProductRun run = {.plan = &plan, .operands = operands, .device = device};
    TRY(take_weights(call, product, device, &plan, &run.weights));
    run.tile_count = plan.rows.count * plan.columns.count;
    for (int i = 0; i < operands->batch_rank; i++) {
        run.tile_count *= operands->batch_dims[i];
    }
    device->parallel_for(device, divide_up(run.tile_count, plan.group), run_group, &run);
    return run.has_failed == 0 ? STATUS_OK
                               : call_fail(call, STATUS_RESOURCE_EXHAUSTED,
                                     "a tile of a matrix product needs %zu bytes", plan_scratch(&plan));
}

static const Product without_weights;

bool
product_alone(Device *device, const ProductShape *shape, const ProductOperands *operands)
{
    assert(operands->batch_rank == 0);
    Plan plan = plan_of(&without_weights, shape);
    ProductRun run = {.plan = &plan, .operands = operands, .device = device};
    run.tile_count = plan.rows.count * plan.columns.count;
    for (int64_t group = 0; group < divide_up(run.tile_count, plan.group); group++) {
        run_group(&run, group);
    }
    return run.has_failed == 0;
}

uint64_t
product_alone_scratch(const ProductShape *shape)
{
    Plan plan = plan_of(&without_weights, shape);
    return plan_scratch(&plan);
}

uint64_t
product_scratch(const Product *product, const Device *device, const ProductShape *shape, int64_t batch)
{
    Plan plan = plan_of(product, shape);
    int64_t tiles = batch * plan.rows.count * plan.columns.count;
    int64_t at_once = smaller_of(divide_up(tiles, plan.group), device->thread_count);
    return (uint64_t)at_once * plan_scratch(&plan);
}
