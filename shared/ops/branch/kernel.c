/* _Branch: calls one of several functions, in a run of its own on the same devices, with the caller's
 * deadline and the session's resources. Inputs of the other functions are not computed.
 *
 * start → (compile, on a thread of the device, at the first call) → run → kernel_complete(). A call that
 * is cancelled ends as its run does, or before its run begins. A call within a call starts on a thread's
 * own stack, however deep it is. */
#include <inttypes.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "worker/runtime/memory_account.h"
#include "worker/runtime/partition/library.h"
#include "worker/runtime/resource.h"
#include "worker/runtime/run/run.h"
#include "worker/runtime/run/trace.h"

typedef struct Invocation {
    int32_t reference_count; /* atomic; one of the promise, one of start or of the thread that compiles */
    KernelPromise *promise;
    Slice function;
    const Partition *partition; /* the function's, once it runs */
    DeviceWork compiling;
    Mutex lock;
    bool is_cancelled;
    bool is_done;
    Run *run; /* set while it can be cancelled */
} Invocation;

static void
invocation_unref(void *context)
{
    Invocation *invocation = context;
    if (reference_count_drop(&invocation->reference_count)) {
        mutex_done(&invocation->lock);
        memory_free(invocation);
    }
}

/* The invocation lives at least as long as the promise. */
static Invocation *
invocation_new(KernelPromise *promise)
{
    Invocation *invocation = memory_new(1, sizeof *invocation);
    if (invocation == NULL) {
        return NULL;
    }
    mutex_init(&invocation->lock);
    invocation->promise = promise;
    invocation->reference_count = 2;
    if (arena_defer(promise->context.call->arena, invocation_unref, invocation) == NULL) {
        invocation->reference_count = 1;
        invocation_unref(invocation);
        return NULL;
    }
    return invocation;
}

static void
end_call(const Invocation *invocation, Status status)
{
    library_end_call(invocation->promise->context.library);
    kernel_complete(invocation->promise, status);
}

static void
take_output(void *context, uint32_t index, Tensor *tensor, bool is_dead)
{
    const Invocation *invocation = context;
    if (!is_dead) {
        invocation->promise->context.outputs[index] = *tensor;
        *tensor = (Tensor){0};
    }
}

static void
keep_trace(void *context, RunTrace *trace)
{
    const Invocation *invocation = context;
    run_trace_add_call(invocation->promise->context.trace, invocation->partition, trace);
}

static void
run_done(void *context, const RunResult *result)
{
    Invocation *invocation = context;
    KernelPromise *promise = invocation->promise;
    atomic_add_relaxed(promise->context.computed_ns, result->stats.computed_ns);
    mutex_lock(&invocation->lock);
    Run *run = TAKE(invocation->run);
    invocation->is_done = true;
    mutex_unlock(&invocation->lock);
    run_unref(run);
    end_call(invocation, failure_raise(promise->context.call, result->failure));
}

/* Keeps the run for a later cancellation, or cancels it now when one has come. */
static void
keep_run(Invocation *invocation, Run *run)
{
    mutex_lock(&invocation->lock);
    bool is_cancelled = invocation->is_cancelled && !invocation->is_done;
    if (!invocation->is_done) {
        invocation->run = run_ref(run);
    }
    mutex_unlock(&invocation->lock);
    if (is_cancelled) {
        run_cancel(run, STATUS_CANCELLED, "the caller has ended");
    }
    run_unref(run);
}

/* The caller holds the fed tensors and counts them, and the inner run counts them too. */
static uint64_t
memory_left(const KernelContext *context)
{
    const MemoryAccount *account = context->account;
    if (account == NULL || account->limit == 0) {
        return 0;
    }
    uint64_t taken = memory_account_in_use(account);
    uint64_t left = taken < account->limit ? account->limit - taken : 1;
    for (uint32_t index = 1; index < context->input_count; index++) {
        left += tensor_byte_size(&context->inputs[index]);
    }
    return left;
}

static Status
run_function(Invocation *invocation, Partition *partition)
{
    KernelContext *context = &invocation->promise->context;
    if (partition_retval_count(partition) != context->output_count) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "function '%.*s' has %" PRIu32 " outputs, the node has %" PRIu32,
            SLICE_PRINT(invocation->function), partition_retval_count(partition), context->output_count);
    }
    invocation->partition = partition;
    RunRequest request = {
        .partition = partition,
        .args = context->inputs + 1,
        .arg_count = context->input_count - 1,
        .container = context->container,
        .memory_limit = memory_left(context),
        .tenant = context->account == NULL ? 0 : context->account->tenant,
        .deadline_ns = context->call->deadline_ns,
        .call_depth = context->call_depth + 1,
        .lane = context->lane,
        .traces_nodes = context->trace != NULL,
        .callbacks = {.context = invocation,
            .on_output = take_output,
            .on_done = run_done,
            .on_trace = keep_trace},
    };
    Run *run = NULL;
    TRY(run_start(context->call, &request, &run));
    keep_run(invocation, run);
    return STATUS_OK;
}

