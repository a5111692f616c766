/* A signature that was compiled ahead: its first step finds its plan in the gateway and its partitions and
 * constants on the workers. */
#include <stdlib.h>

#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/step_graphs.h"

enum { PATH_SIZE = 256, WEIGHTS = 40 * 40 };

static const char variable_graph[] =
    "{\"node\":[{\"name\":\"w\",\"op\":\"VariableV2\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},"
    "\"shape\":{\"shape\":{}}}},{\"name\":\"r\",\"op\":\"Identity\",\"input\":[\"w\"],\"attr\":{\"T\":{"
    "\"type\":\"DT_FLOAT\"}}}]}";

static void
ask_graph(Cluster *cluster, const char *verb, const char *body, RestResponse *ret_response)
{
    char path[PATH_SIZE];
    (void)snprintf(
        path, sizeof path, "/api/v1/sessions/%s/graphs/%s:%s", cluster->session, cluster->graph, verb);
    cluster_send(cluster, "POST", path, body, ret_response);
}

static void
compile(Cluster *cluster, const char *body, RestResponse *ret_response)
{
    ask_graph(cluster, "compile", body, ret_response);
}

static void
expect_compiled(Cluster *cluster, const char *body, const char *was_planned, const char *was_registered)
{
    AUTO_REST response = {0};
    compile(cluster, body, &response);
    if (response.status != 200 || strstr(rest_text(&response), was_planned) == NULL ||
        strstr(rest_text(&response), was_registered) == NULL) {
        fail_msg("%d %s", response.status, rest_text(&response));
    }
}

static int
registrations(Cluster *cluster)
{
    return (int)cluster_metric(cluster, "sluice_registrations_total");
}

static int
planned(Cluster *cluster)
{
    return (int)cluster_metric(cluster, "sluice_plan_cache_lookups_total{result=\"miss\"}");
}

static void
the_first_step_needs_neither_plan_nor_registration(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST response = {0};
    cluster_session(cluster, "{\"slots\":2,\"placement\":\"spread\"}");
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    expect_compiled(cluster,
        "{\"feeds\":{\"x\":{\"dtype\":\"float32\",\"shape\":[1,2]}},\"fetches\":[\"y\"]}",
        "\"was_planned\":false", "\"was_registered\":false");
    int registered = registrations(cluster);
    int compiled = planned(cluster);
    assert_int_equal(registered, 2);
    assert_true(compiled > 0);
    cluster_step(cluster, STEP_BODY_AFFINE, &response);
    cluster_expect(&response, 200, NULL);
    assert_int_equal(registrations(cluster), registered);
    assert_int_equal(planned(cluster), compiled);
    expect_compiled(cluster, STEP_BODY_AFFINE, "\"was_planned\":true", "\"was_registered\":true");
}

/* The matrix w of y = x·w is large enough to become a blob. */
static void
constants_go_ahead_too(void **state)
{
    Cluster *cluster = *state;
    AUTO_BUFFER graph = {0};
    AUTO_REST first = {0};
    AUTO_REST again = {0};
    buffer_append_string(&graph,
        "{\"node\":[{\"name\":\"x\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"}}},"
        "{\"name\":\"w\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},\"value\":{\"tensor\":{"
        "\"dtype\":\"DT_FLOAT\",\"tensorShape\":{\"dim\":[{\"size\":\"40\"},{\"size\":\"40\"}]},\"floatVal\":"
        "["
        "1");
    for (int index = 1; index < WEIGHTS; index++) {
        buffer_append_format(&graph, ",%d", index % 7);
    }
    buffer_append_string(&graph, "]}}}},{\"name\":\"y\",\"op\":\"MatMul\",\"input\":[\"x\",\"w\"],\"attr\":{"
                                 "\"T\":{\"type\":\"DT_FLOAT\"}}}]}");
    cluster_session(cluster, "{}");
    cluster_graph(cluster, buffer_string(&graph));
    compile(cluster, "{\"feeds\":{\"x\":{}},\"fetches\":[\"y\"]}", &first);
    cluster_expect(&first, 200, NULL);
    const char *uploaded = strstr(rest_text(&first), "\"uploaded_bytes\":");
    assert_non_null(uploaded);
    assert_true(
        strtol(uploaded + sizeof "\"uploaded_bytes\":" - 1, NULL, 10) > WEIGHTS * (long)sizeof(float));
    compile(cluster, "{\"feeds\":{\"x\":{}},\"fetches\":[\"y\"]}", &again);
    assert_non_null(strstr(rest_text(&again), "\"was_registered\":true"));
}

