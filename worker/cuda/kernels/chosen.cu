#include "worker/cuda/kernels/chosen.h"

#include "worker/cuda/kernels/blame.cuh"
#include "worker/cuda/kernels/block.cuh"
#include "worker/cuda/kernels/index.cuh"

template <typename T>
__device__ __forceinline__ bool
is_chosen(const CudaChosen &places, int64_t i)
{
    Accumulator<T> value = load((const T *)places.data, i);
    switch (places.rule) {
    case CUDA_CHOSEN_EQUAL:
        return value == (Accumulator<T>)places.value;
    case CUDA_CHOSEN_OWN:
        return value == (Accumulator<T>)i;
    case CUDA_CHOSEN_NOT_ZERO:
        break;
    }
    return !(value == (Accumulator<T>)0);
}

/* A block each counts the places of a tile. */
template <typename T>
__global__ void
count_tile_kernel(CudaChosen places)
{
    int64_t end = (int64_t)(blockIdx.x + 1) * CUDA_CHOSEN_TILE;
    end = end < places.count ? end : places.count;
    int64_t count = 0;
    for (int64_t i = (int64_t)blockIdx.x * CUDA_CHOSEN_TILE + threadIdx.x; i < end; i += INDEX_THREADS) {
        count += is_chosen<T>(places, i);
    }
    count = block_join<BlockSum<int64_t>>(count);
    if (threadIdx.x == 0) {
        places.tiles[blockIdx.x] = count;
    }
}

/* One block turns the counts of tiles into those of all tiles before. */
__global__ void
add_tiles_kernel(int64_t *tiles, int64_t tile_count, int64_t *ret_count)
{
    int64_t before = 0;
    for (int64_t first = 0; first < tile_count; first += INDEX_THREADS) {
        int64_t tile = first + threadIdx.x;
        int64_t all = 0;
        int64_t scanned = block_scan(tile < tile_count ? tiles[tile] : 0, &all);
        if (tile < tile_count) {
            tiles[tile] = before + scanned;
        }
        before += all;
    }
    if (threadIdx.x == 0) {
        *ret_count = before;
    }
}

/* All threads of a block go round together, also those behind the last element. */
template <typename T>
__global__ void
find_places_kernel(CudaChosen places, int64_t *ret_places)
{
    int64_t before = places.tiles[blockIdx.x];
    for (int round = 0; round < CUDA_CHOSEN_TILE / INDEX_THREADS; round++) {
        int64_t i = (int64_t)blockIdx.x * CUDA_CHOSEN_TILE + round * INDEX_THREADS + threadIdx.x;
        bool is_place = i < places.count && is_chosen<T>(places, i);
        int64_t all = 0;
        int64_t scanned = block_scan((int64_t)is_place, &all);
        if (is_place) {
            ret_places[before + scanned] = i;
        }
        before += all;
    }
}

template <typename T>
__global__ void
refuse_places_kernel(CudaChosen places, int64_t first, CudaBlame blame)
{
    for (int64_t i = first + index_first(); i < places.count; i += index_step()) {
        if (is_chosen<T>(places, i)) {
            refuse(blame, i, i, first);
        }
    }
}

__global__ void
refuse_numbers_kernel(const int32_t *numbers, int64_t count, int64_t limit, CudaBlame blame)
{
    for (int64_t i = index_first(); i < count; i += index_step()) {
        if (numbers[i] < 0 || numbers[i] >= limit) {
            refuse(blame, i, numbers[i], limit);
        }
    }
}

__global__ void
coordinates_kernel(CudaCoordinates coordinates)
{
    for (int64_t n = index_first(); n < coordinates.count; n += index_step()) {
        int64_t rest = coordinates.places[n];
        for (int d = coordinates.rank - 1; d >= 0; d--) {
            int64_t quotient = index_quotient(rest, coordinates.sizes[d]);
            coordinates.to[n * coordinates.steps[0] + d * coordinates.steps[1]] =
                rest - quotient * coordinates.sizes[d];
            rest = quotient;
        }
    }
}

template <typename T>
static cudaError_t
count_places(const CudaChosen *places, int64_t *ret_count, cudaStream_t stream)
{
    int64_t tiles = cuda_chosen_tiles(places->count);
    if (tiles == 0) {
        return cudaSuccess;
    }
    cudaError_t error =
        cuda_launch(count_tile_kernel<T>, dim3((unsigned)tiles), dim3(INDEX_THREADS), 0, stream, *places);
    return error != cudaSuccess ? error
                                : cuda_launch(add_tiles_kernel, dim3(1), dim3(INDEX_THREADS), 0, stream,
                                      places->tiles, tiles, ret_count);
}

template <typename T>
static cudaError_t
find_places(const CudaChosen *places, int64_t *ret_places, cudaStream_t stream)
{
    int64_t tiles = cuda_chosen_tiles(places->count);
    return tiles == 0 ? cudaSuccess
                      : cuda_launch(find_places_kernel<T>, dim3((unsigned)tiles), dim3(INDEX_THREADS), 0,
                            stream, *places, ret_places);
}

template <typename T>
static cudaError_t
refuse_places(const CudaChosen *places, int64_t first, const CudaBlame *blame, cudaStream_t stream)
{
    return first >= places->count ? cudaSuccess
                                  : cuda_launch(refuse_places_kernel<T>, index_grid(places->count - first),
                                        dim3(INDEX_THREADS), 0, stream, *places, first, *blame);
}

#define EACH_CHOSEN_TYPE(type, call)                                                                         \
    TYPE_SWITCH(type,                                                                                        \
        FLOATING_CASES(call) SIGNED_CASES(call) UNSIGNED_CASES(call) TYPE_CASE(CUDA_BOOL, uint8_t, call))

extern "C" int
cuda_count_chosen(const CudaChosen *places, int64_t *ret_count, cudaStream_t stream)
{
    EACH_CHOSEN_TYPE(places->type, count_places<T>(places, ret_count, stream));
}

extern "C" int
cuda_write_chosen(const CudaChosen *places, int64_t *ret_places, cudaStream_t stream)
{
    EACH_CHOSEN_TYPE(places->type, find_places<T>(places, ret_places, stream));
}

extern "C" int
cuda_refuse_chosen(const CudaChosen *places, int64_t first, const CudaBlame *blame, cudaStream_t stream)
{
    EACH_CHOSEN_TYPE(places->type, refuse_places<T>(places, first, blame, stream));
}

extern "C" int
cuda_refuse_numbers(
    const int32_t *numbers, int64_t count, int64_t limit, const CudaBlame *blame, cudaStream_t stream)
{
    return (int)(count == 0 ? cudaSuccess
                            : cuda_launch(refuse_numbers_kernel, index_grid(count), dim3(INDEX_THREADS), 0,
                                  stream, numbers, count, limit, *blame));
}

extern "C" int
cuda_coordinates(const CudaCoordinates *coordinates, cudaStream_t stream)
{
    return (int)(coordinates->count == 0 ? cudaSuccess
                                         : cuda_launch(coordinates_kernel, index_grid(coordinates->count),
                                               dim3(INDEX_THREADS), 0, stream, *coordinates));
}
