#include "worker/reference/mel.h"

#include <math.h>

#include "worker/reference/cast.h"
#include "worker/reference/outputs.h"

enum { INPUT_LENGTH = 1, INPUT_RATE, INPUT_LOWER };

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

int64_t
mel_corner(const MelFilters *filters, int64_t corner)
{
    double hertz = hertz_of(filters->lowest + (double)corner * filters->step);
    return (int64_t)floor(((double)filters->length + 1) * hertz / (double)filters->rate);
}

/* Reads the edges, which must leave every corner but the last within the spectrum. */
static Status
read_edges(KernelContext *context, MelFilters *filters)
{
    double edges[2];
    for (uint32_t index = 0; index < COUNT_OF(edges); index++) {
        const Tensor *input = &context->inputs[INPUT_LOWER + index];
        if (tensor_element_count(input) != 1) {
            return call_fail(
                context->call, STATUS_INVALID_ARGUMENT, "input %u is not one number", INPUT_LOWER + index);
        }
        cast_elements(input->dtype, input->data, DTYPE_FLOAT64, &edges[index], 1);
    }
    if (!(edges[0] >= 0 && edges[1] >= edges[0] && edges[1] * 2 <= (double)filters->rate)) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "edges of %g and %g hertz are not in order within half the sample rate, %lld", edges[0], edges[1],
            (long long)filters->rate);
    }
    filters->lowest = mel_of(edges[0]);
    filters->step = (mel_of(edges[1]) - filters->lowest) / (double)(filters->bands + 2);
    return STATUS_OK;
}

Status
mel_filters_read(KernelContext *context, MelFilters *ret_filters)
{
    MelFilters filters;
    Shape shape;
    size_t count = 0;
    TRY(output_shapes(context, &shape));
    filters.rows = shape.dims[0];
    filters.bands = shape.dims[1];
    TRY(kernel_input_ints(context, INPUT_LENGTH, &filters.length, 1, &count));
    TRY(kernel_input_ints(context, INPUT_RATE, &filters.rate, 1, &count));
    TRY(read_edges(context, &filters));
    *ret_filters = filters;
    return STATUS_OK;
}
