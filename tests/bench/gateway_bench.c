/* Measures a step from end to end, everything on this machine: null steps (one scalar in, one out) through a
 * gateway and one worker, the same cut across two workers, a large tensor from a worker to a client beside a
 * plain relay, and the memory that idle processes take. Runs under tools/with_postgres.
 *
 *     gateway_bench [ROUNDS [MILLISECONDS A CASE]]
 *
 * Every round goes through all cases, so that other work on the machine meets all of them alike. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "tests/bench/load.h"
#include "tests/bench/report.h"
#include "tests/bench/stream.h"
#include "tests/support/cluster.h"

enum { ONE_WORKER, TWO_WORKERS, CLUSTER_COUNT };
enum { WARM_UP_MS = 300, STREAM_BYTES = 256 << 20 };

static const char null_body[] = "{\"feeds\":{\"x\":21},\"fetches\":[\"y\"]}";

typedef struct Bench {
    Cluster clusters[CLUSTER_COUNT];
    Buffer requests[CLUSTER_COUNT];
    uint64_t step_count; /* succeeded steps of the first cluster */
    size_t round_count;
    uint64_t duration_ms;
} Bench;

static void
write_request(Buffer *request, const Cluster *cluster, const char *more_headers, const char *body)
{
    buffer_append_format(request,
        "POST /api/v1/sessions/%s/steps HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%s"
        "Content-Length: %zu\r\n\r\n%s",
        cluster->session, more_headers, strlen(body), body);
}

typedef struct Case {
    const char *name;
    int cluster;
    int connection_count;
    const char *latency_goal;
    const char *rate_goal;
} Case;

static const Case cases[] = {
    {"null step, 1 worker, 1 connection", ONE_WORKER, 1, "< 250", ""},
    {"null step, 1 worker, 16 connections", ONE_WORKER, 16, "", ""},
    {"null step, 1 worker, 64 connections", ONE_WORKER, 64, "", "> 15000"},
    {"step cut across 2 workers, 1 connection", TWO_WORKERS, 1, "", ""},
    {"step cut across 2 workers, 16 connections", TWO_WORKERS, 16, "", ""},
    {"step cut across 2 workers, 64 connections", TWO_WORKERS, 64, "", ""},
};

typedef struct Measured {
    Series p50_us;
    Series p99_us;
    Series rate;
    Series gateway_cpu_us; /* per step */
    Series worker_cpu_us;  /* per step, all workers together */
} Measured;

static double
cpu_us(const Process *process)
{
    clockid_t clock = 0;
    struct timespec used = {0};
    if (process->pid <= 0 || clock_getcpuclockid(process->pid, &clock) != 0 ||
        clock_gettime(clock, &used) != 0) {
        return 0;
    }
    return (double)used.tv_sec * 1e6 + (double)used.tv_nsec * 1e-3;
}

static double
workers_cpu_us(const Cluster *cluster)
{
    double sum = 0;
    for (int index = 0; index < cluster->options.worker_count; index++) {
        sum += cpu_us(&cluster->workers[index]);
    }
    return sum;
}

static void
run_load(Bench *bench, const Case *row, uint64_t duration_ms, LoadResult *ret_result)
{
    Load load = {
        .address = bench->clusters[row->cluster].gateway.address,
        .request = buffer_slice(&bench->requests[row->cluster]),
        .status = 200,
        .expected = "\"data\":[42]",
        .connection_count = row->connection_count,
        .duration_ms = duration_ms,
    };
    load_run(&load, ret_result);
    bench->step_count += row->cluster == ONE_WORKER ? ret_result->count : 0;
}

