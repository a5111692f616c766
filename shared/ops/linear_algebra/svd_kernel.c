/* Singular values of matrices in batches. A wide matrix is decomposed as its transpose, with u and v
 * exchanged. */
#include "shared/ops/linear_algebra/matrices.h"
#include "worker/reference/doubles.h"
#include "worker/reference/scratch.h"

static bool
supports_floats(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32 || node->input_dtypes[0] == DTYPE_FLOAT64;
}

typedef struct Svd {
    int64_t rows; /* at least `columns`; of the matrix or of its transpose */
    int64_t columns;
    bool is_turned;
    Tensor tall;   /* [rows, columns]; later the first columns of the longer basis */
    Tensor square; /* [columns, columns]: the shorter basis */
    Tensor basis;  /* [rows, rows]: the longer basis, completed; none when nobody asks for bases */
} Svd;

static void
svd_close(Svd *svd)
{
    tensor_unref(&svd->tall);
    tensor_unref(&svd->square);
    tensor_unref(&svd->basis);
}
#define AUTO_SVD CLEANUP(svd_close) Svd

static Status
svd_open(KernelContext *context, Svd *svd, bool has_bases)
{
    const Shape *shape = &context->inputs[0].shape;
    int64_t rows = shape->dims[shape->rank - 2];
    int64_t columns = shape->dims[shape->rank - 1];
    svd->is_turned = rows < columns;
    svd->rows = svd->is_turned ? columns : rows;
    svd->columns = svd->is_turned ? rows : columns;
    Shape tall = {.rank = 2, .dims = {svd->rows, svd->columns}};
    Shape square = {.rank = 2, .dims = {svd->columns, svd->columns}};
    Shape basis = {.rank = 2, .dims = {svd->rows, svd->rows}};
    TRY(scratch_new(context, DTYPE_FLOAT64, &tall, &svd->tall));
    TRY(scratch_new(context, DTYPE_FLOAT64, &square, &svd->square));
    return has_bases ? scratch_new(context, DTYPE_FLOAT64, &basis, &svd->basis) : STATUS_OK;
}

static uint64_t
scratch_for_svd(const KernelForecast *told)
{
    const Shape *shape = &told->shapes.inputs[0];
    uint64_t rows = (uint64_t)shape->dims[shape->rank - 2];
    uint64_t columns = (uint64_t)shape->dims[shape->rank - 1];
    uint64_t most = rows > columns ? rows : columns;
    uint64_t least = rows + columns - most;
    return kernel_wide_size(told, KERNEL_WIDENS_ALL, KERNEL_WIDENS_ALL) +
           (most * least + least * least + most * most) * sizeof(double);
}

/* Columns with singular values above 0 are kept; the others are completed. */
static void
complete_basis(Svd *svd, const double *values)
{
    const double *tall = svd->tall.data;
    double *basis = svd->basis.data;
    int64_t count = 0;
    while (count < svd->columns && values[count] > 0) {
        count++;
    }
    for (int64_t row = 0; row < svd->rows; row++) {
        for (int64_t column = 0; column < count; column++) {
            basis[row * svd->rows + column] = tall[row * svd->columns + column];
        }
    }
    matrices_complete(basis, svd->rows, count);
}

static void
decompose_matrix(Svd *svd, const double *matrix, double *values)
{
    double *tall = svd->tall.data;
    for (int64_t k = 0; k < svd->rows * svd->columns; k++) {
        int64_t row = k / svd->columns;
        int64_t column = k % svd->columns;
        tall[k] = svd->is_turned ? matrix[column * svd->rows + row] : matrix[k];
    }
    matrices_svd(tall, svd->rows, svd->columns, values, svd->square.data);
}

/* Copies the first columns of a basis, as many as the output has. */
static void
store_basis(const Tensor *basis, Tensor *output, int64_t n)
{
    int64_t rows = output->shape.dims[output->shape.rank - 2];
    int64_t columns = output->shape.dims[output->shape.rank - 1];
    int64_t stride = basis->shape.dims[1];
    double *to = (double *)output->data + n * rows * columns;
    for (int64_t k = 0; k < rows * columns; k++) {
        to[k] = ((const double *)basis->data)[k / columns * stride + k % columns];
    }
}

static Status
compute_svd(KernelContext *context)
{
    AUTO_DOUBLES doubles = {0};
    AUTO_SVD svd = {0};
    bool has_bases = node_attr_bool(context->node, "compute_uv");
    TRY(doubles_begin(context, &doubles));
    TRY(svd_open(context, &svd, has_bases));
    int64_t area = svd.rows * svd.columns;
    int64_t count = area == 0 ? 0 : tensor_element_count(&context->inputs[0]) / area;
    for (int64_t n = 0; n < count; n++) {
        double *values = &doubles_out(&doubles, 0)[n * svd.columns];
        decompose_matrix(&svd, &doubles_in(&doubles, 0)[n * area], values);
        if (has_bases) {
            complete_basis(&svd, values);
            store_basis(&svd.basis, &doubles.outputs[svd.is_turned ? 2 : 1], n);
            store_basis(&svd.square, &doubles.outputs[svd.is_turned ? 1 : 2], n);
        }
    }
    return doubles_finish(context, &doubles);
}

static const Kernel svd_kernels[] = {
    {.op = "Svd", .supports = supports_floats, .compute = compute_svd, .scratch = scratch_for_svd},
};

KERNEL_FAMILY(reference, linear_algebra_svd, svd_kernels);
