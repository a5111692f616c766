#include "shared/wire/trace.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "shared/base/text.h"
#include "shared/json/reader.h"
#include "shared/json/writer.h"

/* The numbers of a row in their order; its node and its iteration come first. */
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

/* The numbers of an activity in their order, behind its node and its iteration. */
static const size_t activity_numbers[] = {
    offsetof(WireTraceActivity, track),
    offsetof(WireTraceActivity, name),
    offsetof(WireTraceActivity, start_ns),
    offsetof(WireTraceActivity, end_ns),
    offsetof(WireTraceActivity, bytes),
    offsetof(WireTraceActivity, captured),
    offsetof(WireTraceActivity, grid[0]),
    offsetof(WireTraceActivity, grid[1]),
    offsetof(WireTraceActivity, grid[2]),
    offsetof(WireTraceActivity, block[0]),
    offsetof(WireTraceActivity, block[1]),
    offsetof(WireTraceActivity, block[2]),
};

enum { ACTIVITY_SIZE_MAX = 21 * (int)COUNT_OF(activity_numbers) + 64 };

static uint64_t *
activity_number(WireTraceActivity *activity, size_t index)
{
    return (uint64_t *)(void *)((char *)activity + activity_numbers[index]);
}

static uint64_t *
row_number(WireTraceRow *row, size_t index)
{
    return (uint64_t *)(void *)((char *)row + row_numbers[index]);
}

/* Returns the most bytes that a row may take: six for every byte of a text, its numbers, quotes and
 * commas, and the end of the document. */
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

/* Lists the nodes that have rows and are the accelerator's. */
static void
write_accelerated(JsonWriter *writer, const WireTrace *trace)
{
    json_member_slice(writer, "accelerator", trace->accelerator);
    json_write_name(writer, "accelerated");
    json_write_array_begin(writer);
    for (size_t index = 0; index < trace->node_count; index++) {
        if (trace->nodes[index].told > 0 && trace->nodes[index].is_accelerated) {
            json_write_uint64(writer, trace->nodes[index].told - 1);
        }
    }
    json_write_array_end(writer);
}

/* Writes as many rows as `size_max` bytes hold, with the list that follows, and returns how many those are.
 */
static size_t
write_rows(JsonWriter *writer, WireTrace *trace, size_t size_max)
{
    enum { INDEX_SIZE = 11 }; /* of a number of 32 bits and a comma */
    size_t count = 0;
    uint32_t told = 0;
    for (size_t index = 0; index < trace->node_count; index++) {
        trace->nodes[index].told = 0;
    }
    json_write_name(writer, "rows");
    json_write_array_begin(writer);
    while (count < trace->row_count) {
        WireTraceNode *node = &trace->nodes[trace->rows[count].node];
        size_t list_size = trace->accelerator.size == 0 ? 0 : INDEX_SIZE * ((size_t)told + 1);
        if (writer->buffer->size + row_size_max(node) + list_size > size_max) {
            break;
        }
        write_row(writer, &trace->rows[count++], node, &told);
    }
    json_write_array_end(writer);
    return count;
}

/* Returns how many bytes rows leave to the activities: half of all at most. */
static size_t
activities_room(const WireTrace *trace)
{
    size_t size = 0;
    for (size_t index = 0; index < trace->device_text_count; index++) {
        size += 6 * trace->device_texts[index].size + 3;
    }
    size += trace->activity_count * ACTIVITY_SIZE_MAX;
    return size < WIRE_TRACE_SIZE_MAX / 2 ? size : WIRE_TRACE_SIZE_MAX / 2;
}

static void
write_activity(JsonWriter *writer, const WireTrace *trace, WireTraceActivity *activity)
{
    json_write_array_begin(writer);
    json_write_uint64(writer, activity->has_node ? trace->nodes[activity->node].told : 0);
    json_write_uint64(writer, activity->iteration);
    for (size_t index = 0; index < COUNT_OF(activity_numbers); index++) {
        json_write_uint64(writer, *activity_number(activity, index));
    }
    json_write_array_end(writer);
}

