#include "worker/cuda/kernels/matmul.h"

#include "worker/cuda/kernels/epilogue.cuh"
#include "worker/cuda/kernels/index.cuh"

/* A block has SIDE × SIDE threads and computes a tile of TILE × TILE elements, DEPTH products at a time. */
enum { SIDE = 16, DEPTH = 16 };

/* The type in which sums are kept: integers wrap. */
template <typename T> struct SumOf {
    using Type = Accumulator<T>;
};
template <> struct SumOf<int32_t> {
    using Type = uint32_t;
};
template <> struct SumOf<int64_t> {
    using Type = uint64_t;
};

/* Reads DEPTH numbers of each of TILE lines from `first` on, zeros outside. Neighbours in memory are read
 * by neighbouring threads. */
template <typename T, typename C, int TILE>
__device__ __forceinline__ void
load_lines(C (*lines)[TILE + 1], const T *data, int64_t first, int64_t count, int64_t line_step,
    int64_t start, int64_t depth, int64_t depth_step)
{
    int thread = (int)(threadIdx.y * SIDE + threadIdx.x);
    for (int at = thread; at < TILE * DEPTH; at += SIDE * SIDE) {
        int line = depth_step == 1 ? at / DEPTH : at % TILE;
        int k = depth_step == 1 ? at % DEPTH : at / TILE;
        bool is_inside = first + line < count && start + k < depth;
        lines[k][line] =
            is_inside ? (C)load(data, (first + line) * line_step + (start + k) * depth_step) : (C)0;
    }
}

__device__ __forceinline__ int64_t
batch_offset(const CudaProduct &product, const CudaMatrix &matrix, int64_t batch)
{
    int64_t offset = 0;
    for (int dimension = product.batch_rank - 1; dimension >= 0; dimension--) {
        offset += batch % product.batch_sizes[dimension] * matrix.batch_steps[dimension];
        batch /= product.batch_sizes[dimension];
    }
    return offset;
}

template <typename T, typename C>
__device__ __forceinline__ void
store_product(const CudaProduct &product, int64_t batch, int64_t row, int64_t column, C sum)
{
    int64_t position = (batch * product.rows + row) * product.columns + column;
    if constexpr ((C)0.5 > 0) { /* no integer */
        sum *= (C)product.alpha;
        if (product.c.data != nullptr) {
            int64_t offset = batch_offset(product, product.c, batch) + row * product.c.row_step +
                             column * product.c.column_step;
            sum += (C)product.beta * (C)load((const T *)product.c.data, offset);
        }
        sum = finish_sum<T>(product.epilogue, sum, position, column);
    }
    store((T *)product.output, position, sum);
}

template <typename T, int EACH>
__global__ void
multiply_kernel(const CudaProduct product, int64_t row_tiles, int64_t column_tiles, int64_t tile_count)
{
    using C = typename SumOf<T>::Type;
    enum { TILE = SIDE * EACH };
    __shared__ C a[DEPTH][TILE + 1];
    __shared__ C b[DEPTH][TILE + 1];
    for (int64_t tile = blockIdx.x; tile < tile_count; tile += gridDim.x) {
        int64_t batch = tile / (row_tiles * column_tiles);
        int64_t row = tile / column_tiles % row_tiles * TILE;
        int64_t column = tile % column_tiles * TILE;
        const T *left = (const T *)product.a.data + batch_offset(product, product.a, batch);
        const T *right = (const T *)product.b.data + batch_offset(product, product.b, batch);
        C sums[EACH][EACH] = {};
        for (int64_t start = 0; start < product.depth; start += DEPTH) {
            load_lines<T, C, TILE>(
                a, left, row, product.rows, product.a.row_step, start, product.depth, product.a.column_step);
            load_lines<T, C, TILE>(b, right, column, product.columns, product.b.column_step, start,
                product.depth, product.b.row_step);
            __syncthreads();
            for (int k = 0; k < DEPTH; k++) {
#pragma unroll
                for (int i = 0; i < EACH; i++) {
#pragma unroll
                    for (int j = 0; j < EACH; j++) {
                        sums[i][j] = multiply_add(
                            a[k][threadIdx.y + i * SIDE], b[k][threadIdx.x + j * SIDE], sums[i][j]);
                    }
                }
            }
            __syncthreads();
        }
#pragma unroll
        for (int i = 0; i < EACH; i++) {
#pragma unroll
            for (int j = 0; j < EACH; j++) {
                int64_t y = row + threadIdx.y + i * SIDE;
                int64_t x = column + threadIdx.x + j * SIDE;
                if (y < product.rows && x < product.columns) {
                    store_product<T>(product, batch, y, x, sums[i][j]);
                }
            }
        }
    }
}

template <typename T, int EACH>
static cudaError_t
launch_tiles(const CudaProduct *product, int64_t batches, cudaStream_t stream)
{
    int64_t row_tiles = (product->rows - 1) / (SIDE * EACH) + 1;
    int64_t column_tiles = (product->columns - 1) / (SIDE * EACH) + 1;
    int64_t tiles = batches * row_tiles * column_tiles;
    dim3 grid((unsigned)(tiles < INDEX_BLOCKS_MAX ? tiles : INDEX_BLOCKS_MAX));
    return cuda_launch(multiply_kernel<T, EACH>, grid, dim3(SIDE, SIDE), 0, stream, *product, row_tiles,
        column_tiles, tiles);
}

/* Small outputs are cut into small tiles, so that more of the card has work. Both give the same bits. */
template <typename T>
static cudaError_t
multiply(const CudaProduct *product, cudaStream_t stream)
{
    enum { LARGE = 4, LARGE_TILES_MIN = 64 };
    int64_t batches = 1;
    for (int dimension = 0; dimension < product->batch_rank; dimension++) {
        batches *= product->batch_sizes[dimension];
    }
    if (batches == 0 || product->rows == 0 || product->columns == 0) {
        return cudaSuccess;
    }
    int64_t elements = product->rows * product->columns * batches;
    bool is_large = product->rows > SIDE && product->columns > SIDE &&
                    elements >= (int64_t)LARGE_TILES_MIN * SIDE * SIDE * LARGE * LARGE;
    return is_large ? launch_tiles<T, LARGE>(product, batches, stream)
                    : launch_tiles<T, 1>(product, batches, stream);
}

extern "C" int
cuda_multiply(CudaType type, const CudaProduct *product, cudaStream_t stream)
{
    EACH_PRODUCT_TYPE(type, multiply<T>(product, stream));
}
