#include "worker/runtime/run/run.h"

#include <assert.h>
#include <inttypes.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/mutex.h"
#include "worker/runtime/run/args.h"
#include "worker/runtime/run/executor.h"
#include "worker/runtime/run/promise.h"
#include "worker/runtime/run/run_admission.h"
#include "worker/runtime/run/run_failure.h"

enum {
    INLINE_COST_NS = 50 * 1000,
    INLINE_IDLE_COST_NS = 250 * 1000, /* ns; a few times what two threads take to wake each other */
};

Run *
run_ref(Run *run)
{
    assert(run != NULL);
    reference_count_add(&run->reference_count);
    return run;
}

void
run_unref(Run *run)
{
    if (run == NULL || !reference_count_drop(&run->reference_count)) {
        return;
    }
    Partition *partition = run->partition;
    rendezvous_unref(TAKE(run->rendezvous));
    container_unref(TAKE(run->container));
    run_state_put(run);
    partition_unref(partition);
}

Failure
run_failure(Run *run)
{
    mutex_lock(&run->lock);
    Failure failure = run->failure;
    mutex_unlock(&run->lock);
    return failure;
}

Status
run_feed(Call *call, Run *run, uint32_t index, Tensor *tensor)
{
    assert(run != NULL && tensor != NULL);
    return late_args_take(call, run, index, tensor);
}

bool
run_rests(const Run *run)
{
    assert(run->late_args != NULL);
    return atomic_load_acquire(&run->active_count) == 0;
}

uint64_t
run_computed_ns(const Run *run)
{
    return atomic_load_relaxed(&run->computed_ns);
}

/* Ends all waits of a failed run for other slots, kernels and feeds: what they wait for may never come. */
static void
wake_run(Run *run, Status code, const char *message)
{
    if (run->rendezvous != NULL) {
        rendezvous_abort(run->rendezvous, code, message);
    }
    promises_cancel(run);
    late_args_give_up(run);
}

static void
run_release_tensors(Run *run)
{
    run_clear_frames(run);
    iteration_clear(run->root);
    for (uint32_t i = 0; i < run->partition->arg_count; i++) {
        tensor_unref(&run->args[i]);
    }
}

/* Fails a run that has ended although some nodes of the root never got all their inputs: a loop in front
 * of them never let a value out. */
static void
run_check_all_ran(Run *run, uint64_t node_count)
{
    const ScheduleFrame *root = &run->partition->frames[FRAME_ROOT];
    if (run_has_failed(run) || node_count - run->loop_node_count == root->cell_count) {
        return;
    }
    uint32_t cell = 0;
    while (cell + 1 < root->cell_count && (uint32_t)run->root->activations[cell].word == 0) {
        cell++;
    }
    Failure failure = failure_of(STATUS_INTERNAL, run->partition->nodes[root->nodes[cell]].node->name,
        "the run ended, but the node never got all its inputs");
    (void)run_note_failure(run, &failure);
}

/* Lets the run use its caller's lane, or one of its own. */
static Status
enter_lane(Call *call, Run *run, const RunRequest *request)
{
    Device *accelerator = request->partition->accelerator;
    run->lane = accelerator == NULL ? NULL : request->lane;
    run->owns_lane = false;
    run->is_fenced = false;
    if (accelerator == NULL || run->lane != NULL) {
        return STATUS_OK;
    }
    run->lane = accelerator->open_lane(accelerator);
    run->owns_lane = run->lane != NULL;
    return run->owns_lane ? STATUS_OK : call_fail_memory(call, "a lane of the accelerator");
}

static void
leave_lane(Run *run)
{
    Device *accelerator = run->partition->accelerator;
    if (run->owns_lane) {
        accelerator->close_lane(accelerator, run->lane);
    }
    run->lane = NULL;
    run->owns_lane = false;
}

/* Has the accelerator note what it does for a traced run. Functions that it calls share its lane; their work
 * is of no node, since marks name nodes of the caller. */
static void
begin_device_trace(Run *run)
{
    Device *accelerator = run->partition->accelerator;
    bool can_tell = accelerator != NULL && accelerator->begin_trace != NULL;
    run->is_device_traced =
        can_tell && run->owns_lane && run->trace != NULL && accelerator->begin_trace(accelerator, run->lane);
    run->marks_device = run->is_device_traced || (can_tell && !run->owns_lane);
}

static void
end_device_trace(Run *run)
{
    Device *accelerator = run->partition->accelerator;
    if (run->is_device_traced) {
        accelerator->end_trace(accelerator, run->lane, &run->trace->device);
        run->is_device_traced = false;
    }
}

static void finish_run(Run *run);

/* Goes on with the end of a run that waited for the accelerator. */
static void
fence_passed(DeviceFence *fence, const Failure *failure)
{
    Run *run = (Run *)(void *)((char *)fence - offsetof(Run, fence));
    if (failure != NULL) {
        (void)run_note_failure(run, failure);
    }
    finish_run(run);
}

/* Returns whether the run has to wait for the accelerator, and then lets finish_run() be called again when
 * that has done all that the run enqueued. Called functions that share their caller's lane do not wait: what
 * comes after them is enqueued behind their work. */
static bool
waits_for_accelerator(Run *run)
{
    if (!run->owns_lane || run->is_fenced) {
        return false;
    }
    Device *accelerator = run->partition->accelerator;
    run->is_fenced = true;
    run->fence = (DeviceFence){.lane = run->lane, .passed = fence_passed};
    accelerator->fence(accelerator, &run->fence);
    return true;
}

static void
hand_over_trace(Run *run)
{
    if (run->trace != NULL && run->callbacks.on_trace != NULL) {
        run->callbacks.on_trace(run->callbacks.context, TAKE(run->trace));
    }
}

