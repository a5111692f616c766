#include "worker/cpu/onednn/product.h"

#include <assert.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "shared/tensor/half.h"

enum {
    TILE_ROWS = 128,
    TILE_COLUMNS = 512,
    TILE_WORK_MIN = 2 * 1024 * 1024, /* multiplications of a tile, which take some ten microseconds */
    PLANS_MAX = 64,                  /* shapes whose plans are kept */
};

/* The tiles of one dimension: `count`, all of `size` but the last one. */
typedef struct Cut {
    int64_t size;
    int64_t count;
    int64_t last;
} Cut;

/* The tiles and primitives for products of one shape. */
typedef struct Plan {
    struct Plan *next;
    ProductShape shape;
    Cut rows;
    Cut columns;
    Primitive *tiles[2][2]; /* by [is last row tile][is last column tile]; NULL where no tile has that size */
    const Packed **packed;  /* by column tile; NULL: the weights are plain, or there was no run yet */
    bool is_kept;           /* by the Product; other plans are freed by whoever made them */
} Plan;

typedef struct PackedTile {
    struct PackedTile *next;
    int64_t column;
    Packed *packed;
} PackedTile;

struct Product {
    const float *weights; /* the constant weights; NULL: they differ between runs */
    Mutex lock;
    Plan *plans;        /* guarded by `lock`; a plan in the list is immutable once it has its weights */
    PackedTile *packed; /* guarded by `lock`; shared by plans whose layouts agree */
    int plan_count;
};

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
    assert(product->plans == NULL);
    product->weights = weights;
}

static void
plan_free(Plan *plan)
{
    for (int i = 0; i < 4; i++) {
        primitive_free(plan->tiles[i / 2][i % 2]);
    }
    memory_free(plan->packed);
    memory_free(plan);
}

void
product_free(Product *product)
{
    if (product == NULL) {
        return;
    }
    for (Plan *plan = product->plans, *next = NULL; plan != NULL; plan = next) {
        next = plan->next;
        plan_free(plan);
    }
    for (PackedTile *tile = product->packed, *next = NULL; tile != NULL; tile = next) {
        next = tile->next;
        packed_free(tile->packed);
        memory_free(tile);
    }
    mutex_done(&product->lock);
    memory_free(product);
}

static int64_t
smaller_of(int64_t left, int64_t right)
{
    return left < right ? left : right;
}

static Cut
cut_into(int64_t whole, int64_t size)
{
    int64_t count = (whole + size - 1) / size;
    return (Cut){.size = size, .count = count, .last = whole - (count - 1) * size};
}

static int64_t
cut_size(const Cut *cut, int64_t index)
{
    return index == cut->count - 1 ? cut->last : cut->size;
}

/* Cuts the output into tiles. Columns are cut by n alone, so that all plans of one matrix can share its
 * packed tiles; a tile has enough rows to be worth handing to another thread. */
static void
plan_cut(Plan *plan)
{
    const ProductShape *shape = &plan->shape;
    plan->columns = cut_into(shape->n, smaller_of(shape->n, TILE_COLUMNS));
    int64_t row_work = plan->columns.size * shape->k;
    int64_t wanted = (TILE_WORK_MIN / TILE_ROWS + row_work - 1) / row_work;
    plan->rows = cut_into(shape->m, smaller_of(shape->m, TILE_ROWS * (wanted < 1 ? 1 : wanted)));
}

static dnnl_status_t
tile_attributes(const ProductShape *shape, dnnl_primitive_attr_t *ret_attributes)
{
    dnnl_status_t status = finish_attributes(&shape->finish, shape->accumulates, ret_attributes);
    bool is_scaled = shape->alpha < 1 || shape->alpha > 1;
    return status == dnnl_success && is_scaled
               ? dnnl_primitive_attr_set_output_scales(*ret_attributes, 1, 0, &shape->alpha)
               : status;
}

static dnnl_status_t
matrix_layout(int64_t rows, int64_t columns, int64_t row_step, int64_t column_step, dnnl_memory_desc_t *ret)
{
    dnnl_dims_t dims = {rows, columns};
    dnnl_dims_t strides = {row_step, column_step};
    return dnnl_memory_desc_init_by_strides(ret, 2, dims, dnnl_f32, strides);
}

