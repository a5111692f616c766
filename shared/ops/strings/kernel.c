/* Strings joined, changed, and converted from and to numbers. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "worker/reference/elements.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/texts.h"

/* Appends element n of the output to `text`. */
typedef Status (*WriteString)(KernelContext *context, int64_t n, Buffer *text);

static Status
write_strings(KernelContext *context, WriteString write)
{
    Shape shape;
    int64_t count = 0;
    AUTO_TEXTS texts = {0};
    TRY(output_shapes(context, &shape));
    TRY(texts_begin(context, &shape, &texts));
    (void)shape_element_count(&shape, &count);
    for (int64_t n = 0; n < count; n++) {
        TRY(write(context, n, &texts.bytes));
        texts_next(&texts);
    }
    return texts_finish(context, 0, &texts);
}

static Status
write_joined(KernelContext *context, int64_t n, Buffer *text)
{
    for (uint32_t index = 0; index < context->input_count; index++) {
        const Tensor *input = &context->inputs[index];
        if (index > 0) {
            buffer_append_slice(text, node_attr_string(context->node, "separator"));
        }
        buffer_append_slice(text, string_at(input, input->shape.rank == 0 ? 0 : n));
    }
    return STATUS_OK;
}

static Status
write_lower(KernelContext *context, int64_t n, Buffer *text)
{
    Slice string = string_at(&context->inputs[0], n);
    for (size_t index = 0; index < string.size; index++) {
        char byte = string.data[index];
        buffer_append_byte(text, byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte);
    }
    return STATUS_OK;
}

static Status
write_upper(KernelContext *context, int64_t n, Buffer *text)
{
    Slice string = string_at(&context->inputs[0], n);
    for (size_t index = 0; index < string.size; index++) {
        char byte = string.data[index];
        buffer_append_byte(text, byte >= 'a' && byte <= 'z' ? (char)(byte - 'a' + 'A') : byte);
    }
    return STATUS_OK;
}

/* Removes white space at both ends. */
static Slice
stripped(Slice string)
{
    while (string.size > 0 && isspace((unsigned char)string.data[0])) {
        string = slice_part(string, 1, SIZE_MAX);
    }
    while (string.size > 0 && isspace((unsigned char)string.data[string.size - 1])) {
        string.size--;
    }
    return string;
}

static Status
write_stripped(KernelContext *context, int64_t n, Buffer *text)
{
    buffer_append_slice(text, stripped(string_at(&context->inputs[0], n)));
    return STATUS_OK;
}

enum { NUMBER_SIZE = 512, PRECISION_MAX = 100, WIDTH_MAX = 1000 };

static void
format_float(const Node *node, double value, char *ret_number)
{
    int64_t given = node_attr_int(node, "precision");
    int precision = given < 0 ? -1 : given > PRECISION_MAX ? PRECISION_MAX : (int)given;
    if (node_attr_bool(node, "scientific")) {
        (void)snprintf(ret_number, NUMBER_SIZE, "%.*e", precision, value);
    } else if (node_attr_bool(node, "shortest")) {
        (void)snprintf(ret_number, NUMBER_SIZE, "%.*g", precision, value);
    } else {
        (void)snprintf(ret_number, NUMBER_SIZE, "%.*f", precision, value);
    }
}

static void
format_element(const Node *node, const Tensor *input, int64_t n, char *ret_number)
{
    int64_t integer = 0;
    if (input->dtype == DTYPE_BOOL) {
        (void)snprintf(
            ret_number, NUMBER_SIZE, "%s", ((const uint8_t *)input->data)[n] != 0 ? "true" : "false");
    } else if (tensor_to_int64(input, n, &integer)) {
        (void)snprintf(ret_number, NUMBER_SIZE, "%lld", (long long)integer);
    } else {
        format_float(node,
            input->dtype == DTYPE_FLOAT64 ? ((const double *)input->data)[n]
                                          : (double)((const float *)input->data)[n],
            ret_number);
    }
}

static void
append_fill(Buffer *text, char byte, int64_t count)
{
    for (int64_t n = 0; n < count; n++) {
        buffer_append_byte(text, byte);
    }
}

/* Writes a number with this width as printf() does: filled in front, with zeros after the sign, or (for
 * '-') behind. */
