#include "worker/runtime/partition/visit_kernel.h"
#include "worker/runtime/device_memory.h"

#include "shared/base/atomic.h"
#include "worker/runtime/variable.h"

/* The state of a node that visits. */
typedef struct Visiting {
    Kernel row;           /* the node's kernel */
    const Kernel *kernel; /* the one that it runs */
    void *state;          /* of `kernel` */
    Device *accelerator;
    uint16_t memory; /* in which the node's output is wanted */
} Visiting;

typedef struct Visit {
    DeviceCopy copy; /* first: a DeviceCopy is one of these */
    DeviceWork work;
    KernelPromise *promise;
    VariableVisit variables;
    Variable *variable; /* a reference to the one that the last copy is of; NULL: there was none */
    Tensor source;
    Tensor made;
} Visit;

static const Visiting *
visiting_of(const Visit *visit)
{
    return visit->promise->context.state;
}

static void
release_variable(Variable **variable)
{
    if (*variable != NULL) {
        resource_unref(variable_resource(TAKE(*variable)));
    }
}

static void
end_visit(Visit *visit, Status status)
{
    release_variable(&visit->variables.wanted);
    release_variable(&visit->variable);
    tensor_unref(&visit->variables.value);
    tensor_unref(&visit->source);
    tensor_unref(&visit->made);
    kernel_complete(visit->promise, status);
}

static Status
compute_there(KernelContext *context, const Visiting *visiting)
{
    Device *device = context->device;
    atomic_add_relaxed(&device->counts.kernels, 1);
    device->enter(device, context->lane);
    Status status = visiting->kernel->compute(context);
    Status left = device->leave(context->call, device, context->lane);
    return status == STATUS_OK ? left : status;
}

static Status
compute(Visit *visit)
{
    const Visiting *visiting = visiting_of(visit);
    KernelContext context = visit->promise->context;
    bool is_on_host = device_is_host(context.device);
    context.state = visiting->state;
    context.host_outputs = is_on_host ? 0 : visiting->kernel->host_outputs;
    context.visit = &visit->variables;
    return is_on_host ? visiting->kernel->compute(&context) : compute_there(&context, visiting);
}

static void
release_outputs(const KernelContext *context)
{
    for (uint32_t i = 0; i < context->output_count; i++) {
        tensor_unref(&context->outputs[i]);
    }
}

/* Charges the run for what this thread allocates, in both memories, or nobody again. */
typedef struct Charged {
    MemoryAccount *host;
    MemoryAccount *accelerator;
} Charged;

static Charged
charge_both(const Visit *visit, MemoryAccount *host, MemoryAccount *accelerator)
{
    Device *own = visit->promise->context.host;
    Device *other = visiting_of(visit)->accelerator;
    return (Charged){.host = own->charge(own, host), .accelerator = other->charge(other, accelerator)};
}

static void run_visit(Visit *visit);

static void
go_on(DeviceWork *work)
{
    Visit *visit = (Visit *)(void *)((char *)work - offsetof(Visit, work));
    run_visit(visit);
}

static void
end_fetch(DeviceCopy *copy, const Failure *failure)
{
    Visit *visit = (Visit *)(void *)copy;
    const KernelContext *context = &visit->promise->context;
    if (failure != NULL) {
        end_visit(visit, failure_raise(context->call, failure));
        return;
    }
    variable_mirror(visit->variable, &visit->source, &visit->made);
    tensor_unref(&visit->source);
    tensor_unref(&visit->variables.value);
    if (visit->variables.is_change) {
        tensor_unref(&visit->made);
    }
    visit->variables.visited = visit->variable;
    visit->variables.value = visit->made;
    visit->made = (Tensor){0};
    visit->work.run = go_on;
    context->host->schedule(context->host, &visit->work);
}

static Status
make_room(const Visit *visit, Device *device, Tensor *ret_made)
{
    const KernelContext *context = &visit->promise->context;
    size_t size = tensor_byte_size(&visit->source);
    TensorBuffer *buffer = device_allocate(device, size, context->account);
    if (buffer == NULL) {
        char why[DEVICE_FULL_TEXT_SIZE];
        return call_fail(context->call, STATUS_RESOURCE_EXHAUSTED,
            "variable '%.*s' of %zu bytes does not fit: %s", SLICE_PRINT(variable_name(visit->variable)),
            size, device_tell_full(device, context->account, why));
    }
    ret_made->dtype = visit->source.dtype;
    shape_copy(&ret_made->shape, &visit->source.shape);
    ret_made->data = buffer->data;
    ret_made->buffer = buffer;
    return STATUS_OK;
}

