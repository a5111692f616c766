/* Tests of how steps are admitted to the slots of the pool's workers. */
#include <signal.h>

#include "tests/support/await.h"
#include "tests/support/cluster.h"

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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_belong_to_the_pool_and_not_to_each_gateway),
    };
    return cmocka_run_group_tests_name("admission", tests, NULL, NULL);
}
