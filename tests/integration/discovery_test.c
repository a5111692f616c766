/* Tests of how a gateway learns of workers, by address and by name, and what becomes of those that come and
 * go. */
#include <signal.h>

#include "tests/support/await.h"
#include "tests/support/cluster.h"

/* Returns whether the gateway's list of workers holds the text. */
static bool
is_shown(Cluster *cluster, const char *text)
{
    AUTO_REST response;
    cluster_send(cluster, "GET", "/api/v1/workers", NULL, &response);
    return strstr(rest_text(&response), text) != NULL;
}

static void
a_name_stands_for_all_its_addresses(void **state)
{
    Cluster *cluster = *state;
    char workers[128];
    const char *port = strrchr(cluster->workers[0].address, ':');
    const char *const arguments[] = {"--listen", "127.0.0.1:0", "--auth", "off", "--database",
        cluster->conninfo, "--workers", workers, NULL};
    (void)snprintf(workers, sizeof workers, "dns:localhost%s", port);
    (void)process_stop(&cluster->gateway, SIGTERM);
    assert_true(process_start(&cluster->gateway, "sluice-gateway", arguments));
    AWAIT(is_shown(cluster, "\"name\":\"w0\""));
    AWAIT(is_shown(cluster, "\"state\":\"serving\""));
}

static void
a_worker_that_dies_is_lost_and_keeps_its_task_when_it_comes_back(void **state)
{
    Cluster *cluster = *state;
    (void)process_stop(&cluster->workers[1], SIGKILL);
    AWAIT(is_shown(cluster, "\"state\":\"lost\""));
    assert_true(cluster_restart_worker(cluster, 1));
    AUTO_REST response = {0};
    cluster_send(cluster, "GET", "/api/v1/workers", NULL, &response);
    const char *first = strstr(rest_text(&response), "\"name\":\"w0\",\"task\":");
    const char *second = strstr(rest_text(&response), "\"name\":\"w1\",\"task\":");
    assert_true(first != NULL && second != NULL);
    assert_int_not_equal(
        first[strlen("\"name\":\"w0\",\"task\":")], second[strlen("\"name\":\"w1\",\"task\":")]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(a_name_stands_for_all_its_addresses),
        CLUSTER_TEST(a_worker_that_dies_is_lost_and_keeps_its_task_when_it_comes_back),
    };
    return cmocka_run_group_tests_name("discovery", tests, NULL, NULL);
}
