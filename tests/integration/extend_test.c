/* Graphs that grow by versions: old versions stay readable, one of two concurrent extensions wins, and the
 * session keeps its variables. */
#include <signal.h>

#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/graph_json.h"

enum { PATH_SIZE = 256 };

#define GRAPH(nodes) "{\"node\":[" nodes "]}"

/* The variable w is set to 7 by init. */
static const char base[] = GRAPH(NODE("w", "VariableV2", "",
    "\"dtype\":{\"type\":\"DT_FLOAT\"},\"shape\":{\"shape\":{}}") "," NODE("seven", "Const", "",
    "\"dtype\":{\"type\":\"DT_FLOAT\"},\"value\":{\"tensor\":{\"dtype\":\"DT_FLOAT\",\"tensorShape\":{},"
    "\"floatVal\":[7]}}") "," NODE("init", "Assign", "\"w\",\"seven\"", T_FLOAT) "," NODE("read", "Identity",
    "\"w\"", T_FLOAT));
static const char twice[] = GRAPH(NODE("twice", "Add", "\"read\",\"read\"", T_FLOAT));
static const char thrice[] = GRAPH(NODE("thrice", "Add", "\"twice\",\"read\"", T_FLOAT));
static const char again[] = GRAPH(NODE("read", "Identity", "\"w\"", T_FLOAT) "," NODE(
    "new", "Identity", "\"w\"", T_FLOAT) "," NODE("seven", "NoOp", "", ""));

/* Extends the graph on the condition of this ETag. */
static void
extend(Cluster *cluster, const char *tag, const char *body, RestResponse *ret_response)
{
    char condition[128];
    const char *const headers[] = {condition, NULL};
    (void)snprintf(condition, sizeof condition, "If-Match: %s", tag);
    cluster_extend(cluster, headers, body, ret_response);
}

static void
grow(Cluster *cluster, const char *body)
{
    AUTO_REST response = {0};
    extend(cluster, "*", body, &response);
    cluster_expect(&response, 201, NULL);
    assert_true(rest_member(&response, "id", cluster->graph, sizeof cluster->graph));
}

static void
expect_step(Cluster *cluster, const char *graph, const char *rest, int status, const char *part)
{
    char body[PATH_SIZE];
    (void)snprintf(body, sizeof body, "{%s%s%s%s}", graph == NULL ? "" : "\"graph\":\"",
        graph == NULL ? "" : graph, graph == NULL ? "" : "\",", rest);
    cluster_expect_step(cluster, body, status, part);
}

static int
get_graph(Cluster *cluster, const char *suffix, RestResponse *ret_response)
{
    char path[PATH_SIZE];
    (void)snprintf(
        path, sizeof path, "/api/v1/sessions/%s/graphs/%s%s", cluster->session, cluster->graph, suffix);
    cluster_send(cluster, "GET", path, NULL, ret_response);
    return ret_response->status;
}

static void
new_nodes_read_the_variables_that_old_ones_made(void **state)
{
    Cluster *cluster = *state;
    char old[64];
    cluster_session(cluster, "{\"slots\":2,\"placement\":\"spread\"}");
    cluster_graph(cluster, base);
    (void)snprintf(old, sizeof old, "%s", cluster->graph);
    expect_step(cluster, NULL, "\"targets\":[\"init\"]", 200, "");
    grow(cluster, twice);
    expect_step(cluster, NULL, "\"fetches\":[\"twice\"]", 200, "\"data\":[14]");
    expect_step(cluster, old, "\"fetches\":[\"read\"]", 200, "\"data\":[7]");
    expect_step(cluster, old, "\"fetches\":[\"twice\"]", 404, "twice");
}

static void
a_version_names_its_parent_and_shows_the_whole(void **state)
{
    Cluster *cluster = *state;
    char parent[96];
    AUTO_REST graph = {0};
    AUTO_REST definition = {0};
    cluster_session(cluster, "{}");
    cluster_graph(cluster, base);
    grow(cluster, twice);
    (void)snprintf(parent, sizeof parent, "\"parent\":\"%s\"", cluster->graph);
    grow(cluster, thrice);
    assert_int_equal(get_graph(cluster, "", &graph), 200);
    assert_non_null(strstr(rest_text(&graph), "\"version\":3"));
    assert_non_null(strstr(rest_text(&graph), parent));
    assert_non_null(strstr(rest_text(&graph), "\"nodes\": 6"));
    assert_int_equal(get_graph(cluster, "/definition", &definition), 200);
    assert_non_null(strstr(rest_text(&definition), "\"seven\""));
    assert_non_null(strstr(rest_text(&definition), "\"thrice\""));
}