static void
run_compiled(Invocation *invocation, Partition *partition)
{
    Status status = run_function(invocation, partition);
    if (status != STATUS_OK) {
        end_call(invocation, status);
    }
    invocation_unref(invocation);
}

static void
compile_and_run(DeviceWork *work)
{
    Invocation *invocation = (Invocation *)(void *)((char *)work - offsetof(Invocation, compiling));
    const KernelContext *context = &invocation->promise->context;
    Partition *partition = NULL;
    Status status = library_obtain(context->call, context->library, invocation->function, &partition);
    if (status == STATUS_OK) {
        run_compiled(invocation, partition);
    } else {
        end_call(invocation, status);
        invocation_unref(invocation);
    }
}

/* Marks promise->waiting as cancelled before there is an invocation. */
static char cancelled_early;

static bool
branch_supports(const Node *node)
{
    Dtype dtype = node_attr_type(node, "Tindex");
    return dtype == DTYPE_BOOL || dtype == DTYPE_INT32;
}

/* A bool that is true takes the first of two branches; an index out of range takes the last. */
static Status
choose_branch(const KernelContext *context, Slice *ret_function)
{
    const AttrValue *branches = node_attr(context->node, "branches");
    size_t count = branches->value.list.count;
    const Tensor *index = &context->inputs[0];
    if (tensor_element_count(index) != 1 || count == 0) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "one element says which of %zu branches is taken, not %" PRId64, count,
            tensor_element_count(index));
    }
    int64_t number = index->dtype == DTYPE_BOOL ? !*(const bool *)index->data : *(const int32_t *)index->data;
    if (number < 0 || (uint64_t)number >= count) {
        number = (int64_t)count - 1;
    }
    *ret_function = branches->value.list.items[number].value.function.name;
    return STATUS_OK;
}

static Status
check_start(const KernelContext *context)
{
    if (context->library == NULL) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "the partition has no functions");
    }
    if (context->call_depth >= CALL_DEPTH_MAX) {
        return call_fail(context->call, STATUS_RESOURCE_EXHAUSTED,
            "functions call each other more than %d deep: one calls itself without end, or nearly",
            CALL_DEPTH_MAX);
    }
    return STATUS_OK;
}

static void
begin_or_compile(Invocation *invocation)
{
    const KernelContext *context = &invocation->promise->context;
    Partition *partition =
        context->call_depth == 0 ? library_find(context->library, invocation->function) : NULL;
    if (partition != NULL) {
        run_compiled(invocation, partition);
    } else {
        invocation->compiling.run = compile_and_run;
        context->device->schedule(context->device, &invocation->compiling);
    }
}

static Status
start_call(KernelPromise *promise)
{
    KernelContext *context = &promise->context;
    Slice function;
    TRY(check_start(context));
    TRY(choose_branch(context, &function));
    TRY(library_begin_call(context->call, context->library));
    Invocation *invocation = invocation_new(promise);
    if (invocation == NULL) {
        library_end_call(context->library);
        return call_fail_memory(context->call, "a call");
    }
    invocation->function = function;
    void *before = NULL;
    if (!atomic_compare_exchange_acq_rel(&promise->waiting, &before, invocation)) {
        invocation->is_cancelled =
            true; /* not shared yet: afterwards branch_cancel() writes it, under the lock */
    }
    begin_or_compile(invocation);
    return STATUS_OK;
}

static void
branch_start(KernelPromise *promise)
{
    Status status = start_call(promise);
    if (status != STATUS_OK) {
        kernel_complete(promise, status);
    }
}

/* A run that has not begun finds the mark when it does. */
static void
branch_cancel(KernelPromise *promise)
{
    void *waiting = NULL;
    if (atomic_compare_exchange_acq_rel(&promise->waiting, &waiting, &cancelled_early)) {
        return;
    }
    Invocation *invocation = waiting;
    mutex_lock(&invocation->lock);
    invocation->is_cancelled = true;
    Run *run = invocation->run == NULL ? NULL : run_ref(invocation->run);
    mutex_unlock(&invocation->lock);
    if (run != NULL) {
        run_cancel(run, STATUS_CANCELLED, "the caller has ended");
        run_unref(run);
    }
}

/* The host reads which branch it is. */
#define BRANCH(name)                                                                                         \
    {                                                                                                        \
        .op = (name), .supports = branch_supports, .start = branch_start, .cancel = branch_cancel,           \
        .host_inputs = 1, .calls_functions = true                                                            \
    }

static const Kernel branch_kernels[] = {
    BRANCH("_Branch"),
    BRANCH("_StateBranch"),
};

KERNEL_FAMILY(reference, branch, branch_kernels);