static void
measure_case(Bench *bench, const Case *row, Measured *measured)
{
    LoadResult result;
    const Cluster *cluster = &bench->clusters[row->cluster];
    run_load(bench, row, WARM_UP_MS, &result);
    double gateway_us = cpu_us(&cluster->gateway);
    double worker_us = workers_cpu_us(cluster);
    run_load(bench, row, bench->duration_ms, &result);
    double count = (double)result.count;
    series_add(&measured->gateway_cpu_us, (cpu_us(&cluster->gateway) - gateway_us) / count);
    series_add(&measured->worker_cpu_us, (workers_cpu_us(cluster) - worker_us) / count);
    series_add(&measured->p50_us, result.p50_us);
    series_add(&measured->p99_us, result.p99_us);
    series_add(&measured->rate, count / result.seconds);
}

static void
report_case(const Case *row, const Measured *measured)
{
    char name[160];
    const struct {
        const char *what;
        const Series *series;
        const char *unit;
        const char *goal;
    } lines[] = {
        {"p50", &measured->p50_us, "us", row->latency_goal},
        {"p99", &measured->p99_us, "us", ""},
        {"rate", &measured->rate, "steps/s", row->rate_goal},
        {"gateway CPU", &measured->gateway_cpu_us, "us/step", ""},
        {"worker CPU", &measured->worker_cpu_us, "us/step", ""},
    };
    for (size_t index = 0; index < COUNT_OF(lines); index++) {
        (void)snprintf(name, sizeof name, "%s: %s", row->name, lines[index].what);
        report_series(name, lines[index].series, lines[index].unit, lines[index].goal);
    }
}

static void
measure_steps(Bench *bench)
{
    static Measured measured[COUNT_OF(cases)];
    for (size_t round = 0; round < bench->round_count; round++) {
        for (size_t index = 0; index < COUNT_OF(cases); index++) {
            measure_case(bench, &cases[index], &measured[index]);
        }
    }
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        report_case(&cases[index], &measured[index]);
    }
}

/* Waits until as many steps are recorded as have succeeded; returns how many are. */
static uint64_t
await_records(const Bench *bench, uint64_t timeout_ms)
{
    static const char ended[] = "select count(*) from sluice.step_records where ended_at is not null";
    struct timespec pause = {.tv_nsec = 20000000};
    uint64_t end_ns = clock_monotonic_ns() + timeout_ms * CLOCK_NS_PER_MS;
    Database *database = bench->clusters[ONE_WORKER].database;
    uint64_t count = 0;
    while (count != bench->step_count && clock_monotonic_ns() < end_ns) {
        (void)nanosleep(&pause, NULL);
        count = strtoull(database_ask(database, ended), NULL, 10);
    }
    return count;
}

/* A step's record is written within a second of its reply. */
static void
check_records(const Bench *bench)
{
    uint64_t count = await_records(bench, 3000);
    report_value("records in PostgreSQL, one for each step", (double)count, "records", "");
    if (count != bench->step_count) {
        (void)fprintf(stderr, "gateway_bench: %llu steps succeeded, %llu are recorded\n",
            (unsigned long long)bench->step_count, (unsigned long long)count);
        exit(1);
    }
}

/* Measures from the first 202 to the record of the last step's end. */
static void
measure_queued(Bench *bench)
{
    enum { QUEUED_COUNT = 1000, CONNECTIONS = 16 };
    AUTO_BUFFER request = {0};
    Series accepted = {0};
    Series ended = {0};
    const Cluster *cluster = &bench->clusters[ONE_WORKER];
    write_request(&request, cluster, "Prefer: respond-async\r\n", null_body);
    Load load = {
        .address = cluster->gateway.address,
        .request = buffer_slice(&request),
        .status = 202,
        .expected = "\"id\":\"stp_",
        .connection_count = CONNECTIONS,
        .duration_ms = 60000,
        .count_max = QUEUED_COUNT,
    };
    for (size_t round = 0; round < bench->round_count; round++) {
        LoadResult result;
        uint64_t start_ns = clock_monotonic_ns();
        load_run(&load, &result);
        bench->step_count += result.count;
        series_add(&accepted, (double)result.count / result.seconds);
        (void)await_records(bench, 30000);
        series_add(&ended, (double)result.count * 1e9 / (double)(clock_monotonic_ns() - start_ns));
    }
    report_series("queued steps, accepted (202), 16 connections", &accepted, "steps/s", "");
    report_series("queued steps, from the first request to the last end", &ended, "steps/s", "");
}

