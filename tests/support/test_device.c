#include "tests/support/test_device.h"

#include <assert.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "shared/base/atomic.h"
#include "shared/base/list.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "shared/ops/registry.h"
#include "tests/support/test_graph.h"
#include "worker/runtime/device_memory.h"
#include "worker/runtime/memory_account.h"
#include "worker/runtime/variable.h"

enum {
    TEST_MEMORY = 7, /* its number */
    BLOCK_SIZE_LOG_MIN = 8,
    BLOCK_SIZE_LOG_MAX = 40,
    OPS_MAX = 2048,
    EVENTS_MAX = 65536, /* that wait at one time: a device asks for no memory to begin a copy */
    OP_NAME_SIZE = 96,
    FILLING = 0xff,
};

static const size_t REGION_SIZE = (size_t)64 << 30; /* of addresses; only what is written takes memory */
static const uint64_t MEMORY_DEFAULT = (uint64_t)1 << 30;
static const uint32_t DELAY_DEFAULT_US = 50;

typedef struct TestDevice TestDevice;

typedef struct Block {
    TensorBuffer buffer; /* first: a TensorBuffer is one of these */
    TestDevice *device;
    MemoryAccount *account;
    size_t offset; /* in the region */
    int size_log;
    struct Block *next; /* the next free one of this size */
} Block;

/* A copy or a fence that will come. */
typedef struct Event {
    ListLink link;
    DeviceCopy *copy;
    DeviceFence *fence;
} Event;

struct TestDevice {
    Device device; /* first: a Device is one of these */
    Device inner;  /* given to the host's kernels: allocates through the readable mapping */
    TestDeviceOptions options;
    char *hidden;   /* the region, as tensors point to it */
    char *readable; /* the same bytes */
    Mutex lock;     /* guards what follows */
    size_t used;    /* bytes of the region that blocks have been cut from */
    Block *free_blocks[BLOCK_SIZE_LOG_MAX + 1];
    DeviceMemory memory;
    uint32_t random;
    ListLink events; /* in the order of the lane */
    ListLink spare_events;
    Condition has_come;
    bool is_closing;
    const char *fault;
    uint64_t open_lanes;
    TestDeviceCounts counts;
    Mutex turn;      /* held while captured work is replayed */
    Mutex variables; /* held while a kernel sees elements of variables at their readable addresses */
    pthread_t thread;
    Event event_table[EVENTS_MAX];
};

static _Thread_local MemoryAccount *charged;
static _Thread_local DeviceGraph *capturing; /* NULL: what this thread enqueues is done */

static TestDevice *
test_device(const Device *device)
{
    TestDevice *test = without_const(device);
    return test;
}

static TestDevice *
device_of_inner(const Device *inner)
{
    return (TestDevice *)(void *)((char *)without_const(inner) - offsetof(TestDevice, inner));
}

static bool
is_readable_address(const TestDevice *test, const void *address)
{
    return (const char *)address >= test->readable && (const char *)address < test->readable + REGION_SIZE;
}

/* Returns the address at which kernels read; another thread may read of a variable that is shown just now. */
static char *
readable_of(const TestDevice *test, void *address)
{
    return is_readable_address(test, address) ? address
                                              : test->readable + ((const char *)address - test->hidden);
}

/* Returns the address that tensors show, of one that kernels have used. */
static void *
hide(const TestDevice *test, void *address)
{
    return is_readable_address(test, address) ? test->hidden + ((char *)address - test->readable) : address;
}

static int
size_log_of(size_t size)
{
    int log = BLOCK_SIZE_LOG_MIN;
    while (((size_t)1 << log) < size) {
        log++;
    }
    return log;
}

static void
release_block(TensorBuffer *buffer)
{
    Block *block = (Block *)(void *)buffer;
    TestDevice *test = block->device;
    size_t size = (size_t)1 << block->size_log;
    MemoryAccount *account = block->account;
    memset(test->readable + block->offset, FILLING, buffer->size);
    mutex_lock(&test->lock);
    block->next = test->free_blocks[block->size_log];
    test->free_blocks[block->size_log] = block;
    test->memory.in_use -= size;
    mutex_unlock(&test->lock);
    if (account != NULL) {
        memory_account_count(account, -(int64_t)size, 0);
    }
}

