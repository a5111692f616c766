/* Strings split, cut, and joined along dimensions. */
#include <ctype.h>

#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/strided_copy.h"
#include "worker/reference/texts.h"
#include "worker/reference/walk.h"

/* The parts of all strings, row by row, as a sparse matrix. */
typedef struct Parts {
    Buffer strings;   /* of Slice */
    Buffer positions; /* of int64_t: row and column for each part */
    int64_t row;
    int64_t column;
    int64_t columns; /* parts of the longest row */
} Parts;

static Parts
parts_new(const KernelContext *context)
{
    size_t size_max = scratch_heap_max(context);
    return (Parts){.strings.size_max = size_max, .positions.size_max = size_max};
}

static void
parts_done(Parts *parts)
{
    buffer_done(&parts->strings);
    buffer_done(&parts->positions);
}
#define AUTO_PARTS CLEANUP(parts_done) Parts

static void
add_part(Parts *parts, Slice part)
{
    const int64_t position[2] = {parts->row, parts->column++};
    buffer_append(&parts->strings, &part, sizeof part);
    buffer_append(&parts->positions, position, sizeof position);
    parts->columns = parts->column > parts->columns ? parts->column : parts->columns;
}

static Status
finish_parts(KernelContext *context, const Parts *parts)
{
    int64_t count = (int64_t)(parts->strings.size / sizeof(Slice));
    Shape matrix = {.rank = 2, .dims = {count, 2}};
    Shape vector = shape_vector(count);
    Shape pair = shape_vector(2);
    Tensor *positions = NULL;
    Tensor *shape = NULL;
    if (!buffer_is_ok(&parts->strings) || !buffer_is_ok(&parts->positions)) {
        return call_fail_memory(context->call, "the parts of strings");
    }
    TRY(kernel_output(context, 0, DTYPE_INT64, &matrix, &positions));
    TRY(kernel_output(context, 2, DTYPE_INT64, &pair, &shape));
    if (count > 0) {
        memcpy(positions->data, parts->positions.data, parts->positions.size);
    }
    ((int64_t *)shape->data)[0] = parts->row;
    ((int64_t *)shape->data)[1] = parts->columns;
    return texts_new(
        context, &vector, (const Slice *)(const void *)parts->strings.data, &context->outputs[1]);
}

/* Returns the offset of `separator` in the text; the text's size when it does not occur. */
static size_t
find_text(Slice text, Slice separator)
{
    for (size_t index = 0; index + separator.size <= text.size; index++) {
        if (memcmp(text.data + index, separator.data, separator.size) == 0) {
            return index;
        }
    }
    return text.size;
}

static void
split_at_text(Parts *parts, Slice text, Slice separator, int64_t most)
{
    size_t end = most == 0 ? text.size : find_text(text, separator);
    while (end < text.size) {
        add_part(parts, slice_part(text, 0, end));
        text = slice_part(text, end + separator.size, SIZE_MAX);
        end = --most == 0 ? text.size : find_text(text, separator);
    }
    add_part(parts, text);
}

static Slice
without_front_space(Slice text)
{
    while (text.size > 0 && isspace((unsigned char)text.data[0])) {
        text = slice_part(text, 1, SIZE_MAX);
    }
    return text;
}

/* Splits as Python's split() without a separator: at runs of white space, with no empty parts at the ends. */
static void
split_at_space(Parts *parts, Slice text, int64_t most)
{
    text = without_front_space(text);
    while (text.size > 0 && most-- != 0) {
        size_t end = 0;
        while (end < text.size && !isspace((unsigned char)text.data[end])) {
            end++;
        }
        add_part(parts, slice_part(text, 0, end));
        text = without_front_space(slice_part(text, end, SIZE_MAX));
    }
    if (text.size > 0) {
        add_part(parts, text);
    }
}

/* Splits as Python's split(separator, maxsplit). */
static Status
split_v2_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    int64_t most = node_attr_int(context->node, "maxsplit");
    Shape shapes[3];
    AUTO_PARTS parts = parts_new(context);
    TRY(output_rule(context, shapes));
    Slice separator = string_at(&context->inputs[1], 0);
    for (; parts.row < tensor_element_count(input); parts.row++) {
        Slice text = string_at(input, parts.row);
        parts.column = 0;
        if (separator.size == 0) {
            split_at_space(&parts, text, most);
        } else {
            split_at_text(&parts, text, separator, most);
        }
    }
    return finish_parts(context, &parts);
}

/* Splits at each byte of the delimiter; without a delimiter every byte is a part. */
static void
split_at_bytes(Parts *parts, Slice text, Slice delimiter, bool skips_empty)
{
    size_t begin = 0;
    for (size_t index = 0; text.size > 0 && index <= text.size; index++) {
        bool is_end = index == text.size;
        bool parts_here = delimiter.size == 0
                              ? index > begin
                              : is_end || memchr(delimiter.data, text.data[index], delimiter.size) != NULL;
        if (parts_here) {
            if (index > begin || !skips_empty) {
                add_part(parts, slice_part(text, begin, index - begin));
            }
            begin = delimiter.size == 0 ? index : index + 1;
        }
    }
}

static Status
split_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    bool skips_empty = node_attr_bool(context->node, "skip_empty");
    Shape shapes[3];
    AUTO_PARTS parts = parts_new(context);
    TRY(output_rule(context, shapes));
    Slice delimiter = string_at(&context->inputs[1], 0);
    for (; parts.row < tensor_element_count(input); parts.row++) {
        parts.column = 0;
        split_at_bytes(&parts, string_at(input, parts.row), delimiter, skips_empty);
    }
    return finish_parts(context, &parts);
}

