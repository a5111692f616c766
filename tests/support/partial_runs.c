#include "tests/support/partial_runs.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/await.h"
#include "tests/support/graph_json.h"

/* The graph that partial_runs.h describes. */
static const char stages[] = "{\"node\":[" PLACEHOLDER("x") "," PLACEHOLDER("y") "," PLACEHOLDER(
    "z") "," NODE("a", "Neg", "\"x\"", T_FLOAT) "," NODE("b", "Mul", "\"a\",\"y\"", T_FLOAT) "," NODE("c",
    "Add", "\"b\",\"x\"", T_FLOAT) "," NODE("d", "Add", "\"c\",\"z\"", T_FLOAT) "," NODE("w", "VariableV2",
    "", "\"dtype\":{\"type\":\"DT_FLOAT\"},\"shape\":{\"shape\":{}}") "," SCALAR("zero",
    "0") "," SCALAR("one", "1") "," NODE("init", "Assign", "\"w\",\"zero\"", T_FLOAT) "," NODE("bump",
    "AssignAdd", "\"w\",\"one\",\"^a\"",
    T_FLOAT) "," NODE("read", "Identity", "\"w\"", T_FLOAT) "," NODE("late", "Identity", "\"w\",\"^b\"",
    T_FLOAT) "," NODE("k", "Placeholder", "", "\"dtype\":{\"type\":\"DT_INT32\"}") "," NODE("quotient",
    "FloorDiv", "\"k\",\"k\"", "\"T\":{\"type\":\"DT_INT32\"}") "," NODE("p", "Placeholder", "",
    "\"dtype\":{\"type\":\"DT_BOOL\"}") "," NODE("side", "Switch", "\"x\",\"p\"", T_FLOAT) "]}";

void
partial_run_create(Cluster *cluster, const char *body, RestResponse *ret_response)
{
    char path[PARTIAL_RUN_PATH_SIZE];
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/partial-runs", cluster->session);
    cluster_send(cluster, "POST", path, body, ret_response);
}

void
partial_run_begun(Cluster *cluster, const char *body, char ret_path[PARTIAL_RUN_PATH_SIZE])
{
    AUTO_REST response;
    partial_run_create(cluster, body, &response);
    cluster_expect(&response, 201, "\"state\":\"open\"");
    (void)snprintf(ret_path, PARTIAL_RUN_PATH_SIZE, "%s", rest_header(&response, "Location"));
    assert_non_null(strstr(ret_path, "/partial-runs/prt_"));
}

void
partial_run_go_on(Cluster *cluster, const char *path, const char *body, RestResponse *ret_response)
{
    char target[PARTIAL_RUN_PATH_SIZE + 16];
    (void)snprintf(target, sizeof target, "%.255s:continue", path);
    cluster_send(cluster, "POST", target, body, ret_response);
}

void
partial_run_expect(Cluster *cluster, const char *path, const char *body, int status, const char *part)
{
    AUTO_REST response;
    partial_run_go_on(cluster, path, body, &response);
    cluster_expect(&response, status, part);
}

void
partial_run_expect_view(Cluster *cluster, const char *path, int status, const char *part)
{
    AUTO_REST response;
    cluster_send(cluster, "GET", path, NULL, &response);
    cluster_expect(&response, status, part);
}

void
partial_run_ready(Cluster *cluster, const char *options)
{
    cluster_session(cluster, options);
    cluster_graph(cluster, stages);
}

void
partial_run_start(
    Cluster *cluster, const char *options, const char *body, char ret_path[PARTIAL_RUN_PATH_SIZE])
{
    partial_run_ready(cluster, options);
    partial_run_begun(cluster, body, ret_path);
}

static bool
is_gone(Cluster *cluster, const char *path)
{
    AUTO_REST response;
    cluster_send(cluster, "GET", path, NULL, &response);
    if (response.status == 404) {
        cluster_expect(&response, 404, "may be complete, have failed, or have expired");
    }
    return response.status == 404;
}

void
partial_run_await_gone(Cluster *cluster, const char *path)
{
    AWAIT(is_gone(cluster, path));
}

/* Returns how many runs all workers have under way; -1 while one of them does not answer. */
static int
slots_under_way(Cluster *cluster)
{
    int count = 0;
    for (int index = 0; index < cluster->options.worker_count; index++) {
        int running = cluster_worker_running(cluster, index);
        if (running < 0) {
            return -1;
        }
        count += running;
    }
    return count;
}

void
partial_run_await_slots(Cluster *cluster, int wanted)
{
    AWAIT(slots_under_way(cluster) == wanted);
}

int
partial_run_worker(Cluster *cluster)
{
    int index = 0;
    partial_run_await_slots(cluster, 1);
    while (cluster_worker_running(cluster, index) != 1) {
        assert_true(++index < cluster->options.worker_count);
    }
    return index;
}
