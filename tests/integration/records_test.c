/* Every step leaves one record, however it ended. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "shared/base/atomic.h"
#include "tests/support/await.h"
#include "tests/support/cluster.h"
#include "tests/support/step_graphs.h"

enum { PATH_SIZE = 256, ANSWER_SIZE = 32 };

static void
prepare(Cluster *cluster)
{
    cluster_session(cluster, "{}");
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
}

static bool
start(Cluster *cluster, const char *const *gateway_arguments)
{
    return cluster_start(cluster, &(ClusterOptions){.gateway_arguments = gateway_arguments});
}

static const char count_all[] = "select count(*) from sluice.step_records";

static void
records_equal_the_steps(void **state)
{
    enum { STEPS = 50 };
    Cluster *cluster = *state;
    char wanted[ANSWER_SIZE];
    prepare(cluster);
    for (int index = 0; index < STEPS; index++) {
        AUTO_REST good = {0};
        AUTO_REST bad = {0};
        cluster_step(cluster, STEP_BODY_AFFINE, &good);
        cluster_step(cluster, "{\"feeds\":{\"x\":[[1,2,3]]},\"fetches\":[\"y\"]}", &bad);
        cluster_expect(&good, 200, NULL);
        cluster_expect(&bad, 400, NULL);
    }
    (void)snprintf(wanted, sizeof wanted, "%d", STEPS * 2);
    AWAIT(database_says(cluster->database, count_all, wanted));
    (void)snprintf(wanted, sizeof wanted, "%d", STEPS);
    assert_true(database_says(
        cluster->database, "select count(*) from sluice.step_history where state = 'succeeded'", wanted));
    assert_true(database_says(cluster->database,
        "select count(*) from sluice.step_history where state = 'failed' and error_node = 'xw' and "
        "error_code = 'INVALID_ARGUMENT'",
        wanted));
    assert_true(database_says(
        cluster->database, "select request->'fetches'->>0 from sluice.step_history limit 1", "y"));
}

static void
what_was_not_written_yet_is_written_when_the_gateway_stops(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST response = {0};
    prepare(cluster);
    cluster_step(cluster, STEP_BODY_AFFINE, &response);
    cluster_expect(&response, 200, NULL);
    assert_int_equal(process_stop(&cluster->gateway, SIGTERM), 0);
    assert_string_equal(database_ask(cluster->database, count_all), "1");
}

static void
a_step_is_found_at_once_by_the_location_of_its_answer(void **state)
{
    Cluster *cluster = *state;
    prepare(cluster);
    for (int index = 0; index < 10; index++) {
        char path[PATH_SIZE];
        AUTO_REST response = {0};
        AUTO_REST step = {0};
        cluster_step(cluster, STEP_BODY_AFFINE, &response);
        cluster_expect(&response, 200, NULL);
        (void)snprintf(path, sizeof path, "%s", rest_header(&response, "Location"));
        cluster_send(cluster, "GET", path, NULL, &step);
        cluster_expect(&step, 200, "\"state\":\"succeeded\",\"async\":false");
        assert_non_null(strstr(rest_text(&step), "\"partitions\":[{"));
    }
}

static void
a_durable_step_is_in_the_database_before_it_runs(void **state)
{
    static const char body[] =
        "{\"feeds\":{\"x\":[[1,2]]},\"fetches\":[\"y\"],\"options\":{\"record\":\"durable\"}}";
    Cluster *cluster = *state;
    AUTO_REST response = {0};
    prepare(cluster);
    cluster_step(cluster, body, &response);
    cluster_expect(&response, 200, "[17,30]");
    /* The record is committed before the reply, and not by the thread that writes records. */
    assert_string_equal(database_ask(cluster->database, "select state || ' ' || is_async from sluice.steps"),
        "succeeded false");
    assert_string_equal(database_ask(cluster->database, count_all), "1");
}

typedef struct Client {
    Cluster *cluster;
    const char *body;
    pthread_t thread;
    int status;
} Client;

static void *
run_client(void *context)
{
    Client *client = context;
    AUTO_REST response = {0};
    cluster_step(client->cluster, client->body, &response);
    atomic_store_release(&client->status, response.status);
    return NULL;
}

static void
client_start(Client *client, Cluster *cluster, const char *body)
{
    *client = (Client){.cluster = cluster, .body = body};
    assert_int_equal(pthread_create(&client->thread, NULL, run_client, client), 0);
}

static int
client_end(Client *client)
{
    (void)pthread_join(client->thread, NULL);
    return client->status;
}