static dnnl_status_t
weights_layout(const ProductShape *shape, int64_t columns, dnnl_memory_desc_t *ret)
{
    return shape->transposes_b ? matrix_layout(shape->k, columns, 1, shape->k, ret)
                               : matrix_layout(shape->k, columns, shape->n, 1, ret);
}

/* Describes the product of a tile. `chosen` is the layout of b; NULL lets oneDNN choose. */
static dnnl_status_t
tile_operation(const ProductShape *shape, int64_t rows, int64_t columns, const dnnl_memory_desc_t *chosen,
    dnnl_matmul_desc_t *ret)
{
    dnnl_memory_desc_t a;
    dnnl_memory_desc_t b;
    dnnl_memory_desc_t bias;
    dnnl_memory_desc_t output;
    dnnl_dims_t b_dims = {shape->k, columns};
    dnnl_status_t status = shape->transposes_a ? matrix_layout(rows, shape->k, 1, shape->m, &a)
                                               : matrix_layout(rows, shape->k, shape->k, 1, &a);
    if (status == dnnl_success) {
        status = matrix_layout(rows, columns, shape->n, 1, &output);
    }
    if (status == dnnl_success) {
        status = matrix_layout(1, columns, columns, 1, &bias);
    }
    if (status == dnnl_success && chosen != NULL) {
        b = *chosen;
    } else if (status == dnnl_success) {
        status = dnnl_memory_desc_init_by_tag(&b, 2, b_dims, dnnl_f32, dnnl_format_tag_any);
    }
    return status == dnnl_success
               ? dnnl_matmul_desc_init(ret, &a, &b, shape->has_bias ? &bias : NULL, &output)
               : status;
}

static Status
tile_new(Call *call, const Plan *plan, int64_t rows, int64_t columns, const dnnl_memory_desc_t *chosen,
    Primitive **ret_tile)
{
    dnnl_matmul_desc_t operation;
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_status_t status = tile_operation(&plan->shape, rows, columns, chosen, &operation);
    if (status == dnnl_success) {
        status = tile_attributes(&plan->shape, &attributes);
    }
    PrimitiveOptions options = {
        .operation = &operation,
        .attributes = attributes,
        .arguments = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS},
        .argument_count = plan->shape.has_bias ? 4 : 3,
    };
    Status result = status == dnnl_success ? primitive_new(call, &options, ret_tile)
                                           : onednn_status(call, status, "a matrix product");
    dnnl_primitive_attr_destroy(attributes);
    return result;
}

/* Makes the primitives of one column size. Where b may be packed, the first primitive chooses its layout
 * for both. */
static Status
plan_column_tiles(Call *call, Plan *plan, bool is_last, bool is_packed)
{
    int64_t columns = is_last ? plan->columns.last : plan->columns.size;
    dnnl_memory_desc_t layout;
    const dnnl_memory_desc_t *chosen = NULL;
    if (!is_packed) {
        TRY(onednn_status(call, weights_layout(&plan->shape, columns, &layout), "a layout"));
        chosen = &layout;
    }
    bool has_full = plan->rows.count > 1;
    if (has_full) {
        TRY(tile_new(call, plan, plan->rows.size, columns, chosen, &plan->tiles[0][is_last]));
        layout = *primitive_layout(plan->tiles[0][is_last], DNNL_ARG_WEIGHTS);
        chosen = &layout;
    }
    return tile_new(call, plan, plan->rows.last, columns, chosen, &plan->tiles[1][is_last]);
}

static Status
pack_tile(
    Call *call, Product *product, Device *device, const Plan *plan, int64_t column, const Packed **ret_packed)
{
    const ProductShape *shape = &plan->shape;
    bool is_last = column == plan->columns.count - 1;
    const dnnl_memory_desc_t *wanted = primitive_layout(plan->tiles[1][is_last], DNNL_ARG_WEIGHTS);
    for (PackedTile *tile = product->packed; tile != NULL; tile = tile->next) {
        if (tile->column == column && dnnl_memory_desc_equal(packed_layout(tile->packed), wanted)) {
            *ret_packed = tile->packed;
            return STATUS_OK;
        }
    }
    PackedTile *tile = memory_new(1, sizeof *tile);
    if (tile == NULL) {
        return call_fail_memory(call, "packed weights");
    }
    dnnl_memory_desc_t plain;
    int64_t first = column * plan->columns.size;
    const float *weights = product->weights + (shape->transposes_b ? first * shape->k : first);
    Status status =
        onednn_status(call, weights_layout(shape, cut_size(&plan->columns, column), &plain), "a layout");
    if (status == STATUS_OK) {
        status = packed_new_shared(call, device, &plain, weights, wanted, &tile->packed);
    }
    if (status != STATUS_OK) {
        memory_free(tile);
        return status;
    }
    tile->column = column;
    tile->next = product->packed;
    product->packed = tile;
    *ret_packed = tile->packed;
    return STATUS_OK;
}

