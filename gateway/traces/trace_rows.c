#include "gateway/traces/trace_rows.h"

Status
trace_rows_read(Call *call, Arena *arena, const StepTrace *trace, SlotRows *ret_slots)
{
    for (size_t index = 0; index < trace->slot_count; index++) {
        const TraceSlot *const slot = &trace->slots[index];
        Call reading = {.arena = arena};
        ret_slots[index] =
            (SlotRows){.room_ns = slot->answered_ns - slot->sent_ns, .offset_ns = slot->sent_ns};
        if (slot->nodes.size > 0 &&
            wire_trace_read(&reading, slot->nodes, &ret_slots[index].trace) != STATUS_OK) {
            return call_fail(call, STATUS_INTERNAL, "the trace of slot %zu cannot be read: %s", slot->number,
                reading.error.message);
        }
    }
    return trace_clock_align(arena, ret_slots, trace->slot_count)
               ? STATUS_OK
               : call_fail_memory(call, "the clocks of a trace");
}
