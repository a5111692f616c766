/* The product of a few vectors with packed weights takes as long as the weights take to be read: a warp reads
 * a row of them, each thread eight neighbours at a time. */
#include "worker/cuda/kernels/blocks.h"

#include "worker/cuda/kernels/blame.cuh"
#include "worker/cuda/kernels/block.cuh"
#include "worker/cuda/kernels/index.cuh"

enum { BYTE = 8, TOGETHER = 8 };

#define EACH_BLOCK_TYPE(type, call)                                                                          \
    TYPE_SWITCH(type, TYPE_CASE(CUDA_FLOAT32, float, call) TYPE_CASE(CUDA_FLOAT16, __half, call)             \
                          TYPE_CASE(CUDA_BFLOAT16, __nv_bfloat16, call))

/* A weight w stands for the number (w - zero) × scale. */
struct BlockScale {
    float zero;
    float scale;
};

__device__ __forceinline__ unsigned
packed_at(const uint8_t *bytes, int64_t bits, int64_t position)
{
    int64_t first = position * bits;
    return (unsigned)bytes[first / BYTE] >> (first % BYTE) & ((1U << bits) - 1);
}

template <typename T>
__device__ __forceinline__ BlockScale
scale_of(const CudaBlocks &blocks, int64_t row, int64_t block)
{
    float scale = load((const T *)blocks.scales, row * blocks.count + block);
    if (blocks.zero_bytes != nullptr) {
        int64_t bytes = (blocks.count * blocks.bits + BYTE - 1) / BYTE;
        return {(float)packed_at(blocks.zero_bytes + row * bytes, blocks.bits, block), scale};
    }
    if (blocks.zeros != nullptr) {
        return {load((const T *)blocks.zeros, row * blocks.count + block), scale};
    }
    return {(float)(1U << (blocks.bits - 1)), scale};
}

/* Returns the block that gives an element its scale; one that is not there is refused. */
__device__ __forceinline__ int64_t
block_of(const CudaBlocks &blocks, int64_t k)
{
    if (blocks.groups == nullptr) {
        return k >> blocks.size_bits;
    }
    int64_t block = blocks.groups[k];
    if (block >= 0 && block < blocks.count) {
        return block;
    }
    refuse(blocks.blame, k, block, blocks.count);
    return 0;
}

template <typename T>
__global__ void
unpack_blocks_kernel(const CudaBlocks blocks, T *output, int64_t count)
{
    for (int64_t i = index_first(); i < count; i += index_step()) {
        int64_t row = index_quotient(i, blocks.row);
        int64_t k = i - row * blocks.row;
        BlockScale scale = scale_of<T>(blocks, row, block_of(blocks, k));
        float weight = (float)packed_at(blocks.packed + row * blocks.row_bytes, blocks.bits, k);
        store(output, i, (weight - scale.zero) * scale.scale);
    }
}

template <typename T>
static cudaError_t
unpack(const CudaBlocks *blocks, void *output, cudaStream_t stream)
{
    int64_t count = blocks->rows * blocks->row;
    return count == 0 ? cudaSuccess
                      : cuda_launch(unpack_blocks_kernel<T>, index_grid(count), dim3(INDEX_THREADS), 0,
                            stream, *blocks, (T *)output, count);
}

extern "C" int
cuda_unpack_blocks(CudaType type, const CudaBlocks *blocks, void *output, cudaStream_t stream)
{
    EACH_BLOCK_TYPE(type, unpack<T>(blocks, output, stream));
}

/* Reads the bits of TOGETHER weights, by as wide a load as their address allows. */
template <int BITS>
__device__ __forceinline__ uint64_t
load_together(const uint8_t *bytes, bool is_aligned)
{
    uint64_t word = 0;
    if (is_aligned && BITS == 4) {
        return *(const uint32_t *)(const void *)bytes;
    }
    if (is_aligned && BITS == 8) {
        return *(const uint64_t *)(const void *)bytes;
    }
    for (int n = 0; n < BITS; n++) {
        word |= (uint64_t)bytes[n] << n * BYTE;
    }
    return word;
}

