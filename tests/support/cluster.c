#include "tests/support/cluster.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/memory.h"
#include "shared/formats/graphdef_json.h"
#include "shared/upstream/upstream.h"
#include "tests/support/await.h"
#include "tests/support/graph_literals.h"

static bool
start_worker(Cluster *cluster, int index, const char *address)
{
    char name[16];
    const char *arguments[PROCESS_ARGUMENTS_MAX] = {"--listen", address, "--name", name, "--threads", "2"};
    size_t count = 6;
    (void)snprintf(name, sizeof name, "w%d", index);
    const char *const *more = cluster->options.worker_arguments;
    for (; more != NULL && *more != NULL && count + 1 < PROCESS_ARGUMENTS_MAX; more++) {
        arguments[count++] = *more;
    }
    return process_start(&cluster->workers[index], "sluice-worker", arguments);
}

enum { WORKER_LIST_SIZE = CLUSTER_WORKER_MAX * (ADDRESS_TEXT_SIZE + 1) };

static void
list_workers(const Cluster *cluster, char ret_list[WORKER_LIST_SIZE])
{
    size_t used = 0;
    for (int index = 0; index < cluster->options.worker_count; index++) {
        used += (size_t)snprintf(ret_list + used, WORKER_LIST_SIZE - used, "%s%s", index == 0 ? "" : ",",
            cluster->workers[index].address);
    }
}

static bool
start_gateway(Cluster *cluster, const char *address)
{
    char workers[WORKER_LIST_SIZE];
    list_workers(cluster, workers);
    const char *arguments[PROCESS_ARGUMENTS_MAX] = {"--listen", address, "--database", cluster->conninfo,
        "--workers", workers, "--auth", cluster->options.has_keys ? "keys" : "off"};
    size_t count = 8;
    const char *const *more = cluster->options.gateway_arguments;
    for (; more != NULL && *more != NULL && count + 1 < PROCESS_ARGUMENTS_MAX; more++) {
        arguments[count++] = *more;
    }
    return process_start(&cluster->gateway, "sluice-gateway", arguments);
}

static int
count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *found = strstr(text, part); found != NULL; found = strstr(found + 1, part)) {
        count++;
    }
    return count;
}

/* Waits until every worker serves under a task number. */
static bool
await_ready(Cluster *cluster)
{
    uint64_t end_ns = clock_monotonic_ns() + AWAIT_MS * CLOCK_NS_PER_MS;
    while (clock_monotonic_ns() < end_ns) {
        AUTO_REST ready = {0};
        AUTO_REST workers = {0};
        cluster_send(cluster, "GET", "/readyz", NULL, &ready);
        cluster_send(cluster, "GET", "/api/v1/workers", NULL, &workers);
        int serving = cluster->options.has_keys && cluster->key[0] == '\0'
                          ? cluster->options.worker_count
                          : count_of(rest_text(&workers), "\"state\":\"serving\"");
        if (ready.status == 200 && serving == cluster->options.worker_count &&
            strstr(rest_text(&workers), "\"task\":-1") == NULL) {
            return true;
        }
        pause_ms(25);
    }
    return false;
}

bool
cluster_start(Cluster *cluster, const ClusterOptions *options)
{
    void *database = NULL;
    *cluster = (Cluster){.options = *options};
    cluster->options.worker_count = options->worker_count == 0 ? 2 : options->worker_count;
    if (database_setup(&database) != 0) {
        return false;
    }
    cluster->database = database;
    (void)snprintf(cluster->conninfo, sizeof cluster->conninfo, "%s", cluster->database->conninfo);
    for (int index = 0; index < cluster->options.worker_count; index++) {
        if (!start_worker(cluster, index, "127.0.0.1:0")) {
            return false;
        }
    }
    return start_gateway(cluster, "127.0.0.1:0") && await_ready(cluster);
}

bool
cluster_add_gateway(const Cluster *cluster, Process *ret_gateway)
{
    char workers[WORKER_LIST_SIZE];
    const char *const arguments[] = {"--listen", "127.0.0.1:0", "--database", cluster->conninfo, "--workers",
        workers, "--auth", cluster->options.has_keys ? "keys" : "off", NULL};
    list_workers(cluster, workers);
    return process_start(ret_gateway, "sluice-gateway", arguments);
}

void
cluster_signal_workers(const Cluster *cluster, int number)
{
    for (int index = 0; index < CLUSTER_WORKER_MAX; index++) {
        if (cluster->workers[index].pid > 0) {
            assert_int_equal(kill(cluster->workers[index].pid, number), 0);
        }
    }
}

/* Continues the workers first: a test that failed may have left some stopped, which SIGTERM would not end. */
void
cluster_stop(Cluster *cluster)
{
    cluster_signal_workers(cluster, SIGCONT);
    (void)process_stop(&cluster->gateway, SIGTERM);
    for (int index = 0; index < CLUSTER_WORKER_MAX; index++) {
        (void)process_stop(&cluster->workers[index], SIGTERM);
    }
    void *database = cluster->database;
    if (database != NULL) {
        (void)database_teardown(&database);
    }
}

