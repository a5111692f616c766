/* Two gateways on one database and the same workers: either can be asked about what the other one runs. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/replicas/replica_mail.h"
#include "tests/support/await.h"
#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/raw_http.h"

enum { PATH_SIZE = 256, TEXT_SIZE = 4096 };

/* Two halves that do not depend on each other, each on a worker of its own. */
static const char halves[] =
    "{\"node\":["
    "{\"name\":\"x\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"}},"
    "\"device\":\"/job:worker/task:0\"},"
    "{\"name\":\"near\",\"op\":\"Neg\",\"input\":[\"x\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}},"
    "\"device\":\"/job:worker/task:0\"},"
    "{\"name\":\"far\",\"op\":\"Neg\",\"input\":[\"x\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}},"
    "\"device\":\"/job:worker/task:1\"}]}";
static const char body[] =
    "{\"feeds\":{\"x\":1},\"fetches\":[\"near\",\"far\"],\"options\":{\"timeout_ms\":60000}}";
static const char traced_body[] =
    "{\"feeds\":{\"x\":1},\"fetches\":[\"near\",\"far\"],\"options\":{\"trace\":\"node\"}}";

typedef struct Replicas {
    Cluster cluster;
    Process second;
    char url[PATH_SIZE]; /* the second gateway's */
} Replicas;

static int
set_up(void **state)
{
    static Replicas replicas;
    replicas = (Replicas){0};
    Cluster *cluster = &replicas.cluster;
    *state = &replicas;
    if (!cluster_start(cluster, &(ClusterOptions){0}) || !cluster_add_gateway(cluster, &replicas.second)) {
        return -1;
    }
    (void)snprintf(replicas.url, sizeof replicas.url, "http://%s", replicas.second.address);
    return 0;
}

static int
tear_down(void **state)
{
    Replicas *replicas = *state;
    cluster_signal_workers(&replicas->cluster, SIGCONT);
    (void)process_stop(&replicas->second, SIGTERM);
    cluster_stop(&replicas->cluster);
    return 0;
}

/* Sends a request to the second gateway. */
static void
ask(const Replicas *replicas, const char *method, const char *path, const char *suffix,
    RestResponse *ret_response)
{
    char url[3 * PATH_SIZE];
    (void)snprintf(url, sizeof url, "%s%s%s", replicas->url, path, suffix);
    rest_send(&(RestRequest){.method = method, .url = url}, ret_response);
}

static bool
is_found(const Replicas *replicas, const char *method, const char *path, const char *suffix,
    RestResponse *ret_response)
{
    rest_response_done(ret_response);
    ask(replicas, method, path, suffix, ret_response);
    return ret_response->status != 404;
}

/* Asks the second gateway until it finds what only the first one knows. A gateway has ASKED_ANSWER_MS to
 * answer the other, which takes silence for "not here": a busy machine may be later than that. */
static void
ask_patiently(const Replicas *replicas, const char *method, const char *path, const char *suffix,
    RestResponse *ret_response)
{
    AWAIT(is_found(replicas, method, path, suffix, ret_response));
}

/* Starts a synchronous step at the first gateway and stops the worker of its second half; returns the
 * connection once the reply has begun, and the step's path. */
static int
begin_step(Replicas *replicas, char ret_path[PATH_SIZE])
{
    Cluster *cluster = &replicas->cluster;
    char text[TEXT_SIZE] = "";
    size_t size = 0;
    AUTO_REST warm = {0};
    cluster_session(cluster, "{\"slots\":2}");
    cluster_graph(cluster, halves);
    cluster_step(cluster, body, &warm);
    cluster_expect(&warm, 200, NULL);
    (void)kill(cluster->workers[1].pid, SIGSTOP);
    int fd = raw_open(cluster->gateway.address);
    (void)snprintf(text, sizeof text,
        "POST /api/v1/sessions/%s/steps HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Accept: multipart/mixed\r\nContent-Length: %zu\r\n\r\n%s",
        cluster->session, strlen(body), body);
    raw_send_text(fd, text);
    text[0] = '\0';
    while (size + 1 < sizeof text && strstr(text, "\r\n\r\n") == NULL) {
        ssize_t got = recv(fd, text + size, sizeof text - size - 1, 0);
        assert_true(got > 0);
        size += (size_t)got;
        text[size] = '\0';
    }
    const char *location = strstr(text, "Location: ");
    assert_non_null(location);
    assert_int_equal(sscanf(location, "Location: %255s", ret_path), 1);
    return fd;
}

