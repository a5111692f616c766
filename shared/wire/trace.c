#include "shared/wire/trace.h"

#include <string.h>

#include "shared/json/scanner.h"
#include "shared/json/writer.h"

/* --- Writing -------------------------------------------------------------------------------------------- */

/* What a row may take at most: every byte of a text as six, six numbers of 20 digits, quotes and commas; and
 * the end of the document behind it. */
static size_t
row_size_max(const WireTraceRow *row)
{
    enum { ESCAPED = 6, REST = 256 };
    return ESCAPED * (row->name.size + row->op.size + row->key.size) + REST;
}

static void
write_row(JsonWriter *writer, const WireTraceRow *row)
{
    json_write_array_begin(writer);
    json_write_slice(writer, row->name);
    json_write_slice(writer, row->op);
    json_write_slice(writer, row->key);
    json_write_uint64(writer, row->scheduled_ns);
    json_write_uint64(writer, row->start_ns);
    json_write_uint64(writer, row->end_ns);
    json_write_uint64(writer, row->thread);
    json_write_uint64(writer, row->output_bytes);
    json_write_array_end(writer);
}

void
wire_trace_write(Buffer *buffer, const WireTrace *trace)
{
    const size_t before = buffer->size;
    size_t count = 0;
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    json_member_uint64(&writer, "elapsed_ns", trace->elapsed_ns);
    json_write_name(&writer, "nodes");
    json_write_array_begin(&writer);
    while (count < trace->row_count &&
           buffer->size - before + row_size_max(&trace->rows[count]) <= WIRE_TRACE_SIZE_MAX) {
        write_row(&writer, &trace->rows[count++]);
    }
    json_write_array_end(&writer);
    json_member_uint64(&writer, "left_out", trace->left_out_count + (trace->row_count - count));
    json_write_object_end(&writer);
}

/* --- Reading -------------------------------------------------------------------------------------------- */

typedef struct Rows {
    WireTrace *trace;
    size_t capacity;
} Rows;

static WireTraceRow *
rows_next(Rows *rows, Arena *arena)
{
    enum { CAPACITY_FIRST = 256 };
    WireTrace *const trace = rows->trace;
    if (trace->row_count == rows->capacity) {
        const size_t capacity = rows->capacity == 0 ? CAPACITY_FIRST : 2 * rows->capacity;
        WireTraceRow *const grown = arena_alloc(arena, capacity * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        if (trace->row_count > 0) {
            memcpy(grown, trace->rows, trace->row_count * sizeof *grown);
        }
        trace->rows = grown;
        rows->capacity = capacity;
    }
    return &trace->rows[trace->row_count++];
}

static bool
read_text(JsonScanner *scanner, Arena *arena, Slice *ret_text)
{
    return json_array_next(scanner) && json_string(scanner, arena, ret_text);
}

static bool
read_number(JsonScanner *scanner, uint64_t *ret_number)
{
    return json_array_next(scanner) && json_uint64(scanner, ret_number);
}

static bool
read_row(JsonScanner *scanner, Arena *arena, WireTraceRow *row)
{
    const bool is_read = json_array_begin(scanner) && read_text(scanner, arena, &row->name) &&
                         read_text(scanner, arena, &row->op) && read_text(scanner, arena, &row->key) &&
                         read_number(scanner, &row->scheduled_ns) && read_number(scanner, &row->start_ns) &&
                         read_number(scanner, &row->end_ns) && read_number(scanner, &row->thread) &&
                         read_number(scanner, &row->output_bytes) && !json_array_next(scanner);
    if (!is_read) {
        json_fault(scanner, "a node's row is [name, op, key, scheduled, start, end, thread, bytes]");
    }
    return is_read;
}

static void
read_rows(JsonScanner *scanner, Arena *arena, Rows *rows)
{
    bool is_read = json_array_begin(scanner);
    while (is_read && json_array_next(scanner)) {
        WireTraceRow *const row = rows_next(rows, arena);
        if (row == NULL) {
            json_fault(scanner, "more rows than memory");
            return;
        }
        is_read = read_row(scanner, arena, row);
    }
}

Status
wire_trace_read(Call *call, Slice json, WireTrace *ret_trace)
{
    WireTrace trace = {0};
    Rows rows = {.trace = &trace};
    JsonScanner scanner;
    Slice name;
    json_scan_begin(&scanner, json, JSON_DEPTH_MAX);
    (void)json_object_begin(&scanner);
    while (json_object_next(&scanner, &name)) {
        if (slice_equals_string(name, "nodes")) {
            read_rows(&scanner, call->arena, &rows);
        } else if (slice_equals_string(name, "elapsed_ns")) {
            (void)json_uint64(&scanner, &trace.elapsed_ns);
        } else if (slice_equals_string(name, "left_out")) {
            (void)json_uint64(&scanner, &trace.left_out_count);
        } else {
            (void)json_skip(&scanner, &name);
        }
    }
    TRY(json_scan_end(call, &scanner));
    *ret_trace = trace;
    return STATUS_OK;
}
