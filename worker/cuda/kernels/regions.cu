/* A thread takes a bin of a channel, by the operations of the reference kernel
 * (shared/ops/sampling/roi_kernel.c). */
#include "worker/cuda/kernels/regions.h"

#include <cmath>

#include "worker/cuda/kernels/blame.cuh"
#include "worker/cuda/kernels/index.cuh"

/* The bins of a region: the corner of the first one, the size of each, and the number of its points. */
struct RegionBins {
    double top;
    double left;
    double height;
    double width;
    int64_t point_rows;
    int64_t point_columns;
};

__device__ __forceinline__ int64_t
count_points(const CudaRegions &regions, double side)
{
    double points = ceil(side);
    return regions.ratio > 0 ? regions.ratio : points > 0 ? (int64_t)points : 0;
}

template <typename T>
__device__ __forceinline__ RegionBins
bins_of(const CudaRegions &regions, const T *corners)
{
    double offset = regions.is_half_pixel ? 0.5 : 0;
    double left = (double)load(corners, 0) * regions.scale - offset;
    double top = (double)load(corners, 1) * regions.scale - offset;
    double width = (double)load(corners, 2) * regions.scale - offset - left;
    double height = (double)load(corners, 3) * regions.scale - offset - top;
    if (!regions.is_half_pixel) {
        width = width > 1 ? width : 1;
        height = height > 1 ? height : 1;
    }
    height /= (double)regions.rows;
    width /= (double)regions.columns;
    return {top, left, height, width, count_points(regions, height), count_points(regions, width)};
}

/* A position along a side, moved into the image, between two neighbours. */
struct RegionPlace {
    int64_t lower;
    int64_t upper;
    double part; /* weight of the upper one; the lower has the rest of 1 */
};

__device__ __forceinline__ RegionPlace
place_of(double position, int64_t size)
{
    double inside = position > 0 ? position : 0;
    int64_t lower = (int64_t)inside;
    if (lower >= size - 1) {
        return {size - 1, size - 1, 0};
    }
    return {lower, lower + 1, inside - (double)lower};
}

/* The largest is taken of the four weighted neighbours of all points. */
template <typename T>
__device__ __forceinline__ double
sample_point(const CudaRegions &regions, const T *plane, double y, double x)
{
    if (!(y >= -1 && y <= (double)regions.height && x >= -1 && x <= (double)regions.width)) {
        return 0;
    }
    RegionPlace row = place_of(y, regions.height);
    RegionPlace column = place_of(x, regions.width);
    double above = 1 - row.part;
    double before = 1 - column.part;
    const T *upper = plane + row.lower * regions.width;
    const T *lower = plane + row.upper * regions.width;
    double first = (double)load(upper, column.lower) * above * before;
    double second = (double)load(upper, column.upper) * above * column.part;
    double third = (double)load(lower, column.lower) * row.part * before;
    double fourth = (double)load(lower, column.upper) * row.part * column.part;
    return regions.is_largest ? fmax(fmax(first, second), fmax(third, fourth))
                              : first + second + third + fourth;
}

template <typename T>
__device__ __forceinline__ double
pool_bin(const CudaRegions &regions, const RegionBins &bins, const T *plane, int64_t row, int64_t column)
{
    double sum = 0;
    double largest = -INFINITY;
    int64_t count = bins.point_rows * bins.point_columns;
    for (int64_t n = 0; n < count; n++) {
        int64_t i = index_quotient(n, bins.point_columns);
        int64_t k = n - i * bins.point_columns;
        double y =
            bins.top + (double)row * bins.height + ((double)i + 0.5) * bins.height / (double)bins.point_rows;
        double x = bins.left + (double)column * bins.width +
                   ((double)k + 0.5) * bins.width / (double)bins.point_columns;
        double point = sample_point(regions, plane, y, x);
        sum += point;
        largest = point > largest ? point : largest;
    }
    if (regions.is_largest) {
        return count > 0 ? largest : 0;
    }
    return sum / (double)(count > 1 ? count : 1);
}

/* Returns whether the region has an image and corners that can be; it is refused otherwise. */
template <typename T>
__device__ __forceinline__ bool
check_region(
    const CudaRegions &regions, int64_t region, const CudaBlame &image_blame, const CudaBlame &corner_blame)
{
    int64_t image = regions.images_of[region];
    int64_t line = region * CUDA_REGION_WIDTH;
    if (image < 0 || image >= regions.image_count) {
        refuse(image_blame, line, image, regions.image_count);
        return false;
    }
    for (int side = 0; side < 4; side++) {
        double corner = (double)load((const T *)regions.corners, region * 4 + side);
        if (!(fabs(corner * regions.scale) <= regions.coordinate_max)) {
            refuse_numbers(corner_blame, line + 1 + side, corner, 0);
            return false;
        }
    }
    return true;
}

/* Regions are looked at even if their images have no channels: `total` is no less than the regions. */
template <typename T>
__global__ void
regions_kernel(CudaRegions regions, int64_t total, CudaBlame image_blame, CudaBlame corner_blame)
{
    for (int64_t i = index_first(); i < total; i += index_step()) {
        int64_t bin = index_quotient(i, regions.columns);
        int64_t column = i - bin * regions.columns;
        int64_t plane = index_quotient(bin, regions.rows);
        int64_t row = bin - plane * regions.rows;
        int64_t region = regions.channels == 0 ? i : index_quotient(plane, regions.channels);
        if (!check_region<T>(regions, region, image_blame, corner_blame) || regions.channels == 0) {
            continue;
        }
        int64_t channel = plane - region * regions.channels;
        RegionBins bins = bins_of(regions, (const T *)regions.corners + region * 4);
        int64_t image = regions.images_of[region] * regions.channels + channel;
        const T *from = (const T *)regions.images + image * regions.height * regions.width;
        store((T *)regions.output, i, (Accumulator<T>)pool_bin(regions, bins, from, row, column));
    }
}

template <typename T>
static cudaError_t
align(const CudaRegions *regions, const CudaBlame *image_blame, const CudaBlame *corner_blame,
    cudaStream_t stream)
{
    int64_t bins = regions->channels * regions->rows * regions->columns;
    int64_t total = regions->region_count * (regions->channels == 0 ? 1 : bins);
    return total == 0 ? cudaSuccess
                      : cuda_launch(regions_kernel<T>, index_grid(total), dim3(INDEX_THREADS), 0, stream,
                            *regions, total, *image_blame, *corner_blame);
}

extern "C" int
cuda_align_regions(CudaType type, const CudaRegions *regions, const CudaBlame *image_blame,
    const CudaBlame *corner_blame, cudaStream_t stream)
{
    EACH_FLOATING_TYPE(type, align<T>(regions, image_blame, corner_blame, stream));
}
