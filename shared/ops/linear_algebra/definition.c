/* Square matrices in batches: inverses, determinants, decompositions, equations. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static Status
check_matrix(Call *call, const InferContext *context, uint32_t input)
{
    int rank = context->inputs[input].rank;
    return rank == 0 || rank == 1 ? call_fail(call, STATUS_INVALID_ARGUMENT, "rank %d is no matrix", rank)
                                  : STATUS_OK;
}

/* Reads the shape of input 0, whose last two dimensions must be equal; a rank of -1 when that is not
 * known. */
static Status
read_square(Call *call, const InferContext *context, Shape *ret_shape)
{
    Shape shape = context->inputs[0];
    TRY(check_matrix(call, context, 0));
    if (shape.rank >= 2) {
        int64_t *rows = &shape.dims[shape.rank - 2];
        TRY(infer_equal(call, rows[0], rows[1], "the size of a square matrix", &rows[0]));
        rows[1] = rows[0];
    }
    *ret_shape = shape;
    return STATUS_OK;
}

static Status
infer_square(Call *call, InferContext *context)
{
    return read_square(call, context, &context->outputs[0]);
}

static Status
infer_determinant(Call *call, InferContext *context)
{
    Shape shape;
    TRY(read_square(call, context, &shape));
    shape.rank = shape.rank < 0 ? -1 : shape.rank - 2;
    for (uint32_t index = 0; index < context->node->output_count; index++) {
        context->outputs[index] = shape;
    }
    return STATUS_OK;
}

/* The right sides have the batch of the matrix, and as many rows. */
static Status
infer_solve(Call *call, InferContext *context)
{
    Shape square;
    Shape right = context->inputs[1];
    TRY(read_square(call, context, &square));
    TRY(check_matrix(call, context, 1));
    if (square.rank < 0 || right.rank < 0) {
        return STATUS_OK;
    }
    Shape expected = square;
    expected.dims[expected.rank - 1] = -1;
    if (!shape_merge(&expected, &right, &right)) {
        char left_text[SHAPE_TEXT_SIZE];
        char right_text[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "right sides of shape %s do not fit a matrix of shape %s",
            shape_text(&context->inputs[1], right_text), shape_text(&square, left_text));
    }
    context->outputs[0] = right;
    return STATUS_OK;
}

/* Eigenvalues, and the vectors, which are empty when they are not computed. */
static Status
infer_eigen(Call *call, InferContext *context)
{
    Shape square;
    TRY(read_square(call, context, &square));
    context->outputs[1] = node_attr_bool(context->node, "compute_v") ? square : shape_vector(0);
    square.rank = square.rank < 0 ? -1 : square.rank - 1;
    context->outputs[0] = square;
    return STATUS_OK;
}

static Shape
matrix_like(const Shape *shape, int64_t rows, int64_t columns)
{
    Shape matrix = *shape;
    matrix.dims[shape->rank - 2] = rows;
    matrix.dims[shape->rank - 1] = columns;
    return matrix;
}

static Status
infer_svd(Call *call, InferContext *context)
{
    const Shape *input = &context->inputs[0];
    TRY(check_matrix(call, context, 0));
    if (input->rank < 2) {
        return STATUS_OK;
    }
    int64_t rows = input->dims[input->rank - 2];
    int64_t columns = input->dims[input->rank - 1];
    int64_t least = rows < columns ? rows : columns; /* -1 when one is not known */
    bool is_full = node_attr_bool(context->node, "full_matrices");
    context->outputs[0] = *input;
    context->outputs[0].rank--;
    context->outputs[0].dims[input->rank - 2] = least;
    context->outputs[1] = matrix_like(input, rows, is_full ? rows : least);
    context->outputs[2] = matrix_like(input, columns, is_full ? columns : least);
    if (!node_attr_bool(context->node, "compute_uv")) {
        context->outputs[1] = shape_vector(0);
        context->outputs[2] = shape_vector(0);
    }
    return STATUS_OK;
}

static const OpDefinition linear_algebra_ops[] = {
    OP("Cholesky(input:T)->(output:T) {T:type}", 0, infer_square),
    OP("MatrixInverse(input:T)->(output:T) {adjoint:bool=false, T:type}", 0, infer_square),
    OP("MatrixDeterminant(input:T)->(output:T) {T:type}", 0, infer_determinant),
    OP("LogMatrixDeterminant(input:T)->(sign:T, log_abs_determinant:T) {T:type}", 0, infer_determinant),
    OP("MatrixSolve(matrix:T, rhs:T)->(output:T) {adjoint:bool=false, T:type}", 0, infer_solve),
    OP("MatrixTriangularSolve(matrix:T, rhs:T)->(output:T) {lower:bool=true, adjoint:bool=false, T:type}", 0,
        infer_solve),
    OP("SelfAdjointEigV2(input:T)->(e:T, v:T) {compute_v:bool=true, T:type}", 0, infer_eigen),
    OP("Svd(input:T)->(s:T, u:T, v:T) {compute_uv:bool=true, full_matrices:bool=false, T:type}", 0,
        infer_svd),
};

OP_FAMILY(linear_algebra, linear_algebra_ops);
