#include "tests/support/planned_run.h"

#include "shared/base/atomic.h"
#include "shared/base/text.h"
#include "shared/formats/graphdef_json.h"
#include "tests/support/partition_runs.h"
#include "worker/cpu/device.h"

#include "tests/support/cmocka_all.h"
#include "worker/runtime/partition/compile.h"

enum {
    PORTS_MAX = 32,
    PINNED_MEMORY = 64 << 20,
    TIMES_THERE = 5, /* runs on an accelerator, of which the third captures what the others replay */
};

static void
open_accelerator(Call *call, PlannedRun *run, const char *name)
{
    PluginOptions options = {.host = run->device, .device = "", .pinned_memory = PINNED_MEMORY};
    TestDeviceOptions test = {.host = run->device};
    if (slice_ends_with(slice_from_string(name), SLICE(".so"))) {
        assert_status(call, STATUS_OK, plugin_open(call, name, &options, &run->opened));
        run->accelerator = run->opened.device;
    } else {
        accelerator_begin(call, &test, &run->accelerator);
    }
}

static void
close_accelerator(PlannedRun *run)
{
    if (run->opened.device != NULL) {
        captures_free(TAKE(run->accelerator->captures));
        plugin_close(&run->opened);
    } else {
        accelerator_end(run->accelerator);
    }
}

void
planned_run_begin(PlannedRun *run)
{
    AUTO_ARENA arena = arena_new(1 << 20);
    Call call = {.arena = arena};
    CpuDeviceOptions options = {.thread_count = 1, .memory_limit = UINT64_C(1) << 31};
    *run = (PlannedRun){0};
    assert_status(&call, STATUS_OK, cpu_device_new(&call, &options, &run->device));
    const char *accelerator = getenv("SLUICE_TEST_DEVICE");
    if (accelerator != NULL) {
        open_accelerator(&call, run, accelerator);
        accelerator_capture(run->accelerator);
    }
    run->session = container_new();
    assert_non_null(run->session);
}

void
planned_run_end(PlannedRun *run)
{
    container_unref(run->session);
    assert_true(run->accelerator == NULL || atomic_load_relaxed(&run->accelerator->counts.kernels) > 0);
    close_accelerator(run);
    cpu_device_free(run->device);
    run->session = NULL;
    run->device = NULL;
}

static Slice
endpoint_text(const Call *call, const Graph *graph, Endpoint endpoint)
{
    return slice_from_string(
        text_format(call->arena, "%.*s:%u", SLICE_PRINT(graph->nodes[endpoint.node].name), endpoint.port));
}

static Status
make_plan(Call *call, const PlannedRun *run, const Graph *graph, const Signature *wanted,
    const ReferenceFeed *feeds, Plan **ret_plan)
{
    SignatureFeed given_feeds[PORTS_MAX];
    Signature signature;
    size_t feed_count = wanted->feed_count;
    assert_true(feed_count <= PORTS_MAX);
    for (size_t index = 0; index < feed_count; index++) {
        given_feeds[index] = (SignatureFeed){.name = endpoint_text(call, graph, feeds[index].endpoint),
            .dtype = feeds[index].tensor.dtype,
            .shape = feeds[index].tensor.shape};
    }
    Signature given = {.feeds = given_feeds,
        .feed_count = feed_count,
        .fetches = wanted->fetches,
        .fetch_count = wanted->fetch_count,
        .options = {.slot_count = 1, .passes_off = run->passes_off}};
    TRY(signature_make(call, SLICE("graph"), &given, &signature));
    PlanRequest request = {.graph = graph, .signature = &signature};
    return plan_compile(call, &request, ret_plan);
}

typedef struct Blobs {
    const PlanPartition *partition;
    const AbsentWeights *weights;
} Blobs;

static TensorBuffer *
find_blob(void *context, Slice sha256)
{
    const Blobs *blobs = context;
    const PlanPartition *partition = blobs->partition;
    for (size_t index = 0; index < partition->blob_count; index++) {
        const Tensor *tensor = &partition->blobs[index].tensor;
        if (slice_equals_string(sha256, partition->blobs[index].sha256)) {
            if (tensor_is_absent(tensor)) {
                return blobs->weights == NULL ? NULL : absent_weights_find(blobs->weights, sha256);
            }
            TensorBuffer *bytes = tensor_buffer_new(tensor_byte_size(tensor));
            assert_non_null(bytes);
            memcpy(bytes->data, tensor->data, bytes->size);
            return bytes;
        }
    }
    return NULL;
}

