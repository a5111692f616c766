#include "worker/cpu/product/byte_product.h"

#include <assert.h>

#include "shared/base/memory.h"
#include "worker/cpu/product/integer.h"
#include "worker/reference/matrix.h"
#include "worker/reference/scaling.h"

enum {
    ROWS_BLOCK = 48,  /* rows of a tile: eight times what is in registers */
    PACKED_ROWS = 64, /* rows that one thread packs at a time */
};

struct BytePanels {
    uint8_t *panels;
    int32_t *sums;
};

bool
byte_product_has(Dtype dtype)
{
    return dtype == DTYPE_INT8 || dtype == DTYPE_UINT8;
}

static IntegerMatrix
matrix_at(const Tensor *tensor, int64_t index)
{
    int rank = tensor->shape.rank;
    int64_t columns = tensor->shape.dims[rank - 1];
    return (IntegerMatrix){
        .first = (const uint8_t *)tensor->data + index * tensor->shape.dims[rank - 2] * columns,
        .row_step = columns,
        .column_step = 1,
        .is_signed = tensor->dtype == DTYPE_INT8};
}

static int64_t
panel_count(int64_t columns)
{
    return (columns + INTEGER_COLUMNS - 1) / INTEGER_COLUMNS;
}

static void
pack_panel(const Tensor *b, int64_t matrix, int64_t panel, uint8_t *panels, int32_t *sums)
{
    int64_t depth = b->shape.dims[b->shape.rank - 2];
    int64_t columns = b->shape.dims[b->shape.rank - 1];
    int64_t first = panel * INTEGER_COLUMNS;
    int64_t count = columns - first < INTEGER_COLUMNS ? columns - first : INTEGER_COLUMNS;
    int64_t place = matrix * panel_count(columns) + panel;
    IntegerMatrix part = matrix_at(b, matrix);
    integer_pack_panel(&part, first, count, depth, panels + place * integer_panel_size(depth),
        sums + place * INTEGER_COLUMNS);
}

void
byte_panels_free(BytePanels *panels)
{
    if (panels != NULL) {
        memory_free(panels->panels);
        memory_free(panels->sums);
        memory_free(panels);
    }
}

BytePanels *
byte_panels_new(const Tensor *matrix)
{
    if (matrix->shape.rank != 2 || !byte_product_has(matrix->dtype) || tensor_element_count(matrix) == 0) {
        return NULL;
    }
    int64_t count = panel_count(matrix->shape.dims[1]);
    BytePanels *panels = memory_new(1, sizeof *panels);
    if (panels == NULL) {
        return NULL;
    }
    panels->panels = memory_new((size_t)count, (size_t)integer_panel_size(matrix->shape.dims[0]));
    panels->sums = memory_new((size_t)count, INTEGER_COLUMNS * sizeof(int32_t));
    if (panels->panels == NULL || panels->sums == NULL) {
        byte_panels_free(panels);
        return NULL;
    }
    for (int64_t panel = 0; panel < count; panel++) {
        pack_panel(matrix, 0, panel, panels->panels, panels->sums);
    }
    return panels;
}

/* A product on its way: both sides packed, the zero points as int32. */
typedef struct Job {
    const ByteProduct *product;
    const Tensor *a;
    const Tensor *b;
    int64_t rows;
    int64_t columns;
    int64_t depth;
    int64_t a_rows;     /* of all matrices */
    int64_t b_matrices; /* that are to be packed */
    Tensor packed_rows;
    Tensor row_sums;
    Tensor packed_panels;
    Tensor panel_sums;
    Tensor row_zeros;
    Tensor column_zeros;
    bool has_row_zeros;
    bool has_column_zeros;
    const uint8_t *panels;
    const int32_t *column_sums;
} Job;

static void
job_done(Job *job)
{
    tensor_unref(&job->packed_rows);
    tensor_unref(&job->row_sums);
    tensor_unref(&job->packed_panels);
    tensor_unref(&job->panel_sums);
    tensor_unref(&job->row_zeros);
    tensor_unref(&job->column_zeros);
}
#define AUTO_JOB CLEANUP(job_done) Job

static int64_t
row_blocks(const Job *job)
{
    return (job->a_rows + PACKED_ROWS - 1) / PACKED_ROWS;
}

static void
pack_part(void *context, int64_t part)
{
    const Job *job = context;
    int64_t blocks = row_blocks(job);
    if (part < blocks) {
        int64_t first = part * PACKED_ROWS;
        int64_t count = job->a_rows - first < PACKED_ROWS ? job->a_rows - first : PACKED_ROWS;
        IntegerMatrix a = matrix_at(job->a, 0);
        integer_pack_rows(&a, first, count, job->depth,
            (int8_t *)job->packed_rows.data + first * integer_row_size(job->depth),
            (int32_t *)job->row_sums.data + first);
        return;
    }
    int64_t panels = panel_count(job->columns);
    pack_panel(job->b, (part - blocks) / panels, (part - blocks) % panels, job->packed_panels.data,
        job->panel_sums.data);
}

/* Reads zero points into int32; there is room for as many as fill up the panels. */
static Status
read_zeros(KernelContext *context, uint32_t input, uint32_t zeros, int from_end, Tensor *ret_zeros,
    bool *ret_has_each)
{
    const Tensor *given = &context->inputs[zeros];
    Lines lines = {.size = 1};
    bool is_given = zeros < context->input_count && given->dtype != DTYPE_INVALID;
    if (is_given) {
        TRY(scaling_zero_lines(context, input, zeros, from_end, &lines));
    }
    TRY(scratch_array(context, lines.size + INTEGER_COLUMNS, sizeof(int32_t), ret_zeros));
    for (int64_t n = 0; is_given && n < lines.size; n++) {
        int64_t zero = 0;
        (void)!tensor_to_int64(given, n, &zero);
        ((int32_t *)ret_zeros->data)[n] = (int32_t)zero;
    }
    *ret_has_each = lines.size > 1;
    return STATUS_OK;
}

