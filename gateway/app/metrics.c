#include "gateway/app/metrics.h"

#include <assert.h>

#include "gateway/admission/metrics.h"
#include "gateway/dispatch/metrics.h"
#include "gateway/http/metrics.h"
#include "gateway/queue/metrics.h"
#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/telemetry/metrics.h"

static const MetricSources *watched; /* atomic */

static const MetricSources *
watched_sources(void)
{
    return atomic_load_acquire(&watched);
}

void
metrics_watch(const MetricSources *sources)
{
    atomic_store_release(&watched, sources);
}

/* An index is a handler's in handler_table; the last one stands for requests without a route. */
enum { OPERATIONS_MAX = 96, OPERATION_NONE = OPERATIONS_MAX - 1, CLASS_COUNT = 6 };
enum { REQUEST_SERIES = OPERATIONS_MAX * CLASS_COUNT };

static const char *
operation_name(size_t index)
{
    assert(index < OPERATIONS_MAX);

    if (index == OPERATION_NONE) {
        return "none";
    }
    return index < handler_table_count ? handler_table[index]->operation_id : NULL;
}

static const char *const classes[CLASS_COUNT] = {"gone", "1xx", "2xx", "3xx", "4xx", "5xx"};
static const int64_t request_bounds_us[] = {
    250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 1000000, 10000000};

METRIC_DEFINE(metric_requests, REQUEST_SERIES, .name = "sluice_requests_total", .kind = METRIC_COUNTER,
    .help = "Requests answered, by operation and class of status; gone: the client left before.",
    .labels = {{.name = "operation", .value_count = OPERATIONS_MAX, .value_at = operation_name},
        METRIC_LABEL("class", classes)});
METRIC_HISTOGRAM_DEFINE(metric_request_seconds, 1, request_bounds_us, .name = "sluice_request_seconds",
    .help = "From a request's first byte to its answer's last.", .scale = 1e-6);

static size_t
operation_index(const char *operation_id)
{
    for (size_t index = 0; operation_id != NULL && index < handler_table_count; index++) {
        if (handler_table[index]->operation_id == operation_id) {
            return index;
        }
    }
    return OPERATION_NONE;
}

void
metrics_count_request(const RequestRecord *record)
{
    assert(record->http_status >= 0);

    size_t class = record->is_hang_up ? 0 : (size_t)(record->http_status / 100) % CLASS_COUNT;
    metric_add(
        &metric_requests, metric_series(&metric_requests, operation_index(record->operation_id), class), 1);
    metric_observe(&metric_request_seconds, 0, (int64_t)(record->duration_ns / CLOCK_NS_PER_US));
}

static const char *const worker_states[] = {"serving", "draining", "lost"};

static int64_t
read_workers(size_t state)
{
    const MetricSources *sources = watched_sources();
    int64_t count = 0;
    if (sources != NULL) {
        Roster *roster = directory_take(sources->directory);
        for (size_t index = 0; index < roster->count; index++) {
            count += (size_t)roster->workers[index].state == state;
        }
        roster_unref(roster);
    }
    return count;
}

static const char *const lookups[] = {"hit", "miss", "wait"};

static PlanCacheStats
plan_stats(void)
{
    const MetricSources *sources = watched_sources();
    PlanCacheStats stats = {0};
    if (sources != NULL) {
        stats = plan_cache_stats(sources->plans);
    }
    return stats;
}

static int64_t
read_plan_lookups(size_t lookup)
{
    PlanCacheStats stats = plan_stats();
    const uint64_t counts[COUNT_OF(lookups)] = {stats.hit_count, stats.miss_count, stats.wait_count};
    return (int64_t)counts[lookup];
}

static int64_t
read_plan_bytes(size_t series)
{
    (void)series;
    return (int64_t)plan_stats().byte_size;
}

static GraphCacheStats
graph_stats(void)
{
    const MetricSources *sources = watched_sources();
    GraphCacheStats stats = {0};
    if (sources != NULL) {
        stats = graph_cache_stats(sources->graphs);
    }
    return stats;
}

static int64_t
read_graph_bytes(size_t series)
{
    (void)series;
    return (int64_t)graph_stats().byte_size;
}

