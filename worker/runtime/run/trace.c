#include "worker/runtime/run/trace.h"

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"

static size_t
record_size(const TraceScope *scope)
{
    return sizeof(IterationTrace) + scope->node_count * sizeof(NodeTrace);
}

static IterationTrace *
record_append(RunTrace *trace, const TraceScope *scope, const IterationTrace *around, uint64_t number)
{
    IterationTrace *record = memory_new(1, record_size(scope));
    if (record == NULL) {
        return NULL;
    }
    record->trace = trace;
    record->around = around;
    record->number = number;
    record->frame = scope->frame;
    record->numbers = scope->numbers;
    record->node_count = scope->node_count;
    record->index = trace->count++;
    *(trace->root == NULL ? &trace->root : &trace->last->next) = record;
    trace->last = record;
    return record;
}

RunTrace *
run_trace_new(const TraceScope *root)
{
    RunTrace *trace = memory_new(1, sizeof *trace);
    if (trace != NULL && record_append(trace, root, NULL, 0) == NULL) {
        memory_free(trace);
        return NULL;
    }
    return trace;
}

static void
calls_free(CallTrace *calls)
{
    for (CallTrace *call = calls, *next = NULL; call != NULL; call = next) {
        next = call->next;
        run_trace_free(call->trace);
        memory_free(call);
    }
}

void
run_trace_free(RunTrace *trace)
{
    for (IterationTrace *record = trace == NULL ? NULL : trace->root, *next = NULL; record != NULL;
         record = next) {
        next = record->next;
        memory_free(record);
    }
    if (trace != NULL) {
        calls_free(trace->calls);
        memory_free(trace->device.activities);
    }
    memory_free(trace);
}

/* Returns the bytes of all records of a trace, and of the functions called in it. */
static uint64_t
trace_size(const RunTrace *trace)
{
    return sizeof(CallTrace) + sizeof *trace + sizeof *trace->root +
           trace->root->node_count * sizeof(NodeTrace) + trace->loop_bytes + trace->call_bytes;
}

static CallTrace *
call_new(const IterationTrace *caller, uint64_t size)
{
    bool has_room = atomic_add_relaxed(&caller->trace->call_bytes, size) <= TRACE_CALL_BYTES_MAX;
    return has_room ? memory_new(1, sizeof(CallTrace)) : NULL;
}

void
run_trace_add_call(const IterationTrace *caller, const Partition *function, RunTrace *trace)
{
    CallTrace *call = call_new(caller, trace_size(trace));
    if (call == NULL) {
        atomic_add_relaxed(&caller->trace->lost_call_count, 1);
        run_trace_free(trace);
        return;
    }
    *call = (CallTrace){.around = caller, .function = function, .trace = trace};
    call->next = atomic_load_acquire(&caller->trace->calls);
    while (!atomic_compare_exchange_acq_rel(&caller->trace->calls, &call->next, call)) {}
}

enum { MARK_NODE_BITS = 24, MARK_ITERATION_BITS = DEVICE_MARK_BITS - MARK_NODE_BITS };

uint64_t
trace_mark(const IterationTrace *record, uint32_t cell)
{
    uint64_t node = (uint64_t)record->numbers[cell] + 1;
    bool has_room = node < UINT64_C(1) << MARK_NODE_BITS && record->index < 1U << MARK_ITERATION_BITS;
    return has_room ? (uint64_t)record->index << MARK_NODE_BITS | node : 0;
}

bool
trace_mark_read(uint64_t mark, uint32_t *ret_node, uint32_t *ret_iteration)
{
    uint32_t node = (uint32_t)(mark & ((UINT64_C(1) << MARK_NODE_BITS) - 1));
    if (node == 0) {
        return false;
    }
    *ret_node = node - 1;
    *ret_iteration = (uint32_t)(mark >> MARK_NODE_BITS);
    return true;
}

IterationTrace *
run_trace_iteration(RunTrace *trace, const TraceScope *loop, const IterationTrace *around, uint64_t number)
{
    size_t size = record_size(loop);
    bool has_room = around != NULL && trace->loop_bytes + size <= TRACE_LOOP_BYTES_MAX;
    IterationTrace *record = has_room ? record_append(trace, loop, around, number) : NULL;
    if (record == NULL) {
        trace->left_out_count++;
    } else {
        trace->loop_bytes += size;
    }
    return record;
}

static uint32_t
thread_number(void)
{
    static uint32_t count;
    static _Thread_local uint32_t number;
    if (number == 0) {
        number = atomic_add_relaxed(&count, 1);
    }
    return number;
}

void
trace_end(NodeTrace *trace, Device *device, const Tensor *outputs, uint32_t output_count)
{
    if (trace == NULL) {
        return;
    }
    DeviceMemory memory = {0};
    trace->end_ns = clock_monotonic_ns();
    trace->thread = thread_number();
    for (uint32_t i = 0; i < output_count; i++) {
        trace->output_bytes += outputs[i].dtype == DTYPE_INVALID ? 0 : tensor_byte_size(&outputs[i]);
    }
    device->memory(device, &memory);
    trace->device_bytes = memory.in_use;
}

/* Returns whether the kernel has allocated the output. It has not when the elements are an input's,
 * through which they are still readable, or a variable's, which is a second owner. */
static bool
is_allocated(const KernelContext *context, const Tensor *output)
{
    if (output->dtype == DTYPE_INVALID || output->buffer == NULL || !tensor_is_unique(output)) {
        return false;
    }
    for (uint32_t i = 0; i < context->input_count; i++) {
        if (context->inputs[i].dtype != DTYPE_INVALID && context->inputs[i].data == output->data) {
            return false;
        }
    }
    return true;
}

void
trace_kernel(NodeTrace *trace, const KernelContext *context)
{
    if (trace == NULL) {
        return;
    }
    trace_end(trace, context->device, context->outputs, context->output_count);
    trace->scratch_bytes = context->call->arena == NULL ? 0 : arena_size(context->call->arena);
    for (uint32_t i = 0; i < context->output_count; i++) {
        const Tensor *output = &context->outputs[i];
        trace->allocated_bytes += is_allocated(context, output) ? tensor_byte_size(output) : 0;
    }
}
