/* A convolution is a product of matrices that are never written down: row r of the left one is an output
 * position, column k an element of the window, (filter position, input channel); its entry is the element of
 * the input that lies there. The right one is the filter. Groups are products of their own.
 *
 * Narrow groups (of depthwise convolutions, for one) would leave most of a tile empty: there each thread
 * computes an element of its own. */
#include "worker/cuda/kernels/convolution.h"

#include "worker/cuda/kernels/epilogue.cuh"
#include "worker/cuda/kernels/index.cuh"

enum { SIDE = 16, DEPTH = 16, NARROW_MAX = 4 };

/* An output position: where its window begins, and the distance from there to the input's first element. */
struct Row {
    int64_t start[CUDA_WINDOW_RANK_MAX];
    int64_t input;
    int64_t output;
    bool is_there;
};

/* An element of the window: its place in it, and the distances to it in the input and in the filter. */
struct Element {
    int64_t place[CUDA_WINDOW_RANK_MAX];
    int64_t input;
    int64_t filter;
    bool is_there;
};

__device__ __forceinline__ Row
row_of(const CudaWindow &window, int64_t index, int64_t count)
{
    Row row = {};
    row.is_there = index < count;
    for (int dimension = CUDA_WINDOW_RANK_MAX - 1; dimension >= 0; dimension--) {
        int64_t at = index % window.output_size[dimension];
        index /= window.output_size[dimension];
        row.start[dimension] = at * window.stride[dimension] - window.before[dimension];
        row.input += row.start[dimension] * window.input.space[dimension];
        row.output += at * window.output.space[dimension];
    }
    row.input += index * window.input.batch;
    row.output += index * window.output.batch;
    return row;
}

__device__ __forceinline__ Element
element_of(const CudaConvolution &convolution, int64_t index, int64_t count)
{
    const CudaWindow &window = convolution.window;
    Element element = {};
    element.is_there = index < count;
    int64_t channel = index % convolution.inputs;
    index /= convolution.inputs;
    for (int dimension = CUDA_WINDOW_RANK_MAX - 1; dimension >= 0; dimension--) {
        int64_t at = index % window.size[dimension];
        index /= window.size[dimension];
        element.place[dimension] = at * window.dilation[dimension];
        element.input += element.place[dimension] * window.input.space[dimension];
        element.filter += at * convolution.filter_steps.space[dimension];
    }
    element.input += channel * window.input.channel;
    element.filter += channel * convolution.filter_steps.input;
    return element;
}

__device__ __forceinline__ bool
is_in_input(const CudaWindow &window, const Row &row, const Element &element)
{
    bool is_inside = row.is_there && element.is_there;
#pragma unroll
    for (int dimension = 0; dimension < CUDA_WINDOW_RANK_MAX; dimension++) {
        int64_t at = row.start[dimension] + element.place[dimension];
        is_inside = is_inside && at >= 0 && at < window.input_size[dimension];
    }
    return is_inside;
}

template <typename T, typename C>
__device__ __forceinline__ void
store_sum(const CudaConvolution &convolution, const Row &row, int64_t channel, C sum)
{
    int64_t position = row.output + channel * convolution.window.output.channel;
    if constexpr (is_floating<T>()) {
        sum = finish_sum<T>(convolution.epilogue, sum, position, channel);
    }
    store((T *)convolution.output, position, sum);
}

template <typename T, int EACH>
__global__ void
convolve_tiles_kernel(const CudaConvolution convolution, int64_t positions, int64_t depth, int64_t row_tiles,
    int64_t column_tiles, int64_t tile_count)
{
    using C = Accumulator<T>;
    enum { TILE = SIDE * EACH };
    __shared__ Row rows[TILE];
    __shared__ Element elements[DEPTH];
    __shared__ C a[DEPTH][TILE + 1];
    __shared__ C b[DEPTH][TILE + 1];
    const CudaWindow &window = convolution.window;
    bool is_channels_last = window.input.channel == 1;
    bool is_filter_output_next = convolution.filter_steps.output == 1;
    int thread = (int)(threadIdx.y * SIDE + threadIdx.x);
    for (int64_t tile = blockIdx.x; tile < tile_count; tile += gridDim.x) {
        int64_t group = tile / (row_tiles * column_tiles);
        int64_t first_row = tile / column_tiles % row_tiles * TILE;
        int64_t first_column = tile % column_tiles * TILE;
        const T *input = (const T *)convolution.input + group * convolution.inputs * window.input.channel;
        const T *filter = (const T *)convolution.filter + group * convolution.filter_steps.group;
        C sums[EACH][EACH] = {};
        if (thread < TILE) {
            rows[thread] = row_of(window, first_row + thread, positions);
        }
        for (int64_t start = 0; start < depth; start += DEPTH) {
            if (thread < DEPTH) {
                elements[thread] = element_of(convolution, start + thread, depth);
            }
            __syncthreads();
            for (int at = thread; at < TILE * DEPTH; at += SIDE * SIDE) {
                int row = is_channels_last ? at / DEPTH : at % TILE;
                int k = is_channels_last ? at % DEPTH : at / TILE;
                a[k][row] = is_in_input(window, rows[row], elements[k])
                                ? (C)load(input, rows[row].input + elements[k].input)
                                : (C)0;
            }
            for (int at = thread; at < TILE * DEPTH; at += SIDE * SIDE) {
                int column = is_filter_output_next ? at % TILE : at / DEPTH;
                int k = is_filter_output_next ? at / TILE : at % DEPTH;
                bool is_inside = elements[k].is_there && first_column + column < convolution.outputs;
                b[k][column] =
                    is_inside ? (C)load(filter, (first_column + column) * convolution.filter_steps.output +
                                                    elements[k].filter)
                              : (C)0;
            }
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
            const Row &row = rows[threadIdx.y + i * SIDE];
#pragma unroll
            for (int j = 0; j < EACH; j++) {
                int64_t column = first_column + threadIdx.x + j * SIDE;
                if (row.is_there && column < convolution.outputs) {
                    store_sum<T>(convolution, row, group * convolution.outputs + column, sums[i][j]);
                }
            }
        }
        __syncthreads(); /* `rows` are written anew for the next tile */
    }
}

