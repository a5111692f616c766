/* Products of matrices and of batches of them. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* The last two dimensions of op(x): as they stand, or swapped. */
typedef struct MatrixSize {
    int64_t rows;
    int64_t columns;
} MatrixSize;

static MatrixSize
matrix_size(const Shape *shape, bool is_transposed)
{
    const int64_t rows = shape->dims[shape->rank - 2];
    const int64_t columns = shape->dims[shape->rank - 1];
    const MatrixSize size = {is_transposed ? columns : rows, is_transposed ? rows : columns};
    return size;
}

static Status
infer_matmul(Call *call, InferContext *context)
{
    const Node *node = context->node;
    Shape a;
    Shape b;
    TRY(infer_rank(call, context, 0, 2, &a));
    TRY(infer_rank(call, context, 1, 2, &b));
    const MatrixSize left = matrix_size(&a, node_attr_bool(node, "transpose_a"));
    const MatrixSize right = matrix_size(&b, node_attr_bool(node, "transpose_b"));
    int64_t depth = 0;
    TRY(infer_equal(call, left.columns, right.rows, "the inner dimension", &depth));
    context->outputs[0] = shape_of_rank(2);
    context->outputs[0].dims[0] = left.rows;
    context->outputs[0].dims[1] = right.columns;
    return STATUS_OK;
}

/* All dimensions but the last two. */
static Shape
batch_of(const Shape *shape)
{
    Shape batch = *shape;
    batch.rank = shape->rank - 2;
    return batch;
}

/* BatchMatMul wants equal batches and V2 broadcasts them: whoever fits the first fits the second, so the
 * first takes the rule of the second, as TensorFlow's kernels do. */
static Status
infer_batch_matmul(Call *call, InferContext *context)
{
    const Shape *x = &context->inputs[0];
    const Shape *y = &context->inputs[1];
    if (x->rank < 0 || y->rank < 0) {
        return STATUS_OK;
    }
    char left_text[SHAPE_TEXT_SIZE];
    char right_text[SHAPE_TEXT_SIZE];
    if (x->rank < 2 || y->rank < 2) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "shapes %s and %s are not both of matrices",
            shape_text(x, left_text), shape_text(y, right_text));
    }
    const MatrixSize left = matrix_size(x, node_attr_bool(context->node, "adj_x"));
    const MatrixSize right = matrix_size(y, node_attr_bool(context->node, "adj_y"));
    int64_t depth = 0;
    TRY(infer_equal(call, left.columns, right.rows, "the inner dimension", &depth));
    const Shape left_batch = batch_of(x);
    const Shape right_batch = batch_of(y);
    Shape result;
    if (!shape_broadcast(&left_batch, &right_batch, &result)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the batches of %s and %s do not broadcast",
            shape_text(x, left_text), shape_text(y, right_text));
    }
    result.dims[result.rank++] = left.rows;
    result.dims[result.rank++] = right.columns;
    context->outputs[0] = result;
    return STATUS_OK;
}

static const OpDefinition matmul_ops[] = {
    {"MatMul(a:T, b:T)->(product:T) {transpose_a:bool=false, transpose_b:bool=false, T:type}", 0,
        infer_matmul},
    {"BatchMatMul(x:T, y:T)->(output:T) {T:type, adj_x:bool=false, adj_y:bool=false}", 0, infer_batch_matmul},
    {"BatchMatMulV2(x:T, y:T)->(output:T) {T:type, adj_x:bool=false, adj_y:bool=false}", 0,
        infer_batch_matmul},
};

OP_FAMILY(matmul, matmul_ops);
