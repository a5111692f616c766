/* float64 matrix products, in blocks shared among the device's threads. Each element is the sum over the
 * inner dimension in ascending order, as in the reference, so that its bits are the same for any number of
 * threads.
 *
 * A task is a block of the output. For one part of the inner dimension after the other, it packs both
 * matrices in the order in which it reads them; the sums stay in the output until the next part. */
#include <stdalign.h>

#include "worker/cpu/sizes.h"
#include "worker/reference/matrix.h"
#include "worker/reference/outputs.h"
#include "worker/runtime/kernel.h"

enum {
    ROWS = 4, /* of a tile: its sums fill about the vector registers of a core */
    COLUMNS = 8,
    BLOCK_ROWS = 64, /* of a task */
    BLOCK_COLUMNS = 64,
    PART = 128, /* of the inner dimension */
    LANES = 4,
};

typedef double Lanes __attribute__((vector_size(LANES * sizeof(double))));

typedef struct Packed {
    alignas(64) double a[BLOCK_ROWS * PART];    /* ROWS rows side by side, then the next ones */
    alignas(64) double b[BLOCK_COLUMNS * PART]; /* COLUMNS columns side by side */
} Packed;

/* Loads a row of a tile: two vectors, which stay in registers. */
#define LOAD_ROW(row)                                                                                        \
    Lanes left_##row;                                                                                        \
    Lanes right_##row;                                                                                       \
    memcpy(&left_##row, sums + (ptrdiff_t)(row)*COLUMNS, sizeof left_##row);                                 \
    memcpy(&right_##row, sums + (ptrdiff_t)(row)*COLUMNS + LANES, sizeof right_##row);

#define ADD_ROW(row)                                                                                         \
    left_##row += a[k * ROWS + (row)] * left;                                                                \
    right_##row += a[k * ROWS + (row)] * right;

#define STORE_ROW(row)                                                                                       \
    memcpy(sums + (ptrdiff_t)(row)*COLUMNS, &left_##row, sizeof left_##row);                                 \
    memcpy(sums + (ptrdiff_t)(row)*COLUMNS + LANES, &right_##row, sizeof right_##row);

/* sums[row][column] += Σ a[k][row] × b[k][column] */
#define MULTIPLY_TILE(name, attributes)                                                                      \
    attributes static void name(const double *a, const double *b, int64_t depth, double *sums)               \
    {                                                                                                        \
        LOAD_ROW(0) LOAD_ROW(1) LOAD_ROW(2) LOAD_ROW(3) for (int64_t k = 0; k < depth; k++)                  \
        {                                                                                                    \
            Lanes left;                                                                                      \
            Lanes right;                                                                                     \
            memcpy(&left, b + k * COLUMNS, sizeof left);                                                     \
            memcpy(&right, b + k * COLUMNS + LANES, sizeof right);                                           \
            ADD_ROW(0) ADD_ROW(1) ADD_ROW(2) ADD_ROW(3)                                                      \
        }                                                                                                    \
        STORE_ROW(0) STORE_ROW(1) STORE_ROW(2) STORE_ROW(3)                                                  \
    }

typedef void (*MultiplyTile)(const double *a, const double *b, int64_t depth, double *sums);

MULTIPLY_TILE(multiply_tile, )

#ifdef __x86_64__
/* The same operations in wider registers. */
MULTIPLY_TILE(multiply_tile_avx2, __attribute__((target("avx2"))))

static MultiplyTile
choose_multiply_tile(void)
{
    return __builtin_cpu_supports("avx2") ? multiply_tile_avx2 : multiply_tile;
}
#else
static MultiplyTile
choose_multiply_tile(void)
{
    return multiply_tile;
}
#endif

/* Lines of a matrix: rows of the left one, columns of the right one. */
typedef struct Lines {
    const double *first;
    int64_t line_step;
    int64_t step; /* distance of elements along the inner dimension */
    int64_t count;
} Lines;

/* Packs `width` lines side by side, and zeros for those behind the last one. */
static void
pack_side_by_side(const Lines *lines, int64_t first, int width, int64_t depth, double *to)
{
    const double *from = lines->first + first * lines->line_step;
    int64_t count = smaller_of(width, lines->count - first);
    for (int64_t k = 0; k < depth; k++) {
        for (int64_t line = 0; line < width; line++) {
            to[k * width + line] = line < count ? from[line * lines->line_step + k * lines->step] : 0;
        }
    }
}

static void
pack_lines(const Lines *lines, int width, int64_t depth, double *to)
{
    for (int64_t first = 0; first < lines->count; first += width) {
        pack_side_by_side(lines, first, width, depth, to + first * depth);
    }
}

typedef struct Block {
    const MatrixProduct *product;
    int64_t row;
    int64_t column;
    int64_t rows;
    int64_t columns;
} Block;

/* Copies sums between the output and a tile; those outside of the block are left out. */
static void
move_sums(const Block *block, int64_t row, int64_t column, double *sums, bool is_back)
{
    double *output = block->product->output;
    size_t size = (size_t)smaller_of(COLUMNS, block->columns - column) * sizeof *sums;
    for (int64_t index = 0; index < smaller_of(ROWS, block->rows - row); index++) {
        double *line = output + (block->row + row + index) * block->product->columns + block->column + column;
        memcpy(is_back ? line : sums + index * COLUMNS, is_back ? sums + index * COLUMNS : line, size);
    }
}

static void
multiply_part(const Block *block, int64_t first, int64_t depth, MultiplyTile multiply, Packed *packed)
{
    const MatrixView *a = &block->product->a;
    const MatrixView *b = &block->product->b;
    Lines rows = {
        .first = (const double *)a->data + block->row * a->row_step + first * a->column_step,
        .line_step = a->row_step,
        .step = a->column_step,
        .count = block->rows,
    };
    Lines columns = {
        .first = (const double *)b->data + block->column * b->column_step + first * b->row_step,
        .line_step = b->column_step,
        .step = b->row_step,
        .count = block->columns,
    };
    pack_lines(&rows, ROWS, depth, packed->a);
    pack_lines(&columns, COLUMNS, depth, packed->b);
    for (int64_t row = 0; row < block->rows; row += ROWS) {
        for (int64_t column = 0; column < block->columns; column += COLUMNS) {
            alignas(64) double sums[ROWS * COLUMNS] = {0};
            if (first > 0) {
                move_sums(block, row, column, sums, false);
            }
            multiply(packed->a + row * depth, packed->b + column * depth, depth, sums);
            move_sums(block, row, column, sums, true);
        }
    }
}

typedef struct BlockedProduct {
    const MatrixProduct *product;
    int64_t across; /* blocks in a row of blocks */
    MultiplyTile multiply;
} BlockedProduct;

static void
multiply_block(void *context, int64_t index)
{
    const BlockedProduct *blocked = context;
    const MatrixProduct *product = blocked->product;
    Packed packed;
    Block block = {
        .product = product,
        .row = index / blocked->across * BLOCK_ROWS,
        .column = index % blocked->across * BLOCK_COLUMNS,
    };
    block.rows = smaller_of(BLOCK_ROWS, product->rows - block.row);
    block.columns = smaller_of(BLOCK_COLUMNS, product->columns - block.column);
    for (int64_t first = 0; first < product->depth; first += PART) {
        multiply_part(&block, first, smaller_of(PART, product->depth - first), blocked->multiply, &packed);
    }
}

static void
multiply_matrices(const void *context, const MatrixProduct *product)
{
    const KernelContext *kernel = context;
    BlockedProduct blocked = {
        .product = product,
        .across = (product->columns + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS,
        .multiply = choose_multiply_tile(),
    };
    int64_t count = blocked.across * ((product->rows + BLOCK_ROWS - 1) / BLOCK_ROWS);
    if (product->depth == 0) {
        memset(product->output, 0, (size_t)(product->rows * product->columns) * sizeof(double));
    } else if (count == 1) {
        multiply_block(&blocked, 0);
    } else {
        kernel->device->parallel_for(kernel->device, count, multiply_block, &blocked);
    }
}

static bool
supports_double(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT64 && node->input_dtypes[1] == DTYPE_FLOAT64 &&
           node->output_dtypes[0] == DTYPE_FLOAT64;
}

static Status
compute_product(KernelContext *context, const char *transposes_a, const char *transposes_b)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    const Tensor *const inputs[] = {&context->inputs[0], &context->inputs[1]};
    const bool transposes[] = {
        node_attr_bool(context->node, transposes_a), node_attr_bool(context->node, transposes_b)};
    matrix_multiply_by(multiply_matrices, context, inputs, transposes, output);
    return STATUS_OK;
}

static Status
matmul_compute(KernelContext *context)
{
    return compute_product(context, "transpose_a", "transpose_b");
}

static Status
batch_matmul_compute(KernelContext *context)
{
    return compute_product(context, "adj_x", "adj_y");
}

static const Kernel matmul_double_kernels[] = {
    {.op = "MatMul", .supports = supports_double, .compute = matmul_compute},
    {.op = "BatchMatMul", .supports = supports_double, .compute = batch_matmul_compute},
    {.op = "BatchMatMulV2", .supports = supports_double, .compute = batch_matmul_compute},
};

KERNEL_FAMILY(cpu_kernels, matmul_double, matmul_double_kernels);
