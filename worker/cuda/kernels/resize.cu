/* Positions are computed in float, as the reference kernel does: at borders between pixels the last bit
 * decides. */
#include "worker/cuda/kernels/resize.h"

#include <cmath>
#include <type_traits>

#include "worker/cuda/kernels/blame.cuh"
#include "worker/cuda/kernels/elements.cuh"
#include "worker/cuda/kernels/index.cuh"

/* The type in which pixels of type T are weighed. */
template <typename T>
using Weighed = typename std::conditional<(sizeof(T) < sizeof(float)) || std::is_same<T, float>::value, float,
    double>::type;

/* Two neighbouring pixels, and a position between them. */
struct Between {
    int64_t lower;
    int64_t upper;
    float part; /* weight of the upper one; the lower has the rest of 1 */
};

__device__ __forceinline__ int64_t
limit_position(int64_t position, int64_t size)
{
    return position < 0 ? 0 : position >= size ? size - 1 : position;
}

__device__ __forceinline__ Between
between_at(const CudaSide &side, int64_t position)
{
    float source =
        side.is_half_pixel ? ((float)position + 0.5F) * side.factor - 0.5F : (float)position * side.factor;
    float below = floorf(source);
    return {limit_position((int64_t)below, side.input), limit_position((int64_t)ceilf(source), side.input),
        source - below};
}

__device__ __forceinline__ int64_t
nearest_at(const CudaSide &side, int64_t position)
{
    float source = ((float)position + (side.is_half_pixel ? 0.5F : 0.0F)) * side.factor;
    return limit_position((int64_t)(side.aligns_corners ? roundf(source) : floorf(source)), side.input);
}

/* A place in a batch of images. */
struct Place {
    int64_t batch;
    int64_t row;
    int64_t column;
    int64_t channel;
};

__device__ __forceinline__ Place
place_of(int64_t element, int64_t rows, int64_t columns, int64_t channels)
{
    int64_t pixel = index_quotient(element, channels);
    int64_t line = index_quotient(pixel, columns);
    int64_t batch = index_quotient(line, rows);
    return {batch, line - batch * rows, pixel - line * columns, element - pixel * channels};
}

__device__ __forceinline__ int64_t
element_at(const Place &place, int64_t row, int64_t column, int64_t rows, int64_t columns, int64_t channels)
{
    return ((place.batch * rows + row) * columns + column) * channels + place.channel;
}

template <typename T>
__device__ __forceinline__ float
weigh_corners(const T *images, const Place &place, const Between &row, const Between &column, int64_t rows,
    int64_t columns, int64_t channels)
{
    using C = Weighed<T>;
    C sum = 0;
    for (int n = 0; n < 4; n++) {
        int64_t y = n / 2 == 0 ? row.lower : row.upper;
        int64_t x = n % 2 == 0 ? column.lower : column.upper;
        C weight =
            (n / 2 == 0 ? 1 - (C)row.part : (C)row.part) * (n % 2 == 0 ? 1 - (C)column.part : (C)column.part);
        sum += weight * (C)load(images, element_at(place, y, x, rows, columns, channels));
    }
    return (float)sum;
}

template <typename T>
__global__ void
bilinear_kernel(CudaResize resize)
{
    for (int64_t i = index_first(); i < resize.count; i += index_step()) {
        Place place = place_of(i, resize.rows.output, resize.columns.output, resize.channels);
        ((float *)resize.to)[i] = weigh_corners((const T *)resize.from, place,
            between_at(resize.rows, place.row), between_at(resize.columns, place.column), resize.rows.input,
            resize.columns.input, resize.channels);
    }
}

template <typename T>
__global__ void
nearest_kernel(CudaResize resize)
{
    for (int64_t i = index_first(); i < resize.count; i += index_step()) {
        Place place = place_of(i, resize.rows.output, resize.columns.output, resize.channels);
        int64_t from =
            element_at(place, nearest_at(resize.rows, place.row), nearest_at(resize.columns, place.column),
                resize.rows.input, resize.columns.input, resize.channels);
        ((T *)resize.to)[i] = ((const T *)resize.from)[from];
    }
}

/* How positions of the output reach those of the input: ends never fall from one position to the next. */
struct ByNeighbours {
    static __device__ __forceinline__ int64_t
    last(const CudaSide &side, int64_t position)
    {
        return between_at(side, position).upper;
    }
    static __device__ __forceinline__ int64_t
    first(const CudaSide &side, int64_t position)
    {
        return between_at(side, position).lower;
    }
    /* Returns how much of position `position` of the output pixel `pixel` of the input is. */
    template <typename C>
    static __device__ __forceinline__ C
    weight(const CudaSide &side, int64_t position, int64_t pixel)
    {
        Between between = between_at(side, position);
        C part = (C)between.part;
        return (between.lower == pixel ? 1 - part : (C)0) + (between.upper == pixel ? part : (C)0);
    }
};

struct ByNearest {
    static __device__ __forceinline__ int64_t
    last(const CudaSide &side, int64_t position)
    {
        return nearest_at(side, position);
    }
    static __device__ __forceinline__ int64_t
    first(const CudaSide &side, int64_t position)
    {
        return nearest_at(side, position);
    }
    template <typename C>
    static __device__ __forceinline__ C
    weight(const CudaSide &, int64_t, int64_t)
    {
        return 1;
    }
};

/* Returns the first position of the output that reaches the pixel or one behind it; the number of positions
 * when none does. */