template <typename T, int BITS, int ROWS> struct BlockDot {
    const CudaBlockProduct &product;
    const T *a; /* ROWS rows, of which `rows` are there */
    int rows;
    int64_t n; /* the row of weights */
    float sums[ROWS];

    /* Adds the products of TOGETHER elements from `first` on, or of those that there are. */
    __device__ __forceinline__ void
    add(uint64_t word, int64_t first)
    {
        const CudaBlocks &blocks = product.blocks;
        BlockScale scale = scale_of<T>(blocks, n, block_of(blocks, first));
        for (int i = 0; i < TOGETHER && first + i < blocks.row; i++) {
            if (blocks.groups != nullptr) {
                scale = scale_of<T>(blocks, n, block_of(blocks, first + i));
            }
            float number = ((float)(word >> i * BITS & ((1U << BITS) - 1)) - scale.zero) * scale.scale;
#pragma unroll
            for (int m = 0; m < ROWS; m++) {
                float value = m < rows ? load(a, m * blocks.row + first + i) : 0.0F;
                sums[m] = multiply_add(value, number, sums[m]);
            }
        }
    }

    /* Joins the sums of the warp's threads, and writes them. */
    __device__ __forceinline__ void
    finish(int lane, int64_t m)
    {
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            float sum = sums[i];
            for (int by = WARP_THREADS / 2; by > 0; by /= 2) {
                sum += __shfl_xor_sync(0xffffffffU, sum, by);
            }
            if (lane == 0 && i < rows) {
                float bias = product.bias == nullptr ? 0.0F : load((const T *)product.bias, n);
                store((T *)product.output, (m + i) * product.blocks.rows + n, sum + bias);
            }
        }
    }
};

/* A warp takes ROWS rows of `a` and a row of weights. */
template <typename T, int BITS, int ROWS>
__global__ void
multiply_blocks_kernel(const CudaBlockProduct product, int64_t count, bool is_aligned)
{
    const CudaBlocks &blocks = product.blocks;
    int lane = (int)threadIdx.x % WARP_THREADS;
    for (int64_t i = index_first() / WARP_THREADS; i < count; i += index_step() / WARP_THREADS) {
        int64_t group = index_quotient(i, blocks.rows);
        int64_t n = i - group * blocks.rows;
        int64_t m = group * ROWS;
        int rows = (int)(product.batch - m < ROWS ? product.batch - m : ROWS);
        const uint8_t *bytes = blocks.packed + n * blocks.row_bytes;
        BlockDot<T, BITS, ROWS> dot = {product, (const T *)product.a + m * blocks.row, rows, n, {}};
        for (int64_t k = lane * TOGETHER; k < blocks.row; k += WARP_THREADS * TOGETHER) {
            dot.add(load_together<BITS>(bytes + k / BYTE * BITS, is_aligned), k);
        }
        dot.finish(lane, m);
    }
}

template <typename T, int BITS>
static cudaError_t
launch_bits(const CudaBlockProduct *product, cudaStream_t stream)
{
    enum { ROWS = 4, WARPS = INDEX_THREADS / WARP_THREADS };
    bool is_alone = product->batch == 1;
    int64_t groups = is_alone ? 1 : (product->batch + ROWS - 1) / ROWS;
    int64_t count = groups * product->blocks.rows;
    int64_t blocks = (count - 1) / WARPS + 1;
    bool is_aligned = (uintptr_t)product->blocks.packed % BYTE == 0 && product->blocks.row_bytes % BYTE == 0;
    dim3 grid((unsigned)(blocks < INDEX_BLOCKS_MAX ? blocks : INDEX_BLOCKS_MAX));
    return cuda_launch(is_alone ? multiply_blocks_kernel<T, BITS, 1> : multiply_blocks_kernel<T, BITS, ROWS>,
        grid, dim3(INDEX_THREADS), 0, stream, *product, count, is_aligned);
}

template <typename T>
static cudaError_t
multiply(const CudaBlockProduct *product, cudaStream_t stream)
{
    if (product->batch == 0 || product->blocks.rows == 0) {
        return cudaSuccess;
    }
    return product->blocks.bits == 2   ? launch_bits<T, 2>(product, stream)
           : product->blocks.bits == 4 ? launch_bits<T, 4>(product, stream)
                                       : launch_bits<T, 8>(product, stream);
}

extern "C" int
cuda_multiply_blocks(CudaType type, const CudaBlockProduct *product, cudaStream_t stream)
{
    EACH_BLOCK_TYPE(type, multiply<T>(product, stream));
}
