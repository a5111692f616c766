/* Numbers rounded to what a quantised tensor can hold, in float as TensorFlow computes them. The limits are
 * moved so that 0 is one of the steps between them. */
#include <math.h>

#include "shared/base/clock.h"
#include "worker/reference/outputs.h"

typedef struct Steps {
    float lowest;
    float highest;
    float size;
    float inverse_size;
    bool is_empty; /* both limits are 0: so is every number */
} Steps;

static int64_t
lowest_step(const Node *node)
{
    return node_attr_bool(node, "narrow_range") ? 1 : 0;
}

static int64_t
highest_step(const Node *node)
{
    return ((int64_t)1 << node_attr_int(node, "num_bits")) - 1;
}

static bool
fake_supports(const Node *node)
{
    int64_t bits = node_attr_int(node, "num_bits");
    return bits >= 2 && bits <= 16;
}

static Status
steps_between(KernelContext *context, float min, float max, Steps *ret_steps)
{
    float first = (float)lowest_step(context->node);
    float last = (float)highest_step(context->node);
    float size = (max - min) / (last - first);
    float zero = first - min / size;
    float nearest = zero < first ? first : zero > last ? last : roundf(zero);
    *ret_steps = (Steps){.lowest = (first - nearest) * size,
        .highest = (last - nearest) * size,
        .size = size,
        .inverse_size = (last - first) / (max - min),
        .is_empty = min == 0 && max == 0};
    return ret_steps->is_empty || min < max
               ? STATUS_OK
               : call_fail(context->call, STATUS_INVALID_ARGUMENT,
                     "the lower limit %g is not below the upper one, %g", (double)min, (double)max);
}

/* A number that is none becomes the lowest one. */
static float
round_to_step(const Steps *steps, float value)
{
    float clamped = value > steps->highest ? steps->highest : value >= steps->lowest ? value : steps->lowest;
    float shifted = clamped - steps->lowest;
    return steps->is_empty ? 0 : floorf(shifted * steps->inverse_size + 0.5F) * steps->size + steps->lowest;
}

static Status
round_all(KernelContext *context, const Steps *steps)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    const float *from = context->inputs[0].data;
    float *to = output->data;
    for (int64_t n = 0; n < tensor_element_count(output); n++) {
        to[n] = round_to_step(steps, from[n]);
    }
    return STATUS_OK;
}

static Status
args_compute(KernelContext *context)
{
    Steps steps;
    TRY(steps_between(
        context, node_attr_float(context->node, "min"), node_attr_float(context->node, "max"), &steps));
    return round_all(context, &steps);
}

static Status
vars_compute(KernelContext *context)
{
    Shape shape;
    Steps steps;
    TRY(output_shapes(context, &shape));
    TRY(steps_between(
        context, *(const float *)context->inputs[1].data, *(const float *)context->inputs[2].data, &steps));
    return round_all(context, &steps);
}

/* The gradient is 0 where the number was clamped. */
static Status
args_gradient_compute(KernelContext *context)
{
    const float *gradients = context->inputs[0].data;
    const float *inputs = context->inputs[1].data;
    Tensor *output = NULL;
    Steps steps;
    TRY(steps_between(
        context, node_attr_float(context->node, "min"), node_attr_float(context->node, "max"), &steps));
    if (!shape_equal(&context->inputs[0].shape, &context->inputs[1].shape)) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "gradients and inputs have two shapes");
    }
    TRY(output_new(context, &output));
    for (int64_t n = 0; n < tensor_element_count(output); n++) {
        bool is_within = inputs[n] >= steps.lowest && inputs[n] <= steps.highest;
        ((float *)output->data)[n] = is_within ? gradients[n] : 0;
    }
    return STATUS_OK;
}

static Status
channels_compute(KernelContext *context)
{
    const float *from = context->inputs[0].data;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    int64_t channels = output->shape.dims[output->shape.rank - 1];
    int64_t count = tensor_element_count(output);
    for (int64_t channel = 0; channel < channels; channel++) {
        Steps steps;
        TRY(call_check(context->call, clock_monotonic_ns()));
        TRY(steps_between(context, ((const float *)context->inputs[1].data)[channel],
            ((const float *)context->inputs[2].data)[channel], &steps));
        for (int64_t n = channel; n < count; n += channels) {
            ((float *)output->data)[n] = round_to_step(&steps, from[n]);
        }
    }
    return STATUS_OK;
}

static const Kernel fake_kernels[] = {
    {.op = "FakeQuantWithMinMaxArgs", .supports = fake_supports, .compute = args_compute},
    {.op = "FakeQuantWithMinMaxArgsGradient", .supports = fake_supports, .compute = args_gradient_compute},
    {.op = "FakeQuantWithMinMaxVars", .supports = fake_supports, .compute = vars_compute},
    {.op = "FakeQuantWithMinMaxVarsPerChannel", .supports = fake_supports, .compute = channels_compute},
};

KERNEL_FAMILY(reference, quantize_fake, fake_kernels);