static int
count_answered(const Client *clients, int count)
{
    int answered = 0;
    for (int index = 0; index < count; index++) {
        answered += atomic_load_acquire(&clients[index].status) != 0;
    }
    return answered;
}

static void
replies_wait_while_the_ring_is_full_and_nothing_is_lost(void **state)
{
    enum { CLIENTS = 8 };
    static const char *const arguments[] = {"--record-buffer", "2", NULL};
    Cluster cluster;
    Client clients[CLIENTS];
    char wanted[ANSWER_SIZE];
    int steps = 0;
    (void)state;
    assert_true(start(&cluster, arguments));
    prepare(&cluster);
    PQclear(PQexec(cluster.database->admin, "begin; lock table sluice.step_history"));
    for (int index = 0; index < CLIENTS; index++) {
        client_start(&clients[index], &cluster, STEP_BODY_AFFINE);
    }
    AWAIT(count_answered(clients, CLIENTS) > 0);
    pause_ms(300); /* time for others to be answered, if the ring let them */
    assert_in_range(count_answered(clients, CLIENTS), 1, CLIENTS - 1);
    PQclear(PQexec(cluster.database->admin, "commit"));
    for (int index = 0; index < CLIENTS; index++) {
        assert_int_equal(client_end(&clients[index]), 200);
        steps++;
    }
    (void)snprintf(wanted, sizeof wanted, "%d", steps);
    AWAIT(database_says(cluster.database, count_all, wanted));
    cluster_stop(&cluster);
}

static void
a_running_synchronous_step_is_durable_seen_and_cancelled(void **state)
{
    static const char body[] =
        "{\"feeds\":{\"x\":[[1,2]]},\"fetches\":[\"y\"],\"options\":{\"record\":\"durable\"}}";
    Cluster *cluster = *state;
    Client client;
    char path[PATH_SIZE];
    char cancel[PATH_SIZE + 16];
    AUTO_REST list = {0};
    AUTO_REST seen = {0};
    AUTO_REST cancelled = {0};
    char id[64];
    prepare(cluster);
    cluster_signal_workers(cluster, SIGSTOP);
    client_start(&client, cluster, body);
    AWAIT(database_says(cluster->database, "select count(*) from sluice.steps where state = 'running'", "1"));
    cluster_send(cluster, "GET", "/api/v1/steps?state=running", NULL, &list);
    assert_true(rest_member(&list, "id", id, sizeof id));
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/steps/%s", cluster->session, id);
    cluster_send(cluster, "GET", path, NULL, &seen);
    cluster_expect(&seen, 200, "\"state\":\"running\"");
    (void)snprintf(cancel, sizeof cancel, "%s:cancel", path);
    cluster_send(cluster, "POST", cancel, NULL, &cancelled);
    cluster_expect(&cancelled, 200, NULL);
    assert_int_equal(client_end(&client), 499);
    AWAIT(database_says(cluster->database, "select state from sluice.step_records", "cancelled"));
    cluster_signal_workers(cluster, SIGCONT);
}

static void
a_step_whose_client_hangs_up_has_a_record_too(void **state)
{
    Cluster *cluster = *state;
    char url[PATH_SIZE];
    AUTO_REST response = {0};
    prepare(cluster);
    cluster_signal_workers(cluster, SIGSTOP);
    (void)snprintf(
        url, sizeof url, "http://%s/api/v1/sessions/%s/steps", cluster->gateway.address, cluster->session);
    RestRequest request = {.method = "POST", .url = url, .body = SLICE(STEP_BODY_AFFINE), .timeout_ms = 5000};
    rest_send(&request, &response);
    cluster_expect(&response, 0, NULL);
    AWAIT(database_says(cluster->database, "select state from sluice.step_records", "cancelled"));
    cluster_signal_workers(cluster, SIGCONT);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(records_equal_the_steps),
        CLUSTER_TEST(what_was_not_written_yet_is_written_when_the_gateway_stops),
        CLUSTER_TEST(a_step_is_found_at_once_by_the_location_of_its_answer),
        CLUSTER_TEST(a_durable_step_is_in_the_database_before_it_runs),
        cmocka_unit_test(replies_wait_while_the_ring_is_full_and_nothing_is_lost),
        CLUSTER_TEST(a_running_synchronous_step_is_durable_seen_and_cancelled),
        CLUSTER_TEST(a_step_whose_client_hangs_up_has_a_record_too),
    };
    return cmocka_run_group_tests_name("records", tests, NULL, NULL);
}
