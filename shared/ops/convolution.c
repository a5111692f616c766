#include "shared/ops/convolution.h"

static int64_t
multiply_known(int64_t left, int64_t right)
{
    int64_t product = 0;
    return left < 0 || right < 0 || __builtin_mul_overflow(left, right, &product) ? -1 : product;
}

/* --- TensorFlow ----------------------------------------------------------------------------------------- */

/* Groups are what the filter's input channels leave over; a depthwise filter has one group a channel. */
static Status
divide_channels(Call *call, const Shape *filter, int64_t channels, Convolution *convolution)
{
    const int64_t taken = filter->dims[convolution->filter.input];
    const int64_t made = filter->dims[convolution->filter.output];
    if (convolution->filter.is_depthwise) {
        TRY(infer_equal(call, channels, taken, "the number of input channels", &convolution->groups));
        convolution->inputs = 1;
        convolution->outputs = made;
        return STATUS_OK;
    }
    if (channels >= 0 && taken >= 0 && (taken == 0 || channels % taken != 0)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%lld channels do not divide into groups of %lld",
            (long long)channels, (long long)taken);
    }
    convolution->groups = channels < 0 || taken <= 0 ? -1 : channels / taken;
    convolution->inputs = taken;
    if (convolution->groups > 0 && made >= 0 && made % convolution->groups != 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%lld filters do not divide into %lld groups",
            (long long)made, (long long)convolution->groups);
    }
    convolution->outputs = convolution->groups <= 0 || made < 0 ? -1 : made / convolution->groups;
    return STATUS_OK;
}

Status
convolution_tensorflow(Call *call, const InferContext *context, int rank, Convolution *ret_convolution)
{
    Shape input;
    Shape filter;
    TRY(infer_rank(call, context, 0, rank + 2, &input));
    TRY(infer_rank(call, context, 1, rank + 2, &filter));
    Convolution convolution = {.filter = {.output = rank + 1, .input = rank}};
    convolution.filter.is_depthwise = slice_starts_with(context->node->op->name, SLICE("Depthwise"));
    TRY(window_tensorflow(call, context->node, &input, filter.dims, rank, &convolution.window));
    TRY(divide_channels(call, &filter, input.dims[convolution.window.channel], &convolution));
    const int64_t made = filter.dims[rank + 1];
    const int64_t channels =
        convolution.filter.is_depthwise ? multiply_known(convolution.groups, made) : made;
    convolution.output = window_output(&convolution.window, &input, channels);
    TRY(infer_check_size(call, &convolution.output));
    *ret_convolution = convolution;
    return STATUS_OK;
}

/* --- ONNX ----------------------------------------------------------------------------------------------- */

/* kernel_shape may be left out: the filter tells. */
static Status
check_kernel_shape(Call *call, const Node *node, const Shape *filter, int rank)
{
    int64_t sizes[WINDOW_RANK_MAX];
    const size_t count = node_attr_ints(node, "kernel_shape", sizes, WINDOW_RANK_MAX);
    if (count != 0 && count != (size_t)rank) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "kernel_shape has %zu values, not %d", count, rank);
    }
    for (size_t index = 0; index < count; index++) {
        int64_t size = 0;
        TRY(infer_equal(call, filter->dims[2 + index], sizes[index], "the filter's size", &size));
    }
    return STATUS_OK;
}

static Status
check_groups(Call *call, const Shape *input, const Shape *filter, Convolution *convolution)
{
    const int64_t groups = convolution->groups;
    const int64_t made = filter->dims[0];
    if (groups < 1 || (made >= 0 && made % groups != 0)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%lld filters do not divide into %lld groups",
            (long long)made, (long long)groups);
    }
    int64_t channels = 0;
    TRY(infer_equal(
        call, input->dims[1], multiply_known(filter->dims[1], groups), "the number of channels", &channels));
    convolution->inputs = filter->dims[1];
    convolution->outputs = made < 0 ? -1 : made / groups;
    return STATUS_OK;
}

Status
convolution_onnx(Call *call, const InferContext *context, Convolution *ret_convolution)
{
    const Shape *input = &context->inputs[0];
    const int rank = input->rank - 2;
    if (rank < 1 || rank > WINDOW_RANK_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "rank %d has no 1 to %d spatial dimensions",
            input->rank, WINDOW_RANK_MAX);
    }
    Shape filter;
    TRY(infer_rank(call, context, 1, rank + 2, &filter));
    TRY(check_kernel_shape(call, context->node, &filter, rank));
    Convolution convolution = {
        .filter = {.output = 0, .input = 1, .space = 2}, .groups = node_attr_int(context->node, "group")};
    TRY(window_onnx(call, context->node, input, &filter.dims[2], rank, &convolution.window));
    TRY(check_groups(call, input, &filter, &convolution));
    if (infer_has_input(context, 2)) {
        Shape bias;
        int64_t channels = 0;
        TRY(infer_rank(call, context, 2, 1, &bias));
        TRY(infer_equal(call, bias.dims[0], filter.dims[0], "the number of filters", &channels));
    }
    convolution.output = window_output(&convolution.window, input, filter.dims[0]);
    TRY(infer_check_size(call, &convolution.output));
    *ret_convolution = convolution;
    return STATUS_OK;
}
