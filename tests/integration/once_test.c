/* Queued steps that change a session's variables, while their gateways are killed: each has exactly one
 * outcome as long as its worker lives, and says so when the worker is lost. */
#include <signal.h>
#include <stdio.h>

#include "tests/support/await.h"
#include "tests/support/cluster.h"
#include "tests/support/graph_json.h"

enum { KILLS = 3, STEPS_A_KILL = 12, PATH_SIZE = 256 };

static const char counter[] = "{\"node\":[" NODE("count", "VariableV2", "",
    "\"dtype\":{\"type\":\"DT_FLOAT\"},\"shape\":{\"shape\":{}}") "," SCALAR("zero", "0") "," SCALAR("one",
    "1") "," NODE("init", "Assign", "\"count\",\"zero\"", T_FLOAT) "," NODE("add", "AssignAdd",
    "\"count\",\"one\"", T_FLOAT) "," NODE("next", "Identity", "\"add\"", T_FLOAT) "," NODE("read",
    "Identity", "\"count\"", T_FLOAT) "]}";

static const char add_step[] = "{\"fetches\":[\"next\"]}";

static const char *const gateway_arguments[] = {"--queue-lease", "1s", NULL};

static void
begin_counting(Cluster *cluster)
{
    *cluster = (Cluster){0};
    assert_true(
        cluster_start(cluster, &(ClusterOptions){.worker_count = 1, .gateway_arguments = gateway_arguments}));
    cluster_session(cluster, "{}");
    cluster_graph(cluster, counter);
    cluster_expect_step(cluster, "{\"targets\":[\"init\"]}", 200, NULL);
}

static void
queue_add(Cluster *cluster)
{
    static const char *const later[] = {"Prefer: respond-async", NULL};
    char path[PATH_SIZE];
    AUTO_REST accepted = {0};
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/steps", cluster->session);
    cluster_send_with(cluster, "POST", path, later, add_step, &accepted);
    cluster_expect(&accepted, 202, NULL);
}

static bool
has_ended(Cluster *cluster)
{
    return database_says(cluster->database, "select count(*) from sluice.steps where ended_at is null", "0");
}

static bool
runs_something(Cluster *cluster)
{
    return database_says(
        cluster->database, "select count(*) > 0 from sluice.steps where is_async and state = 'running'", "t");
}

/* The worker is held up, so that steps of the gateway are on their way to it when it is killed. */
static void
steps_that_change_variables_are_run_once_though_their_gateways_are_killed(void **state)
{
    Cluster cluster;
    char wanted[16];
    (void)state;
    begin_counting(&cluster);
    for (int turn = 0; turn < KILLS; turn++) {
        for (int index = 0; index < STEPS_A_KILL; index++) {
            if (index == STEPS_A_KILL / 2) {
                cluster_signal_workers(&cluster, SIGSTOP);
            }
            queue_add(&cluster);
        }
        AWAIT(runs_something(&cluster));
        pause_ms(200); /* for the step to be sent */
        (void)process_stop(&cluster.gateway, SIGKILL);
        cluster_signal_workers(&cluster, SIGCONT);
        assert_true(cluster_restart_gateway(&cluster));
    }
    AWAIT(has_ended(&cluster));
    assert_string_equal(
        database_ask(cluster.database, "select count(*) > 0 from sluice.steps where attempts > 1"), "t");
    (void)snprintf(wanted, sizeof wanted, "%d", KILLS * STEPS_A_KILL);
    assert_string_equal(database_ask(cluster.database,
                            "select string_agg(distinct state || coalesce(error_message, ''), ' ') from "
                            "sluice.steps where is_async"),
        "succeeded");
    cluster_expect_step(&cluster, "{\"fetches\":[\"read\"]}", 200, wanted);
    assert_string_equal(
        database_ask(cluster.database, "select count(distinct sha256) from sluice.step_outputs"), wanted);
    cluster_stop(&cluster);
}

static void
a_step_whose_worker_was_lost_says_that_it_may_have_been_run(void **state)
{
    Cluster cluster;
    (void)state;
    begin_counting(&cluster);
    cluster_signal_workers(&cluster, SIGSTOP);
    queue_add(&cluster);
    AWAIT(runs_something(&cluster));
    pause_ms(200);
    (void)process_stop(&cluster.workers[0], SIGKILL);
    assert_true(cluster_restart_worker(&cluster, 0));
    AWAIT(has_ended(&cluster));
    const char *told = database_ask(
        cluster.database, "select state || ': ' || error_message from sluice.steps where is_async");
    assert_int_equal(strncmp(told, "failed: ", 8), 0);
    assert_non_null(strstr(told, "lost with"));
    cluster_stop(&cluster);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_that_change_variables_are_run_once_though_their_gateways_are_killed),
        cmocka_unit_test(a_step_whose_worker_was_lost_says_that_it_may_have_been_run),
    };
    return cmocka_run_group_tests_name("once", tests, NULL, NULL);
}