Status
planned_partition(Call *call, const PlanPartition *planned, DeviceSet devices, Partition **ret_partition)
{
    return planned_partition_of(call, planned, NULL, devices, ret_partition);
}

Status
planned_partition_of(Call *call, const PlanPartition *planned, const AbsentWeights *weights,
    DeviceSet devices, Partition **ret_partition)
{
    AUTO_GRAPH_DEF def = NULL;
    Blobs sources = {planned, weights};
    BlobSource blobs = {.context = &sources, .find = find_blob};
    MissingBlobs missing = {0};
    TRY(graphdef_json_read(call, planned->document, &def));
    return partition_compile(call, def, devices, &blobs, &missing, ret_partition);
}

static size_t
find_name(const Slice *names, size_t count, Slice name)
{
    for (size_t index = 0; index < count; index++) {
        if (slice_equal(names[index], name)) {
            return index;
        }
    }
    return SIZE_MAX;
}

static Status
run_partition(Call *call, const PlannedRun *run, const PlanPartition *planned, Partition *partition,
    const Plan *plan, const ReferenceFeed *feeds, const Slice *feed_names, size_t feed_count,
    RunOutcome *outcome)
{
    Tensor args[PORTS_MAX] = {0};
    for (size_t index = 0; index < planned->feed_count; index++) {
        size_t feed = find_name(feed_names, feed_count, plan->feeds[planned->feeds[index]]);
        args[index] = tensor_ref(&feeds[feed].tensor);
    }
    RunRequest request = {.partition = partition,
        .args = args,
        .arg_count = (uint32_t)planned->feed_count,
        .container = run->session,
        .callbacks = outcome_callbacks(outcome)};
    TRY(run_start(call, &request, NULL));
    outcome_wait(outcome);
    return outcome->code == STATUS_OK ? STATUS_OK : call_fail(call, outcome->code, "%s", outcome->message);
}

static Status
take_outputs(Call *call, const PlanPartition *planned, const Plan *plan, RunOutcome *outcome,
    const Slice *fetches, size_t fetch_count, Tensor *ret_tensors)
{
    for (size_t index = 0; index < planned->fetch_count; index++) {
        if (outcome->is_dead[index]) {
            return call_fail(call, STATUS_INTERNAL, "output %zu is dead", index);
        }
        for (size_t fetch = 0; fetch < fetch_count; fetch++) {
            if (slice_equal(fetches[fetch], plan->fetches[planned->fetches[index]])) {
                ret_tensors[fetch] = tensor_ref(&outcome->outputs[index]);
            }
        }
    }
    return STATUS_OK;
}

Status
planned_run(Call *call, const PlannedRun *run, const Graph *graph, const ReferenceFeed *feeds,
    size_t feed_count, const Endpoint *fetches, size_t fetch_count, Tensor *ret_tensors)
{
    AUTO_PLAN plan = NULL;
    AUTO_PARTITION partition = NULL;
    Slice feed_names[PORTS_MAX];
    Slice names[PORTS_MAX];
    RunOutcome outcome = {0};
    assert_true(feed_count <= PORTS_MAX && fetch_count <= OUTCOME_OUTPUTS_MAX);
    for (size_t index = 0; index < feed_count; index++) {
        feed_names[index] = endpoint_text(call, graph, feeds[index].endpoint);
    }
    for (size_t index = 0; index < fetch_count; index++) {
        names[index] = endpoint_text(call, graph, fetches[index]);
    }
    Signature wanted = {.feed_count = feed_count, .fetches = names, .fetch_count = fetch_count};
    TRY(make_plan(call, run, graph, &wanted, feeds, &plan));
    const PlanPartition *planned = &plan->partitions[0];
    TRY(planned_partition_of(call, planned, run->weights,
        (DeviceSet){.host = run->device, .accelerator = run->accelerator}, &partition));
    if (run->examine != NULL) {
        run->examine(run->examiner, partition);
    }
    Status status = STATUS_OK;
    int times = run->accelerator == NULL ? 1 : TIMES_THERE;
    for (int time = 0; time < times && status == STATUS_OK; time++) {
        outcome_clear(&outcome);
        outcome = (RunOutcome){0};
        status = run_partition(call, run, planned, partition, plan, feeds, feed_names, feed_count, &outcome);
    }
    if (run->node_count != NULL) {
        *run->node_count = outcome.stats.node_count;
    }
    if (status == STATUS_OK) {
        status = take_outputs(call, planned, plan, &outcome, names, fetch_count, ret_tensors);
    }
    outcome_clear(&outcome);
    return status;
}
