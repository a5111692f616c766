#include "gateway/traces/step_trace.h"

#include <assert.h>
#include <string.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"

/* Makes the slot's times relative to the step's start; a slot that was not answered ended with the step. */
static TraceSlot
slot_of(const StepReport *report, const SlotReport *slot)
{
    uint64_t end_ns = report->elapsed_us * CLOCK_NS_PER_US;
    uint64_t sent_ns = slot->sent_ns - report->started_ns;
    uint64_t answered_ns = slot->answered_ns == 0 ? end_ns : slot->answered_ns - report->started_ns;
    return (TraceSlot){
        .task = slot->task,
        .sent_ns = sent_ns,
        .answered_ns = answered_ns > sent_ns ? answered_ns : sent_ns,
    };
}

StepTrace *
step_trace_new(const TraceOrigin *origin, const StepReport *report)
{
    assert(origin->plan != NULL && report->slot_count <= origin->plan->partition_count);

    size_t text_size = 0;
    for (size_t index = 0; index < report->slot_count; index++) {
        text_size += report->slots[index].stats.trace.size;
    }
    size_t size = sizeof(StepTrace) + report->slot_count * sizeof(TraceSlot) + text_size;
    StepTrace *trace = memory_new(1, size);
    if (trace == NULL) {
        return NULL;
    }
    trace->reference_count = 1;
    trace->tenant = origin->tenant;
    trace->session = origin->session;
    trace->id = origin->id;
    trace->attempt = report->attempt;
    trace->elapsed_ns = report->elapsed_us * CLOCK_NS_PER_US;
    trace->size = size;
    char *text = (char *)(trace->slots + report->slot_count);
    for (size_t index = 0; index < report->slot_count; index++) {
        const SlotReport *slot = &report->slots[index];
        Slice nodes = slot->stats.trace;
        if (slot->sent_ns == 0) {
            continue;
        }
        TraceSlot *kept = &trace->slots[trace->slot_count++];
        *kept = slot_of(report, slot);
        kept->number = index;
        memcpy(kept->digest, origin->plan->partitions[index].digest, sizeof kept->digest);
        trace->elapsed_ns = kept->answered_ns > trace->elapsed_ns ? kept->answered_ns : trace->elapsed_ns;
        if (nodes.size > 0) {
            memcpy(text, nodes.data, nodes.size);
            kept->nodes = slice_of(text, nodes.size);
            text += nodes.size;
        }
    }
    return trace;
}

StepTrace *
step_trace_ref(StepTrace *trace)
{
    assert(atomic_load_relaxed(&trace->reference_count) > 0);

    reference_count_add(&trace->reference_count);
    return trace;
}

void
step_trace_unref(StepTrace *trace)
{
    if (trace != NULL && reference_count_drop(&trace->reference_count)) {
        memory_free(trace);
    }
}

Status
step_trace_read_rows(Call *call, Arena *arena, const StepTrace *trace, SlotRows **ret_slots)
{
    SlotRows *slots = arena_alloc(arena, (trace->slot_count + 1) * sizeof *slots);
    if (slots == NULL) {
        return call_fail_memory(call, "the rows of a trace");
    }
    for (size_t index = 0; index < trace->slot_count; index++) {
        const TraceSlot *slot = &trace->slots[index];
        Call reading = {.arena = arena};
        slots[index] = (SlotRows){.room_ns = slot->answered_ns - slot->sent_ns, .offset_ns = slot->sent_ns};
        if (slot->nodes.size > 0 &&
            wire_trace_read(&reading, slot->nodes, &slots[index].trace) != STATUS_OK) {
            return call_fail(call, STATUS_INTERNAL, "the trace of slot %zu cannot be read: %s", slot->number,
                reading.error.message);
        }
    }
    *ret_slots = slots;
    return trace_clock_align(arena, slots, trace->slot_count)
               ? STATUS_OK
               : call_fail_memory(call, "the clocks of a trace");
}
