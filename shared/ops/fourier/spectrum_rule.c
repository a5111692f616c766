#include "shared/ops/fourier/spectrum_rule.h"

/* Reads "FFT", "IFFT2D", "RFFT3D" … */
static Spectrum
spectrum_named(Slice op)
{
    bool is_inverse = slice_starts_with(op, SLICE("I"));
    Slice kind = slice_part(op, is_inverse ? 1 : 0, SIZE_MAX);
    bool is_real = slice_starts_with(kind, SLICE("R"));
    char axes = slice_ends_with(op, SLICE("D")) ? op.data[op.size - 2] : '1';
    return (Spectrum){.axes = axes - '0', .is_inverse = is_inverse, .is_real = is_real};
}

/* Numbers of the spectrum of a real signal that are not mirrors of others. */
static int64_t
half_of(int64_t length)
{
    return length < 0 ? -1 : length == 0 ? 0 : length / 2 + 1;
}

static Status
read_lengths(Call *call, const InferContext *context, Spectrum *spectrum)
{
    Shape vector;
    int64_t axes = 0;
    size_t count = 0;
    TRY(infer_rank(call, context, 1, 1, &vector));
    TRY(infer_equal(call, vector.dims[0], spectrum->axes, "the number of lengths", &axes));
    TRY(infer_ints(call, context, 1, spectrum->lengths, SPECTRUM_AXES_MAX, &count));
    for (int axis = 0; axis < spectrum->axes; axis++) {
        if (!infer_knows(context, 1)) {
            spectrum->lengths[axis] = -1;
        } else if (spectrum->lengths[axis] < 0) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "a length is %lld, not at least 0",
                (long long)spectrum->lengths[axis]);
        }
    }
    return STATUS_OK;
}

/* The input may be longer than the transform, of which the rest is left out; not shorter. */
static Status
set_axis(Call *call, const Spectrum *spectrum, int axis, int64_t *dimension)
{
    bool is_last = axis == spectrum->axes - 1;
    int64_t length = spectrum->lengths[axis];
    int64_t needed = is_last && spectrum->is_inverse ? half_of(length) : length;
    if (*dimension >= 0 && *dimension < needed) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "the input has %lld numbers in a dimension whose transform reads %lld", (long long)*dimension,
            (long long)needed);
    }
    *dimension = is_last && !spectrum->is_inverse ? half_of(length) : length;
    return STATUS_OK;
}

Status
spectrum_read(Call *call, const InferContext *context, Spectrum *ret_spectrum)
{
    Spectrum spectrum = spectrum_named(context->node->op->name);
    Shape shape = context->inputs[0];
    if (shape.rank >= 0 && shape.rank < spectrum.axes) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "an input of rank %d has fewer than %d dimensions",
            shape.rank, spectrum.axes);
    }
    if (spectrum.is_real) {
        TRY(read_lengths(call, context, &spectrum));
    }
    for (int axis = 0; shape.rank >= 0 && axis < spectrum.axes; axis++) {
        int64_t *dimension = &shape.dims[shape.rank - spectrum.axes + axis];
        if (spectrum.is_real) {
            TRY(set_axis(call, &spectrum, axis, dimension));
        } else {
            spectrum.lengths[axis] = *dimension;
        }
    }
    spectrum.output = shape;
    *ret_spectrum = spectrum;
    return infer_check_size(call, &shape);
}
