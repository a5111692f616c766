/* Threads of a block share the elements of one matrix; each element is changed by the same operations, in the
 * same order, as in shared/ops/linear_algebra/matrices.c. */
#include "worker/cuda/kernels/matrix.h"

#include <cmath>

#include "worker/cuda/kernels/blame.cuh"

enum { MATRIX_THREADS = 128 };

/* One matrix, and what is made of it. */
struct Square {
    double *a;
    double *x;
    int64_t *rows;
    int64_t size;
    int64_t columns;
};

/* Returns the row of the largest element of a column from the diagonal on: the first of several. NaN is only
 * chosen when it stands first. */
__device__ __forceinline__ int64_t
find_pivot(const Square &square, int64_t column)
{
    __shared__ int64_t found[MATRIX_THREADS];
    const double *a = square.a;
    int thread = (int)threadIdx.x;
    int64_t best = -1;
    for (int64_t row = column + thread; row < square.size; row += MATRIX_THREADS) {
        double value = fabs(a[row * square.size + column]);
        bool is_larger = best < 0 ? value == value : value > fabs(a[best * square.size + column]);
        best = is_larger ? row : best;
    }
    found[thread] = best;
    for (int left = MATRIX_THREADS / 2; left > 0; left /= 2) {
        __syncthreads();
        if (thread < left) {
            int64_t first = found[thread];
            int64_t second = found[thread + left];
            double here = first < 0 ? -1 : fabs(a[first * square.size + column]);
            double there = second < 0 ? -1 : fabs(a[second * square.size + column]);
            bool is_second = there > here || (there == here && second < first);
            found[thread] = is_second ? second : first;
        }
    }
    __syncthreads();
    double own = a[column * square.size + column];
    int64_t pivot = own != own || found[0] < 0 ? column : found[0];
    __syncthreads(); /* the next column writes `found` again */
    return pivot;
}

__device__ __forceinline__ void
swap_rows(const Square &square, int64_t first, int64_t second)
{
    for (int64_t k = threadIdx.x; k < square.size; k += MATRIX_THREADS) {
        double element = square.a[first * square.size + k];
        square.a[first * square.size + k] = square.a[second * square.size + k];
        square.a[second * square.size + k] = element;
    }
    if (threadIdx.x == 0) {
        int64_t row = square.rows[first];
        square.rows[first] = square.rows[second];
        square.rows[second] = row;
    }
}

/* Factors by rows that are swapped; returns the sign of the permutation, or 0 when a column has no pivot. */
__device__ __forceinline__ int
factor_square(const Square &square)
{
    int64_t size = square.size;
    double *a = square.a;
    int sign = 1;
    for (int64_t row = threadIdx.x; row < size; row += MATRIX_THREADS) {
        square.rows[row] = row;
    }
    for (int64_t column = 0; column < size; column++) {
        __syncthreads();
        int64_t pivot = find_pivot(square, column);
        double largest = a[pivot * size + column];
        __syncthreads(); /* all have read it before rows are swapped */
        if (largest == 0) {
            sign = 0;
            continue;
        }
        if (pivot != column) {
            swap_rows(square, pivot, column);
            sign = -sign;
        }
        __syncthreads();
        int64_t below = size - column - 1;
        for (int64_t n = threadIdx.x; n < below; n += MATRIX_THREADS) {
            a[(column + 1 + n) * size + column] /= a[column * size + column];
        }
        __syncthreads();
        for (int64_t n = threadIdx.x; n < below * below; n += MATRIX_THREADS) {
            int64_t row = column + 1 + n / below;
            int64_t k = column + 1 + n % below;
            a[row * size + k] -= a[row * size + column] * a[column * size + k];
        }
    }
    __syncthreads();
    return sign;
}

/* Solves for one column of x, by one thread. */
__device__ __forceinline__ void
solve_column(const Square &square, bool is_lower, bool has_unit_diagonal, int64_t column)
{
    for (int64_t n = 0; n < square.size; n++) {
        int64_t row = is_lower ? n : square.size - 1 - n;
        int64_t last = is_lower ? row : square.size;
        double value = square.x[row * square.columns + column];
        for (int64_t k = is_lower ? 0 : row + 1; k < last; k++) {
            value -= square.a[row * square.size + k] * square.x[k * square.columns + column];
        }
        square.x[row * square.columns + column] =
            has_unit_diagonal ? value : value / square.a[row * (square.size + 1)];
    }
}

template <typename T>
__device__ __forceinline__ void
load_square(const CudaSquares &squares, int64_t n, const Square &square)
{
    const T *from = (const T *)squares.input + n * square.size * square.size;
    for (int64_t k = threadIdx.x; k < square.size * square.size; k += MATRIX_THREADS) {
        int64_t at = squares.is_transposed ? k % square.size * square.size + k / square.size : k;
        square.a[k] = (double)from[at];
    }
    __syncthreads();
}

template <typename T>
__device__ __forceinline__ void
store_all(T *output, const double *values, int64_t count)
{
    for (int64_t k = threadIdx.x; k < count; k += MATRIX_THREADS) {
        output[k] = (T)values[k];
    }
}