static const char large_graph[] =
    "{\"node\":["
    "{\"name\":\"size\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_INT32\"}}},"
    "{\"name\":\"one\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},\"value\":{\"tensor\":"
    "{\"dtype\":\"DT_FLOAT\",\"tensorShape\":{},\"floatVal\":[1]}}}},"
    "{\"name\":\"y\",\"op\":\"Fill\",\"input\":[\"size\",\"one\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"},"
    "\"index_type\":{\"type\":\"DT_INT32\"}}}]}";

static double
whole_seconds(const StreamResult *result)
{
    return result->first_byte_s + (double)result->size / (result->gigabytes_per_s * 1e9);
}

/* Runs one step over the large graph; `what` names its fetches or targets. */
static void
run_large(Bench *bench, const char *accept, const char *what, StreamResult *ret_answer)
{
    AUTO_BUFFER request = {0};
    AUTO_BUFFER headers = {0};
    AUTO_BUFFER body = {0};
    const Cluster *cluster = &bench->clusters[ONE_WORKER];
    buffer_append_format(&headers, "Accept: %s\r\nConnection: close\r\n", accept);
    buffer_append_format(&body, "{\"feeds\":{\"size\":[%d]},%s}", STREAM_BYTES / 4, what);
    write_request(&request, cluster, buffer_string(&headers), buffer_string(&body));
    stream_read(cluster->gateway.address, buffer_slice(&request), ret_answer);
    if (strncmp(ret_answer->head, "HTTP/1.1 200", 12) != 0) {
        (void)fprintf(stderr, "gateway_bench: the large step failed: %s\n", ret_answer->head);
        exit(1);
    }
    bench->step_count++;
}

/* A step that fetches nothing measures how long the worker takes to fill the tensor; that time is
 * subtracted, so that the rest is the way to the client. */
static void
measure_stream(Bench *bench)
{
    Series direct = {0};
    Series whole = {0};
    Series relay = {0};
    Series ratio = {0};
    cluster_session(&bench->clusters[ONE_WORKER], "{}");
    cluster_graph(&bench->clusters[ONE_WORKER], large_graph);
    for (size_t round = 0; round < bench->round_count; round++) {
        StreamResult computed;
        StreamResult answer;
        StreamResult plain;
        run_large(bench, "application/json", "\"targets\":[\"y\"]", &computed);
        run_large(bench, "application/x-npy", "\"fetches\":[\"y\"]", &answer);
        stream_relay(STREAM_BYTES, &plain);
        double way_s = whole_seconds(&answer) - whole_seconds(&computed);
        series_add(&direct, STREAM_BYTES * 1e-9 / way_s);
        series_add(&whole, STREAM_BYTES * 1e-9 / whole_seconds(&answer));
        series_add(&relay, STREAM_BYTES * 1e-9 / whole_seconds(&plain));
        series_add(&ratio, whole_seconds(&plain) / way_s);
    }
    report_series("256 MiB through a plain relay", &relay, "GB/s", "");
    report_series("256 MiB from worker to client, without computing it", &direct, "GB/s", "");
    report_series("256 MiB from worker to client, request to last byte", &whole, "GB/s", "");
    report_series("256 MiB: worker to client against the relay", &ratio, "ratio", "> 0.7");
}

