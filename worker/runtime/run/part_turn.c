/* Happy path, with a capture that is ready: 1. the key is made of what the part reads; 2. outputs are made in
 * the run's memory; 3. the accelerator copies the inputs to where the captured work reads them, does the
 * work, and copies the outputs from where it writes them; 4. the outputs go on to their readers.
 *
 * Runs that measure or capture compute all members before anything goes on, and hold the part's inputs and
 * outputs meanwhile, so that kernels find the same buffers free to be overwritten in both.
 *
 * Failures: what cannot be captured is run plainly. A kernel that fails while it is captured fails again
 * there, and says why. */
#include "worker/runtime/run/part_turn.h"

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "worker/runtime/run/compute.h"
#include "worker/runtime/run/node_tensors.h"

enum {
    /* Bytes that a launch may take of memory on average: at a terabyte a second 20 us, of which the 4 us of a
     * launch are a fifth. */
    LAUNCH_BYTES_MAX = 20 * 1000 * 1000,
};

/* Makes room for the tensors of a turn. False without memory. */
static bool
begin_turn(PartRun *run)
{
    size_t input_count = run->part->input_count;
    size_t output_count = run->part->output_count;
    run->inputs = memory_new(input_count + output_count + 1, sizeof(Tensor));
    run->moves = memory_new(input_count + output_count + 1, sizeof(DeviceMove));
    run->outputs = run->inputs == NULL ? NULL : run->inputs + input_count;
    return run->inputs != NULL && run->moves != NULL;
}

static void
end_turn(PartRun *run)
{
    for (uint32_t i = 0; run->inputs != NULL && i < run->part->input_count + run->part->output_count; i++) {
        tensor_unref(&run->inputs[i]);
    }
    memory_free(TAKE(run->inputs));
    memory_free(TAKE(run->moves));
}

/* Replaces an input in all slots from which members read it. */
static void
fill_slots(const PartRun *run, uint32_t input, const Tensor *tensor)
{
    const PartInput *about = &run->part->inputs[input];
    for (uint32_t i = 0; i < about->slot_count; i++) {
        Tensor *slot = &run->iteration->slots[about->slots[i]];
        tensor_unref(slot);
        *slot = tensor_ref(tensor);
    }
}

static void
clear_slots(const PartRun *run)
{
    for (uint32_t i = 0; i < run->part->member_count; i++) {
        const ScheduleNode *node = part_node(run, i);
        tensors_release(&run->iteration->slots[node->slot], node->node->input_count);
    }
}

static void
hold_inputs(const PartRun *run)
{
    for (uint32_t i = 0; i < run->part->input_count; i++) {
        run->inputs[i] = tensor_ref(part_input(run, i));
    }
}

static void
hold_outputs(const PartRun *run, uint32_t member, const Tensor *outputs)
{
    for (uint32_t i = 0; i < run->part->output_count; i++) {
        if (run->part->outputs[i].member == member) {
            run->outputs[i] = tensor_ref(&outputs[run->part->outputs[i].port]);
        }
    }
}

/* Computes all members, and holds the part's outputs. Nothing outside of the part goes on. False: a member
 * has failed, the reason is in the call, and *ret_failed says which one. */
static bool
compute_members(const PartRun *run, uint32_t *ret_failed)
{
    Ticket *ticket = run->ticket;
    for (uint32_t i = 0; i < run->part->member_count; i++) {
        const ScheduleNode *node = part_node(run, i);
        Activation *activation = part_activation(run, i);
        Tensor *outputs = outputs_begin(ticket, activation, node);
        part_trace_member(run, i);
        if (!node_compute(ticket, activation, node, outputs)) {
            tensors_release(outputs, node->node->output_count);
            *ret_failed = i;
            return false;
        }
        hold_outputs(run, i, outputs);
        ticket_propagate(ticket, run->iteration, &run->part->members[i].inner, outputs, false);
        ticket_renew_arena(ticket);
        if (ticket->call.arena == NULL) {
            *ret_failed = i;
            return call_fail_memory(&ticket->call, "scratch memory of kernels") == STATUS_OK;
        }
    }
    return true;
}

