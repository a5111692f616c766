#include "worker/cuda/blas/description.h"

#include <string.h>

/* Returns the largest power of two, at most 256, that divides the address. */
static int64_t
alignment_of(const void *address)
{
    enum { ALIGNMENT_MAX = 256 };
    uintptr_t bits = (uintptr_t)address | ALIGNMENT_MAX;
    return (int64_t)(bits & (~bits + 1));
}

/* Reads a row-major matrix of these sizes as a column-major one: as it lies its columns are our rows, unless
 * our rows are what is dense in memory. False: neither is. A step that is never taken (of a single row or
 * column) may be anything, but the library wants it to be as long as a column. */
static bool
read_matrix(const CudaMatrix *matrix, int64_t rows, int64_t columns, BlasMatrix *ret_matrix)
{
    bool is_dense = (matrix->column_step == 1 || columns == 1) && (matrix->row_step >= columns || rows == 1);
    bool is_turned = (matrix->row_step == 1 || rows == 1) && (matrix->column_step >= rows || columns == 1);
    if (!is_dense && !is_turned) {
        return false;
    }
    int64_t height = is_dense ? columns : rows;
    int64_t step = is_dense ? matrix->row_step : matrix->column_step;
    bool is_single = (is_dense ? rows : columns) == 1;
    *ret_matrix = (BlasMatrix){
        .rows = height,
        .columns = is_dense ? rows : columns,
        .step = is_single || step < height ? height : step,
        .is_transposed = !is_dense,
        .alignment = alignment_of(matrix->data),
    };
    return true;
}

/* Makes one dimension of all those of a batch. False when a matrix has no common step through them. */
static bool
merge_batches(const CudaProduct *product, const int64_t *steps, int64_t *ret_step)
{
    int64_t step = 0;
    int64_t next = 0; /* the step that continues the dimensions merged so far */
    bool is_first = true;
    for (int dimension = product->batch_rank - 1; dimension >= 0; dimension--) {
        int64_t size = product->batch_sizes[dimension];
        if (size == 1) {
            continue;
        }
        if (is_first) {
            step = steps[dimension];
        } else if (steps[dimension] != next) {
            return false;
        }
        next = steps[dimension] * size;
        is_first = false;
    }
    *ret_step = step;
    return true;
}

static int64_t
count_batches(const CudaProduct *product)
{
    int64_t count = 1;
    for (int dimension = 0; dimension < product->batch_rank; dimension++) {
        count *= product->batch_sizes[dimension];
    }
    return count;
}

static bool
is_size(int64_t size)
{
    return size >= 1 && size <= INT32_MAX;
}

static bool
read_operands(const CudaProduct *product, BlasDescription *description)
{
    return read_matrix(&product->b, product->depth, product->columns, &description->left) &&
           read_matrix(&product->a, product->rows, product->depth, &description->right) &&
           merge_batches(product, product->b.batch_steps, &description->left.batch_step) &&
           merge_batches(product, product->a.batch_steps, &description->right.batch_step) &&
           is_size(description->left.step) && is_size(description->right.step);
}

/* Gemm's C is a whole matrix, or with a beta of 1 a bias. */
static BlasRefusal
read_addend(const CudaProduct *product, BlasDescription *description, CudaEpilogue *rest)
{
    const CudaMatrix *c = &product->c;
    bool is_whole = (c->column_step == 1 || product->columns == 1) &&
                    (c->row_step == product->columns || product->rows == 1);
    description->c = description->output;
    if (c->data == NULL) {
        return BLAS_ACCEPTED;
    }
    if (is_whole) {
        description->has_c = 1;
        description->c.alignment = alignment_of(c->data);
        return BLAS_ACCEPTED;
    }
    if (c->row_step == 0 && c->column_step == 1 && product->beta == 1 && rest->bias == NULL) {
        rest->bias = c->data;
        return BLAS_ACCEPTED;
    }
    return BLAS_NO_ADDEND;
}

/* The library adds a bias while it stores the sums, of single products that are not in double precision; what
 * would come before the bias must be done by then. */
static void
take_bias(CudaType type, BlasDescription *description, CudaEpilogue *rest)
{
    if (rest->bias != NULL && type != CUDA_FLOAT64 && description->batch == 1) {
        description->has_bias = 1;
        description->bias_alignment = alignment_of(rest->bias);
        rest->bias = NULL;
    }
}

BlasRefusal
blas_describe(CudaType type, bool allows_tf32, const CudaProduct *product, BlasDescription *ret_description,
    CudaEpilogue *ret_rest)
{
    BlasDescription description = {.type = (int64_t)type,
        .is_tf32 = allows_tf32 && type == CUDA_FLOAT32,
        .batch = count_batches(product)};
    CudaEpilogue rest = product->epilogue;
    if (type != CUDA_FLOAT16 && type != CUDA_BFLOAT16 && type != CUDA_FLOAT32 && type != CUDA_FLOAT64) {
        return BLAS_NO_TYPE;
    }
    if (!is_size(product->rows) || !is_size(product->columns) || !is_size(product->depth) ||
        !is_size(description.batch)) {
        return BLAS_NO_SIZE;
    }
    if (!read_operands(product, &description)) {
        return BLAS_NO_LAYOUT;
    }
    description.output = (BlasMatrix){
        .rows = product->columns,
        .columns = product->rows,
        .step = product->columns,
        .batch_step = product->rows * product->columns,
        .alignment = alignment_of(product->output),
    };
    BlasRefusal refusal = read_addend(product, &description, &rest);
    if (refusal == BLAS_ACCEPTED) {
        take_bias(type, &description, &rest);
        *ret_description = description;
        *ret_rest = rest;
    }
    return refusal;
}

/* ReLU, and GELU by tanh: the library has no other. Its sums are of single products, as those with a bias
 * are, and not in double precision. */
CudaEpilogue
blas_fuse(const CudaEpilogue *rest, BlasDescription *description)
{
    CudaEpilogue left = *rest;
    CudaActivation activation = rest->activation;
    left.activation = CUDA_ACTIVATION_NONE;
    bool is_known = activation == CUDA_ACTIVATION_RELU || activation == CUDA_ACTIVATION_GELU_TANH;
    if (!is_known || !cuda_epilogue_is_empty(&left) || description->batch != 1 ||
        description->type == (int64_t)CUDA_FLOAT64) {
        return *rest;
    }
    description->activation = (int64_t)activation;
    return left;
}
