/* Products of matrices and of batches of them. */
#include "shared/ops/epilogue.h"
#include "shared/ops/family.h"
#include "shared/ops/infer.h"
#include "shared/ops/product.h"

static Status
infer_matmul(Call *call, InferContext *context)
{
    const Node *node = context->node;
    Shape a;
    Shape b;
    TRY(infer_rank(call, context, 0, 2, &a));
    TRY(infer_rank(call, context, 1, 2, &b));
    MatrixSize left = matrix_size(&a, node_attr_bool(node, "transpose_a"));
    MatrixSize right = matrix_size(&b, node_attr_bool(node, "transpose_b"));
    int64_t depth = 0;
    TRY(infer_equal(call, left.columns, right.rows, "the inner dimension", &depth));
    context->outputs[0] = shape_of_rank(2);
    context->outputs[0].dims[0] = left.rows;
    context->outputs[0].dims[1] = right.columns;
    return STATUS_OK;
}

/* BatchMatMul takes equal batches and V2 broadcasts them. BatchMatMul has the rule of V2, as TensorFlow's
 * kernels do: equal batches fit both. */
static Status
infer_batch_matmul(Call *call, InferContext *context)
{
    const Shape *x = &context->inputs[0];
    const Shape *y = &context->inputs[1];
    if (x->rank < 0 || y->rank < 0) {
        return STATUS_OK;
    }
    if (x->rank < 2 || y->rank < 2) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "shapes %s and %s are not both of matrices",
            shape_text(x, left), shape_text(y, right));
    }
    MatrixSize left = matrix_size(x, node_attr_bool(context->node, "adj_x"));
    MatrixSize right = matrix_size(y, node_attr_bool(context->node, "adj_y"));
    return product_of_sizes(call, x, y, &left, &right, &context->outputs[0]);
}

/* The columns of the product are the channels. */
static Status
infer_fused_matmul(Call *call, InferContext *context)
{
    TRY(infer_matmul(call, context));
    return epilogue_check(call, context, &context->outputs[0], 1);
}

static Status
infer_fused_batch_matmul(Call *call, InferContext *context)
{
    TRY(infer_batch_matmul(call, context));
    const Shape *product = &context->outputs[0];
    return product->rank < 0 ? STATUS_OK : epilogue_check(call, context, product, product->rank - 1);
}

/* A vector on the left is a row, on the right a column; the added dimension is dropped again (NumPy's
 * matmul). */
static Status
infer_onnx_matmul(Call *call, InferContext *context)
{
    Shape a = context->inputs[0];
    Shape b = context->inputs[1];
    if (a.rank < 0 || b.rank < 0) {
        return STATUS_OK;
    }
    if (a.rank == 0 || b.rank == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "scalars have no matrix product");
    }
    bool is_row = a.rank == 1;
    bool is_column = b.rank == 1;
    if (is_row) {
        a = (Shape){.rank = 2, .dims = {1, a.dims[0]}};
    }
    if (is_column) {
        b = (Shape){.rank = 2, .dims = {b.dims[0], 1}};
    }
    Shape result = shape_unknown();
    TRY(product_of_shapes(call, &a, &b, &result));
    if (is_column) {
        result.rank--;
    }
    if (is_row) {
        int row = result.rank - (is_column ? 1 : 2);
        result.rank--;
        for (int index = row; index < result.rank; index++) {
            result.dims[index] = result.dims[index + 1];
        }
    }
    context->outputs[0] = result;
    return STATUS_OK;
}

/* The shape of alpha op(A) op(B) + beta C, where C broadcasts to the product. */
static Status
infer_gemm(Call *call, InferContext *context)
{
    Shape a;
    Shape b;
    TRY(infer_rank(call, context, 0, 2, &a));
    TRY(infer_rank(call, context, 1, 2, &b));
    MatrixSize left = matrix_size(&a, node_attr_int(context->node, "transA") != 0);
    MatrixSize right = matrix_size(&b, node_attr_int(context->node, "transB") != 0);
    int64_t depth = 0;
    TRY(infer_equal(call, left.columns, right.rows, "the inner dimension", &depth));
    Shape product = shape_of_rank(2);
    product.dims[0] = left.rows;
    product.dims[1] = right.columns;
    context->outputs[0] = product;
    Shape sum;
    if (infer_has_input(context, 2) && shape_is_known(&product) && shape_is_known(&context->inputs[2]) &&
        (!shape_broadcast(&product, &context->inputs[2], &sum) || !shape_equal(&sum, &product))) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "C of shape %s does not broadcast to [%lld,%lld]",
            shape_text(&context->inputs[2], text), (long long)left.rows, (long long)right.columns);
    }
    return STATUS_OK;
}

static const OpDefinition matmul_ops[] = {
    OP("MatMul(a:T, b:T)->(product:T) {transpose_a:bool=false, transpose_b:bool=false, T:type, "
       "grad_a:bool=false, grad_b:bool=false}",
        0, infer_matmul),
    OP("BatchMatMul(x:T, y:T)->(output:T) {T:type, adj_x:bool=false, adj_y:bool=false, grad_x:bool=false, "
       "grad_y:bool=false}",
        0, infer_batch_matmul),
    OP("BatchMatMulV2(x:T, y:T)->(output:T) {T:type, adj_x:bool=false, adj_y:bool=false, grad_x:bool=false, "
       "grad_y:bool=false}",
        0, infer_batch_matmul),
    OP("onnx::MatMul(A:T, B:T)->(Y:T) {T:type}", 0, infer_onnx_matmul),
    OP("onnx::Gemm(A:T, B:T, C?:T)->(Y:T) {alpha:float=1, beta:float=1, transA:int=0, transB:int=0, T:type}",
        0, infer_gemm),
    OP("_FusedMatMul(a:T, b:T, args:num_args*T)->(product:T) {transpose_a:bool=false, "
       "transpose_b:bool=false, T:type, num_args:int, " EPILOGUE_ATTRIBUTES "}",
        0, infer_fused_matmul),
    OP("_FusedBatchMatMulV2(x:T, y:T, args:num_args*T)->(output:T) {adj_x:bool=false, adj_y:bool=false, "
       "T:type, num_args:int, " EPILOGUE_ATTRIBUTES "}",
        OP_INTERNAL, infer_fused_batch_matmul),
};

OP_FAMILY(matmul, matmul_ops);
