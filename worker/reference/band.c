#include "worker/reference/band.h"

static Status
read_width(KernelContext *context, uint32_t input, int64_t size, int64_t *ret_width)
{
    size_t count = 0;
    TRY(kernel_input_ints(context, input, ret_width, 1, &count));
    if (count != 1 || *ret_width > size) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "a band of %lld diagonals is not within a dimension of %lld", (long long)*ret_width,
            (long long)size);
    }
    return STATUS_OK;
}

Status
band_read(KernelContext *context, Band *ret_band)
{
    const Shape *shape = &context->inputs[0].shape;
    Band band = {.rows = shape->dims[shape->rank - 2], .columns = shape->dims[shape->rank - 1]};
    TRY(read_width(context, 1, band.rows, &band.lower));
    TRY(read_width(context, 2, band.columns, &band.upper));
    *ret_band = band;
    return STATUS_OK;
}
