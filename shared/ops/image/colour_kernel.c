/* Colours of images, in double. A hue is a fraction of the circle red, green, blue. */
#include <math.h>

#include "shared/base/clock.h"
#include "worker/reference/doubles.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

typedef struct Colour {
    double hue;
    double least; /* of the three channels */
    double most;
} Colour;

static double
clamp(double value)
{
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

static Colour
colour_of(const double rgb[3])
{
    double most = fmax(fmax(rgb[0], rgb[1]), rgb[2]);
    double least = fmin(fmin(rgb[0], rgb[1]), rgb[2]);
    double part = 1 / (6 * (most - least));
    double hue = rgb[0] == most   ? part * (rgb[1] - rgb[2])
                 : rgb[1] == most ? part * (rgb[2] - rgb[0]) + 2.0 / 6
                                  : part * (rgb[0] - rgb[1]) + 4.0 / 6;
    hue = most > least ? hue : 0;
    return (Colour){hue < 0 ? hue + 1 : hue, least, most};
}

/* Returns how much a channel has of a hue: 0…1. Red is 3 thirds away from where it has nothing. */
static void
hue_shares(double hue, double ret_shares[3])
{
    double sixths = hue * 6;
    ret_shares[0] = clamp(fabs(sixths - 3) - 1);
    ret_shares[1] = clamp(2 - fabs(sixths - 2));
    ret_shares[2] = clamp(2 - fabs(sixths - 4));
}

static void
rgb_to_hsv(const double *from, double *to, double ignored)
{
    Colour colour = colour_of(from);
    (void)ignored;
    to[0] = colour.hue;
    to[1] = colour.most > 0 ? (colour.most - colour.least) / colour.most : 0;
    to[2] = colour.most;
}

static void
hsv_to_rgb(const double *from, double *to, double ignored)
{
    double shares[3];
    (void)ignored;
    hue_shares(from[0], shares);
    for (int channel = 0; channel < 3; channel++) {
        to[channel] = ((1 - from[1]) + from[1] * shares[channel]) * from[2];
    }
}

static void
scale_saturation(const double *from, double *to, double scale)
{
    double hsv[3];
    rgb_to_hsv(from, hsv, 0);
    hsv[1] = clamp(hsv[1] * scale);
    hsv_to_rgb(hsv, to, 0);
}

/* Least and most stay as they are, also where a channel is below 0. */
static void
turn_hue(const double *from, double *to, double delta)
{
    double shares[3];
    Colour colour = colour_of(from);
    double hue = fmod(colour.hue + delta, 1);
    hue_shares(hue < 0 ? hue + 1 : hue, shares);
    for (int channel = 0; channel < 3; channel++) {
        to[channel] = colour.least + shares[channel] * (colour.most - colour.least);
    }
}

typedef void (*ChangeColour)(const double *from, double *to, double parameter);

static Status
change_colours(KernelContext *context, ChangeColour change)
{
    enum { PIXELS_BETWEEN_CHECKS = 1 << 16 };
    AUTO_DOUBLES doubles = {0};
    TRY(doubles_begin(context, &doubles));
    int64_t pixels = tensor_element_count(&doubles.outputs[0]) / 3;
    double parameter = context->node->input_count > 1 ? doubles_in(&doubles, 1)[0] : 0;
    for (int64_t pixel = 0; pixel < pixels; pixel++) {
        if (pixel % PIXELS_BETWEEN_CHECKS == 0) {
            TRY(call_check(context->call, clock_monotonic_ns()));
        }
        change(doubles_in(&doubles, 0) + 3 * pixel, doubles_out(&doubles, 0) + 3 * pixel, parameter);
    }
    return doubles_finish(context, &doubles);
}

static Status
rgb_to_hsv_compute(KernelContext *context)
{
    return change_colours(context, rgb_to_hsv);
}

static Status
hsv_to_rgb_compute(KernelContext *context)
{
    return change_colours(context, hsv_to_rgb);
}

static Status
hue_compute(KernelContext *context)
{
    return change_colours(context, turn_hue);
}

static Status
saturation_compute(KernelContext *context)
{
    return change_colours(context, scale_saturation);
}

/* Moves each channel of an image away from its mean, or towards it. */
static void
scale_contrast(const double *from, double *to, int64_t pixels, int64_t channels, double factor)
{
    for (int64_t channel = 0; channel < channels; channel++) {
        double sum = 0;
        for (int64_t pixel = 0; pixel < pixels; pixel++) {
            sum += from[pixel * channels + channel];
        }
        double mean = sum / (double)pixels;
        for (int64_t pixel = 0; pixel < pixels; pixel++) {
            int64_t at = pixel * channels + channel;
            to[at] = (from[at] - mean) * factor + mean;
        }
    }
}

static Status
contrast_compute(KernelContext *context)
{
    const Shape *shape = &context->inputs[0].shape;
    AUTO_DOUBLES doubles = {0};
    TRY(doubles_begin(context, &doubles));
    int64_t channels = shape->dims[shape->rank - 1];
    int64_t pixels = shape->dims[shape->rank - 2] * shape->dims[shape->rank - 3];
    int64_t count = tensor_element_count(&doubles.outputs[0]);
    for (int64_t first = 0; first < count; first += pixels * channels) {
        TRY(call_check(context->call, clock_monotonic_ns()));
        scale_contrast(doubles_in(&doubles, 0) + first, doubles_out(&doubles, 0) + first, pixels, channels,
            doubles_in(&doubles, 1)[0]);
    }
    return doubles_finish(context, &doubles);
}

#define COLOUR(name, function)                                                                               \
    {                                                                                                        \
        .op = (name), .supports = doubles_hold_inputs, .compute = (function), DOUBLES_SCRATCH                \
    }

static const Kernel colour_kernels[] = {
    COLOUR("RGBToHSV", rgb_to_hsv_compute),
    COLOUR("HSVToRGB", hsv_to_rgb_compute),
    COLOUR("AdjustContrastv2", contrast_compute),
    COLOUR("AdjustHue", hue_compute),
    COLOUR("AdjustSaturation", saturation_compute),
};

KERNEL_FAMILY(reference, image_colour, colour_kernels);
