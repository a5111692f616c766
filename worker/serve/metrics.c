#include "worker/serve/metrics.h"

#include "shared/base/atomic.h"
#include "shared/telemetry/metrics.h"

static const Worker *watched; /* atomic; NULL: no worker is open */

static const Worker *
watched_worker(void)
{
    return atomic_load_acquire(&watched);
}

void
worker_metrics_watch(const Worker *worker)
{
    atomic_store_release(&watched, worker);
}

static const char *const outcomes[] = {"succeeded", "failed", "cancelled"};
static const char *const ways[] = {"fed", "fetched", "pushed_in", "pulled_out"};
static const int64_t run_bounds_us[] = {
    50, 100, 250, 500, 1000, 2500, 5000, 10000, 25000, 100000, 500000, 2500000, 10000000};

METRIC_DEFINE(metric_runs, COUNT_OF(outcomes), .name = "sluice_worker_runs_total", .kind = METRIC_COUNTER,
    .help = "Partitions run, by outcome.", .labels = {METRIC_LABEL("outcome", outcomes)});
METRIC_HISTOGRAM_DEFINE(metric_run_seconds, 1, run_bounds_us, .name = "sluice_worker_run_seconds",
    .help = "Time in the executor.", .scale = 1e-6);
METRIC_DEFINE(metric_tensor_bytes, COUNT_OF(ways), .name = "sluice_worker_tensor_bytes_total",
    .kind = METRIC_COUNTER, .help = "Bytes of tensors that came or went, by the way they took.",
    .labels = {METRIC_LABEL("way", ways)});

static const char *const senders[] = {"gateway", "peer"};

METRIC_DEFINE(metric_blob_bytes, COUNT_OF(senders), .name = "sluice_worker_blob_bytes_total",
    .kind = METRIC_COUNTER, .help = "Bytes of constants that came, by who sent them.",
    .labels = {METRIC_LABEL("from", senders)});

void
metrics_count_blob(BlobSender sender, uint64_t size)
{
    metric_add(&metric_blob_bytes, sender, (int64_t)size);
}

void
metrics_count_tensor(TensorWay way, size_t byte_size)
{
    metric_add(&metric_tensor_bytes, way, (int64_t)byte_size);
}

void
metrics_count_run(Status status, int64_t elapsed_us)
{
    metric_add(&metric_runs, status == STATUS_OK ? 0 : status == STATUS_CANCELLED ? 2 : 1, 1);
    metric_observe(&metric_run_seconds, 0, elapsed_us);
}

typedef enum CacheKind { PARTITIONS, BLOBS } CacheKind;

static const char *const caches[] = {"partitions", "blobs"};
static const char *const lookups[] = {"hit", "miss"};

static CacheStats
cache_of(size_t kind)
{
    const Worker *worker = watched_worker();
    CacheStats stats = {0};
    if (worker != NULL && kind == PARTITIONS) {
        cache_stats(worker->partitions, &stats);
    } else if (worker != NULL) {
        blob_store_stats(worker->blobs, &stats);
    }
    return stats;
}

static int64_t
read_cache_bytes(size_t kind)
{
    return (int64_t)cache_of(kind).bytes;
}

static int64_t
read_cache_entries(size_t kind)
{
    return (int64_t)cache_of(kind).count;
}

static int64_t
read_cache_lookups(size_t series)
{
    CacheStats stats = cache_of(series / COUNT_OF(lookups));
    return (int64_t)(series % COUNT_OF(lookups) == 0 ? stats.hits : stats.misses);
}

static int64_t
read_running(size_t series)
{
    (void)series;
    const Worker *worker = watched_worker();
    return worker == NULL ? 0 : atomic_load_relaxed(&worker->running_count);
}

static int64_t
read_steps(size_t series)
{
    (void)series;
    const Worker *worker = watched_worker();
    return worker == NULL ? 0 : (int64_t)step_table_count(worker->steps);
}

static int64_t
read_parked(size_t series)
{
    (void)series;
    const Worker *worker = watched_worker();
    return worker == NULL ? 0 : (int64_t)step_table_parked_bytes(worker->steps);
}

static WirePeerTraffic
sum_traffic(void)
{
    const Worker *worker = watched_worker();
    WirePeerTraffic none = {0};
    return worker == NULL ? none : traffic_sum(worker->traffic);
}

static int64_t
read_peer_calls(size_t failed)
{
    WirePeerTraffic sum = sum_traffic();
    return failed == 1 ? sum.errors : sum.calls - sum.errors;
}

static int64_t
read_peer_bytes(size_t received)
{
    WirePeerTraffic sum = sum_traffic();
    return received == 1 ? sum.received : sum.sent;
}

