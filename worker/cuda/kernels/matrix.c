/* Square matrices in batches. The ops' own rules check shapes. */
#include "worker/cuda/kernels/matrix.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/operands/abreast.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/run.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

static bool
supports_wide_floats(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32 || node->input_dtypes[0] == DTYPE_FLOAT64;
}

typedef struct Room {
    Tensor work;
    Tensor solution;
    Tensor rows;
} Room;

static void
release_room(Room *room)
{
    tensor_unref(&room->work);
    tensor_unref(&room->solution);
    tensor_unref(&room->rows);
}
#define AUTO_ROOM CLEANUP(release_room) Room

static Status
make_room(KernelContext *context, CudaSquares *squares, Room *ret_room)
{
    int64_t area = squares->size * squares->size;
    int64_t sides = squares->size * squares->columns;
    int64_t numbers = area + sides + squares->size;
    squares->abreast = count_abreast(squares->count, (size_t)numbers * sizeof(double));
    Shape work = shape_vector(squares->abreast * area);
    Shape solution = shape_vector(squares->abreast * sides);
    Shape rows = shape_vector(squares->abreast * squares->size);
    TRY(scratch_new(context, DTYPE_FLOAT64, &work, &ret_room->work));
    TRY(scratch_new(context, DTYPE_FLOAT64, &solution, &ret_room->solution));
    TRY(scratch_new(context, DTYPE_INT64, &rows, &ret_room->rows));
    squares->work = ret_room->work.data;
    squares->solution = ret_room->solution.data;
    squares->rows = ret_room->rows.data;
    return STATUS_OK;
}

/* Makes the outputs. */
static Status
make_outputs(KernelContext *context, CudaSquares *squares)
{
    enum { OUTPUTS = 2 };
    Shape shapes[OUTPUTS];
    Tensor *output = NULL;
    TRY(output_shapes(context, shapes));
    for (uint32_t index = 0; index < context->output_count; index++) {
        TRY(kernel_output(context, index, context->node->output_dtypes[index], &shapes[index], &output));
    }
    squares->output = context->outputs[0].data;
    squares->second = context->output_count > 1 ? context->outputs[1].data : NULL;
    return STATUS_OK;
}

/* `columns`: of the right sides. */
static Status
run_task(
    KernelContext *context, CudaMatrixTask task, const Tensor *right, int64_t columns, bool is_transposed)
{
    const Tensor *input = &context->inputs[0];
    const Shape *shape = &input->shape;
    CudaSquares squares = {.input = input->data,
        .right = right == NULL ? NULL : right->data,
        .count = 1,
        .size = shape->dims[shape->rank - 1],
        .columns = columns,
        .is_transposed = is_transposed};
    AUTO_ROOM room = {0};
    for (int dimension = 0; dimension < shape->rank - 2; dimension++) {
        squares.count *= shape->dims[dimension];
    }
    TRY(make_outputs(context, &squares));
    if (squares.output == NULL) {
        return STATUS_OK;
    }
    TRY(cuda_blame(context, CUDA_REFUSES_MATRIX, &squares.blame));
    TRY(make_room(context, &squares, &room));
    int error = cuda_squares(task, cuda_type(input->dtype), &squares, cuda_stream(context));
    return cuda_check(context->call, error, "a kernel of matrices");
}

static int64_t
last_dimension(const KernelContext *context, uint32_t input)
{
    const Shape *shape = &context->inputs[input].shape;
    return shape->dims[shape->rank - 1];
}

/* A column of a factor takes as much room as a right side. */
static Status
cholesky_compute(KernelContext *context)
{
    return run_task(context, CUDA_MATRIX_CHOLESKY, NULL, 1, false);
}

static Status
determinant_compute(KernelContext *context)
{
    return run_task(context, CUDA_MATRIX_DETERMINANT, NULL, 0, false);
}

static Status
log_determinant_compute(KernelContext *context)
{
    return run_task(context, CUDA_MATRIX_LOG_DETERMINANT, NULL, 0, false);
}

static Status
inverse_compute(KernelContext *context)
{
    return run_task(context, CUDA_MATRIX_INVERSE, NULL, last_dimension(context, 0),
        node_attr_bool(context->node, "adjoint"));
}

static Status
solve_compute(KernelContext *context)
{
    return run_task(context, CUDA_MATRIX_SOLVE, &context->inputs[1], last_dimension(context, 1),
        node_attr_bool(context->node, "adjoint"));
}

static Status
triangular_solve_compute(KernelContext *context)
{
    bool is_adjoint = node_attr_bool(context->node, "adjoint");
    bool is_lower = node_attr_bool(context->node, "lower") != is_adjoint;
    return run_task(context, is_lower ? CUDA_MATRIX_SOLVE_LOWER : CUDA_MATRIX_SOLVE_UPPER,
        &context->inputs[1], last_dimension(context, 1), is_adjoint);
}

static const Kernel matrix_kernels[] = {
    {.op = "Cholesky", .supports = supports_wide_floats, .compute = cholesky_compute},
    {.op = "MatrixDeterminant", .supports = supports_wide_floats, .compute = determinant_compute},
    {.op = "LogMatrixDeterminant", .supports = supports_wide_floats, .compute = log_determinant_compute},
    {.op = "MatrixInverse", .supports = supports_wide_floats, .compute = inverse_compute},
    {.op = "MatrixSolve", .supports = supports_wide_floats, .compute = solve_compute},
    {.op = "MatrixTriangularSolve", .supports = supports_wide_floats, .compute = triangular_solve_compute},
};

KERNEL_FAMILY(cuda_kernels, matrix, matrix_kernels);