static const char *const cache_names[] = {"graphs", "plans"};

static int64_t
read_evictions(size_t series)
{
    const uint64_t counts[COUNT_OF(cache_names)] = {
        graph_stats().eviction_count, plan_stats().eviction_count};
    return (int64_t)counts[series];
}

static int64_t
read_output_memory(size_t series)
{
    (void)series;
    const MetricSources *sources = watched_sources();
    return sources == NULL ? 0 : (int64_t)tenant_memory_held(sources->outputs);
}

static int64_t
read_body_memory(size_t series)
{
    (void)series;
    const MetricSources *sources = watched_sources();
    return sources == NULL ? 0 : (int64_t)tenant_memory_held(sources->bodies);
}

static int64_t
read_jobs_waiting(size_t series)
{
    (void)series;
    const MetricSources *sources = watched_sources();
    return sources == NULL ? 0 : (int64_t)job_pool_waiting(sources->jobs);
}

static int64_t
read_partial_runs(size_t series)
{
    (void)series;
    const MetricSources *sources = watched_sources();
    return sources == NULL ? 0 : (int64_t)partial_table_count(sources->partials);
}

METRIC_DEFINE(metric_workers, COUNT_OF(worker_states), .name = "sluice_workers", .kind = METRIC_READ,
    .help = "Workers, by state.", .labels = {METRIC_LABEL("state", worker_states)}, .read = read_workers);
METRIC_DEFINE(metric_plan_lookups, COUNT_OF(lookups), .name = "sluice_plan_cache_lookups_total",
    .kind = METRIC_COUNTER, .help = "Looks into the plan cache; miss: a compilation was begun.",
    .labels = {METRIC_LABEL("result", lookups)}, .read = read_plan_lookups);
METRIC_DEFINE(metric_plan_bytes, 1, .name = "sluice_plan_cache_bytes", .kind = METRIC_READ,
    .help = "Memory of the plan cache.", .read = read_plan_bytes);
METRIC_DEFINE(metric_graph_bytes, 1, .name = "sluice_graph_cache_bytes", .kind = METRIC_READ,
    .help = "Memory of the graph cache, sources included.", .read = read_graph_bytes);
METRIC_DEFINE(metric_evictions, COUNT_OF(cache_names), .name = "sluice_cache_evictions_total",
    .kind = METRIC_COUNTER, .help = "What left a cache to make room, by cache.",
    .labels = {METRIC_LABEL("cache", cache_names)}, .read = read_evictions);
METRIC_DEFINE(metric_output_memory, 1, .name = "sluice_output_memory_bytes", .kind = METRIC_READ,
    .help = "Memory that outputs on their way to clients have, of --output-memory.",
    .read = read_output_memory);
METRIC_DEFINE(metric_body_memory, 1, .name = "sluice_body_memory_bytes", .kind = METRIC_READ,
    .help = "Memory that bodies of requests and feeds by reference have, of --body-memory.",
    .read = read_body_memory);
METRIC_DEFINE(metric_jobs_waiting, 1, .name = "sluice_jobs_waiting", .kind = METRIC_READ,
    .help = "Jobs that wait for a job thread.", .read = read_jobs_waiting);
METRIC_DEFINE(metric_partial_runs, 1, .name = "sluice_partial_runs", .kind = METRIC_READ,
    .help = "Partial runs that this gateway holds.", .read = read_partial_runs);

static const Metric *const gateway_metrics[] = {
    &metric_requests,
    &metric_request_seconds,
    &metric_workers,
    &metric_plan_lookups,
    &metric_plan_bytes,
    &metric_graph_bytes,
    &metric_evictions,
    &metric_jobs_waiting,
    &metric_output_memory,
    &metric_body_memory,
    &metric_partial_runs,
};

const MetricTable *
metrics_all(size_t *ret_count)
{
    static MetricTable tables[5];
    tables[0] = (MetricTable){.metrics = gateway_metrics, .count = COUNT_OF(gateway_metrics)};
    tables[1] = dispatch_metrics;
    tables[2] = queue_metrics;
    tables[3] = admission_metrics;
    tables[4] = http_metrics;
    *ret_count = COUNT_OF(tables);
    return tables;
}
