/* Square matrices in batches, each decomposed in double. */
#include <math.h>

#include "shared/ops/linear_algebra/matrices.h"
#include "worker/reference/doubles.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

static bool
supports_floats(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32 || node->input_dtypes[0] == DTYPE_FLOAT64;
}

/* The inputs and outputs of a batch of square matrices, and their size. */
typedef struct Batch {
    Doubles doubles;
    Tensor work; /* one matrix, and the further memory that a routine needs */
    Tensor rows; /* int64: a permutation */
    int64_t count;
    int64_t size;    /* of a square matrix */
    int64_t columns; /* of the right sides */
} Batch;

static void
batch_close(Batch *batch)
{
    doubles_done(&batch->doubles);
    tensor_unref(&batch->work);
    tensor_unref(&batch->rows);
}
#define AUTO_BATCH CLEANUP(batch_close) Batch

static Status
batch_open(KernelContext *context, Batch *batch)
{
    TRY(doubles_begin(context, &batch->doubles));
    const Shape *shape = &context->inputs[0].shape;
    batch->size = shape->dims[shape->rank - 1];
    batch->count = 1;
    for (int index = 0; index < shape->rank - 2; index++) {
        batch->count *= shape->dims[index];
    }
    const Shape *right = &context->inputs[context->input_count - 1].shape;
    batch->columns = right->dims[right->rank - 1];
    Shape work = {.rank = 2, .dims = {batch->size, batch->size}};
    Shape rows = shape_vector(batch->size);
    TRY(scratch_new(context, DTYPE_FLOAT64, &work, &batch->work));
    return scratch_new(context, DTYPE_INT64, &rows, &batch->rows);
}

/* The most that any of these kernels takes: two matrices and a row of numbers. */
static uint64_t
scratch_for_matrix(const KernelForecast *told)
{
    const Shape *shape = &told->shapes.inputs[0];
    uint64_t size = (uint64_t)shape->dims[shape->rank - 1];
    return kernel_wide_size(told, KERNEL_WIDENS_ALL, KERNEL_WIDENS_ALL) +
           (2 * size * size + size) * sizeof(double);
}

/* Copies matrix n of input 0 into `work`, where it may be changed; transposed when asked to. */
static double *
load_matrix(const Batch *batch, int64_t n, bool is_transposed)
{
    int64_t size = batch->size;
    const double *from = &doubles_in(&batch->doubles, 0)[n * size * size];
    double *to = batch->work.data;
    for (int64_t k = 0; k < size * size; k++) {
        to[k] = is_transposed ? from[k % size * size + k / size] : from[k];
    }
    return to;
}

static Status
fail_singular(KernelContext *context, int64_t n)
{
    return call_fail(context->call, STATUS_INVALID_ARGUMENT, "matrix %lld is not invertible", (long long)n);
}

static void
fill_lower_triangle(double *matrix, int64_t size, double value)
{
    for (int64_t row = 0; row < size; row++) {
        for (int64_t column = 0; column < size; column++) {
            matrix[row * size + column] = column <= row ? value : 0;
        }
    }
}

/* A matrix that is not positive definite fails nobody's step: its factor is NaN, as TensorFlow's is. */
static Status
cholesky_compute(KernelContext *context)
{
    AUTO_BATCH batch = {0};
    TRY(batch_open(context, &batch));
    int64_t area = batch.size * batch.size;
    for (int64_t n = 0; n < batch.count && area > 0; n++) {
        double *matrix = load_matrix(&batch, n, false);
        if (!matrices_cholesky(matrix, batch.size)) {
            fill_lower_triangle(matrix, batch.size, NAN);
        }
        memcpy(&doubles_out(&batch.doubles, 0)[n * area], matrix, (size_t)area * sizeof *matrix);
    }
    return doubles_finish(context, &batch.doubles);
}

/* Combines the permutation's sign, the factors' signs, and the sum of the logarithms of their sizes. */
static double
log_determinant(const double *factors, int64_t size, int permutation, double *ret_sign)
{
    double sum = 0;
    double sign = permutation;
    for (int64_t k = 0; k < size; k++) {
        double factor = factors[k * (size + 1)];
        sum += log(fabs(factor));
        sign = factor < 0 ? -sign : sign;
    }
    *ret_sign = sign;
    return sum;
}

static Status
determinant_compute(KernelContext *context)
{
    AUTO_BATCH batch = {0};
    TRY(batch_open(context, &batch));
    for (int64_t n = 0; n < batch.count; n++) {
        double *matrix = load_matrix(&batch, n, false);
        double product = matrices_factor(matrix, batch.rows.data, batch.size);
        for (int64_t k = 0; k < batch.size; k++) {
            product *= matrix[k * (batch.size + 1)];
        }
        doubles_out(&batch.doubles, 0)[n] = product;
    }
    return doubles_finish(context, &batch.doubles);
}