static Status
plan_pack(Call *call, Product *product, Device *device, Plan *plan)
{
    AUTO_MEMORY const Packed **packed = memory_new((size_t)plan->columns.count, sizeof *packed);
    if (packed == NULL) {
        return call_fail_memory(call, "packed weights");
    }
    for (int64_t column = 0; column < plan->columns.count; column++) {
        TRY(pack_tile(call, product, device, plan, column, &packed[column]));
    }
    plan->packed = TAKE(packed);
    return STATUS_OK;
}

static Status
plan_make(Call *call, const Product *product, Plan *plan)
{
    bool is_packed = product->weights != NULL;
    plan_cut(plan);
    TRY(plan_column_tiles(call, plan, true, is_packed));
    return plan->columns.count > 1 ? plan_column_tiles(call, plan, false, is_packed) : STATUS_OK;
}

static bool
shape_is(const ProductShape *left, const ProductShape *right)
{
    return left->m == right->m && left->n == right->n && left->k == right->k &&
           left->transposes_a == right->transposes_a && left->transposes_b == right->transposes_b &&
           left->accumulates == right->accumulates && left->has_bias == right->has_bias &&
           float_to_bits(left->alpha) == float_to_bits(right->alpha) &&
           memcmp(&left->finish, &right->finish, sizeof left->finish) == 0;
}

/* Called under the lock. Plans of more than PLANS_MAX shapes are not kept. */
static Status
plan_get(Call *call, Product *product, const ProductShape *shape, Plan **ret_plan)
{
    for (Plan *plan = product->plans; plan != NULL; plan = plan->next) {
        if (shape_is(&plan->shape, shape)) {
            *ret_plan = plan;
            return STATUS_OK;
        }
    }
    Plan *plan = memory_new(1, sizeof *plan);
    if (plan == NULL) {
        return call_fail_memory(call, "a plan of a matrix product");
    }
    plan->shape = *shape;
    Status status = plan_make(call, product, plan);
    if (status != STATUS_OK) {
        plan_free(plan);
        return status;
    }
    if (product->plan_count < PLANS_MAX) {
        product->plan_count++;
        plan->is_kept = true;
        plan->next = product->plans;
        product->plans = plan;
    }
    *ret_plan = plan;
    return STATUS_OK;
}

static void
plan_put(Plan *plan)
{
    if (plan != NULL && !plan->is_kept) {
        plan_free(plan);
    }
}

/* Returns a plan that has the constant weights, if there are any. */
static Status
plan_get_packed(Call *call, Product *product, Device *device, const ProductShape *shape, Plan **ret_plan)
{
    mutex_lock(&product->lock);
    Status status = plan_get(call, product, shape, ret_plan);
    if (status == STATUS_OK && product->weights != NULL && (*ret_plan)->packed == NULL) {
        status = plan_pack(call, product, device, *ret_plan);
    }
    mutex_unlock(&product->lock);
    return status;
}

typedef struct ProductRun {
    const Plan *plan;
    const ProductOperands *operands;
    Device *device;
    int64_t tile_count; /* of all batches */
    int64_t group;
    int status; /* atomic dnnl_status_t of a tile that failed */
} ProductRun;

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

/* Finishes rows of the output, from its element `offset` on. */
static void
finish_rows(const ProductRun *run, int64_t offset, int64_t rows, int64_t columns)
{
    const ProductOperands *operands = run->operands;
    bool is_one_run = columns == run->plan->shape.n;
    int64_t run_count = is_one_run ? 1 : rows;
    int64_t size = is_one_run ? rows * columns : columns;
    for (int64_t index = 0; index < run_count; index++, offset += run->plan->shape.n) {
        finish_run(&run->plan->shape.finish, operands->addend == NULL ? NULL : operands->addend + offset,
            operands->output + offset, size);
    }
}

