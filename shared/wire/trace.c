#include "shared/wire/trace.h"

#include <inttypes.h>
#include <string.h>

#include "shared/base/text.h"
#include "shared/json/scanner.h"
#include "shared/json/writer.h"

/* The numbers of a row behind its node and its iteration, in their order. */
static const size_t row_numbers[] = {
    offsetof(WireTraceRow, scheduled_ns),
    offsetof(WireTraceRow, start_ns),
    offsetof(WireTraceRow, end_ns),
    offsetof(WireTraceRow, thread),
    offsetof(WireTraceRow, output_bytes),
    offsetof(WireTraceRow, allocated_bytes),
    offsetof(WireTraceRow, scratch_bytes),
    offsetof(WireTraceRow, device_bytes),
    offsetof(WireTraceRow, was_pulled),
};

static uint64_t *
row_number(WireTraceRow *row, size_t index)
{
    return (uint64_t *)(void *)((char *)row + row_numbers[index]);
}

/* --- Writing -------------------------------------------------------------------------------------------- */

/* What a row may take at most: every byte of a text as six, its numbers, quotes and commas; and the end of
 * the document behind it. */
static size_t
row_size_max(const WireTraceNode *node)
{
    enum { ESCAPED = 6, REST = 384 };
    return REST + (node->told > 0 ? 0 : ESCAPED * (node->name.size + node->op.size + node->key.size));
}

static void
write_node(JsonWriter *writer, const WireTraceNode *node)
{
    json_write_array_begin(writer);
    json_write_slice(writer, node->name);
    json_write_slice(writer, node->op);
    json_write_slice(writer, node->key);
    json_write_array_end(writer);
}

static void
write_row(JsonWriter *writer, WireTraceRow *row, WireTraceNode *node, uint32_t *told)
{
    json_write_array_begin(writer);
    if (node->told == 0) {
        node->told = ++*told;
        write_node(writer, node);
    } else {
        json_write_uint64(writer, node->told - 1);
    }
    json_write_uint64(writer, row->iteration);
    for (size_t index = 0; index < COUNT_OF(row_numbers); index++) {
        json_write_uint64(writer, *row_number(row, index));
    }
    json_write_array_end(writer);
}

/* Returns how many it wrote: all that `size_max` bytes hold. */
static size_t
write_rows(JsonWriter *writer, WireTrace *trace, size_t size_max)
{
    size_t count = 0;
    uint32_t told = 0;
    for (size_t index = 0; index < trace->node_count; index++) {
        trace->nodes[index].told = 0;
    }
    json_write_name(writer, "rows");
    json_write_array_begin(writer);
    while (count < trace->row_count) {
        WireTraceNode *const node = &trace->nodes[trace->rows[count].node];
        if (writer->buffer->size + row_size_max(node) > size_max) {
            break;
        }
        write_row(writer, &trace->rows[count++], node, &told);
    }
    json_write_array_end(writer);
    return count;
}

static void
write_iterations(JsonWriter *writer, const WireTrace *trace)
{
    json_write_name(writer, "frames");
    json_write_array_begin(writer);
    for (size_t index = 0; index < trace->frame_count; index++) {
        json_write_slice(writer, trace->frames[index]);
    }
    json_write_array_end(writer);
    json_write_name(writer, "iterations");
    json_write_array_begin(writer);
    for (size_t index = 0; index < trace->iteration_count; index++) {
        json_write_array_begin(writer);
        json_write_uint64(writer, trace->iterations[index].frame);
        json_write_uint64(writer, trace->iterations[index].around);
        json_write_uint64(writer, trace->iterations[index].number);
        json_write_array_end(writer);
    }
    json_write_array_end(writer);
}

/* Loops whose names alone fill the frame leave no room for anything. */
void
wire_trace_write(Buffer *buffer, WireTrace *trace)
{
    const size_t before = buffer->size;
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    json_member_uint64(&writer, "elapsed_ns", trace->elapsed_ns);
    write_iterations(&writer, trace);
    if (buffer->size - before > WIRE_TRACE_SIZE_MAX / 2) {
        buffer->size = before;
        return;
    }
    const size_t count = write_rows(&writer, trace, before + WIRE_TRACE_SIZE_MAX);
    json_member_uint64(&writer, "left_out", trace->left_out_count + (trace->row_count - count));
    json_member_uint64(&writer, "left_out_iterations", trace->left_out_iteration_count);
    json_write_object_end(&writer);
}