/* Writes as many activities as fit behind the rows, the first ones. */
static void
write_activities(JsonWriter *writer, WireTrace *trace, size_t size_max)
{
    size_t count = 0;
    json_member_slice(writer, "device_source", trace->device_source);
    json_write_name(writer, "device_texts");
    json_write_array_begin(writer);
    for (size_t index = 0; index < trace->device_text_count; index++) {
        json_write_slice(writer, trace->device_texts[index]);
    }
    json_write_array_end(writer);
    json_write_name(writer, "device");
    json_write_array_begin(writer);
    while (count < trace->activity_count && writer->buffer->size + ACTIVITY_SIZE_MAX <= size_max) {
        write_activity(writer, trace, &trace->activities[count++]);
    }
    json_write_array_end(writer);
    json_member_uint64(
        writer, "device_left_out", trace->device_left_out_count + (trace->activity_count - count));
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

/* Loops whose names alone fill half the frame leave no trace at all. */
void
wire_trace_write(Buffer *buffer, WireTrace *trace)
{
    assert(trace->rows != NULL || trace->row_count == 0);
    size_t before = buffer->size;
    JsonWriter writer = json_writer(buffer);
    json_write_object_begin(&writer);
    json_member_uint64(&writer, "elapsed_ns", trace->elapsed_ns);
    write_iterations(&writer, trace);
    if (buffer->size - before > WIRE_TRACE_SIZE_MAX / 2) {
        buffer->size = before;
        return;
    }
    size_t count = write_rows(&writer, trace, before + WIRE_TRACE_SIZE_MAX - activities_room(trace));
    if (trace->accelerator.size > 0) {
        write_accelerated(&writer, trace);
    }
    if (trace->device_source.size > 0) {
        write_activities(&writer, trace, before + WIRE_TRACE_SIZE_MAX);
    }
    json_member_uint64(&writer, "left_out", trace->left_out_count + (trace->row_count - count));
    json_member_uint64(&writer, "left_out_iterations", trace->left_out_iteration_count);
    json_write_object_end(&writer);
}

/* The outer loops come first. No graph nests loops deeper than JSON_DEPTH_MAX. */
void
wire_trace_path(const WireTrace *trace, uint32_t iteration, Buffer *ret_path)
{
    assert(iteration <= trace->iteration_count);
    const WireTraceIteration *path[JSON_DEPTH_MAX];
    size_t depth = 0;
    while (iteration > 0 && depth < COUNT_OF(path)) {
        path[depth] = &trace->iterations[iteration - 1];
        iteration = path[depth++]->around;
    }
    while (depth-- > 0) {
        Slice frame = trace->frames[path[depth]->frame];
        buffer_append_format(
            ret_path, "%.*s:%" PRIu64 "%s", SLICE_PRINT(frame), path[depth]->number, depth > 0 ? "/" : "");
    }
}

/* Makes the key that this Send or Recv meets the other by. Returns false without memory. */
static bool
row_name_key(Arena *arena, const WireTrace *trace, WireTraceRow *row)
{
    assert(row->node < trace->node_count);
    AUTO_BUFFER text = {0};
    row->key = trace->nodes[row->node].key;
    if (row->key.size == 0 || row->iteration == 0) {
        return true;
    }
    buffer_append_slice(&text, row->key);
    wire_trace_path(trace, row->iteration, &text);
    const char *copy = buffer_is_ok(&text) ? text_copy(arena, buffer_slice(&text)) : NULL;
    row->key = slice_of(copy, copy == NULL ? 0 : text.size);
    return copy != NULL;
}

/* Returns WireTrace's list `name` with room for one more item, which is zero. */
#define GROW(reader, trace, name)                                                                            \
    json_list_grow(reader, (trace)->name##s, (trace)->name##_count, sizeof *(trace)->name##s)

static bool
take_text(JsonReader *reader, Slice *ret_text)
{
    return json_array_next(reader->scanner) && json_string(reader->scanner, reader->call->arena, ret_text);
}

static bool
take_number(JsonReader *reader, uint64_t *ret_number)
{
    return json_array_next(reader->scanner) && json_uint64(reader->scanner, ret_number);
}

/* Takes an index below `count`. */
static bool
take_index(JsonReader *reader, size_t count, uint32_t *ret_index)
{
    uint64_t index = 0;
    bool is_taken = take_number(reader, &index) && index < count;
    *ret_index = (uint32_t)index;
    return is_taken;
}

static bool
take_new_node(JsonReader *reader, WireTrace *trace)
{
    WireTraceNode node = {0};
    WireTraceNode *nodes = GROW(reader, trace, node);
    if (nodes == NULL) {
        return false;
    }
    bool is_taken = json_array_begin(reader->scanner) && take_text(reader, &node.name) &&
                    take_text(reader, &node.op) && take_text(reader, &node.key) &&
                    !json_array_next(reader->scanner);
    trace->nodes = nodes;
    trace->nodes[trace->node_count++] = node;
    return is_taken;
}

/* Takes a row's node: an array at its first row, later its index. */
static bool
take_node(JsonReader *reader, WireTrace *trace, uint32_t *ret_node)
{
    uint64_t index = 0;
    if (!json_array_next(reader->scanner)) {
        return false;
    }
    bool is_new = json_peek(reader->scanner) == JSON_ARRAY;
    bool is_taken = is_new ? take_new_node(reader, trace) : json_uint64(reader->scanner, &index);
    index = is_new ? trace->node_count - 1 : index;
    *ret_node = (uint32_t)index;
    return is_taken && index < trace->node_count;
}

static Status
read_row(JsonReader *reader, const JsonMember *member, void *target)
{
    WireTrace *trace = reader->context;
    WireTraceRow *row = target;
    (void)member;
    bool is_read = json_array_begin(reader->scanner) && take_node(reader, trace, &row->node) &&
                   take_index(reader, trace->iteration_count + 1, &row->iteration);
    for (size_t index = 0; index < COUNT_OF(row_numbers) && is_read; index++) {
        is_read = take_number(reader, row_number(row, index));
    }
    return is_read && !json_array_next(reader->scanner)
               ? json_scan_check(reader->call, reader->scanner)
               : json_reader_refuse(reader,
                     "a row is a node, an iteration told of before, scheduled, start, end, thread, bytes of "
                     "outputs, new ones, scratch and device, pulled");
}

/* Takes the activity with its node as it is told: 1 + an index, which is checked when all rows have been
 * read. */
static Status
read_activity(JsonReader *reader, const JsonMember *member, void *target)
{
    WireTraceActivity *activity = target;
    (void)member;
    bool is_read = json_array_begin(reader->scanner) && take_index(reader, UINT32_MAX, &activity->node) &&
                   take_index(reader, UINT32_MAX, &activity->iteration);
    for (size_t index = 0; index < COUNT_OF(activity_numbers) && is_read; index++) {
        is_read = take_number(reader, activity_number(activity, index));
    }
    return is_read && !json_array_next(reader->scanner)
               ? json_scan_check(reader->call, reader->scanner)
               : json_reader_refuse(reader, "an activity is a node, an iteration, track, name, start, end, "
                                            "bytes, captured, blocks and "
                                            "threads");
}

/* The iteration that is being read is counted already, so that `around` names an earlier one. */
static Status
read_iteration(JsonReader *reader, const JsonMember *member, void *target)
{
    const WireTrace *trace = reader->context;
    WireTraceIteration *iteration = target;
    (void)member;
    bool is_read = json_array_begin(reader->scanner) &&
                   take_index(reader, trace->frame_count, &iteration->frame) &&
                   take_index(reader, trace->iteration_count, &iteration->around) &&
                   take_number(reader, &iteration->number);
    return is_read && !json_array_next(reader->scanner)
               ? json_scan_check(reader->call, reader->scanner)
               : json_reader_refuse(
                     reader, "an iteration is a frame told of before, an earlier iteration, a number");
}

#define TRACE_LIST(item_type, ...)                                                                           \
    {                                                                                                        \
        .item = {__VA_ARGS__}, .item_size = sizeof(item_type), .count_max = UINT32_MAX,                      \
        .too_many = "more than 32 bits count"                                                                \
    }
static const JsonList frames = TRACE_LIST(Slice, .type = JSON_SLICE);
static const JsonList iterations = TRACE_LIST(WireTraceIteration, .read = read_iteration);
static const JsonList rows = TRACE_LIST(WireTraceRow, .read = read_row);

static const JsonList device_texts = TRACE_LIST(Slice, .type = JSON_SLICE);
static const JsonList activities = TRACE_LIST(WireTraceActivity, .read = read_activity);
static const JsonList accelerated = TRACE_LIST(int64_t, .type = JSON_INT64);

/* A trace as its document has it. */
typedef struct TraceDocument {
    WireTrace trace; /* first, as the readers of its lists know no more */
    const int64_t *accelerated;
    size_t accelerated_count;
} TraceDocument;

static const JsonMember trace_members[] = {
    {"accelerator", JSON_SLICE, .offset = offsetof(TraceDocument, trace.accelerator)},
    {"accelerated", JSON_LIST, .offset = offsetof(TraceDocument, accelerated), .list = &accelerated},
    {"device", JSON_LIST, .offset = offsetof(WireTrace, activities), .list = &activities},
    {"device_left_out", JSON_UINT64, .offset = offsetof(WireTrace, device_left_out_count)},
    {"device_source", JSON_SLICE, .offset = offsetof(WireTrace, device_source)},
    {"device_texts", JSON_LIST, .offset = offsetof(WireTrace, device_texts), .list = &device_texts},
    {"elapsed_ns", JSON_UINT64, .offset = offsetof(WireTrace, elapsed_ns)},
    {"frames", JSON_LIST, .offset = offsetof(WireTrace, frames), .list = &frames},
    {"iterations", JSON_LIST, .offset = offsetof(WireTrace, iterations), .list = &iterations},
    {"rows", JSON_LIST, .offset = offsetof(WireTrace, rows), .list = &rows},
    {"left_out", JSON_UINT64, .offset = offsetof(WireTrace, left_out_count)},
    {"left_out_iterations", JSON_UINT64, .offset = offsetof(WireTrace, left_out_iteration_count)},
};
static const JsonTable trace_table = JSON_TABLE("a trace", trace_members);

static Status
mark_accelerated(Call *call, TraceDocument *document)
{
    for (size_t index = 0; index < document->accelerated_count; index++) {
        int64_t node = document->accelerated[index];
        if (node < 0 || (uint64_t)node >= document->trace.node_count) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "'accelerated' names a node that has no row");
        }
        document->trace.nodes[node].is_accelerated = true;
    }
    return STATUS_OK;
}

