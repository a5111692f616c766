/* promise_run() → the kernel's start() → kernel_complete(), on any thread → a thread of the device passes
 * the outputs on (promise_finish()), the one that started the kernel if it has completed by then. In between,
 * the promise counts as a ticket of the run and as a node of its iteration, so that neither ends.
 *
 * A promise is refcounted: one reference goes with promise_finish(), and promises_cancel() holds another
 * while it tells the kernel. */
#include "worker/runtime/run/promise.h"

#include <inttypes.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "worker/runtime/run/node_tensors.h"
#include "worker/runtime/run/run_failure.h"

enum { NAMED_MAX = 4 };

/* The stage that a promise has reached. A kernel that completes before its start() returns needs no other
 * thread. */
typedef enum PromiseStage {
    PROMISE_STARTING,
    PROMISE_WAITING, /* start() has returned: whoever completes goes on with the run */
    PROMISE_ENDED,   /* completed before that: promise_run() goes on */
} PromiseStage;

typedef struct Promise {
    KernelPromise kernel; /* first: a KernelPromise is one of these */
    Call call;
    Resumption resumption;
    ListLink link; /* link in run->promises until the kernel completes */
    Status status;
    int32_t stage;           /* atomic: a PromiseStage */
    int32_t reference_count; /* atomic */
    bool is_told;            /* the kernel was told to cancel; guarded by the run's lock, as the list is */
    Tensor outputs[];
} Promise;

static void
promise_unref(Promise *promise)
{
    if (reference_count_drop(&promise->reference_count)) {
        arena_free(promise->call.arena);
        memory_free(promise);
    }
}

static void
promise_finish(Ticket *ticket, Resumption *resumption)
{
    Promise *promise = (Promise *)(void *)((char *)resumption - offsetof(Promise, resumption));
    const Activation *activation = resumption->activation;
    KernelContext *context = &promise->kernel.context;
    const ScheduleNode *node = &ticket->partition->nodes[activation->node];
    trace_kernel(promise->status == STATUS_OK ? trace_of(ticket, activation) : NULL, context);
    tensors_release(context->inputs, context->input_count);
    if (promise->status == STATUS_OK && outputs_are_right(context->call, node, context->outputs)) {
        ticket_propagate(ticket, activation->iteration, node, context->outputs, false);
    } else {
        Failure failure = failure_of_call(&promise->call, node->node->name);
        failure.code = promise->status == STATUS_OK ? failure.code : promise->status;
        tensors_release(context->outputs, context->output_count);
        run_fail(ticket->run, failure);
    }
    promise_unref(promise);
}

/* Returns whether the promise has left its first stage for this one; the first of two who try wins. */
static bool
stage_begin(Promise *promise, PromiseStage stage)
{
    int32_t before = PROMISE_STARTING;
    return atomic_compare_exchange_acq_rel(&promise->stage, &before, (int32_t)stage);
}

/* Called by the kernel when it has ended (KernelPromise.complete); goes on with the run on a thread of the
 * device, unless promise_run() still can. */
static void
promise_complete(KernelPromise *kernel, Status status)
{
    Promise *promise = (Promise *)(void *)kernel;
    Run *run = promise->resumption.activation->iteration->run;
    mutex_lock(&run->lock);
    list_remove(&promise->link);
    mutex_unlock(&run->lock);
    promise->status = status;
    if (!stage_begin(promise, PROMISE_ENDED)) {
        run_go_on(run, &promise->resumption);
    }
}

