/* onnx::RoiAlign: each region is cut into bins, and a bin is the mean or the largest of points that are
 * interpolated from four neighbours. */
#include <math.h>

#include "shared/base/clock.h"
#include "shared/ops/sampling/rule.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum { POINT_WORK = 8 }; /* nanoseconds that a point takes, about */

typedef struct Regions {
    const Call *call;
    const double *image;
    const double *rois;
    const int64_t *batches;
    double *output;
    int64_t channels;
    int64_t height; /* of the image */
    int64_t width;
    int64_t rows; /* of the bins */
    int64_t columns;
    int64_t ratio; /* points along a side of a bin; 0: as many as it has elements */
    double scale;
    bool is_half_pixel; /* half a pixel is subtracted, and regions may be smaller than one */
    bool is_largest;
} Regions;

/* The bins of a region: the corner of the first one, the size of each, and the number of its points. */
typedef struct Bins {
    double top;
    double left;
    double height;
    double width;
    int64_t point_rows;
    int64_t point_columns;
} Bins;

static Bins
bins_of(const Regions *regions, const double *roi)
{
    double offset = regions->is_half_pixel ? 0.5 : 0;
    Bins bins = {.left = roi[0] * regions->scale - offset, .top = roi[1] * regions->scale - offset};
    double width = roi[2] * regions->scale - offset - bins.left;
    double height = roi[3] * regions->scale - offset - bins.top;
    if (!regions->is_half_pixel) {
        width = width > 1 ? width : 1;
        height = height > 1 ? height : 1;
    }
    bins.height = height / (double)regions->rows;
    bins.width = width / (double)regions->columns;
    double rows = ceil(bins.height);
    double columns = ceil(bins.width);
    bins.point_rows = regions->ratio > 0 ? regions->ratio : rows > 0 ? (int64_t)rows : 0;
    bins.point_columns = regions->ratio > 0 ? regions->ratio : columns > 0 ? (int64_t)columns : 0;
    return bins;
}

/* Returns the lower neighbour of a position along a side, which moves into the image. */
static int64_t
lower_neighbour(double *position, int64_t size, int64_t *ret_upper)
{
    *position = *position > 0 ? *position : 0;
    int64_t lower = (int64_t)*position;
    if (lower >= size - 1) {
        *position = (double)(size - 1);
        *ret_upper = size - 1;
        return size - 1;
    }
    *ret_upper = lower + 1;
    return lower;
}

/* The largest is taken of the four weighted neighbours of all points, as ONNX Runtime does. */
static double
sample_point(const Regions *regions, const double *plane, double y, double x)
{
    if (!(y >= -1 && y <= (double)regions->height && x >= -1 && x <= (double)regions->width)) {
        return 0;
    }
    int64_t bottom = 0;
    int64_t right = 0;
    int64_t top = lower_neighbour(&y, regions->height, &bottom);
    int64_t left = lower_neighbour(&x, regions->width, &right);
    double low = y - (double)top;
    double far = x - (double)left;
    double parts[] = {plane[top * regions->width + left] * (1 - low) * (1 - far),
        plane[top * regions->width + right] * (1 - low) * far,
        plane[bottom * regions->width + left] * low * (1 - far),
        plane[bottom * regions->width + right] * low * far};
    if (!regions->is_largest) {
        return parts[0] + parts[1] + parts[2] + parts[3];
    }
    return fmax(fmax(parts[0], parts[1]), fmax(parts[2], parts[3]));
}