/* Takes a free block, or cuts one from the region. Called with the lock held. NULL without memory. */
static Block *
take_block(TestDevice *test, int size_log)
{
    size_t size = (size_t)1 << size_log;
    Block *block = test->free_blocks[size_log];
    if (test->memory.in_use + size > test->memory.limit) {
        return NULL;
    }
    if (block != NULL) {
        test->free_blocks[size_log] = block->next;
    } else if (test->used + size <= REGION_SIZE) {
        block = memory_new(1, sizeof *block);
        if (block == NULL) {
            return NULL;
        }
        *block = (Block){.device = test, .offset = test->used, .size_log = size_log};
        test->used += size;
    } else {
        return NULL;
    }
    test->memory.in_use += size;
    test->memory.allocation_count++;
    test->memory.peak = test->memory.in_use > test->memory.peak ? test->memory.in_use : test->memory.peak;
    return block;
}

static TensorBuffer *
test_allocate(Device *device, size_t size)
{
    TestDevice *test = test_device(device);
    int size_log = size_log_of(size);
    if (size_log > BLOCK_SIZE_LOG_MAX ||
        (charged != NULL && !memory_account_admits(charged, (int64_t)1 << size_log))) {
        return NULL;
    }
    mutex_lock(&test->lock);
    Block *block = take_block(test, size_log);
    mutex_unlock(&test->lock);
    if (block == NULL) {
        return NULL;
    }
    block->account = charged;
    if (charged != NULL) {
        memory_account_count(charged, (int64_t)1 << size_log, (int64_t)1 << size_log);
    }
    memset(test->readable + block->offset, FILLING, size);
    block->buffer = (TensorBuffer){.reference_count = 1,
        .size = size,
        .data = test->hidden + block->offset,
        .release = release_block,
        .owner = test,
        .memory = TEST_MEMORY};
    return &block->buffer;
}

static void
test_memory(const Device *device, DeviceMemory *ret_memory)
{
    TestDevice *test = test_device(device);
    mutex_lock(&test->lock);
    *ret_memory = test->memory;
    mutex_unlock(&test->lock);
}

static MemoryAccount *
test_charge(Device *device, MemoryAccount *account)
{
    (void)device;
    MemoryAccount *before = charged;
    charged = account;
    return before;
}

/* Runs need no lanes of their own: what a kernel finds wrong, its compute() returns. */
static DeviceLane *
test_open_lane(Device *device)
{
    TestDevice *test = test_device(device);
    mutex_lock(&test->lock);
    test->open_lanes++;
    mutex_unlock(&test->lock);
    return (DeviceLane *)(void *)device;
}

static void
test_close_lane(Device *device, DeviceLane *lane)
{
    TestDevice *test = test_device(device);
    assert((void *)lane == (void *)device);
    mutex_lock(&test->lock);
    assert(test->open_lanes > 0);
    test->open_lanes--;
    mutex_unlock(&test->lock);
}

static void
test_enter(Device *device, DeviceLane *lane)
{
    assert((void *)lane == (void *)device);
}

static const char *
test_fault(Device *device)
{
    TestDevice *test = test_device(device);
    mutex_lock(&test->lock);
    const char *fault = test->fault;
    mutex_unlock(&test->lock);
    return fault;
}

static Status
test_leave(Call *call, Device *device, DeviceLane *lane)
{
    assert((void *)lane == (void *)device);
    const char *fault = test_fault(device);
    return fault == NULL
               ? STATUS_OK
               : call_fail(call, STATUS_UNAVAILABLE, "the test device is out of service: %s", fault);
}

static void
move_bytes(const TestDevice *test, const DeviceMove *moves, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        memcpy(
            readable_of(test, moves[i].to), readable_of(test, without_const(moves[i].from)), moves[i].size);
    }
}

/* Kernels that are captured are computed, too: they need values to know the shapes of what they write. */
static Status
test_begin_capture(Call *call, Device *device, DeviceLane *lane, const DeviceReplay *inputs)
{
    TestDevice *test = test_device(device);
    assert((void *)lane == (void *)device && capturing == NULL);
    if (test->options.captures_nothing) {
        return call_fail(call, STATUS_INTERNAL, "the test device was told to capture nothing");
    }
    move_bytes(test, inputs->inputs, inputs->input_count);
    capturing = test_graph_new();
    return capturing != NULL ? STATUS_OK : call_fail_memory(call, "a captured part");
}

static Status
test_end_capture(Call *call, Device *device, DeviceLane *lane, DeviceGraph **ret_graph)
{
    assert((void *)lane == (void *)device && capturing != NULL);
    DeviceGraph *graph = TAKE(capturing);
    Status status = test_leave(call, device, lane);
    if (status != STATUS_OK) {
        test_graph_free(graph);
        return status;
    }
    test_graph_spoil(graph, FILLING);
    *ret_graph = graph;
    return STATUS_OK;
}