static void
what_the_session_keeps_has_its_place_before_the_first_step(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST session = {0};
    AUTO_REST response = {0};
    char path[PATH_SIZE];
    cluster_session(cluster, "{}");
    cluster_graph(cluster, variable_graph);
    expect_compiled(cluster, "{\"fetches\":[\"r\"]}", "\"was_planned\":false", "\"task\":");
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s", cluster->session);
    cluster_send(cluster, "GET", path, NULL, &session);
    assert_non_null(strstr(rest_text(&session), "\"worker\":\"w"));
    cluster_step(cluster, "{\"fetches\":[\"r\"]}", &response);
    assert_non_null(strstr(rest_text(&response), "variable 'w' is not initialised"));
    assert_int_equal(registrations(cluster), 1);
}

static void
a_signature_that_cannot_be_planned_is_refused_each_time(void **state)
{
    Cluster *cluster = *state;
    cluster_session(cluster, "{}");
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    for (int turn = 0; turn < 2; turn++) {
        AUTO_REST response = {0};
        compile(cluster, "{\"feeds\":{\"x\":{\"dtype\":\"float32\"}},\"fetches\":[\"nope\"]}", &response);
        cluster_expect(&response, 404, NULL);
        assert_int_equal(planned(cluster), turn + 1); /* a failure is not remembered */
    }
    static const char *const verbs[] = {"compile", "plan"};
    for (size_t index = 0; index < COUNT_OF(verbs); index++) {
        AUTO_REST other = {0};
        ask_graph(
            cluster, verbs[index], "{\"feeds\":{\"x\":{\"dtype\":\"int32\"}},\"fetches\":[\"y\"]}", &other);
        cluster_expect(&other, 400, "feed 'x': the graph takes float32 here, not int32");
    }
    assert_int_equal(registrations(cluster), 0);
}

/* A plan of a graph with variables binds no place: only a step, or compiling, does that. */
static void
a_plan_that_is_explained_leaves_nothing(void **state)
{
    Cluster *cluster = *state;
    char path[PATH_SIZE];
    AUTO_REST plan = {0};
    AUTO_REST session = {0};
    cluster_session(cluster, "{}");
    cluster_graph(cluster, variable_graph);
    ask_graph(cluster, "plan", "{\"fetches\":[\"r\"]}", &plan);
    cluster_expect(&plan, 200, "\"is_pure\":false");
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s", cluster->session);
    cluster_send(cluster, "GET", path, NULL, &session);
    cluster_expect(&session, 200, "\"places\":[]");
    assert_int_equal(registrations(cluster), 0);
}

static void
another_order_is_the_same_signature(void **state)
{
    Cluster *cluster = *state;
    cluster_session(cluster, "{}");
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    expect_compiled(cluster,
        "{\"feeds\":{\"x\":{},\"b\":{}},\"fetches\":[\"y\",\"xw\"],\"targets\":[\"w\",\"xw\"]}",
        "\"was_planned\":false", "\"was_registered\":false");
    expect_compiled(cluster,
        "{\"feeds\":{\"b\":{},\"x\":{}},\"fetches\":[\"xw\",\"y\",\"xw\"],\"targets\":[\"xw\",\"w\"]}",
        "\"was_planned\":true", "\"was_registered\":true");
}

/* Ten graphs are used in turn where caches have room for a few: every step is served, and caches have
 * evicted. */