/* Reads to the end of the connection and fails unless the text is among what came. */
static void
assert_ends_with(int fd, const char *wanted)
{
    char rest[TEXT_SIZE];
    long size = raw_drain(fd, rest, sizeof rest, AWAIT_MS);
    assert_true(size > 0);
    assert_non_null(memmem(rest, (size_t)size, wanted, strlen(wanted)));
    (void)close(fd);
}

static void
a_step_that_one_gateway_runs_is_seen_and_cancelled_through_the_other(void **state)
{
    Replicas *replicas = *state;
    char path[PATH_SIZE];
    AUTO_REST seen = {0};
    AUTO_REST cancelled = {0};
    AUTO_REST ended = {0};
    int fd = begin_step(replicas, path);
    ask_patiently(replicas, "GET", path, "", &seen);
    cluster_expect(&seen, 200, "\"state\":\"running\"");
    assert_non_null(strstr(rest_text(&seen), replicas->cluster.graph));
    ask_patiently(replicas, "POST", path, ":cancel", &cancelled);
    cluster_expect(&cancelled, 200, "\"state\":\"running\"");
    assert_ends_with(fd, "\"state\":\"cancelled\"");
    ask_patiently(replicas, "GET", path, "", &ended);
    cluster_expect(&ended, 200, "\"state\":\"cancelled\"");
}

static void
the_end_of_such_a_step_can_be_waited_for(void **state)
{
    static const char *const waiting[] = {"Prefer: wait=10", NULL};
    Replicas *replicas = *state;
    char path[PATH_SIZE];
    char url[3 * PATH_SIZE];
    AUTO_REST ended = {0};
    int fd = begin_step(replicas, path);
    (void)kill(replicas->cluster.workers[1].pid, SIGCONT);
    (void)snprintf(url, sizeof url, "%s%s", replicas->url, path);
    rest_send(&(RestRequest){.url = url, .headers = waiting}, &ended);
    cluster_expect(&ended, 200, "\"state\":\"succeeded\"");
    (void)close(fd);
}

static void
a_session_deleted_through_one_ends_what_the_other_runs_of_it(void **state)
{
    Replicas *replicas = *state;
    char path[PATH_SIZE];
    AUTO_REST deleted = {0};
    int fd = begin_step(replicas, path);
    *strstr(path, "/steps/") = '\0';
    ask(replicas, "DELETE", path, "", &deleted);
    cluster_expect(&deleted, 204, NULL);
    assert_ends_with(fd, "its session has been deleted");
}

static int
step_status(Cluster *cluster, const char *step)
{
    AUTO_REST response = {0};
    cluster_step(cluster, step, &response);
    return response.status;
}

/* The first gateway has the graph in its cache. */
static void
a_graph_deleted_through_one_is_forgotten_by_the_other(void **state)
{
    Replicas *replicas = *state;
    Cluster *cluster = &replicas->cluster;
    char path[PATH_SIZE];
    char named[TEXT_SIZE];
    AUTO_REST deleted = {0};
    cluster_session(cluster, "{\"slots\":2}");
    cluster_graph(cluster, halves);
    (void)snprintf(named, sizeof named, "{\"graph\":\"%s\",%s", cluster->graph, body + 1);
    assert_int_equal(step_status(cluster, named), 200);
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/graphs/%s", cluster->session, cluster->graph);
    ask(replicas, "DELETE", path, "", &deleted);
    cluster_expect(&deleted, 204, NULL);
    AWAIT(step_status(cluster, named) == 404);
}

/* Changes the step's id to that of another step of the same millisecond, which nobody has run. */
static void
name_another_step(char *path)
{
    char *digit = path + strlen(path) - 5;
    *digit = *digit == 'a' ? 'b' : 'a';
}