static int64_t
read_memory(size_t series)
{
    (void)series;
    const Worker *worker = watched_worker();
    DeviceMemory memory = {0};
    if (worker != NULL) {
        worker->device->memory(worker->device, &memory);
    }
    return (int64_t)memory.in_use;
}

static const char *const node_places[] = {"accelerator", "host"};
static const char *const copy_ways[] = {"upload", "download"};

/* Returns the counters of the accelerator; zeroes without one. */
static DeviceCounts
accelerator_counts(void)
{
    const Worker *worker = watched_worker();
    const PluginDevice *accelerator = worker == NULL ? NULL : worker->options.accelerator;
    DeviceCounts seen = {0};
    if (accelerator != NULL) {
        const DeviceCounts *counts = &accelerator->device->counts;
        seen.kernels = atomic_load_relaxed(&counts->kernels);
        seen.kept = atomic_load_relaxed(&counts->kept);
        seen.missing = atomic_load_relaxed(&counts->missing);
        seen.uploads = atomic_load_relaxed(&counts->uploads);
        seen.downloads = atomic_load_relaxed(&counts->downloads);
        seen.uploaded_bytes = atomic_load_relaxed(&counts->uploaded_bytes);
        seen.downloaded_bytes = atomic_load_relaxed(&counts->downloaded_bytes);
        seen.busy_ns = atomic_load_relaxed(&counts->busy_ns);
        seen.library = atomic_load_relaxed(&counts->library);
        seen.plain = atomic_load_relaxed(&counts->plain);
        seen.full = atomic_load_relaxed(&counts->full);
        seen.refused = atomic_load_relaxed(&counts->refused);
        seen.broken = atomic_load_relaxed(&counts->broken);
        seen.captured = atomic_load_relaxed(&counts->captured);
        seen.replayed = atomic_load_relaxed(&counts->replayed);
        for (int reason = 0; reason < CAPTURE_REFUSALS; reason++) {
            seen.uncaptured[reason] = atomic_load_relaxed(&counts->uncaptured[reason]);
        }
        for (int event = 0; event < DEVICE_CODE_EVENTS; event++) {
            seen.code[event] = atomic_load_relaxed(&counts->code[event]);
        }
    }
    return seen;
}

static int64_t
read_accelerator_nodes(size_t place)
{
    DeviceCounts counts = accelerator_counts();
    return (int64_t)(place == 0 ? counts.kernels : counts.kept);
}

static int64_t
read_missing_kernels(size_t series)
{
    (void)series;
    return (int64_t)accelerator_counts().missing;
}

static int64_t
read_copies(size_t way)
{
    DeviceCounts counts = accelerator_counts();
    return (int64_t)(way == 0 ? counts.uploads : counts.downloads);
}

static int64_t
read_copied_bytes(size_t way)
{
    DeviceCounts counts = accelerator_counts();
    return (int64_t)(way == 0 ? counts.uploaded_bytes : counts.downloaded_bytes);
}

static int64_t
read_busy_time(size_t series)
{
    (void)series;
    return (int64_t)accelerator_counts().busy_ns;
}

static const char *const computers[] = {"library", "plain kernel"};
static const char *const troubles[] = {"out_of_memory", "refused", "broken"};
static const char *const memory_kinds[] = {"in_use", "peak", "cached", "largest_free", "limit"};

static int64_t
read_library_nodes(size_t computer)
{
    DeviceCounts counts = accelerator_counts();
    return (int64_t)(computer == 0 ? counts.library : counts.plain);
}

static int64_t
read_troubles(size_t trouble)
{
    DeviceCounts counts = accelerator_counts();
    uint64_t values[COUNT_OF(troubles)] = {counts.full, counts.refused, counts.broken};
    return (int64_t)values[trouble];
}

static const char *const graph_events[] = {"captured", "replayed"};
static const char *const capture_refusals[CAPTURE_REFUSALS] = {
    [CAPTURE_IS_LARGE] = "large",
    [CAPTURE_LACKS_MEMORY] = "out_of_memory",
    [CAPTURE_READS_MUCH] = "reads_host",
    [CAPTURE_DEVICE_REFUSES] = "refused",
    [CAPTURE_LAUNCH_FAILED] = "launch_failed",
};

static int64_t
read_graphs(size_t event)
{
    DeviceCounts counts = accelerator_counts();
    return (int64_t)(event == 0 ? counts.captured : counts.replayed);
}

static int64_t
read_capture_refusals(size_t reason)
{
    return (int64_t)accelerator_counts().uncaptured[reason];
}

