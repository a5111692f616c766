#include "gateway/traces/trace_form.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/json/writer.h"

enum {
    RUN_THREAD = 0,                /* the slot as a whole; workers' threads count from 1 */
    TRANSFER_THREAD = 1000 * 1000, /* the first of TRANSFER_THREAD_COUNT */
    TRANSFER_THREAD_COUNT = 64,
    DEVICE_THREAD = 2 * 1000 * 1000, /* the first of an accelerator's tracks */
};

/* The row of the picture that an event is drawn in: a process for each slot, and a thread of it. */
typedef struct TraceTrack {
    size_t slot;
    uint64_t thread;
} TraceTrack;

/* Writes what all events have, and leaves the object open for what is special to the phase: "X" a span, "C" a
 * counter, "s" and "f" the ends of an arrow, "M" a name. `category` may be NULL. */
static void
trace_event_begin(JsonWriter *writer, const char *phase, Slice name, const char *category, TraceTrack track)
{
    json_write_object_begin(writer);
    json_member_string(writer, "ph", phase);
    json_member_slice(writer, "name", name);
    if (category != NULL) {
        json_member_string(writer, "cat", category);
    }
    json_member_uint64(writer, "pid", track.slot);
    json_member_uint64(writer, "tid", track.thread);
}

/* Writes a member in microseconds, to the nanosecond. */
static void
trace_event_time(JsonWriter *writer, const char *name, uint64_t time_ns)
{
    char text[32];
    int size = snprintf(text, sizeof text, "%" PRIu64 ".%03u", time_ns / 1000, (unsigned)(time_ns % 1000));
    json_write_name(writer, name);
    json_write_raw(writer, slice_of(text, (size_t)size));
}

typedef struct Flow {
    const StepTrace *trace;
    const SlotRows *slots;
    const TraceSent *sent;
    size_t receiver;
    const WireTraceRow *received;
    uint64_t id;
} Flow;

/* Says how the tensor travelled; slots on the same worker hand it over as a pointer. */
static const char *
flow_way(const Flow *flow)
{
    const TraceSlot *slots = flow->trace->slots;
    if (slots[flow->sent->slot].task == slots[flow->receiver].task) {
        return "handed over";
    }
    return flow->received->was_pulled ? "pulled" : "pushed";
}

static void
flow_end(JsonWriter *writer, const Flow *flow, const char *phase, size_t slot, uint64_t time_ns)
{
    bool is_start = slot == flow->sent->slot;
    const WireTraceRow *row = is_start ? flow->sent->row : flow->received;
    TraceTrack track = {.slot = flow->trace->slots[slot].number, .thread = row->thread};
    trace_event_begin(writer, phase, SLICE("tensor"), "flow", track);
    json_member_uint64(writer, "id", flow->id);
    trace_event_time(writer, "ts", flow->slots[slot].offset_ns + time_ns);
    if (!is_start) {
        json_member_string(writer, "bp", "e");
    }
    json_write_name(writer, "args");
    json_write_object_begin(writer);
    json_member_slice(writer, "key", row->key);
    json_member_uint64(writer, "bytes", flow->received->output_bytes);
    json_member_string(writer, "way", flow_way(flow));
    json_write_object_end(writer);
    json_write_object_end(writer);
}

static void
flow_write(JsonWriter *writer, const Flow *flow)
{
    flow_end(writer, flow, "s", flow->sent->slot, flow->sent->row->start_ns);
    flow_end(writer, flow, "f", flow->receiver, flow->received->end_ns);
}

/* Writes an arrow for each Recv whose Send is known. The rows have their threads; slots[i] is
 * trace->slots[i]'s. False without memory. */