template <typename F>
__device__ __forceinline__ int64_t
first_reaching(const CudaSide &side, int64_t pixel)
{
    int64_t low = 0;
    int64_t high = side.output;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (F::last(side, middle) >= pixel) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* S is the type of what came back, C that of sums. */
template <typename F, typename S, typename T, typename C>
__global__ void
gradient_kernel(CudaResize resize)
{
    const CudaSide &rows = resize.rows;
    const CudaSide &columns = resize.columns;
    for (int64_t i = index_first(); i < resize.count; i += index_step()) {
        Place place = place_of(i, rows.input, columns.input, resize.channels);
        int64_t left = first_reaching<F>(columns, place.column);
        C sum = 0;
        for (int64_t y = first_reaching<F>(rows, place.row);
             y < rows.output && F::first(rows, y) <= place.row; y++) {
            C of_row = F::template weight<C>(rows, y, place.row);
            for (int64_t x = left; x < columns.output && F::first(columns, x) <= place.column; x++) {
                C weight = of_row * F::template weight<C>(columns, x, place.column);
                sum += weight * (C)load((const S *)resize.from,
                                    element_at(place, y, x, rows.output, columns.output, resize.channels));
            }
        }
        store((T *)resize.to, i, (Accumulator<T>)sum);
    }
}

template <typename... P>
static cudaError_t
resize_by(void (*kernel)(P...), const CudaResize *resize, cudaStream_t stream)
{
    return resize->count == 0
               ? cudaSuccess
               : cuda_launch(kernel, index_grid(resize->count), dim3(INDEX_THREADS), 0, stream, *resize);
}

extern "C" int
cuda_resize_bilinear(CudaType type, const CudaResize *resize, cudaStream_t stream)
{
    EACH_REAL_TYPE(type, (resize_by(bilinear_kernel<T>, resize, stream)));
}

extern "C" int
cuda_resize_nearest(size_t element_size, const CudaResize *resize, cudaStream_t stream)
{
    EACH_ELEMENT_SIZE(element_size, (resize_by(nearest_kernel<T>, resize, stream)));
}

extern "C" int
cuda_resize_bilinear_gradient(CudaType type, const CudaResize *resize, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(
        type, (resize_by(gradient_kernel<ByNeighbours, float, T, Accumulator<T>>, resize, stream)));
}

#define NEAREST_GRADIENT(C) (resize_by(gradient_kernel<ByNearest, T, T, C>, resize, stream))

extern "C" int
cuda_resize_nearest_gradient(CudaType type, const CudaResize *resize, cudaStream_t stream){TYPE_SWITCH(type,
    FLOATING_CASES(NEAREST_GRADIENT(Accumulator<T>)) SIGNED_CASES(NEAREST_GRADIENT(uint64_t))
        UNSIGNED_CASES(NEAREST_GRADIENT(uint64_t)))}

/* Returns position n of `count` between two ends, which are fractions of the image's size. */
__device__ __forceinline__
    float crop_position(float first, float last, int64_t size, int64_t count, int64_t n)
{
    if (count <= 1) {
        return 0.5F * (first + last) * (float)(size - 1);
    }
    float step = (last - first) * (float)(size - 1) / (float)(count - 1);
    return first * (float)(size - 1) + (float)n * step;
}

/* False for NaN too. */
__device__ __forceinline__ bool
is_inside(float source, int64_t size)
{
    return source >= 0 && source <= (float)(size - 1);
}

__device__ __forceinline__ Between
between_of(float source, int64_t size, bool is_nearest)
{
    float below = is_nearest ? roundf(source) : floorf(source);
    float above = is_nearest ? below : ceilf(source);
    return {limit_position((int64_t)below, size), limit_position((int64_t)above, size),
        is_nearest ? 0 : source - below};
}

template <typename T>
__global__ void
crop_kernel(CudaCrop crop, CudaBlame blame)
{
    for (int64_t i = index_first(); i < crop.count; i += index_step()) {
        Place place = place_of(i, crop.crop_rows, crop.crop_columns, crop.channels);
        int64_t box = place.batch;
        const float *sides = crop.boxes + 4 * box;
        float row = crop_position(sides[0], sides[2], crop.image_rows, crop.crop_rows, place.row);
        float column = crop_position(sides[1], sides[3], crop.image_columns, crop.crop_columns, place.column);
        place.batch = crop.image_of[box];
        bool is_there = place.batch >= 0 && place.batch < crop.image_count;
        if (!is_there) {
            refuse(blame, box, place.batch, crop.image_count);
        }
        crop.crops[i] = is_there && is_inside(row, crop.image_rows) && is_inside(column, crop.image_columns)
                            ? weigh_corners((const T *)crop.images, place,
                                  between_of(row, crop.image_rows, crop.is_nearest),
                                  between_of(column, crop.image_columns, crop.is_nearest), crop.image_rows,
                                  crop.image_columns, crop.channels)
                            : crop.outside;
    }
}

template <typename T>
static cudaError_t
crop_images(const CudaCrop *crop, const CudaBlame *blame, cudaStream_t stream)
{
    return crop->count == 0 ? cudaSuccess
                            : cuda_launch(crop_kernel<T>, index_grid(crop->count), dim3(INDEX_THREADS), 0,
                                  stream, *crop, *blame);
}

extern "C" int
cuda_crop(CudaType type, const CudaCrop *crop, const CudaBlame *blame, cudaStream_t stream)
{
    EACH_REAL_TYPE(type, crop_images<T>(crop, blame, stream));
}
