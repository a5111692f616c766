#include "shared/ops/convolution.h"

#include <assert.h>

#include "shared/ops/layout.h"

static int64_t
multiply_known(int64_t left, int64_t right)
{
    int64_t product = 0;
    return left < 0 || right < 0 || __builtin_mul_overflow(left, right, &product) ? -1 : product;
}

/* Derives the number of groups: the input channels divided by those of one filter. A depthwise filter has
 * one group a channel. */
static Status
divide_channels(Call *call, const Shape *filter, int64_t channels, Convolution *convolution)
{
    int64_t taken = filter->dims[convolution->filter.input];
    int64_t made = filter->dims[convolution->filter.output];
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

/* True for DepthwiseConv2dNative, its gradients and its fused forms. */
static bool
is_depthwise(const Node *node)
{
    static const char *const beginnings[] = {"Depthwise", "FusedDepthwise", "_FusedDepthwise"};
    for (size_t index = 0; index < COUNT_OF(beginnings); index++) {
        if (slice_starts_with(node->op->name, slice_from_string(beginnings[index]))) {
            return true;
        }
    }
    return false;
}

Status
convolution_tensorflow(Call *call, const InferContext *context, int rank, Convolution *ret_convolution)
{
    assert(rank == 2 || rank == 3);

    Shape input;
    Shape filter;
    TRY(infer_rank(call, context, 0, rank + 2, &input));
    TRY(infer_rank(call, context, 1, rank + 2, &filter));
    Convolution convolution = {.filter = {.output = rank + 1, .input = rank}};
    convolution.filter.is_depthwise = is_depthwise(context->node);
    if (context->node->is_channels_last && !convolution.filter.is_depthwise) {
        convolution.filter = (FilterLayout){.output = 0, .space = 1, .input = rank + 1};
    }
    const int64_t *sizes = &filter.dims[convolution.filter.space];
    TRY(window_tensorflow(call, context->node, &input, sizes, rank, &convolution.window));
    TRY(divide_channels(call, &filter, input.dims[convolution.window.channel], &convolution));
    int64_t made = filter.dims[convolution.filter.output];
    int64_t channels = convolution.filter.is_depthwise ? multiply_known(convolution.groups, made) : made;
    convolution.output = window_output(&convolution.window, &input, channels);
    TRY(infer_check_size(call, &convolution.output));
    *ret_convolution = convolution;
    return STATUS_OK;
}

/* Reads the shape whose dimensions input `input` holds; they are unknown while its value is not known. */
static Status
read_sizes(Call *call, const InferContext *context, uint32_t input, int rank, Shape *ret_shape)
{
    size_t count = 0;
    Shape shape = shape_of_rank(rank + 2);
    int64_t values[SHAPE_RANK_MAX];
    TRY(infer_ints(call, context, input, values, SHAPE_RANK_MAX, &count));
    if (infer_knows(context, input)) {
        if (count != (size_t)rank + 2) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "input %u has %zu sizes, not %d", input, count, rank + 2);
        }
        memcpy(shape.dims, values, count * sizeof *values);
        for (size_t index = 0; index < count; index++) {
            if (values[index] < 0) {
                return call_fail(call, STATUS_INVALID_ARGUMENT, "size %zu is %lld, not at least 0", index,
                    (long long)values[index]);
            }
        }
    }
    *ret_shape = shape;
    return infer_check_size(call, &shape);
}

/* Reads the convolution whose gradient this node is: `shapes` are its image and its filter, and input 2 is
 * the gradient of its output. */
static Status
read_forward(
    Call *call, const InferContext *context, const Shape shapes[2], int rank, Convolution *ret_convolution)
{
    InferContext forward = {.node = context->node, .inputs = shapes};
    TRY(convolution_tensorflow(call, &forward, rank, ret_convolution));
    Shape merged;
    if (!shape_merge(&ret_convolution->output, &context->inputs[2], &merged)) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the output's gradient has shape %s, not %s",
            shape_text(&context->inputs[2], left), shape_text(&ret_convolution->output, right));
    }
    return STATUS_OK;
}