/* --- Iterations ----------------------------------------------------------------------------------------- */

/* The loops around come first. No graph nests them deeper. */
void
wire_trace_path(const WireTrace *trace, uint32_t iteration, Buffer *ret_path)
{
    const WireTraceIteration *path[JSON_DEPTH_MAX];
    size_t depth = 0;
    while (iteration > 0 && depth < COUNT_OF(path)) {
        path[depth] = &trace->iterations[iteration - 1];
        iteration = path[depth++]->around;
    }
    while (depth-- > 0) {
        const Slice frame = trace->frames[path[depth]->frame];
        buffer_append_format(
            ret_path, "%.*s:%" PRIu64 "%s", SLICE_PRINT(frame), path[depth]->number, depth > 0 ? "/" : "");
    }
}

/* What the Send or Recv meets the other by. False without memory. */
static bool
row_name_key(Arena *arena, const WireTrace *trace, WireTraceRow *row)
{
    AUTO_BUFFER text = {0};
    row->key = trace->nodes[row->node].key;
    if (row->key.size == 0 || row->iteration == 0) {
        return true;
    }
    buffer_append_slice(&text, row->key);
    wire_trace_path(trace, row->iteration, &text);
    const char *const copy = buffer_is_ok(&text) ? text_copy(arena, buffer_slice(&text)) : NULL;
    row->key = slice_of(copy, copy == NULL ? 0 : text.size);
    return copy != NULL;
}

/* --- Reading -------------------------------------------------------------------------------------------- */

typedef struct Reader {
    JsonScanner scanner;
    Arena *arena;
    WireTrace trace;
    size_t node_capacity;
    size_t frame_capacity;
    size_t iteration_capacity;
    size_t row_capacity;
} Reader;

/* Room for one more of `size` bytes. NULL without memory, and the scanner says so. */
static void *
one_more(Reader *reader, void *items, size_t *count, size_t *capacity, size_t size)
{
    enum { CAPACITY_FIRST = 64 };
    char *grown = items;
    if (*count == *capacity) {
        const size_t wanted = *capacity == 0 ? CAPACITY_FIRST : 2 * *capacity;
        grown = arena_alloc(reader->arena, wanted * size);
        if (grown == NULL) {
            json_fault(&reader->scanner, "more than memory holds");
            return NULL;
        }
        if (*count > 0) {
            memcpy(grown, items, *count * size);
        }
        *capacity = wanted;
    }
    memset(grown + *count * size, 0, size);
    (*count)++;
    return grown;
}

