/* Numbers counted in the rows of a ragged tensor. */
#include "shared/base/clock.h"
#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/wide.h"

static bool
ragged_bincount_supports(const Node *node)
{
    return wide_supports(WIDE_ADD, node->output_dtypes[0]) && dtype_is_integer(node->input_dtypes[1]);
}

/* Checks that the splits go up from 0 to the number of values. */
static Status
check_splits(KernelContext *context, const int64_t *splits, int64_t rows, int64_t values)
{
    for (int64_t row = 0; row < rows; row++) {
        if (splits[row] > splits[row + 1]) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "splits go down from %lld to %lld",
                (long long)splits[row], (long long)splits[row + 1]);
        }
    }
    return splits[0] == 0 && splits[rows] == values
               ? STATUS_OK
               : call_fail(context->call, STATUS_INVALID_ARGUMENT,
                     "splits go from %lld to %lld, not from 0 to %lld", (long long)splits[0],
                     (long long)splits[rows], (long long)values);
}

/* The bins of one row, and the weights of all values, in one wide dtype. */
typedef struct RowBins {
    char *sums;
    int64_t count;
    const Tensor *weights;
    WideCombination combination;
} RowBins;

/* Numbers above the last bin are left out. */
static Status
count_row(KernelContext *context, const RowBins *bins, int64_t first, int64_t end)
{
    Dtype wide = bins->weights->dtype;
    size_t size = dtype_size(wide);
    TRY(call_check(context->call, clock_monotonic_ns()));
    for (int64_t n = first; n < end; n++) {
        int64_t bin = -1;
        if (!tensor_to_int64(&context->inputs[1], n, &bin) || bin < 0) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "element %lld is %lld, not at least 0",
                (long long)n, (long long)bin);
        }
        if (bin < bins->count) {
            wide_combine(bins->combination, wide, bins->sums + (size_t)bin * size,
                (const char *)bins->weights->data + (size_t)n * size, 1);
        }
    }
    return STATUS_OK;
}

static Status
ragged_bincount_compute(KernelContext *context)
{
    const int64_t *splits = context->inputs[0].data;
    const Tensor *values = &context->inputs[1];
    bool is_binary = node_attr_bool(context->node, "binary_output");
    bool is_weighted = tensor_element_count(&context->inputs[3]) > 0 && !is_binary;
    Dtype wide = wide_dtype(context->node->output_dtypes[0]);
    Shape shape;
    AUTO_TENSOR sums = {0};
    AUTO_TENSOR weights = {0};
    TRY(output_shapes(context, &shape));
    TRY(check_splits(context, splits, shape.dims[0], tensor_element_count(values)));
    TRY(scratch_new(context, wide, &shape, &sums));
    TRY(scratch_cast(context, is_weighted ? &context->inputs[3] : values, wide, &weights));
    fill_zero(&sums);
    if (!is_weighted) {
        fill_number(&weights, 1);
    }
    for (int64_t row = 0; row < shape.dims[0]; row++) {
        RowBins bins = {.sums = (char *)sums.data + (size_t)(row * shape.dims[1]) * dtype_size(wide),
            .count = shape.dims[1],
            .weights = &weights,
            .combination = is_binary ? WIDE_REPLACE : WIDE_ADD};
        TRY(count_row(context, &bins, splits[row], splits[row + 1]));
    }
    return scratch_finish(context, 0, &sums);
}

static const Kernel ragged_count_kernels[] = {
    {.op = "RaggedBincount",
        .supports = ragged_bincount_supports,
        .compute = ragged_bincount_compute,
        .host_inputs = 1 << 2},
};

KERNEL_FAMILY(reference, count_ragged, ragged_count_kernels);