/* Reads the shape of the image from input 0. Two values are height and width; batch and channels are then
 * those of the other inputs. */
static Status
read_image(Call *call, const InferContext *context, int rank, Shape *ret_image)
{
    if (!infer_knows(context, 0) || tensor_element_count(context->values[0]) != rank) {
        return read_sizes(call, context, 0, rank, ret_image);
    }
    int64_t sizes[SHAPE_RANK_MAX];
    size_t count = 0;
    bool is_channels_first = slice_starts_with(node_attr_string(context->node, "data_format"), SLICE("NC"));
    TRY(infer_ints(call, context, 0, sizes, SHAPE_RANK_MAX, &count));
    Shape filter;
    TRY(infer_rank(call, context, 1, rank + 2, &filter));
    *ret_image = shape_of_rank(rank + 2);
    ret_image->dims[0] = context->inputs[2].rank < 0 ? -1 : context->inputs[2].dims[0];
    ret_image->dims[is_channels_first ? 1 : rank + 1] = filter.dims[rank];
    memcpy(&ret_image->dims[is_channels_first ? 2 : 1], sizes, count * sizeof *sizes);
    return infer_check_size(call, ret_image);
}

Status
convolution_backprop_input(
    Call *call, const InferContext *context, int rank, Convolution *ret_convolution, Shape *ret_image)
{
    Shape shapes[2] = {[1] = context->inputs[1]};
    TRY(read_image(call, context, rank, &shapes[0]));
    *ret_image = shapes[0];
    return read_forward(call, context, shapes, rank, ret_convolution);
}

Status
convolution_backprop_filter(
    Call *call, const InferContext *context, int rank, Convolution *ret_convolution, Shape *ret_filter)
{
    Shape shapes[2] = {[0] = context->inputs[0]};
    TRY(read_sizes(call, context, 1, rank, &shapes[1]));
    *ret_filter = shapes[1];
    return read_forward(call, context, shapes, rank, ret_convolution);
}

/* The attribute kernel_shape may be left out; where it stands, it must be the filter's. */
static Status
check_kernel_shape(Call *call, const Node *node, const Shape *filter, int space)
{
    int64_t sizes[WINDOW_RANK_MAX];
    size_t count = node_attr_ints(node, "kernel_shape", sizes, WINDOW_RANK_MAX);
    int rank = filter->rank - 2;
    if (count != 0 && count != (size_t)rank) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "kernel_shape has %zu values, not %d", count, rank);
    }
    for (size_t index = 0; index < count; index++) {
        int64_t size = 0;
        TRY(infer_equal(call, filter->dims[(size_t)space + index], sizes[index], "the filter's size", &size));
    }
    return STATUS_OK;
}

static Status
check_groups(Call *call, const Shape *input, const Shape *filter, Convolution *convolution)
{
    int64_t groups = convolution->groups;
    int64_t made = filter->dims[0];
    if (groups < 1 || (made >= 0 && made % groups != 0)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%lld filters do not divide into %lld groups",
            (long long)made, (long long)groups);
    }
    int64_t channels = 0;
    int64_t taken = filter->dims[convolution->filter.input];
    TRY(infer_equal(call, input->dims[convolution->window.channel], multiply_known(taken, groups),
        "the number of channels", &channels));
    convolution->inputs = taken;
    convolution->outputs = made < 0 ? -1 : made / groups;
    return STATUS_OK;
}

/* The inputs that a convolution of ONNX has its filter and its bias in; bias 0: it has none. */
typedef struct OnnxOperands {
    uint32_t filter;
    uint32_t bias;
} OnnxOperands;

static Status
check_bias(Call *call, const InferContext *context, uint32_t input, int64_t filters)
{
    Shape bias;
    int64_t channels = 0;
    TRY(infer_rank(call, context, input, 1, &bias));
    return infer_equal(call, bias.dims[0], filters, "the number of filters", &channels);
}

