#include "shared/ops/window.h"

#include <assert.h>

#include "shared/ops/layout.h"

typedef enum Padding { PADDING_EXPLICIT, PADDING_VALID, PADDING_SAME, PADDING_SAME_LOWER } Padding;

/* Reads a list attribute that may be undeclared or empty; `count` is 0 then. */
static Status
read_list(Call *call, const Node *node, const char *name, size_t expected, int64_t *values, size_t *ret_count)
{
    const AttrValue *declared = node_attr(node, name);
    *ret_count = 0;
    if (declared == NULL || declared->value.list.count == 0) {
        return STATUS_OK;
    }
    if (declared->value.list.count != expected) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%s has %zu values, not %zu", name,
            declared->value.list.count, expected);
    }
    *ret_count = node_attr_ints(node, name, values, expected);
    return STATUS_OK;
}

static Status
check_positive(Call *call, const Window *window)
{
    for (int index = 0; index < window->rank; index++) {
        bool is_size_wrong = window->size[index] == 0 || window->size[index] < -1;
        if (window->stride[index] < 1 || window->dilation[index] < 1 || is_size_wrong) {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "a window of %lld with stride %lld and dilation %lld does not slide",
                (long long)window->size[index], (long long)window->stride[index],
                (long long)window->dilation[index]);
        }
    }
    return STATUS_OK;
}

static Status
position_same(int64_t input, int64_t extent, bool is_lower, int index, Window *window)
{
    int64_t stride = window->stride[index];
    assert(input >= 0 && extent > 0 && stride > 0);
    int64_t output = input / stride + (input % stride != 0 ? 1 : 0);
    int64_t missing = (output - 1) * stride + extent - input;
    int64_t total = missing < 0 || output == 0 ? 0 : missing;
    window->before[index] = is_lower ? total - total / 2 : total / 2;
    window->after[index] = total - window->before[index];
    window->output[index] = output;
    return STATUS_OK;
}

static Status
position_explicit(Call *call, int64_t input, int64_t extent, bool rounds_up, int index, Window *window)
{
    int64_t stride = window->stride[index];
    assert(input >= 0 && extent > 0 && stride > 0);
    int64_t room = input + window->before[index] + window->after[index] - extent;
    if (room < 0 && input == 0) {
        window->output[index] = 0;
        return STATUS_OK;
    }
    if (room < 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "a window of %lld does not fit into %lld padded by %lld and %lld", (long long)extent,
            (long long)input, (long long)window->before[index], (long long)window->after[index]);
    }
    int64_t last = room / stride + (rounds_up && room % stride != 0 ? 1 : 0);
    if (rounds_up && last > 0 && last * stride >= input + window->before[index]) {
        last--;
    }
    window->output[index] = last + 1;
    return STATUS_OK;
}

/* Shortens a stride that leads beyond the padded dimension in one step to the size of that: it means the
 * same, and sums with one of any size would overflow. */
static void
limit_stride(Window *window, int index, int64_t padded)
{
    if (window->output[index] <= 1 && window->stride[index] > padded) {
        window->stride[index] = padded > 0 ? padded : 1;
    }
}

enum { EXTENT_MAX = INT32_MAX };

static Status
position(Call *call, const Shape *input, Padding padding, bool rounds_up, Window *window)
{
    TRY(check_positive(call, window));
    for (int index = 0; index < window->rank; index++) {
        int64_t available = input->dims[window->space + index];
        int64_t extent = 0;
        if (window->size[index] < 0 || available < 0) {
            window->output[index] = -1;
            continue;
        }
        bool is_too_large = __builtin_mul_overflow(window->size[index] - 1, window->dilation[index], &extent);
        if (is_too_large || extent >= EXTENT_MAX || window->before[index] > EXTENT_MAX ||
            window->after[index] > EXTENT_MAX || window->before[index] < 0 || window->after[index] < 0) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "a window or its padding is too large or negative");
        }
        extent++;
        if (padding == PADDING_SAME || padding == PADDING_SAME_LOWER) {
            TRY(position_same(available, extent, padding == PADDING_SAME_LOWER, index, window));
        } else {
            TRY(position_explicit(call, available, extent, rounds_up, index, window));
        }
        limit_stride(window, index, available + window->before[index] + window->after[index]);
    }
    return STATUS_OK;
}