static double
resident_mib(const Process *process)
{
    char path[64];
    unsigned long pages = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)process->pid);
    FILE *file = fopen(path, "re");
    if (file == NULL || fscanf(file, "%*u %lu", &pages) != 1) {
        pages = 0;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static void
report_memory(const Cluster *cluster, const char *when)
{
    char name[80];
    (void)snprintf(name, sizeof name, "gateway, resident, %s", when);
    report_value(name, resident_mib(&cluster->gateway), "MiB", "");
    (void)snprintf(name, sizeof name, "worker, resident, %s", when);
    report_value(name, resident_mib(&cluster->workers[0]), "MiB", "");
}

static const char null_graph[] =
    "{\"node\":["
    "{\"name\":\"x\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},\"shape\":{\"shape\":"
    "{"
    "}}}},"
    "{\"name\":\"y\",\"op\":\"Add\",\"input\":[\"x\",\"x\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}}]}";

/* Two nodes on two slots: x → a on one, a → y on the other. */
static const char cut_graph[] =
    "{\"node\":["
    "{\"name\":\"x\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},\"shape\":{\"shape\":"
    "{"
    "}}}},"
    "{\"name\":\"a\",\"op\":\"Add\",\"input\":[\"x\",\"x\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}},"
    "\"device\":\"/job:worker/task:0\"},"
    "{\"name\":\"y\",\"op\":\"Add\",\"input\":[\"a\",\"a\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}},"
    "\"device\":\"/job:worker/task:1\"}]}";

static void
start_cluster(Bench *bench, int index)
{
    static const struct {
        const char *session;
        const char *graph;
        const char *body;
    } kinds[] = {
        [ONE_WORKER] = {"{}", null_graph, null_body},
        [TWO_WORKERS] = {"{\"slots\":2,\"placement\":\"spread\"}", cut_graph,
            "{\"feeds\":{\"x\":10.5},\"fetches\":[\"y\"]}"},
    };
    Cluster *cluster = &bench->clusters[index];
    if (!cluster_start(cluster, &(ClusterOptions){.worker_count = index == ONE_WORKER ? 1 : 2})) {
        (void)fprintf(stderr, "gateway_bench: the cluster does not come up\n");
        exit(1);
    }
    cluster_session(cluster, kinds[index].session);
    cluster_graph(cluster, kinds[index].graph);
    write_request(&bench->requests[index], cluster, "", kinds[index].body);
}

static void
check_cut(Bench *bench)
{
    AUTO_REST response = {0};
    cluster_step(&bench->clusters[TWO_WORKERS], "{\"feeds\":{\"x\":10.5},\"fetches\":[\"y\"]}", &response);
    if (response.status != 200 || strstr(rest_text(&response), "\"slot\":1") == NULL) {
        (void)fprintf(stderr, "gateway_bench: the step is not cut: %s\n", rest_text(&response));
        exit(1);
    }
}

static uint64_t
argument(int argc, char **argv, int index, uint64_t usual)
{
    uint64_t value = usual;
    if (index < argc && (!slice_to_uint64(slice_from_string(argv[index]), &value) || value == 0)) {
        (void)fprintf(stderr, "'%s' is not a number above 0\n", argv[index]);
        exit(2);
    }
    return value;
}

int
main(int argc, char **argv)
{
    static Bench bench;
    bench.round_count = argument(argc, argv, 1, 5);
    bench.round_count = bench.round_count < SERIES_ROUNDS_MAX ? bench.round_count : SERIES_ROUNDS_MAX;
    bench.duration_ms = argument(argc, argv, 2, 1000);
    start_cluster(&bench, ONE_WORKER);
    report_memory(&bench.clusters[ONE_WORKER], "idle");
    start_cluster(&bench, TWO_WORKERS);
    check_cut(&bench);
    measure_steps(&bench);
    check_records(&bench);
    measure_queued(&bench);
    measure_stream(&bench);
    report_memory(&bench.clusters[ONE_WORKER], "after the load");
    for (int index = 0; index < CLUSTER_COUNT; index++) {
        cluster_stop(&bench.clusters[index]);
        buffer_done(&bench.requests[index]);
    }
    return 0;
}