/* Begins to copy the value that the kernel wants; end_fetch() goes on. */
static Status
begin_fetch(Visit *visit)
{
    const KernelContext *context = &visit->promise->context;
    Device *accelerator = visiting_of(visit)->accelerator;
    bool is_upload = visit->variables.needed_in != MEMORY_HOST;
    release_variable(&visit->variable);
    visit->variable = TAKE(visit->variables.wanted);
    TRY(variable_read(context->call, visit->variable, &visit->source));
    TRY(make_room(visit, is_upload ? accelerator : context->host, &visit->made));
    const Tensor *from = &visit->source;
    visit->copy = (DeviceCopy){.lane = context->lane,
        .from = from->buffer,
        .from_offset = (size_t)((const char *)from->data - (const char *)from->buffer->data),
        .to = visit->made.buffer,
        .size = tensor_byte_size(from),
        .done = end_fetch};
    device_count_copy(accelerator, is_upload, visit->copy.size);
    accelerator->copy(accelerator, &visit->copy);
    return STATUS_OK;
}

/* Runs the kernel. A value that has changed its memory meanwhile is wanted again. */
static void
run_visit(Visit *visit)
{
    KernelContext *context = &visit->promise->context;
    const MemoryAccount *account = context->account;
    Charged before = charge_both(visit, without_const(account), without_const(account));
    Status status = compute(visit);
    bool is_sent_for = status != STATUS_OK && visit->variables.wanted != NULL;
    if (is_sent_for) {
        release_outputs(context);
        const Visiting *visiting = visiting_of(visit);
        Device *host = context->host;
        status = begin_fetch(visit);
        (void)host->charge(host, before.host);
        (void)visiting->accelerator->charge(visiting->accelerator, before.accelerator);
        if (status == STATUS_OK) {
            return; /* end_fetch() has the visit, which may have ended */
        }
    } else {
        (void)charge_both(visit, before.host, before.accelerator);
    }
    end_visit(visit, status);
}

static void
start_visit(KernelPromise *promise)
{
    Visit *visit = arena_alloc(promise->context.call->arena, sizeof *visit);
    if (visit == NULL) {
        kernel_complete(promise, call_fail_memory(promise->context.call, "a variable's visit"));
        return;
    }
    const Visiting *visiting = promise->context.state;
    *visit = (Visit){.promise = promise, .variables.memory = visiting->memory};
    run_visit(visit);
}

static bool
has_handle(const Node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i].node != NODE_NONE &&
            (node->input_dtypes[i] == DTYPE_RESOURCE || node_input_is_reference(node, i))) {
            return true;
        }
    }
    return false;
}

/* Returns whether the node may meet elements on the accelerator. */
static bool
may_visit(const ScheduleNode *node)
{
    return node->kind == SCHEDULE_KERNEL && node->kernel->visits_variables &&
           (node->kernel->sharing == KERNEL_LENDS || has_handle(node->node));
}

static Status
prepare_visiting(Call *call, Device *device, const Node *node, const Tensor *const *constants, void *state)
{
    const Visiting *visiting = state;
    return visiting->kernel->prepare(call, device, node, constants, visiting->state);
}

static void
destroy_visiting(void *context)
{
    const Visiting *visiting = context;
    if (visiting->kernel->destroy != NULL && visiting->state != NULL) {
        visiting->kernel->destroy(visiting->state);
    }
}

static Status
make_visiting(Call *call, Partition *partition, ScheduleNode *node)
{
    const Kernel *kernel = node->kernel;
    Visiting *visiting = arena_alloc(partition->arena, sizeof *visiting);
    if (visiting == NULL || arena_defer(partition->arena, destroy_visiting, visiting) == NULL) {
        return call_fail_memory(call, "a partition's variables");
    }
    bool is_read = kernel->sharing == KERNEL_LENDS;
    *visiting = (Visiting){.row = *kernel,
        .kernel = kernel,
        .accelerator = partition->visited,
        .memory = is_read && node->memories != NULL ? node->memories[0] : MEMORY_HOST};
    visiting->row.create = NULL;
    visiting->row.destroy = NULL;
    visiting->row.prepare = kernel->prepare == NULL ? NULL : prepare_visiting;
    visiting->row.compute = NULL;
    visiting->row.start = start_visit;
    if (kernel->create != NULL && kernel->create(call, node->node, &visiting->state) != STATUS_OK) {
        return call_wrap(call, "node '%.*s'", SLICE_PRINT(node->node->name));
    }
    node->kind = SCHEDULE_PROMISE;
    node->is_cheap = true;
    node->kernel = &visiting->row;
    node->state = visiting;
    return STATUS_OK;
}

Status
visit_variables(Call *call, Partition *partition)
{
    for (uint32_t id = 0; partition->visited != NULL && id < partition->node_count; id++) {
        if (may_visit(&partition->nodes[id])) {
            TRY(make_visiting(call, partition, &partition->nodes[id]));
        }
    }
    return STATUS_OK;
}
