/* The gradient of a pool for its input: all of the output's goes to the first largest element of a window,
 * or equal parts of it to every element. Sums are kept in double, windows in row-major order. */
#include <math.h>

#include "shared/ops/pooling/rule.h"
#include "worker/reference/doubles.h"
#include "worker/reference/outputs.h"
#include "worker/reference/sliding.h"

/* One channel of one batch. */
typedef struct Plane {
    const double *image; /* NULL where only the shape is known */
    double *gradient;    /* of the image */
} Plane;

typedef void (*SpreadGradient)(
    const Sliding *sliding, const Plane *plane, const Walk *output, Walk *element, double gradient);

static void
spread_to_largest(
    const Sliding *sliding, const Plane *plane, const Walk *output, Walk *element, double gradient)
{
    int64_t found = -1;
    do {
        int64_t offset = sliding_offset(sliding, output, element);
        if (offset >= 0 && (found < 0 || plane->image[offset] > plane->image[found])) {
            found = offset;
        }
    } while (walk_next(element));
    if (found >= 0) {
        plane->gradient[found] += gradient;
    }
}

/* TensorFlow's pools of volumes give all of it to each of several equal elements. */
static void
spread_to_every_largest(
    const Sliding *sliding, const Plane *plane, const Walk *output, Walk *element, double gradient)
{
    double largest = -(double)INFINITY;
    do {
        int64_t offset = sliding_offset(sliding, output, element);
        largest = offset >= 0 && plane->image[offset] > largest ? plane->image[offset] : largest;
    } while (walk_next(element));
    do {
        int64_t offset = sliding_offset(sliding, output, element);
        if (offset >= 0 && plane->image[offset] == largest) {
            plane->gradient[offset] += gradient;
        }
    } while (walk_next(element));
}

static void
spread_evenly(const Sliding *sliding, const Plane *plane, const Walk *output, Walk *element, double gradient)
{
    int64_t count = 0;
    do {
        count += sliding_offset(sliding, output, element) >= 0 ? 1 : 0;
    } while (walk_next(element));
    do {
        int64_t offset = sliding_offset(sliding, output, element);
        if (offset >= 0) {
            plane->gradient[offset] += gradient / (double)count;
        }
    } while (walk_next(element));
}

static void
spread_all(const Sliding *sliding, const Plane *all, const double *gradients, SpreadGradient spread)
{
    Walk output = sliding_outputs(sliding);
    Walk element = sliding_window(sliding, NULL);
    Window window;
    Sliding narrow = *sliding;
    narrow.window = &window;
    for (int64_t batch = 0; batch < sliding->batch; batch++) {
        for (int64_t channel = 0; channel < sliding->channels; channel++) {
            int64_t first = batch * sliding->input.batch + channel * sliding->input.channel;
            Plane plane = {all->image == NULL ? NULL : all->image + first, all->gradient + first};
            do {
                sliding_narrow(sliding, &output, &window, &element);
                spread(&narrow, &plane, &output, &element,
                    gradients[batch * sliding->output.batch + channel * sliding->output.channel +
                              output.offset]);
            } while (walk_next(&output));
        }
    }
}

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->output_dtypes[0]);
}

static Status
compute_gradient(KernelContext *context, SpreadGradient spread)
{
    AUTO_DOUBLES doubles = {0};
    KernelInference inference;
    Pooling pooling;
    Shape input;
    TRY(doubles_begin(context, &doubles));
    kernel_inference(context, NULL, &inference);
    TRY(pooling_gradient(context->call, &inference.context, &pooling, &input));
    const Tensor *gradients = &doubles.inputs[context->input_count - 1];
    if (tensor_element_count(gradients) > 0) {
        Sliding sliding = sliding_over(&pooling.window, &input, &gradients->shape);
        Plane plane = {doubles.inputs[0].data, doubles_out(&doubles, 0)};
        spread_all(&sliding, &plane, gradients->data, spread);
    }
    return doubles_finish(context, &doubles);
}

static Status
max_compute(KernelContext *context)
{
    return compute_gradient(context, spread_to_largest);
}

static Status
max_volume_compute(KernelContext *context)
{
    return compute_gradient(context, spread_to_every_largest);
}

static Status
avg_compute(KernelContext *context)
{
    return compute_gradient(context, spread_evenly);
}

static const Kernel pooling_gradient_kernels[] = {
    {.op = "MaxPoolGrad", .supports = supports_floats, .compute = max_compute, DOUBLES_SCRATCH},
    {.op = "MaxPool3DGrad", .supports = supports_floats, .compute = max_volume_compute, DOUBLES_SCRATCH},
    {.op = "AvgPoolGrad",
        .supports = supports_floats,
        .compute = avg_compute,
        DOUBLES_SCRATCH,
        .host_inputs = 1},
    {.op = "AvgPool3DGrad",
        .supports = supports_floats,
        .compute = avg_compute,
        DOUBLES_SCRATCH,
        .host_inputs = 1},
};

KERNEL_FAMILY(reference, pooling_gradient, pooling_gradient_kernels);
