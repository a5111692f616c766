/* RecvTensor: sends a value of this slot to another slot that wants it; waits until it is produced, the
 * request's deadline passes (DEADLINE_EXCEEDED) or the step ends.
 *
 * Happy path: the headers are in → rendezvous_receive() gives the value, at once or later → the answer is
 * written → the receiver has read all of it and ends its request, which it has left open so far → the stream
 * closes, and the value is freed.
 *
 * Failures: a stream that breaks before that gives the value back to the rendezvous, where the receiver asks
 * for it again. A receiver that resets its request wants the value no more. One that ends its request before
 * the answer does not tell what it has read: the value is freed once it was written. */
#include <stdio.h>
#include <string.h>

#include "shared/base/memory.h"
#include "worker/serve/metrics.h"
#include "worker/serve/worker.h"

/* One request. The rendezvous holds it until value_came(), on any thread, then the loop's task, and from the
 * answer on the stream; it may outlive the stream, and its reference keeps the entry. */
typedef struct Wait {
    RendezvousWaiter waiter;
    Task task;
    Timer deadline;
    WorkerRequest *request; /* NULL after the stream has closed */
    Loop *loop;
    StepEntry *entry;
    bool is_answered; /* the stream's end is awaited */
    bool is_lost;     /* the stream broke, and the receiver will ask again */
    bool has_value;   /* `tensor`, or that it is dead */
    Tensor tensor;
    bool is_dead;
    Status code;
    char error[ERROR_MESSAGE_SIZE];
    size_t key_size;
    char key[];
} Wait;

static Wait *
wait_new(WorkerRequest *request, StepEntry *entry, Slice key)
{
    Wait *wait = memory_new(1, sizeof *wait + key.size);
    if (wait != NULL) {
        wait->request = request;
        wait->loop = request->loop->loop;
        wait->entry = entry;
        wait->key_size = key.size;
        memcpy(wait->key, key.data, key.size);
    }
    return wait;
}

static Slice
wait_key(const Wait *wait)
{
    return slice_of(wait->key, wait->key_size);
}

static void
wait_free(Wait *wait)
{
    tensor_unref(&wait->tensor);
    step_entry_unref(wait->entry);
    memory_free(wait);
}

/* Gives the value back to the rendezvous, unless the step has ended. Without memory for it the step fails,
 * since its receiver would wait in vain. */
static void
give_back(Wait *wait)
{
    Call call = {0};
    Rendezvous *rendezvous = wait->entry->rendezvous;
    Status status = rendezvous_give_back(&call, rendezvous, wait_key(wait), &wait->tensor, wait->is_dead);
    if (status != STATUS_OK) {
        rendezvous_abort(rendezvous, status, call.error.message);
    }
}

static void
wait_end(Wait *wait)
{
    if (wait->is_lost && wait->has_value) {
        give_back(wait);
    }
    wait_free(wait);
}

/* Lets go of the request, which is refused or has ended. */
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
    wait->has_value = message->code == STATUS_OK;
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
        frame_write_dead(&frame, wait_key(wait));
        worker_frames_write(request, buffer_slice(&frame));
    } else {
        metrics_count_tensor(TENSOR_PULLED_OUT, tensor_byte_size(&wait->tensor));
        worker_frames_tensor(request, wait_key(wait), &wait->tensor);
    }
    worker_frames_end(request);
}

static void
answer_on_loop(Task *task)
{
    Wait *wait = (Wait *)(void *)((char *)task - offsetof(Wait, task));
    if (wait->request == NULL) {
        wait_end(wait);
        return;
    }
    timer_clear(wait->loop, &wait->deadline);
    wait->is_answered = true;
    answer_value(wait->request, wait);
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
        SLICE_PRINT(wait_key(wait)));
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
    Wait *wait = wait_new(request, entry, key);
    if (wait == NULL) {
        step_entry_unref(entry);
        return call_fail_memory(call, "a waiting receiver");
    }
    wait->waiter.done = value_came;
    wait->task.run = answer_on_loop;
    wait->deadline.fire = deadline_passed;
    request->context = wait;
    if (call->deadline_ns != 0) {
        timer_set(wait->loop, &wait->deadline, call->deadline_ns);
    }
    RendezvousMessage message = {0};
    if (rendezvous_receive(entry->rendezvous, wait_key(wait), &wait->waiter, &message)) {
        wait_take(wait, &message);
        answer_on_loop(&wait->task);
    }
    return STATUS_OK;
}

/* Takes the end of a request before its answer: there is nothing in it to read. */
static Status
pass_over_end(WorkerRequest *request)
{
    (void)request;
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
    wait->is_lost = request->end_reason != STATUS_OK && request->end_reason != STATUS_CANCELLED;
    if (wait->is_answered || rendezvous_forget(wait->entry->rendezvous, &wait->waiter)) {
        wait_end(wait);
    }
}

WORKER_METHOD(recv_tensor) = {
    .name = "RecvTensor",
    .verb = "GET",
    .path = "/worker/v1/steps/{step}/tensors/{key}",
    .begin = receive_tensor,
    .finish = pass_over_end,
    .closed = forget_request,
};
