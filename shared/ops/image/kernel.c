/* Images resized and cropped. Positions are computed in float, as TensorFlow does: at borders between
 * pixels the last bit decides. */
#include <math.h>

#include "worker/reference/doubles.h"
#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"
#include "worker/reference/resize.h"
#include "worker/reference/scratch.h"
#include "worker/reference/wide.h"

static int64_t
nearest_at(const ResizedSide *side, int64_t position)
{
    float source = ((float)position + (side->is_half_pixel ? 0.5F : 0)) * side->factor;
    return resized_position((int64_t)(side->aligns_corners ? roundf(source) : floorf(source)), side->input);
}

/* The four pixels around a resized one, as offsets into images, with their weights. */
typedef struct Corners {
    int64_t offsets[4];
    double weights[4];
} Corners;

static Corners
corners_of(const Shape *images, int64_t batch, const Between *row, const Between *column)
{
    Corners corners;
    const int64_t rows[2] = {row->lower, row->upper};
    const int64_t columns[2] = {column->lower, column->upper};
    for (int n = 0; n < 4; n++) {
        corners.offsets[n] =
            ((batch * images->dims[1] + rows[n / 2]) * images->dims[2] + columns[n % 2]) * images->dims[3];
        corners.weights[n] =
            (n / 2 == 0 ? 1 - row->part : row->part) * (n % 2 == 0 ? 1 - column->part : column->part);
    }
    return corners;
}

typedef void (*VisitPixel)(const Corners *corners, int64_t channels, double *images, double *resized);

static void
read_corners(const Corners *corners, int64_t channels,
    double *images, /* NOLINT(readability-non-const-parameter): a VisitPixel */
    double *resized)
{
    for (int64_t k = 0; k < channels; k++) {
        double sum = 0;
        for (int n = 0; n < 4; n++) {
            sum += corners->weights[n] * images[corners->offsets[n] + k];
        }
        resized[k] = sum;
    }
}

static void
add_to_corners(const Corners *corners, int64_t channels, double *images,
    double *resized) /* NOLINT(readability-non-const-parameter): a VisitPixel */
{
    for (int n = 0; n < 4; n++) {
        for (int64_t k = 0; k < channels; k++) {
            images[corners->offsets[n] + k] += corners->weights[n] * resized[k];
        }
    }
}

static void
visit_bilinear(const Node *node, const Tensor *images, const Tensor *resized, VisitPixel visit)
{
    const Shape *large = &resized->shape;
    ResizedSide rows = resized_side(node, images->shape.dims[1], large->dims[1]);
    ResizedSide columns = resized_side(node, images->shape.dims[2], large->dims[2]);
    int64_t channels = large->dims[3];
    int64_t pixels = large->dims[0] * large->dims[1] * large->dims[2];
    for (int64_t pixel = 0; pixel < pixels; pixel++) {
        Between row = resized_between(&rows, pixel / large->dims[2] % large->dims[1]);
        Between column = resized_between(&columns, pixel % large->dims[2]);
        Corners corners = corners_of(&images->shape, pixel / large->dims[2] / large->dims[1], &row, &column);
        visit(&corners, channels, images->data, (double *)resized->data + pixel * channels);
    }
}

static bool
bilinear_supports(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]) || dtype_is_integer(node->input_dtypes[0]);
}

static Status
bilinear_compute(KernelContext *context)
{
    Shape shape;
    AUTO_TENSOR images = {0};
    AUTO_TENSOR resized = {0};
    TRY(output_shapes(context, &shape));
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_FLOAT64, &images));
    TRY(scratch_new(context, DTYPE_FLOAT64, &shape, &resized));
    visit_bilinear(context->node, &images, &resized, read_corners);
    return scratch_finish(context, 0, &resized);
}

static bool
bilinear_gradient_supports(const Node *node)
{
    return dtype_is_floating(node->output_dtypes[0]);
}

static Status
bilinear_gradient_compute(KernelContext *context)
{
    AUTO_DOUBLES doubles = {0};
    TRY(doubles_begin(context, &doubles));
    visit_bilinear(context->node, &doubles.outputs[0], &doubles.inputs[0], add_to_corners);
    return doubles_finish(context, &doubles);
}

/* Returns the offset of the pixel of `images` nearest to a pixel of `resized`. */
static int64_t
nearest_offset(const ResizedSide sides[2], const Shape *images, int64_t pixel)
{
    int64_t row = nearest_at(&sides[0], pixel / sides[1].output % sides[0].output);
    int64_t column = nearest_at(&sides[1], pixel % sides[1].output);
    int64_t batch = pixel / sides[1].output / sides[0].output;
    return ((batch * images->dims[1] + row) * images->dims[2] + column) * images->dims[3];
}

static bool
nearest_supports(const Node *node)
{
    return wide_supports(WIDE_ADD, node->input_dtypes[0]);
}

static Status
nearest_compute(KernelContext *context)
{
    const Tensor *images = &context->inputs[0];
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    const Shape *shape = &output->shape;
    const ResizedSide sides[2] = {resized_side(context->node, images->shape.dims[1], shape->dims[1]),
        resized_side(context->node, images->shape.dims[2], shape->dims[2])};
    size_t size = dtype_size(output->dtype);
    size_t bytes = (size_t)shape->dims[3] * size;
    int64_t pixels = bytes == 0 ? 0 : shape->dims[0] * shape->dims[1] * shape->dims[2];
    for (int64_t pixel = 0; pixel < pixels; pixel++) {
        memcpy((char *)output->data + (size_t)pixel * bytes,
            (const char *)images->data + (size_t)nearest_offset(sides, &images->shape, pixel) * size, bytes);
    }
    return STATUS_OK;
}