static const char *const code_events[DEVICE_CODE_EVENTS] = {
    [DEVICE_CODE_COMPILED] = "compiled",
    [DEVICE_CODE_FOUND] = "cached",
    [DEVICE_CODE_FAILED] = "failed",
};

static int64_t
read_code(size_t event)
{
    return (int64_t)accelerator_counts().code[event];
}

static int64_t
read_accelerator_memory(size_t kind)
{
    const Worker *worker = watched_worker();
    const PluginDevice *accelerator = worker == NULL ? NULL : worker->options.accelerator;
    DeviceMemory memory = {0};
    if (accelerator != NULL) {
        accelerator->device->memory(accelerator->device, &memory);
    }
    uint64_t values[COUNT_OF(memory_kinds)] = {
        memory.in_use, memory.peak, memory.cached, memory.largest_free, memory.limit};
    return (int64_t)values[kind];
}

static int64_t
read_in_service(size_t series)
{
    (void)series;
    const Worker *worker = watched_worker();
    const PluginDevice *accelerator = worker == NULL ? NULL : worker->options.accelerator;
    return accelerator != NULL && accelerator->device->fault(accelerator->device) == NULL;
}

METRIC_DEFINE(metric_accelerator_in_service, 1, .name = "sluice_worker_accelerator_in_service",
    .kind = METRIC_READ, .help = "1: the worker has an accelerator that serves.", .read = read_in_service);
METRIC_DEFINE(metric_accelerator_memory, COUNT_OF(memory_kinds),
    .name = "sluice_worker_accelerator_memory_bytes", .kind = METRIC_READ,
    .help = "Memory of the accelerator, which one allocation can have as much of as is in its largest free "
            "block.",
    .labels = {METRIC_LABEL("kind", memory_kinds)}, .read = read_accelerator_memory);
METRIC_DEFINE(metric_accelerator_errors, COUNT_OF(troubles), .name = "sluice_worker_accelerator_errors_total",
    .kind = METRIC_COUNTER,
    .help = "Allocations that found no room, calls that the driver refused, and errors that broke the "
            "accelerator.",
    .labels = {METRIC_LABEL("class", troubles)}, .read = read_troubles);
METRIC_DEFINE(metric_library_nodes, COUNT_OF(computers), .name = "sluice_worker_library_nodes_total",
    .kind = METRIC_COUNTER,
    .help = "Nodes for which the accelerator's vendor has a library, by what computed them.",
    .labels = {METRIC_LABEL("by", computers)}, .read = read_library_nodes);
METRIC_DEFINE(metric_accelerator_nodes, COUNT_OF(node_places),
    .name = "sluice_worker_accelerator_nodes_total", .kind = METRIC_COUNTER,
    .help = "Nodes for which the accelerator has a kernel, by what computed them: the host computes shapes.",
    .labels = {METRIC_LABEL("on", node_places)}, .read = read_accelerator_nodes);
METRIC_DEFINE(metric_missing_kernels, 1, .name = "sluice_worker_accelerator_missing_kernels_total",
    .kind = METRIC_COUNTER,
    .help = "Nodes that the host computed because the accelerator has no kernel for them.",
    .read = read_missing_kernels);
METRIC_DEFINE(metric_graphs, COUNT_OF(graph_events), .name = "sluice_worker_accelerator_graphs_total",
    .kind = METRIC_COUNTER, .help = "Parts of graphs that were captured, and runs that replayed one at once.",
    .labels = {METRIC_LABEL("event", graph_events)}, .read = read_graphs);
METRIC_DEFINE(metric_capture_refusals, CAPTURE_REFUSALS, .name = "sluice_worker_accelerator_uncaptured_total",
    .kind = METRIC_COUNTER, .help = "Parts of graphs that were not captured, by reason.",
    .labels = {METRIC_LABEL("reason", capture_refusals)}, .read = read_capture_refusals);
METRIC_DEFINE(metric_code, DEVICE_CODE_EVENTS, .name = "sluice_worker_accelerator_fused_kernels_total",
    .kind = METRIC_COUNTER,
    .help = "Kernels for groups of nodes: compiled, found in memory or on disk, or failed.",
    .labels = {METRIC_LABEL("event", code_events)}, .read = read_code);
METRIC_DEFINE(metric_busy_time, 1, .name = "sluice_worker_accelerator_busy_seconds_total",
    .kind = METRIC_COUNTER, .help = "Time in which the accelerator had work of runs.", .scale = 1e-9,
    .read = read_busy_time);