/* One more item of reader->trace.<name>s. */
#define READER_ONE_MORE(reader, name)                                                                        \
    one_more((reader), (reader)->trace.name##s, &(reader)->trace.name##_count, &(reader)->name##_capacity,   \
        sizeof *(reader)->trace.name##s)

static bool
read_text(Reader *reader, Slice *ret_text)
{
    return json_array_next(&reader->scanner) && json_string(&reader->scanner, reader->arena, ret_text);
}

static bool
read_number(Reader *reader, uint64_t *ret_number)
{
    return json_array_next(&reader->scanner) && json_uint64(&reader->scanner, ret_number);
}

/* Of something that has at most `count`. */
static bool
read_index(Reader *reader, size_t count, uint32_t *ret_index)
{
    uint64_t index = 0;
    const bool is_read = read_number(reader, &index) && index < count;
    *ret_index = (uint32_t)index;
    return is_read;
}

static bool
read_new_node(Reader *reader)
{
    WireTraceNode node = {0};
    WireTraceNode *const nodes = READER_ONE_MORE(reader, node);
    if (nodes == NULL) {
        return false;
    }
    reader->trace.nodes = nodes;
    const bool is_read = json_array_begin(&reader->scanner) && read_text(reader, &node.name) &&
                         read_text(reader, &node.op) && read_text(reader, &node.key) &&
                         !json_array_next(&reader->scanner);
    nodes[reader->trace.node_count - 1] = node;
    return is_read;
}

static bool
read_node(Reader *reader, uint32_t *ret_node)
{
    uint64_t index = 0;
    if (!json_array_next(&reader->scanner)) {
        return false;
    }
    const bool is_new = json_peek(&reader->scanner) == JSON_ARRAY;
    const bool is_read = is_new ? read_new_node(reader) : json_uint64(&reader->scanner, &index);
    index = is_new ? reader->trace.node_count - 1 : index;
    *ret_node = (uint32_t)index;
    return is_read && index < reader->trace.node_count;
}

static void
read_row(Reader *reader)
{
    WireTraceRow row = {0};
    WireTraceRow *const rows = READER_ONE_MORE(reader, row);
    if (rows == NULL) {
        return;
    }
    reader->trace.rows = rows;
    bool is_read = json_array_begin(&reader->scanner) && read_node(reader, &row.node) &&
                   read_index(reader, reader->trace.iteration_count + 1, &row.iteration);
    for (size_t index = 0; index < COUNT_OF(row_numbers) && is_read; index++) {
        is_read = read_number(reader, row_number(&row, index));
    }
    if (!is_read || json_array_next(&reader->scanner)) {
        json_fault(&reader->scanner,
            "a row is a node, an iteration told of before, scheduled, start, end, thread, bytes of outputs, "
            "new ones, scratch and device, pulled");
    }
    rows[reader->trace.row_count - 1] = row;
}

static void
read_frame(Reader *reader)
{
    Slice *const frames = READER_ONE_MORE(reader, frame);
    if (frames != NULL) {
        reader->trace.frames = frames;
        (void)json_string(&reader->scanner, reader->arena, &frames[reader->trace.frame_count - 1]);
    }
}

static void
read_iteration(Reader *reader)
{
    WireTraceIteration iteration = {0};
    WireTraceIteration *const iterations = READER_ONE_MORE(reader, iteration);
    if (iterations == NULL) {
        return;
    }
    reader->trace.iterations = iterations;
    const bool is_read = json_array_begin(&reader->scanner) &&
                         read_index(reader, reader->trace.frame_count, &iteration.frame) &&
                         read_index(reader, reader->trace.iteration_count, &iteration.around) &&
                         read_number(reader, &iteration.number);
    if (!is_read || json_array_next(&reader->scanner)) {
        json_fault(
            &reader->scanner, "an iteration is a frame told of before, an earlier iteration, a number");
    }
    iterations[reader->trace.iteration_count - 1] = iteration;
}

static void
read_all(Reader *reader, void (*read_one)(Reader *reader))
{
    bool is_open = json_array_begin(&reader->scanner);
    while (is_open && json_array_next(&reader->scanner)) {
        read_one(reader);
    }
}

static void
read_member(Reader *reader, Slice name)
{
    static const struct {
        const char *name;
        void (*read_one)(Reader *reader);
    } lists[] = {{"frames", read_frame}, {"iterations", read_iteration}, {"rows", read_row}};
    const struct {
        const char *name;
        uint64_t *number;
    } numbers[] = {
        {"elapsed_ns", &reader->trace.elapsed_ns},
        {"left_out", &reader->trace.left_out_count},
        {"left_out_iterations", &reader->trace.left_out_iteration_count},
    };
    for (size_t index = 0; index < COUNT_OF(lists); index++) {
        if (slice_equals_string(name, lists[index].name)) {
            read_all(reader, lists[index].read_one);
            return;
        }
    }
    for (size_t index = 0; index < COUNT_OF(numbers); index++) {
        if (slice_equals_string(name, numbers[index].name)) {
            (void)json_uint64(&reader->scanner, numbers[index].number);
            return;
        }
    }
    (void)json_skip(&reader->scanner, &name);
}

Status
wire_trace_read(Call *call, Slice json, WireTrace *ret_trace)
{
    Reader reader;
    Slice name;
    memset(&reader.trace, 0, sizeof reader - offsetof(Reader, trace));
    reader.arena = call->arena;
    json_scan_begin(&reader.scanner, json, JSON_DEPTH_MAX);
    (void)json_object_begin(&reader.scanner);
    while (json_object_next(&reader.scanner, &name)) {
        read_member(&reader, name);
    }
    TRY(json_scan_end(call, &reader.scanner));
    for (size_t index = 0; index < reader.trace.row_count; index++) {
        if (!row_name_key(call->arena, &reader.trace, &reader.trace.rows[index])) {
            return call_fail_memory(call, "the keys of a trace");
        }
    }
    *ret_trace = reader.trace;
    return STATUS_OK;
}
