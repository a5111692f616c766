/* ONNX's CausalConvWithState, in double. */
#include <math.h>

#include "worker/reference/doubles.h"

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

/* A channel: its positions, and in front of them those of the state, which are zeros when there is none. */
typedef struct Channel {
    const double *x;
    const double *past; /* NULL: zeros */
    const double *weight;
    int64_t length;
    int64_t kept; /* positions of the state */
    double bias;
    bool is_activated;
} Channel;

static double
value_at(const Channel *channel, int64_t position)
{
    if (position >= 0) {
        return channel->x[position];
    }
    return channel->past == NULL ? 0 : channel->past[channel->kept + position];
}

static void
convolve_channel(const Channel *channel, double *y, double *state)
{
    for (int64_t position = 0; position < channel->length; position++) {
        double sum = channel->bias;
        for (int64_t n = 0; n <= channel->kept; n++) {
            sum += value_at(channel, position - channel->kept + n) * channel->weight[n];
        }
        y[position] = channel->is_activated ? sum / (1 + exp(-sum)) : sum;
    }
    for (int64_t n = 0; n < channel->kept; n++) {
        state[n] = value_at(channel, channel->length - channel->kept + n);
    }
}

static Status
causal_convolution_compute(KernelContext *context)
{
    AUTO_DOUBLES doubles = {0};
    TRY(doubles_begin(context, &doubles));
    const Shape *shape = &context->inputs[0].shape;
    const double *bias = context->input_count > 2 ? doubles_in(&doubles, 2) : NULL;
    const double *past = context->input_count > 3 ? doubles_in(&doubles, 3) : NULL;
    Channel channel = {.length = shape->dims[2],
        .kept = context->inputs[1].shape.dims[2] - 1,
        .is_activated = !slice_equals_string(node_attr_string(context->node, "activation"), "none")};
    if (tensor_element_count(&doubles.outputs[0]) == 0 && tensor_element_count(&doubles.outputs[1]) == 0) {
        return doubles_finish(context, &doubles); /* the other dimensions may be of any size */
    }
    for (int64_t line = 0; line < shape->dims[0] * shape->dims[1]; line++) {
        int64_t number = line % shape->dims[1];
        channel.x = doubles_in(&doubles, 0) + line * channel.length;
        channel.past = past == NULL ? NULL : past + line * channel.kept;
        channel.weight = doubles_in(&doubles, 1) + number * (channel.kept + 1);
        channel.bias = bias == NULL ? 0 : bias[number];
        convolve_channel(&channel, doubles_out(&doubles, 0) + line * channel.length,
            doubles_out(&doubles, 1) + line * channel.kept);
    }
    return doubles_finish(context, &doubles);
}

static const Kernel convolution_causal_kernels[] = {
    {.op = "onnx::CausalConvWithState",
        .supports = supports_floats,
        .compute = causal_convolution_compute,
        DOUBLES_SCRATCH},
};

KERNEL_FAMILY(reference, convolution_causal, convolution_causal_kernels);
