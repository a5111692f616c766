/* RecvTensor: sends a value of this slot to another slot that wants it; waits until it is produced, the
 * request's deadline passes (DEADLINE_EXCEEDED) or the step ends. */
#include <stdio.h>

#include "shared/base/memory.h"
#include "worker/serve/metrics.h"
#include "worker/serve/worker.h"

/* One request that waits. The rendezvous holds it until value_came(), on any thread, then the loop's task;
 * it may outlive the stream, and its reference keeps the entry. */
typedef struct Wait {
    RendezvousWaiter waiter;
    Task task;
    Timer deadline;
    WorkerRequest *request; /* NULL after the stream has closed */
    Loop *loop;
    StepEntry *entry;
    Slice key;
    Tensor tensor;
    bool is_dead;
    Status code;
    char error[ERROR_MESSAGE_SIZE];
} Wait;

static void
wait_free(Wait *wait)
{
    tensor_unref(&wait->tensor);
    step_entry_unref(wait->entry);
    memory_free(wait);
}

/* Lets go of the request, which is answered or has ended. */
static void
leave_request(Wait *wait)
{
    timer_clear(wait->loop, &wait->deadline);
    wait->request->context = NULL;
    wait->request = NULL;
}

static void
wait_take(Wait *wait, RendezvousMessage *message)
{
    wait->code = message->code;
    wait->is_dead = message->is_dead;
    wait->tensor = message->tensor;
    message->tensor = (Tensor){0};
    (void)snprintf(wait->error, sizeof wait->error, "%s", message->error == NULL ? "" : message->error);
}

static void
answer_value(WorkerRequest *request, const Wait *wait)
{
    if (wait->code != STATUS_OK) {
        WireStatus refusal = {.failure = failure_of(wait->code, (Slice){0}, "%s", wait->error)};
        worker_answer_status(request, &refusal);
        return;
    }
    worker_frames_begin(request);
    if (wait->is_dead) {
        AUTO_BUFFER frame = {0};
        frame_write_dead(&frame, wait->key);
        worker_frames_write(request, buffer_slice(&frame));
    } else {
        metrics_count_tensor(TENSOR_PULLED_OUT, tensor_byte_size(&wait->tensor));
        worker_frames_tensor(request, wait->key, &wait->tensor);
    }
    worker_frames_end(request);
}

static void
answer_on_loop(Task *task)
{
    Wait *wait = (Wait *)(void *)((char *)task - offsetof(Wait, task));
    if (wait->request != NULL) {
        WorkerRequest *request = wait->request;
        leave_request(wait);
        answer_value(request, wait);
    }
    wait_free(wait);
}

static void
value_came(RendezvousWaiter *waiter, RendezvousMessage *message)
{
    Wait *wait = (Wait *)(void *)waiter;
    wait_take(wait, message);
    loop_post(wait->loop, &wait->task);
}

/* Refuses a request whose value has not come; one whose value is on its way to this thread is answered. */
static void
deadline_passed(Timer *timer)
{
    Wait *wait = (Wait *)(void *)((char *)timer - offsetof(Wait, deadline));
    WorkerRequest *request = wait->request;
    if (!rendezvous_forget(wait->entry->rendezvous, &wait->waiter)) {
        return;
    }
    (void)!call_fail(&request->call, STATUS_DEADLINE_EXCEEDED, "no value came for '%.*s' before the deadline",
        SLICE_PRINT(wait->key));
    leave_request(wait);
    wait_free(wait);
    worker_refuse(request, &request->call);
}

static Status
receive_tensor(WorkerRequest *request)
{
    Call *call = &request->call;
    StepClaim claim = {
        .step = request->parameters[0],
        .slot = request->slot,
        .attempt = request->attempt,
        .push_token = request->push_token,
    };
    Slice key;
    if (!wire_key_decode(call->arena, request->parameters[1], &key)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the tensor's key is not percent-encoded");
    }
    StepEntry *entry = step_table_find(request->worker->steps, &claim);
    if (entry == NULL) {
        return call_fail(call, STATUS_ABORTED, "this attempt of the step is not known here, or is over");
    }
    Wait *wait = memory_new(1, sizeof *wait);
    if (wait == NULL) {
        step_entry_unref(entry);
        return call_fail_memory(call, "a waiting receiver");
    }
    wait->waiter.done = value_came;
    wait->task.run = answer_on_loop;
    wait->request = request;
    wait->loop = request->loop->loop;
    wait->entry = entry;
    wait->key = key;
    wait->deadline.fire = deadline_passed;
    request->context = wait;
    if (call->deadline_ns != 0) {
        timer_set(wait->loop, &wait->deadline, call->deadline_ns);
    }
    RendezvousMessage message = {0};
    if (rendezvous_receive(entry->rendezvous, key, &wait->waiter, &message)) {
        wait_take(wait, &message);
        answer_on_loop(&wait->task);
    }
    return STATUS_OK;
}

static void
forget_request(WorkerRequest *request)
{
    Wait *wait = request->context;
    if (wait == NULL) {
        return;
    }
    leave_request(wait);
    if (rendezvous_forget(wait->entry->rendezvous, &wait->waiter)) {
        wait_free(wait);
    }
}

WORKER_METHOD(recv_tensor) = {
    .name = "RecvTensor",
    .verb = "GET",
    .path = "/worker/v1/steps/{step}/tensors/{key}",
    .finish = receive_tensor,
    .closed = forget_request,
};