bool
cluster_restart_gateway(Cluster *cluster)
{
    char address[ADDRESS_TEXT_SIZE];
    (void)snprintf(address, sizeof address, "%s", cluster->gateway.address);
    return start_gateway(cluster, address) && await_ready(cluster);
}

bool
cluster_restart_worker(Cluster *cluster, int index)
{
    char address[ADDRESS_TEXT_SIZE];
    (void)snprintf(address, sizeof address, "%s", cluster->workers[index].address);
    return start_worker(cluster, index, address) && await_ready(cluster);
}

bool
cluster_restart_both(Cluster *cluster, int index)
{
    char address[ADDRESS_TEXT_SIZE];
    (void)snprintf(address, sizeof address, "%s", cluster->workers[index].address);
    return start_worker(cluster, index, address) && cluster_restart_gateway(cluster);
}

int
cluster_setup(void **state)
{
    Cluster *cluster = memory_new(1, sizeof *cluster);
    *state = cluster;
    return cluster != NULL && cluster_start(cluster, &(ClusterOptions){0}) ? 0 : -1;
}

int
cluster_teardown(void **state)
{
    cluster_stop(*state);
    memory_free(*state);
    return 0;
}

static void
take_use(UpstreamCall *call, Status status, const char *message)
{
    WorkerUse *use = upstream_context(call);
    AUTO_ARENA arena = arena_new(1 << 20);
    Call reading = {.arena = arena};
    WireWorker worker;
    (void)message;
    *use = (WorkerUse){.running_count = -1};
    if (status == STATUS_OK && wire_worker_read(&reading, upstream_body(call), &worker) == STATUS_OK) {
        use->running_count = (int)worker.running_count;
        use->partition_count = worker.partition_count;
        use->memory_in_use = worker.devices[0].memory_in_use;
    }
}

WorkerUse
cluster_worker_use(Cluster *cluster, int index)
{
    static const UpstreamEvents events = {.on_done = take_use};
    UpstreamOptions options = {.frames.tensor_size_max = 1 << 20};
    UpstreamHead head = {
        .method = "GET",
        .path = SLICE("/worker/v1/status"),
        .address = cluster->workers[index].address,
    };
    enum { UNKNOWN = -2 };
    WorkerUse use = {.running_count = UNKNOWN};
    Loop *loop = NULL;
    Call call = {.arena = cluster->database->arena};
    assert_int_equal(loop_new(&call, &loop), STATUS_OK);
    Upstream *upstream = upstream_new(loop, &options);
    UpstreamCall *asked = upstream_begin(upstream, &head, &events, &use);
    upstream_end(asked);
    for (int turn = 0; turn < 100 && use.running_count == UNKNOWN; turn++) {
        loop_turn(loop, 50);
    }
    upstream_free(upstream);
    loop_free(loop);
    return use;
}

int
cluster_worker_running(Cluster *cluster, int index)
{
    return cluster_worker_use(cluster, index).running_count;
}

void
cluster_send(
    Cluster *cluster, const char *method, const char *path, const char *body, RestResponse *ret_response)
{
    static const char *const none[] = {NULL};
    cluster_send_with(cluster, method, path, none, body, ret_response);
}

void
cluster_send_with(Cluster *cluster, const char *method, const char *path, const char *const *headers,
    const char *body, RestResponse *ret_response)
{
    enum { HEADERS_MAX = 8 };
    char url[CLUSTER_URL_SIZE];
    const char *all[HEADERS_MAX + 1] = {0};
    size_t count = 0;
    for (; headers[count] != NULL && count + 1 < HEADERS_MAX; count++) {
        all[count] = headers[count];
    }
    if (cluster->key[0] != '\0') {
        all[count] = cluster->key;
    }
    (void)snprintf(url, sizeof url, "http://%s%s", cluster->gateway.address, path);
    RestRequest request = {
        .method = method,
        .url = url,
        .body = slice_from_string(body),
        .headers = all,
    };
    rest_send(&request, ret_response);
}

void
cluster_make_key(
    const Cluster *cluster, const char *tenant, const char *scopes, char ret_header[CLUSTER_KEY_SIZE])
{
    char key[CLUSTER_KEY_SIZE - 32];
    const char *const arguments[] = {"key", "create", "--database", cluster->conninfo, tenant, scopes, NULL};
    assert_int_equal(process_run("sluice-gateway", arguments, key, sizeof key), 0);
    key[strcspn(key, "\n")] = '\0';
    (void)snprintf(ret_header, CLUSTER_KEY_SIZE, "Authorization: Bearer %s", key);
}

