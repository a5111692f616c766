/* A loop whose nodes lie on several slots gets a control loop on each of them (TensorFlow's AddControlLoop):
 *
 *     start → Enter → Merge → Switch(LoopCond) → NextIteration → Merge
 *
 * It turns as often as the loop does, for the predicate of its LoopCond is sent to every slot. Every receive
 * inside the loop waits for the control loop's Merge: so it receives in the right frame, once an iteration,
 * and a part of the body that computes from received values and constants alone is driven by it. The start is
 * a constant outside of all loops, and the Merge of the control loop around within one. */
#include "gateway/plan/partition.h"

#include "shared/base/text.h"

static Slice
part_name(const Partitioning *partitioning, uint32_t frame, const char *part)
{
    const GraphFrames *const frames = &partitioning->compile->frames;
    const Node *const enter = &partitioning->compile->graph->nodes[frames->frames[frame].enter];
    return slice_from_string(
        text_format(partitioning->compile->call->arena, "_cloop_%s_%.*s", part, SLICE_PRINT(enter->name)));
}

Slice
control_loop_input(const Partitioning *partitioning, uint32_t frame)
{
    return partition_name(partitioning, "^", part_name(partitioning, frame, "merge"));
}

/* --- Which loops, where --------------------------------------------------------------------------------- */

static bool
is_on_several(uint16_t slots)
{
    return (slots & (slots - 1)) != 0;
}

/* Where a loop has nodes, the loops around it have to be too. */
static void
collect_slots(const Compile *compile, uint16_t *slots)
{
    const GraphFrames *const frames = &compile->frames;
    for (uint32_t id = 0; id < compile->graph->node_count; id++) {
        const uint32_t slot = compile->slots[id];
        if (slot != SLOT_COPIED) {
            slots[frames->inputs[id]] = (uint16_t)(slots[frames->inputs[id]] | 1u << slot);
            slots[frames->outputs[id]] = (uint16_t)(slots[frames->outputs[id]] | 1u << slot);
        }
    }
    for (uint32_t frame = frames->frame_count; frame-- > 1;) {
        const uint32_t parent = frames->frames[frame].parent;
        slots[parent] = (uint16_t)(slots[parent] | slots[frame]);
    }
}

/* --- Writing one ---------------------------------------------------------------------------------------- */

static void
emit_start(Partitioning *partitioning, uint32_t slot, Slice name)
{
    static const Shape empty = {.rank = 1};
    const Attr attrs[] = {
        partition_type(SLICE("dtype"), DTYPE_FLOAT32),
        {.name = SLICE("value"),
            .value = {.kind = ATTR_TENSOR, .value.tensor = {.dtype = DTYPE_FLOAT32, .shape = empty}}},
    };
    partition_emit(partitioning, slot,
        &(NodeDef){.name = name,
            .op = SLICE("Const"),
            .attrs = partition_attrs(partitioning, attrs, COUNT_OF(attrs)),
            .attr_count = COUNT_OF(attrs)});
}

static void
emit_enter(Partitioning *partitioning, uint32_t slot, uint32_t number, Slice input)
{
    const GraphFrame *const frame = &partitioning->compile->frames.frames[number];
    const Attr attrs[] = {
        partition_type(SLICE("T"), DTYPE_FLOAT32),
        {.name = SLICE("frame_name"), .value = {.kind = ATTR_STRING, .value.s = frame->name}},
        {.name = SLICE("is_constant"), .value = {.kind = ATTR_BOOL, .value.b = false}},
        {.name = SLICE("parallel_iterations"),
            .value = {.kind = ATTR_INT, .value.i = frame->parallel_iterations}},
    };
    partition_emit(partitioning, slot,
        &(NodeDef){.name = part_name(partitioning, number, "enter"),
            .op = SLICE("Enter"),
            .inputs = partition_inputs(partitioning, &input, 1),
            .input_count = 1,
            .attrs = partition_attrs(partitioning, attrs, COUNT_OF(attrs)),
            .attr_count = COUNT_OF(attrs)});
}

/* Merge, Switch and NextIteration: {T}, and {N} of the Merge. */
static void
emit_part(Partitioning *partitioning, uint32_t slot, const char *op, Slice name, const Slice inputs[2])
{
    const size_t input_count = inputs[1].size > 0 ? 2 : 1;
    const Attr attrs[] = {
        partition_type(SLICE("T"), DTYPE_FLOAT32),
        {.name = SLICE("N"), .value = {.kind = ATTR_INT, .value.i = 2}},
    };
    const size_t attr_count = strcmp(op, "Merge") == 0 ? 2 : 1;
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
    const GraphFrame *const frame = &partitioning->compile->frames.frames[number];
    const bool is_outermost = frame->parent == FRAME_ROOT;
    const Slice start =
        part_name(partitioning, is_outermost ? number : frame->parent, is_outermost ? "start" : "merge");
    const Slice enter = part_name(partitioning, number, "enter");
    const Slice merge = part_name(partitioning, number, "merge");
    const Slice choice = part_name(partitioning, number, "switch");
    const Slice next = part_name(partitioning, number, "next");
    const Slice taken =
        slice_from_string(text_format(partitioning->compile->call->arena, "%.*s:1", SLICE_PRINT(choice)));
    if (is_outermost) {
        emit_start(partitioning, slot, start);
    }
    emit_enter(partitioning, slot, number, start);
    emit_part(partitioning, slot, "Merge", merge, (Slice[]){enter, next});
    const Slice predicate =
        partition_data_input(partitioning, (Endpoint){.node = frame->loop_cond, .port = 0}, slot);
    emit_part(partitioning, slot, "Switch", choice, (Slice[]){merge, predicate});
    emit_part(partitioning, slot, "NextIteration", next, (Slice[]){taken, {0}});
}

/* --- All ------------------------------------------------------------------------------------------------ */

Status
emit_control_loops(Partitioning *partitioning)
{
    const Compile *const compile = partitioning->compile;
    const GraphFrames *const frames = &compile->frames;
    partitioning->loop_slots = compile_alloc(compile, frames->frame_count, sizeof *partitioning->loop_slots);
    if (partitioning->loop_slots == NULL) {
        return compile_no_memory(compile);
    }
    collect_slots(compile, partitioning->loop_slots);
    for (uint32_t frame = 1; frame < frames->frame_count; frame++) {
        const uint16_t slots = partitioning->loop_slots[frame];
        for (uint32_t slot = 0; slot < compile->slot_count && is_on_several(slots); slot++) {
            if ((slots & 1u << slot) != 0) {
                emit_control_loop(partitioning, slot, frame);
            }
        }
    }
    return STATUS_OK;
}