/* Passes the part's outputs on to their readers outside of it. */
static void
pass_outputs_on(const PartRun *run)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < run->part->member_count; i++) {
        const ScheduleNode *row = &run->part->members[i].outer;
        if (row->edge_count == 0) {
            continue;
        }
        Tensor *outputs = outputs_begin(run->ticket, part_activation(run, i), part_node(run, i));
        for (; next < run->part->output_count && run->part->outputs[next].member == i; next++) {
            tensor_copy(&outputs[run->part->outputs[next].port], &run->outputs[next]);
            run->outputs[next] = (Tensor){0};
        }
        ticket_propagate(run->ticket, run->iteration, row, outputs, false);
    }
}

/* Undoes what a turn has begun, and runs the part plainly: that takes less memory at a time. */
static void
run_plainly_after_all(const PartRun *run)
{
    Call *call = &run->ticket->call;
    for (uint32_t i = 0; i < run->part->output_count; i++) {
        tensor_unref(&run->outputs[i]);
    }
    clear_slots(run);
    for (uint32_t i = 0; i < run->part->input_count; i++) {
        fill_slots(run, i, &run->inputs[i]);
        tensor_unref(&run->inputs[i]);
    }
    call->error.code = STATUS_OK;
    call->error.message[0] = '\0';
    call->error.node[0] = '\0';
    part_run_plainly(run);
}

static void
give_capture_up(const PartRun *run, CaptureRefusal reason)
{
    captures_refuse(run->captures, run->capture, reason);
    run_plainly_after_all(run);
}

static bool
is_large(const PartRun *run, const CaptureMemory *memory)
{
    return capture_memory_total(memory) / LAUNCH_BYTES_MAX > run->part->launch_count;
}

/* Reserves places for the inputs as capture_inputs() takes them. */
static bool
reserve_inputs(const PartRun *run, CaptureMemory *memory)
{
    for (uint32_t i = 0; i < run->part->input_count; i++) {
        const Tensor *input = &run->inputs[i];
        if (!tensor_is_on_host(input) && !capture_memory_reserve(memory, tensor_byte_size(input))) {
            return false;
        }
    }
    return true;
}

/* Ends a turn that has measured a part whose members have all been computed. */
static void
note_measured(const PartRun *run, const CaptureMemory *memory)
{
    if (is_large(run, memory)) {
        captures_refuse(run->captures, run->capture, CAPTURE_IS_LARGE);
    } else {
        run->capture->memory_size = capture_memory_size(memory);
        captures_end(run->captures, run->capture);
    }
    pass_outputs_on(run);
}

static void
measure(PartRun *run)
{
    uint32_t failed = 0;
    CaptureMemory *memory = capture_memory_new(run->device, NULL);
    hold_inputs(run);
    if (memory == NULL || !reserve_inputs(run, memory)) {
        give_capture_up(run, CAPTURE_LACKS_MEMORY);
        capture_memory_unref(memory);
        return;
    }
    CaptureMemory *before = capture_memory_enter(memory);
    bool is_right = compute_members(run, &failed);
    (void)capture_memory_enter(before);
    if (is_right) {
        note_measured(run, memory);
    } else if (run->ticket->call.error.code == STATUS_RESOURCE_EXHAUSTED) {
        give_capture_up(run, CAPTURE_LACKS_MEMORY);
    } else {
        captures_end(run->captures, run->capture);
        part_fail_member(run, failed);
    }
    capture_memory_unref(memory);
}

/* Makes a tensor like `input` where the captured work reads it. */
static bool
capture_input(CaptureMemory *memory, const Tensor *input, Tensor *ret_tensor)
{
    if (tensor_is_on_host(input)) {
        *ret_tensor = tensor_ref(input);
        return true;
    }
    TensorBuffer *buffer = capture_memory_give(memory, tensor_byte_size(input), NULL);
    if (buffer == NULL) {
        return false;
    }
    ret_tensor->dtype = input->dtype;
    shape_copy(&ret_tensor->shape, &input->shape);
    ret_tensor->data = buffer->data;
    ret_tensor->buffer = buffer;
    return true;
}

/* Gives the capture its memory and the inputs in it, which the members find in their slots. */
static bool
capture_inputs(const PartRun *run)
{
    Capture *capture = run->capture;
    TensorBuffer *block =
        captures_allocate(run->captures, run->ticket->partition->tenant, capture->memory_size);
    capture->memory = block == NULL ? NULL : capture_memory_new(run->device, block);
    if (capture->memory == NULL) {
        tensor_buffer_unref(block);
        return false;
    }
    capture->inputs = memory_new(run->part->input_count + run->part->output_count + 1, sizeof(Tensor));
    if (capture->inputs == NULL) {
        return false;
    }
    capture->outputs = capture->inputs + run->part->input_count;
    capture->input_count = run->part->input_count;
    capture->output_count = run->part->output_count;
    for (uint32_t i = 0; i < run->part->input_count; i++) {
        if (!capture_input(capture->memory, &run->inputs[i], &capture->inputs[i])) {
            return false;
        }
    }
    return true;
}