/* Turns of the lane come one after another. */
static Status
test_replay(Call *call, Device *device, DeviceLane *lane, const DeviceReplay *replay)
{
    TestDevice *test = test_device(device);
    assert(capturing == NULL);
    mutex_lock(&test->turn);
    move_bytes(test, replay->inputs, replay->input_count);
    Status status = test_graph_compute(call, replay->graph);
    move_bytes(test, replay->outputs, replay->output_count);
    mutex_unlock(&test->turn);
    return status == STATUS_OK ? test_leave(call, device, lane) : status;
}

static void
test_free_graph(Device *device, DeviceGraph *graph)
{
    (void)device;
    test_graph_free(graph);
}

static char *
bytes_of(const TestDevice *test, const TensorBuffer *buffer, size_t offset)
{
    char *data = buffer->data;
    return (buffer->memory == TEST_MEMORY ? readable_of(test, data) : data) + offset;
}

/* Copies the bytes, gives the buffers back and tells the end. */
static void
end_copy(const TestDevice *test, DeviceCopy *copy, const Failure *failure)
{
    TensorBuffer *from = copy->from;
    TensorBuffer *to = copy->to;
    if (failure == NULL) {
        memcpy(bytes_of(test, to, copy->to_offset), bytes_of(test, from, copy->from_offset), copy->size);
    }
    tensor_buffer_unref(from);
    tensor_buffer_unref(to);
    copy->done(copy, failure);
}

static void
await_delay(uint32_t delay_us)
{
    struct timespec pause = {.tv_nsec = (long)delay_us * 1000};
    (void)nanosleep(&pause, NULL);
}

/* Returns the next number of a sequence (xorshift). Called with the lock held. */
static uint32_t
next_random(TestDevice *test)
{
    test->random ^= test->random << 13;
    test->random ^= test->random >> 17;
    test->random ^= test->random << 5;
    return test->random;
}

/* Waits for the next event and takes it off the list; NULL when the device closes. */
static Event *
take_event(TestDevice *test, uint32_t *ret_delay_us)
{
    mutex_lock(&test->lock);
    while (list_is_empty(&test->events) && !test->is_closing) {
        condition_wait(&test->has_come, &test->lock);
    }
    Event *event = list_is_empty(&test->events) ? NULL : LIST_ITEM(list_first(&test->events), Event, link);
    if (event != NULL) {
        list_remove(&event->link);
        *ret_delay_us = next_random(test) % test->options.delay_us;
    }
    mutex_unlock(&test->lock);
    return event;
}

static Event *
take_spare_event(TestDevice *test)
{
    mutex_lock(&test->lock);
    assert(!list_is_empty(&test->spare_events));
    Event *event = LIST_ITEM(list_first(&test->spare_events), Event, link);
    list_remove(&event->link);
    mutex_unlock(&test->lock);
    return event;
}

static void
put_spare_event(TestDevice *test, Event *event)
{
    mutex_lock(&test->lock);
    list_append(&test->spare_events, &event->link);
    mutex_unlock(&test->lock);
}

static void *
run_events(void *argument)
{
    TestDevice *test = argument;
    uint32_t delay_us = 0;
    for (Event *event = take_event(test, &delay_us); event != NULL; event = take_event(test, &delay_us)) {
        await_delay(delay_us);
        const char *fault = test_fault(&test->device);
        Failure failure = {0};
        if (fault != NULL) {
            failure =
                failure_of(STATUS_UNAVAILABLE, (Slice){0}, "the test device is out of service: %s", fault);
        }
        if (event->copy != NULL) {
            end_copy(test, event->copy, fault == NULL ? NULL : &failure);
        } else {
            event->fence->passed(event->fence, fault == NULL ? NULL : &failure);
        }
        put_spare_event(test, event);
    }
    return NULL;
}

static void
add_event(TestDevice *test, DeviceCopy *copy, DeviceFence *fence)
{
    Event *event = take_spare_event(test);
    event->copy = copy;
    event->fence = fence;
    mutex_lock(&test->lock);
    list_append(&test->events, &event->link);
    condition_signal(&test->has_come);
    mutex_unlock(&test->lock);
}

