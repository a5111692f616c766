/* ONNX Runtime's normalisation of a sum, in double: rows of input + skip + bias, by their mean and variance
 * or by their root mean square. */
#include <math.h>

#include "worker/reference/doubles.h"

enum { OUTPUT, MEAN, DEVIATION, SUM };

typedef struct SkipNorm {
    const double *beta; /* NULL: none */
    const double *bias;
    bool has_mean; /* the rows' mean is taken off */
    double epsilon;
    int64_t size; /* of a row */
} SkipNorm;

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

static void
normalize_row(const SkipNorm *norm, const Doubles *doubles, int64_t row)
{
    const double *gamma = doubles_in(doubles, 2);
    const double *sum = doubles_out(doubles, SUM) + row * norm->size;
    double *y = doubles_out(doubles, OUTPUT) + row * norm->size;
    double total = 0;
    double squares = 0;
    for (int64_t n = 0; norm->has_mean && n < norm->size; n++) {
        total += sum[n];
    }
    double mean = total / (double)norm->size;
    for (int64_t n = 0; n < norm->size; n++) {
        squares += (sum[n] - mean) * (sum[n] - mean);
    }
    double deviation = 1 / sqrt(squares / (double)norm->size + norm->epsilon);
    for (int64_t n = 0; n < norm->size; n++) {
        y[n] = (sum[n] - mean) * deviation * gamma[n] + (norm->beta == NULL ? 0 : norm->beta[n]);
    }
    doubles_out(doubles, MEAN)[row] = mean;
    doubles_out(doubles, DEVIATION)[row] = deviation;
}

static Status
compute(KernelContext *context, SkipNorm *norm, uint32_t bias)
{
    AUTO_DOUBLES doubles = {0};
    TRY(doubles_begin(context, &doubles));
    const Shape *shape = &context->inputs[0].shape;
    int64_t count = tensor_element_count(&context->inputs[0]);
    int64_t skips = tensor_element_count(&context->inputs[1]);
    norm->size = shape->dims[shape->rank - 1];
    norm->epsilon = (double)node_attr_float(context->node, "epsilon");
    norm->beta = norm->has_mean && context->input_count > 3 ? doubles_in(&doubles, 3) : NULL;
    norm->bias = context->input_count > bias ? doubles_in(&doubles, (int)bias) : NULL;
    for (int64_t n = 0; n < count; n++) {
        double biased = norm->bias == NULL ? 0 : norm->bias[n % norm->size];
        doubles_out(&doubles, SUM)[n] =
            doubles_in(&doubles, 0)[n] + doubles_in(&doubles, 1)[n % skips] + biased;
    }
    for (int64_t row = 0; count > 0 && row < count / norm->size; row++) {
        normalize_row(norm, &doubles, row);
    }
    return doubles_finish(context, &doubles);
}

static Status
skip_norm_compute(KernelContext *context)
{
    SkipNorm norm = {.has_mean = true};
    return compute(context, &norm, 4);
}

static Status
simplified_compute(KernelContext *context)
{
    SkipNorm norm = {.has_mean = false};
    return compute(context, &norm, 3);
}

static const Kernel normalization_skip_kernels[] = {
    {.op = "com.microsoft::SkipLayerNormalization",
        .supports = supports_floats,
        .compute = skip_norm_compute,
        DOUBLES_SCRATCH},
    {.op = "com.microsoft::SkipSimplifiedLayerNormalization",
        .supports = supports_floats,
        .compute = simplified_compute,
        DOUBLES_SCRATCH},
};

KERNEL_FAMILY(reference, normalization_skip, normalization_skip_kernels);
