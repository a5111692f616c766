/* Plans of many more slots than there are workers: each worker runs many slots of one step, which send to
 * each other inside of it and over the network. */
#include "shared/base/memory.h"
#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/large_graphs.h"

enum { NODES = 600 };

static int
set_up(void **state)
{
    static const char *const arguments[] = {"--limit", "session_slots=256", NULL};
    Cluster *cluster = memory_new(1, sizeof *cluster);
    *state = cluster;
    bool is_up = cluster != NULL && cluster_start(cluster, &(ClusterOptions){.gateway_arguments = arguments});
    return is_up ? 0 : -1;
}

/* Runs the graph twice in a session with these options and returns both times the same outputs. */
static void
run_graph(Cluster *cluster, const char *options, RestResponse *ret_response)
{
    static const char step[] = "{\"feeds\":{\"x\":0.3},\"fetches\":[\"y\"]}";
    AUTO_REST again = {0};
    AUTO_BUFFER json = {0};
    large_graph_layers(&json, NODES);
    cluster_session(cluster, options);
    cluster_graph(cluster, buffer_string(&json));
    cluster_step(cluster, step, ret_response);
    cluster_expect(ret_response, 200, "\"y\":{\"dtype\":\"float32\"");
    cluster_step(cluster, step, &again);
    cluster_expect(&again, 200, strstr(rest_text(ret_response), "\"outputs\""));
}

static void
a_step_of_256_slots_gives_the_bits_of_one(void **state)
{
    static const unsigned counts[] = {2, 64, 256};
    AUTO_REST whole = {0};
    run_graph(*state, "{}", &whole);
    for (size_t index = 0; index < COUNT_OF(counts); index++) {
        AUTO_REST cut = {0};
        char options[64];
        char last[64];
        (void)snprintf(options, sizeof options, "{\"slots\":%u,\"placement\":\"spread\"}", counts[index]);
        (void)snprintf(last, sizeof last, "\"slot\":%u,\"task\":", counts[index] - 1);
        run_graph(*state, options, &cut);
        cluster_expect(&cut, 200, last);
        cluster_expect(&cut, 200, strstr(rest_text(&whole), "\"outputs\""));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_step_of_256_slots_gives_the_bits_of_one, set_up, cluster_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
