/* Tests of how a gateway learns of workers, by address and by name, and what becomes of those that come and
 * go. */
#include <signal.h>

#include "tests/support/await.h"
#include "tests/support/cluster.h"

/* Returns how often the gateway's list of workers holds the text. */
static int
count_shown(Cluster *cluster, const char *text)
{
    AUTO_REST response;
    int count = 0;
    cluster_send(cluster, "GET", "/api/v1/workers", NULL, &response);
    for (const char *found = strstr(rest_text(&response), text); found != NULL;
         found = strstr(found + 1, text)) {
        count++;
    }
    return count;
}

static bool
is_shown(Cluster *cluster, const char *text)
{
    return count_shown(cluster, text) > 0;
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

static void
of_two_workers_with_one_name_the_second_is_refused_until_the_first_is_gone(void **state)
{
    Cluster *cluster = *state;
    Process namesake = {0};
    char workers[256];
    char address[128];
    const char *const worker_arguments[] = {"--listen", "127.0.0.1:0", "--name", "w0", NULL};
    const char *const arguments[] = {"--listen", "127.0.0.1:0", "--auth", "off", "--database",
        cluster->conninfo, "--workers", workers, NULL};
    assert_true(process_start(&namesake, "sluice-worker", worker_arguments));
    (void)snprintf(workers, sizeof workers, "%s,%s", cluster->workers[0].address, namesake.address);
    (void)process_stop(&cluster->gateway, SIGTERM);
    (void)kill(namesake.pid, SIGSTOP); /* it answers second */
    assert_true(process_start(&cluster->gateway, "sluice-gateway", arguments));
    AWAIT(is_shown(cluster, "\"name\":\"w0\""));
    (void)kill(namesake.pid, SIGCONT);
    (void)snprintf(address, sizeof address, "\"address\":\"%s\"", namesake.address);
    pause_ms(3000); /* for a few polls */
    assert_int_equal(count_shown(cluster, "\"name\":\"w0\""), 1);
    assert_int_equal(count_shown(cluster, address), 0);
    (void)process_stop(&cluster->workers[0], SIGKILL);
    AWAIT(count_shown(cluster, address) == 1 && is_shown(cluster, "\"state\":\"serving\""));
    (void)process_stop(&namesake, SIGTERM);
}

enum { PLACE_SIZE = 64 };

/* Copies name and task of w0 as they are shown, with what ends the number. */
static void
copy_place(Cluster *cluster, char ret_place[PLACE_SIZE])
{
    static const char name[] = "\"name\":\"w0\",\"task\":";
    AUTO_REST response = {0};
    cluster_send(cluster, "GET", "/api/v1/workers", NULL, &response);
    const char *place = strstr(rest_text(&response), name);
    assert_non_null(place);
    size_t size = sizeof name - 1 + strcspn(place + sizeof name - 1, ",") + 1;
    (void)snprintf(ret_place, PLACE_SIZE, "%.*s", (int)size, place);
}

/* As a StatefulSet does on a host that is gone: the life before does not answer, nor refuse. The address of
 * the new one sorts behind that of the old one. */
static void
a_worker_that_comes_back_at_another_address_is_the_one_of_its_name(void **state)
{
    Cluster *cluster = *state;
    Process again = {0};
    char workers[256];
    char address[128];
    char place[PLACE_SIZE];
    const char *const worker_arguments[] = {"--listen", "127.0.0.2:0", "--name", "w0", NULL};
    const char *const arguments[] = {"--listen", "127.0.0.1:0", "--auth", "off", "--database",
        cluster->conninfo, "--workers", workers, NULL};
    assert_true(process_start(&again, "sluice-worker", worker_arguments));
    (void)kill(again.pid, SIGSTOP);
    (void)snprintf(workers, sizeof workers, "%s,%s", cluster->workers[0].address, again.address);
    (void)process_stop(&cluster->gateway, SIGTERM);
    assert_true(process_start(&cluster->gateway, "sluice-gateway", arguments));
    AWAIT(is_shown(cluster, "\"name\":\"w0\"") && !is_shown(cluster, "\"task\":-1"));
    copy_place(cluster, place);
    (void)kill(cluster->workers[0].pid, SIGSTOP);
    (void)kill(again.pid, SIGCONT);
    (void)snprintf(address, sizeof address, "\"address\":\"%s\"", again.address);
    AWAIT(is_shown(cluster, address) && is_shown(cluster, "\"state\":\"serving\""));
    assert_int_equal(count_shown(cluster, "\"name\":\"w0\""), 1);
    AUTO_REST found = {0};
    cluster_send(cluster, "GET", "/api/v1/workers/w0", NULL, &found);
    assert_non_null(strstr(rest_text(&found), address));
    AWAIT(is_shown(cluster, place));
    (void)kill(cluster->workers[0].pid, SIGCONT);
    pause_ms(3000); /* for a few polls: the old one is refused now */
    assert_int_equal(count_shown(cluster, "\"name\":\"w0\""), 1);
    assert_int_equal(count_shown(cluster, address), 1);
    (void)process_stop(&again, SIGTERM);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(a_name_stands_for_all_its_addresses),
        CLUSTER_TEST(a_worker_that_dies_is_lost_and_keeps_its_task_when_it_comes_back),
        CLUSTER_TEST(of_two_workers_with_one_name_the_second_is_refused_until_the_first_is_gone),
        CLUSTER_TEST(a_worker_that_comes_back_at_another_address_is_the_one_of_its_name),
    };
    return cmocka_run_group_tests_name("discovery", tests, NULL, NULL);
}
