/* A loop whose nodes lie on several slots gets a control loop on each of them (TensorFlow's AddControlLoop):
 *
 *     start → Enter → Merge → Switch(LoopCond) → NextIteration → Merge
 *
 * The control loop turns as often as the loop itself, because the predicate of the loop's LoopCond is sent to
 * every slot. Every receive inside the loop waits for the control loop's Merge: it receives in the right
 * frame, once an iteration, and it drives a part of the body that computes from received values and constants
 * alone. The start of an outermost loop is a constant; that of an inner one is the Merge of the control loop
 * around it. */
#include "gateway/plan/partition.h"

#include "shared/base/text.h"

static bool
is_on_several(SlotSets loops, uint32_t loop)
{
    int count = 0;
    for (size_t word = 0; word < loops.set_words; word++) {
        count += __builtin_popcountll(loops.words[loop * loops.set_words + word]);
    }
    return count > 1;
}

/* A slot with nodes of a loop has a part of every loop around it, too. */
static void
collect_slots(const Compile *compile, SlotSets loops)
{
    const GraphFrames *frames = &compile->frames;
    for (uint32_t id = 0; id < compile->graph->node_count; id++) {
        uint32_t slot = compile->slots[id];
        if (slot != SLOT_COPIED) {
            slot_sets_add(loops, frames->inputs[id], slot);
            slot_sets_add(loops, frames->outputs[id], slot);
        }
    }
    for (uint32_t frame = frames->frame_count; frame-- > 1;) {
        uint32_t parent = frames->frames[frame].parent;
        for (size_t word = 0; word < loops.set_words; word++) {
            loops.words[parent * loops.set_words + word] |= loops.words[frame * loops.set_words + word];
        }
    }
}

static void
emit_enter(Partitioning *partitioning, uint32_t slot, uint32_t number, Slice input)
{
    const GraphFrame *frame = &partitioning->compile->frames.frames[number];
    const Attr attrs[] = {
        partition_type_attr(SLICE("T"), DTYPE_FLOAT32),
        {.name = SLICE("frame_name"), .value = {.kind = ATTR_STRING, .value.s = frame->name}},
        {.name = SLICE("is_constant"), .value = {.kind = ATTR_BOOL, .value.b = false}},
        {.name = SLICE("parallel_iterations"),
            .value = {.kind = ATTR_INT, .value.i = frame->parallel_iterations}},
    };
    partition_emit(partitioning, slot,
        &(NodeDef){.name = partition_loop_part(partitioning, number, "enter"),
            .op = SLICE("Enter"),
            .inputs = partition_inputs(partitioning, &input, 1),
            .input_count = 1,
            .attrs = partition_attrs(partitioning, attrs, COUNT_OF(attrs)),
            .attr_count = COUNT_OF(attrs)});
}

/* Writes a Merge, Switch or NextIteration: all have the attribute T, a Merge also N. */
static void
emit_loop_op(Partitioning *partitioning, uint32_t slot, const char *op, Slice name, const Slice inputs[2])
{
    size_t input_count = inputs[1].size > 0 ? 2 : 1;
    const Attr attrs[] = {
        partition_type_attr(SLICE("T"), DTYPE_FLOAT32),
        {.name = SLICE("N"), .value = {.kind = ATTR_INT, .value.i = 2}},
    };
    size_t attr_count = strcmp(op, "Merge") == 0 ? 2 : 1;
    partition_emit(partitioning, slot,
        &(NodeDef){.name = name,
            .op = slice_from_string(op),
            .inputs = partition_inputs(partitioning, inputs, input_count),
            .input_count = input_count,
            .attrs = partition_attrs(partitioning, attrs, attr_count),
            .attr_count = attr_count});
}

static void
emit_control_loop(Partitioning *partitioning, uint32_t slot, uint32_t number)
{
    const GraphFrame *frame = &partitioning->compile->frames.frames[number];
    bool is_outermost = frame->parent == FRAME_ROOT;
    Slice start = partition_loop_part(
        partitioning, is_outermost ? number : frame->parent, is_outermost ? "start" : "merge");
    Slice enter = partition_loop_part(partitioning, number, "enter");
    Slice merge = partition_loop_part(partitioning, number, "merge");
    Slice choice = partition_loop_part(partitioning, number, "switch");
    Slice next = partition_loop_part(partitioning, number, "next");
    Slice taken =
        slice_from_string(text_format(partitioning->compile->call->arena, "%.*s:1", SLICE_PRINT(choice)));
    if (is_outermost) {
        partition_emit_signal(partitioning, slot, start, NULL, 0);
    }
    emit_enter(partitioning, slot, number, start);
    emit_loop_op(partitioning, slot, "Merge", merge, (Slice[]){enter, next});
    Slice predicate =
        partition_data_input(partitioning, (Endpoint){.node = frame->loop_cond, .port = 0}, slot);
    emit_loop_op(partitioning, slot, "Switch", choice, (Slice[]){merge, predicate});
    emit_loop_op(partitioning, slot, "NextIteration", next, (Slice[]){taken, {0}});
}

Status
partition_control_loops(Partitioning *partitioning)
{
    const Compile *compile = partitioning->compile;
    const GraphFrames *frames = &compile->frames;
    partitioning->loop_slots = slot_sets_new(compile, frames->frame_count);
    if (partitioning->loop_slots.words == NULL) {
        return compile_no_memory(compile);
    }
    collect_slots(compile, partitioning->loop_slots);
    for (uint32_t frame = 1; frame < frames->frame_count; frame++) {
        bool is_cut = is_on_several(partitioning->loop_slots, frame);
        for (uint32_t slot = 0; is_cut && slot < compile->slot_count; slot++) {
            if (slot_sets_have(partitioning->loop_slots, frame, slot)) {
                emit_control_loop(partitioning, slot, frame);
            }
        }
    }
    return STATUS_OK;
}
