#include "tests/bench/cuda/bench_worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/expand/expand.h"
#include "gateway/optimise/optimise.h"
#include "gateway/plan/plan.h"
#include "shared/base/clock.h"
#include "shared/ops/registry.h"
#include "shared/upstream/upstream.h"
#include "shared/wire/trace.h"
#include "tests/support/graph_literals.h"

enum { NODES_MAX = 100000, NAMES_MAX = 32, PATH_SIZE = 256, ARENA_SIZE = 256 << 20, IN_FLIGHT_MAX = 64 };
static const size_t TENSOR_SIZE_MAX = (size_t)4 << 30;
static const int TURN_MS = 1000;

void
bench_must(bool is_so, const char *what)
{
    if (!is_so) {
        (void)fprintf(stderr, "error: %s\n", what);
        exit(EXIT_FAILURE);
    }
}

static void
must(const Call *call, Status status)
{
    bench_must(status == STATUS_OK, call->error.message);
}

/* A request under way, and what its answer brought. */
typedef struct Request {
    UpstreamCall *call;
    Tensor fetch; /* the first tensor */
    uint64_t start_ns;
    uint64_t end_ns; /* 0: it has not ended */
    bool has_succeeded;
    bool is_traced;
    BenchTrace trace;
    char *body; /* of an answer without frames */
} Request;

/* Reads the last frame of a step's answer. */
static void
check_status(Slice json)
{
    AUTO_ARENA arena = arena_new(ARENA_SIZE);
    Call call = {.arena = arena};
    WireStatus status;
    must(&call, wire_status_read(&call, json, &status));
    bench_must(status.failure.code == STATUS_OK, status.failure.message);
}

static void
read_trace(Slice json, BenchTrace *ret_trace)
{
    AUTO_ARENA arena = arena_new(ARENA_SIZE);
    Call call = {.arena = arena};
    WireStats stats;
    WireTrace trace;
    must(&call, wire_stats_read(&call, json, &stats));
    must(&call, wire_trace_read(&call, stats.trace, &trace));
    *ret_trace =
        (BenchTrace){.activity_count = trace.activity_count, .left_out_count = trace.device_left_out_count};
    (void)snprintf(ret_trace->source, sizeof ret_trace->source, "%.*s", SLICE_PRINT(trace.device_source));
    for (size_t index = 0; index < trace.activity_count; index++) {
        ret_trace->captured_count += trace.activities[index].captured != 0;
    }
}

static void
take_frame(UpstreamCall *call, Frame *frame)
{
    Request *request = upstream_context(call);
    if (frame->kind == FRAME_TENSOR && request->fetch.dtype == DTYPE_INVALID) {
        request->fetch = frame->tensor;
    } else {
        tensor_unref(&frame->tensor);
    }
    if (frame->kind == FRAME_STATS && request->is_traced) {
        read_trace(frame->json, &request->trace);
    }
    if (frame->kind == FRAME_STATUS) {
        check_status(frame->json);
        request->has_succeeded = true;
    }
}

static void
take_end(UpstreamCall *call, Status status, const char *message)
{
    Request *request = upstream_context(call);
    bench_must(status == STATUS_OK, message);
    Slice body = upstream_body(call);
    if (upstream_http_status(call) / 100 != 2) {
        (void)fprintf(
            stderr, "error: the worker answers %d: %.*s\n", upstream_http_status(call), SLICE_PRINT(body));
        exit(EXIT_FAILURE);
    }
    request->body = body.size == 0 ? NULL : strndup(body.data, body.size);
    request->end_ns = clock_monotonic_ns();
}

static const UpstreamEvents events = {.on_frame = take_frame, .on_done = take_end};

/* Notices a connection that the worker gave up while nobody read from it, because a graph was being made or
 * another worker computed: the next request opens another. */
static void
catch_up(BenchWorker *worker)
{
    enum { TURNS = 4 };
    for (int turn = 0; turn < TURNS; turn++) {
        loop_turn(worker->loop, 0);
    }
}

static void
begin(BenchWorker *worker, Request *request, const char *method, const char *path, uint64_t body_size)
{
    catch_up(worker);
    UpstreamHead head = {.method = method,
        .path = slice_from_string(path),
        .address = worker->process.address,
        .attempt = 1,
        .tenant = SLICE("bench"),
        .body_size = body_size};
    *request = (Request){.start_ns = clock_monotonic_ns()};
    request->call = upstream_begin(worker->upstream, &head, &events, request);
    bench_must(request->call != NULL, "no memory for a request");
}

static void
await(BenchWorker *worker, const Request *request)
{
    while (request->end_ns == 0) {
        loop_turn(worker->loop, TURN_MS);
    }
}