/* Adds a move of a tensor's elements, if there are any and they are the accelerator's. */
static void
add_move(DeviceMove *moves, uint32_t *count, const Tensor *to, const Tensor *from)
{
    if (from->buffer != NULL && !tensor_is_on_host(from)) {
        moves[(*count)++] = (DeviceMove){.to = to->data, .from = from->data, .size = tensor_byte_size(from)};
    }
}

static DeviceReplay
moves_of_inputs(const PartRun *run)
{
    DeviceReplay replay = {.graph = run->capture->graph, .inputs = run->moves};
    for (uint32_t i = 0; i < run->part->input_count; i++) {
        add_move(run->moves, &replay.input_count, &run->capture->inputs[i], &run->inputs[i]);
    }
    return replay;
}

/* Computes the members between the two ends of a capture. */
static bool
capture_members(PartRun *run)
{
    Call *call = &run->ticket->call;
    DeviceLane *lane = run->ticket->run->lane;
    uint32_t failed = 0;
    DeviceReplay inputs = moves_of_inputs(run);
    if (run->device->begin_capture(call, run->device, lane, &inputs) != STATUS_OK) {
        return false;
    }
    CaptureMemory *before = capture_memory_enter(run->capture->memory);
    run->ticket->is_capturing = true;
    bool is_right = compute_members(run, &failed);
    run->ticket->is_capturing = false;
    (void)capture_memory_enter(before);
    DeviceGraph *graph = NULL;
    Status status = run->device->end_capture(call, run->device, lane, &graph);
    if (status == STATUS_OK && !is_right) {
        run->device->free_graph(run->device, TAKE(graph));
    }
    run->capture->graph = graph;
    return is_right && status == STATUS_OK;
}

/* Takes the inputs out of their slots. */
static void
take_inputs(const PartRun *run)
{
    for (uint32_t i = 0; i < run->part->input_count; i++) {
        const PartInput *input = &run->part->inputs[i];
        tensor_copy(&run->inputs[i], &run->iteration->slots[input->slots[0]]);
        run->iteration->slots[input->slots[0]] = (Tensor){0};
        for (uint32_t k = 1; k < input->slot_count; k++) {
            tensor_unref(&run->iteration->slots[input->slots[k]]);
        }
    }
}

/* Makes an output of the run like one of the capture's. Those on the host are the same in each replay. */
static Status
make_output(const PartRun *run, uint32_t index)
{
    const Tensor *like = &run->capture->outputs[index];
    const PartOutput *output = &run->part->outputs[index];
    if (tensor_is_on_host(like)) {
        run->outputs[index] = tensor_ref(like);
        return STATUS_OK;
    }
    const ScheduleNode *node = part_node(run, output->member);
    Tensor *outputs = outputs_begin(run->ticket, part_activation(run, output->member), node);
    KernelContext context = node_context(run->ticket, node, NULL, outputs);
    Tensor *made = NULL;
    context.device = run->device;
    context.host_outputs = 0;
    TRY(kernel_output(&context, output->port, like->dtype, &like->shape, &made));
    tensor_copy(&run->outputs[index], made);
    *made = (Tensor){0};
    return STATUS_OK;
}

static Status
make_outputs(const PartRun *run, uint32_t *ret_member)
{
    for (uint32_t i = 0; i < run->part->output_count; i++) {
        *ret_member = run->part->outputs[i].member;
        TRY(make_output(run, i));
    }
    *ret_member = 0;
    return STATUS_OK;
}

static Status
enqueue_replay(const PartRun *run)
{
    DeviceReplay replay = moves_of_inputs(run);
    replay.outputs = run->moves + replay.input_count;
    for (uint32_t i = 0; i < run->part->output_count; i++) {
        add_move(run->moves + replay.input_count, &replay.output_count, &run->outputs[i],
            &run->capture->outputs[i]);
    }
    ticket_mark(run->ticket, part_activation(run, 0));
    return run->device->replay(&run->ticket->call, run->device, run->ticket->run->lane, &replay);
}

