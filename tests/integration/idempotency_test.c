/* Idempotency-Key: a request that is sent again gets the first answer, whatever it creates. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "tests/support/await.h"
#include "tests/support/cluster.h"
#include "tests/support/step_graphs.h"

enum { PATH_SIZE = 256 };

static const char *const keyed[] = {"Idempotency-Key: \"one\"", NULL};
static const char *const keyed_later[] = {"Idempotency-Key: one", "Prefer: respond-async", NULL};

static void
prepare(Cluster *cluster, char steps[PATH_SIZE])
{
    cluster_session(cluster, "{}");
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    (void)snprintf(steps, PATH_SIZE, "/api/v1/sessions/%s/steps", cluster->session);
}

/* Sends the same request twice and fails unless the second answer repeats the first. */
static void
assert_replayed(Cluster *cluster, const char *path, const char *const *headers, const char *body, int status)
{
    char location[PATH_SIZE];
    AUTO_REST first = {0};
    AUTO_REST second = {0};
    cluster_send_with(cluster, "POST", path, headers, body, &first);
    cluster_expect(&first, status, NULL);
    assert_string_equal(rest_header(&first, "Idempotent-Replayed"), "");
    (void)snprintf(location, sizeof location, "%s", rest_header(&first, "Location"));
    cluster_send_with(cluster, "POST", path, headers, body, &second);
    cluster_expect(&second, status, NULL);
    assert_string_equal(rest_header(&second, "Idempotent-Replayed"), "true");
    assert_string_equal(rest_header(&second, "Location"), location);
    assert_string_equal(rest_text(&second), rest_text(&first));
}

static void
a_step_sent_again_is_answered_again_and_runs_once(void **state)
{
    Cluster *cluster = *state;
    char steps[PATH_SIZE];
    prepare(cluster, steps);
    assert_replayed(cluster, steps, keyed, STEP_BODY_AFFINE, 200);
    assert_string_equal(database_ask(cluster->database, "select count(*) from sluice.step_records"), "1");
    assert_string_equal(database_ask(cluster->database, "select state from sluice.steps"), "succeeded");
}

static void
a_queued_step_sent_again_is_queued_once(void **state)
{
    Cluster *cluster = *state;
    char steps[PATH_SIZE];
    prepare(cluster, steps);
    assert_replayed(cluster, steps, keyed_later, STEP_BODY_AFFINE, 202);
    assert_string_equal(database_ask(cluster->database, "select count(*) from sluice.step_records"), "1");
}

static void
a_session_and_a_graph_sent_again_are_made_once(void **state)
{
    static const char *const other[] = {"Idempotency-Key: two", NULL};
    Cluster *cluster = *state;
    char graphs[PATH_SIZE];
    assert_replayed(cluster, "/api/v1/sessions", keyed, "{\"name\":\"a\"}", 201);
    assert_string_equal(database_ask(cluster->database, "select count(*) from sluice.sessions"), "1");
    cluster_session(cluster, "{}");
    (void)snprintf(graphs, sizeof graphs, "/api/v1/sessions/%s/graphs", cluster->session);
    assert_replayed(cluster, graphs, other, STEP_GRAPH_AFFINE, 201);
}

static void
a_key_that_comes_with_another_request_is_refused(void **state)
{
    Cluster *cluster = *state;
    char steps[PATH_SIZE];
    AUTO_REST first = {0};
    AUTO_REST second = {0};
    AUTO_REST elsewhere = {0};
    prepare(cluster, steps);
    cluster_send_with(cluster, "POST", steps, keyed, STEP_BODY_AFFINE, &first);
    cluster_send_with(
        cluster, "POST", steps, keyed, "{\"feeds\":{\"x\":[[3,4]]},\"fetches\":[\"y\"]}", &second);
    cluster_send_with(cluster, "POST", "/api/v1/sessions", keyed, "{}", &elsewhere);
    cluster_expect(&first, 200, NULL);
    cluster_expect(&second, 422, NULL);
    cluster_expect(&elsewhere, 422, NULL);
    assert_non_null(strstr(rest_text(&second), "'one'"));
}

static void
a_request_that_failed_gives_its_key_back(void **state)
{
    Cluster *cluster = *state;
    char steps[PATH_SIZE];
    AUTO_REST unprepared = {0};
    AUTO_REST failed = {0};
    AUTO_REST good = {0};
    prepare(cluster, steps);
    cluster_send_with(
        cluster, "POST", steps, keyed, "{\"feeds\":{\"x\":[[1,2]]},\"fetches\":[\"nope\"]}", &unprepared);
    cluster_send_with(
        cluster, "POST", steps, keyed, "{\"feeds\":{\"x\":[[1,2,3]]},\"fetches\":[\"y\"]}", &failed);
    cluster_send_with(cluster, "POST", steps, keyed, STEP_BODY_AFFINE, &good);
    cluster_expect(&unprepared, 404, NULL);
    cluster_expect(&failed, 400, "node 'xw'");
    cluster_expect(&good, 200, NULL);
}

typedef struct Client {
    Cluster *cluster;
    const char *path;
    const char *body;
    int status;
} Client;

static void *
run_client(void *context)
{
    Client *client = context;
    AUTO_REST response = {0};
    cluster_send_with(client->cluster, "POST", client->path, keyed, client->body, &response);
    client->status = response.status;
    return NULL;
}

