/* One-sided Jacobi rotations, as in shared/ops/linear_algebra/matrices.c. There the pairs of columns (p, q)
 * are taken row by row; here all pairs of one sum p + q at once, which share no column: whatever a pair
 * follows there, and shares a column with, has a smaller sum. So every element is changed by the same
 * operations in the same order, and has the same bits. */
#include "worker/cuda/kernels/svd.h"

#include <cmath>

#include "worker/cuda/kernels/launch.cuh"
#include "worker/cuda/kernels/types.cuh"

enum { SVD_THREADS = 256, SWEEPS_MAX = 60 };

/* One matrix on its way. */
struct Decomposition {
    double *a; /* [rows, stride], of which the first `columns` are the matrix's */
    double *v; /* [columns, columns] */
    double *values;
    double *covered;  /* a number for each row */
    double *products; /* three for each pair of columns */
    double *angles;   /* cosine and sine for each pair; 0 and any: it is not turned */
    int64_t rows;
    int64_t columns;
    int64_t stride;
};

__device__ __forceinline__ double
column_product(const double *a, int64_t rows, int64_t stride, int64_t p, int64_t q)
{
    double sum = 0;
    for (int64_t row = 0; row < rows; row++) {
        sum += a[row * stride + p] * a[row * stride + q];
    }
    return sum;
}

/* The pairs (first + n, sum - first - n) of columns, n < count. */
struct Wave {
    int64_t sum;
    int64_t first;
    int64_t count;
};

__device__ __forceinline__ void
multiply_columns(const Decomposition &work, const Wave &wave)
{
    for (int64_t n = threadIdx.x; n < 3 * wave.count; n += SVD_THREADS) {
        int64_t kind = n / wave.count;
        int64_t p = wave.first + n % wave.count;
        int64_t q = wave.sum - p;
        work.products[n] =
            column_product(work.a, work.rows, work.stride, kind == 1 ? q : p, kind == 0 ? p : q);
    }
}