/* Ends the run, on the thread that gave its last ticket back or that the accelerator told the end of its
 * work. */
static void
finish_run(Run *run)
{
    if (waits_for_accelerator(run)) {
        return;
    }
    uint64_t node_count = atomic_load_relaxed(&run->node_count);
    run_check_all_ran(run, node_count);
    mutex_lock(&run->lock);
    run->is_done = true;
    mutex_unlock(&run->lock);
    if (run->has_failed || !list_is_empty(&run->live_frames)) {
        run_release_tensors(run);
    }
    uint64_t elapsed_ns = clock_monotonic_ns() - run->start_ns;
    end_device_trace(run);
    leave_lane(run);
    hand_over_trace(run);
    RunResult result = {
        .failure = &run->failure,
        .stats = {.start_ns = run->start_ns,
            .elapsed_ns = elapsed_ns,
            .computed_ns = atomic_load_relaxed(&run->computed_ns),
            .node_count = node_count,
            .trace = run->trace},
    };
    run_settle(run, &result.stats);
    run->callbacks.on_done(run->callbacks.context, &result);
    run_unref(run);
}

static Status
check_request(Call *call, const RunRequest *request)
{
    const Partition *partition = request->partition;
    if (request->arg_count != partition->arg_count) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the partition takes %" PRIu32 " feeds, not %" PRIu32,
            partition->arg_count, request->arg_count);
    }
    for (uint32_t i = 0; i < request->arg_count; i++) {
        Dtype wanted = partition_arg_dtype(partition, i);
        bool may_lack = request->feeds_come_late && request->args[i].dtype == DTYPE_INVALID;
        if (request->args[i].dtype != wanted && !may_lack) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "feed %" PRIu32 " must be of type %s, not %s", i,
                dtype_name(wanted), dtype_name(request->args[i].dtype));
        }
    }
    if (request->rendezvous == NULL && partition->transfer_count > 0) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "a partition with transfers needs a rendezvous to run");
    }
    return STATUS_OK;
}

/* An accelerator that is out of service takes no runs. */
static Status
check_accelerator(Call *call, const Partition *partition)
{
    Device *accelerator = partition->accelerator;
    const char *fault = accelerator == NULL ? NULL : accelerator->fault(accelerator);
    return fault == NULL ? STATUS_OK
                         : call_fail(call, STATUS_UNAVAILABLE, "the %s of this worker is out of service: %s",
                               accelerator->type, fault);
}

static const RunHooks HOOKS = {
    .run_node = executor_run_node,
    .go_on = executor_go_on,
    .wake = wake_run,
    .finish = finish_run,
};

static void
begin_run(Run *run, bool is_guest)
{
    Ticket ticket;
    Arena *arena = TAKE(run->arena);
    ticket_begin(&ticket, run, arena != NULL ? arena : arena_new(SCRATCH_MAX));
    ticket.is_guest = is_guest;
    for (uint32_t i = 0; i < run->partition->root_count; i++) {
        const ScheduleNode *node = &run->partition->nodes[run->partition->roots[i]];
        ticket_ready(&ticket, &run->root->activations[node->cell]);
    }
    run_ref(run);
    run->arena = executor_run(&ticket);
    run_unref(run);
}

static void
start_work(DeviceWork *work)
{
    begin_run((Run *)(void *)((char *)work - offsetof(Run, start_work)), false);
}

static void
take_args(Run *run, const RunRequest *request)
{
    for (uint32_t i = 0; i < request->arg_count; i++) {
        run->args[i] = request->args[i];
        request->args[i] = (Tensor){0};
    }
}

static_assert((int)COST_GUESS > (int)INLINE_IDLE_COST_NS, "what is not known to be short blocks no loop");

/* Returns whether the run starts on the calling thread: only when it is short, and has no loops, since the
 * costs of nodes do not tell how often a loop runs them, and no accelerator, whose full queue would block
 * it. */
static bool
is_run_inline(const RunRequest *request)
{
    uint64_t cost_max_ns = request->caller_is_idle ? INLINE_IDLE_COST_NS : INLINE_COST_NS;
    return request->partition->frame_count == 1 && request->partition->accelerator == NULL &&
           partition_cost_ns(request->partition) <= cost_max_ns;
}

Status
run_start(Call *call, const RunRequest *request, Run **ret_run)
{
    assert(request->partition != NULL);
    TRY(check_request(call, request));
    TRY(check_accelerator(call, request->partition));
    Run *run = run_state_get(request->partition);
    if (run == NULL) {
        return call_fail_memory(call, "a run");
    }
    bool has_room = (!request->traces_nodes || run_state_trace(run)) &&
                    (!request->feeds_come_late || late_args_expect(run));
    Status status =
        has_room ? enter_lane(call, run, request) : call_fail_memory(call, "a run's traces or late feeds");
    if (status == STATUS_OK) {
        status = run_admit(call, run, request);
    }
    if (status != STATUS_OK) {
        leave_lane(run);
        run_state_put(run);
        return status;
    }
    (void)partition_ref(request->partition);
    run->hooks = &HOOKS;
    run->rendezvous = request->rendezvous == NULL ? NULL : rendezvous_ref(request->rendezvous);
    run->container = request->container == NULL ? NULL : container_ref(request->container);
    run->callbacks = request->callbacks;
    run->deadline_ns = request->deadline_ns;
    run->call_depth = request->call_depth;
    run->start_ns = clock_monotonic_ns();
    begin_device_trace(run);
    take_args(run, request);
    if (ret_run != NULL) {
        *ret_run = run_ref(run);
    }
    if (is_run_inline(request)) {
        begin_run(run, true);
    } else {
        run->start_work.run = start_work;
        request->partition->device->schedule(request->partition->device, &run->start_work);
    }
    return STATUS_OK;
}