static void
request_done(Request *request)
{
    tensor_unref(&request->fetch);
    free(request->body);
}

static void
put(BenchWorker *worker, const char *path, Slice body, TensorBuffer *owner)
{
    Request request;
    begin(worker, &request, "PUT", path, body.size);
    if (owner == NULL) {
        upstream_write_copy(request.call, body);
    } else {
        upstream_write_buffer(request.call, body, owner);
    }
    upstream_end(request.call);
    await(worker, &request);
    request_done(&request);
}

static void
open_session(BenchWorker *worker)
{
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "/worker/v1/sessions/s%llu", (unsigned long long)worker->session);
    put(worker, path, SLICE("{}"), NULL);
}

void
bench_worker_start(BenchWorker *worker, const char *const *arguments)
{
    const char *all[PROCESS_ARGUMENTS_MAX + 1] = {"--listen", "127.0.0.1:0"};
    Call call = {0};
    UpstreamOptions options = {
        .frames.tensor_size_max = TENSOR_SIZE_MAX, .window_size = UPSTREAM_WINDOW_WIDE};
    for (size_t index = 2; *arguments != NULL && index < PROCESS_ARGUMENTS_MAX; index++) {
        all[index] = *arguments++;
    }
    *worker = (BenchWorker){0};
    bench_must(process_start(&worker->process, "sluice-worker", all), "the worker does not start");
    must(&call, loop_new(&call, &worker->loop));
    worker->upstream = upstream_new(worker->loop, &options);
    bench_must(worker->upstream != NULL, "no memory");
    open_session(worker);
}

void
bench_worker_renew(BenchWorker *worker)
{
    char path[PATH_SIZE];
    Request request;
    (void)snprintf(path, sizeof path, "/worker/v1/sessions/s%llu", (unsigned long long)worker->session);
    begin(worker, &request, "DELETE", path, 0);
    upstream_end(request.call);
    await(worker, &request);
    request_done(&request);
    worker->session++;
    open_session(worker);
}

void
bench_worker_stop(BenchWorker *worker)
{
    upstream_free(worker->upstream);
    loop_free(worker->loop);
    bench_must(process_stop(&worker->process, SIGTERM) == 0, "the worker does not end well");
}

static size_t
split_names(const char *text, Slice *ret_names)
{
    Slice rest = slice_from_string(text);
    size_t count = 0;
    while (count < NAMES_MAX && rest.size > 0 && slice_split(&rest, ' ', &ret_names[count])) {
        count++;
    }
    return count;
}

static void
make_plan(Call *call, const Graph *graph, const char *feed, const char *fetches, const char *targets,
    Plan **ret_plan)
{
    Slice fetch_names[NAMES_MAX];
    Slice target_names[NAMES_MAX];
    SignatureFeed feeds[1] = {{.shape = shape_unknown()}};
    Signature signature;
    feeds[0].name = slice_from_string(feed);
    Signature given = {.feeds = feeds,
        .feed_count = feed == NULL ? 0 : 1,
        .fetches = fetch_names,
        .fetch_count = split_names(fetches, fetch_names),
        .targets = target_names,
        .target_count = split_names(targets, target_names),
        .options = {.slot_count = 1}};
    must(call, signature_make(call, SLICE("bench"), &given, &signature));
    PlanRequest request = {.graph = graph, .signature = &signature};
    must(call, plan_compile(call, &request, ret_plan));
}

static void
send_plan(BenchWorker *worker, const PlanPartition *planned)
{
    char path[PATH_SIZE];
    for (size_t index = 0; index < planned->blob_count; index++) {
        const Tensor *tensor = &planned->blobs[index].tensor;
        (void)snprintf(path, sizeof path, "/worker/v1/blobs/%s", planned->blobs[index].sha256);
        put(worker, path, slice_of(tensor->data, tensor_byte_size(tensor)), tensor->buffer);
    }
    (void)snprintf(path, sizeof path, "/worker/v1/sessions/s%llu/partitions/%s",
        (unsigned long long)worker->session, planned->digest);
    put(worker, path, planned->document, NULL);
}

