/* Gradients of sums, means and sums by root over sparse segments: each selected row gets the gradient of
 * its segment, divided as the forward op divides. */
#include <math.h>

#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

typedef double (*SegmentDivisor)(double count);

static double
no_divisor(double count)
{
    (void)count;
    return 1;
}

static double
mean_divisor(double count)
{
    return count;
}

static Status
read_index(KernelContext *context, uint32_t input, int64_t n, int64_t size, int64_t *ret_index)
{
    if (!tensor_to_int64(&context->inputs[input], n, ret_index) || *ret_index < 0 || *ret_index >= size) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "element %lld of input %u is %lld, not within %lld", (long long)n, input, (long long)*ret_index,
            (long long)size);
    }
    return STATUS_OK;
}

static Status
count_rows(KernelContext *context, int64_t segments, double *counts)
{
    for (int64_t n = 0; n < tensor_element_count(&context->inputs[2]); n++) {
        int64_t segment = 0;
        TRY(read_index(context, 2, n, segments, &segment));
        counts[segment]++;
    }
    return STATUS_OK;
}

static Status
spread_gradient(KernelContext *context, SegmentDivisor divisor)
{
    int64_t segments = context->inputs[0].shape.dims[0];
    Shape vector = shape_vector(segments);
    Shape shape;
    AUTO_TENSOR from = {0};
    AUTO_TENSOR to = {0};
    AUTO_TENSOR counts = {0};
    TRY(output_shapes(context, &shape));
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_FLOAT64, &from));
    TRY(scratch_new(context, DTYPE_FLOAT64, &shape, &to));
    TRY(scratch_new(context, DTYPE_FLOAT64, &vector, &counts));
    fill_zero(&to);
    fill_zero(&counts);
    TRY(count_rows(context, segments, counts.data));
    int64_t slice = lines_along(&shape, 0).inner;
    for (int64_t n = 0; n < tensor_element_count(&context->inputs[2]); n++) {
        int64_t segment = 0;
        int64_t row = 0;
        TRY(read_index(context, 2, n, segments, &segment));
        TRY(read_index(context, 1, n, shape.dims[0], &row));
        double scale = 1 / divisor(((const double *)counts.data)[segment]);
        for (int64_t element = 0; element < slice; element++) {
            ((double *)to.data)[row * slice + element] +=
                ((const double *)from.data)[segment * slice + element] * scale;
        }
    }
    return scratch_finish(context, 0, &to);
}

static Status
sum_compute(KernelContext *context)
{
    return spread_gradient(context, no_divisor);
}

static Status
mean_compute(KernelContext *context)
{
    return spread_gradient(context, mean_divisor);
}

static Status
root_compute(KernelContext *context)
{
    return spread_gradient(context, sqrt);
}

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->output_dtypes[0]);
}

#define GRADIENT(name, function)                                                                             \
    {                                                                                                        \
        .op = (name), .supports = supports_floats, .compute = (function), .wide_inputs = 1,                  \
        .wide_outputs = 1, .host_inputs = 1 << 3                                                             \
    }

static const Kernel segment_gradient_kernels[] = {
    GRADIENT("SparseSegmentSumGrad", sum_compute),
    GRADIENT("SparseSegmentMeanGrad", mean_compute),
    GRADIENT("SparseSegmentSqrtNGrad", root_compute),
};

KERNEL_FAMILY(reference, segment_gradient, segment_gradient_kernels);
