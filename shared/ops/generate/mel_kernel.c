/* ONNX's MelWeightMatrix: a triangle for each band, whose corners are the spectrum's bins that are nearest
 * below frequencies with the same distance in mel. (ONNX's reference implementation.) */
#include <math.h>

#include "shared/ops/generate/mel_rule.h"
#include "worker/reference/cast.h"
#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

/* A frequency f has 2595·log10(1 + f / 700) mel. */
static double
mel_of(double hertz)
{
    return 2595 * log1p(hertz / 700) / log(10);
}

static double
hertz_of(double mel)
{
    return 700 * expm1(mel / 2595 * log(10));
}

typedef struct Filters {
    MelScale scale;
    double lowest; /* mel */
    double step;   /* mel, from one corner to the next */
    double *weights;
} Filters;

/* Returns the bin of a corner. */
static int64_t
corner_of(const Filters *filters, int64_t corner)
{
    double hertz = hertz_of(filters->lowest + (double)corner * filters->step);
    return (int64_t)floor(((double)filters->scale.length + 1) * hertz / (double)filters->scale.rate);
}

static void
fill_triangle(const Filters *filters, int64_t band)
{
    double *column = filters->weights + band;
    int64_t rows = filters->scale.output.dims[0]; /* a corner at half the sample rate may be beyond them */
    int64_t low = corner_of(filters, band);
    int64_t top = corner_of(filters, band + 1);
    int64_t high = corner_of(filters, band + 2);
    if (low == top && top < rows) {
        column[top * filters->scale.bins] = 1;
    }
    for (int64_t row = low; low < top && row <= top && row < rows; row++) {
        column[row * filters->scale.bins] = (double)(row - low) / (double)(top - low);
    }
    for (int64_t row = top; row < high && row < rows; row++) {
        column[row * filters->scale.bins] = (double)(high - row) / (double)(high - top);
    }
}

/* Reads the edges, which must leave every corner but the last within the spectrum. */
static Status
read_edges(KernelContext *context, Filters *filters)
{
    double edges[2];
    for (uint32_t index = 0; index < COUNT_OF(edges); index++) {
        AUTO_TENSOR edge = {0};
        const Tensor *input = &context->inputs[MEL_LOWER + index];
        if (tensor_element_count(input) != 1) {
            return call_fail(
                context->call, STATUS_INVALID_ARGUMENT, "input %u is not one number", MEL_LOWER + index);
        }
        TRY(scratch_cast(context, input, DTYPE_FLOAT64, &edge));
        edges[index] = *(const double *)edge.data;
    }
    if (!(edges[0] >= 0 && edges[1] >= edges[0] && edges[1] * 2 <= (double)filters->scale.rate)) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "edges of %g and %g hertz are not in order within half the sample rate, %lld", edges[0], edges[1],
            (long long)filters->scale.rate);
    }
    filters->lowest = mel_of(edges[0]);
    filters->step = (mel_of(edges[1]) - filters->lowest) / (double)(filters->scale.bins + 2);
    return STATUS_OK;
}

static Status
mel_compute(KernelContext *context)
{
    KernelInference inference;
    AUTO_TENSOR weights = {0};
    Filters filters = {.weights = NULL};
    kernel_inference(context, NULL, &inference);
    TRY(mel_scale_read(context->call, &inference.context, &filters.scale));
    TRY(read_edges(context, &filters));
    TRY(scratch_new(context, DTYPE_FLOAT64, &filters.scale.output, &weights));
    fill_zero(&weights);
    filters.weights = weights.data;
    for (int64_t band = 0; band < filters.scale.bins; band++) {
        fill_triangle(&filters, band);
    }
    return scratch_finish(context, 0, &weights);
}

static bool
mel_supports(const Node *node)
{
    return dtype_is_integer(node->input_dtypes[0]) && dtype_is_floating(node->input_dtypes[MEL_LOWER]) &&
           cast_supports(DTYPE_FLOAT64, node->output_dtypes[0]);
}

static const Kernel mel_kernels[] = {
    {.op = "onnx::MelWeightMatrix", .supports = mel_supports, .compute = mel_compute, .host_inputs = 0x1f},
};

KERNEL_FAMILY(reference, generate_mel, mel_kernels);