/* Goes on with a run whose outputs are on their way. */
static void
end_replay(const PartRun *run)
{
    captures_end(run->captures, run->capture);
    run->ticket->accelerated_count += run->part->launch_count;
    trace_end(trace_of(run->ticket, part_activation(run, 0)), run->ticket->partition->device, run->outputs,
        run->part->output_count);
    pass_outputs_on(run);
}

/* Ends a turn whose work could not be enqueued. A graph that fails costs its run, of which some copies may be
 * under way, but no later one. */
static void
fail_replay(const PartRun *run, Status status)
{
    if (status == STATUS_FAILED_PRECONDITION) {
        captures_end_stale(run->captures, run->capture);
        run_plainly_after_all(run);
    } else {
        captures_end_failed(run->captures, run->capture);
        part_fail_member(run, 0);
    }
}

/* Ends a turn whose outputs could not be made. */
static void
fail_outputs(const PartRun *run, Status status, uint32_t member)
{
    captures_end(run->captures, run->capture);
    if (status == STATUS_RESOURCE_EXHAUSTED) {
        run_plainly_after_all(run);
    } else {
        part_fail_member(run, member);
    }
}

/* Does the captured work with the inputs in run->inputs. */
static void
replay_inputs(const PartRun *run)
{
    uint32_t member = 0;
    Status status = make_outputs(run, &member);
    if (status != STATUS_OK) {
        fail_outputs(run, status, member);
        return;
    }
    status = enqueue_replay(run);
    if (status != STATUS_OK) {
        fail_replay(run, status);
        return;
    }
    end_replay(run);
}

static void
replay(PartRun *run)
{
    take_inputs(run);
    atomic_add_relaxed(&run->device->counts.replayed, 1);
    replay_inputs(run);
}

/* What was read on the host is in the captured work by now, or in its key. */
static void
release_host_inputs(const Capture *capture)
{
    for (uint32_t i = 0; i < capture->input_count; i++) {
        if (tensor_is_on_host(&capture->inputs[i])) {
            tensor_unref(&capture->inputs[i]);
        }
    }
}

/* Moves an output to the capture. One on the host gets memory of its own: the run's is planned for all of its
 * tensors, and given back as a whole. False without memory. */
static bool
keep_output(const PartRun *run, uint32_t index)
{
    Tensor *output = &run->outputs[index];
    Tensor *kept = &run->capture->outputs[index];
    if (output->buffer == NULL || !tensor_is_on_host(output)) {
        tensor_copy(kept, output);
        *output = (Tensor){0};
        return true;
    }
    if (!tensor_new(output->dtype, &output->shape, kept)) {
        return false;
    }
    memcpy(kept->data, output->data, tensor_byte_size(output));
    tensor_unref(output);
    return true;
}

static bool
keep_outputs(const PartRun *run)
{
    bool are_kept = true;
    for (uint32_t i = 0; i < run->part->output_count && are_kept; i++) {
        are_kept = keep_output(run, i);
    }
    return are_kept;
}

static void
record(PartRun *run)
{
    hold_inputs(run);
    if (!capture_inputs(run)) {
        give_capture_up(run, CAPTURE_LACKS_MEMORY);
        return;
    }
    for (uint32_t i = 0; i < run->part->input_count; i++) {
        fill_slots(run, i, &run->capture->inputs[i]);
    }
    if (!capture_members(run)) {
        bool lacks_memory = run->ticket->call.error.code == STATUS_RESOURCE_EXHAUSTED;
        give_capture_up(run, lacks_memory ? CAPTURE_LACKS_MEMORY : CAPTURE_DEVICE_REFUSES);
        return;
    }
    if (!keep_outputs(run)) {
        give_capture_up(run, CAPTURE_LACKS_MEMORY);
        return;
    }
    release_host_inputs(run->capture);
    replay_inputs(run);
}

void
part_run_turn(PartRun *run, CaptureTurn turn)
{
    static void (*const turns[])(PartRun * run) = {
        [CAPTURE_MEASURE] = measure,
        [CAPTURE_RECORD] = record,
        [CAPTURE_REPLAY] = replay,
    };
    if (begin_turn(run)) {
        turns[turn](run);
    } else {
        if (turn == CAPTURE_REPLAY) {
            captures_end(run->captures, run->capture);
        } else {
            captures_refuse(run->captures, run->capture, CAPTURE_LACKS_MEMORY);
        }
        part_run_plainly(run);
    }
    end_turn(run);
}