static void
caches_that_are_too_small_cost_time_and_nothing_else(void **state)
{
    static const char *const small[] = {"--graph-cache=20KiB", "--plan-cache=20KiB", NULL};
    static const char *const tight[] = {"--partition-cache=8KiB", NULL};
    enum { GRAPHS = 10 };
    Cluster cluster;
    char graphs[GRAPHS][64];
    (void)state;
    assert_true(cluster_start(&cluster,
        &(ClusterOptions){.worker_count = 1, .gateway_arguments = small, .worker_arguments = tight}));
    cluster_session(&cluster, "{}");
    for (int index = 0; index < GRAPHS; index++) {
        char graph[256];
        (void)snprintf(graph, sizeof graph,
            "{\"node\":[{\"name\":\"x%d\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"}}"
            "},"
            "{\"name\":\"y\",\"op\":\"Neg\",\"input\":[\"x%d\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}}]}",
            index, index);
        cluster_graph(&cluster, graph);
        (void)snprintf(graphs[index], sizeof graphs[index], "%s", cluster.graph);
    }
    for (int turn = 1; turn <= 3 * GRAPHS; turn++) {
        char body[160];
        char wanted[32];
        (void)snprintf(body, sizeof body, "{\"graph\":\"%s\",\"feeds\":{\"x%d\":%d},\"fetches\":[\"y\"]}",
            graphs[turn % GRAPHS], turn % GRAPHS, turn);
        (void)snprintf(wanted, sizeof wanted, "\"data\":[-%d]", turn);
        cluster_expect_step(&cluster, body, 200, wanted);
    }
    assert_true(cluster_metric(&cluster, "sluice_cache_evictions_total{cache=\"graphs\"}") > 0);
    assert_true(cluster_metric(&cluster, "sluice_graph_cache_bytes") <= 20 << 10);
    assert_true(cluster_metric(&cluster, "sluice_plan_cache_bytes") <= 20 << 10);
    assert_true(registrations(&cluster) > GRAPHS); /* the worker has forgotten partitions too */
    cluster_stop(&cluster);
}

/* Makes a graph that multiplies a matrix of 0.5 by the feed and sums it up. */
static void
weighted_graph(Cluster *cluster, int rows)
{
    char graph[1024];
    (void)snprintf(graph, sizeof graph,
        "{\"node\":[{\"name\":\"x\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"}}},"
        "{\"name\":\"w\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},\"value\":{\"tensor\":{"
        "\"dtype\":\"DT_FLOAT\",\"tensorShape\":{\"dim\":[{\"size\":\"%d\"},{\"size\":\"256\"}]},"
        "\"floatVal\":[0.5]}}}},"
        "{\"name\":\"axes\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_INT32\"},\"value\":{"
        "\"tensor\":{"
        "\"dtype\":\"DT_INT32\",\"tensorShape\":{\"dim\":[{\"size\":\"2\"}]},\"intVal\":[0,1]}}}},"
        "{\"name\":\"p\",\"op\":\"Mul\",\"input\":[\"x\",\"w\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}},"
        "{\"name\":\"y\",\"op\":\"Sum\",\"input\":[\"p\",\"axes\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}}]"
        "}",
        rows);
    cluster_graph(cluster, graph);
}

/* Blobs have a budget of their own; constants that a partition holds itself count as part of it. */
static void
weights_count_for_the_cache_of_blobs(void **state)
{
    static const char *const tight[] = {"--partition-cache=32KiB", NULL};
    static const char *const tighter[] = {"--partition-cache=4KiB", NULL};
    Cluster cluster;
    (void)state;
    assert_true(cluster_start(&cluster, &(ClusterOptions){.worker_count = 1, .worker_arguments = tight}));
    cluster_session(&cluster, "{}");
    weighted_graph(&cluster, 256);
    cluster_expect_step(&cluster, "{\"feeds\":{\"x\":1},\"fetches\":[\"y\"]}", 200, "\"data\":[32768]");
    cluster_stop(&cluster);
    assert_true(cluster_start(&cluster, &(ClusterOptions){.worker_count = 1, .worker_arguments = tighter}));
    cluster_session(&cluster, "{}");
    weighted_graph(&cluster, 4);
    cluster_expect_step(&cluster, "{\"feeds\":{\"x\":1},\"fetches\":[\"y\"]}", 429,
        "is larger than the 4096 bytes that the worker keeps for all of them (its setting "
        "'partition-cache')");
    cluster_stop(&cluster);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(the_first_step_needs_neither_plan_nor_registration),
        CLUSTER_TEST(constants_go_ahead_too),
        CLUSTER_TEST(what_the_session_keeps_has_its_place_before_the_first_step),
        CLUSTER_TEST(a_signature_that_cannot_be_planned_is_refused_each_time),
        CLUSTER_TEST(a_plan_that_is_explained_leaves_nothing),
        CLUSTER_TEST(another_order_is_the_same_signature),
        cmocka_unit_test(weights_count_for_the_cache_of_blobs),
        cmocka_unit_test(caches_that_are_too_small_cost_time_and_nothing_else),
    };
    return cmocka_run_group_tests_name("compile", tests, NULL, NULL);
}
