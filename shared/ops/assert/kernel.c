/* Checks of values while a graph runs. One that fails shows tensors as text for people, in the words of
 * TensorFlow's Tensor::SummarizeValue(): "[[0 1 2][3...]]...". */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/base/buffer.h"
#include "worker/reference/elements.h"
#include "worker/reference/outputs.h"

enum { NUMBER_SIZE = 40 };

/* Writes the shorter of two precisions that reads back as the same number. */
static void
append_float(Buffer *buffer, float value)
{
    char text[NUMBER_SIZE];
    (void)snprintf(text, sizeof text, "%.*g", FLT_DIG, (double)value);
    if (value == value && strtof(text, NULL) != value) {
        (void)snprintf(text, sizeof text, "%.*g", FLT_DIG + 3, (double)value);
    }
    buffer_append_string(buffer, value != value ? "nan" : text);
}

static void
append_double(Buffer *buffer, double value)
{
    char text[NUMBER_SIZE];
    (void)snprintf(text, sizeof text, "%.*g", DBL_DIG, value);
    if (value == value && strtod(text, NULL) != value) {
        (void)snprintf(text, sizeof text, "%.*g", DBL_DIG + 2, value);
    }
    buffer_append_string(buffer, value != value ? "nan" : text);
}

/* Writes the bytes as a C string literal has them, without the quotes. */
static void
append_string(Buffer *buffer, const Slice *element)
{
    static const char escaped[] = "\n\r\t\"'\\";
    static const char letters[] = "nrt\"'\\";
    for (size_t index = 0; index < element->size; index++) {
        char byte = element->data[index];
        const char *found = byte == '\0' ? NULL : strchr(escaped, byte);
        if (found != NULL) {
            buffer_append_byte(buffer, '\\');
            buffer_append_byte(buffer, letters[found - escaped]);
        } else if (byte < ' ' || byte == 0x7f) {
            buffer_append_format(buffer, "\\%03o", (unsigned)(unsigned char)byte);
        } else {
            buffer_append_byte(buffer, byte);
        }
    }
}

#define APPEND_ELEMENT(name, function, upper, lower, storage, compute, read, write)                          \
    static void name##_##lower(Buffer *buffer, const void *data, int64_t index)                              \
    {                                                                                                        \
        function(buffer, read(((const storage *)data)[index]));                                              \
    }

#define APPEND_FLOAT(name, unused, upper, lower, storage, compute, read, write)                              \
    static void name##_##lower(Buffer *buffer, const void *data, int64_t index)                              \
    {                                                                                                        \
        compute a = read(((const storage *)data)[index]);                                                    \
        if (sizeof a == sizeof(double)) {                                                                    \
            append_double(buffer, (double)a);                                                                \
        } else {                                                                                             \
            append_float(buffer, (float)a);                                                                  \
        }                                                                                                    \
    }

static void
append_element_string(Buffer *buffer, const void *data, int64_t index)
{
    append_string(buffer, &((const Slice *)data)[index]);
}

typedef void (*AppendElement)(Buffer *buffer, const void *data, int64_t index);

FLOATING_ELEMENTS(APPEND_FLOAT, append_element, )
SIGNED_ELEMENTS(APPEND_ELEMENT, append_element, buffer_append_int64)
UNSIGNED_ELEMENTS(APPEND_ELEMENT, append_element, buffer_append_uint64)
BOOL_ELEMENTS(APPEND_ELEMENT, append_element, buffer_append_uint64)
static const AppendElement append_loops[DTYPE_COUNT] = {
    REAL_LOOPS(append_element) BOOL_LOOPS(append_element)[DTYPE_STRING] = append_element_string};

typedef struct Summary {
    Buffer *buffer;
    const Tensor *tensor;
    AppendElement append;
    int64_t limit;
    int64_t done;
} Summary;

static void
append_line(Summary *summary, int dimension)
{
    for (int64_t n = 0; n < summary->tensor->shape.dims[dimension]; n++) {
        if (summary->done >= summary->limit) {
            buffer_append_string(summary->buffer, dimension != 0 ? "..." : "");
            return;
        }
        buffer_append_string(summary->buffer, n > 0 ? " " : "");
        summary->append(summary->buffer, summary->tensor->data, summary->done++);
    }
}

static void
append_dimension(Summary *summary, int dimension) /* recursion is no deeper than the rank */
{
    if (summary->done >= summary->limit) {
        return;
    }
    if (dimension == summary->tensor->shape.rank - 1) {
        append_line(summary, dimension);
        return;
    }
    for (int64_t n = 0; n < summary->tensor->shape.dims[dimension] && summary->done < summary->limit; n++) {
        buffer_append_byte(summary->buffer, '[');
        append_dimension(summary, dimension + 1);
        buffer_append_byte(summary->buffer, ']');
    }
}

/* Appends at most `entries` elements, all when negative; "..." stands for those left out. */
static void
summary_append(Buffer *buffer, const Tensor *tensor, int64_t entries)
{
    int64_t count = tensor_element_count(tensor);
    Summary summary = {.buffer = buffer,
        .tensor = tensor,
        .append = append_loops[tensor->dtype],
        .limit = entries < 0 || entries > count ? count : entries};
    if (summary.append == NULL) {
        buffer_append_byte(buffer, '?');
        return;
    }
    if (tensor->shape.rank == 0 && summary.limit > 0) {
        summary.append(buffer, tensor->data, 0);
    } else if (tensor->shape.rank > 0) {
        append_dimension(&summary, 0);
    }
    buffer_append_string(buffer, count > summary.limit ? "..." : "");
}

/* Input 0 is the condition; the others are shown when it does not hold. */
static Status
fail_assertion(KernelContext *context)
{
    AUTO_BUFFER text = {0};
    int64_t entries = node_attr_int(context->node, "summarize");
    for (uint32_t index = 1; index < context->input_count; index++) {
        buffer_append_string(&text, index > 1 ? " [" : "[");
        summary_append(&text, &context->inputs[index], entries);
        buffer_append_byte(&text, ']');
    }
    if (!buffer_is_ok(&text)) {
        return call_fail_memory(context->call, "what an assertion shows");
    }
    return call_fail(
        context->call, STATUS_INVALID_ARGUMENT, "assertion failed: %.*s", SLICE_PRINT(buffer_slice(&text)));
}

static Status
assert_compute(KernelContext *context)
{
    Shape none[1];
    TRY(output_shapes(context, none));
    return *(const uint8_t *)context->inputs[0].data != 0 ? STATUS_OK : fail_assertion(context);
}

static const Kernel assert_kernels[] = {
    {.op = "Assert", .compute = assert_compute, .host_inputs = UINT32_MAX, .is_cheap = true},
};

KERNEL_FAMILY(reference, assert, assert_kernels);