BenchGraph
bench_worker_load(
    BenchWorker *worker, const char *text, const char *feed, const char *fetches, const char *targets)
{
    AUTO_ARENA arena = arena_new(ARENA_SIZE);
    Call call = {.arena = arena};
    AUTO_GRAPH_DEF def = graph_literal(text);
    AUTO_GRAPH_DEF expanded = NULL;
    AUTO_GRAPH graph = NULL;
    AUTO_PLAN plan = NULL;
    BenchGraph loaded = {0};
    must(&call, graph_expand(&call, def, NODES_MAX, &expanded));
    must(&call, graph_link(&call, expanded, op_find, (GraphLimits){0}, &graph));
    make_plan(&call, graph, feed, fetches == NULL ? "" : fetches, targets == NULL ? "" : targets, &plan);
    const PlanPartition *planned = &plan->partitions[0];
    send_plan(worker, planned);
    (void)snprintf(loaded.digest, sizeof loaded.digest, "%s", planned->digest);
    loaded.feed_count = (uint32_t)planned->feed_count;
    loaded.fetch_count = (uint32_t)planned->fetch_count;
    return loaded;
}

static void
begin_step(BenchWorker *worker, const BenchGraph *graph, const Tensor *feed, bool is_traced, Request *request)
{
    AUTO_BUFFER json = {0};
    AUTO_BUFFER frame = {0};
    char path[PATH_SIZE];
    char session[32];
    (void)snprintf(session, sizeof session, "s%llu", (unsigned long long)worker->session);
    WireRun run = {.partition = slice_from_string(graph->digest),
        .session = slice_from_string(session),
        .attempt = 1,
        .feed_count = graph->feed_count,
        .fetch_count = graph->fetch_count,
        .has_trace = is_traced,
        .state_epoch = 1};
    (void)snprintf(
        path, sizeof path, "/worker/v1/steps/stp_%llu:run", (unsigned long long)worker->step_count++);
    begin(worker, request, "POST", path, 0);
    request->is_traced = is_traced;
    wire_run_write(&json, &run);
    frame_write_json(&frame, FRAME_HEADER, buffer_slice(&json));
    upstream_write_copy(request->call, buffer_slice(&frame));
    if (graph->feed_count > 0) {
        upstream_write_tensor(request->call, SLICE("0"), feed);
    }
    upstream_end(request->call);
}

double
bench_worker_run(BenchWorker *worker, const BenchGraph *graph, const Tensor *feed, Tensor *ret_fetch)
{
    Request request;
    begin_step(worker, graph, feed, false, &request);
    await(worker, &request);
    bench_must(request.has_succeeded, "a step has no end");
    if (ret_fetch != NULL) {
        *ret_fetch = request.fetch;
        request.fetch = (Tensor){0};
    }
    request_done(&request);
    return (double)(request.end_ns - request.start_ns) / CLOCK_NS_PER_US;
}

double
bench_worker_run_many(BenchWorker *worker, const BenchGraph *graph, const Tensor *feed, int in_flight,
    int count, uint64_t *ret_times_ns)
{
    static Request requests[IN_FLIGHT_MAX];
    int begun = 0;
    int ended = 0;
    bench_must(in_flight <= IN_FLIGHT_MAX, "too many steps at a time");
    uint64_t start_ns = clock_monotonic_ns();
    for (; begun < in_flight && begun < count; begun++) {
        begin_step(worker, graph, feed, false, &requests[begun]);
    }
    while (ended < count) {
        loop_turn(worker->loop, TURN_MS);
        for (int index = 0; index < in_flight; index++) {
            Request *request = &requests[index];
            if (request->call != NULL && request->end_ns != 0) {
                bench_must(request->has_succeeded, "a step has no end");
                ret_times_ns[ended++] = request->end_ns - request->start_ns;
                request_done(request);
                *request = (Request){0};
                if (begun < count) {
                    begun++;
                    begin_step(worker, graph, feed, false, request);
                }
            }
        }
    }
    return (double)(clock_monotonic_ns() - start_ns) / CLOCK_NS_PER_US;
}

BenchTrace
bench_worker_trace(BenchWorker *worker, const BenchGraph *graph)
{
    Request request;
    begin_step(worker, graph, NULL, true, &request);
    await(worker, &request);
    bench_must(request.has_succeeded, "a step has no end");
    request_done(&request);
    return request.trace;
}

double
bench_worker_metric(BenchWorker *worker, const char *name)
{
    Request request;
    double sum = 0;
    begin(worker, &request, "GET", "/worker/v1/metrics", 0);
    upstream_end(request.call);
    await(worker, &request);
    Slice rest = slice_from_string(request.body == NULL ? "" : request.body);
    Slice line;
    while (rest.size > 0 && slice_split(&rest, '\n', &line)) {
        size_t end = strcspn(line.data, "{ ");
        if (slice_equals_string(slice_part(line, 0, end), name)) {
            size_t space = line.size;
            while (space > 0 && line.data[space - 1] != ' ') {
                space--;
            }
            sum += strtod(line.data + space, NULL);
        }
    }
    request_done(&request);
    return sum;
}