static Status
write_number(KernelContext *context, int64_t n, Buffer *text)
{
    const Node *node = context->node;
    Slice fill = node_attr_string(node, "fill");
    int64_t given = node_attr_int(node, "width");
    bool is_truth = context->inputs[0].dtype == DTYPE_BOOL;
    int64_t width = is_truth || given < 0 ? 0 : given > WIDTH_MAX ? WIDTH_MAX : given;
    char storage[NUMBER_SIZE];
    format_element(node, &context->inputs[0], n, storage);
    Slice number = slice_from_string(storage);
    int64_t missing = width - (int64_t)number.size;
    char kind = fill.size > 0 ? fill.data[0] : ' ';
    if (kind == '0' && number.data[0] == '-') {
        buffer_append_byte(text, '-');
        number = slice_part(number, 1, SIZE_MAX);
    }
    append_fill(text, kind == '0' ? '0' : ' ', kind == '-' ? 0 : missing);
    buffer_append_slice(text, number);
    append_fill(text, ' ', kind == '-' ? missing : 0);
    return STATUS_OK;
}

static bool
as_string_supports(const Node *node)
{
    Dtype dtype = node->input_dtypes[0];
    return (dtype_is_integer(dtype) && dtype != DTYPE_UINT64) || dtype == DTYPE_BOOL ||
           dtype == DTYPE_FLOAT32 || dtype == DTYPE_FLOAT64;
}

static Status
fail_number(KernelContext *context, Slice string)
{
    return call_fail(context->call, STATUS_INVALID_ARGUMENT, "'%.*s' is no number that %s holds",
        SLICE_PRINT(string), dtype_name(context->node->output_dtypes[0]));
}

static Status
read_float(KernelContext *context, Slice string, double *ret_value)
{
    char text[NUMBER_SIZE];
    char *end = NULL;
    Slice inner = stripped(string);
    if (inner.size == 0 || inner.size >= sizeof text) {
        return fail_number(context, string);
    }
    memcpy(text, inner.data, inner.size);
    text[inner.size] = '\0';
    *ret_value =
        context->node->output_dtypes[0] == DTYPE_FLOAT32 ? (double)strtof(text, &end) : strtod(text, &end);
    return end == text + inner.size ? STATUS_OK : fail_number(context, string);
}

static Status
to_number_compute(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    for (int64_t n = 0; n < tensor_element_count(input); n++) {
        Slice string = string_at(input, n);
        int64_t integer = 0;
        double value = 0;
        if (dtype_is_floating(output->dtype)) {
            TRY(read_float(context, string, &value));
        } else if (!slice_to_int64(stripped(string), &integer) ||
                   (output->dtype == DTYPE_INT32 && integer != (int32_t)integer)) {
            return fail_number(context, string);
        }
        if (output->dtype == DTYPE_FLOAT32) {
            ((float *)output->data)[n] = (float)value;
        } else if (output->dtype == DTYPE_FLOAT64) {
            ((double *)output->data)[n] = value;
        } else if (output->dtype == DTYPE_INT32) {
            ((int32_t *)output->data)[n] = (int32_t)integer;
        } else {
            ((int64_t *)output->data)[n] = integer;
        }
    }
    return STATUS_OK;
}

static bool
to_number_supports(const Node *node)
{
    Dtype dtype = node->output_dtypes[0];
    return dtype == DTYPE_FLOAT32 || dtype == DTYPE_FLOAT64 || dtype == DTYPE_INT32 || dtype == DTYPE_INT64;
}

/* A character is a byte, or a byte that begins one in UTF-8. */
static Status
length_compute(KernelContext *context)
{
    bool are_bytes = slice_equal(node_attr_string(context->node, "unit"), SLICE("BYTE"));
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    for (int64_t n = 0; n < tensor_element_count(output); n++) {
        Slice string = string_at(&context->inputs[0], n);
        size_t length = 0;
        for (size_t index = 0; index < string.size; index++) {
            length += are_bytes || ((unsigned char)string.data[index] & 0xc0) != 0x80 ? 1 : 0;
        }
        ((int32_t *)output->data)[n] = (int32_t)length;
    }
    return STATUS_OK;
}

static bool
is_ascii(const Node *node)
{
    return node_attr_string(node, "encoding").size == 0;
}

#define WRITES(function)                                                                                     \
    static Status function##_compute(KernelContext *context)                                                 \
    {                                                                                                        \
        return write_strings(context, write_##function);                                                     \
    }

WRITES(joined)
WRITES(lower)
WRITES(upper)
WRITES(stripped)
WRITES(number)

static const Kernel strings_kernels[] = {
    {.op = "StringJoin", .compute = joined_compute},
    {.op = "StringLength", .compute = length_compute},
    {.op = "StringLower", .supports = is_ascii, .compute = lower_compute},
    {.op = "StringUpper", .supports = is_ascii, .compute = upper_compute},
    {.op = "StringStrip", .compute = stripped_compute},
    {.op = "StringToNumber", .supports = to_number_supports, .compute = to_number_compute},
    {.op = "AsString", .supports = as_string_supports, .compute = number_compute},
};

KERNEL_FAMILY(reference, strings, strings_kernels);
