/* Choice, limits and conversion: functions of elements of more than one type. */
#include "worker/cuda/kernels/convert.cuh"
#include "worker/cuda/kernels/elements.cuh"
#include "worker/cuda/kernels/elementwise.cuh"

template <typename T>
__global__ void
choose_kernel(CudaMap map)
{
    for (int64_t i = index_first(); i < map.count; i += index_step()) {
        int64_t at[CUDA_MAP_INPUTS_MAX] = {0, 0, 0};
        index_offsets<CUDA_MAP_INPUTS_MAX>(i, map.rank, map.sizes, map.strides, at);
        bool is_first = ((const uint8_t *)map.inputs[0])[at[0]] != 0;
        ((T *)map.output)[i] =
            is_first ? ((const T *)map.inputs[1])[at[1]] : ((const T *)map.inputs[2])[at[2]];
    }
}

template <typename T>
static int
choose(const CudaMap *map, cudaStream_t stream)
{
    return (int)(map->count == 0 ? cudaSuccess
                                 : cuda_launch(choose_kernel<T>, index_grid(map->count), dim3(INDEX_THREADS),
                                       0, stream, *map));
}

extern "C" int
cuda_choose(size_t element_size, const CudaMap *map, cudaStream_t stream)
{
    EACH_ELEMENT_SIZE(element_size, choose<T>(map, stream));
}

template <typename T>
__global__ void
clip_kernel(const T *input, const T *low, const T *high, T *output, int64_t count)
{
    using C = Accumulator<T>;
    for (int64_t i = index_first(); i < count; i += index_step()) {
        C a = load(input, i);
        if (low != nullptr) {
            C least = load(low, 0);
            a = a < least ? least : a;
        }
        if (high != nullptr) {
            C most = load(high, 0);
            a = a > most ? most : a;
        }
        store(output, i, a);
    }
}

template <typename T>
static cudaError_t
clip_all(const CudaMap *map, cudaStream_t stream)
{
    if (map->count == 0) {
        return cudaSuccess;
    }
    return cuda_launch(clip_kernel<T>, index_grid(map->count), dim3(INDEX_THREADS), 0, stream,
        (const T *)map->inputs[0], (const T *)map->inputs[1], (const T *)map->inputs[2], (T *)map->output,
        map->count);
}

extern "C" int
cuda_clip(CudaType type, const CudaMap *map, cudaStream_t stream)
{
    EACH_REAL_TYPE(type, clip_all<T>(map, stream));
}

template <typename T>
__device__ __forceinline__ void
convert_element(CudaType from, const void *input, T *output, int64_t i, bool is_bool)
{
#define CONVERT(upper, stored, wide)                                                                         \
    case upper:                                                                                              \
        store_converted(output, i, (wide)(load((const stored *)(input), i)), is_bool);                       \
        break;
    switch (from) {
        CONVERT(CUDA_BOOL, uint8_t, uint64_t)
        CONVERT(CUDA_INT8, int8_t, int64_t)
        CONVERT(CUDA_INT16, int16_t, int64_t)
        CONVERT(CUDA_INT32, int32_t, int64_t)
        CONVERT(CUDA_INT64, int64_t, int64_t)
        CONVERT(CUDA_UINT8, uint8_t, uint64_t)
        CONVERT(CUDA_UINT16, uint16_t, uint64_t)
        CONVERT(CUDA_UINT32, uint32_t, uint64_t)
        CONVERT(CUDA_UINT64, uint64_t, uint64_t)
        CONVERT(CUDA_FLOAT16, __half, double)
        CONVERT(CUDA_BFLOAT16, __nv_bfloat16, double)
        CONVERT(CUDA_FLOAT32, float, double)
        CONVERT(CUDA_FLOAT64, double, double)
    case CUDA_INVALID:
    case CUDA_TYPE_COUNT:
        break;
    }
#undef CONVERT
}

template <typename T>
__global__ void
convert_kernel(CudaType from, const void *input, T *output, int64_t count, bool is_bool)
{
    for (int64_t i = index_first(); i < count; i += index_step()) {
        convert_element(from, input, output, i, is_bool);
    }
}

template <typename T>
static cudaError_t
convert(CudaType from, const void *input, void *output, int64_t count, bool is_bool, cudaStream_t stream)
{
    if (count == 0) {
        return cudaSuccess;
    }
    return cuda_launch(convert_kernel<T>, index_grid(count), dim3(INDEX_THREADS), 0, stream, from, input,
        (T *)output, count, is_bool);
}

extern "C" int
cuda_convert(CudaType from, const void *input, CudaType to, void *output, int64_t count, cudaStream_t stream)
{
    bool is_bool = to == CUDA_BOOL;
    TYPE_SWITCH(to, FLOATING_CASES(convert<T>(from, input, output, count, is_bool, stream))
                        SIGNED_CASES(convert<T>(from, input, output, count, is_bool, stream))
                            UNSIGNED_CASES(convert<T>(from, input, output, count, is_bool, stream)) TYPE_CASE(
                                CUDA_BOOL, uint8_t, convert<T>(from, input, output, count, is_bool, stream)))
}
