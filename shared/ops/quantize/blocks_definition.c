/* ONNX Runtime's products with, and rows of, weights that are packed in blocks. */
#include "shared/ops/family.h"
#include "shared/ops/quantize/blocks_rule.h"

static const int64_t SIDE_MAX = (int64_t)1 << 40; /* no weights are so large; sums of sizes fit */

enum { A, B, SCALES, ZERO_POINTS, G_IDX, BIAS };

static Status
check_count(Call *call, const Shape *shape, int64_t expected, const char *what)
{
    int64_t count = 0;
    if (!shape_is_known(shape) || expected < 0) {
        return STATUS_OK;
    }
    if (!shape_element_count(shape, &count) || count != expected) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%s of shape %s have not %lld elements", what,
            shape_text(shape, text), (long long)expected);
    }
    return STATUS_OK;
}

/* Packed zero points begin a byte for each row; floating ones are as many as the scales. */
static Status
check_zero_points(Call *call, const InferContext *context, const WeightBlocks *blocks, int64_t rows)
{
    enum { BYTE = 8 };
    int64_t bytes = (blocks->count * blocks->bits + BYTE - 1) / BYTE;
    bool is_packed = context->node->input_dtypes[ZERO_POINTS] == DTYPE_UINT8;
    int64_t expected = 0;
    TRY(infer_multiply(call, rows, is_packed ? bytes : blocks->count, &expected));
    return check_count(call, &context->inputs[ZERO_POINTS], expected, "zero points");
}

static Status
check_matmul_inputs(Call *call, const InferContext *context, const WeightBlocks *blocks, int64_t rows)
{
    enum { BYTE = 8 };
    int64_t scales = 0;
    int64_t bytes = 0;
    TRY(infer_multiply(call, rows, blocks->count, &scales));
    TRY(infer_multiply(call, scales, blocks->size * blocks->bits / BYTE, &bytes));
    TRY(check_count(call, &context->inputs[B], bytes, "weights"));
    TRY(check_count(call, &context->inputs[SCALES], scales, "scales"));
    if (infer_has_input(context, ZERO_POINTS)) {
        TRY(check_zero_points(call, context, blocks, rows));
    }
    if (infer_has_input(context, BIAS)) {
        TRY(check_count(call, &context->inputs[BIAS], rows, "biases"));
    }
    /* ONNX Runtime pads g_idx to whole blocks. */
    const Shape *index = &context->inputs[G_IDX];
    return infer_has_input(context, G_IDX) && index->rank == 1 &&
                   index->dims[0] == blocks->count * blocks->size
               ? STATUS_OK
           : infer_has_input(context, G_IDX) ? check_count(call, index, blocks->row, "g_idx's numbers")
                                             : STATUS_OK;
}

/* A [..., K] by N rows of K packed weights. */
static Status
infer_matmul(Call *call, InferContext *context)
{
    int64_t depth = node_attr_int(context->node, "K");
    int64_t rows = node_attr_int(context->node, "N");
    int64_t same = 0;
    WeightBlocks blocks;
    Shape output = context->inputs[A];
    if (depth < 1 || rows < 1 || depth > SIDE_MAX || rows > SIDE_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "K is %lld and N is %lld, not 1 to %lld",
            (long long)depth, (long long)rows, (long long)SIDE_MAX);
    }
    TRY(weight_blocks_read(call, context->node, depth, &blocks));
    TRY(check_matmul_inputs(call, context, &blocks, rows));
    if (output.rank == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a scalar is no matrix");
    }
    if (output.rank > 0) {
        TRY(infer_equal(call, output.dims[output.rank - 1], depth, "the inner dimension", &same));
        output.dims[output.rank - 1] = rows;
        context->outputs[0] = output;
    }
    return output.rank > 0 ? infer_check_size(call, &output) : STATUS_OK;
}

/* Rows of packed numbers, with the scales and zero points of each. */
static Status
infer_unpack(Call *call, InferContext *context)
{
    Shape output = context->inputs[0];
    const Shape *scales = &context->inputs[1];
    WeightBlocks blocks;
    if (output.rank < 0) {
        return STATUS_OK;
    }
    if (output.rank == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a scalar is no row");
    }
    int64_t *row = &output.dims[output.rank - 1];
    TRY(weight_blocks_read(call, context->node, -1, &blocks));
    TRY(infer_multiply(call, *row, 8 / blocks.bits, row));
    TRY(weight_blocks_read(call, context->node, *row, &blocks));
    Shape counts = output;
    counts.dims[output.rank - 1] = blocks.count;
    if (shape_is_known(&counts) && shape_is_known(scales) && !shape_equal(&counts, scales)) {
        char text[SHAPE_TEXT_SIZE];
        char expected[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the scales have shape %s, not %s",
            shape_text(scales, text), shape_text(&counts, expected));
    }
    if (infer_has_input(context, 2)) {
        counts.dims[output.rank - 1] = blocks.count < 0 ? -1 : (blocks.count * blocks.bits + 7) / 8;
        int64_t expected = -1;
        TRY(shape_is_known(&counts) && !shape_element_count(&counts, &expected)
                ? call_fail(call, STATUS_RESOURCE_EXHAUSTED, "too many zero points")
                : STATUS_OK);
        TRY(check_count(call, &context->inputs[2], expected, "zero points"));
    }
    context->outputs[0] = output;
    return infer_check_size(call, &output);
}

static const OpDefinition quantize_blocks_ops[] = {
    OP("com.microsoft::MatMulNBits(A:T, B:uint8, scales:T1, zero_points?:Z, g_idx?:int32, bias?:T)->(Y:T) "
       "{K:int, N:int, accuracy_level:int=0, bits:int=4, block_size:int=32, weight_prepacked:int=0, T:type, "
       "T1:type, Z:type}",
        0, infer_matmul),
    OP("com.microsoft::_UnpackBlocks(data:uint8, scales:T, zero_points?:Z)->(output:T) "
       "{bits:int=4, block_size:int=128, T:type, Z:type}",
        0, infer_unpack),
};

OP_FAMILY(quantize_blocks, quantize_blocks_ops);
