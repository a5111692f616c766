#include "tests/support/partition_runs.h"

#include <sched.h>

#include "shared/base/atomic.h"
#include "tests/support/await.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/graph_literals.h"
#include "tests/support/reference_run.h"
#include "worker/runtime/captures.h"
#include "worker/runtime/partition/compile.h"

static const size_t CALL_ARENA_MAX = 1024 * 1024;
static const uint64_t DEVICE_MEMORY = 256 * 1024 * 1024;

void
fixture_begin(RunFixture *fixture, int thread_count)
{
    *fixture = (RunFixture){.call.arena = arena_new(CALL_ARENA_MAX)};
    CpuDeviceOptions options = {.thread_count = thread_count, .memory_limit = DEVICE_MEMORY};
    assert_status(&fixture->call, STATUS_OK, cpu_device_new(&fixture->call, &options, &fixture->device));
}

void
accelerator_begin(Call *call, const TestDeviceOptions *options, Device **ret_device)
{
    size_t family_count = 0;
    const KernelFamily *const *families = test_device_families(&family_count);
    assert_status(call, STATUS_OK, test_device_open(call, options, ret_device));
    assert_status(call, STATUS_OK, kernel_register(call, "GPU", families, family_count));
}

void
accelerator_capture(Device *device)
{
    CapturesOptions options = {.graph_max = FIXTURE_GRAPHS_MAX, .launch_min = 1};
    device->captures = captures_new(device, &options);
    assert_non_null(device->captures);
}

void
accelerator_end(Device *device)
{
    if (device != NULL) {
        kernel_unregister(device->type);
        captures_free(TAKE(device->captures));
        test_device_close(device);
    }
}

void
fixture_begin_accelerated(RunFixture *fixture, int thread_count)
{
    fixture_begin(fixture, thread_count);
    TestDeviceOptions options = {.host = fixture->device};
    accelerator_begin(&fixture->call, &options, &fixture->accelerator);
}

void
fixture_begin_capturing(RunFixture *fixture, int thread_count, const TestDeviceOptions *options)
{
    fixture_begin(fixture, thread_count);
    TestDeviceOptions test = options == NULL ? (TestDeviceOptions){0} : *options;
    test.host = fixture->device;
    accelerator_begin(&fixture->call, &test, &fixture->accelerator);
    accelerator_capture(fixture->accelerator);
}

DeviceSet
fixture_devices(const RunFixture *fixture)
{
    return (DeviceSet){.host = fixture->device, .accelerator = fixture->accelerator};
}

uint64_t
fixture_memory_in_use(const RunFixture *fixture)
{
    DeviceMemory memory = {0};
    DeviceMemory more = {0};
    fixture->device->memory(fixture->device, &memory);
    if (fixture->accelerator != NULL) {
        fixture->accelerator->memory(fixture->accelerator, &more);
    }
    return memory.in_use + more.in_use;
}

/* Returns whether no run holds anything: one that has reported its end may still be freeing its partition, on
 * its own thread, most often for microseconds. */
static bool
has_all_back(const RunFixture *fixture)
{
    return atomic_load_acquire(&fixture->device->partition_count) == 0 && fixture_memory_in_use(fixture) == 0;
}

void
fixture_end(RunFixture *fixture)
{
    uint64_t end_ns = clock_monotonic_ns() + AWAIT_MS * CLOCK_NS_PER_MS;
    while (!has_all_back(fixture) && clock_monotonic_ns() < end_ns) {
        sched_yield();
    }
    assert_true(has_all_back(fixture));
    accelerator_end(fixture->accelerator);
    cpu_device_free(fixture->device);
    arena_free(fixture->call.arena);
}

Partition *
fixture_compile_without(RunFixture *fixture, const char *text, const char *pass)
{
    Slice off = slice_from_string(pass);
    AUTO_GRAPH_DEF def = graph_literal(text);
    MissingBlobs missing = {0};
    Partition *partition = NULL;
    assert_non_null(def);
    def->passes_off = &off;
    def->passes_off_count = pass == NULL ? 0 : 1;
    assert_status(&fixture->call, STATUS_OK,
        partition_compile(&fixture->call, def, fixture_devices(fixture), NULL, &missing, &partition));
    def->passes_off_count = 0;
    return partition;
}

Partition *
fixture_compile(RunFixture *fixture, const char *text)
{
    return fixture_compile_without(fixture, text, NULL);
}

static void
outcome_output(void *context, uint32_t index, Tensor *tensor, bool is_dead)
{
    RunOutcome *outcome = context;
    assert_true(index < OUTCOME_OUTPUTS_MAX);
    outcome->outputs[index] = *tensor;
    outcome->is_dead[index] = is_dead;
    *tensor = (Tensor){0};
    atomic_add_acq_rel(&outcome->output_count, 1);
}

static void
outcome_done(void *context, const RunResult *result)
{
    RunOutcome *outcome = context;
    outcome->code = result->failure->code;
    outcome->stats = result->stats;
    snprintf(outcome->message, sizeof outcome->message, "%s", result->failure->message);
    snprintf(
        outcome->node, sizeof outcome->node, "%.*s", SLICE_PRINT(slice_from_string(result->failure->node)));
    atomic_add_acq_rel(&outcome->done_count, 1);
}

typedef struct Mark {
    DeviceWork work; /* first member */
    bool was_met;    /* atomic */
} Mark;

static void
mark_met(DeviceWork *work)
{
    Mark *mark = (Mark *)(void *)work;
    atomic_store_release(&mark->was_met, true);
}

/* Waits for the device's thread, which does its work in order: a mark at the end of the queue. Nodes that
 * a node hands over come behind the mark, so there are as many marks as the longest row of such nodes in
 * any test. */
