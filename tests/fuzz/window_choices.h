/* Attributes and inputs for ops that slide windows over images (convolutions, pools, patches, grids): lists
 * have the lengths that the image's rank asks for, filters the channels of the image, so that most nodes pass
 * their shape rules and reach a kernel; now and then a number is hostile. Threads: one. */
#pragma once

#include "shared/graph/op.h"
#include "shared/tensor/shape.h"
#include "tests/fuzz/choices.h"

typedef struct WindowChoices {
    bool is_onnx; /* channels are the second dimension, and lists have no numbers for batch and channels */
    int space;    /* spatial dimensions */
    int64_t channels;
    int64_t group;
    int64_t filters; /* a multiple of the groups */
    Dtype type;      /* of type attributes */
} WindowChoices;

static inline bool
name_is_one_of(Slice name, const char *const *names, size_t count)
{
    bool is_one = false;
    for (size_t index = 0; index < count; index++) {
        is_one = is_one || slice_equals_string(name, names[index]);
    }
    return is_one;
}
static inline bool
name_has(Slice name, const char *part)
{
    return memmem(name.data, name.size, part, strlen(part)) != NULL;
}

#define IS_ONE_OF(name, table) name_is_one_of((name), (table), sizeof(table) / sizeof *(table))

/* The attributes of ops with windows that are lists of numbers, by the length of the list. */
static const char *const space_lists[] = {
    "strides", "dilations", "kernel_shape", "output_padding", "output_shape"};
static const char *const pad_lists[] = {"pads", "explicit_paddings"};
static const char *const image_lists[] = {"ksize", "ksizes", "rates", "block_shape"};
static const char *const window_numbers[] = {
    "block_size", "blocksize", "size", "sampling_ratio", "output_height", "output_width", "kernel_size"};

static inline bool
op_has_window(const Op *op)
{
    bool has_window = false;
    for (size_t index = 0; index < op->attr_count; index++) {
        Slice name = op->attrs[index].name;
        has_window = has_window || IS_ONE_OF(name, space_lists) || IS_ONE_OF(name, pad_lists) ||
                     IS_ONE_OF(name, image_lists) || IS_ONE_OF(name, window_numbers);
    }
    return has_window;
}

static inline void
window_begin(Choices *choices, const Op *op, WindowChoices *ret_window)
{
    static const int spaces[] = {2, 2, 1, 3};
    static const int64_t channels[] = {1, 2, 4, 8, 16, 3, 32, 6};
    static const Dtype types[] = {DTYPE_FLOAT32, DTYPE_FLOAT32, DTYPE_FLOAT32, DTYPE_UINT8, DTYPE_INT8,
        DTYPE_FLOAT16, DTYPE_FLOAT64, DTYPE_BFLOAT16};
    *ret_window = (WindowChoices){.is_onnx = slice_starts_with(op->name, SLICE("onnx::"))};
    if (!op_has_window(op)) {
        return;
    }
    size_t grouping = choose(choices, 6);
    ret_window->space = CHOOSE(choices, spaces);
    ret_window->channels = CHOOSE(choices, channels);
    ret_window->group = grouping == 0                               ? ret_window->channels
                        : grouping == 1 && ret_window->channels > 1 ? 2
                                                                    : 1;
    ret_window->filters = ret_window->group * (int64_t)(1 + choose(choices, 5));
    ret_window->type = CHOOSE(choices, types);
}

/* Chooses a stride, a dilation, a pad or the size of a window. */
static inline int64_t
choose_window_number(Choices *choices)
{
    static const int64_t hostile[] = {INT64_MAX, INT64_MIN, INT64_MAX / 2, INT32_MAX, INT32_MIN, -1,
        (int64_t)1 << 31, (int64_t)1 << 32, (int64_t)1 << 40, (int64_t)1 << 59, (int64_t)1 << 61,
        (int64_t)1 << 62, INT64_MAX - 1, 1000000, 65536, 255};
    size_t kind = choose(choices, 16);
    return kind >= 14  ? CHOOSE(choices, hostile)
           : kind < 8  ? 1
           : kind < 11 ? 2
           : kind < 12 ? 0
                       : (int64_t)kind - 9;
}

