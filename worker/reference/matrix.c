#include "worker/reference/matrix.h"

#include <assert.h>

#include "worker/reference/elements.h"

enum { BLOCK_COLUMNS = 64 };

typedef void (*MatrixLoop)(const MatrixProduct *product);

/* One row of the output is computed a block at a time: the inner loop runs along b's rows. */
#define MATRIX_LOOP(name, accumulator, upper, lower, storage, compute, read, write)                          \
    static void name##_##lower(const MatrixProduct *product)                                                 \
    {                                                                                                        \
        const storage *a = product->a.data;                                                                  \
        const storage *b = product->b.data;                                                                  \
        storage *output = product->output;                                                                   \
        for (int64_t row = 0; row < product->rows; row++) {                                                  \
            for (int64_t first = 0; first < product->columns; first += BLOCK_COLUMNS) {                      \
                int64_t left = product->columns - first;                                                     \
                int64_t width = left < BLOCK_COLUMNS ? left : BLOCK_COLUMNS;                                 \
                accumulator sums[BLOCK_COLUMNS] = {0};                                                       \
                for (int64_t k = 0; k < product->depth; k++) {                                               \
                    accumulator x =                                                                          \
                        (accumulator)read(a[row * product->a.row_step + k * product->a.column_step]);        \
                    const storage *y = &b[k * product->b.row_step + first * product->b.column_step];         \
                    for (int64_t column = 0; column < width; column++) {                                     \
                        sums[column] += x * (accumulator)read(y[column * product->b.column_step]);           \
                    }                                                                                        \
                }                                                                                            \
                for (int64_t column = 0; column < width; column++) {                                         \
                    output[row * product->columns + first + column] = write((compute)sums[column]);          \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }

FLOATING_ELEMENTS(MATRIX_LOOP, multiply, double)
WRAPPING_ELEMENTS(MATRIX_LOOP, multiply, uint64_t)
COMPLEX_ELEMENTS(MATRIX_LOOP, multiply, double complex)

static const MatrixLoop multiply_loops[DTYPE_COUNT] = {REAL_LOOPS(multiply) COMPLEX_LOOPS(multiply)};

bool
matrix_supports(Dtype dtype)
{
    return multiply_loops[dtype] != NULL;
}

static MatrixView
matrix_view(const Tensor *tensor, bool is_transposed)
{
    int64_t width = tensor->shape.dims[tensor->shape.rank - 1];
    MatrixView view = {
        .data = tensor->data,
        .row_step = is_transposed ? 1 : width,
        .column_step = is_transposed ? width : 1,
    };
    return view;
}

int64_t
matrix_of_batch(const Shape *input, const Shape *output, int64_t index)
{
    int64_t offset = 0;
    int64_t size = 1;
    for (int dimension = output->rank - 3; dimension >= 0; dimension--) {
        int64_t position = index % output->dims[dimension];
        index /= output->dims[dimension];
        int own = dimension - (output->rank - input->rank);
        if (own >= 0) {
            offset += input->dims[own] == 1 ? 0 : position * size;
            size *= input->dims[own];
        }
    }
    return offset;
}

static const void *
batch_data(const Tensor *input, const Shape *output, int64_t index)
{
    int rank = input->shape.rank;
    int64_t size = input->shape.dims[rank - 1] * input->shape.dims[rank - 2];
    int64_t offset = matrix_of_batch(&input->shape, output, index) * size;
    return (const char *)input->data + offset * (int64_t)dtype_size(input->dtype);
}

void
matrix_multiply_by(void (*multiply)(const void *context, const MatrixProduct *product), const void *context,
    const Tensor *const inputs[2], const bool transposes[2], Tensor *output)
{
    int64_t count = tensor_element_count(output);
    if (count == 0) {
        return;
    }
    assert(inputs[0]->shape.rank >= 2 && inputs[1]->shape.rank >= 2 && output->shape.rank >= 2);
    const Shape *shape = &output->shape;
    MatrixProduct product = {
        .a = matrix_view(inputs[0], transposes[0]),
        .b = matrix_view(inputs[1], transposes[1]),
        .output = output->data,
        .rows = shape->dims[shape->rank - 2],
        .columns = shape->dims[shape->rank - 1],
        .depth = inputs[0]->shape.dims[inputs[0]->shape.rank - (transposes[0] ? 2 : 1)],
    };
    int64_t size = product.rows * product.columns;
    for (int64_t index = 0; index < count / size; index++) {
        product.a.data = batch_data(inputs[0], shape, index);
        product.b.data = batch_data(inputs[1], shape, index);
        multiply(context, &product);
        product.output = (char *)product.output + size * (int64_t)dtype_size(output->dtype);
    }
}

static void
multiply_plainly(const void *context, const MatrixProduct *product)
{
    const Dtype *dtype = context;
    multiply_loops[*dtype](product);
}

void
matrix_multiply(const Tensor *a, bool transposes_a, const Tensor *b, bool transposes_b, Tensor *output)
{
    assert(a->dtype == output->dtype && b->dtype == output->dtype && matrix_supports(output->dtype));
    matrix_multiply_by(multiply_plainly, &output->dtype, (const Tensor *const[]){a, b},
        (const bool[]){transposes_a, transposes_b}, output);
}
