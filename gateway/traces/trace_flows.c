#include "gateway/traces/trace_flows.h"

#include <stdlib.h>

#include "gateway/traces/trace_event.h"

/* --- Arrows --------------------------------------------------------------------------------------------- */

typedef struct Flow {
    const StepTrace *trace;
    const SlotRows *slots;
    const TraceSent *sent;
    size_t receiver;
    const WireTraceRow *received;
    uint64_t id;
} Flow;

/* Slots on the same worker hand a tensor over as a pointer. */
static const char *
flow_way(const Flow *flow)
{
    const TraceSlot *const slots = flow->trace->slots;
    if (slots[flow->sent->slot].task == slots[flow->receiver].task) {
        return "handed over";
    }
    return flow->received->was_pulled ? "pulled" : "pushed";
}

static void
flow_end(JsonWriter *writer, const Flow *flow, const char *phase, size_t slot, uint64_t time_ns)
{
    const bool is_start = slot == flow->sent->slot;
    const WireTraceRow *const row = is_start ? flow->sent->row : flow->received;
    const TracePlace place = {.slot = flow->trace->slots[slot].number, .thread = row->thread};
    trace_event_begin(writer, phase, SLICE("tensor"), "flow", place);
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

bool
trace_flows_write(JsonWriter *writer, Arena *arena, const StepTrace *trace, const SlotRows *slots)
{
    AUTO_MAP sends = map_new();
    uint64_t count = 0;
    if (sends == NULL || !trace_sends_find(arena, slots, trace->slot_count, sends)) {
        return false;
    }
    for (size_t slot = 0; slot < trace->slot_count; slot++) {
        const WireTrace *const rows = &slots[slot].trace;
        for (size_t index = 0; index < rows->row_count; index++) {
            const WireTraceRow *const row = &rows->rows[index];
            const bool is_receive = trace_is_transfer(rows, row, "_Recv");
            const TraceSent *const sent = is_receive ? map_get(sends, row->key) : NULL;
            if (sent != NULL && sent->slot != slot) {
                flow_write(writer, &(Flow){trace, slots, sent, slot, row, ++count});
            }
        }
    }
    return true;
}

/* --- Memory --------------------------------------------------------------------------------------------- */

static int
by_end(const void *left, const void *right)
{
    const WireTraceRow *const a = left;
    const WireTraceRow *const b = right;
    return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

void
trace_memory_write(JsonWriter *writer, size_t slot, SlotRows *rows)
{
    const TracePlace place = {.slot = slot};
    uint64_t before = 0;
    if (rows->trace.row_count > 1) {
        qsort(rows->trace.rows, rows->trace.row_count, sizeof *rows->trace.rows, by_end);
    }
    for (size_t index = 0; index < rows->trace.row_count; index++) {
        const WireTraceRow *const row = &rows->trace.rows[index];
        if (row->device_bytes == before) {
            continue;
        }
        before = row->device_bytes;
        trace_event_begin(writer, "C", SLICE("device memory"), NULL, place);
        trace_event_time(writer, "ts", rows->offset_ns + row->end_ns);
        json_write_name(writer, "args");
        json_write_object_begin(writer);
        json_member_uint64(writer, "bytes", row->device_bytes);
        json_write_object_end(writer);
        json_write_object_end(writer);
    }
}
