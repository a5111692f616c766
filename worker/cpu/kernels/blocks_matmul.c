/* com.microsoft::MatMulNBits of float32 with weights of four bits, which stay packed in memory
 * (product/nibble_microkernel.h). Other weights are left to the reference kernel. */
#include "shared/ops/quantize/blocks_rule.h"
#include "worker/cpu/product/nibble_microkernel.h"
#include "worker/cpu/sizes.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum { A, B, SCALES, ZERO_POINTS, G_IDX, BIAS };

enum {
    PART_WORK = 1 << 19, /* multiplications of a part, which take some ten microseconds */
    PART_COLUMNS = 16,   /* a part has so many columns, or a multiple of them */
};

typedef struct NibbleProduct {
    WeightBlocks blocks;
    const float *a; /* arranged */
    const uint8_t *weights;
    const float *scales;
    const uint8_t *zeros; /* NULL: all are in the middle */
    const float *bias;    /* NULL: none */
    float *output;
    int64_t rows;         /* of a */
    int64_t columns;      /* of the output: rows of weights */
    int64_t part_columns; /* of a part */
} NibbleProduct;

static NibbleTile
tile_at(const NibbleProduct *product, int64_t row, int64_t column, int columns)
{
    const WeightBlocks *blocks = &product->blocks;
    int64_t whole = blocks->count * blocks->size;
    NibbleTile tile = {
        .a = product->a + row * whole,
        .a_step = whole,
        .blocks = blocks->count,
        .block_groups = blocks->size / NIBBLE_GROUP,
        .sums = product->output + row * product->columns + column,
        .sums_step = product->columns,
    };
    for (int n = 0; n < columns; n++) {
        tile.weights[n].bytes = product->weights + (column + n) * (whole / 2);
        tile.weights[n].scales = product->scales + (column + n) * blocks->count;
        tile.weights[n].zeros =
            product->zeros == NULL ? NULL : product->zeros + (column + n) * divide_up(blocks->count, 2);
    }
    return tile;
}

static void
add_bias(const NibbleProduct *product, int64_t first, int64_t end)
{
    for (int64_t row = 0; product->bias != NULL && row < product->rows; row++) {
        for (int64_t column = first; column < end; column++) {
            product->output[row * product->columns + column] += product->bias[column];
        }
    }
}

/* Few rows meet all weights of the part, before the next rows do: they stay in the cache. */
static void
multiply_part(void *context, int64_t part)
{
    const NibbleProduct *product = context;
    int64_t first = part * product->part_columns;
    int64_t end = smaller_of(first + product->part_columns, product->columns);
    NibbleShape shape = {.rows = 1, .columns = 1};
    for (int64_t row = 0; row < product->rows; row += shape.rows) {
        for (int64_t column = first; column < end; column += shape.columns) {
            shape = nibble_microkernel(product->rows - row, end - column);
            NibbleTile tile = tile_at(product, row, column, shape.columns);
            shape.kernel(&tile);
        }
    }
    add_bias(product, first, end);
}

static void
arrange_rows(const KernelContext *context, const NibbleProduct *product, float *ret_rows)
{
    int64_t depth = product->blocks.row;
    int64_t whole = product->blocks.count * product->blocks.size;
    for (int64_t row = 0; row < product->rows; row++) {
        nibble_arrange(
            (const float *)context->inputs[A].data + row * depth, depth, whole, ret_rows + row * whole);
    }
}

static bool
has_input(const Node *node, uint32_t index)
{
    return index < node->input_count && node->inputs[index].node != NODE_NONE;
}

static bool
blocks_supports(const Node *node)
{
    return node->input_dtypes[A] == DTYPE_FLOAT32 && node->input_dtypes[SCALES] == DTYPE_FLOAT32 &&
           (!has_input(node, ZERO_POINTS) || node->input_dtypes[ZERO_POINTS] == DTYPE_UINT8) &&
           !has_input(node, G_IDX) && (!has_input(node, BIAS) || node->input_dtypes[BIAS] == DTYPE_FLOAT32) &&
           node_attr_int(node, "bits") == 4 && node_attr_int(node, "block_size") % NIBBLE_GROUP == 0 &&
           node_attr_int(node, "weight_prepacked") == 0;
}

static void
plan_parts(NibbleProduct *product)
{
    int64_t work = product->rows * product->blocks.row * PART_COLUMNS;
    product->part_columns = PART_COLUMNS * (work >= PART_WORK ? 1 : divide_up(PART_WORK, work));
}

static Status
blocks_compute(KernelContext *context)
{
    Shape shape;
    AUTO_TENSOR rows = {0};
    Tensor *output = NULL;
    NibbleProduct product = {.columns = node_attr_int(context->node, "N")};
    TRY(output_shapes(context, &shape));
    TRY(weight_blocks_read(context->call, context->node, node_attr_int(context->node, "K"), &product.blocks));
    TRY(kernel_output(context, 0, DTYPE_FLOAT32, &shape, &output));
    product.rows = tensor_element_count(&context->inputs[A]) / product.blocks.row;
    if (product.rows == 0) {
        return STATUS_OK;
    }
    int64_t whole = product.blocks.count * product.blocks.size;
    TRY(scratch_bytes(context, product.rows * whole, sizeof(float), &rows));
    arrange_rows(context, &product, rows.data);
    product.a = rows.data;
    product.weights = context->inputs[B].data;
    product.scales = context->inputs[SCALES].data;
    product.zeros = has_input(context->node, ZERO_POINTS) ? context->inputs[ZERO_POINTS].data : NULL;
    product.bias = has_input(context->node, BIAS) ? context->inputs[BIAS].data : NULL;
    product.output = output->data;
    plan_parts(&product);
    context->device->parallel_for(
        context->device, divide_up(product.columns, product.part_columns), multiply_part, &product);
    return STATUS_OK;
}

static uint64_t
blocks_scratch(const KernelForecast *told)
{
    WeightBlocks blocks;
    int64_t depth = node_attr_int(told->shapes.node, "K");
    int64_t count = 0;
    if (weight_blocks_read(told->call, told->shapes.node, depth, &blocks) != STATUS_OK ||
        !shape_element_count(&told->shapes.inputs[A], &count)) {
        return 0;
    }
    return (uint64_t)(count / depth) * (uint64_t)(blocks.count * blocks.size) * sizeof(float);
}

static const Kernel blocks_matmul_kernels[] = {
    {.op = "com.microsoft::MatMulNBits",
        .supports = blocks_supports,
        .compute = blocks_compute,
        .scratch = blocks_scratch},
};

KERNEL_FAMILY(cpu_kernels, blocks_matmul, blocks_matmul_kernels);
