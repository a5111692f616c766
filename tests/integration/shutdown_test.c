/* The end of a gateway as its clients see it: it says that it will leave, serves on until proxies have
 * noticed, and answers everybody. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/await.h"
#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"

enum { PATH_SIZE = 256 };

static const char graph[] =
    "{\"node\":["
    "{\"name\":\"x\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"}}},"
    "{\"name\":\"y\",\"op\":\"Neg\",\"input\":[\"x\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}}]}";
static const char body[] = "{\"feeds\":{\"x\":1},\"fetches\":[\"y\"],\"options\":{\"timeout_ms\":60000}}";

static void
begin(Cluster *cluster, const char *const *arguments)
{
    assert_true(cluster_start(cluster, &(ClusterOptions){.gateway_arguments = arguments}));
    cluster_session(cluster, "{}");
    cluster_graph(cluster, graph);
}

static int
status_of(Cluster *cluster, const char *method, const char *path, const char *content)
{
    AUTO_REST response = {0};
    cluster_send(cluster, method, path, content, &response);
    return response.status;
}

static void
steps_path(const Cluster *cluster, char path[PATH_SIZE])
{
    (void)snprintf(path, PATH_SIZE, "/api/v1/sessions/%s/steps", cluster->session);
}

static void
a_gateway_that_will_leave_is_not_ready_and_serves_on(void **state)
{
    static const char *const arguments[] = {"--drain-delay", "10s", NULL};
    Cluster cluster;
    char path[PATH_SIZE];
    (void)state;
    begin(&cluster, arguments);
    steps_path(&cluster, path);
    assert_int_equal(status_of(&cluster, "GET", "/readyz", NULL), 200);
    assert_int_equal(kill(cluster.gateway.pid, SIGTERM), 0);
    AWAIT(status_of(&cluster, "GET", "/readyz", NULL) == 503);
    assert_int_equal(status_of(&cluster, "POST", path, body), 200);
    AWAIT(status_of(&cluster, "GET", "/livez", NULL) == 0); /* the listener is closed */
    cluster_stop(&cluster);
}

static void
an_interrupt_is_not_announced(void **state)
{
    static const char *const arguments[] = {"--drain-delay", "1h", NULL};
    Cluster cluster;
    (void)state;
    begin(&cluster, arguments);
    assert_int_equal(process_stop(&cluster.gateway, SIGINT), 0);
    cluster_stop(&cluster);
}

typedef struct Waiter {
    Cluster *cluster;
    RestResponse response;
} Waiter;

static void *
wait_for_step(void *argument)
{
    Waiter *waiter = argument;
    char path[PATH_SIZE];
    steps_path(waiter->cluster, path);
    cluster_send(waiter->cluster, "POST", path, body, &waiter->response);
    return NULL;
}

static void
a_step_that_outlasts_the_grace_is_answered(void **state)
{
    static const char *const arguments[] = {"--grace", "100ms", NULL};
    Cluster cluster;
    pthread_t thread;
    Waiter waiter = {.cluster = &cluster};
    (void)state;
    begin(&cluster, arguments);
    cluster_signal_workers(&cluster, SIGSTOP);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_step, &waiter), 0);
    AWAIT(cluster_metric(&cluster, "sluice_steps_running") >= 1);
    assert_int_equal(process_stop(&cluster.gateway, SIGTERM), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    cluster_expect(&waiter.response, 503, "the gateway is shutting down");
    rest_response_done(&waiter.response);
    cluster_signal_workers(&cluster, SIGCONT);
    cluster_stop(&cluster);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gateway_that_will_leave_is_not_ready_and_serves_on),
        cmocka_unit_test(an_interrupt_is_not_announced),
        cmocka_unit_test(a_step_that_outlasts_the_grace_is_answered),
    };
    return cmocka_run_group_tests_name("shutdown", tests, NULL, NULL);
}
