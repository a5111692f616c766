#include "gateway/traces/trace_form.h"

#include "shared/base/clock.h"
#include "shared/json/writer.h"

/* Writes the label that TensorFlow's timeline parses: "name = Op(arguments)"; here the argument is a
 * transfer's key. */
static void
write_label(JsonWriter *writer, const WireTraceNode *node, const WireTraceRow *row, Buffer *scratch)
{
    buffer_clear(scratch);
    buffer_append_slice(scratch, node->name);
    buffer_append_string(scratch, " = ");
    buffer_append_slice(scratch, node->op);
    buffer_append_byte(scratch, '(');
    buffer_append_slice(scratch, row->key);
    buffer_append_byte(scratch, ')');
    json_member_slice(writer, "timelineLabel", buffer_slice(scratch));
}

/* Writes the times; TensorFlow has each of them in two units. */
static void
write_times(JsonWriter *writer, uint64_t offset_ns, const WireTraceRow *row)
{
    uint64_t start_ns = offset_ns + row->start_ns;
    uint64_t elapsed_ns = row->end_ns - row->start_ns;
    uint64_t scheduled_ns = offset_ns + row->scheduled_ns;
    json_member_uint64(writer, "scheduledMicros", scheduled_ns / CLOCK_NS_PER_US);
    json_member_uint64(writer, "scheduledNanos", scheduled_ns);
    json_member_uint64(writer, "allStartMicros", start_ns / CLOCK_NS_PER_US);
    json_member_uint64(writer, "allStartNanos", start_ns);
    json_member_uint64(writer, "opStartRelMicros", 0);
    json_member_uint64(writer, "opStartRelNanos", 0);
    json_member_uint64(writer, "opEndRelMicros", elapsed_ns / CLOCK_NS_PER_US);
    json_member_uint64(writer, "opEndRelNanos", elapsed_ns);
    json_member_uint64(writer, "allEndRelMicros", elapsed_ns / CLOCK_NS_PER_US);
    json_member_uint64(writer, "allEndRelNanos", elapsed_ns);
}

static void
write_memory(JsonWriter *writer, const WireTraceRow *row)
{
    json_write_name(writer, "memory");
    json_write_array_begin(writer);
    json_write_object_begin(writer);
    json_member_string(writer, "allocatorName", "cpu");
    json_member_uint64(writer, "totalBytes", row->allocated_bytes + row->scratch_bytes);
    json_member_uint64(writer, "peakBytes", row->allocated_bytes + row->scratch_bytes);
    json_member_uint64(writer, "liveBytes", row->allocated_bytes);
    json_member_uint64(writer, "allocatorBytesInUse", row->device_bytes);
    json_write_object_end(writer);
    json_write_array_end(writer);
    json_write_name(writer, "memoryStats");
    json_write_object_begin(writer);
    json_member_uint64(writer, "tempMemorySize", row->scratch_bytes);
    json_write_object_end(writer);
}

static void
write_output(JsonWriter *writer, const WireTraceRow *row)
{
    json_write_name(writer, "output");
    json_write_array_begin(writer);
    json_write_object_begin(writer);
    json_member_uint64(writer, "slot", 0);
    json_write_name(writer, "tensorDescription");
    json_write_object_begin(writer);
    json_write_name(writer, "allocationDescription");
    json_write_object_begin(writer);
    json_member_string(writer, "allocatorName", "cpu");
    json_member_uint64(writer, "requestedBytes", row->output_bytes);
    json_member_uint64(writer, "allocatedBytes", row->allocated_bytes);
    json_write_object_end(writer);
    json_write_object_end(writer);
    json_write_object_end(writer);
    json_write_array_end(writer);
}

static void
write_node(JsonWriter *writer, const SlotRows *slot, const WireTraceRow *row, Buffer *scratch)
{
    const WireTraceNode *node = &slot->trace.nodes[row->node];
    json_write_object_begin(writer);
    json_member_slice(writer, "nodeName", node->name);
    write_label(writer, node, row, scratch);
    json_member_uint64(writer, "threadId", (uint32_t)row->thread);
    write_times(writer, slot->offset_ns, row);
    write_memory(writer, row);
    if (row->output_bytes > 0) {
        write_output(writer, row);
    }
    json_write_object_end(writer);
}

/* The nodes of a slot that one device has computed. */
typedef struct DeviceNodes {
    const SlotRows *slot;
    int32_t task;
    Slice device; /* "/device:CPU:0" */
    bool is_accelerator;
} DeviceNodes;

/* Returns false when memory for a label was missing. */
static bool
write_device(JsonWriter *writer, const DeviceNodes *nodes)
{
    const WireTrace *trace = &nodes->slot->trace;
    AUTO_BUFFER scratch = {0};
    buffer_append_format(
        &scratch, "/job:worker/replica:0/task:%d%.*s", nodes->task, SLICE_PRINT(nodes->device));
    bool is_whole = buffer_is_ok(&scratch);
    json_write_object_begin(writer);
    json_member_slice(writer, "device", buffer_slice(&scratch));
    json_write_name(writer, "nodeStats");
    json_write_array_begin(writer);
    for (size_t index = 0; index < trace->row_count; index++) {
        const WireTraceRow *row = &trace->rows[index];
        if (trace->nodes[row->node].is_accelerated == nodes->is_accelerator) {
            write_node(writer, nodes->slot, row, &scratch);
            is_whole = is_whole && buffer_is_ok(&scratch);
        }
    }
    json_write_array_end(writer);
    json_write_object_end(writer);
    return is_whole;
}

static bool
write_slot(JsonWriter *writer, int32_t task, const SlotRows *slot)
{
    DeviceNodes host = {.slot = slot, .task = task, .device = SLICE("/device:CPU:0")};
    DeviceNodes accelerator = {
        .slot = slot, .task = task, .device = slot->trace.accelerator, .is_accelerator = true};
    bool is_whole = write_device(writer, &host);
    return slot->trace.accelerator.size == 0 ? is_whole : write_device(writer, &accelerator) && is_whole;
}

static Status
write_step_stats(Call *call, const StepTrace *trace, Buffer *json)
{
    AUTO_ARENA arena = arena_new(TRACE_ROWS_SIZE_MAX);
    SlotRows *slots = NULL;
    bool is_whole = true;
    if (arena == NULL) {
        return call_fail_memory(call, "the statistics of a step");
    }
    TRY(step_trace_read_rows(call, arena, trace, &slots));
    JsonWriter writer = json_writer(json);
    json_write_object_begin(&writer);
    json_write_name(&writer, "devStats");
    json_write_array_begin(&writer);
    for (size_t index = 0; index < trace->slot_count; index++) {
        is_whole = write_slot(&writer, trace->slots[index].task, &slots[index]) && is_whole;
    }
    json_write_array_end(&writer);
    json_write_object_end(&writer);
    return is_whole ? STATUS_OK : call_fail_memory(call, "the statistics of a step");
}

const TraceForm trace_form_step_stats = {"step_stats", write_step_stats};