static void
a_request_sent_again_while_the_first_runs_is_a_conflict(void **state)
{
    Cluster *cluster = *state;
    pthread_t thread;
    char steps[PATH_SIZE];
    AUTO_REST again = {0};
    prepare(cluster, steps);
    Client client = {.cluster = cluster, .path = steps, .body = STEP_BODY_AFFINE};
    cluster_signal_workers(cluster, SIGSTOP);
    assert_int_equal(pthread_create(&thread, NULL, run_client, &client), 0);
    AWAIT(database_says(cluster->database, "select count(*) from sluice.steps", "1"));
    cluster_send_with(cluster, "POST", steps, keyed, STEP_BODY_AFFINE, &again);
    cluster_signal_workers(cluster, SIGCONT);
    (void)pthread_join(thread, NULL);
    cluster_expect(&again, 409, NULL);
    assert_string_equal(rest_header(&again, "Retry-After"), "1");
    assert_int_equal(client.status, 200);
}

/* Returns the status of the request, sent to another gateway. */
static int
send_again(const Process *gateway, const char *path, const char *body)
{
    AUTO_REST response = {0};
    char url[2 * PATH_SIZE];
    (void)snprintf(url, sizeof url, "http://%s%s", gateway->address, path);
    rest_send(&(RestRequest){.method = "POST", .url = url, .headers = keyed, .body = slice_from_string(body)},
        &response);
    return response.status;
}

/* The step may run for ten minutes, for which a key whose gateway lives is held, too. */
static void
a_key_of_a_gateway_that_was_killed_makes_one_step_through_another(void **state)
{
    static const char body[] =
        "{\"feeds\":{\"x\":[[1,2]]},\"fetches\":[\"y\"],\"options\":{\"timeout_ms\":600000}}";
    Cluster *cluster = *state;
    pthread_t thread;
    char steps[PATH_SIZE];
    Process second = {0};
    prepare(cluster, steps);
    assert_true(cluster_add_gateway(cluster, &second));
    AWAIT(database_says(cluster->database, "select count(*) from sluice.pool_gateways", "2"));
    Client client = {.cluster = cluster, .path = steps, .body = body};
    cluster_signal_workers(cluster, SIGSTOP);
    assert_int_equal(pthread_create(&thread, NULL, run_client, &client), 0);
    AWAIT(database_says(cluster->database, "select count(*) from sluice.steps", "1"));
    assert_int_equal(send_again(&second, steps, body), 409);
    (void)process_stop(&cluster->gateway, SIGKILL);
    (void)pthread_join(thread, NULL);
    cluster_signal_workers(cluster, SIGCONT);
    AWAIT(send_again(&second, steps, body) == 200);
    assert_int_equal(client.status, 0);
    assert_string_equal(
        database_ask(cluster->database, "select count(*) from sluice.steps where state = 'succeeded'"), "1");
    (void)process_stop(&second, SIGTERM);
}

/* A gateway that was held up finds that its key is another one's, and writes no second end. */
static void
a_gateway_that_was_held_up_keeps_no_answer_to_a_key_that_was_taken_over(void **state)
{
    static const char body[] =
        "{\"feeds\":{\"x\":[[1,2]]},\"fetches\":[\"y\"],\"options\":{\"timeout_ms\":600000}}";
    Cluster *cluster = *state;
    pthread_t thread;
    char steps[PATH_SIZE];
    Process second = {0};
    prepare(cluster, steps);
    assert_true(cluster_add_gateway(cluster, &second));
    AWAIT(database_says(cluster->database, "select count(*) from sluice.pool_gateways", "2"));
    Client client = {.cluster = cluster, .path = steps, .body = body};
    cluster_signal_workers(cluster, SIGSTOP);
    assert_int_equal(pthread_create(&thread, NULL, run_client, &client), 0);
    AWAIT(database_says(cluster->database, "select count(*) from sluice.steps", "1"));
    (void)kill(cluster->gateway.pid, SIGSTOP);
    cluster_signal_workers(cluster, SIGCONT);
    AWAIT(send_again(&second, steps, body) == 200);
    (void)kill(cluster->gateway.pid, SIGCONT);
    (void)pthread_join(thread, NULL);
    assert_int_equal(client.status, 409);
    assert_int_equal(send_again(&second, steps, body), 200);
    assert_string_equal(
        database_ask(cluster->database, "select count(*) from sluice.steps where state = 'succeeded'"), "1");
    (void)process_stop(&second, SIGTERM);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(a_step_sent_again_is_answered_again_and_runs_once),
        CLUSTER_TEST(a_queued_step_sent_again_is_queued_once),
        CLUSTER_TEST(a_session_and_a_graph_sent_again_are_made_once),
        CLUSTER_TEST(a_key_that_comes_with_another_request_is_refused),
        CLUSTER_TEST(a_request_that_failed_gives_its_key_back),
        CLUSTER_TEST(a_request_sent_again_while_the_first_runs_is_a_conflict),
        CLUSTER_TEST(a_key_of_a_gateway_that_was_killed_makes_one_step_through_another),
        CLUSTER_TEST(a_gateway_that_was_held_up_keeps_no_answer_to_a_key_that_was_taken_over),
    };
    return cmocka_run_group_tests_name("idempotency", tests, NULL, NULL);
}