static Status
check_activities(Call *call, WireTrace *trace)
{
    for (size_t index = 0; index < trace->activity_count; index++) {
        WireTraceActivity *activity = &trace->activities[index];
        if (activity->node > trace->node_count || activity->iteration > trace->iteration_count ||
            activity->track >= trace->device_text_count || activity->name >= trace->device_text_count) {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "'device' names a node, an iteration or a text that is not told");
        }
        activity->has_node = activity->node > 0;
        activity->node -= activity->has_node;
    }
    return STATUS_OK;
}

Status
wire_trace_read(Call *call, Slice json, WireTrace *ret_trace)
{
    static const JsonDialect dialect = {.unknown = JSON_UNKNOWN_IS_SKIPPED};
    TraceDocument document = {.accelerated_count = 0};
    WireTrace *trace = &document.trace;
    JsonScanner scanner;
    JsonReader reader = {.call = call, .scanner = &scanner, .dialect = &dialect, .context = trace};
    json_scan_begin(&scanner, json, JSON_DEPTH_MAX);
    TRY(json_read_object(&reader, &trace_table, &document));
    TRY(json_scan_end(call, &scanner));
    TRY(mark_accelerated(call, &document));
    TRY(check_activities(call, trace));
    for (size_t index = 0; index < trace->row_count; index++) {
        if (!row_name_key(call->arena, trace, &trace->rows[index])) {
            return call_fail_memory(call, "the keys of a trace");
        }
    }
    *ret_trace = *trace;
    return STATUS_OK;
}