static Status
log_determinant_compute(KernelContext *context)
{
    AUTO_BATCH batch = {0};
    TRY(batch_open(context, &batch));
    for (int64_t n = 0; n < batch.count; n++) {
        double *matrix = load_matrix(&batch, n, false);
        int permutation = matrices_factor(matrix, batch.rows.data, batch.size);
        doubles_out(&batch.doubles, 1)[n] =
            log_determinant(matrix, batch.size, permutation, &doubles_out(&batch.doubles, 0)[n]);
    }
    return doubles_finish(context, &batch.doubles);
}

/* The inverse solves for the unit vectors, which `right` then holds. */
static Status
solve_all(KernelContext *context, const Batch *batch, const double *right, int64_t right_step)
{
    bool is_adjoint = node_attr_bool(context->node, "adjoint");
    for (int64_t n = 0; n < batch->count && batch->size * batch->columns > 0; n++) {
        double *matrix = load_matrix(batch, n, is_adjoint);
        if (matrices_factor(matrix, batch->rows.data, batch->size) == 0) {
            return fail_singular(context, n);
        }
        matrices_solve(matrix, batch->rows.data, batch->size, &right[n * right_step],
            &doubles_out(&batch->doubles, 0)[n * batch->size * batch->columns], batch->columns);
    }
    return STATUS_OK;
}

static Status
inverse_compute(KernelContext *context)
{
    AUTO_BATCH batch = {0};
    AUTO_TENSOR unit = {0};
    TRY(batch_open(context, &batch));
    TRY(scratch_new(context, DTYPE_FLOAT64, &batch.work.shape, &unit));
    for (int64_t k = 0; k < batch.size * batch.size; k++) {
        ((double *)unit.data)[k] = k % (batch.size + 1) == 0 ? 1 : 0;
    }
    TRY(solve_all(context, &batch, unit.data, 0));
    return doubles_finish(context, &batch.doubles);
}

static Status
solve_compute(KernelContext *context)
{
    AUTO_BATCH batch = {0};
    TRY(batch_open(context, &batch));
    TRY(solve_all(context, &batch, doubles_in(&batch.doubles, 1), batch.size * batch.columns));
    return doubles_finish(context, &batch.doubles);
}

static Status
triangular_solve_compute(KernelContext *context)
{
    AUTO_BATCH batch = {0};
    TRY(batch_open(context, &batch));
    bool is_adjoint = node_attr_bool(context->node, "adjoint");
    bool is_lower = node_attr_bool(context->node, "lower") != is_adjoint;
    int64_t step = batch.size * batch.columns;
    for (int64_t n = 0; n < batch.count && step > 0; n++) {
        const double *matrix = load_matrix(&batch, n, is_adjoint);
        for (int64_t k = 0; k < batch.size; k++) {
            if (matrix[k * (batch.size + 1)] == 0) {
                return fail_singular(context, n);
            }
        }
        double *x = &doubles_out(&batch.doubles, 0)[n * step];
        memcpy(x, &doubles_in(&batch.doubles, 1)[n * step], (size_t)step * sizeof *x);
        matrices_solve_triangular(matrix, is_lower, batch.size, x, batch.columns);
    }
    return doubles_finish(context, &batch.doubles);
}

static Status
eigen_compute(KernelContext *context)
{
    AUTO_BATCH batch = {0};
    AUTO_TENSOR vectors = {0};
    TRY(batch_open(context, &batch));
    TRY(scratch_new(context, DTYPE_FLOAT64, &batch.work.shape, &vectors));
    bool keeps_vectors = node_attr_bool(context->node, "compute_v");
    int64_t area = batch.size * batch.size;
    for (int64_t n = 0; n < batch.count && area > 0; n++) {
        matrices_eigen(load_matrix(&batch, n, false), batch.size,
            &doubles_out(&batch.doubles, 0)[n * batch.size], vectors.data);
        if (keeps_vectors) {
            memcpy(&doubles_out(&batch.doubles, 1)[n * area], vectors.data, (size_t)area * sizeof(double));
        }
    }
    return doubles_finish(context, &batch.doubles);
}

static const Kernel linear_algebra_kernels[] = {
    {.op = "Cholesky",
        .supports = supports_floats,
        .compute = cholesky_compute,
        .scratch = scratch_for_matrix},
    {.op = "MatrixInverse",
        .supports = supports_floats,
        .compute = inverse_compute,
        .scratch = scratch_for_matrix},
    {.op = "MatrixDeterminant",
        .supports = supports_floats,
        .compute = determinant_compute,
        .scratch = scratch_for_matrix},
    {.op = "LogMatrixDeterminant",
        .supports = supports_floats,
        .compute = log_determinant_compute,
        .scratch = scratch_for_matrix},
    {.op = "MatrixSolve",
        .supports = supports_floats,
        .compute = solve_compute,
        .scratch = scratch_for_matrix},
    {.op = "MatrixTriangularSolve",
        .supports = supports_floats,
        .compute = triangular_solve_compute,
        .scratch = scratch_for_matrix},
    {.op = "SelfAdjointEigV2",
        .supports = supports_floats,
        .compute = eigen_compute,
        .scratch = scratch_for_matrix},
};

KERNEL_FAMILY(reference, linear_algebra, linear_algebra_kernels);