static Status
nearest_gradient_compute(KernelContext *context)
{
    Dtype wide = wide_dtype(context->inputs[0].dtype);
    size_t size = dtype_size(wide);
    Shape shape;
    AUTO_TENSOR gradients = {0};
    AUTO_TENSOR sums = {0};
    TRY(output_shapes(context, &shape));
    TRY(scratch_cast(context, &context->inputs[0], wide, &gradients));
    TRY(scratch_new(context, wide, &shape, &sums));
    fill_zero(&sums);
    const Shape *large = &gradients.shape;
    const ResizedSide sides[2] = {resized_side(context->node, shape.dims[1], large->dims[1]),
        resized_side(context->node, shape.dims[2], large->dims[2])};
    int64_t channels = large->dims[3];
    int64_t pixels = large->dims[0] * large->dims[1] * large->dims[2];
    for (int64_t pixel = 0; pixel < pixels; pixel++) {
        wide_combine(WIDE_ADD, wide, (char *)sums.data + (size_t)nearest_offset(sides, &shape, pixel) * size,
            (const char *)gradients.data + (size_t)(pixel * channels) * size, channels);
    }
    return scratch_finish(context, 0, &sums);
}

/* Returns position n of `count` between two ends, which are fractions of the image's size. */
static float
crop_position(float first, float last, int64_t size, int64_t count, int64_t n)
{
    if (count <= 1) {
        return 0.5F * (first + last) * (float)(size - 1);
    }
    float step = (last - first) * (float)(size - 1) / (float)(count - 1);
    return first * (float)(size - 1) + (float)n * step;
}

static bool
is_inside(float source, int64_t size)
{
    return source >= 0 && source <= (float)(size - 1);
}

static Between
between_of(float source, int64_t size, bool is_nearest)
{
    float below = is_nearest ? roundf(source) : floorf(source);
    float above = is_nearest ? below : ceilf(source);
    return (Between){resized_position((int64_t)below, size), resized_position((int64_t)above, size),
        is_nearest ? 0 : (double)(source - below)};
}

typedef struct Crop {
    double *images;
    const Shape *shape;
    const float *box; /* y1, x1, y2, x2 */
    int64_t batch;
    bool is_nearest;
    double outside;
} Crop;

static void
crop_box(const Crop *crop, const Shape *output, double *crops)
{
    int64_t channels = output->dims[3];
    for (int64_t pixel = 0; pixel < output->dims[1] * output->dims[2]; pixel++) {
        float row = crop_position(
            crop->box[0], crop->box[2], crop->shape->dims[1], output->dims[1], pixel / output->dims[2]);
        float column = crop_position(
            crop->box[1], crop->box[3], crop->shape->dims[2], output->dims[2], pixel % output->dims[2]);
        double *to = &crops[pixel * channels];
        if (!is_inside(row, crop->shape->dims[1]) || !is_inside(column, crop->shape->dims[2])) {
            for (int64_t k = 0; k < channels; k++) {
                to[k] = crop->outside;
            }
            continue;
        }
        Between rows = between_of(row, crop->shape->dims[1], crop->is_nearest);
        Between columns = between_of(column, crop->shape->dims[2], crop->is_nearest);
        Corners corners = corners_of(crop->shape, crop->batch, &rows, &columns);
        read_corners(&corners, channels, crop->images, to);
    }
}

static Status
crop_compute(KernelContext *context)
{
    const Node *node = context->node;
    Shape shape;
    AUTO_TENSOR images = {0};
    AUTO_TENSOR crops = {0};
    TRY(output_shapes(context, &shape));
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_FLOAT64, &images));
    TRY(scratch_new(context, DTYPE_FLOAT64, &shape, &crops));
    Crop crop = {.images = images.data,
        .shape = &images.shape,
        .is_nearest = slice_equal(node_attr_string(node, "method"), SLICE("nearest")),
        .outside = (double)node_attr_float(node, "extrapolation_value")};
    for (int64_t n = 0; n < shape.dims[0]; n++) {
        crop.batch = ((const int32_t *)context->inputs[2].data)[n];
        crop.box = (const float *)context->inputs[1].data + 4 * n;
        if (crop.batch < 0 || crop.batch >= images.shape.dims[0]) {
            return call_fail(context->call, STATUS_OUT_OF_RANGE, "box %lld is of image %lld, not within %lld",
                (long long)n, (long long)crop.batch, (long long)images.shape.dims[0]);
        }
        crop_box(&crop, &shape, (double *)crops.data + n * shape.dims[1] * shape.dims[2] * shape.dims[3]);
    }
    return scratch_finish(context, 0, &crops);
}

static const Kernel image_kernels[] = {
    {.op = "ResizeBilinear",
        .supports = bilinear_supports,
        .compute = bilinear_compute,
        .wide_inputs = 1,
        .wide_outputs = 1,
        .host_inputs = 1 << 1},
    {.op = "ResizeNearestNeighbor",
        .supports = nearest_supports,
        .compute = nearest_compute,
        .host_inputs = 1 << 1},
    {.op = "ResizeBilinearGrad",
        .supports = bilinear_gradient_supports,
        .compute = bilinear_gradient_compute,
        DOUBLES_SCRATCH},
    {.op = "ResizeNearestNeighborGrad",
        .supports = nearest_supports,
        .compute = nearest_gradient_compute,
        .wide_inputs = 1,
        .wide_outputs = 1,
        .host_inputs = 1 << 1},
    {.op = "CropAndResize",
        .supports = bilinear_supports,
        .compute = crop_compute,
        .wide_inputs = 1,
        .wide_outputs = 1,
        .host_inputs = 1 << 3},
};

KERNEL_FAMILY(reference, image, image_kernels);
