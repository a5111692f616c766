/* PushTensor: takes values that another slot of the step has produced for this one, or announcements of
 * large ones. */
#include "shared/base/atomic.h"
#include "worker/serve/metrics.h"
#include "worker/serve/worker.h"

static Status
find_step(WorkerRequest *request)
{
    StepClaim claim = {
        .step = request->parameters[0],
        .slot = request->slot,
        .attempt = request->attempt,
        .push_token = request->push_token,
        .now_ns = loop_now_ns(request->loop->loop),
    };
    StepEntry *entry = NULL;
    TRY(step_table_enter(&request->call, request->worker->steps, &claim, &entry));
    request->context = entry;
    return STATUS_OK;
}

static Status
take_value(WorkerRequest *request, Frame *frame)
{
    StepEntry *entry = request->context;
    AUTO_TENSOR tensor = frame->tensor;
    if (frame->kind == FRAME_ANNOUNCE) {
        return rendezvous_announce(&request->call, entry->rendezvous, frame->name);
    }
    if (frame->kind != FRAME_TENSOR && frame->kind != FRAME_DEAD) {
        return call_fail(&request->call, STATUS_INVALID_ARGUMENT, "frame kind %d has no place in a push",
            (int)frame->kind);
    }
    /* Counts every byte pushed in this step, not what is still parked: senders count the same way, and cannot
     * know what has been consumed. */
    uint64_t size = tensor_byte_size(&tensor);
    if (atomic_add_relaxed(&entry->pushed_size, size) > PARKED_SIZE_MAX) {
        return call_fail(&request->call, STATUS_RESOURCE_EXHAUSTED,
            "more than %d bytes were pushed to this slot: announce instead", PARKED_SIZE_MAX);
    }
    metrics_count_tensor(TENSOR_PUSHED_IN, frame->kind == FRAME_DEAD ? 0 : tensor_byte_size(&tensor));
    return rendezvous_deliver(
        &request->call, entry->rendezvous, frame->name, &tensor, frame->kind == FRAME_DEAD);
}

static Status
answer_taken(WorkerRequest *request)
{
    worker_answer_json(request, 200, SLICE("{}"));
    return STATUS_OK;
}

static void
leave_step(WorkerRequest *request)
{
    step_entry_unref(request->context);
}

WORKER_METHOD(push_tensor) = {
    .name = "PushTensor",
    .verb = "POST",
    .path = "/worker/v1/steps/{step}/tensors",
    .body = BODY_FRAMES,
    .body_size_max = PUSH_SIZE_MAX,
    .begin = find_step,
    .frame = take_value,
    .finish = answer_taken,
    .closed = leave_step,
};