static inline size_t
window_list_size(Choices *choices, const WindowChoices *window, Slice name, size_t otherwise)
{
    size_t space = (size_t)window->space;
    size_t outer = window->is_onnx ? 0 : 2;
    if (choose(choices, 16) == 0) {
        return otherwise;
    }
    return IS_ONE_OF(name, space_lists)   ? space + outer
           : IS_ONE_OF(name, pad_lists)   ? 2 * (space + outer)
           : IS_ONE_OF(name, image_lists) ? space + 2
                                          : otherwise;
}

/* Returns whether it has chosen an attribute, or an item of a list. */
static inline bool
window_attribute(Choices *choices, const WindowChoices *window, Slice name, AttrValue *ret_value)
{
    static const char *const automatic[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    static const char *const paddings[] = {"SAME", "VALID", "VALID", "SAME", "EXPLICIT"};
    bool is_number = IS_ONE_OF(name, space_lists) || IS_ONE_OF(name, pad_lists) ||
                     IS_ONE_OF(name, image_lists) || IS_ONE_OF(name, window_numbers);
    if (ret_value->kind == ATTR_INT && is_number) {
        ret_value->value.i = choose_window_number(choices);
    } else if (ret_value->kind == ATTR_INT && slice_equals_string(name, "group")) {
        ret_value->value.i = window->group;
    } else if (ret_value->kind == ATTR_TYPE) {
        ret_value->value.type = window->type;
    } else if (slice_equals_string(name, "auto_pad")) {
        ret_value->value.s = slice_from_string(CHOOSE(choices, automatic));
    } else if (slice_equals_string(name, "padding")) {
        ret_value->value.s = slice_from_string(CHOOSE(choices, paddings));
    } else {
        return false;
    }
    return true;
}

static inline Shape
filter_shape(Choices *choices, const WindowChoices *window)
{
    static const int64_t sizes[] = {1, 3, 2, 5, 4, 1, 3, 0};
    Shape shape = {.rank = window->space + 2};
    int first = window->is_onnx ? 2 : 0;
    for (int dimension = 0; dimension < window->space; dimension++) {
        shape.dims[first + dimension] = CHOOSE(choices, sizes);
    }
    shape.dims[window->is_onnx ? 0 : window->space + 1] = window->filters;
    shape.dims[window->is_onnx ? 1 : window->space] = window->channels / window->group;
    return shape;
}

static inline Shape
image_shape(Choices *choices, const WindowChoices *window)
{
    static const int64_t sizes[] = {5, 4, 7, 1, 2, 8, 11, 0};
    Shape shape = {.rank = window->space + 2};
    int first = window->is_onnx ? 2 : 1;
    shape.dims[0] = 1 + (int64_t)choose(choices, 2);
    for (int dimension = 0; dimension < window->space; dimension++) {
        shape.dims[first + dimension] = CHOOSE(choices, sizes);
    }
    shape.dims[window->is_onnx ? 1 : window->space + 1] = window->channels;
    return shape;
}

static inline Shape
window_input_shape(Choices *choices, const WindowChoices *window, Slice name, Dtype dtype)
{
    static const char *const filters[] = {"W", "w", "filter"};
    static const char *const biases[] = {"B", "bias"};
    bool is_scalar = name_has(name, "scale") || name_has(name, "zero");
    if (is_scalar) {
        return (Shape){.rank = 0};
    }
    if (IS_ONE_OF(name, filters)) {
        return filter_shape(choices, window);
    }
    if (IS_ONE_OF(name, biases)) {
        return shape_vector(window->filters);
    }
    bool is_list = dtype == DTYPE_INT64 || name_has(name, "sizes");
    return is_list ? shape_vector(window->space + (int64_t)choose(choices, 3)) : image_shape(choices, window);
}