static void
a_step_of_nobody_is_404_at_either(void **state)
{
    Replicas *replicas = *state;
    char path[PATH_SIZE];
    AUTO_REST here = {0};
    AUTO_REST there = {0};
    int fd = begin_step(replicas, path);
    name_another_step(path);
    cluster_send(&replicas->cluster, "GET", path, NULL, &here);
    cluster_expect(&here, 404, NULL);
    ask(replicas, "POST", path, ":cancel", &there);
    cluster_expect(&there, 404, NULL);
    (void)close(fd);
}

/* No gateway answers for another tenant's step, or for a step without a trace. */
static void
the_trace_of_a_step_that_one_gateway_ran_is_told_by_the_other(void **state)
{
    Replicas *replicas = *state;
    Cluster *cluster = &replicas->cluster;
    AUTO_REST traced = {0};
    AUTO_REST untraced = {0};
    AUTO_REST here = {0};
    AUTO_REST there = {0};
    AUTO_REST nowhere = {0};
    char path[PATH_SIZE];
    cluster_session(cluster, "{\"slots\":2}");
    cluster_graph(cluster, halves);
    cluster_step(cluster, traced_body, &traced);
    cluster_expect(&traced, 200, NULL);
    (void)snprintf(path, sizeof path, "%s/trace", rest_header(&traced, "Location"));
    cluster_send(cluster, "GET", path, NULL, &here);
    cluster_expect(&here, 200, NULL);
    ask_patiently(replicas, "GET", path, "", &there);
    cluster_expect(&there, 200, NULL);
    assert_string_equal(rest_text(&there), rest_text(&here));
    cluster_step(cluster, body, &untraced);
    ask(replicas, "GET", rest_header(&untraced, "Location"), "/trace", &nowhere);
    cluster_expect(&nowhere, 404, "there is no trace of step");
}

/* A trace is handed on as a blob of the tenant, which counts against its quota. */
static void
a_trace_that_cannot_be_handed_on_is_not_called_missing(void **state)
{
    Replicas *replicas = *state;
    Cluster *cluster = &replicas->cluster;
    AUTO_REST traced = {0};
    AUTO_REST there = {0};
    cluster_session(cluster, "{\"slots\":2}");
    cluster_graph(cluster, halves);
    cluster_step(cluster, traced_body, &traced);
    (void)database_ask(cluster->database, "update quotas set stored_bytes_max = 1");
    ask_patiently(replicas, "GET", rest_header(&traced, "Location"), "/trace", &there);
    cluster_expect(&there, 503, "the gateway that ran the step cannot hand its trace on: it goes by way of");
}

/* Returns how many milliseconds the answer took. */
static uint64_t
milliseconds_of(const Replicas *replicas, const char *path)
{
    AUTO_REST response = {0};
    uint64_t since_ns = clock_monotonic_ns();
    ask(replicas, "GET", path, "", &response);
    cluster_expect(&response, 404, NULL);
    return (clock_monotonic_ns() - since_ns) / CLOCK_NS_PER_MS;
}

/* The first question waits for the silence of all gateways; the silence is remembered for a while. */
static void
who_polls_a_step_of_nobody_need_not_wait_each_time(void **state)
{
    Replicas *replicas = *state;
    Cluster *cluster = &replicas->cluster;
    char path[PATH_SIZE];
    AUTO_REST ended = {0};
    cluster_session(cluster, "{\"slots\":2}");
    cluster_graph(cluster, halves);
    cluster_step(cluster, body, &ended);
    (void)snprintf(path, sizeof path, "%s", rest_header(&ended, "Location"));
    name_another_step(path);
    assert_true(milliseconds_of(replicas, path) >= ASKED_ANSWER_MS);
    AWAIT(milliseconds_of(replicas, path) < ASKED_ANSWER_MS);
}