static Status
read_tensorflow_padding(Call *call, const Node *node, Window *window, Padding *ret_padding)
{
    Slice text = node_attr_string(node, "padding");
    int64_t pads[2 * (WINDOW_RANK_MAX + 2)];
    size_t count = 0;
    if (slice_equal(text, SLICE("SAME"))) {
        *ret_padding = PADDING_SAME;
    } else if (slice_equal(text, SLICE("VALID"))) {
        *ret_padding = PADDING_VALID;
    } else if (slice_equal(text, SLICE("EXPLICIT"))) {
        *ret_padding = PADDING_EXPLICIT;
        TRY(read_list(call, node, "explicit_paddings", 2 * (size_t)(window->rank + 2), pads, &count));
    } else {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "padding '%.*s' is none of SAME, VALID, EXPLICIT",
            SLICE_PRINT(text));
    }
    for (int index = 0; index < window->rank && count > 0; index++) {
        const int64_t *pair = &pads[2 * (size_t)(window->space + index)];
        window->before[index] = pair[0];
        window->after[index] = pair[1];
    }
    return STATUS_OK;
}

/* Reads a list that has one value for each dimension of the input, in the input's order. */
static Status
read_tensorflow_list(
    Call *call, const Node *node, const char *name, const Window *window, int64_t *ret_values)
{
    int64_t values[WINDOW_RANK_MAX + 2];
    size_t count = 0;
    TRY(read_list(call, node, name, (size_t)window->rank + 2, values, &count));
    for (int index = 0; index < window->rank && count > 0; index++) {
        ret_values[index] = values[window->space + index];
    }
    if (count > 0 && (values[window->batch] != 1 || values[window->channel] != 1)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%s must be 1 for batch and channels", name);
    }
    return STATUS_OK;
}

Status
window_tensorflow(
    Call *call, const Node *node, const Shape *input, const int64_t *sizes, int rank, Window *ret_window)
{
    assert(rank >= 1 && rank <= WINDOW_RANK_MAX && input->rank == rank + 2);

    Window window = {.rank = rank, .channel = layout_is_written_channels_first(node) ? 1 : rank + 1};
    window.space = layout_space(window.channel);
    for (int index = 0; index < rank; index++) {
        window.size[index] = sizes[index];
        window.stride[index] = 1;
        window.dilation[index] = 1;
    }
    Padding padding = PADDING_VALID;
    TRY(read_tensorflow_list(call, node, "strides", &window, window.stride));
    TRY(read_tensorflow_list(call, node, "dilations", &window, window.dilation));
    TRY(read_tensorflow_list(call, node, "rates", &window, window.dilation));
    TRY(read_tensorflow_padding(call, node, &window, &padding));
    window.channel = layout_channel(node, input->rank);
    window.space = layout_space(window.channel);
    TRY(position(call, input, padding, false, &window));
    *ret_window = window;
    return STATUS_OK;
}

static Status
read_onnx_padding(Call *call, const Node *node, Window *window, Padding *ret_padding)
{
    Slice text = node_attr(node, "auto_pad") == NULL ? SLICE("NOTSET") : node_attr_string(node, "auto_pad");
    int64_t pads[2 * WINDOW_RANK_MAX] = {0};
    size_t count = 0;
    if (slice_equal(text, SLICE("SAME_UPPER"))) {
        *ret_padding = PADDING_SAME;
    } else if (slice_equal(text, SLICE("SAME_LOWER"))) {
        *ret_padding = PADDING_SAME_LOWER;
    } else if (slice_equal(text, SLICE("VALID"))) {
        *ret_padding = PADDING_VALID;
    } else if (slice_equal(text, SLICE("NOTSET"))) {
        *ret_padding = PADDING_EXPLICIT;
        TRY(read_list(call, node, "pads", 2 * (size_t)window->rank, pads, &count));
    } else {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "auto_pad '%.*s' is none of NOTSET, SAME_UPPER, SAME_LOWER, VALID", SLICE_PRINT(text));
    }
    for (int index = 0; index < window->rank && count > 0; index++) {
        window->before[index] = pads[index];
        window->after[index] = pads[window->rank + index];
    }
    return STATUS_OK;
}

/* Reads what a window of ONNX is, but for its positions. */
static Status
read_onnx_window(Call *call, const Node *node, const int64_t *sizes, Window *window, Padding *ret_padding)
{
    size_t count = 0;
    for (int index = 0; index < window->rank; index++) {
        window->size[index] = sizes[index];
        window->stride[index] = 1;
        window->dilation[index] = 1;
    }
    TRY(read_list(call, node, "strides", (size_t)window->rank, window->stride, &count));
    TRY(read_list(call, node, "dilations", (size_t)window->rank, window->dilation, &count));
    TRY(read_onnx_padding(call, node, window, ret_padding));
    return check_positive(call, window);
}