static bool
trace_flows_write(JsonWriter *writer, Arena *arena, const StepTrace *trace, const SlotRows *slots)
{
    AUTO_MAP sends = map_new();
    uint64_t count = 0;
    if (sends == NULL || !trace_sends_find(arena, slots, trace->slot_count, sends)) {
        return false;
    }
    for (size_t slot = 0; slot < trace->slot_count; slot++) {
        const WireTrace *rows = &slots[slot].trace;
        for (size_t index = 0; index < rows->row_count; index++) {
            const WireTraceRow *row = &rows->rows[index];
            bool is_receive = trace_is_transfer(rows, row, "_Recv");
            const TraceSent *sent = is_receive ? map_get(sends, row->key) : NULL;
            if (sent != NULL && sent->slot != slot) {
                flow_write(writer, &(Flow){trace, slots, sent, slot, row, ++count});
            }
        }
    }
    return true;
}

static int
by_end(const void *left, const void *right)
{
    const WireTraceRow *a = left;
    const WireTraceRow *b = right;
    return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

/* Writes a counter for each node at whose end the device's memory differs from the end before. Sorts the rows
 * by their ends. */
static void
trace_memory_write(JsonWriter *writer, size_t slot, SlotRows *rows)
{
    TraceTrack track = {.slot = slot};
    uint64_t before = 0;
    if (rows->trace.row_count > 1) {
        qsort(rows->trace.rows, rows->trace.row_count, sizeof *rows->trace.rows, by_end);
    }
    for (size_t index = 0; index < rows->trace.row_count; index++) {
        const WireTraceRow *row = &rows->trace.rows[index];
        if (row->device_bytes == before) {
            continue;
        }
        before = row->device_bytes;
        trace_event_begin(writer, "C", SLICE("device memory"), NULL, track);
        trace_event_time(writer, "ts", rows->offset_ns + row->end_ns);
        json_write_name(writer, "args");
        json_write_object_begin(writer);
        json_member_uint64(writer, "bytes", row->device_bytes);
        json_write_object_end(writer);
        json_write_object_end(writer);
    }
}

static int
by_start(const void *left, const void *right)
{
    const WireTraceRow *a = left;
    const WireTraceRow *b = right;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int
by_thread(const void *left, const void *right)
{
    const WireTraceRow *a = left;
    const WireTraceRow *b = right;
    int order = (a->thread > b->thread) - (a->thread < b->thread);
    return order == 0 ? by_start(left, right) : order;
}

/* Spreads transfers over threads of their own, since events of one thread must not overlap: each goes to
 * the first that is free, or to the last when none is. */
static void
transfers_spread(WireTrace *rows)
{
    uint64_t free_ns[TRANSFER_THREAD_COUNT] = {0};
    if (rows->row_count == 0) {
        return; /* qsort() must not be given NULL */
    }
    qsort(rows->rows, rows->row_count, sizeof *rows->rows, by_start);
    for (size_t index = 0; index < rows->row_count; index++) {
        WireTraceRow *row = &rows->rows[index];
        size_t thread = 0;
        if (row->key.size == 0) {
            continue;
        }
        while (thread < TRANSFER_THREAD_COUNT - 1 && free_ns[thread] > row->start_ns) {
            thread++;
        }
        free_ns[thread] = row->end_ns;
        row->thread = TRANSFER_THREAD + thread;
    }
    qsort(rows->rows, rows->row_count, sizeof *rows->rows, by_thread);
}

static void
write_name(JsonWriter *writer, const char *what, size_t slot, uint64_t thread, const char *name)
{
    TraceTrack track = {.slot = slot, .thread = thread};
    trace_event_begin(writer, "M", slice_from_string(what), NULL, track);
    json_write_name(writer, "args");
    json_write_object_begin(writer);
    json_member_string(writer, "name", name);
    json_write_object_end(writer);
    json_write_object_end(writer);
}

static void
write_thread_name(JsonWriter *writer, size_t slot, uint64_t thread)
{
    char name[48];
    if (thread >= TRANSFER_THREAD) {
        (void)snprintf(name, sizeof name, "transfers %llu", (unsigned long long)(thread - TRANSFER_THREAD));
    } else {
        (void)snprintf(name, sizeof name, "thread %llu", (unsigned long long)thread);
    }
    write_name(writer, "thread_name", slot, thread, name);
}

/* Writes a node's loop and iteration, and for nested loops the path of all. */
static void
write_iteration(JsonWriter *writer, const WireTrace *trace, uint32_t iteration)
{
    const WireTraceIteration *about = &trace->iterations[iteration - 1];
    json_member_slice(writer, "frame", trace->frames[about->frame]);
    json_member_uint64(writer, "iteration", about->number);
    if (about->around > 0) {
        AUTO_BUFFER path = {0};
        wire_trace_path(trace, iteration, &path);
        json_member_slice(writer, "path", buffer_slice(&path));
    }
}

static void
write_node(JsonWriter *writer, size_t slot, const SlotRows *rows, const WireTraceRow *row)
{
    const WireTraceNode *node = &rows->trace.nodes[row->node];
    bool is_transfer = row->key.size > 0;
    TraceTrack track = {.slot = slot, .thread = row->thread};
    trace_event_begin(writer, "X", node->name, is_transfer ? "transfer" : "node", track);
    trace_event_time(writer, "ts", rows->offset_ns + row->start_ns);
    trace_event_time(writer, "dur", row->end_ns - row->start_ns);
    json_write_name(writer, "args");
    json_write_object_begin(writer);
    json_member_slice(writer, "op", node->op);
    if (node->is_accelerated) {
        json_member_slice(writer, "device", rows->trace.accelerator);
    }
    json_member_uint64(writer, "bytes", row->output_bytes);
    json_member_uint64(writer, "allocated", row->allocated_bytes);
    json_member_uint64(writer, "scratch", row->scratch_bytes);
    trace_event_time(writer, "scheduled", rows->offset_ns + row->scheduled_ns);
    if (is_transfer) {
        json_member_slice(writer, "key", row->key);
    }
    if (row->iteration > 0) {
        write_iteration(writer, &rows->trace, row->iteration);
    }
    json_write_object_end(writer);
    json_write_object_end(writer);
}

static int
by_track(const void *left, const void *right)
{
    const WireTraceActivity *a = left;
    const WireTraceActivity *b = right;
    int order = (a->track > b->track) - (a->track < b->track);
    return order == 0 ? (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns) : order;
}

static void
write_sides(JsonWriter *writer, const char *name, const uint64_t sides[3])
{
    json_write_name(writer, name);
    json_write_array_begin(writer);
    for (size_t index = 0; index < 3; index++) {
        json_write_uint64(writer, sides[index]);
    }
    json_write_array_end(writer);
}

static void
write_activity_args(JsonWriter *writer, const WireTrace *trace, const WireTraceActivity *activity)
{
    if (activity->has_node) {
        json_member_slice(writer, "node", trace->nodes[activity->node].name);
        json_member_slice(writer, "op", trace->nodes[activity->node].op);
    }
    if (activity->grid[0] > 0) {
        write_sides(writer, "blocks", activity->grid);
        write_sides(writer, "threads", activity->block);
    }
    if (activity->bytes > 0) {
        json_member_uint64(writer, "bytes", activity->bytes);
    }
    if (activity->captured > 0) {
        json_member_uint64(writer, "captured", activity->captured);
    }
    if (activity->iteration > 0) {
        write_iteration(writer, trace, activity->iteration);
    }
}

/* Writes a kernel or a copy; what has no name is all that its node did. */
static void
write_activity(JsonWriter *writer, size_t slot, const SlotRows *rows, const WireTraceActivity *activity)
{
    const WireTrace *trace = &rows->trace;
    TraceTrack track = {.slot = slot, .thread = DEVICE_THREAD + activity->track};
    Slice name = trace->device_texts[activity->name];
    if (name.size == 0 && activity->has_node) {
        name = trace->nodes[activity->node].name;
    }
    trace_event_begin(writer, "X", name, "device", track);
    trace_event_time(writer, "ts", rows->offset_ns + activity->start_ns);
    trace_event_time(writer, "dur", activity->end_ns - activity->start_ns);
    json_write_name(writer, "args");
    json_write_object_begin(writer);
    write_activity_args(writer, trace, activity);
    json_write_object_end(writer);
    json_write_object_end(writer);
}

static void
write_device(JsonWriter *writer, size_t slot, SlotRows *rows)
{
    WireTrace *trace = &rows->trace;
    if (trace->activity_count == 0) {
        return;
    }
    qsort(trace->activities, trace->activity_count, sizeof *trace->activities, by_track);
    for (size_t index = 0; index < trace->activity_count; index++) {
        const WireTraceActivity *activity = &trace->activities[index];
        if (index == 0 || activity->track != activity[-1].track) {
            char name[64];
            (void)snprintf(name, sizeof name, "%.*s %.*s", SLICE_PRINT(trace->accelerator),
                SLICE_PRINT(trace->device_texts[activity->track]));
            write_name(writer, "thread_name", slot, DEVICE_THREAD + activity->track, name);
        }
        write_activity(writer, slot, rows, activity);
    }
}

static void
write_run(JsonWriter *writer, const TraceSlot *slot, const WireTrace *trace)
{
    TraceTrack track = {.slot = slot->number, .thread = RUN_THREAD};
    trace_event_begin(writer, "X", SLICE("run"), "slot", track);
    trace_event_time(writer, "ts", slot->sent_ns);
    trace_event_time(writer, "dur", slot->answered_ns - slot->sent_ns);
    json_write_name(writer, "args");
    json_write_object_begin(writer);
    json_member_int64(writer, "task", slot->task);
    json_member_uint64(writer, "left_out", trace->left_out_count);
    json_member_uint64(writer, "left_out_iterations", trace->left_out_iteration_count);
    if (trace->device_source.size > 0) {
        json_member_slice(writer, "device_source", trace->device_source);
        json_member_uint64(writer, "left_out_activities", trace->device_left_out_count);
    }
    json_write_object_end(writer);
    json_write_object_end(writer);
}

static void
write_slot(JsonWriter *writer, const TraceSlot *slot, SlotRows *rows)
{
    char name[64];
    (void)snprintf(name, sizeof name, "slot %zu on /job:worker/task:%d", slot->number, slot->task);
    write_name(writer, "process_name", slot->number, RUN_THREAD, name);
    write_name(writer, "thread_name", slot->number, RUN_THREAD, "run");
    write_run(writer, slot, &rows->trace);
    trace_memory_write(writer, slot->number, rows);
    transfers_spread(&rows->trace);
    for (size_t at = 0; at < rows->trace.row_count; at++) {
        const WireTraceRow *row = &rows->trace.rows[at];
        if (at == 0 || row->thread != row[-1].thread) {
            write_thread_name(writer, slot->number, row->thread);
        }
        write_node(writer, slot->number, rows, row);
    }
    write_device(writer, slot->number, rows);
}

static void
write_about(JsonWriter *writer, const StepTrace *trace)
{
    char id[ID_TEXT_SIZE];
    id_to_text("stp", trace->id.value, id);
    json_write_name(writer, "otherData");
    json_write_object_begin(writer);
    json_member_string(writer, "step", id);
    json_member_int64(writer, "attempt", trace->attempt);
    trace_event_time(writer, "elapsed_us", trace->elapsed_ns);
    json_write_object_end(writer);
}

static Status
write_chrome(Call *call, const StepTrace *trace, Buffer *json)
{
    AUTO_ARENA arena = arena_new(TRACE_ROWS_SIZE_MAX);
    SlotRows *slots = NULL;
    if (arena == NULL) {
        return call_fail_memory(call, "a trace");
    }
    TRY(step_trace_read_rows(call, arena, trace, &slots));
    JsonWriter writer = json_writer(json);
    json_write_object_begin(&writer);
    json_member_string(&writer, "displayTimeUnit", "ns");
    write_about(&writer, trace);
    json_write_name(&writer, "traceEvents");
    json_write_array_begin(&writer);
    for (size_t index = 0; index < trace->slot_count; index++) {
        write_slot(&writer, &trace->slots[index], &slots[index]);
    }
    bool is_told = trace_flows_write(&writer, arena, trace, slots);
    json_write_array_end(&writer);
    json_write_object_end(&writer);
    return is_told ? STATUS_OK : call_fail_memory(call, "the transfers of a trace");
}

const TraceForm trace_form_chrome = {"chrome", write_chrome};