static void
test_copy(Device *device, DeviceCopy *copy)
{
    TestDevice *test = test_device(device);
    bool is_upload = copy->to->memory == TEST_MEMORY;
    assert(copy->size > 0 && (copy->from->memory == TEST_MEMORY) != is_upload);
    assert(
        copy->from_offset + copy->size <= copy->from->size && copy->to_offset + copy->size <= copy->to->size);
    (void)tensor_buffer_ref(copy->from);
    (void)tensor_buffer_ref(copy->to);
    mutex_lock(&test->lock);
    bool comes_at_once = is_upload && test->fault == NULL && next_random(test) % 2 == 0;
    test->counts.uploads += is_upload;
    test->counts.downloads += !is_upload;
    mutex_unlock(&test->lock);
    if (comes_at_once) {
        end_copy(test, copy, NULL);
    } else {
        add_event(test, copy, NULL);
    }
}

static void
test_fence(Device *device, DeviceFence *fence)
{
    TestDevice *test = test_device(device);
    assert((void *)fence->lane == (void *)device);
    mutex_lock(&test->lock);
    test->counts.fences++;
    mutex_unlock(&test->lock);
    add_event(test, NULL, fence);
}

static TensorBuffer *
inner_allocate(Device *inner, size_t size)
{
    TestDevice *test = device_of_inner(inner);
    TensorBuffer *buffer = device_allocate(&test->device, size, charged);
    if (buffer != NULL) {
        buffer->data = readable_of(test, buffer->data);
    } else {
        atomic_add_relaxed(&test->device.counts.full, 1);
    }
    return buffer;
}

static void
inner_memory(const Device *inner, DeviceMemory *ret_memory)
{
    test_memory(&device_of_inner(inner)->device, ret_memory);
}

static void
inner_parallel_for(Device *inner, int64_t count, void (*body)(void *context, int64_t index), void *context)
{
    Device *host = device_of_inner(inner)->options.host;
    host->parallel_for(host, count, body, context);
}

/* The kernel that computes a node for the device, and its state. */
typedef struct Computing {
    const Kernel *kernel;
    void *state;
} Computing;

static TestDevice *the_device; /* rows of kernels have no context: there is one device */

static bool
is_plain(Dtype dtype)
{
    return dtype_is_copyable(dtype);
}

/* Returns whether the variables that the node changes are numbers that count nothing. */
static bool
changes_floats_alone(const Node *node)
{
    const char *name = node_attr(node, "T") != NULL ? "T" : "dtype";
    return node_attr(node, name) != NULL && dtype_is_floating(node_attr_type(node, name));
}

static bool
supports_node(const Node *node)
{
    const Kernel *kernel = kernel_find(the_device->options.host, node);
    const char *lacks = the_device->options.lacks;
    bool is_right = kernel != NULL && (lacks == NULL || !slice_equals_string(node->def->op, lacks)) &&
                    kernel->start == NULL && kernel->compute != NULL && kernel->host_outputs == 0;
    bool changes_floats = is_right && kernel->visits_variables && changes_floats_alone(node);
    for (uint32_t i = 0; is_right && i < node->input_count; i++) {
        is_right = node->inputs[i].node == NODE_NONE || is_plain(node->input_dtypes[i]) ||
                   (changes_floats && node->input_dtypes[i] == DTYPE_RESOURCE);
    }
    for (uint32_t i = 0; is_right && i < node->output_count; i++) {
        is_right = is_plain(node->output_dtypes[i]);
    }
    return is_right;
}

static Status
create_computing(Call *call, const Node *node, void **ret_state)
{
    Computing *computing = memory_new(1, sizeof *computing);
    if (computing == NULL) {
        return call_fail_memory(call, "a test kernel");
    }
    computing->kernel = kernel_find(the_device->options.host, node);
    Status status = computing->kernel->create == NULL
                        ? STATUS_OK
                        : computing->kernel->create(call, node, &computing->state);
    if (status != STATUS_OK) {
        memory_free(computing);
        return status;
    }
    *ret_state = computing;
    return STATUS_OK;
}

static void
destroy_computing(void *state)
{
    Computing *computing = state;
    if (computing->kernel->destroy != NULL && computing->state != NULL) {
        computing->kernel->destroy(computing->state);
    }
    memory_free(computing);
}

static Status
prepare_computing(Call *call, Device *device, const Node *node, const Tensor *const *constants, void *state)
{
    const Computing *computing = state;
    (void)device;
    return computing->kernel->prepare == NULL ? STATUS_OK
                                              : computing->kernel->prepare(call, the_device->options.host,
                                                    node, constants, computing->state);
}

