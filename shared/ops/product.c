#include "shared/ops/product.h"

#include <assert.h>

#include "shared/ops/infer.h"

MatrixSize
matrix_size(const Shape *shape, bool is_transposed)
{
    assert(shape->rank >= 2);
    int64_t rows = shape->dims[shape->rank - 2];
    int64_t columns = shape->dims[shape->rank - 1];
    MatrixSize size = {is_transposed ? columns : rows, is_transposed ? rows : columns};
    return size;
}

/* Returns all dimensions but the last two. */
static Shape
batch_of(const Shape *shape)
{
    assert(shape->rank >= 2);
    Shape batch = *shape;
    batch.rank = shape->rank - 2;
    return batch;
}

Status
product_of_sizes(Call *call, const Shape *x, const Shape *y, const MatrixSize *left, const MatrixSize *right,
    Shape *ret_result)
{
    int64_t depth = 0;
    TRY(infer_equal(call, left->columns, right->rows, "the inner dimension", &depth));
    Shape left_batch = batch_of(x);
    Shape right_batch = batch_of(y);
    Shape result;
    if (!shape_broadcast(&left_batch, &right_batch, &result)) {
        char left_text[SHAPE_TEXT_SIZE];
        char right_text[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the batches of %s and %s do not broadcast",
            shape_text(x, left_text), shape_text(y, right_text));
    }
    result.dims[result.rank++] = left->rows;
    result.dims[result.rank++] = right->columns;
    *ret_result = result;
    return infer_check_size(call, ret_result);
}

Status
product_of_shapes(Call *call, const Shape *x, const Shape *y, Shape *ret_result)
{
    MatrixSize left = matrix_size(x, false);
    MatrixSize right = matrix_size(y, false);
    return product_of_sizes(call, x, y, &left, &right, ret_result);
}