/* The rows of the right sides in the order of the factors' rows; NULL: unit vectors. */
template <typename T>
__device__ __forceinline__ void
load_right(const CudaSquares &squares, int64_t n, const Square &square, bool is_permuted)
{
    const T *right = (const T *)squares.right + n * square.size * square.columns;
    for (int64_t k = threadIdx.x; k < square.size * square.columns; k += MATRIX_THREADS) {
        int64_t row = is_permuted ? square.rows[k / square.columns] : k / square.columns;
        int64_t column = k % square.columns;
        square.x[k] = squares.right == nullptr ? (double)(row == column ? 1 : 0)
                                               : (double)right[row * square.columns + column];
    }
    __syncthreads();
}

/* Columns of the factor, one after the other; false: a number on the diagonal is not positive. */
__device__ __forceinline__ bool
factor_positive(const Square &square)
{
    int64_t size = square.size;
    double *a = square.a;
    for (int64_t column = 0; column < size; column++) {
        for (int64_t row = column + threadIdx.x; row < size; row += MATRIX_THREADS) {
            double sum = a[row * size + column];
            for (int64_t k = 0; k < column; k++) {
                sum -= a[row * size + k] * a[column * size + k];
            }
            square.x[row] = sum;
        }
        __syncthreads();
        double pivot = square.x[column];
        if (pivot <= 0) { /* NaN goes on */
            return false;
        }
        for (int64_t row = threadIdx.x; row < size; row += MATRIX_THREADS) {
            a[row * size + column] = row < column    ? 0
                                     : row == column ? sqrt(pivot)
                                                     : square.x[row] / sqrt(pivot);
        }
        __syncthreads();
    }
    return true;
}

template <typename T>
__device__ __forceinline__ void
find_cholesky(const CudaSquares &squares, int64_t n, const Square &square)
{
    int64_t size = square.size;
    T *output = (T *)squares.output + n * size * size;
    if (factor_positive(square)) {
        store_all(output, square.a, size * size);
        return;
    }
    for (int64_t k = threadIdx.x; k < size * size; k += MATRIX_THREADS) {
        output[k] = k % size <= k / size ? (T)NAN : (T)0;
    }
}

template <typename T>
__device__ __forceinline__ void
find_determinant(const CudaSquares &squares, int64_t n, const Square &square, bool is_logarithm)
{
    int sign = factor_square(square);
    if (threadIdx.x != 0) {
        return;
    }
    double product = sign;
    double sum = 0;
    double own = sign;
    for (int64_t k = 0; k < square.size; k++) {
        double factor = square.a[k * (square.size + 1)];
        product *= factor;
        sum += is_logarithm ? log(fabs(factor)) : 0;
        own = factor < 0 ? -own : own;
    }
    ((T *)squares.output)[n] = (T)(is_logarithm ? own : product);
    if (is_logarithm) {
        ((T *)squares.second)[n] = (T)sum;
    }
}

__device__ __forceinline__ bool
has_zero_on_diagonal(const Square &square)
{
    bool has_zero = false;
    for (int64_t k = 0; k < square.size; k++) {
        has_zero = has_zero || square.a[k * (square.size + 1)] == 0;
    }
    return has_zero;
}

template <typename T>
__device__ __forceinline__ void
solve_square(const CudaSquares &squares, int64_t n, const Square &square, CudaMatrixTask task)
{
    bool is_triangle = task == CUDA_MATRIX_SOLVE_LOWER || task == CUDA_MATRIX_SOLVE_UPPER;
    bool is_singular = is_triangle ? has_zero_on_diagonal(square) : factor_square(square) == 0;
    if (is_singular && threadIdx.x == 0) {
        refuse(squares.blame, n, 0, 0);
    }
    load_right<T>(squares, n, square, !is_triangle);
    for (int64_t column = threadIdx.x; column < square.columns; column += MATRIX_THREADS) {
        if (!is_triangle) {
            solve_column(square, true, true, column);
        }
        solve_column(square, task == CUDA_MATRIX_SOLVE_LOWER, false, column);
    }
    __syncthreads();
    int64_t step = square.size * square.columns;
    store_all((T *)squares.output + n * step, square.x, step);
}

template <typename T>
__global__ void
__launch_bounds__(MATRIX_THREADS, 6) squares_kernel(CudaSquares squares, CudaMatrixTask task)
{
    Square square = {squares.work + blockIdx.x * squares.size * squares.size,
        squares.solution + blockIdx.x * squares.size * squares.columns,
        squares.rows + blockIdx.x * squares.size, squares.size, squares.columns};
    for (int64_t n = blockIdx.x; n < squares.count; n += gridDim.x) {
        load_square<T>(squares, n, square);
        if (task == CUDA_MATRIX_CHOLESKY) {
            find_cholesky<T>(squares, n, square);
        } else if (task == CUDA_MATRIX_DETERMINANT || task == CUDA_MATRIX_LOG_DETERMINANT) {
            find_determinant<T>(squares, n, square, task == CUDA_MATRIX_LOG_DETERMINANT);
        } else {
            solve_square<T>(squares, n, square, task);
        }
        __syncthreads(); /* the next matrix takes the same room */
    }
}

template <typename T>
static cudaError_t
run_squares(CudaMatrixTask task, const CudaSquares *squares, cudaStream_t stream)
{
    return cuda_launch(
        squares_kernel<T>, dim3((unsigned)squares->abreast), dim3(MATRIX_THREADS), 0, stream, *squares, task);
}

extern "C" int
cuda_squares(CudaMatrixTask task, CudaType type, const CudaSquares *squares, cudaStream_t stream)
{
    EACH_WIDE_TYPE(type, run_squares<T>(task, squares, stream));
}