/* The result is none when the call ends meanwhile. `work` is call_ends_after()'s. */
static double
pool_bin(const Regions *regions, const Bins *bins, const double *plane, int64_t bin, uint64_t *work)
{
    int64_t row = bin / regions->columns;
    int64_t column = bin % regions->columns;
    double sum = 0;
    int64_t count = bins->point_rows * bins->point_columns;
    double largest = -INFINITY;
    for (int64_t i = 0; i < bins->point_rows; i++) {
        if (call_ends_after(regions->call, POINT_WORK * (uint64_t)bins->point_columns, work)) {
            return 0;
        }
        double y = bins->top + (double)row * bins->height +
                   ((double)i + 0.5) * bins->height / (double)bins->point_rows;
        for (int64_t k = 0; k < bins->point_columns; k++) {
            double x = bins->left + (double)column * bins->width +
                       ((double)k + 0.5) * bins->width / (double)bins->point_columns;
            double point = sample_point(regions, plane, y, x);
            sum += point;
            largest = point > largest ? point : largest;
        }
    }
    if (regions->is_largest) {
        return count > 0 ? largest : 0;
    }
    return sum / (double)(count > 1 ? count : 1);
}

static void
align_region(void *context, int64_t number)
{
    const Regions *regions = context;
    uint64_t work = 0;
    Bins bins = bins_of(regions, regions->rois + number * 4);
    for (int64_t channel = 0; channel < regions->channels; channel++) {
        const double *plane = regions->image + (regions->batches[number] * regions->channels + channel) *
                                                   regions->height * regions->width;
        double *to =
            regions->output + (number * regions->channels + channel) * regions->rows * regions->columns;
        for (int64_t bin = 0; bin < regions->rows * regions->columns; bin++) {
            to[bin] = pool_bin(regions, &bins, plane, bin, &work);
        }
    }
}

/* Refuses regions of images that there are not, and those that would take points without end. */
static Status
check_regions(Call *call, const Regions *regions, int64_t count, int64_t images)
{
    for (int64_t n = 0; n < count; n++) {
        if (regions->batches[n] < 0 || regions->batches[n] >= images) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "index %lld at %lld is not within %lld",
                (long long)regions->batches[n], (long long)n, (long long)images);
        }
        for (int side = 0; side < 4; side++) {
            double place = regions->rois[n * 4 + side] * regions->scale;
            if (!(fabs(place) <= ROI_COORDINATE_MAX)) {
                return call_fail(call, STATUS_INVALID_ARGUMENT, "coordinate %d of region %lld is %g", side,
                    (long long)n, regions->rois[n * 4 + side]);
            }
        }
    }
    return STATUS_OK;
}

static Status
roi_align_compute(KernelContext *context)
{
    const Shape *input = &context->inputs[0].shape;
    RoiAlign align;
    Shape shape;
    AUTO_TENSOR image = {0};
    AUTO_TENSOR rois = {0};
    AUTO_TENSOR output = {0};
    TRY(output_shapes(context, &shape));
    TRY(roi_align_read(context->call, context->node, input, &shape, &align));
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_FLOAT64, &image));
    TRY(scratch_cast(context, &context->inputs[1], DTYPE_FLOAT64, &rois));
    TRY(scratch_new(context, DTYPE_FLOAT64, &shape, &output));
    Regions regions = {.call = context->call,
        .image = image.data,
        .rois = rois.data,
        .batches = context->inputs[2].data,
        .output = output.data,
        .channels = input->dims[1],
        .height = input->dims[2],
        .width = input->dims[3],
        .rows = shape.dims[2],
        .columns = shape.dims[3],
        .ratio = align.ratio,
        .scale = align.scale,
        .is_half_pixel = align.is_half_pixel,
        .is_largest = align.is_largest};
    TRY(check_regions(context->call, &regions, shape.dims[0], input->dims[0]));
    if (tensor_element_count(&output) > 0) {
        context->device->parallel_for(context->device, shape.dims[0], align_region, &regions);
        TRY(call_check(context->call, clock_monotonic_ns()));
    }
    return scratch_finish(context, 0, &output);
}

static bool
roi_align_supports(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

static const Kernel roi_kernels[] = {
    {.op = "onnx::RoiAlign",
        .supports = roi_align_supports,
        .compute = roi_align_compute,
        .wide_inputs = 3,
        .wide_outputs = 1},
};

KERNEL_FAMILY(reference, sampling_roi, roi_kernels);
