#include "shared/ops/fourier/rule.h"

/* Checks how numbers are written: one a real number, two a complex one. The onesided transforms go from real
 * numbers to complex ones, their inverse the other way. */
static Status
check_numbers(Call *call, const Shape *input, const Fourier *fourier)
{
    int64_t size = input->rank > 0 ? input->dims[input->rank - 1] : -1;
    int64_t wanted = fourier->is_inverse ? 2 : 1;
    if (size >= 0 && size != 1 && size != 2) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "the last dimension is %lld, not 1 (real) or 2 (complex)", (long long)size);
    }
    if (size >= 0 && fourier->is_onesided && size != wanted) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a onesided transform reads %s numbers, not %s ones",
            wanted == 1 ? "real" : "complex", wanted == 1 ? "complex" : "real");
    }
    return STATUS_OK;
}

static Status
count_bins(Call *call, Fourier *fourier)
{
    if (fourier->length < 0) {
        fourier->bins = -1;
        return STATUS_OK;
    }
    if (fourier->length == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a transform of no numbers is not defined");
    }
    fourier->bins = fourier->is_onesided ? fourier->length / 2 + 1 : fourier->length;
    return STATUS_OK;
}

/* Reads an optional scalar of at least 1; -1 while it is not known, `otherwise` when it is absent. */
static Status
read_size(Call *call, const InferContext *context, uint32_t input, int64_t otherwise, int64_t *ret_size)
{
    bool is_known = false;
    int64_t size = -1;
    if (!infer_has_input(context, input)) {
        *ret_size = otherwise;
        return STATUS_OK;
    }
    TRY(infer_int(call, context, input, &size, &is_known));
    if (is_known && size < 1) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "input %u is %lld, not at least 1", input, (long long)size);
    }
    *ret_size = is_known ? size : -1;
    return STATUS_OK;
}

/* Finds the axis, which is never the last one: that has the parts of a number. */
static Status
read_axis(Call *call, const InferContext *context, Fourier *fourier)
{
    const Shape *input = &context->inputs[DFT_INPUT];
    int64_t axis = -2;
    bool is_known = true;
    fourier->axis = -1;
    if (infer_has_input(context, DFT_AXIS)) {
        TRY(infer_int(call, context, DFT_AXIS, &axis, &is_known));
    }
    if (!is_known || input->rank < 0) {
        return STATUS_OK;
    }
    TRY(infer_axis(call, axis, input->rank, &fourier->axis));
    return fourier->axis == input->rank - 1
               ? call_fail(call, STATUS_INVALID_ARGUMENT,
                     "axis %lld is the last one, which has the parts of complex numbers", (long long)axis)
               : STATUS_OK;
}

static void
set_output(int rank, bool is_to_real, Fourier *fourier)
{
    for (int index = 0; index < rank && fourier->axis < 0; index++) {
        fourier->output.dims[index] = -1;
    }
    if (fourier->axis >= 0) {
        fourier->output.dims[fourier->axis] = is_to_real ? fourier->length : fourier->bins;
    }
    if (rank > 0) {
        fourier->output.dims[rank - 1] = is_to_real ? 1 : 2;
    }
}

Status
dft_read(Call *call, const InferContext *context, Fourier *ret_fourier)
{
    const Shape *input = &context->inputs[DFT_INPUT];
    Fourier fourier = {.is_inverse = node_attr_int(context->node, "inverse") != 0,
        .is_onesided = node_attr_int(context->node, "onesided") != 0,
        .output = *input};
    TRY(read_axis(call, context, &fourier));
    TRY(check_numbers(call, input, &fourier));
    bool is_to_real = fourier.is_inverse && fourier.is_onesided;
    int64_t size = fourier.axis < 0 ? -1 : input->dims[fourier.axis];
    int64_t whole = is_to_real && size > 0 && size <= INT64_MAX / 2 ? 2 * (size - 1) : size;
    TRY(read_size(call, context, DFT_LENGTH, whole, &fourier.length));
    TRY(count_bins(call, &fourier));
    set_output(input->rank, is_to_real, &fourier);
    *ret_fourier = fourier;
    return infer_check_size(call, &fourier.output);
}

/* Finds the length of a frame: the input, else the window's, else the signal's. */
static Status
read_frame(Call *call, const InferContext *context, const Shape *signal, Fourier *fourier)
{
    Shape window = shape_vector(-1);
    bool has_window = infer_has_input(context, STFT_WINDOW);
    if (has_window) {
        TRY(infer_rank(call, context, STFT_WINDOW, 1, &window));
    }
    TRY(read_size(
        call, context, STFT_LENGTH, has_window ? window.dims[0] : signal->dims[1], &fourier->length));
    if (has_window) {
        TRY(infer_equal(
            call, fourier->length, window.dims[0], "the number of a frame's samples", &fourier->length));
    }
    return count_bins(call, fourier);
}

Status
stft_read(Call *call, const InferContext *context, Fourier *ret_fourier)
{
    Fourier fourier = {.axis = 1, .is_onesided = node_attr_int(context->node, "onesided") != 0};
    Shape signal;
    int64_t frames = -1;
    TRY(infer_rank(call, context, STFT_SIGNAL, 3, &signal));
    TRY(check_numbers(call, &signal, &fourier));
    TRY(read_size(call, context, STFT_STEP, -1, &fourier.step));
    TRY(read_frame(call, context, &signal, &fourier));
    bool is_known = fourier.length >= 0 && signal.dims[1] >= 0;
    if (is_known && fourier.length > signal.dims[1]) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "a frame of %lld samples does not fit into a signal of %lld", (long long)fourier.length,
            (long long)signal.dims[1]);
    }
    if (is_known && fourier.step > 0) {
        frames = (signal.dims[1] - fourier.length) / fourier.step + 1;
    }
    fourier.output = (Shape){.rank = 4, .dims = {signal.dims[0], frames, fourier.bins, 2}};
    *ret_fourier = fourier;
    return infer_check_size(call, &fourier.output);
}