void
fixture_await_thread(const RunFixture *fixture)
{
    enum { MARKS = 100 };
    assert_int_equal(fixture->device->thread_count, 1);
    for (int index = 0; index < MARKS; index++) {
        Mark mark = {.work.run = mark_met};
        fixture->device->schedule(fixture->device, &mark.work);
        while (!atomic_load_acquire(&mark.was_met)) {
            (void)sched_yield();
        }
    }
}

RunCallbacks
outcome_callbacks(RunOutcome *outcome)
{
    return (RunCallbacks){.context = outcome, .on_output = outcome_output, .on_done = outcome_done};
}

void
outcome_wait(const RunOutcome *outcome)
{
    while (atomic_load_acquire(&outcome->done_count) == 0) {
        sched_yield();
    }
}

void
outcome_clear(RunOutcome *outcome)
{
    for (int i = 0; i < OUTCOME_OUTPUTS_MAX; i++) {
        tensor_unref(&outcome->outputs[i]);
    }
    *outcome = (RunOutcome){0};
}

void
fixture_run(RunFixture *fixture, Partition *partition, Rendezvous *rendezvous, Tensor *args,
    uint32_t arg_count, RunOutcome *outcome)
{
    RunRequest request = {
        .partition = partition,
        .args = args,
        .arg_count = arg_count,
        .rendezvous = rendezvous,
        .callbacks = outcome_callbacks(outcome),
    };
    assert_status(&fixture->call, STATUS_OK, run_start(&fixture->call, &request, NULL));
    outcome_wait(outcome);
}

Tensor
fixture_floats(RunFixture *fixture, const Shape *shape, const float *values)
{
    size_t size = 0;
    assert_true(shape_byte_size(shape, DTYPE_FLOAT32, &size));
    TensorBuffer *buffer = fixture->device->allocate(fixture->device, size);
    assert_non_null(buffer);
    memcpy(buffer->data, values, size);
    return (Tensor){.dtype = DTYPE_FLOAT32, .shape = *shape, .data = buffer->data, .buffer = buffer};
}

Tensor
fixture_vector(RunFixture *fixture, int64_t size, float value)
{
    Shape shape = shape_vector(size);
    TensorBuffer *buffer = fixture->device->allocate(fixture->device, (size_t)size * sizeof(float));
    assert_non_null(buffer);
    for (int64_t i = 0; i < size; i++) {
        ((float *)buffer->data)[i] = value;
    }
    return (Tensor){.dtype = DTYPE_FLOAT32, .shape = shape, .data = buffer->data, .buffer = buffer};
}

float
tensor_float(const Tensor *tensor, int64_t index)
{
    assert_int_equal(tensor->dtype, DTYPE_FLOAT32);
    assert_true(index < tensor_element_count(tensor));
    return ((const float *)tensor->data)[index];
}

Tensor
fixture_numbers(RunFixture *fixture, const Shape *shape, int seed)
{
    int64_t count = 0;
    assert_true(shape_element_count(shape, &count));
    Tensor tensor = fixture_vector(fixture, count, 0);
    tensor.shape = *shape;
    for (int64_t i = 0; i < count; i++) {
        ((float *)tensor.data)[i] = (float)((i * 5 + i / 11 + seed) % 7 - 3);
    }
    return tensor;
}

static void
assert_fast(const ScheduleNode *node)
{
    assert_non_null(node->kernel);
    assert_ptr_not_equal(reference_find(node->node), node->kernel);
}

const ScheduleNode *
fixture_fast_node(const Partition *partition, const char *name)
{
    for (uint32_t id = 0; id < partition->node_count; id++) {
        if (slice_equals_string(partition->nodes[id].node->name, name)) {
            assert_fast(&partition->nodes[id]);
            return &partition->nodes[id];
        }
    }
    fail_msg("there is no node '%s'", name);
    return NULL;
}

void
fixture_assert_as_reference(
    RunFixture *fixture, const ScheduleNode *node, Tensor *inputs, const Tensor *output)
{
    assert_fast(node);
    Tensor expected[1] = {0};
    assert_status(&fixture->call, STATUS_OK, reference_compute(&fixture->call, node->node, inputs, expected));
    assert_true(tensor_equal(&expected[0], output));
    tensor_unref(&expected[0]);
}

void
fixture_expect_reference(
    RunFixture *fixture, Partition *partition, uint32_t node, Tensor *inputs, uint32_t input_count)
{
    enum { ROUNDS = 2, INPUTS_MAX = 8 };
    assert_true(input_count <= INPUTS_MAX);
    for (int round = 0; round < ROUNDS; round++) {
        RunOutcome outcome = {0};
        Tensor args[INPUTS_MAX];
        for (uint32_t index = 0; index < input_count; index++) {
            args[index] = tensor_ref(&inputs[index]);
        }
        fixture_run(fixture, partition, NULL, args, input_count, &outcome);
        assert_string_equal(outcome.message, "");
        fixture_assert_as_reference(fixture, &partition->nodes[node], inputs, &outcome.outputs[0]);
        outcome_clear(&outcome);
    }
    for (uint32_t index = 0; index < input_count; index++) {
        tensor_unref(&inputs[index]);
    }
}

void
assert_same_bits(Tensor *expected, const Tensor *output)
{
    if (expected->buffer == NULL) {
        assert_true(tensor_new(output->dtype, &output->shape, expected));
        if (tensor_byte_size(output) > 0) {
            memcpy(expected->data, output->data, tensor_byte_size(output));
        }
    }
    assert_true(tensor_equal(output, expected));
}
