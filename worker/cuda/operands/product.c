#include "worker/cuda/operands/product.h"

#include <assert.h>

static int
batch_rank(const Shape *shape)
{
    return shape->rank > 2 ? shape->rank - 2 : 0;
}

/* Returns the input's matrices with their steps, as they are or transposed. A vector is one row on the left,
 * one column on the right. */
static CudaMatrix
read_matrix(const Tensor *tensor, bool is_transposed, bool is_left, int rank)
{
    const Shape *shape = &tensor->shape;
    int64_t rows = shape->rank == 1 ? (is_left ? 1 : shape->dims[0]) : shape->dims[shape->rank - 2];
    int64_t columns = shape->rank == 1 && !is_left ? 1 : shape->dims[shape->rank - 1];
    CudaMatrix matrix = {
        .data = tensor->data,
        .row_step = is_transposed ? 1 : columns,
        .column_step = is_transposed ? columns : 1,
    };
    int64_t step = rows * columns;
    int own = batch_rank(shape);
    for (int dimension = rank - 1; dimension >= 0; dimension--) {
        int axis = dimension - (rank - own);
        int64_t size = axis < 0 ? 1 : shape->dims[axis];
        matrix.batch_steps[dimension] = size == 1 ? 0 : step;
        step *= size;
    }
    return matrix;
}

static void
read_batches(const Shape *a, const Shape *b, CudaProduct *product)
{
    int left = batch_rank(a);
    int right = batch_rank(b);
    product->batch_rank = left > right ? left : right;
    for (int dimension = 0; dimension < product->batch_rank; dimension++) {
        int a_axis = dimension - (product->batch_rank - left);
        int b_axis = dimension - (product->batch_rank - right);
        int64_t a_size = a_axis < 0 ? 1 : a->dims[a_axis];
        int64_t b_size = b_axis < 0 ? 1 : b->dims[b_axis];
        product->batch_sizes[dimension] = a_size == 1 ? b_size : a_size;
    }
}

static void
read_sizes(const Shape *a, bool transposes_a, const Shape *b, bool transposes_b, CudaProduct *product)
{
    int64_t rows = a->rank == 1 ? 1 : a->dims[a->rank - 2];
    int64_t columns = a->dims[a->rank - 1];
    product->rows = transposes_a ? columns : rows;
    product->depth = transposes_a ? rows : columns;
    product->columns = b->rank == 1 ? 1 : b->dims[b->rank - (transposes_b ? 2 : 1)];
}

/* Makes one product of a batch with a single matrix on the right: all matrices on the left become its
 * rows. */
static void
merge_batches(const Shape *a, bool transposes_a, const Shape *b, CudaProduct *product)
{
    if (batch_rank(b) > 0 || transposes_a || batch_rank(a) == 0) {
        return;
    }
    for (int dimension = 0; dimension < product->batch_rank; dimension++) {
        product->rows *= product->batch_sizes[dimension];
    }
    product->batch_rank = 0;
}

CudaProduct
operands_product(const Tensor *a, bool transposes_a, const Tensor *b, bool transposes_b)
{
    CudaProduct product = {.alpha = 1};
    read_batches(&a->shape, &b->shape, &product);
    assert(product.batch_rank <= CUDA_BATCH_RANK_MAX);
    product.a = read_matrix(a, transposes_a, true, product.batch_rank);
    product.b = read_matrix(b, transposes_b, false, product.batch_rank);
    read_sizes(&a->shape, transposes_a, &b->shape, transposes_b, &product);
    merge_batches(&a->shape, transposes_a, &b->shape, &product);
    return product;
}
