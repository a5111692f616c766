/* Weights that are packed in blocks. com.microsoft::MatMulNBits: rows of weights are unpacked one by one,
 * while they are multiplied with all rows of A, so that the weights never are in memory as floats. Sums go
 * over lanes in a fixed order: a row of the output has the same bits alone and among others, on any number of
 * threads. */
#include "shared/ops/quantize/blocks_rule.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum {
    A,
    B,
    SCALES,
    ZERO_POINTS,
    G_IDX,
    BIAS,
    LANES = 16,
    ROWS_MIN = 16,  /* of weights, which one part unpacks one after the other into room of its own */
    PARTS_MAX = 64, /* so that the room stays small beside the weights */
};

typedef struct BlockProduct {
    WeightBlocks blocks;
    const float *a;
    const uint8_t *weights;
    const float *scales;
    const uint8_t *zero_bytes; /* NULL: in zeros, or all in the middle */
    const float *zeros;        /* NULL: in zero_bytes, or all in the middle */
    const int32_t *groups;     /* the block that gives an element its scale; NULL: its own */
    const float *bias;         /* NULL: none */
    int64_t batch;             /* rows of A */
    int64_t rows;              /* of weights */
    int64_t part_rows;         /* of a part */
    float *room;               /* a row of whole blocks for each part */
    float *output;
} BlockProduct;

static float
zero_of(const BlockProduct *product, int64_t row, int64_t block)
{
    enum { BYTE = 8 };
    const WeightBlocks *blocks = &product->blocks;
    if (product->zero_bytes != NULL) {
        int64_t bytes = (blocks->count * blocks->bits + BYTE - 1) / BYTE;
        return (float)packed_at(product->zero_bytes + row * bytes, blocks->bits, block);
    }
    return product->zeros != NULL ? product->zeros[row * blocks->count + block]
                                  : (float)packed_middle(blocks->bits);
}

static void
unpack_bytes(const uint8_t *bytes, int64_t bits, int64_t count, float *ret_numbers)
{
    enum { NIBBLE = 4, LOW = 15 };
    for (int64_t n = 0; bits == NIBBLE && n < count / 2; n++) {
        ret_numbers[2 * n] = (float)(bytes[n] & LOW);
        ret_numbers[2 * n + 1] = (float)(bytes[n] >> NIBBLE);
    }
    for (int64_t n = 0; bits != NIBBLE && n < count; n++) {
        ret_numbers[n] = (float)packed_at(bytes, bits, n);
    }
}

/* Makes the floats of a row of weights; elements behind its end are left as they come. */
static void
unpack_row(const BlockProduct *product, int64_t row, float *ret_numbers)
{
    enum { BYTE = 8 };
    const WeightBlocks *blocks = &product->blocks;
    const uint8_t *bytes = product->weights + row * blocks->count * (blocks->size * blocks->bits / BYTE);
    unpack_bytes(bytes, blocks->bits, blocks->count * blocks->size, ret_numbers);
    if (product->groups != NULL) {
        for (int64_t k = 0; k < blocks->row; k++) {
            int64_t block = product->groups[k];
            ret_numbers[k] = (ret_numbers[k] - zero_of(product, row, block)) *
                             product->scales[row * blocks->count + block];
        }
        return;
    }
    for (int64_t block = 0; block < blocks->count; block++) {
        float zero = zero_of(product, row, block);
        float scale = product->scales[row * blocks->count + block];
        float *numbers = ret_numbers + block * blocks->size;
        for (int64_t n = 0; n < blocks->size; n++) {
            numbers[n] = (numbers[n] - zero) * scale;
        }
    }
}

static float
multiply_rows(const float *a, const float *b, int64_t count)
{
    float lanes[LANES] = {0};
    float sum = 0;
    int64_t whole = count / LANES * LANES;
    for (int64_t n = 0; n < whole; n += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            lanes[lane] += a[n + lane] * b[n + lane];
        }
    }
    for (int lane = 0; lane < LANES; lane++) {
        sum += lanes[lane];
    }
    for (int64_t n = whole; n < count; n++) {
        sum += a[n] * b[n];
    }
    return sum;
}

static void
multiply_part(void *context, int64_t part)
{
    const BlockProduct *product = context;
    int64_t depth = product->blocks.row;
    float *row = product->room + part * product->blocks.count * product->blocks.size;
    int64_t first = part * product->part_rows;
    int64_t end = first + product->part_rows < product->rows ? first + product->part_rows : product->rows;
    for (int64_t n = first; n < end; n++) {
        unpack_row(product, n, row);
        for (int64_t m = 0; m < product->batch; m++) {
            float sum = multiply_rows(product->a + m * depth, row, depth);
            product->output[m * product->rows + n] = sum + (product->bias == NULL ? 0 : product->bias[n]);
        }
    }
}

static Status
check_groups(Call *call, const BlockProduct *product)
{
    for (int64_t k = 0; product->groups != NULL && k < product->blocks.row; k++) {
        if (product->groups[k] < 0 || product->groups[k] >= product->blocks.count) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "g_idx[%lld] is %d, not 0 to %lld", (long long)k,
                product->groups[k], (long long)product->blocks.count - 1);
        }
    }
    return STATUS_OK;
}

/* The floating inputs as float32, which need no copy when they are. */
typedef struct Floats {
    Tensor tensors[BIAS + 1];
} Floats;

static void
floats_done(Floats *floats)
{
    for (size_t index = 0; index < COUNT_OF(floats->tensors); index++) {
        tensor_unref(&floats->tensors[index]);
    }
}

