/* Normalisation over the last dimensions, and over neighbouring channels. */
#include <math.h>

#include "shared/base/clock.h"
#include "shared/ops/normalization/response_rule.h"
#include "worker/reference/broadcast.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

typedef struct LayerNorm {
    Tensor x;
    Tensor mean;
    Tensor deviation; /* 1 / √(variance + ε) */
    Tensor scale;
    Tensor bias;
} LayerNorm;

static void
normalize_rows(LayerNorm *norm, double epsilon)
{
    int64_t rows = tensor_element_count(&norm->mean);
    int64_t size = rows == 0 ? 0 : tensor_element_count(&norm->x) / rows;
    for (int64_t row = 0; row < rows; row++) {
        double *values = (double *)norm->x.data + row * size;
        double sum = 0;
        double squares = 0;
        for (int64_t n = 0; n < size; n++) {
            sum += values[n];
        }
        double mean = sum / (double)size;
        for (int64_t n = 0; n < size; n++) {
            values[n] -= mean;
            squares += values[n] * values[n];
        }
        double deviation = 1 / sqrt(squares / (double)size + epsilon);
        for (int64_t n = 0; n < size; n++) {
            values[n] *= deviation;
        }
        ((double *)norm->mean.data)[row] = mean;
        ((double *)norm->deviation.data)[row] = deviation;
    }
}

static void
multiply_doubles(const ElementRun *run)
{
    for (int64_t n = 0; n < run->count; n++) {
        ((double *)run->output)[n] = ((const double *)run->inputs[0])[n * run->strides[0]] *
                                     ((const double *)run->inputs[1])[n * run->strides[1]];
    }
}

static void
add_doubles(const ElementRun *run)
{
    for (int64_t n = 0; n < run->count; n++) {
        ((double *)run->output)[n] = ((const double *)run->inputs[0])[n * run->strides[0]] +
                                     ((const double *)run->inputs[1])[n * run->strides[1]];
    }
}

static Status
run_layer_norm(KernelContext *context, const Shape *shapes, LayerNorm *norm)
{
    bool has_bias = context->input_count > 2 && context->inputs[2].dtype != DTYPE_INVALID;
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_FLOAT64, &norm->x));
    TRY(scratch_cast(context, &context->inputs[1], DTYPE_FLOAT64, &norm->scale));
    if (has_bias) {
        TRY(scratch_cast(context, &context->inputs[2], DTYPE_FLOAT64, &norm->bias));
    }
    TRY(scratch_new(context, DTYPE_FLOAT64, &shapes[1], &norm->mean));
    TRY(scratch_new(context, DTYPE_FLOAT64, &shapes[2], &norm->deviation));
    normalize_rows(norm, (double)node_attr_float(context->node, "epsilon"));
    const Tensor *scaled[] = {&norm->x, &norm->scale};
    broadcast_run(scaled, 2, &norm->x, NULL, multiply_doubles);
    if (has_bias) {
        const Tensor *shifted[] = {&norm->x, &norm->bias};
        broadcast_run(shifted, 2, &norm->x, NULL, add_doubles);
    }
    TRY(scratch_finish(context, 0, &norm->x));
    TRY(scratch_finish(context, 1, &norm->mean));
    return scratch_finish(context, 2, &norm->deviation);
}

static Status
layer_norm_compute(KernelContext *context)
{
    Shape shapes[3];
    TRY(output_shapes(context, shapes));
    LayerNorm norm = {0};
    Status status = run_layer_norm(context, shapes, &norm);
    tensor_unref(&norm.x);
    tensor_unref(&norm.mean);
    tensor_unref(&norm.deviation);
    tensor_unref(&norm.scale);
    tensor_unref(&norm.bias);
    return status;
}

/* Computes the channels of a line; stops when the call ends meanwhile. */
static void
compute_response(const Call *call, const ResponseRule *rule, const double *x, double *z, const Lines *lines)
{
    uint64_t work = 0;
    for (int64_t channel = 0; channel < lines->size; channel++) {
        int64_t first = channel - rule->before;
        int64_t last = channel < lines->size - rule->after ? channel + rule->after : lines->size - 1;
        double squares = 0;
        first = first < 0 ? 0 : first;
        if (call_ends_after(call, (uint64_t)(last - first), &work)) {
            return;
        }
        for (int64_t n = first; n <= last; n++) {
            squares += x[n * lines->inner] * x[n * lines->inner];
        }
        z[channel * lines->inner] =
            x[channel * lines->inner] / pow(rule->bias + rule->alpha * squares, rule->beta);
    }
}

static Status
run_response(KernelContext *context, const ResponseRule *rule)
{
    AUTO_TENSOR input = {0};
    AUTO_TENSOR output = {0};
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_FLOAT64, &input));
    TRY(scratch_new(context, DTYPE_FLOAT64, &input.shape, &output));
    Lines lines = lines_along(&input.shape, rule->axis);
    if (tensor_element_count(&input) == 0) {
        return scratch_finish(context, 0, &output); /* the other dimensions may be of any size */
    }
    for (int64_t outer = 0; outer < lines.outer; outer++) {
        TRY(call_check(context->call, clock_monotonic_ns()));
        for (int64_t inner = 0; inner < lines.inner; inner++) {
            int64_t offset = outer * lines.size * lines.inner + inner;
            compute_response(context->call, rule, (const double *)input.data + offset,
                (double *)output.data + offset, &lines);
        }
    }
    TRY(call_check(context->call, clock_monotonic_ns()));
    return scratch_finish(context, 0, &output);
}

static Status
lrn_compute(KernelContext *context)
{
    ResponseRule rule;
    TRY(response_rule(context->call, context->node, &context->inputs[0].shape, &rule));
    return run_response(context, &rule);
}

static const Kernel layer_norm_kernels[] = {
    {.op = "onnx::LayerNormalization",
        .supports = supports_floats,
        .compute = layer_norm_compute,
        .wide_inputs = 7,
        .wide_outputs = 6},
    {.op = "LRN", .supports = supports_floats, .compute = lrn_compute, .wide_inputs = 1, .wide_outputs = 1},
    {.op = "onnx::LRN",
        .supports = supports_floats,
        .compute = lrn_compute,
        .wide_inputs = 1,
        .wide_outputs = 1},
};

KERNEL_FAMILY(reference, normalization_layer_norm, layer_norm_kernels);
