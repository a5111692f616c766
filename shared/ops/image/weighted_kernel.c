/* Images resized by weighted sums of pixels, down and then across: by cubic curves, by the areas of pixels,
 * and by a filter of a choice (ScaleAndTranslate). Positions and weights are computed in float, as TensorFlow
 * does: at borders between pixels the last bit decides. */
#include <math.h>

#include "shared/base/clock.h"
#include "worker/reference/outputs.h"
#include "worker/reference/resize.h"
#include "worker/reference/scratch.h"

/* The pixels that a resized one is the sum of. */
typedef struct Taps {
    int64_t count;
    int64_t *pixels;
    float *weights;
} Taps;

typedef struct Filter {
    const char *name;
    float radius;
    float (*weight)(float distance); /* distance ≥ 0 */
} Filter;

typedef struct Side Side;
struct Side {
    ResizedSide resized;
    void (*weigh)(const Side *side, int64_t position, Taps *taps);
    /* Of ScaleAndTranslate: */
    const Filter *filter;
    float inverse_scale;
    float offset;
    float filter_scale;
};

static int64_t
clamp_pixel(int64_t pixel, int64_t size)
{
    return pixel < 0 ? 0 : pixel > size - 1 ? size - 1 : pixel;
}

static void
add_tap(Taps *taps, int64_t pixel, float weight)
{
    taps->pixels[taps->count] = pixel;
    taps->weights[taps->count++] = weight;
}

/* Weights that add up to nearly nothing are left as they are. */
static void
normalise(Taps *taps)
{
    enum { LEAST_SUM = 1000 }; /* in smallest normal floats */
    float sum = 0;
    for (int64_t n = 0; n < taps->count; n++) {
        sum += taps->weights[n];
    }
    for (int64_t n = 0; fabsf(sum) >= (float)LEAST_SUM * __FLT_MIN__ && n < taps->count; n++) {
        taps->weights[n] *= 1 / sum;
    }
}

/* Keys' cubic curve at the distances 0…1 and 1…2 from a pixel. */
static float
cubic_near(float a, float x)
{
    return ((a + 2) * x - (a + 3)) * x * x + 1;
}

