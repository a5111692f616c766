/* Loops and conditionals whose nodes lie on several workers give the same bits as on one. */
#include "tests/support/await.h"
#include "tests/support/cluster.h"
#include "tests/support/loop_graphs.h"

static void
run_steps(Cluster *cluster, const char *options, const char *graph, RestResponse (*responses)[5])
{
    static const int turns[] = {0, 1, 2, 7, 20};
    cluster_session(cluster, options);
    cluster_graph_literal(cluster, graph);
    for (size_t i = 0; i < COUNT_OF(turns); i++) {
        char body[128];
        RestResponse *response = &(*responses)[i];
        (void)snprintf(body, sizeof body,
            "{\"feeds\":{\"x\":[0.25,-1.5,0.75],\"n\":%d},\"fetches\":[\"v_exit\"]}", turns[i]);
        cluster_step(cluster, body, response);
        if (response->status != 200) {
            fail_msg("%d turns: status %d: %s", turns[i], response->status, rest_text(response));
        }
    }
}

static void
assert_equal_however_cut(Cluster *cluster, const char *graph)
{
    static const char *const spread[] = {
        "{\"slots\":2,\"placement\":\"spread\"}", "{\"slots\":3,\"placement\":\"spread\"}"};
    RestResponse whole[5] = {0};
    run_steps(cluster, "{}", graph, &whole);
    for (size_t i = 0; i < COUNT_OF(spread); i++) {
        RestResponse cut[5] = {0};
        run_steps(cluster, spread[i], graph, &cut);
        for (size_t k = 0; k < COUNT_OF(cut); k++) {
            assert_non_null(strstr(rest_text(&cut[k]), "\"slot\":1,\"task\":"));
            assert_string_equal(
                strstr(rest_text(&cut[k]), "\"outputs\""), strstr(rest_text(&whole[k]), "\"outputs\""));
            rest_response_done(&cut[k]);
        }
    }
    for (size_t k = 0; k < COUNT_OF(whole); k++) {
        rest_response_done(&whole[k]);
    }
}

static void
a_loop_over_several_workers_gives_the_bits_of_one(void **state)
{
    assert_equal_however_cut(*state, LOOP_CHAOTIC("parallel_iterations=10"));
    assert_equal_however_cut(*state, LOOP_CHAOTIC("parallel_iterations=1"));
}

static void
nested_loops_over_several_workers_give_the_bits_of_one(void **state)
{
    assert_equal_however_cut(*state, LOOP_NESTED);
}

static void
branches_in_loops_over_several_workers_give_the_bits_of_one(void **state)
{
    assert_equal_however_cut(*state, LOOP_BRANCHING);
}

static void
an_untaken_loop_over_several_workers_is_dead_on_all_of_them(void **state)
{
    assert_equal_however_cut(*state, LOOP_UNTAKEN);
}

static void
a_fetch_inside_a_loop_is_refused(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST response = {0};
    cluster_session(cluster, "{}");
    cluster_graph_literal(cluster, LOOP_CHAOTIC(""));
    cluster_step(cluster, "{\"feeds\":{\"x\":1,\"n\":3},\"fetches\":[\"mul\"]}", &response);
    cluster_expect(&response, 400, "fetch 'mul' is inside loop 'loop'");
}

/* A variable to which `count` adds 1 in each turn. */
#define COUNT_TURNS                                                                                          \
    "turns = VarHandleOp() dtype=float32 shape=<>\n"                                                         \
    "nought = Const() dtype=float32 value=float32(0)\n"                                                      \
    "init = AssignVariableOp(turns, nought) dtype=float32\n"                                                 \
    "inside = Enter(turns) T=resource frame_name='loop' is_constant=true\n"                                  \
    "once = Const(^i_body) dtype=float32 value=float32(1)\n"                                                 \
    "count = AssignAddVariableOp(inside, once) dtype=float32\n"                                              \
    "counted = ReadVariableOp(turns) dtype=float32\n"

static void
a_target_inside_a_loop_runs_the_loop(void **state)
{
    Cluster *cluster = *state;
    static const char *const options[] = {"{}", "{\"slots\":2,\"placement\":\"spread\"}"};
    for (size_t index = 0; index < COUNT_OF(options); index++) {
        cluster_session(cluster, options[index]);
        cluster_graph_literal(cluster, LOOP_CHAOTIC("") COUNT_TURNS);
        cluster_expect_step(cluster, "{\"targets\":[\"init\"]}", 200, NULL);
        cluster_expect_step(
            cluster, "{\"feeds\":{\"x\":1,\"n\":3},\"targets\":[\"count\"]}", 200, "\"outputs\":{}");
        cluster_expect_step(cluster, "{\"fetches\":[\"counted\"]}", 200, "\"data\":[3]");
    }
}

static void
the_error_of_a_late_step_names_loop_and_iteration(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST response = {0};
    cluster_session(cluster, "{\"slots\":2,\"placement\":\"spread\"}");
    cluster_graph_literal(cluster, LOOP_CHAOTIC(""));
    cluster_expect_step(cluster, "{\"feeds\":{\"x\":1,\"n\":1},\"fetches\":[\"v_exit\"]}", 200, NULL);
    cluster_late_step(cluster,
        "{\"feeds\":{\"x\":1,\"n\":2000000000},\"fetches\":[\"v_exit\"],\"options\":{\"timeout_ms\":1000}}",
        &response);
    cluster_expect(&response, 504, "loop 'loop' in iteration ");
    AWAIT(cluster_worker_running(cluster, 0) == 0);
    AWAIT(cluster_worker_running(cluster, 1) == 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(a_loop_over_several_workers_gives_the_bits_of_one),
        CLUSTER_TEST(nested_loops_over_several_workers_give_the_bits_of_one),
        CLUSTER_TEST(branches_in_loops_over_several_workers_give_the_bits_of_one),
        CLUSTER_TEST(an_untaken_loop_over_several_workers_is_dead_on_all_of_them),
        CLUSTER_TEST(a_fetch_inside_a_loop_is_refused),
        CLUSTER_TEST(a_target_inside_a_loop_runs_the_loop),
        CLUSTER_TEST(the_error_of_a_late_step_names_loop_and_iteration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
