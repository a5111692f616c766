/* Images seen through a projective transform, which maps positions of the output to positions of the input.
 * Positions are computed in float, as TensorFlow does. */
#include <math.h>

#include "shared/base/clock.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

/* Maps a position outside a side of `size` pixels into it. */
typedef float (*MapPosition)(float position, int64_t size);

static float
limit_position(float position, int64_t size)
{
    return fminf(fmaxf(position, 0), (float)(size - 1));
}

static float
keep_position(float position, int64_t size)
{
    (void)size;
    return position;
}

/* [abcd] goes on as [dcba|abcd|dcba]. */
static float
reflect_position(float position, int64_t size)
{
    float length = (float)size;
    float period = 2 * length;
    if (size <= 1) {
        return 0;
    }
    if (position < 0) {
        position = position < period ? period * truncf(-position / period) + position : position;
        position = position < -length ? position + period : -position - 1;
    } else if (position > length - 1) {
        position -= period * truncf(position / period);
        position = position >= length ? period - position - 1 : position;
    }
    return limit_position(position, size);
}

/* [abcd] goes on as [abcd|abcd|abcd]; like TensorFlow's, in periods of a pixel less than it has. */
static float
wrap_position(float position, int64_t size)
{
    float length = (float)size;
    if (size <= 1) {
        return 0;
    }
    if (position < 0) {
        position += length * (truncf(-position / (length - 1)) + 1);
    } else if (position > length - 1) {
        position -= length * truncf(position / (length - 1));
    }
    return limit_position(position, size);
}

static const struct {
    const char *name;
    MapPosition map;
} fill_modes[] = {
    {"CONSTANT", keep_position},
    {"REFLECT", reflect_position},
    {"WRAP", wrap_position},
    {"NEAREST", limit_position},
};

static MapPosition
find_mode(const Node *node)
{
    Slice name = node_attr_string(node, "fill_mode");
    for (size_t index = 0; index < COUNT_OF(fill_modes); index++) {
        if (slice_equals_string(name, fill_modes[index].name)) {
            return fill_modes[index].map;
        }
    }
    return NULL;
}

static bool
interpolates(const Node *node, const char *name)
{
    return slice_equals_string(node_attr_string(node, "interpolation"), name);
}

static bool
projection_supports(const Node *node)
{
    Dtype dtype = node->input_dtypes[0];
    return (dtype_is_floating(dtype) || dtype_is_integer(dtype)) && find_mode(node) != NULL &&
           (interpolates(node, "NEAREST") || interpolates(node, "BILINEAR"));
}

typedef struct Projection {
    const double *image; /* of the batch that is being written */
    int64_t height;
    int64_t width;
    int64_t channels;
    const float *transform;
    MapPosition map;
    double fill;
    bool is_nearest;
} Projection;

/* Adds a pixel of the image to `to`, or the fill value for one outside. Positions that are no number are
 * outside. */
static void
add_pixel(const Projection *projection, float row, float column, double weight, double *to)
{
    bool is_inside =
        row >= 0 && row < (float)projection->height && column >= 0 && column < (float)projection->width;
    int64_t at = is_inside ? (int64_t)row * projection->width + (int64_t)column : 0;
    for (int64_t channel = 0; channel < projection->channels; channel++) {
        to[channel] +=
            weight * (is_inside ? projection->image[at * projection->channels + channel] : projection->fill);
    }
}

static void
add_neighbours(const Projection *projection, float row, float column, double *to)
{
    float above = floorf(row);
    float before = floorf(column);
    double lower = (double)(row - above);
    double right = (double)(column - before);
    add_pixel(projection, above, before, (1 - lower) * (1 - right), to);
    add_pixel(projection, above, before + 1, (1 - lower) * right, to);
    add_pixel(projection, above + 1, before, lower * (1 - right), to);
    add_pixel(projection, above + 1, before + 1, lower * right, to);
}

static void
project_pixel(const Projection *projection, float row, float column, double *to)
{
    const float *t = projection->transform;
    float divisor = t[6] * column + t[7] * row + 1;
    float source_column = (t[0] * column + t[1] * row + t[2]) / divisor;
    float source_row = (t[3] * column + t[4] * row + t[5]) / divisor;
    memset(to, 0, (size_t)projection->channels * sizeof *to);
    if (divisor == 0 || !isfinite(source_row) || !isfinite(source_column)) {
        add_pixel(projection, -1, -1, 1, to);
        return;
    }
    source_row = projection->map(source_row, projection->height);
    source_column = projection->map(source_column, projection->width);
    if (projection->is_nearest) {
        add_pixel(projection, roundf(source_row), roundf(source_column), 1, to);
    } else {
        add_neighbours(projection, source_row, source_column, to);
    }
}

static void
project_row(const Projection *projection, int64_t row, int64_t width, double *to)
{
    for (int64_t column = 0; column < width; column++) {
        project_pixel(projection, (float)row, (float)column, to + column * projection->channels);
    }
}

static Status
project_images(KernelContext *context, Projection *projection, const Tensor *images, const Tensor *projected)
{
    const Shape *shape = &projected->shape;
    int64_t transforms = context->inputs[1].shape.dims[0];
    int64_t image_size = projection->height * projection->width * projection->channels;
    int64_t row_size = shape->dims[2] * shape->dims[3];
    for (int64_t row = 0; row < shape->dims[0] * shape->dims[1]; row++) {
        int64_t batch = row / shape->dims[1];
        TRY(call_check(context->call, clock_monotonic_ns()));
        projection->image = (const double *)images->data + batch * image_size;
        projection->transform = (const float *)context->inputs[1].data + (transforms == 1 ? 0 : 8 * batch);
        project_row(
            projection, row % shape->dims[1], shape->dims[2], (double *)projected->data + row * row_size);
    }
    return STATUS_OK;
}

static Status
projection_compute(KernelContext *context)
{
    const Shape *from = &context->inputs[0].shape;
    bool has_fill = context->node->input_count > 3;
    Shape shape;
    AUTO_TENSOR images = {0};
    AUTO_TENSOR projected = {0};
    TRY(output_shapes(context, &shape));
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_FLOAT64, &images));
    TRY(scratch_new(context, DTYPE_FLOAT64, &shape, &projected));
    Projection projection = {.height = from->dims[1],
        .width = from->dims[2],
        .channels = from->dims[3],
        .map = find_mode(context->node),
        .fill = has_fill ? (double)*(const float *)context->inputs[3].data : 0,
        .is_nearest = interpolates(context->node, "NEAREST")};
    TRY(project_images(context, &projection, &images, &projected));
    return scratch_finish(context, 0, &projected);
}

#define PROJECTION(name, host)                                                                               \
    {                                                                                                        \
        .op = (name), .supports = projection_supports, .compute = projection_compute, .host_inputs = (host), \
        .wide_inputs = 1, .wide_outputs = 1                                                                  \
    }

static const Kernel projection_kernels[] = {
    PROJECTION("ImageProjectiveTransformV2", 1 << 2),
    PROJECTION("ImageProjectiveTransformV3", 1 << 2 | 1 << 3),
};

KERNEL_FAMILY(reference, image_projection, projection_kernels);