static Status
floats_of(KernelContext *context, uint32_t index, Floats *floats, const float **ret_numbers)
{
    if (index >= context->input_count || !dtype_is_floating(context->inputs[index].dtype)) {
        return STATUS_OK;
    }
    TRY(scratch_floats(context, &context->inputs[index], &floats->tensors[index]));
    *ret_numbers = floats->tensors[index].data;
    return STATUS_OK;
}

static bool
has_input(const KernelContext *context, uint32_t index, Dtype dtype)
{
    return index < context->input_count && context->inputs[index].dtype == dtype;
}

static Status
read_inputs(KernelContext *context, Floats *floats, BlockProduct *product)
{
    TRY(weight_blocks_read(
        context->call, context->node, node_attr_int(context->node, "K"), &product->blocks));
    product->rows = node_attr_int(context->node, "N");
    product->batch = tensor_element_count(&context->inputs[A]) / product->blocks.row;
    product->weights = context->inputs[B].data;
    TRY(floats_of(context, A, floats, &product->a));
    TRY(floats_of(context, SCALES, floats, &product->scales));
    TRY(floats_of(context, ZERO_POINTS, floats, &product->zeros));
    TRY(floats_of(context, BIAS, floats, &product->bias));
    if (has_input(context, ZERO_POINTS, DTYPE_UINT8)) {
        product->zero_bytes = context->inputs[ZERO_POINTS].data;
    }
    if (has_input(context, G_IDX, DTYPE_INT32)) {
        product->groups = context->inputs[G_IDX].data;
    }
    return check_groups(context->call, product);
}

static bool
matmul_supports(const Node *node)
{
    bool has_zeros = node->input_count > ZERO_POINTS && node->inputs[ZERO_POINTS].node != NODE_NONE;
    return dtype_is_floating(node->input_dtypes[A]) && dtype_is_floating(node->input_dtypes[SCALES]) &&
           node_attr_int(node, "weight_prepacked") == 0 &&
           (!has_zeros || node->input_dtypes[ZERO_POINTS] == DTYPE_UINT8 ||
               dtype_is_floating(node->input_dtypes[ZERO_POINTS]));
}

static Status
matmul_compute(KernelContext *context)
{
    Shape shape;
    AUTO_TENSOR room = {0};
    AUTO_TENSOR output = {0};
    CLEANUP(floats_done) Floats floats = {0};
    BlockProduct product = {0};
    TRY(output_shapes(context, &shape));
    TRY(read_inputs(context, &floats, &product));
    product.part_rows = (product.rows + PARTS_MAX - 1) / PARTS_MAX;
    product.part_rows = product.part_rows < ROWS_MIN ? ROWS_MIN : product.part_rows;
    int64_t parts = (product.rows + product.part_rows - 1) / product.part_rows;
    TRY(scratch_bytes(
        context, parts, (size_t)(product.blocks.count * product.blocks.size) * sizeof(float), &room));
    TRY(scratch_new(context, DTYPE_FLOAT32, &shape, &output));
    product.room = room.data;
    product.output = output.data;
    if (product.batch > 0) {
        context->device->parallel_for(context->device, parts, multiply_part, &product);
    }
    return scratch_finish(context, 0, &output);
}

static bool
unpack_supports(const Node *node)
{
    bool has_zeros = node->input_count > 2 && node->inputs[2].node != NODE_NONE;
    return dtype_is_floating(node->input_dtypes[1]) && (!has_zeros || node->input_dtypes[2] == DTYPE_UINT8);
}

/* Unpacks rows, each with scales of its own. */
static Status
unpack_compute(KernelContext *context)
{
    enum { PACKED, ROW_SCALES, ROW_ZEROS };
    Shape shape;
    AUTO_TENSOR scales = {0};
    AUTO_TENSOR output = {0};
    TRY(output_shapes(context, &shape));
    TRY(scratch_cast(context, &context->inputs[ROW_SCALES], DTYPE_FLOAT32, &scales));
    TRY(scratch_new(context, DTYPE_FLOAT32, &shape, &output));
    BlockProduct rows = {.scales = scales.data};
    if (has_input(context, ROW_ZEROS, DTYPE_UINT8)) {
        rows.zero_bytes = context->inputs[ROW_ZEROS].data;
    }
    int64_t row = shape.dims[shape.rank - 1];
    int64_t bytes = context->inputs[PACKED].shape.dims[shape.rank - 1];
    TRY(weight_blocks_read(context->call, context->node, row, &rows.blocks));
    for (int64_t n = 0; n < tensor_element_count(&output); n++) {
        int64_t block = n % row / rows.blocks.size;
        const uint8_t *packed = (const uint8_t *)context->inputs[PACKED].data + n / row * bytes;
        float number = (float)packed_at(packed, rows.blocks.bits, n % row);
        ((float *)output.data)[n] =
            (number - zero_of(&rows, n / row, block)) * rows.scales[n / row * rows.blocks.count + block];
    }
    return scratch_finish(context, 0, &output);
}

static const Kernel quantize_blocks_kernels[] = {
    {.op = "com.microsoft::_UnpackBlocks", .supports = unpack_supports, .compute = unpack_compute},
    {.op = "com.microsoft::MatMulNBits", .supports = matmul_supports, .compute = matmul_compute},
};

KERNEL_FAMILY(reference, quantize_blocks, quantize_blocks_kernels);