static Status
read_onnx(Call *call, const InferContext *context, OnnxOperands operands, Convolution *ret_convolution)
{
    const Shape *input = &context->inputs[0];
    int rank = input->rank - 2;
    if (rank < 1 || rank > WINDOW_RANK_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "rank %d has no 1 to %d spatial dimensions",
            input->rank, WINDOW_RANK_MAX);
    }
    Shape filter;
    TRY(infer_rank(call, context, operands.filter, rank + 2, &filter));
    int channel = layout_onnx_channel(context->node, filter.rank);
    Convolution convolution = {.filter = {.output = 0, .input = channel, .space = layout_space(channel)},
        .groups = node_attr_int(context->node, "group")};
    const int64_t *sizes = &filter.dims[convolution.filter.space];
    TRY(check_kernel_shape(call, context->node, &filter, convolution.filter.space));
    TRY(window_onnx(call, context->node, input, sizes, rank, &convolution.window));
    TRY(check_groups(call, input, &filter, &convolution));
    if (operands.bias > 0 && infer_has_input(context, operands.bias)) {
        TRY(check_bias(call, context, operands.bias, filter.dims[0]));
    }
    convolution.output = window_output(&convolution.window, input, filter.dims[0]);
    TRY(infer_check_size(call, &convolution.output));
    *ret_convolution = convolution;
    return STATUS_OK;
}

Status
convolution_onnx(Call *call, const InferContext *context, Convolution *ret_convolution)
{
    bool is_fused = slice_starts_with(context->node->op->name, SLICE("_Fused"));
    OnnxOperands operands = {.filter = 1, .bias = is_fused ? 0 : 2};
    return read_onnx(call, context, operands, ret_convolution);
}

Status
convolution_onnx_integer(Call *call, const InferContext *context, Convolution *ret_convolution)
{
    bool is_scaled = slice_equals_string(context->node->op->name, "onnx::QLinearConv");
    OnnxOperands operands = {.filter = is_scaled ? 3 : 1, .bias = is_scaled ? 8 : 0};
    return read_onnx(call, context, operands, ret_convolution);
}

/* The channels of the node's input are divided into the groups, and each filter makes the image's channels of
 * its group. */
static Status
divide_transposed(Call *call, const Shape *input, const Shape *filter, Convolution *convolution)
{
    int64_t groups = convolution->groups;
    int64_t channels = 0;
    TRY(infer_equal(call, input->dims[1], filter->dims[0], "the number of channels", &channels));
    if (groups < 1 || (channels >= 0 && channels % groups != 0)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%lld channels do not divide into %lld groups",
            (long long)channels, (long long)groups);
    }
    convolution->inputs = filter->dims[1];
    convolution->outputs = channels < 0 ? -1 : channels / groups;
    return STATUS_OK;
}

Status
convolution_onnx_transposed(Call *call, const InferContext *context, Convolution *ret_convolution)
{
    const Shape *input = &context->inputs[0];
    int rank = input->rank - 2;
    if (rank < 1 || rank > WINDOW_RANK_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "rank %d has no 1 to %d spatial dimensions",
            input->rank, WINDOW_RANK_MAX);
    }
    Shape filter;
    TRY(infer_rank(call, context, 1, rank + 2, &filter));
    TRY(check_kernel_shape(call, context->node, &filter, 2));
    Convolution convolution = {.filter = {.output = 0, .input = 1, .space = 2},
        .groups = node_attr_int(context->node, "group"),
        .output = shape_of_rank(rank + 2)};
    TRY(window_onnx_transposed(
        call, context->node, input, &filter.dims[2], &convolution.window, &convolution.output.dims[2]));
    TRY(divide_transposed(call, input, &filter, &convolution));
    convolution.output.dims[0] = input->dims[0];
    convolution.output.dims[1] = multiply_known(convolution.groups, convolution.inputs);
    if (infer_has_input(context, 2)) {
        Shape bias;
        TRY(infer_rank(call, context, 2, 1, &bias));
        TRY(infer_equal(call, bias.dims[0], convolution.output.dims[1], "the number of output channels",
            &convolution.output.dims[1]));
    }
    TRY(infer_check_size(call, &convolution.output));
    *ret_convolution = convolution;
    return STATUS_OK;
}
