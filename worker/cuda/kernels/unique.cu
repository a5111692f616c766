#include "worker/cuda/kernels/unique.h"

#include "worker/cuda/kernels/index.cuh"
#include "worker/cuda/kernels/keys.cuh"

static constexpr int64_t ONE_BLOCK_MAX = 2048; /* places that one block sorts */

#define EACH_ELEMENT_TYPE(type, call)                                                                        \
    TYPE_SWITCH(type,                                                                                        \
        FLOATING_CASES(call) SIGNED_CASES(call) UNSIGNED_CASES(call) TYPE_CASE(CUDA_BOOL, uint8_t, call))

/* Returns which element of the tensor is number `n` of a slice. */
__device__ __forceinline__ int64_t
element_of(const CudaSlices &slices, int64_t slice, int64_t n)
{
    int64_t outer = index_quotient(n, slices.inner);
    return (outer * slices.size + slice) * slices.inner + (n - outer * slices.inner);
}

template <typename T>
__device__ __forceinline__ uint64_t
bits_of(const CudaSlices &slices, int64_t slice, int64_t n)
{
    Accumulator<T> value = load((const T *)slices.data, element_of(slices, slice, n));
    uint64_t bits = 0;
    value = value == (Accumulator<T>)0 ? (Accumulator<T>)0 : value;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

template <typename T>
__device__ __forceinline__ bool
are_equal(const CudaSlices &slices, int64_t left, int64_t right)
{
    for (int64_t n = 0; n < slices.outer * slices.inner; n++) {
        int64_t outer = index_quotient(n, slices.inner);
        int64_t element = outer * slices.size * slices.inner + (n - outer * slices.inner);
        Accumulator<T> a = load((const T *)slices.data, element + left * slices.inner);
        Accumulator<T> b = load((const T *)slices.data, element + right * slices.inner);
        if (!(a == b)) {
            return false;
        }
    }
    return true;
}

/* Writes a number for each slice, which equal ones share. Places that only fill the room come last. */
template <typename T>
__global__ void
slice_keys_kernel(CudaSlices slices, CudaPlace *places, int64_t room)
{
    for (int64_t slice = index_first(); slice < room; slice += index_step()) {
        uint64_t key = slice < slices.size ? 0 : UINT64_MAX;
        for (int64_t n = 0; slice < slices.size && n < slices.outer * slices.inner; n++) {
            uint64_t mixed = (key ^ bits_of<T>(slices, slice, n)) * 0x9e3779b97f4a7c15;
            key = mixed ^ mixed >> 32;
        }
        places[slice] = {key, slice};
    }
}

struct ByKey {
    __device__ __forceinline__ bool
    operator()(const CudaPlace &left, const CudaPlace &right) const
    {
        return left.key < right.key || (left.key == right.key && left.index < right.index);
    }
};

/* The key is of the first element. What fills the room has no slice, and is no less than any. */
template <typename T> struct ByElements {
    CudaSlices slices;

    __device__ __forceinline__ bool
    operator()(const CudaPlace &left, const CudaPlace &right) const
    {
        bool are_alike = left.key == right.key && left.index < slices.size && right.index < slices.size;
        const T *data = (const T *)slices.data;
        for (int64_t n = 1; are_alike && n < slices.outer * slices.inner; n++) {
            uint64_t a = ascending_key(data, element_of(slices, left.index, n));
            uint64_t b = ascending_key(data, element_of(slices, right.index, n));
            if (a != b) {
                return a < b;
            }
        }
        return ByKey()(left, right);
    }
};

/* Exchanges two places of Batcher's bitonic network, unless they are in order. */
template <typename Order>
__device__ __forceinline__ void
exchange(CudaPlace *places, int64_t n, int64_t size, int64_t apart, const Order &order)
{
    int64_t low = 2 * n - (n & (apart - 1));
    CudaPlace left = places[low];
    CudaPlace right = places[low + apart];
    if (order(right, left) == ((low & size) == 0)) {
        places[low] = right;
        places[low + apart] = left;
    }
}

template <typename Order>
__global__ void
sort_block_kernel(CudaPlace *places, int64_t room, Order order)
{
    for (int64_t size = 2; size <= room; size *= 2) {
        for (int64_t apart = size / 2; apart > 0; apart /= 2) {
            for (int64_t n = threadIdx.x; n < room / 2; n += INDEX_THREADS) {
                exchange(places, n, size, apart, order);
            }
            __syncthreads();
        }
    }
}

template <typename Order>
__global__ void
sort_step_kernel(CudaPlace *places, int64_t room, int64_t size, int64_t apart, Order order)
{
    for (int64_t n = index_first(); n < room / 2; n += index_step()) {
        exchange(places, n, size, apart, order);
    }
}

/* Returns the first place of this key, which is there. */
__device__ __forceinline__ int64_t
first_of_key(const CudaPlace *places, int64_t last, uint64_t key)
{
    int64_t first = 0;
    while (first < last) {
        int64_t middle = first + (last - first) / 2;
        if (places[middle].key < key) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    return first;
}

/* A slice that does not even equal itself has a NaN. */
template <typename T>
__global__ void
find_equal_kernel(CudaSlices slices, const CudaPlace *places, int64_t *equals)
{
    for (int64_t at = index_first(); at < slices.size; at += index_step()) {
        int64_t slice = places[at].index;
        bool is_alone = !are_equal<T>(slices, slice, slice);
        int64_t before = is_alone ? at : first_of_key(places, at, places[at].key);
        while (before < at && !are_equal<T>(slices, places[before].index, slice)) {
            before++;
        }
        equals[slice] = places[before].index;
    }
}

/* Writes the places of the slices `firsts`, and those that only fill the room. */
template <typename T>
__global__ void
first_keys_kernel(CudaSlices slices, const int64_t *firsts, int64_t count, CudaPlace *places, int64_t room)
{
    bool have_elements = slices.outer * slices.inner > 0;
    for (int64_t n = index_first(); n < room; n += index_step()) {
        int64_t slice = n < count ? firsts[n] : slices.size;
        uint64_t key = n < count ? 0 : UINT64_MAX;
        if (n < count && have_elements) {
            key = ascending_key((const T *)slices.data, element_of(slices, slice, 0));
        }
        places[n] = {key, slice};
    }
}

__global__ void
keep_order_kernel(const CudaPlace *places, int64_t *firsts, int64_t count)
{
    for (int64_t n = index_first(); n < count; n += index_step()) {
        firsts[n] = places[n].index;
    }
}

__global__ void
number_firsts_kernel(CudaNumbering numbering)
{
    for (int64_t n = index_first(); n < numbering.count; n += index_step()) {
        numbering.numbers[numbering.firsts[n]] = n;
    }
}

/* `C` counts, `I` is what an index is stored as. */
template <typename I, typename C>
__global__ void
number_slices_kernel(CudaNumbering numbering)
{
    for (int64_t n = index_first(); n < numbering.size; n += index_step()) {
        int64_t number = numbering.numbers[numbering.equals[n]];
        ((I *)numbering.indices)[n] = (I)number;
        if (numbering.counts != nullptr) {
            atomicAdd((C *)numbering.counts + number, (C)1);
        }
    }
}

template <typename Order>
static cudaError_t
sort_places(CudaPlace *places, int64_t room, const Order &order, cudaStream_t stream)
{
    if (room <= ONE_BLOCK_MAX) {
        return cuda_launch(
            sort_block_kernel<Order>, dim3(1), dim3(INDEX_THREADS), 0, stream, places, room, order);
    }
    cudaError_t error = cudaSuccess;
    for (int64_t size = 2; size <= room; size *= 2) {
        for (int64_t apart = size / 2; apart > 0 && error == cudaSuccess; apart /= 2) {
            error = cuda_launch(sort_step_kernel<Order>, index_grid(room / 2), dim3(INDEX_THREADS), 0, stream,
                places, room, size, apart, order);
        }
    }
    return error;
}

template <typename T>
static cudaError_t
find_equal(const CudaSlices *slices, CudaPlace *places, int64_t *ret_equals, cudaStream_t stream)
{
    int64_t room = cuda_sort_room(slices->size);
    cudaError_t error = cuda_launch(
        slice_keys_kernel<T>, index_grid(room), dim3(INDEX_THREADS), 0, stream, *slices, places, room);
    if (error == cudaSuccess) {
        error = sort_places(places, room, ByKey(), stream);
    }
    return error != cudaSuccess ? error
                                : cuda_launch(find_equal_kernel<T>, index_grid(slices->size),
                                      dim3(INDEX_THREADS), 0, stream, *slices, places, ret_equals);
}

extern "C" int
cuda_find_equal(const CudaSlices *slices, CudaPlace *places, int64_t *ret_equals, cudaStream_t stream)
{
    EACH_ELEMENT_TYPE(slices->type, find_equal<T>(slices, places, ret_equals, stream));
}

template <typename T>
static cudaError_t
order_slices(const CudaSlices *slices, CudaPlace *places, int64_t *firsts, int64_t count, cudaStream_t stream)
{
    int64_t room = cuda_sort_room(count);
    cudaError_t error = cuda_launch(first_keys_kernel<T>, index_grid(room), dim3(INDEX_THREADS), 0, stream,
        *slices, (const int64_t *)firsts, count, places, room);
    if (error == cudaSuccess) {
        error = sort_places(places, room, ByElements<T>{*slices}, stream);
    }
    return error != cudaSuccess ? error
                                : cuda_launch(keep_order_kernel, index_grid(count), dim3(INDEX_THREADS), 0,
                                      stream, (const CudaPlace *)places, firsts, count);
}

extern "C" int
cuda_order_slices(
    const CudaSlices *slices, CudaPlace *places, int64_t *firsts, int64_t count, cudaStream_t stream)
{
    EACH_ELEMENT_TYPE(slices->type, order_slices<T>(slices, places, firsts, count, stream));
}

template <typename I, typename C>
static cudaError_t
number_slices(const CudaNumbering *numbering, cudaStream_t stream)
{
    cudaError_t error = numbering->counts == nullptr ? cudaSuccess
                                                     : cudaMemsetAsync(numbering->counts, 0,
                                                           (size_t)numbering->count * sizeof(I), stream);
    if (error == cudaSuccess) {
        error = cuda_launch(
            number_firsts_kernel, index_grid(numbering->count), dim3(INDEX_THREADS), 0, stream, *numbering);
    }
    return error != cudaSuccess ? error
                                : cuda_launch(number_slices_kernel<I, C>, index_grid(numbering->size),
                                      dim3(INDEX_THREADS), 0, stream, *numbering);
}

extern "C" int
cuda_number_slices(const CudaNumbering *numbering, cudaStream_t stream)
{
    return (int)(numbering->is_wide ? number_slices<int64_t, unsigned long long>(numbering, stream)
                                    : number_slices<int32_t, unsigned>(numbering, stream));
}