static float
cubic_far(float a, float x)
{
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

/* TensorFlow reads the curve from a table of 1024 steps. With half pixels, those outside the image have no
 * weight; otherwise the pixel at the border stands for them. */
static void
weigh_cubic(const Side *side, int64_t position, Taps *taps)
{
    enum { STEPS = 1024 };
    const ResizedSide *resized = &side->resized;
    float a = resized->is_half_pixel ? -0.5F : -0.75F;
    float source = resized->is_half_pixel ? ((float)position + 0.5F) * resized->factor - 0.5F
                                          : (float)position * resized->factor;
    float below = floorf(source);
    float part = (float)lrintf((source - below) * STEPS) / STEPS;
    const float weights[4] = {
        cubic_far(a, 1 + part), cubic_near(a, part), cubic_near(a, 1 - part), cubic_far(a, 2 - part)};
    for (int64_t n = 0; n < 4; n++) {
        int64_t pixel = (int64_t)below - 1 + n;
        int64_t inside = clamp_pixel(pixel, resized->input);
        add_tap(taps, inside, !resized->is_half_pixel || inside == pixel ? weights[n] : 0);
    }
    if (resized->is_half_pixel) {
        normalise(taps);
    }
}

/* Each pixel weighs what of its side lies within the resized pixel. */
static void
weigh_area(const Side *side, int64_t position, Taps *taps)
{
    const ResizedSide *resized = &side->resized;
    float first = (float)position * resized->factor;
    float last = (float)(position + 1) * resized->factor;
    int64_t end = (int64_t)ceilf(last);
    for (int64_t pixel = (int64_t)floorf(first); pixel < end && taps->count < resized->input + 2; pixel++) {
        float from = (float)pixel < first ? first : (float)pixel;
        float to = (float)(pixel + 1) > last ? last : (float)(pixel + 1);
        add_tap(taps, clamp_pixel(pixel, resized->input), (to - from) / resized->factor);
    }
}

static float
lanczos(float x, float radius)
{
    float angle = x * (float)M_PI;
    return x > radius ? 0 : x <= 1e-3F ? 1 : radius * sinf(angle) * sinf(angle / radius) / (angle * angle);
}

static float
lanczos_1(float x)
{
    return lanczos(x, 1);
}

static float
lanczos_3(float x)
{
    return lanczos(x, 3);
}

static float
lanczos_5(float x)
{
    return lanczos(x, 5);
}

static float
gaussian(float x)
{
    return x >= 1.5F ? 0 : expf(-x * x * 2);
}

static float
box(float x)
{
    return x < 0.5F ? 1 : x == 0.5F ? 0.5F : 0;
}

static float
triangle(float x)
{
    return x < 1 ? 1 - x : 0;
}

static float
keys_cubic(float x)
{
    return x >= 2 ? 0 : x >= 1 ? cubic_far(-0.5F, x) : cubic_near(-0.5F, x);
}

static float
mitchell_cubic(float x)
{
    float far = ((-7.0F / 18 * x + 2) * x - 10.0F / 3) * x + 16.0F / 9;
    float near = (7.0F / 6 * x - 2) * x * x + 8.0F / 9;
    return x >= 2 ? 0 : x >= 1 ? far : near;
}

static const Filter filters[] = {
    {"lanczos1", 1, lanczos_1},
    {"lanczos3", 3, lanczos_3},
    {"lanczos5", 5, lanczos_5},
    {"gaussian", 1.5F, gaussian},
    {"box", 1, box},
    {"triangle", 1, triangle},
    {"keyscubic", 2, keys_cubic},
    {"mitchellcubic", 2, mitchell_cubic},
};

static const Filter *
find_filter(const Node *node)
{
    Slice name = node_attr_string(node, "kernel_type");
    for (size_t index = 0; index < COUNT_OF(filters); index++) {
        if (slice_equals_string(name, filters[index].name)) {
            return &filters[index];
        }
    }
    return NULL;
}

static int64_t
pixel_at(float position, int64_t size)
{
    return (int64_t)fminf(fmaxf(position, 0), (float)(size - 1));
}

/* A position outside the image has no taps. */
static void
weigh_filtered(const Side *side, int64_t position, Taps *taps)
{
    int64_t size = side->resized.input;
    float sample = ((float)position + 0.5F) * side->inverse_scale + side->offset;
    float reach = side->filter->radius * side->filter_scale;
    if (sample < 0 || sample > (float)size) {
        return;
    }
    int64_t last = clamp_pixel(pixel_at(floorf(sample + reach - 0.5F), size), size);
    for (int64_t pixel = pixel_at(ceilf(sample - reach - 0.5F), size); pixel <= last; pixel++) {
        float distance = fabsf(((float)pixel + 0.5F - sample) * (1 / side->filter_scale));
        add_tap(taps, pixel, side->filter->weight(distance));
    }
    normalise(taps);
}

/* Lines of pixels, before and after: [outer, pixels of the side, inner]. */
typedef struct Pass {
    const double *from;
    double *to;
    int64_t outer;
    int64_t inner;
} Pass;

static void
sum_taps(const Side *side, const Pass *pass, int64_t position, const Taps *taps)
{
    for (int64_t outer = 0; outer < pass->outer; outer++) {
        double *to = pass->to + (outer * side->resized.output + position) * pass->inner;
        memset(to, 0, (size_t)pass->inner * sizeof *to);
        for (int64_t n = 0; n < taps->count; n++) {
            const double *from = pass->from + (outer * side->resized.input + taps->pixels[n]) * pass->inner;
            for (int64_t k = 0; k < pass->inner; k++) {
                to[k] += (double)taps->weights[n] * from[k];
            }
        }
    }
}

static Status
run_pass(KernelContext *context, const Side *side, const Pass *pass)
{
    enum { CUBIC_TAPS = 4 };
    AUTO_TENSOR pixels = {0};
    AUTO_TENSOR weights = {0};
    int64_t taps_max = side->resized.input + CUBIC_TAPS;
    if (pass->outer == 0 || pass->inner == 0) {
        return STATUS_OK;
    }
    TRY(scratch_bytes(context, taps_max, sizeof(int64_t), &pixels));
    TRY(scratch_bytes(context, taps_max, sizeof(float), &weights));
    for (int64_t position = 0; position < side->resized.output; position++) {
        Taps taps = {.pixels = pixels.data, .weights = weights.data};
        TRY(call_check(context->call, clock_monotonic_ns()));
        side->weigh(side, position, &taps);
        sum_taps(side, pass, position, &taps);
    }
    return STATUS_OK;
}

static Status
resize_images(KernelContext *context, const Side sides[2], const Shape *output)
{
    AUTO_TENSOR images = {0};
    AUTO_TENSOR lower = {0};
    AUTO_TENSOR resized = {0};
    Shape between = *output;
    between.dims[2] = context->inputs[0].shape.dims[2];
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_FLOAT64, &images));
    TRY(scratch_new(context, DTYPE_FLOAT64, &between, &lower));
    TRY(scratch_new(context, DTYPE_FLOAT64, output, &resized));
    Pass down = {images.data, lower.data, output->dims[0], between.dims[2] * between.dims[3]};
    Pass across = {lower.data, resized.data, output->dims[0] * output->dims[1], output->dims[3]};
    TRY(run_pass(context, &sides[0], &down));
    TRY(run_pass(context, &sides[1], &across));
    return scratch_finish(context, 0, &resized);
}