/* Hides the addresses of an output again. */
static void
hide_output(const TestDevice *test, Tensor *output)
{
    output->data = hide(test, output->data);
    if (output->buffer != NULL) {
        output->buffer->data = hide(test, output->buffer->data);
    }
}

/* Shows or hides the elements of a kernel's variables that lie on the device. */
static void
show_variables(const TestDevice *test, KernelContext *inner, bool is_shown)
{
    for (uint32_t i = 0; i < inner->input_count; i++) {
        Variable *variable = (Variable *)(void *)resource_of(&inner->inputs[i], &variable_type);
        if (variable == NULL) {
            continue;
        }
        variables_lock(&variable, 1);
        Tensor *value = without_const(variable_value(variable));
        if (variable_reach(inner, variable) != STATUS_OK || value->buffer == NULL) {
            /* The kernel will say so. */
        } else if (is_shown) {
            value->data = readable_of(test, value->data);
        } else {
            hide_output(test, value);
        }
        variables_unlock(&variable, 1);
    }
}

static Status
compute_with_variables(TestDevice *test, const Kernel *kernel, KernelContext *inner)
{
    if (!kernel->visits_variables) {
        return kernel->compute(inner);
    }
    mutex_lock(&test->variables);
    show_variables(test, inner, true);
    Status status = kernel->compute(inner);
    show_variables(test, inner, false);
    mutex_unlock(&test->variables);
    return status;
}

/* Computes with the host's kernel, which is given the readable addresses of inputs and outputs. */
static Status
compute_node(KernelContext *context)
{
    TestDevice *test = test_device(context->device);
    const Computing *computing = context->state;
    Tensor *inputs = arena_alloc(context->call->arena, (context->input_count + 1) * sizeof *inputs);
    if (inputs == NULL) {
        return call_fail_memory(context->call, "a test kernel's inputs");
    }
    for (uint32_t i = 0; i < context->input_count; i++) {
        inputs[i] = context->inputs[i];
        if (!tensor_is_on_host(&inputs[i])) {
            inputs[i].data = readable_of(test, inputs[i].data);
        }
    }
    KernelContext inner = *context;
    inner.device = &test->inner;
    inner.host = NULL;
    inner.lane = NULL;
    inner.memory = NULL;
    inner.state = computing->state;
    inner.inputs = inputs;
    Tensor *before = arena_alloc(context->call->arena, (context->input_count + 1) * sizeof *before);
    if (before == NULL) {
        return call_fail_memory(context->call, "a test kernel's inputs");
    }
    memcpy(before, inputs, context->input_count * sizeof *before);
    Status status = compute_with_variables(test, computing->kernel, &inner);
    if (status == STATUS_OK && capturing != NULL &&
        !test_graph_add(capturing, computing->kernel, &inner, before)) {
        status = call_fail_memory(context->call, "a captured kernel");
    }
    for (uint32_t i = 0; i < context->input_count; i++) {
        bool has_become_handle = context->inputs[i].dtype != inputs[i].dtype; /* kernel_variable() */
        inputs[i].data = has_become_handle ? inputs[i].data : context->inputs[i].data;
        context->inputs[i] = inputs[i];
    }
    for (uint32_t i = 0; i < context->output_count; i++) {
        hide_output(test, &context->outputs[i]);
    }
    mutex_lock(&test->lock);
    test->counts.computed++;
    test->counts.tf32 += context->allows_tf32;
    mutex_unlock(&test->lock);
    return status;
}

static Kernel kernels[OPS_MAX];
static char kernel_ops[OPS_MAX][OP_NAME_SIZE];
static KernelFamily family = {.kernels = kernels, .file = __FILE__};
static const KernelFamily *const families[] = {&family};

static void
make_kernels(void)
{
    assert(op_count() <= OPS_MAX);
    family.kernel_count = 0;
    for (size_t i = 0; i < op_count(); i++) {
        const Op *op = op_at(i);
        const Kernel *reference = kernel_reference(op->name);
        int length = snprintf(kernel_ops[i], OP_NAME_SIZE, "%.*s", SLICE_PRINT(op->name));
        assert(length < OP_NAME_SIZE);
        (void)length;
        kernels[family.kernel_count++] = (Kernel){.op = kernel_ops[i],
            .supports = supports_node,
            .create = create_computing,
            .destroy = destroy_computing,
            .prepare = prepare_computing,
            .compute = compute_node,
            .visits_variables = reference != NULL && reference->visits_variables,
            .host_inputs = reference == NULL ? 0 : reference->host_inputs};
    }
}