/* Finds the angles that make columns orthogonal. Returns whether this thread has found one. */
__device__ __forceinline__ bool
find_angles(const Decomposition &work, const Wave &wave)
{
    bool is_turning = false;
    for (int64_t n = threadIdx.x; n < wave.count; n += SVD_THREADS) {
        double alpha = work.products[n];
        double beta = work.products[wave.count + n];
        double gamma = work.products[2 * wave.count + n];
        bool is_orthogonal = gamma == 0 || fabs(gamma) <= 1e-16 * sqrt(alpha * beta);
        double zeta = (beta - alpha) / (2 * gamma);
        double tangent = (zeta < 0 ? -1 : 1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
        double cosine = 1 / sqrt(1 + tangent * tangent);
        work.angles[2 * n] = is_orthogonal ? 0 : cosine;
        work.angles[2 * n + 1] = cosine * tangent;
        is_turning = is_turning || !is_orthogonal;
    }
    return is_turning;
}

__device__ __forceinline__ void
turn_columns(const Decomposition &work, const Wave &wave)
{
    for (int64_t n = threadIdx.x; n < wave.count * (work.rows + work.columns); n += SVD_THREADS) {
        int64_t row = n / wave.count;
        int64_t pair = n - row * wave.count;
        int64_t p = wave.first + pair;
        double cosine = work.angles[2 * pair];
        double sine = work.angles[2 * pair + 1];
        double *line =
            row < work.rows ? work.a + row * work.stride : work.v + (row - work.rows) * work.columns;
        double left = line[p];
        double right = line[wave.sum - p];
        if (cosine != 0) {
            line[p] = cosine * left - sine * right;
            line[wave.sum - p] = sine * left + cosine * right;
        }
    }
}

/* Turns each pair of columns once. Returns whether one was turned, to all threads. */
__device__ __forceinline__ bool
sweep_columns(const Decomposition &work)
{
    __shared__ int turned;
    if (threadIdx.x == 0) {
        turned = 0;
    }
    for (int64_t sum = 1; sum <= 2 * work.columns - 3; sum++) {
        int64_t first = sum < work.columns ? 0 : sum - work.columns + 1;
        Wave wave = {sum, first, (sum - 1) / 2 - first + 1};
        multiply_columns(work, wave);
        __syncthreads();
        if (find_angles(work, wave)) {
            turned = 1;
        }
        __syncthreads();
        turn_columns(work, wave);
        __syncthreads();
    }
    __syncthreads();
    bool is_turning = turned != 0;
    __syncthreads(); /* the next sweep writes `turned` again */
    return is_turning;
}

/* Sorts the columns by their values, descending, as selection does. */
__device__ __forceinline__ void
sort_columns(const Decomposition &work)
{
    __shared__ int64_t chosen;
    for (int64_t position = 0; position < work.columns; position++) {
        if (threadIdx.x == 0) {
            int64_t best = position;
            for (int64_t n = position + 1; n < work.columns; n++) {
                best = work.values[n] > work.values[best] ? n : best;
            }
            double value = work.values[position];
            work.values[position] = work.values[best];
            work.values[best] = value;
            chosen = best;
        }
        __syncthreads();
        for (int64_t row = threadIdx.x; row < work.rows + work.columns; row += SVD_THREADS) {
            double *line =
                row < work.rows ? work.a + row * work.stride : work.v + (row - work.rows) * work.columns;
            double element = line[position];
            line[position] = line[chosen];
            line[chosen] = element;
        }
        __syncthreads();
    }
}

__device__ __forceinline__ void
decompose(const Decomposition &work)
{
    bool is_turning = true;
    for (int sweep = 0; sweep < SWEEPS_MAX && is_turning; sweep++) {
        is_turning = sweep_columns(work);
    }
    for (int64_t column = threadIdx.x; column < work.columns; column += SVD_THREADS) {
        work.values[column] = sqrt(column_product(work.a, work.rows, work.stride, column, column));
    }
    __syncthreads();
    sort_columns(work);
    for (int64_t n = threadIdx.x; n < work.rows * work.columns; n += SVD_THREADS) {
        int64_t row = n / work.columns;
        int64_t column = n - row * work.columns;
        if (work.values[column] > 0) {
            work.a[row * work.stride + column] /= work.values[column];
        }
    }
    __syncthreads();
}

/* Returns the axis of which the first `count` columns leave most, the first of several, to all threads. */
__device__ __forceinline__ int64_t
find_free_axis(const Decomposition &work, int64_t count)
{
    __shared__ int64_t found;
    for (int64_t axis = threadIdx.x; axis < work.rows; axis += SVD_THREADS) {
        double covered = 0;
        for (int64_t column = 0; column < count; column++) {
            double element = work.a[axis * work.stride + column];
            covered += element * element;
        }
        work.covered[axis] = covered;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int64_t best = 0;
        double least = (double)INFINITY;
        for (int64_t axis = 0; axis < work.rows; axis++) {
            best = work.covered[axis] < least ? axis : best;
            least = work.covered[axis] < least ? work.covered[axis] : least;
        }
        found = best;
    }
    __syncthreads();
    return found;
}

/* Returns the product of two columns to all threads. */
__device__ __forceinline__ double
share_product(const Decomposition &work, int64_t p, int64_t q)
{
    __shared__ double product;
    if (threadIdx.x == 0) {
        product = column_product(work.a, work.rows, work.stride, p, q);
    }
    __syncthreads();
    double shared = product;
    __syncthreads(); /* the next product is written, and columns are changed, behind it */
    return shared;
}

/* Completes the basis: a further column is an axis less its parts along the columns before. */
__device__ __forceinline__ void
complete_basis(const Decomposition &work)
{
    int64_t count = 0;
    while (count < work.columns && work.values[count] > 0) {
        count++;
    }
    for (int64_t column = count; column < work.stride; column++) {
        int64_t axis = find_free_axis(work, column);
        for (int64_t row = threadIdx.x; row < work.rows; row += SVD_THREADS) {
            work.a[row * work.stride + column] = row == axis ? 1 : 0;
        }
        __syncthreads();
        for (int64_t n = 0; n < 2 * column; n++) {
            int64_t other = n % column;
            double part = share_product(work, other, column);
            for (int64_t row = threadIdx.x; row < work.rows; row += SVD_THREADS) {
                work.a[row * work.stride + column] -= part * work.a[row * work.stride + other];
            }
            __syncthreads();
        }
        double length = sqrt(share_product(work, column, column));
        for (int64_t row = threadIdx.x; row < work.rows; row += SVD_THREADS) {
            work.a[row * work.stride + column] /= length;
        }
        __syncthreads();
    }
}

template <typename T>
__device__ __forceinline__ void
load_matrix(const CudaSvd &svd, int64_t number, const Decomposition &work)
{
    const T *matrix = (const T *)svd.input + number * svd.rows * svd.columns;
    for (int64_t n = threadIdx.x; n < svd.rows * svd.columns; n += SVD_THREADS) {
        int64_t row = n / svd.columns;
        int64_t column = n - row * svd.columns;
        work.a[row * svd.basis + column] = (double)matrix[svd.is_turned ? column * svd.rows + row : n];
    }
    for (int64_t n = threadIdx.x; n < svd.columns * svd.columns; n += SVD_THREADS) {
        work.v[n] = n % (svd.columns + 1) == 0 ? 1 : 0;
    }
    __syncthreads();
}

template <typename T>
__device__ __forceinline__ void
store_numbers(const double *from, void *to, int64_t number, int64_t count)
{
    for (int64_t n = threadIdx.x; n < count; n += SVD_THREADS) {
        ((T *)to)[number * count + n] = (T)from[n];
    }
}

template <typename T>
__global__ void
svd_kernel(CudaSvd svd, int64_t room)
{
    Decomposition work = {};
    work.a = svd.room + blockIdx.x * room;
    work.v = work.a + svd.rows * svd.basis;
    work.values = work.v + svd.columns * svd.columns;
    work.covered = work.values + svd.columns;
    work.products = work.covered + svd.rows;
    work.angles = work.products + 3 * (svd.columns / 2 + 1);
    work.rows = svd.rows;
    work.columns = svd.columns;
    work.stride = svd.basis;
    for (int64_t number = blockIdx.x; number < svd.count; number += gridDim.x) {
        load_matrix<T>(svd, number, work);
        decompose(work);
        store_numbers<T>(work.values, svd.values, number, svd.columns);
        if (svd.longer != nullptr) {
            complete_basis(work);
            store_numbers<T>(work.a, svd.longer, number, svd.rows * svd.basis);
            store_numbers<T>(work.v, svd.shorter, number, svd.columns * svd.columns);
        }
        __syncthreads(); /* the next matrix is written to the same room */
    }
}

template <typename T>
static cudaError_t
decompose_all(const CudaSvd *svd, cudaStream_t stream)
{
    return cuda_launch(
        svd_kernel<T>, dim3((unsigned)svd->abreast), dim3(SVD_THREADS), 0, stream, *svd, cuda_svd_room(svd));
}

extern "C" int
cuda_svd(CudaType type, const CudaSvd *svd, cudaStream_t stream)
{
    EACH_WIDE_TYPE(type, decompose_all<T>(svd, stream));
}