static Status
resize_by(KernelContext *context, void (*weigh)(const Side *side, int64_t position, Taps *taps))
{
    Shape output;
    Side sides[2] = {{.weigh = weigh}, {.weigh = weigh}};
    TRY(output_shapes(context, &output));
    for (int side = 0; side < 2; side++) {
        sides[side].resized =
            resized_side(context->node, context->inputs[0].shape.dims[1 + side], output.dims[1 + side]);
    }
    return resize_images(context, sides, &output);
}

static Status
cubic_compute(KernelContext *context)
{
    return resize_by(context, weigh_cubic);
}

static Status
area_compute(KernelContext *context)
{
    return resize_by(context, weigh_area);
}

static Status
filtered_compute(KernelContext *context)
{
    const float *scales = context->inputs[2].data;
    const float *translations = context->inputs[3].data;
    bool is_antialiased = node_attr_bool(context->node, "antialias");
    Shape output;
    Side sides[2];
    TRY(output_shapes(context, &output));
    for (int side = 0; side < 2; side++) {
        float inverse = 1 / scales[side];
        if (!(scales[side] > 0)) {
            return call_fail(
                context->call, STATUS_INVALID_ARGUMENT, "scale %g is not above 0", (double)scales[side]);
        }
        sides[side] = (Side){
            .resized = {.input = context->inputs[0].shape.dims[1 + side], .output = output.dims[1 + side]},
            .weigh = weigh_filtered,
            .filter = find_filter(context->node),
            .inverse_scale = inverse,
            .offset = -inverse * translations[side],
            .filter_scale = is_antialiased ? fmaxf(inverse, 1) : 1};
    }
    return resize_images(context, sides, &output);
}

static bool
supports_numbers(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]) || dtype_is_integer(node->input_dtypes[0]);
}

static bool
supports_filter(const Node *node)
{
    return supports_numbers(node) && find_filter(node) != NULL;
}

static const Kernel weighted_kernels[] = {
    {.op = "ResizeBicubic", .supports = supports_numbers, .compute = cubic_compute, .host_inputs = 1 << 1},
    {.op = "ResizeArea", .supports = supports_numbers, .compute = area_compute, .host_inputs = 1 << 1},
    {.op = "ScaleAndTranslate",
        .supports = supports_filter,
        .compute = filtered_compute,
        .host_inputs = 1 << 1 | 1 << 2 | 1 << 3},
};

KERNEL_FAMILY(reference, image_weighted, weighted_kernels);