const KernelFamily *const *
test_device_families(size_t *ret_count)
{
    make_kernels();
    *ret_count = COUNT_OF(families);
    return families;
}

/* Maps the region twice. */
static bool
map_region(TestDevice *test)
{
    int file = memfd_create("test-device", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)REGION_SIZE) != 0) {
        return false;
    }
    test->readable = mmap(NULL, REGION_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    test->hidden = mmap(NULL, REGION_SIZE, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
    (void)close(file);
    return test->readable != MAP_FAILED && test->hidden != MAP_FAILED;
}

static void
make_devices(TestDevice *test)
{
    test->device = (Device){.type = "GPU",
        .incarnation = 1,
        .isa = "test",
        .thread_count = 1,
        .prefers_channels_last = true,
        .allows_tf32 = test->options.allows_tf32,
        .memory_number = TEST_MEMORY,
        .allocate = test_allocate,
        .memory = test_memory,
        .charge = test_charge,
        .open_lane = test_open_lane,
        .close_lane = test_close_lane,
        .enter = test_enter,
        .leave = test_leave,
        .begin_capture = test_begin_capture,
        .end_capture = test_end_capture,
        .replay = test_replay,
        .free_graph = test_free_graph,
        .copy = test_copy,
        .fence = test_fence,
        .fault = test_fault};
    test->inner = (Device){.type = "GPU",
        .isa = test->options.host->isa,
        .thread_count = test->options.host->thread_count,
        .memory_number = TEST_MEMORY,
        .allocate = inner_allocate,
        .memory = inner_memory,
        .charge = test_charge,
        .parallel_for = inner_parallel_for};
}

Status
test_device_open(Call *call, const TestDeviceOptions *options, Device **ret_device)
{
    assert(the_device == NULL && options->host != NULL);
    TestDevice *test = memory_new(1, sizeof *test);
    if (test == NULL || !map_region(test)) {
        return call_fail_memory(call, "a test device");
    }
    test->options = *options;
    test->options.delay_us = options->delay_us == 0 ? DELAY_DEFAULT_US : options->delay_us;
    test->memory.limit = options->memory == 0 ? MEMORY_DEFAULT : options->memory;
    test->random = options->seed * 2654435761U | 1;
    mutex_init(&test->lock);
    mutex_init(&test->turn);
    mutex_init(&test->variables);
    condition_init(&test->has_come);
    list_init(&test->events);
    list_init(&test->spare_events);
    for (int i = 0; i < EVENTS_MAX; i++) {
        list_append(&test->spare_events, &test->event_table[i].link);
    }
    make_devices(test);
    the_device = test;
    int code = pthread_create(&test->thread, NULL, run_events, test);
    assert(code == 0);
    (void)code;
    *ret_device = &test->device;
    return STATUS_OK;
}

void
test_device_close(Device *device)
{
    TestDevice *test = test_device(device);
    if (device == NULL) {
        return;
    }
    mutex_lock(&test->lock);
    test->is_closing = true;
    condition_signal(&test->has_come);
    mutex_unlock(&test->lock);
    (void)pthread_join(test->thread, NULL);
    assert(test->memory.in_use == 0 && test->open_lanes == 0);
    for (int log = 0; log <= BLOCK_SIZE_LOG_MAX; log++) {
        while (test->free_blocks[log] != NULL) {
            Block *block = test->free_blocks[log];
            test->free_blocks[log] = block->next;
            memory_free(block);
        }
    }
    (void)munmap(test->readable, REGION_SIZE);
    (void)munmap(test->hidden, REGION_SIZE);
    condition_done(&test->has_come);
    mutex_done(&test->lock);
    mutex_done(&test->turn);
    mutex_done(&test->variables);
    memory_free(test);
    the_device = NULL;
}

TestDeviceCounts
test_device_counts(const Device *device)
{
    TestDevice *test = test_device(device);
    mutex_lock(&test->lock);
    TestDeviceCounts counts = test->counts;
    mutex_unlock(&test->lock);
    return counts;
}

void
test_device_break(Device *device, const char *reason)
{
    TestDevice *test = test_device(device);
    mutex_lock(&test->lock);
    test->fault = reason;
    atomic_store_relaxed(&test->device.counts.broken, 1);
    mutex_unlock(&test->lock);
}
