/* Tests of how steps are admitted to the slots of the pool's workers. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/support/await.h"
#include "tests/support/cluster.h"
#include "tests/support/raw_http.h"

enum { RUNNING_MAX = 3, STEPS_EACH = 6, LOOKS = 100 };

static const char *const three_slots[] = {"--slots", "3", NULL};

/* Returns the slots that both gateways may use; they hear of a change at their next rounds. */
static double
slots_of_both(Cluster *first, Cluster *second)
{
    return cluster_metric(first, "sluice_admission_slots") + cluster_metric(second, "sluice_admission_slots");
}

static void
slots_belong_to_the_pool_and_not_to_each_gateway(void **state)
{
    Cluster cluster;
    (void)state;
    assert_true(
        cluster_start(&cluster, &(ClusterOptions){.worker_count = 2, .worker_arguments = three_slots}));
    AWAIT(cluster_metric(&cluster, "sluice_admission_slots") == 6);
    Cluster second = cluster;
    assert_true(cluster_add_gateway(&cluster, &second.gateway));
    AWAIT(cluster_metric(&second, "sluice_admission_slots") == 3);
    AWAIT(slots_of_both(&cluster, &second) == 6);
    (void)process_stop(&second.gateway, SIGKILL);
    AWAIT(cluster_metric(&cluster, "sluice_admission_slots") == 6);
    cluster_stop(&cluster);
}

/* Waits in a queue that nothing ever comes into. */
static const char endless[] = "queue = FIFOQueueV2() component_types=[float32]\n"
                              "y = QueueDequeueV2(queue) component_types=[float32]\n";

/* Sends a step without end, whose reply nobody reads; returns the connection. */
static int
begin_endless(const Cluster *cluster, const char *prefer)
{
    static const char body[] = "{\"fetches\":[\"y\"],\"options\":{\"timeout_ms\":60000}}";
    char request[1024];
    int fd = raw_open(cluster->gateway.address);
    (void)snprintf(request, sizeof request,
        "POST /api/v1/sessions/%s/steps HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Prefer: %s\r\nContent-Length: %zu\r\n\r\n%s",
        cluster->session, prefer, sizeof body - 1, body);
    raw_send_text(fd, request);
    return fd;
}

/* The workers have slots for all of the steps: two gateways and the queue share one quota. */
static void
a_tenant_runs_no_more_steps_than_its_quota_however_they_come(void **state)
{
    static const char *const slots[] = {"--slots", "64", NULL};
    Cluster cluster;
    int open[STEPS_EACH][3];
    (void)state;
    assert_true(cluster_start(&cluster, &(ClusterOptions){.worker_count = 1, .worker_arguments = slots}));
    Cluster second = cluster;
    assert_true(cluster_add_gateway(&cluster, &second.gateway));
    cluster_session(&cluster, "{}");
    cluster_graph_literal(&cluster, endless);
    (void)snprintf(second.session, sizeof second.session, "%s", cluster.session);
    (void)database_ask(cluster.database, "update sluice.quotas set running_steps_max = 3");
    for (int index = 0; index < STEPS_EACH; index++) {
        open[index][0] = begin_endless(&cluster, "return=representation");
        open[index][1] = begin_endless(&second, "return=representation");
        open[index][2] = begin_endless(&cluster, "respond-async");
    }
    AWAIT(cluster_worker_running(&cluster, 0) == RUNNING_MAX);
    for (int look = 0; look < LOOKS; look++) {
        assert_true(cluster_worker_running(&cluster, 0) <= RUNNING_MAX);
        pause_ms(10);
    }
    for (int index = 0; index < STEPS_EACH; index++) {
        for (int kind = 0; kind < 3; kind++) {
            (void)close(open[index][kind]);
        }
    }
    (void)process_stop(&second.gateway, SIGKILL);
    cluster_stop(&cluster);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_belong_to_the_pool_and_not_to_each_gateway),
        cmocka_unit_test(a_tenant_runs_no_more_steps_than_its_quota_however_they_come),
    };
    return cmocka_run_group_tests_name("admission", tests, NULL, NULL);
}
