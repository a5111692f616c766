/* A block takes a tile: it reads rows and writes columns, so that neighbouring threads read neighbours and
 * write neighbours. Elements of 16 bits go two at a time where no pair lies on two rows. */
#include "worker/cuda/kernels/turn.h"

#include "worker/cuda/kernels/elements.cuh"
#include "worker/cuda/kernels/index.cuh"

/* A row more than a warp has threads, so that a column's elements lie in different banks of shared memory. Of
 * fewer than SIDE_MIN rows or columns, most of a tile would be empty. */
enum { SIDE = 32, WARPS = 8, PAIRED_SIDE = 2 * SIDE, SIDE_MIN = 8 };

/* Where a tile begins. */
struct Tile {
    int64_t from;
    int64_t to;
    int64_t row;
    int64_t column;
};

__device__ __forceinline__ Tile
tile_at(const CudaTurn &turn, int64_t index, int64_t row_tiles, int64_t column_tiles, int side)
{
    int64_t matrix = index / (row_tiles * column_tiles);
    int64_t within = index - matrix * row_tiles * column_tiles;
    Tile tile = {matrix * turn.from_matrix, matrix * turn.to_matrix, within / column_tiles * side,
        within % column_tiles * side};
    return tile;
}

template <typename T>
__global__ void
turn_kernel(CudaTurn turn, int64_t row_tiles, int64_t column_tiles, int64_t count)
{
    __shared__ T values[SIDE][SIDE + 1];
    int x = (int)threadIdx.x;
    for (int64_t index = blockIdx.x; index < count; index += gridDim.x) {
        Tile tile = tile_at(turn, index, row_tiles, column_tiles, SIDE);
        const T *from = (const T *)turn.from + tile.from;
        T *to = (T *)turn.to + tile.to;
        for (int y = (int)threadIdx.y; y < SIDE; y += WARPS) {
            if (tile.row + y < turn.rows && tile.column + x < turn.columns) {
                values[y][x] = from[(tile.row + y) * turn.from_row + tile.column + x];
            }
        }
        __syncthreads();
        for (int y = (int)threadIdx.y; y < SIDE; y += WARPS) {
            if (tile.column + y < turn.columns && tile.row + x < turn.rows) {
                to[(tile.column + y) * turn.to_row + tile.row + x] = values[x][y];
            }
        }
        __syncthreads(); /* the next tile writes `values` again */
    }
}

/* The same of pairs of 16 bits: rows and columns are even, and every pair is aligned. */
__global__ void
turn_pairs_kernel(CudaTurn turn, int64_t row_tiles, int64_t column_tiles, int64_t count)
{
    enum { BITS = 16 };
    __shared__ uint16_t values[PAIRED_SIDE][PAIRED_SIDE + 1];
    int x = 2 * (int)threadIdx.x;
    for (int64_t index = blockIdx.x; index < count; index += gridDim.x) {
        Tile tile = tile_at(turn, index, row_tiles, column_tiles, PAIRED_SIDE);
        const uint16_t *from = (const uint16_t *)turn.from + tile.from;
        uint16_t *to = (uint16_t *)turn.to + tile.to;
        for (int y = (int)threadIdx.y; y < PAIRED_SIDE; y += WARPS) {
            if (tile.row + y < turn.rows && tile.column + x < turn.columns) {
                uint32_t pair = *(const uint32_t *)(from + (tile.row + y) * turn.from_row + tile.column + x);
                values[y][x] = (uint16_t)pair;
                values[y][x + 1] = (uint16_t)(pair >> BITS);
            }
        }
        __syncthreads();
        for (int y = (int)threadIdx.y; y < PAIRED_SIDE; y += WARPS) {
            if (tile.column + y < turn.columns && tile.row + x < turn.rows) {
                *(uint32_t *)(to + (tile.column + y) * turn.to_row + tile.row + x) =
                    (uint32_t)values[x][y] | (uint32_t)values[x + 1][y] << BITS;
            }
        }
        __syncthreads(); /* the next tile writes `values` again */
    }
}

static bool
is_paired(size_t element_size, const CudaTurn *turn)
{
    int64_t all =
        turn->rows | turn->columns | turn->from_row | turn->to_row | turn->from_matrix | turn->to_matrix;
    uintptr_t addresses = (uintptr_t)turn->from | (uintptr_t)turn->to;
    return element_size == sizeof(uint16_t) && all % 2 == 0 && addresses % sizeof(uint32_t) == 0;
}

template <typename... P>
static int
launch(void (*kernel)(P...), const CudaTurn *turn, int side, cudaStream_t stream)
{
    int64_t row_tiles = (turn->rows - 1) / side + 1;
    int64_t column_tiles = (turn->columns - 1) / side + 1;
    int64_t count = turn->matrices * row_tiles * column_tiles;
    dim3 grid((unsigned)(count < INDEX_BLOCKS_MAX ? count : INDEX_BLOCKS_MAX));
    return (
        int)(cuda_launch(kernel, grid, dim3(SIDE, WARPS), 0, stream, *turn, row_tiles, column_tiles, count));
}

/* The last dimension of a move has neighbours where it goes to, the one before it where it comes from. */
extern "C" bool
cuda_turn_read(const CudaMove *move, CudaTurn *ret_turn)
{
    enum { PLANE = 2, MATRICES = 3 };
    int row = move->rank - 1;
    int column = move->rank - 2;
    bool has_matrices = move->rank == MATRICES;
    if ((move->rank != PLANE && !has_matrices) || move->strides[1][row] != 1 ||
        move->strides[0][column] != 1 || move->sizes[row] < SIDE_MIN || move->sizes[column] < SIDE_MIN) {
        return false;
    }
    CudaTurn turn = {};
    turn.from = move->from;
    turn.to = move->to;
    turn.rows = move->sizes[row];
    turn.columns = move->sizes[column];
    turn.from_row = move->strides[0][row];
    turn.to_row = move->strides[1][column];
    turn.matrices = has_matrices ? move->sizes[0] : 1;
    turn.from_matrix = has_matrices ? move->strides[0][0] : 0;
    turn.to_matrix = has_matrices ? move->strides[1][0] : 0;
    *ret_turn = turn;
    return true;
}

extern "C" int
cuda_turn(size_t element_size, const CudaTurn *turn, cudaStream_t stream)
{
    if (is_paired(element_size, turn)) {
        return launch(turn_pairs_kernel, turn, PAIRED_SIDE, stream);
    }
    EACH_ELEMENT_SIZE(element_size, launch(turn_kernel<T>, turn, SIDE, stream));
}