static dnnl_status_t
run_tile(const ProductRun *run, int64_t index)
{
    const Plan *plan = run->plan;
    const ProductShape *shape = &plan->shape;
    const ProductOperands *operands = run->operands;
    int64_t column = index % plan->columns.count;
    int64_t row = index / plan->columns.count % plan->rows.count;
    int64_t entry = index / plan->columns.count / plan->rows.count;
    int64_t m = row * plan->rows.size;
    int64_t n = column * plan->columns.size;
    const float *a = operands->a + batch_offset(operands, operands->a_strides, entry) * shape->m * shape->k;
    const float *b = operands->b + batch_offset(operands, operands->b_strides, entry) * shape->k * shape->n;
    int64_t offset = (entry * shape->m + m) * shape->n + n;
    const PrimitiveData data[] = {
        {.data = a + (shape->transposes_a ? m : m * shape->k)},
        {.data = b + (shape->transposes_b ? n * shape->k : n),
            .packed = plan->packed == NULL ? NULL : plan->packed[column]},
        {.data = operands->output + offset},
        {.data = shape->has_bias ? operands->bias + n : NULL},
    };
    Primitive *tile = plan->tiles[row == plan->rows.count - 1][column == plan->columns.count - 1];
    dnnl_status_t status = primitive_run(tile, run->device, data);
    finish_rows(run, offset, cut_size(&plan->rows, row), cut_size(&plan->columns, column));
    return status;
}

static void
run_group(void *context, int64_t index)
{
    ProductRun *run = context;
    int64_t end = smaller_of((index + 1) * run->group, run->tile_count);
    for (int64_t tile = index * run->group; tile < end; tile++) {
        dnnl_status_t status = run_tile(run, tile);
        if (status != dnnl_success) {
            atomic_store_relaxed(&run->status, (int)status);
        }
    }
}

/* Returns how many tiles a thread takes at once. */
static int64_t
plan_group(const Plan *plan)
{
    int64_t work = plan->rows.size * plan->columns.size * plan->shape.k;
    return work >= TILE_WORK_MIN ? 1 : (TILE_WORK_MIN + work - 1) / work;
}

static Status
run_plan(Call *call, const Plan *plan, Device *device, const ProductOperands *operands)
{
    ProductRun run = {.plan = plan, .operands = operands, .device = device};
    run.tile_count = plan->rows.count * plan->columns.count;
    for (int i = 0; i < operands->batch_rank; i++) {
        run.tile_count *= operands->batch_dims[i];
    }
    run.group = plan_group(plan);
    device->parallel_for(device, (run.tile_count + run.group - 1) / run.group, run_group, &run);
    return onednn_status(call, (dnnl_status_t)run.status, "a matrix product");
}

Status
product_run(
    Call *call, Product *product, Device *device, const ProductShape *shape, const ProductOperands *operands)
{
    assert(product != NULL && device != NULL);
    Plan *plan = NULL;
    Status status = plan_get_packed(call, product, device, shape, &plan);
    if (status == STATUS_OK) {
        status = run_plan(call, plan, device, operands);
    }
    plan_put(plan);
    return status;
}

static size_t
tile_scratch(const Plan *plan)
{
    size_t most = 0;
    for (int i = 0; i < 4; i++) {
        const Primitive *tile = plan->tiles[i / 2][i % 2];
        size_t size = tile == NULL ? 0 : primitive_scratch(tile);
        most = size > most ? size : most;
    }
    return most;
}

uint64_t
product_scratch(Call *call, Product *product, const Device *device, const ProductShape *shape, int64_t batch)
{
    Plan *plan = NULL;
    mutex_lock(&product->lock);
    Status status = plan_get(call, product, shape, &plan);
    mutex_unlock(&product->lock);
    if (status != STATUS_OK) {
        return 0;
    }
    int64_t tiles = batch * plan->rows.count * plan->columns.count;
    int64_t loops = (tiles + plan_group(plan) - 1) / plan_group(plan);
    uint64_t size = (uint64_t)smaller_of(loops, device->thread_count) * tile_scratch(plan);
    plan_put(plan);
    return size;
}