template <typename T>
__global__ void
convolve_each_kernel(const CudaConvolution convolution, int64_t positions, int64_t depth, int64_t count)
{
    using C = Accumulator<T>;
    const CudaWindow &window = convolution.window;
    int64_t channels = convolution.groups * convolution.outputs;
    for (int64_t at = index_first(); at < count; at += index_step()) {
        /* Neighbouring threads write neighbours in memory. */
        bool is_channels_last = window.output.channel == 1;
        int64_t channel = is_channels_last ? at % channels : at / positions;
        Row row = row_of(window, is_channels_last ? at / channels : at % positions, positions);
        int64_t group = channel / convolution.outputs;
        const T *input = (const T *)convolution.input + group * convolution.inputs * window.input.channel;
        const T *filter = (const T *)convolution.filter + group * convolution.filter_steps.group +
                          channel % convolution.outputs * convolution.filter_steps.output;
        C sum = 0;
        for (int64_t k = 0; k < depth; k++) {
            Element element = element_of(convolution, k, depth);
            if (is_in_input(window, row, element)) {
                sum = multiply_add(
                    (C)load(input, row.input + element.input), (C)load(filter, element.filter), sum);
            }
        }
        store_sum<T>(convolution, row, channel, sum);
    }
}

static int64_t
multiply_all(const int64_t *sizes)
{
    int64_t product = 1;
    for (int dimension = 0; dimension < CUDA_WINDOW_RANK_MAX; dimension++) {
        product *= sizes[dimension];
    }
    return product;
}

template <typename T, int EACH>
static cudaError_t
launch_tiles(const CudaConvolution *convolution, int64_t positions, int64_t depth, cudaStream_t stream)
{
    int64_t row_tiles = (positions - 1) / (SIDE * EACH) + 1;
    int64_t column_tiles = (convolution->outputs - 1) / (SIDE * EACH) + 1;
    int64_t tiles = convolution->groups * row_tiles * column_tiles;
    dim3 grid((unsigned)(tiles < INDEX_BLOCKS_MAX ? tiles : INDEX_BLOCKS_MAX));
    return cuda_launch(convolve_tiles_kernel<T, EACH>, grid, dim3(SIDE, SIDE), 0, stream, *convolution,
        positions, depth, row_tiles, column_tiles, tiles);
}

template <typename T>
static cudaError_t
convolve(const CudaConvolution *convolution, cudaStream_t stream)
{
    enum { LARGE = 4, LARGE_TILES_MIN = 64 };
    int64_t positions = convolution->window.batch * multiply_all(convolution->window.output_size);
    int64_t depth = convolution->inputs * multiply_all(convolution->window.size);
    int64_t count = positions * convolution->groups * convolution->outputs;
    if (count == 0) {
        return cudaSuccess;
    }
    if (convolution->outputs <= NARROW_MAX) {
        return cuda_launch(convolve_each_kernel<T>, index_grid(count), dim3(INDEX_THREADS), 0, stream,
            *convolution, positions, depth, count);
    }
    bool is_large = convolution->outputs > SIDE && positions > SIDE &&
                    count >= (int64_t)LARGE_TILES_MIN * SIDE * SIDE * LARGE * LARGE;
    return is_large ? launch_tiles<T, LARGE>(convolution, positions, depth, stream)
                    : launch_tiles<T, 1>(convolution, positions, depth, stream);
}

extern "C" int
cuda_convolve(CudaType type, const CudaConvolution *convolution, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, convolve<T>(convolution, stream));
}

extern "C" int
cuda_convolve_integers(const CudaConvolution *convolution, cudaStream_t stream)
{
    return (int)convolve<uint32_t>(convolution, stream);
}