double
cluster_metric(Cluster *cluster, const char *series)
{
    char line[128];
    AUTO_REST metrics = {0};
    cluster_send(cluster, "GET", "/metrics", NULL, &metrics);
    assert_int_equal(metrics.status, 200);
    int size = snprintf(line, sizeof line, "\n%s ", series);
    const char *found = strstr(rest_text(&metrics), line);
    return found == NULL ? -1 : strtod(found + size, NULL);
}

static void
make(Cluster *cluster, const char *path, const char *body, char *ret_id, size_t size)
{
    AUTO_REST response = {0};
    cluster_send(cluster, "POST", path, body, &response);
    if (response.status / 100 != 2 || !rest_member(&response, "id", ret_id, size)) {
        fail_msg("POST %s: %d %s", path, response.status, rest_text(&response));
    }
}

void
cluster_session(Cluster *cluster, const char *options)
{
    char body[256];
    (void)snprintf(body, sizeof body, "{\"name\":\"test\",\"options\":%s}", options);
    make(cluster, "/api/v1/sessions", body, cluster->session, sizeof cluster->session);
}

void
cluster_graph(Cluster *cluster, const char *graph)
{
    char path[128];
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/graphs", cluster->session);
    make(cluster, path, graph, cluster->graph, sizeof cluster->graph);
}

void
cluster_graph_literal(Cluster *cluster, const char *text)
{
    AUTO_GRAPH_DEF def = graph_literal(text);
    AUTO_BUFFER json = {0};
    graphdef_json_write(&json, def);
    assert_non_null(buffer_string(&json));
    cluster_graph(cluster, buffer_string(&json));
}

void
cluster_push_graph(
    Cluster *cluster, const char *content_type, const char *query, Slice bytes, RestResponse *ret_response)
{
    char url[CLUSTER_URL_SIZE];
    (void)snprintf(url, sizeof url, "http://%s/api/v1/sessions/%s/graphs%s", cluster->gateway.address,
        cluster->session, query);
    RestRequest request = {.method = "POST", .url = url, .content_type = content_type, .body = bytes};
    rest_send(&request, ret_response);
}

void
cluster_extend(Cluster *cluster, const char *const *headers, const char *addition, RestResponse *ret_response)
{
    char path[192];
    (void)snprintf(
        path, sizeof path, "/api/v1/sessions/%s/graphs/%s:extend", cluster->session, cluster->graph);
    cluster_send_with(cluster, "POST", path, headers, addition, ret_response);
}

void
cluster_step(Cluster *cluster, const char *body, RestResponse *ret_response)
{
    char path[128];
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/steps", cluster->session);
    cluster_send(cluster, "POST", path, body, ret_response);
}

bool
cluster_is_silent(RestResponse *response)
{
    return strstr(rest_text(response), "no word from the worker") != NULL;
}

void
cluster_late_step(Cluster *cluster, const char *body, RestResponse *ret_response)
{
    for (int tries = 0; tries == 0 || (tries < LATE_TRIES_MAX && cluster_is_silent(ret_response)); tries++) {
        rest_response_done(ret_response);
        cluster_step(cluster, body, ret_response);
    }
}

bool
cluster_is_step_in(Cluster *cluster, const char *path, const char *wanted)
{
    char state[32] = "";
    AUTO_REST step;
    cluster_send(cluster, "GET", path, NULL, &step);
    return rest_member(&step, "state", state, sizeof state) && strcmp(state, wanted) == 0;
}

void
cluster_queued_step(Cluster *cluster, const char *body)
{
    static const char *const headers[] = {"Prefer: respond-async", NULL};
    char steps[128];
    char path[256];
    AUTO_REST accepted = {0};
    (void)snprintf(steps, sizeof steps, "/api/v1/sessions/%s/steps", cluster->session);
    cluster_send_with(cluster, "POST", steps, headers, body, &accepted);
    if (accepted.status != 202 || !rest_member(&accepted, "id", cluster->step, sizeof cluster->step)) {
        fail_msg("POST %s: %d %s", steps, accepted.status, rest_text(&accepted));
    }
    (void)snprintf(path, sizeof path, "%s/%s", steps, cluster->step);
    AWAIT(cluster_is_step_in(cluster, path, "succeeded"));
}

void
cluster_partial_run(Cluster *cluster, const char *body)
{
    char path[128];
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/partial-runs", cluster->session);
    make(cluster, path, body, cluster->partial_run, sizeof cluster->partial_run);
}

void
cluster_expect(RestResponse *response, int status, const char *part)
{
    if (response->status != status || (part != NULL && strstr(rest_text(response), part) == NULL)) {
        fail_msg("%d %s instead of %d %s", response->status, rest_text(response), status,
            part == NULL ? "" : part);
    }
}

void
cluster_expect_step(Cluster *cluster, const char *body, int status, const char *part)
{
    AUTO_REST response;
    cluster_step(cluster, body, &response);
    cluster_expect(&response, status, part);
}
