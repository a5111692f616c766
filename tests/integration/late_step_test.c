/* Steps that miss their deadline: the error says, for every worker, what was running and what waited for
 * what. */
#include <signal.h>

#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/loop_graphs.h"

static void
assert_holds(RestResponse *response, const char *text)
{
    if (strstr(rest_text(response), text) == NULL) {
        fail_msg("'%s' is not in: %s", text, rest_text(response));
    }
}

/* One worker turns a loop without end, the other one waits for its result. */
static void
assert_loop_is_named(Cluster *cluster, const char *options)
{
    char body[256];
    AUTO_REST response = {0};
    cluster_session(cluster, "{}");
    cluster_graph_literal(cluster,
        LOOP_CHAOTIC("@/job:worker/task:0") "slow = Identity(v_exit) T=float32 @/job:worker/task:0\n"
                                            "y = Neg(slow) T=float32 @/job:worker/task:1\n");
    /* The signature is planned and compiled before the deadline counts. */
    cluster_expect_step(cluster, "{\"feeds\":{\"x\":1,\"n\":1},\"fetches\":[\"y\"]}", 200, NULL);
    (void)snprintf(body, sizeof body,
        "{\"feeds\":{\"x\":1,\"n\":2000000000},\"fetches\":[\"y\"],\"options\":{\"timeout_ms\":1000%s}}",
        options);
    cluster_late_step(cluster, body, &response);
    cluster_expect(&response, 504, "the step did not end before its deadline; slot ");
    assert_holds(&response, "loop 'loop' in iteration ");
    assert_holds(&response, "waiting: '");
    assert_holds(&response, "\"pointer\":\"/slots/0\"");
    assert_holds(&response, "\"pointer\":\"/slots/0\",\"detail\":\"running: loop ");
    assert_holds(&response, "\"pointer\":\"/slots/1\",\"detail\":\"waiting: '");
}

static void
the_error_names_the_loop_and_who_waits_for_it(void **state)
{
    assert_loop_is_named(*state, "");
}

/* The answer waits for the step's record, longer than the run itself lives. */
static void
so_does_that_of_a_step_whose_record_comes_first(void **state)
{
    assert_loop_is_named(*state, ",\"record\":\"durable\"");
}

/* Runs a step whose kernel outlasts its deadline on one worker, while the other one waits for the result.
 * The cluster is its own: a kernel cannot be interrupted, and ends with its process. 2^36 multiplications
 * take more than a second on the fastest machine; filling 16 million numbers takes much less on a slow
 * one. */
static void
run_huge(RestResponse *ret_response)
{
    Cluster cluster;
    assert_true(cluster_start(&cluster, &(ClusterOptions){0}));
    cluster_session(&cluster, "{}");
    cluster_graph_literal(&cluster, "size = Const() dtype=int32 value=int32<2>(4096)\n"
                                    "one = Placeholder() dtype=int32\n"
                                    "ones = Fill(size, one) T=int32 index_type=int32 @/job:worker/task:0\n"
                                    "huge = MatMul(ones, ones) T=int32 @/job:worker/task:0\n"
                                    "y = Neg(huge) T=int32 @/job:worker/task:1\n");
    cluster_step(&cluster, "{\"feeds\":{\"one\":1},\"fetches\":[\"y\"],\"options\":{\"timeout_ms\":1000}}",
        ret_response);
    for (int index = 0; index < cluster.options.worker_count; index++) {
        (void)process_stop(&cluster.workers[index], SIGKILL);
    }
    cluster_stop(&cluster);
}

/* The worker answers while its kernel still computes. */
static void
the_error_names_the_kernel_that_does_not_come_back(void **state)
{
    (void)state;
    AUTO_REST response = {0};
    for (int tries = 0; tries == 0 || (tries < LATE_TRIES_MAX && cluster_is_silent(&response)); tries++) {
        rest_response_done(&response);
        run_huge(&response);
    }
    cluster_expect(&response, 504, "computing: 'huge' ");
    assert_holds(&response, " ms");
    assert_holds(&response, "waiting: '");
    assert_holds(&response, "edge_0_huge;0:0'");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(the_error_names_the_loop_and_who_waits_for_it),
        CLUSTER_TEST(so_does_that_of_a_step_whose_record_comes_first),
        cmocka_unit_test(the_error_names_the_kernel_that_does_not_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