static Promise *
promise_new(const Ticket *ticket, Activation *activation, const ScheduleNode *node)
{
    uint32_t output_count = node->node->output_count;
    Promise *promise = memory_new(1, sizeof *promise + output_count * sizeof(Tensor));
    if (promise == NULL) {
        return NULL;
    }
    promise->reference_count = 1;
    promise->resumption.activation = activation;
    promise->resumption.resume = promise_finish;
    promise->kernel.complete = promise_complete;
    promise->call.deadline_ns = ticket->run->deadline_ns;
    promise->call.arena = arena_new(SCRATCH_MAX);
    promise->kernel.context = (KernelContext){
        .call = &promise->call,
        .device = node->device,
        .host = ticket->partition->device,
        .lane = ticket->run->lane,
        .host_outputs = device_is_host(node->device) ? 0 : node->kernel->host_outputs,
        .allows_tf32 = ticket->partition->allows_tf32,
        .node = node->node,
        .state = node->state,
        .container = ticket->run->container,
        .account = ticket->run->account,
        .library = ticket->partition->library,
        .call_depth = ticket->run->call_depth,
        .trace = ticket->run->trace == NULL ? NULL : activation->iteration->trace,
        .computed_ns = &ticket->run->computed_ns,
        .inputs = inputs_take(activation, node),
        .input_count = node->node->input_count,
        .outputs = promise->outputs,
        .output_count = output_count,
    };
    if (promise->call.arena == NULL) {
        promise_unref(promise);
        return NULL;
    }
    return promise;
}

static Promise *
take_untold(Run *run)
{
    Promise *found = NULL;
    mutex_lock(&run->lock);
    LIST_EACH(&run->promises, link)
    {
        Promise *promise = LIST_ITEM(link, Promise, link);
        if (!promise->is_told && found == NULL) {
            promise->is_told = true;
            reference_count_add(&promise->reference_count);
            found = promise;
        }
    }
    mutex_unlock(&run->lock);
    return found;
}

void
promises_cancel(Run *run)
{
    for (Promise *promise = take_untold(run); promise != NULL; promise = take_untold(run)) {
        const Kernel *kernel = run->partition->nodes[promise->resumption.activation->node].kernel;
        if (kernel->cancel != NULL) {
            kernel->cancel(&promise->kernel);
        }
        promise_unref(promise);
    }
}

void
promises_describe(Run *run, Buffer *text)
{
    uint32_t count = 0;
    mutex_lock(&run->lock);
    LIST_EACH(&run->promises, link)
    {
        const Promise *promise = LIST_ITEM(link, Promise, link);
        if (count++ < NAMED_MAX) {
            buffer_append_format(text, "%s'%.*s'", count == 1 ? "; begun: " : ", ",
                SLICE_PRINT(promise->kernel.context.node->name));
        }
    }
    mutex_unlock(&run->lock);
    if (count > NAMED_MAX) {
        buffer_append_format(text, " and %" PRIu32 " more", count - NAMED_MAX);
    }
}

/* Starts the kernel. The wait is counted and the promise listed before that, since the kernel may complete
 * before start() returns. A failure that came before the promise was listed has not cancelled it, so
 * has_failed is read again afterwards. */
void
promise_run(Ticket *ticket, Activation *activation, const ScheduleNode *node, bool is_dead)
{
    Run *run = ticket->run;
    if (is_dead) {
        tensors_release(inputs_of(activation, node), node->node->input_count);
        ticket_propagate(ticket, activation->iteration, node, NULL, true);
        return;
    }
    Promise *promise = promise_new(ticket, activation, node);
    if (promise == NULL) {
        run_fail(run, failure_of(STATUS_RESOURCE_EXHAUSTED, node->node->name,
                          "out of memory for a kernel that completes later"));
        return;
    }
    ticket_wait(ticket);
    (void)ticket_activate(run);
    mutex_lock(&run->lock);
    list_append(&run->promises, &promise->link);
    mutex_unlock(&run->lock);
    node->kernel->start(&promise->kernel);
    if (!stage_begin(promise, PROMISE_WAITING)) {
        ticket_wait_not(ticket);
        ticket_deactivate(run);
        promise_finish(ticket, &promise->resumption);
    } else if (run_has_failed(run)) {
        promises_cancel(run);
    }
}
