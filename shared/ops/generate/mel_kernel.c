/* ONNX's MelWeightMatrix: a triangle for each band. (ONNX's reference implementation.) */
#include "shared/ops/generate/mel_rule.h"
#include "worker/reference/cast.h"
#include "worker/reference/fill.h"
#include "worker/reference/mel.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

static void
fill_triangle(const MelFilters *filters, int64_t band, double *weights)
{
    double *column = weights + band;
    int64_t rows = filters->rows; /* a corner at half the sample rate may be beyond them */
    int64_t low = mel_corner(filters, band);
    int64_t top = mel_corner(filters, band + 1);
    int64_t high = mel_corner(filters, band + 2);
    if (low == top && top < rows) {
        column[top * filters->bands] = 1;
    }
    for (int64_t row = low; low < top && row <= top && row < rows; row++) {
        column[row * filters->bands] = (double)(row - low) / (double)(top - low);
    }
    for (int64_t row = top; row < high && row < rows; row++) {
        column[row * filters->bands] = (double)(high - row) / (double)(high - top);
    }
}

static Status
mel_compute(KernelContext *context)
{
    AUTO_TENSOR weights = {0};
    MelFilters filters;
    TRY(mel_filters_read(context, &filters));
    Shape shape = {.rank = 2, .dims = {filters.rows, filters.bands}};
    TRY(scratch_new(context, DTYPE_FLOAT64, &shape, &weights));
    fill_zero(&weights);
    for (int64_t band = 0; band < filters.bands; band++) {
        fill_triangle(&filters, band, weights.data);
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
