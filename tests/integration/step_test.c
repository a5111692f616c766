/* Steps through the whole of Sluice: REST, plan, two worker processes, and back. */
#include <signal.h>

#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/step_graphs.h"

static const char spread[] = "{\"slots\":2,\"placement\":\"spread\"}";

static void
a_graph_cut_across_two_workers_gives_its_result(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST response = {0};
    cluster_session(cluster, spread);
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    cluster_step(cluster, "{\"feeds\":{\"x\":[[1,2]]},\"fetches\":[\"y\",\"xw:0\"]}", &response);
    cluster_expect(&response, 200, NULL);
    assert_non_null(strstr(rest_text(&response),
        "\"outputs\":{\"y\":{\"dtype\":\"float32\",\"shape\":[1,2],\"data\":[17,30]},"
        "\"xw:0\":{\"dtype\":\"float32\",\"shape\":[1,2],\"data\":[7,10]}}"));
    assert_non_null(strstr(rest_text(&response), "\"slot\":0,\"task\":"));
    assert_non_null(strstr(rest_text(&response), "\"slot\":1,\"task\":"));
}

static void
one_slot_and_two_slots_give_the_same_bits(void **state)
{
    Cluster *cluster = *state;
    static const char body[] = "{\"feeds\":{\"x\":[[0.1,-3.7]]},\"fetches\":[\"y\"]}";
    AUTO_REST local = {0};
    AUTO_REST cut = {0};
    cluster_session(cluster, "{}");
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    cluster_step(cluster, body, &local);
    cluster_session(cluster, spread);
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    cluster_step(cluster, body, &cut);
    cluster_expect(&local, 200, NULL);
    cluster_expect(&cut, 200, NULL);
    assert_string_equal(strstr(rest_text(&local), "\"outputs\""), strstr(rest_text(&cut), "\"outputs\""));
}

static void
a_restarted_worker_is_invisible(void **state)
{
    Cluster *cluster = *state;
    static const char body[] = "{\"feeds\":{\"x\":[[1,2]]},\"fetches\":[\"y\"]}";
    cluster_session(cluster, spread);
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    for (int round = 0; round < 2; round++) {
        AUTO_REST response = {0};
        cluster_step(cluster, body, &response);
        cluster_expect(&response, 200, NULL);
        (void)process_stop(&cluster->workers[round], SIGKILL);
        assert_true(cluster_restart_worker(cluster, round));
    }
    AUTO_REST last = {0};
    cluster_step(cluster, body, &last);
    cluster_expect(&last, 200, "[17,30]");
}

static void
what_is_wrong_with_a_step_is_said(void **state)
{
    Cluster *cluster = *state;
    static const struct {
        const char *body;
        int status;
        const char *message;
    } cases[] = {
        {"{\"feeds\":{\"x\":[[1,2,3]]},\"fetches\":[\"y\"]}", 400, "node 'xw': "},
        {"{\"feeds\":{\"x\":[[1,2]]},\"fetches\":[\"nope\"]}", 404, "'nope'"},
        {"{\"feeds\":{\"nope\":[[1,2]]},\"fetches\":[\"y\"]}", 404,
            "feed 'nope': the graph has no node for 'nope'"},
        {"{\"feeds\":{},\"fetches\":[\"y\"]}", 400, "'x'"},
        {"{\"feeds\":{\"x\":[[1,2]]}}", 400, "fetch"},
        {"{\"feeds\":{\"x\":[[1,\"a\"]]},\"fetches\":[\"y\"]}", 400, "feed 'x'"},
        {"{\"fetches\":[\"y\"],\"speed\":9}", 400, "/speed"},
        {"{\"fetches\":[\"y\"", 400, "line 1"},
        {"{\"graph\":\"grf_00000000000070008000000000000009\",\"fetches\":[\"y\"]}", 404, "does not exist"},
    };
    cluster_session(cluster, "{}");
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        AUTO_REST response = {0};
        cluster_step(cluster, cases[index].body, &response);
        if (response.status != cases[index].status ||
            strstr(rest_text(&response), cases[index].message) == NULL) {
            fail_msg("%s: %d %s", cases[index].body, response.status, rest_text(&response));
        }
        assert_string_equal(rest_header(&response, "Content-Type"), "application/problem+json");
    }
}

/* A placeholder of the shape [open, 3], and one of rank 0, which means any shape unless the graph is newer.
 */
#define DECLARED(versions)                                                                                   \
    "{\"node\":["                                                                                            \
    "{\"name\":\"x\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},\"shape\":{"         \
    "\"shape\":{"                                                                                            \
    "\"dim\":[{\"size\":\"-1\"},{\"size\":\"3\"}]}}}},"                                                      \
    "{\"name\":\"s\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},"                    \
    "\"shape\":{\"shape\":{}}}},"                                                                            \
    "{\"name\":\"y\",\"op\":\"Neg\",\"input\":[\"x\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}}]" versions   \
    "}"

static void
expect_step(Cluster *cluster, const char *body, int status, const char *message)
{
    AUTO_REST response = {0};
    cluster_step(cluster, body, &response);
    cluster_expect(&response, status, message);
}

static void
feeds_have_the_shapes_that_the_graph_declares(void **state)
{
    Cluster *cluster = *state;
    cluster_session(cluster, "{}");
    cluster_graph(cluster, DECLARED(""));
    expect_step(cluster, "{\"feeds\":{\"x\":[[1,2,3]]},\"fetches\":[\"y\"]}", 200, NULL);
    expect_step(cluster, "{\"feeds\":{\"x\":[[1,2]]},\"fetches\":[\"y\"]}", 400,
        "feed 'x': the graph takes shape [?,3] here, not [1,2]");
    expect_step(cluster, "{\"feeds\":{\"x\":[1,2,3]},\"fetches\":[\"y\"]}", 400,
        "feed 'x': the graph takes shape [?,3] here, not [3]");
    expect_step(cluster, "{\"feeds\":{\"s\":[1,2,3]},\"fetches\":[\"s\"]}", 200, "\"data\":[1,2,3]");
    cluster_graph(cluster, DECLARED(",\"versions\":{\"producer\":24}"));
    expect_step(cluster, "{\"feeds\":{\"s\":[1,2,3]},\"fetches\":[\"s\"]}", 400,
        "feed 's': the graph takes shape [] here, not [3]");
    expect_step(cluster, "{\"feeds\":{\"s\":4},\"fetches\":[\"s\"]}", 200, "\"shape\":[],\"data\":[4]");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(a_graph_cut_across_two_workers_gives_its_result),
        CLUSTER_TEST(one_slot_and_two_slots_give_the_same_bits),
        CLUSTER_TEST(a_restarted_worker_is_invisible),
        CLUSTER_TEST(what_is_wrong_with_a_step_is_said),
        CLUSTER_TEST(feeds_have_the_shapes_that_the_graph_declares),
    };
    return cmocka_run_group_tests_name("step", tests, NULL, NULL);
}
