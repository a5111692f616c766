/* How kernels whose threads each take every n-th element are started. */
#pragma once

#include "worker/cuda/kernels/offsets.cuh"
#include "worker/cuda/kernels/types.cuh"

enum { INDEX_THREADS = 256 };
static constexpr int64_t INDEX_BLOCKS_MAX = 1 << 16;

/* Returns the grid for `count` elements, more than 0, of which a thread takes every n-th. */
static inline dim3
index_grid(int64_t count)
{
    int64_t blocks = (count - 1) / INDEX_THREADS + 1;
    return dim3((unsigned)(blocks < INDEX_BLOCKS_MAX ? blocks : INDEX_BLOCKS_MAX));
}