Status
window_onnx(
    Call *call, const Node *node, const Shape *input, const int64_t *sizes, int rank, Window *ret_window)
{
    assert(rank >= 1 && rank <= WINDOW_RANK_MAX && input->rank == rank + 2);

    Window window = {.rank = rank, .channel = layout_onnx_channel(node, input->rank)};
    window.space = layout_space(window.channel);
    Padding padding = PADDING_EXPLICIT;
    TRY(read_onnx_window(call, node, sizes, &window, &padding));
    bool rounds_up = node_attr(node, "ceil_mode") != NULL && node_attr_int(node, "ceil_mode") != 0;
    TRY(position(call, input, padding, rounds_up, &window));
    *ret_window = window;
    return STATUS_OK;
}

/* Computes how far it is from where the first window begins to where the last one ends and `extra` elements
 * on. Returns false past int64. */
static bool
extent_of_windows(const Window *window, int index, int64_t extra, int64_t *ret_full)
{
    int64_t full = 0;
    int64_t extent = 0;
    bool is_past = __builtin_mul_overflow(window->stride[index], window->output[index] - 1, &full);
    is_past = __builtin_mul_overflow(window->size[index] - 1, window->dilation[index], &extent) || is_past;
    is_past =
        __builtin_add_overflow(full, extent, &full) || __builtin_add_overflow(full, extra, &full) || is_past;
    is_past = __builtin_add_overflow(full, 1, &full) || is_past;
    *ret_full = full;
    return !is_past;
}

/* Finds the size of the image along one dimension, from where its first window begins to where its last one
 * ends and `extra` elements on, without the padding; or, for a size that is given or follows from the stride,
 * the padding: the odd element is in front unless it is upper. What no window meets is not padded: it has no
 * sums. */
static Status
position_transposed(Call *call, Padding padding, int64_t extra, int index, Window *window, int64_t *image)
{
    bool is_given = *image >= 0;
    int64_t full = 0;
    bool is_past = !extent_of_windows(window, index, extra, &full);
    if (!is_given && padding != PADDING_SAME && padding != PADDING_SAME_LOWER) {
        is_past = __builtin_sub_overflow(full, window->before[index], image) ||
                  __builtin_sub_overflow(*image, window->after[index], image) || is_past;
        return !is_past && *image >= 0
                   ? STATUS_OK
                   : call_fail(call, STATUS_INVALID_ARGUMENT,
                         "padding by %lld and %lld leaves no elements of dimension %d of the output",
                         (long long)window->before[index], (long long)window->after[index],
                         window->space + index);
    }
    if (is_past) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "dimension %d of the output has too many elements",
            window->space + index);
    }
    if (!is_given) {
        TRY(infer_multiply(call, window->output[index], window->stride[index], image));
    }
    int64_t total = full > *image ? full - *image : 0;
    window->before[index] = padding == PADDING_SAME ? total / 2 : total - total / 2;
    window->after[index] = total - window->before[index];
    return STATUS_OK;
}

Status
window_onnx_transposed(Call *call, const Node *node, const Shape *input, const int64_t *sizes,
    Window *ret_window, int64_t *ret_image)
{
    int rank = input->rank - 2;
    assert(rank >= 1 && rank <= WINDOW_RANK_MAX);
    int64_t extra[WINDOW_RANK_MAX] = {0};
    size_t count = 0;
    Padding padding = PADDING_EXPLICIT;
    Window window = {.rank = rank, .channel = 1, .space = 2};
    for (int index = 0; index < rank; index++) {
        ret_image[index] = -1;
        window.output[index] = input->dims[2 + index];
    }
    TRY(read_onnx_window(call, node, sizes, &window, &padding));
    TRY(read_list(call, node, "output_padding", (size_t)rank, extra, &count));
    TRY(read_list(call, node, "output_shape", (size_t)rank, ret_image, &count));
    for (int index = 0; index < rank; index++) {
        if (window.output[index] >= 0 && sizes[index] >= 0) {
            TRY(position_transposed(call, padding, extra[index], index, &window, &ret_image[index]));
            limit_stride(&window, index, ret_image[index] + window.before[index] + window.after[index]);
        }
    }
    *ret_window = window;
    return STATUS_OK;
}

Shape
window_output(const Window *window, const Shape *input, int64_t channels)
{
    assert(input->rank == window->rank + 2);

    Shape output = shape_of_rank(window->rank + 2);
    output.dims[window->batch] = input->dims[window->batch];
    output.dims[window->channel] = channels;
    for (int index = 0; index < window->rank; index++) {
        output.dims[window->space + index] = window->output[index];
    }
    return output;
}
