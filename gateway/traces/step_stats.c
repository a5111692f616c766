#include "gateway/traces/trace_form.h"

#include <stdio.h>

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

/* Writes a slot's nodes; false when memory for a label was missing. */
static bool
write_slot(JsonWriter *writer, int32_t task, const SlotRows *slot)
{
    char device[64];
    AUTO_BUFFER scratch = {0};
    bool is_whole = true;
    (void)snprintf(device, sizeof device, "/job:worker/replica:0/task:%d/device:CPU:0", task);
    json_write_object_begin(writer);
    json_member_string(writer, "device", device);
    json_write_name(writer, "nodeStats");
    json_write_array_begin(writer);
    for (size_t index = 0; index < slot->trace.row_count; index++) {
        write_node(writer, slot, &slot->trace.rows[index], &scratch);
        is_whole = is_whole && buffer_is_ok(&scratch);
    }
    json_write_array_end(writer);
    json_write_object_end(writer);
    return is_whole;
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
