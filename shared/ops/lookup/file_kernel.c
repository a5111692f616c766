/* Lookup tables filled from the lines of a text file, which came with the model as an asset. */
#include <errno.h>
#include <stdlib.h>

#include "shared/ops/lookup/table.h"
#include "worker/reference/scratch.h"

#include "shared/base/buffer.h"
#include "worker/reference/texts.h"

/* Values of a column's index with a meaning of their own. */
enum { WHOLE_LINE = -2, LINE_NUMBER = -1 };

typedef struct TextLines {
    Slice rest;
    int64_t number;
    Slice line;
} TextLines;

static bool
next_line(TextLines *lines)
{
    if (lines->rest.size == 0) {
        return false;
    }
    (void)slice_split(&lines->rest, '\n', &lines->line);
    if (slice_ends_with(lines->line, SLICE("\r"))) {
        lines->line.size--;
    }
    lines->number++;
    return true;
}

static bool
find_column(Slice line, char delimiter, int64_t index, Slice *ret_part)
{
    for (int64_t column = 0; column <= index; column++) {
        if (line.data == NULL || !slice_split(&line, delimiter, ret_part)) {
            return false;
        }
    }
    return true;
}

/* The part of a line that is an element, and the elements read so far. */
typedef struct Column {
    int64_t index;
    char delimiter;
    Dtype dtype;
    Buffer elements; /* of int64_t, float, double, int32_t or Slice */
} Column;

static bool
read_number(Slice text, Dtype dtype, Buffer *elements)
{
    char digits[64];
    char *end = NULL;
    if (text.size == 0 || text.size >= sizeof digits) {
        return false;
    }
    memcpy(digits, text.data, text.size);
    digits[text.size] = '\0';
    double real = strtod(digits, &end);
    float single = (float)real;
    int64_t integer = 0;
    bool is_integer = slice_to_int64(text, &integer);
    int32_t narrow = (int32_t)integer;
    switch ((int)dtype) {
    case DTYPE_INT64:
        buffer_append(elements, &integer, sizeof integer);
        return is_integer;
    case DTYPE_INT32:
        buffer_append(elements, &narrow, sizeof narrow);
        return is_integer && narrow == integer;
    case DTYPE_FLOAT32:
        buffer_append(elements, &single, sizeof single);
        return *end == '\0';
    default:
        buffer_append(elements, &real, sizeof real);
        return *end == '\0';
    }
}

static bool
is_readable(Dtype dtype)
{
    return dtype == DTYPE_STRING || dtype == DTYPE_INT64 || dtype == DTYPE_INT32 || dtype == DTYPE_FLOAT32 ||
           dtype == DTYPE_FLOAT64;
}

static bool
read_element(Column *column, const TextLines *lines)
{
    Slice part = lines->line;
    if (column->index == LINE_NUMBER) {
        int64_t number = lines->number - 1;
        buffer_append(&column->elements, &number, sizeof number);
        return column->dtype == DTYPE_INT64;
    }
    if (column->index != WHOLE_LINE && !find_column(part, column->delimiter, column->index, &part)) {
        return false;
    }
    if (column->dtype == DTYPE_STRING) {
        buffer_append(&column->elements, &part, sizeof part);
        return true;
    }
    return read_number(part, column->dtype, &column->elements);
}

static Status
finish_column(KernelContext *context, const Column *column, int64_t count, Tensor *ret_tensor)
{
    Shape vector = shape_vector(count);
    if (!buffer_is_ok(&column->elements)) {
        return call_fail_memory(context->call, "a table's rows");
    }
    if (column->dtype == DTYPE_STRING) {
        return texts_new(context, &vector, (const Slice *)(const void *)column->elements.data, ret_tensor);
    }
    TRY(scratch_new(context, column->dtype, &vector, ret_tensor));
    if (count > 0) {
        memcpy(ret_tensor->data, column->elements.data, column->elements.size);
    }
    return STATUS_OK;
}

static Status
fill_from_lines(KernelContext *context, Table *table, TextLines lines, Column *keys, Column *values)
{
    int64_t wanted = node_attr_int(context->node, "vocab_size");
    AUTO_TENSOR key_tensor = {0};
    AUTO_TENSOR value_tensor = {0};
    while ((wanted < 0 || lines.number < wanted) && next_line(&lines)) {
        if (!read_element(keys, &lines) || !read_element(values, &lines)) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "line %lld of the table's text has no key of type %s or no value of type %s",
                (long long)lines.number, dtype_name(keys->dtype), dtype_name(values->dtype));
        }
    }
    if (lines.number < wanted) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "the table's text has %lld lines, 'vocab_size' is %lld", (long long)lines.number,
            (long long)wanted);
    }
    TRY(finish_column(context, keys, lines.number, &key_tensor));
    TRY(finish_column(context, values, lines.number, &value_tensor));
    return table_put(context, table, &key_tensor, &value_tensor, TABLE_REPLACE);
}

static Status
fill_from_text(KernelContext *context, Table *table, Slice text)
{
    Slice delimiter = node_attr_string(context->node, "delimiter");
    char byte = delimiter.size == 0 ? '\t' : delimiter.data[0];
    Column keys = {.index = node_attr_int(context->node, "key_index"),
        .delimiter = byte,
        .dtype = table_key_dtype(table),
        .elements.size_max = scratch_heap_max(context)};
    Column values = {.index = node_attr_int(context->node, "value_index"),
        .delimiter = byte,
        .dtype = table_value_dtype(table),
        .elements.size_max = scratch_heap_max(context)};
    if (!is_readable(keys.dtype) || !is_readable(values.dtype) || keys.index < WHOLE_LINE ||
        values.index < WHOLE_LINE) {
        return call_fail(context->call, STATUS_UNIMPLEMENTED, "a table from %s to %s is not read from a text",
            dtype_name(keys.dtype), dtype_name(values.dtype));
    }
    Status status = fill_from_lines(context, table, (TextLines){.rest = text}, &keys, &values);
    buffer_done(&keys.elements);
    buffer_done(&values.elements);
    return status;
}

static Status
file_compute(KernelContext *context)
{
    static const Slice mark = {.data = GRAPH_ASSET_MARK, .size = sizeof GRAPH_ASSET_MARK - 1};
    const Tensor *source = &context->inputs[1];
    Table *table = NULL;
    TRY(kernel_table(context, &table));
    if (tensor_element_count(source) != 1 || !slice_starts_with(string_at(source, 0), mark)) {
        return call_fail(context->call, STATUS_UNIMPLEMENTED,
            "a worker reads no files: a table's text comes as an asset of a SavedModel");
    }
    if (!table_was_filled_from(table, source)) {
        TRY(fill_from_text(context, table, slice_part(string_at(source, 0), mark.size, SIZE_MAX)));
        table_remember(table, source);
    }
    return STATUS_OK;
}

static const Kernel lookup_file_kernels[] = {
    {.op = "InitializeTableFromTextFileV2", .compute = file_compute},
};

KERNEL_FAMILY(reference, lookup_file, lookup_file_kernels);
