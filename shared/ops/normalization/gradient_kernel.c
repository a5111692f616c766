/* Gradients of normalisations, in double.
 *
 * Batch normalisation, with x̂ = (x - mean) / √(variance + ε) of a channel: the scale's gradient is Σ dy × x̂,
 * the offset's Σ dy, and that of x is scale / √(variance + ε) × (dy - mean of dy - x̂ × mean of dy × x̂), or,
 * where the statistics were given, its first factor times dy. */
#include <math.h>

#include "shared/ops/normalization/response_rule.h"
#include "worker/reference/doubles.h"
#include "worker/reference/scratch.h"

static bool
supports_floats(const Node *node)
{
    return doubles_hold_inputs(node);
}

typedef struct Channel {
    Lines lines;
    int64_t index;
    const double *dy;
    const double *x;
    double mean;
    double factor; /* 1 / √(variance + ε) */
} Channel;

typedef struct Sums {
    double dy;
    double product; /* dy × x̂ */
} Sums;

static int64_t
element_of(const Channel *channel, int64_t outer, int64_t inner)
{
    return (outer * channel->lines.size + channel->index) * channel->lines.inner + inner;
}

static Sums
sum_channel(const Channel *channel)
{
    Sums sums = {0};
    for (int64_t outer = 0; outer < channel->lines.outer; outer++) {
        for (int64_t inner = 0; inner < channel->lines.inner; inner++) {
            int64_t n = element_of(channel, outer, inner);
            sums.dy += channel->dy[n];
            sums.product += channel->dy[n] * (channel->x[n] - channel->mean) * channel->factor;
        }
    }
    return sums;
}

static void
spread_channel(const Channel *channel, double scale, Sums means, double *ret_dx)
{
    for (int64_t outer = 0; outer < channel->lines.outer; outer++) {
        for (int64_t inner = 0; inner < channel->lines.inner; inner++) {
            int64_t n = element_of(channel, outer, inner);
            double normal = (channel->x[n] - channel->mean) * channel->factor;
            ret_dx[n] = scale * channel->factor * (channel->dy[n] - means.dy - normal * means.product);
        }
    }
}

static Status
batch_norm_compute(KernelContext *context)
{
    const Node *node = context->node;
    AUTO_DOUBLES doubles = {0};
    TRY(doubles_begin(context, &doubles));
    bool is_channels_first = slice_starts_with(node_attr_string(node, "data_format"), SLICE("NC"));
    Channel channel = {.lines = lines_along(&context->inputs[1].shape, is_channels_first ? 1 : 3),
        .dy = doubles_in(&doubles, 0),
        .x = doubles_in(&doubles, 1)};
    double count = node_attr_bool(node, "is_training") ? (double)(channel.lines.outer * channel.lines.inner)
                                                       : (double)INFINITY;
    for (; channel.index < channel.lines.size; channel.index++) {
        int64_t k = channel.index;
        channel.mean = doubles_in(&doubles, 3)[k];
        channel.factor = 1 / sqrt(doubles_in(&doubles, 4)[k] + (double)node_attr_float(node, "epsilon"));
        Sums sums = sum_channel(&channel);
        Sums means = {sums.dy / count, sums.product / count};
        spread_channel(&channel, doubles_in(&doubles, 2)[k], means, doubles_out(&doubles, 0));
        doubles_out(&doubles, 1)[k] = sums.product;
        doubles_out(&doubles, 2)[k] = sums.dy;
    }
    return doubles_finish(context, &doubles);
}

/* Spreads the gradients of the channels at one position: output j is x_j × norm_j^-β, and every x within
 * the radius of j has a part in it. */
static void
spread_response(const ResponseRule *rule, int64_t depth, const double *gradients, const double *x,
    const double *y, double *ret)
{
    for (int64_t j = 0; j < depth; j++) {
        int64_t first = j > rule->before ? j - rule->before : 0;
        int64_t last = j + rule->after < depth ? j + rule->after : depth - 1;
        double squares = 0;
        for (int64_t k = first; k <= last; k++) {
            squares += x[k] * x[k];
        }
        double norm = rule->bias + rule->alpha * squares;
        for (int64_t k = first; k <= last; k++) {
            double own = k == j ? pow(norm, -rule->beta) : 0;
            ret[k] += gradients[j] * (own - 2 * rule->alpha * rule->beta * x[k] * y[j] / norm);
        }
    }
}

static Status
lrn_compute(KernelContext *context)
{
    AUTO_DOUBLES doubles = {0};
    const Shape *shape = &context->inputs[0].shape;
    ResponseRule rule;
    TRY(response_rule(context->call, context->node, shape, &rule));
    TRY(doubles_begin(context, &doubles));
    int64_t depth = shape->dims[rule.axis];
    int64_t count = tensor_element_count(&context->inputs[0]);
    for (int64_t n = 0; n < count; n += depth) {
        spread_response(&rule, depth, doubles_in(&doubles, 0) + n, doubles_in(&doubles, 1) + n,
            doubles_in(&doubles, 2) + n, doubles_out(&doubles, 0) + n);
    }
    return doubles_finish(context, &doubles);
}

static const Kernel normalization_gradient_kernels[] = {
    {.op = "FusedBatchNormGrad", .supports = supports_floats, .compute = batch_norm_compute, DOUBLES_SCRATCH},
    {.op = "FusedBatchNormGradV2",
        .supports = supports_floats,
        .compute = batch_norm_compute,
        DOUBLES_SCRATCH},
    {.op = "FusedBatchNormGradV3",
        .supports = supports_floats,
        .compute = batch_norm_compute,
        DOUBLES_SCRATCH},
    {.op = "LRNGrad", .supports = supports_floats, .compute = lrn_compute, DOUBLES_SCRATCH},
};

KERNEL_FAMILY(reference, normalization_gradient, normalization_gradient_kernels);