static bool
starts_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

static int64_t
count_characters(Slice text)
{
    int64_t count = 0;
    for (size_t index = 0; index < text.size; index++) {
        count += starts_character(text.data[index]) ? 1 : 0;
    }
    return count;
}

/* Returns the offset in bytes of character `character`. */
static size_t
character_offset(Slice text, int64_t character)
{
    size_t index = 0;
    int64_t seen = -1;
    for (; index < text.size; index++) {
        seen += starts_character(text.data[index]) ? 1 : 0;
        if (seen == character) {
            return index;
        }
    }
    return index;
}

/* Takes `length` bytes or characters from `position` on, which counts from the end when negative, or as
 * many as there are. A negative length takes all bytes that are left, but no characters, as in TensorFlow. */
static Status
cut_text(KernelContext *context, Slice text, int64_t position, int64_t length, Slice *ret_part)
{
    bool are_bytes = slice_equal(node_attr_string(context->node, "unit"), SLICE("BYTE"));
    int64_t size = are_bytes ? (int64_t)text.size : count_characters(text);
    int64_t begin = position < 0 ? position + size : position;
    if (begin < 0 || begin > size) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "position %lld lies outside of a string of length %lld", (long long)position, (long long)size);
    }
    int64_t left = size - begin;
    int64_t taken = length < 0 ? (are_bytes ? left : 0) : length < left ? length : left;
    size_t first = are_bytes ? (size_t)begin : character_offset(text, begin);
    size_t last = are_bytes ? (size_t)(begin + taken) : character_offset(text, begin + taken);
    *ret_part = slice_part(text, first, last - first);
    return STATUS_OK;
}

static Status
substr_compute(KernelContext *context)
{
    Shape shape;
    AUTO_TEXTS texts = {0};
    TRY(output_shapes(context, &shape));
    TRY(texts_begin(context, &shape, &texts));
    Walk walks[3];
    for (int input = 0; input < 3; input++) {
        walks[input] = walk_broadcast(&context->inputs[input].shape, &shape);
    }
    bool has_more = walk_count(&walks[0]) > 0;
    while (has_more) {
        int64_t position = 0;
        int64_t length = 0;
        Slice part;
        (void)!tensor_to_int64(&context->inputs[1], walks[1].offset, &position);
        (void)!tensor_to_int64(&context->inputs[2], walks[2].offset, &length);
        TRY(cut_text(context, string_at(&context->inputs[0], walks[0].offset), position, length, &part));
        buffer_append_slice(&texts.bytes, part);
        texts_next(&texts);
        (void)walk_next(&walks[1]);
        (void)walk_next(&walks[2]);
        has_more = walk_next(&walks[0]);
    }
    return texts_finish(context, 0, &texts);
}

typedef struct Joining {
    Walk kept;   /* over the results */
    Walk joined; /* over the strings that become one result */
} Joining;

static void
add_dimension(Walk *walk, const Shape *shape, const int64_t *strides, int64_t dimension)
{
    walk->dims[walk->rank] = shape->dims[dimension];
    walk->strides[walk->rank++] = strides[dimension];
}

/* The dimensions are joined in the order in which they are named. */
static Status
read_joining(KernelContext *context, Joining *joining)
{
    const Shape *shape = &context->inputs[0].shape;
    int64_t axes[SHAPE_RANK_MAX];
    int64_t strides[SHAPE_RANK_MAX];
    size_t count = 0;
    bool is_joined[SHAPE_RANK_MAX] = {0};
    TRY(kernel_input_ints(context, 1, axes, SHAPE_RANK_MAX, &count));
    strides_dense(shape, strides);
    for (size_t index = count; index-- > 0;) {
        int64_t axis = axes[index] + (axes[index] < 0 ? shape->rank : 0);
        is_joined[axis] = true;
        add_dimension(&joining->joined, shape, strides, axis);
    }
    for (int dimension = 0; dimension < shape->rank; dimension++) {
        if (!is_joined[dimension]) {
            add_dimension(&joining->kept, shape, strides, dimension);
        }
    }
    return STATUS_OK;
}

static Status
reduce_join_compute(KernelContext *context)
{
    Slice separator = node_attr_string(context->node, "separator");
    Joining joining = {0};
    Shape shape;
    AUTO_TEXTS texts = {0};
    TRY(output_shapes(context, &shape));
    TRY(read_joining(context, &joining));
    TRY(texts_begin(context, &shape, &texts));
    for (bool has_more = walk_count(&joining.kept) > 0; has_more; has_more = walk_next(&joining.kept)) {
        bool has_next = walk_count(&joining.joined) > 0;
        while (has_next) {
            int64_t position = joining.kept.offset + joining.joined.offset;
            buffer_append_slice(&texts.bytes, string_at(&context->inputs[0], position));
            has_next = walk_next(&joining.joined);
            buffer_append_slice(&texts.bytes, has_next ? separator : SLICE(""));
        }
        texts_next(&texts);
    }
    return texts_finish(context, 0, &texts);
}

static const Kernel string_parts_kernels[] = {
    {.op = "StringSplit", .compute = split_compute, .host_inputs = 1 << 1},
    {.op = "StringSplitV2", .compute = split_v2_compute, .host_inputs = 1 << 1},
    {.op = "Substr", .compute = substr_compute},
    {.op = "ReduceJoin", .compute = reduce_join_compute, .host_inputs = 1 << 1},
};

KERNEL_FAMILY(reference, strings_parts, string_parts_kernels);