static Status
allocate(KernelContext *context, Job *job)
{
    int64_t panels = job->b_matrices * panel_count(job->columns);
    TRY(scratch_bytes(context, job->a_rows, (size_t)integer_row_size(job->depth), &job->packed_rows));
    TRY(scratch_bytes(context, job->a_rows, sizeof(int32_t), &job->row_sums));
    TRY(scratch_bytes(context, panels, (size_t)integer_panel_size(job->depth), &job->packed_panels));
    TRY(scratch_bytes(context, panels, INTEGER_COLUMNS * sizeof(int32_t), &job->panel_sums));
    TRY(read_zeros(context, job->product->a, job->product->a_zero, 2, &job->row_zeros, &job->has_row_zeros));
    return read_zeros(
        context, job->product->b, job->product->b_zero, 1, &job->column_zeros, &job->has_column_zeros);
}

static void
multiply_tile(void *context, int64_t tile)
{
    const Job *job = context;
    int64_t panels = panel_count(job->columns);
    int64_t blocks = (job->rows + ROWS_BLOCK - 1) / ROWS_BLOCK;
    int64_t batch = tile / (panels * blocks);
    int64_t first = tile % blocks * ROWS_BLOCK;
    int64_t panel = tile / blocks % panels;
    int64_t a = matrix_of_batch(&job->a->shape, job->product->output, batch) * job->rows;
    int64_t place = matrix_of_batch(&job->b->shape, job->product->output, batch) * panels + panel;
    int64_t column = panel * INTEGER_COLUMNS;
    int64_t count = job->columns - column < INTEGER_COLUMNS ? job->columns - column : INTEGER_COLUMNS;
    IntegerProduct product = {
        .rows = (const int8_t *)job->packed_rows.data + a * integer_row_size(job->depth),
        .row_sums = (const int32_t *)job->row_sums.data + a,
        .row_zeros = job->row_zeros.data,
        .panel = job->panels + place * integer_panel_size(job->depth),
        .column_sums = job->column_sums + place * INTEGER_COLUMNS,
        .column_zeros = (const int32_t *)job->column_zeros.data + (job->has_column_zeros ? column : 0),
        .has_row_zeros = job->has_row_zeros,
        .has_column_zeros = job->has_column_zeros,
        .is_left_signed = job->a->dtype == DTYPE_INT8,
        .is_right_signed = job->b->dtype == DTYPE_INT8,
        .depth = job->depth};
    for (int64_t row = first; row < job->rows && row < first + ROWS_BLOCK; row += INTEGER_ROWS_MAX) {
        int32_t sums[INTEGER_ROWS_MAX * INTEGER_COLUMNS];
        int64_t left = job->rows < first + ROWS_BLOCK ? job->rows - row : first + ROWS_BLOCK - row;
        int rows = left < INTEGER_ROWS_MAX ? (int)left : INTEGER_ROWS_MAX;
        integer_multiply(&product, row, rows, sums);
        for (int n = 0; n < rows; n++) {
            job->product->finish(job->product->context, batch * job->rows + row + n, column, count,
                sums + (ptrdiff_t)n * INTEGER_COLUMNS);
        }
    }
}

/* Makes one product of a batch with a single matrix on the right: all matrices on the left become its rows.
 */
static int64_t
merge_batches(Job *job, const Shape *output)
{
    int64_t batches = 1;
    for (int index = 0; index < output->rank - 2; index++) {
        batches *= output->dims[index];
    }
    if (job->b_matrices != 1 || job->has_row_zeros || job->a_rows != batches * job->rows) {
        return batches;
    }
    job->rows = job->a_rows;
    return 1;
}

Status
byte_product_run(KernelContext *context, const ByteProduct *product)
{
    const Tensor *a = &context->inputs[product->a];
    const Tensor *b = &context->inputs[product->b];
    AUTO_JOB job = {.product = product,
        .a = a,
        .b = b,
        .rows = a->shape.dims[a->shape.rank - 2],
        .columns = b->shape.dims[b->shape.rank - 1],
        .depth = b->shape.dims[b->shape.rank - 2]};
    assert(a->shape.rank >= 2 && b->shape.rank >= 2 && job.rows > 0 && job.columns > 0 && job.depth > 0);
    job.a_rows = tensor_element_count(a) / job.depth;
    job.b_matrices = tensor_element_count(b) / (job.depth * job.columns);
    int64_t to_pack = product->panels == NULL ? job.b_matrices : 0;
    int64_t b_matrices = job.b_matrices;
    job.b_matrices = to_pack;
    TRY(allocate(context, &job));
    job.panels = product->panels == NULL ? job.packed_panels.data : product->panels->panels;
    job.column_sums = product->panels == NULL ? job.panel_sums.data : product->panels->sums;
    context->device->parallel_for(
        context->device, row_blocks(&job) + to_pack * panel_count(job.columns), pack_part, &job);
    job.b_matrices = b_matrices;
    int64_t batches = merge_batches(&job, product->output);
    int64_t blocks = (job.rows + ROWS_BLOCK - 1) / ROWS_BLOCK;
    context->device->parallel_for(
        context->device, batches * panel_count(job.columns) * blocks, multiply_tile, &job);
    return STATUS_OK;
}