static void
of_two_that_extend_one_graph_one_loses(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST graph = {0};
    AUTO_REST winner = {0};
    AUTO_REST loser = {0};
    AUTO_REST repeated = {0};
    AUTO_REST blind = {0};
    static const char *const unconditional[] = {NULL};
    char tag[80];
    char next[80];
    cluster_session(cluster, "{}");
    cluster_graph(cluster, base);
    assert_int_equal(get_graph(cluster, "", &graph), 200);
    (void)snprintf(tag, sizeof tag, "%s", rest_header(&graph, "ETag"));
    extend(cluster, tag, twice, &winner);
    cluster_expect(&winner, 201, NULL);
    assert_non_null(strstr(rest_header(&winner, "Location"), "/graphs/grf_"));
    (void)snprintf(next, sizeof next, "%s", rest_header(&winner, "ETag"));
    assert_string_not_equal(next, tag);
    extend(cluster, tag, GRAPH(NODE("other", "NoOp", "", "")), &loser);
    cluster_expect(&loser, 412, NULL);
    extend(cluster, tag, twice, &repeated);
    cluster_expect(&repeated, 200, NULL);
    assert_string_equal(rest_header(&repeated, "ETag"), next);
    cluster_extend(cluster, unconditional, twice, &blind);
    cluster_expect(&blind, 428, NULL);
}

static void
every_name_that_is_taken_is_pointed_at(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST response = {0};
    cluster_session(cluster, "{}");
    cluster_graph(cluster, base);
    extend(cluster, "*", again, &response);
    cluster_expect(&response, 400, "\"pointer\":\"/node/0\"");
    assert_non_null(strstr(rest_text(&response), "\"pointer\":\"/node/2\""));
    assert_null(strstr(rest_text(&response), "\"pointer\":\"/node/1\""));
}

static void
a_fault_of_the_whole_points_into_what_was_added(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST response = {0};
    cluster_session(cluster, "{}");
    cluster_graph(cluster, base);
    extend(cluster, "*",
        GRAPH(NODE("good", "NoOp", "", "") "," NODE("bad", "Identity", "\"nothing\"", T_FLOAT)), &response);
    cluster_expect(&response, 400, "\"pointer\":\"/node/1/input/0\"");
}

/* The base has been deleted, and the gateway's caches are empty. */
static void
a_version_stands_for_itself(void **state)
{
    Cluster *cluster = *state;
    char path[PATH_SIZE];
    cluster_session(cluster, "{}");
    cluster_graph(cluster, base);
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/graphs/%s", cluster->session, cluster->graph);
    grow(cluster, twice);
    grow(cluster, thrice);
    {
        AUTO_REST removed = {0};
        cluster_send(cluster, "DELETE", path, NULL, &removed);
        cluster_expect(&removed, 204, NULL);
    }
    (void)process_stop(&cluster->gateway, SIGTERM);
    assert_true(cluster_restart_gateway(cluster));
    expect_step(cluster, NULL, "\"targets\":[\"init\"]", 200, "");
    expect_step(cluster, NULL, "\"fetches\":[\"thrice\"]", 200, "\"data\":[21]");
}

static void
a_key_gives_the_first_answer_again(void **state)
{
    Cluster *cluster = *state;
    static const char *const headers[] = {"If-Match: *", "Idempotency-Key: one", NULL};
    AUTO_REST first = {0};
    AUTO_REST second = {0};
    cluster_session(cluster, "{}");
    cluster_graph(cluster, base);
    cluster_extend(cluster, headers, twice, &first);
    cluster_extend(cluster, headers, twice, &second);
    cluster_expect(&first, 201, NULL);
    cluster_expect(&second, 201, NULL);
    assert_string_equal(rest_text(&first), rest_text(&second));
}

/* A chain of 10,000 nodes is extended ten times. */
static void
a_large_graph_grows_ten_times(void **state)
{
    Cluster *cluster = *state;
    enum { NODES = 10000, TURNS = 10 };
    AUTO_BUFFER large = {0};
    AUTO_REST graph = {0};
    buffer_append_string(&large, "{\"node\":[{\"name\":\"n0\",\"op\":\"NoOp\"}");
    for (int node = 1; node < NODES; node++) {
        buffer_append_format(
            &large, ",{\"name\":\"n%d\",\"op\":\"NoOp\",\"input\":[\"^n%d\"]}", node, node - 1);
    }
    buffer_append_string(&large, "]}");
    cluster_session(cluster, "{}");
    cluster_graph(cluster, buffer_string(&large));
    for (int turn = 0; turn < TURNS; turn++) {
        char body[96];
        (void)snprintf(body, sizeof body,
            "{\"node\":[{\"name\":\"m%d\",\"op\":\"NoOp\",\"input\":[\"^n%d\"]}]}", turn, turn);
        grow(cluster, body);
    }
    expect_step(cluster, NULL, "\"targets\":[\"m9\"]", 200, "");
    assert_int_equal(get_graph(cluster, "", &graph), 200);
    assert_non_null(strstr(rest_text(&graph), "\"version\":11"));
    assert_non_null(strstr(rest_text(&graph), "\"nodes\": 10010"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(new_nodes_read_the_variables_that_old_ones_made),
        CLUSTER_TEST(a_version_names_its_parent_and_shows_the_whole),
        CLUSTER_TEST(of_two_that_extend_one_graph_one_loses),
        CLUSTER_TEST(every_name_that_is_taken_is_pointed_at),
        CLUSTER_TEST(a_fault_of_the_whole_points_into_what_was_added),
        CLUSTER_TEST(a_version_stands_for_itself),
        CLUSTER_TEST(a_key_gives_the_first_answer_again),
        CLUSTER_TEST(a_large_graph_grows_ten_times),
    };
    return cmocka_run_group_tests_name("extend", tests, NULL, NULL);
}