/* No gateway is asked: the step's id tells that it was made long ago. */
static void
the_trace_of_no_step_is_404_as_the_step_is(void **state)
{
    Replicas *replicas = *state;
    Cluster *cluster = &replicas->cluster;
    char path[PATH_SIZE];
    AUTO_REST nowhere = {0};
    cluster_session(cluster, "{}");
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/steps/stp_00000000000070008000000000000000/trace",
        cluster->session);
    ask(replicas, "GET", path, "", &nowhere);
    cluster_expect(&nowhere, 404, "step 'stp_00000000000070008000000000000000' does not exist");
}

/* Runs a step at the first gateway; both workers have a partition of the graph then. */
static void
register_halves(Cluster *cluster)
{
    AUTO_REST ended = {0};
    cluster_session(cluster, "{\"slots\":2}");
    cluster_graph(cluster, halves);
    cluster_step(cluster, body, &ended);
    cluster_expect(&ended, 200, NULL);
    assert_int_equal(cluster_worker_use(cluster, 0).partition_count, 1);
    assert_int_equal(cluster_worker_use(cluster, 1).partition_count, 1);
}

static void
await_no_partitions(Cluster *cluster)
{
    AWAIT(cluster_worker_use(cluster, 0).partition_count == 0);
    AWAIT(cluster_worker_use(cluster, 1).partition_count == 0);
}

static void
the_partitions_of_what_is_deleted_through_one_are_dropped_by_the_workers(void **state)
{
    Replicas *replicas = *state;
    Cluster *cluster = &replicas->cluster;
    char path[PATH_SIZE];
    AUTO_REST graph_deleted = {0};
    AUTO_REST session_deleted = {0};
    register_halves(cluster);
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/graphs/%s", cluster->session, cluster->graph);
    ask(replicas, "DELETE", path, "", &graph_deleted);
    assert_int_equal(graph_deleted.status, 204);
    await_no_partitions(cluster);
    register_halves(cluster);
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s", cluster->session);
    ask(replicas, "DELETE", path, "", &session_deleted);
    assert_int_equal(session_deleted.status, 204);
    await_no_partitions(cluster);
}

/* What both graphs run stays: the second session would have to have it compiled again. */
static void
a_partition_that_another_graph_has_too_stays_with_the_workers(void **state)
{
    Replicas *replicas = *state;
    Cluster *cluster = &replicas->cluster;
    char path[PATH_SIZE];
    AUTO_REST ended = {0};
    AUTO_REST deleted = {0};
    AUTO_REST other_deleted = {0};
    register_halves(cluster);
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s", cluster->session);
    register_halves(cluster);
    cluster_send(cluster, "DELETE", path, NULL, &deleted);
    assert_int_equal(deleted.status, 204);
    cluster_step(cluster, body, &ended);
    cluster_expect(&ended, 200, NULL);
    assert_int_equal(cluster_worker_use(cluster, 0).partition_count, 1);
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s", cluster->session);
    cluster_send(cluster, "DELETE", path, NULL, &other_deleted);
    assert_int_equal(other_deleted.status, 204);
    await_no_partitions(cluster);
}

#define REPLICAS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        REPLICAS_TEST(a_step_that_one_gateway_runs_is_seen_and_cancelled_through_the_other),
        REPLICAS_TEST(the_end_of_such_a_step_can_be_waited_for),
        REPLICAS_TEST(a_session_deleted_through_one_ends_what_the_other_runs_of_it),
        REPLICAS_TEST(a_graph_deleted_through_one_is_forgotten_by_the_other),
        REPLICAS_TEST(the_partitions_of_what_is_deleted_through_one_are_dropped_by_the_workers),
        REPLICAS_TEST(a_partition_that_another_graph_has_too_stays_with_the_workers),
        REPLICAS_TEST(a_step_of_nobody_is_404_at_either),
        REPLICAS_TEST(the_trace_of_a_step_that_one_gateway_ran_is_told_by_the_other),
        REPLICAS_TEST(a_trace_that_cannot_be_handed_on_is_not_called_missing),
        REPLICAS_TEST(who_polls_a_step_of_nobody_need_not_wait_each_time),
        REPLICAS_TEST(the_trace_of_no_step_is_404_as_the_step_is),
    };
    return cmocka_run_group_tests_name("replicas", tests, NULL, NULL);
}