METRIC_DEFINE(metric_copied_bytes, COUNT_OF(copy_ways), .name = "sluice_worker_device_copy_bytes_total",
    .kind = METRIC_COUNTER, .help = "Bytes of tensors copied to and from the accelerator during runs.",
    .labels = {METRIC_LABEL("way", copy_ways)}, .read = read_copied_bytes);
METRIC_DEFINE(metric_copies, COUNT_OF(copy_ways), .name = "sluice_worker_device_copies_total",
    .kind = METRIC_COUNTER, .help = "Tensors copied to and from the accelerator during runs.",
    .labels = {METRIC_LABEL("way", copy_ways)}, .read = read_copies);

static int64_t
read_blob_files(size_t event)
{
    const Worker *worker = watched_worker();
    return worker == NULL ? 0 : (int64_t)blob_folder_event_count(worker->blob_folder, (BlobFileEvent)event);
}

static const char *const file_events[BLOB_FILE_EVENTS] = {"written", "mapped", "removed", "damaged"};

METRIC_DEFINE(metric_blob_files, BLOB_FILE_EVENTS, .name = "sluice_worker_blob_files_total",
    .kind = METRIC_COUNTER, .help = "Files of the blob folder, by what this worker did with them.",
    .labels = {METRIC_LABEL("event", file_events)}, .read = read_blob_files);
METRIC_DEFINE(metric_cache_bytes, COUNT_OF(caches), .name = "sluice_worker_cache_bytes", .kind = METRIC_READ,
    .help = "Memory of a cache.", .labels = {METRIC_LABEL("cache", caches)}, .read = read_cache_bytes);
METRIC_DEFINE(metric_cache_entries, COUNT_OF(caches), .name = "sluice_worker_cache_entries",
    .kind = METRIC_READ, .help = "What a cache holds.", .labels = {METRIC_LABEL("cache", caches)},
    .read = read_cache_entries);
METRIC_DEFINE(metric_cache_lookups, COUNT_OF(caches) * COUNT_OF(lookups),
    .name = "sluice_worker_cache_lookups_total", .kind = METRIC_COUNTER, .help = "Looks into a cache.",
    .labels = {METRIC_LABEL("cache", caches), METRIC_LABEL("result", lookups)}, .read = read_cache_lookups);
METRIC_DEFINE(metric_running, 1, .name = "sluice_worker_running", .kind = METRIC_READ,
    .help = "Runs under way.", .read = read_running);
METRIC_DEFINE(metric_steps, 1, .name = "sluice_worker_steps", .kind = METRIC_READ,
    .help = "Steps known, tombstones included.", .read = read_steps);
METRIC_DEFINE(metric_parked, 1, .name = "sluice_worker_parked_bytes", .kind = METRIC_READ,
    .help = "Tensors that came before they were wanted.", .read = read_parked);
static const char *const call_outcomes[] = {"succeeded", "failed"};
static const char *const directions[] = {"sent", "received"};

METRIC_DEFINE(metric_peer_calls, COUNT_OF(call_outcomes), .name = "sluice_worker_peer_calls_total",
    .kind = METRIC_COUNTER, .help = "Calls that this worker has made to others, by outcome.",
    .labels = {METRIC_LABEL("outcome", call_outcomes)}, .read = read_peer_calls);
METRIC_DEFINE(metric_peer_bytes, COUNT_OF(directions), .name = "sluice_worker_peer_bytes_total",
    .kind = METRIC_COUNTER, .help = "Bytes of the bodies of those calls.",
    .labels = {METRIC_LABEL("way", directions)}, .read = read_peer_bytes);
METRIC_DEFINE(metric_memory, 1, .name = "sluice_worker_device_memory_bytes", .kind = METRIC_READ,
    .help = "Memory of the device in use.", .read = read_memory);

static const Metric *const metrics[] = {
    &metric_runs,
    &metric_run_seconds,
    &metric_running,
    &metric_tensor_bytes,
    &metric_parked,
    &metric_steps,
    &metric_cache_bytes,
    &metric_cache_entries,
    &metric_cache_lookups,
    &metric_memory,
    &metric_accelerator_in_service,
    &metric_accelerator_memory,
    &metric_accelerator_errors,
    &metric_accelerator_nodes,
    &metric_missing_kernels,
    &metric_library_nodes,
    &metric_graphs,
    &metric_capture_refusals,
    &metric_code,
    &metric_busy_time,
    &metric_copies,
    &metric_copied_bytes,
    &metric_blob_files,
    &metric_blob_bytes,
    &metric_peer_calls,
    &metric_peer_bytes,
};

void
worker_metrics_write(Buffer *buffer)
{
    MetricTable table = {.metrics = metrics, .count = COUNT_OF(metrics)};
    metrics_write(&table, 1, buffer);
}
