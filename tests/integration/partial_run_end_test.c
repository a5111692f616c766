/* Every way in which a partial run may end. */
#include <signal.h>
#include <unistd.h>

#include "tests/support/await.h"
#include "tests/support/partial_runs.h"
#include "tests/support/raw_http.h"

enum { SHORT_MS = 10000, GATEWAY_GRACE_MS = 10000 /* the default of --grace */ };

/* Options of a run that expires while the test waits; requests before that must come within this time. */
#define SHORT "\"options\":{\"timeout_ms\":10000}"

static void
one_that_nobody_completes_expires_and_leaves_nothing(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    partial_run_start(cluster, "{\"slots\":2,\"placement\":\"spread\"}",
        "{\"feeds\":[\"x\",\"y\",\"z\"],\"fetches\":[\"a\",\"d\"]," SHORT "}", path);
    partial_run_expect(cluster, path, "{\"feeds\":{\"x\":1}}", 200, NULL);
    partial_run_await_slots(cluster, 2);
    partial_run_await_slots(cluster, 0);
    partial_run_await_gone(cluster, path);
    for (int index = 0; index < 2; index++) {
        assert_int_equal(cluster_worker_use(cluster, index).memory_in_use, 0);
    }
}

/* Sends the head of a request whose body has this length; returns the connection. */
static int
send_head(const Cluster *cluster, const char *path, size_t body_size, const char *more)
{
    char head[PARTIAL_RUN_PATH_SIZE * 2];
    int size = snprintf(head, sizeof head,
        "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
        "%zu\r\n%s\r\n",
        path, body_size, more);
    int fd = raw_open(cluster->gateway.address);
    raw_send(fd, head, (size_t)size);
    return fd;
}

static void
expect_answer(int fd, int status, const char *part)
{
    static char answer[RAW_REPLY_SIZE];
    int came = raw_reply(fd, answer, AWAIT_MS);
    (void)close(fd);
    if (came != status || strstr(answer, part) == NULL) {
        fail_msg("%d %s instead of %d %s", came, answer, status, part);
    }
}

/* A graph in which, once x has come, y waits for a value that a step puts into `queue`, and half for one
 * in `early`; t needs u only. */
static const char queued[] = "x = Placeholder() dtype=float32\n"
                             "u = Placeholder() dtype=float32\n"
                             "t = Neg(u) T=float32\n"
                             "begun = Identity(x) T=float32\n"
                             "queue = FIFOQueueV2() component_types=[float32]\n"
                             "y = QueueDequeueV2(queue, ^begun) component_types=[float32]\n"
                             "put = QueueEnqueueV2(queue, u) Tcomponents=[float32]\n"
                             "early = FIFOQueueV2() component_types=[float32]\n"
                             "half = QueueDequeueV2(early, ^begun) component_types=[float32]\n"
                             "put_half = QueueEnqueueV2(early, u) Tcomponents=[float32]\n";
static const char put_step[] = "{\"feeds\":{\"u\":7},\"targets\":[\"put\"]}";
static const char put_half_step[] = "{\"feeds\":{\"u\":3},\"targets\":[\"put_half\"]}";

static bool
is_shown(Cluster *cluster, const char *path, const char *part)
{
    AUTO_REST response;
    cluster_send(cluster, "GET", path, NULL, &response);
    return strstr(rest_text(&response), part) != NULL;
}

/* Sends a continue request and does not wait for its answer; returns the connection. */
static int
send_go_on(const Cluster *cluster, const char *path, const char *body)
{
    char target[PARTIAL_RUN_PATH_SIZE + 16];
    (void)snprintf(target, sizeof target, "%s:continue", path);
    int fd = send_head(cluster, target, strlen(body), "");
    raw_send_text(fd, body);
    return fd;
}

/* Starts a partial run and a request that waits for its fetch y; returns the request's connection. */
static int
wait_for_queue(Cluster *cluster, char ret_path[PARTIAL_RUN_PATH_SIZE])
{
    cluster_session(cluster, "{}");
    cluster_graph_literal(cluster, queued);
    partial_run_begun(cluster, "{\"feeds\":[\"x\",\"u\"],\"fetches\":[\"y\",\"t\"]}", ret_path);
    int fd = send_go_on(cluster, ret_path, "{\"feeds\":{\"x\":1},\"fetches\":[\"y\"]}");
    AWAIT(is_shown(cluster, ret_path, "\"fetches\":[\"t\"]"));
    return fd;
}

static void
one_that_is_deleted_ends_for_who_waits_too(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    AUTO_REST response = {0};
    int fd = wait_for_queue(cluster, path);
    cluster_send(cluster, "DELETE", path, NULL, &response);
    cluster_expect(&response, 204, NULL);
    expect_answer(fd, 499, "the partial run was deleted");
    partial_run_expect_view(cluster, path, 404, NULL);
    partial_run_await_slots(cluster, 0);
}

static void
while_one_fetch_is_computed_another_is_given(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    int fd = wait_for_queue(cluster, path);
    (void)close(fd);
    partial_run_expect(cluster, path, "{\"feeds\":{\"u\":4}}", 200, "\"outputs\":{}");
    partial_run_expect(cluster, path, "{\"fetches\":[\"t\"]}", 200, "\"data\":[-4]");
}

/* Only the request for the last fetch waits for the end of the run. */
static void
who_came_before_the_last_need_not_wait_for_the_end(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    cluster_session(cluster, "{}");
    cluster_graph_literal(cluster, queued);
    partial_run_begun(cluster, "{\"feeds\":[\"x\"],\"fetches\":[\"half\",\"y\"]}", path);
    int first = send_go_on(cluster, path, "{\"feeds\":{\"x\":1},\"fetches\":[\"half\"]}");
    AWAIT(is_shown(cluster, path, "\"fetches\":[\"y\"]"));
    int last = send_go_on(cluster, path, "{\"fetches\":[\"y\"]}");
    AWAIT(is_shown(cluster, path, "\"fetches\":[]"));
    cluster_expect_step(cluster, put_half_step, 200, NULL);
    expect_answer(first, 200, "\"state\":\"open\"");
    cluster_expect_step(cluster, put_step, 200, NULL);
    expect_answer(last, 200, "\"state\":\"complete\"");
}

static void
a_worker_that_dies_is_told_to_who_waits(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    int fd = wait_for_queue(cluster, path);
    (void)process_stop(&cluster->workers[partial_run_worker(cluster)], SIGKILL);
    expect_answer(fd, 503, "the partial run has ended and cannot be repeated");
}

/* Begins a step of which the gateway has read the head: when it drains it still takes the body and runs
 * the step. */
static int
step_begun(const Cluster *cluster, size_t body_size)
{
    static char answer[RAW_REPLY_SIZE];
    char path[PARTIAL_RUN_PATH_SIZE];
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/steps", cluster->session);
    int fd = send_head(cluster, path, body_size, "Expect: 100-continue\r\n");
    assert_int_equal(raw_reply(fd, answer, AWAIT_MS), 100);
    return fd;
}

static bool
takes_no_connection(Cluster *cluster)
{
    AUTO_REST response;
    cluster_send(cluster, "GET", "/livez", NULL, &response);
    return response.status == 0;
}

static void
a_gateway_that_drains_serves_who_waits(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    int fd = wait_for_queue(cluster, path);
    int step_fd = step_begun(cluster, sizeof put_step - 1);
    assert_int_equal(kill(cluster->gateway.pid, SIGTERM), 0);
    AWAIT(takes_no_connection(cluster));
    raw_send_text(step_fd, put_step);
    expect_answer(step_fd, 200, "\"outputs\":{}");
    expect_answer(fd, 200, "\"data\":[7]");
    assert_int_equal(process_stop(&cluster->gateway, 0), 0);
    partial_run_await_slots(cluster, 0);
}

static void
with_its_session_it_ends(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    char session[PARTIAL_RUN_PATH_SIZE];
    AUTO_REST response = {0};
    partial_run_start(cluster, "{}", TWO_STAGES, path);
    partial_run_await_slots(cluster, 1);
    (void)snprintf(session, sizeof session, "/api/v1/sessions/%s", cluster->session);
    cluster_send(cluster, "DELETE", session, NULL, &response);
    cluster_expect(&response, 204, NULL);
    partial_run_await_slots(cluster, 0);
    partial_run_expect_view(cluster, path, 404, NULL);
}

static void
a_failing_node_ends_it_and_is_told_once(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    partial_run_start(cluster, "{}", "{\"feeds\":[\"x\",\"k\"],\"fetches\":[\"a\",\"quotient\"]}", path);
    partial_run_expect(
        cluster, path, "{\"feeds\":{\"k\":0},\"fetches\":[\"quotient\"]}", 400, "node 'quotient'");
    partial_run_expect_view(cluster, path, 404, NULL);
    partial_run_begun(cluster, "{\"feeds\":[\"x\",\"k\"],\"fetches\":[\"a\",\"quotient\"]}", path);
    partial_run_expect(cluster, path, "{\"feeds\":{\"k\":0}}", 200, NULL);
    AWAIT(is_shown(cluster, path, "\"state\":\"failed\""));
    partial_run_expect_view(cluster, path, 200, "\"code\":\"INVALID_ARGUMENT\"");
    partial_run_expect(cluster, path, "{\"feeds\":{\"x\":1},\"fetches\":[\"a\"]}", 400, "node 'quotient'");
    partial_run_expect_view(cluster, path, 404, NULL);
}

static void
a_failure_that_nobody_asks_for_goes_when_its_time_is_over(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    partial_run_ready(cluster, "{}");
    uint64_t since_ns = clock_monotonic_ns();
    partial_run_begun(cluster, "{\"feeds\":[\"x\",\"k\"],\"fetches\":[\"a\",\"quotient\"]," SHORT "}", path);
    partial_run_expect(cluster, path, "{\"feeds\":{\"k\":0}}", 200, NULL);
    partial_run_await_gone(cluster, path);
    assert_true(clock_monotonic_ns() - since_ns >= SHORT_MS * CLOCK_NS_PER_MS);
}

/* Only the request that asks for the fetch is told that it has no value, as in TensorFlow. */
static void
a_fetch_on_a_branch_not_taken_hurts_only_who_asks_for_it(void **state)
{
    static const char body[] = "{\"feeds\":[\"x\",\"p\"],\"fetches\":[\"side:0\",\"side:1\"]}";
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    partial_run_start(cluster, "{}", body, path);
    partial_run_expect(
        cluster, path, "{\"feeds\":{\"x\":7,\"p\":true},\"fetches\":[\"side:1\"]}", 200, "\"data\":[7]");
    partial_run_expect(cluster, path, "{\"fetches\":[\"side:0\"]}", 400,
        "fetch 'side:0' has no value: it lies on a branch that was not taken");
    partial_run_expect_view(cluster, path, 404, NULL);
}

static void
with_its_worker_it_ends_and_is_not_repeated(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    partial_run_start(cluster, "{\"slots\":2,\"placement\":\"spread\"}",
        "{\"feeds\":[\"x\",\"y\",\"z\"],\"fetches\":[\"a\",\"b\",\"c\",\"d\"]}", path);
    partial_run_await_slots(cluster, 2);
    partial_run_expect(cluster, path, "{\"feeds\":{\"x\":5},\"fetches\":[\"a\"]}", 200, "\"data\":[-5]");
    (void)process_stop(&cluster->workers[0], SIGKILL);
    partial_run_expect(cluster, path, "{\"feeds\":{\"y\":5,\"z\":1},\"fetches\":[\"d\"]}", 503,
        "the partial run has ended and cannot be repeated");
    partial_run_expect_view(cluster, path, 404, NULL);
}

static void
a_gateway_that_ends_takes_its_runs_with_it(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    partial_run_start(cluster, "{}", TWO_STAGES, path);
    partial_run_await_slots(cluster, 1);
    uint64_t since_ns = clock_monotonic_ns();
    assert_int_equal(process_stop(&cluster->gateway, SIGTERM), 0);
    assert_true(
        clock_monotonic_ns() - since_ns < GATEWAY_GRACE_MS * CLOCK_NS_PER_MS); /* nobody waits for the run */
    partial_run_await_slots(cluster, 0);
    assert_true(cluster_restart_gateway(cluster));
    partial_run_expect(cluster, path, "{\"feeds\":{\"x\":5},\"fetches\":[\"a\"]}", 409,
        "made by another gateway, or before this one was restarted");
}

static void
a_client_that_hangs_up_can_ask_again(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    int fd = wait_for_queue(cluster, path);
    (void)close(fd);
    AWAIT(is_shown(cluster, path, "\"feeds\":[\"u\"],\"fetches\":[\"t\",\"y\"]"));
    cluster_expect_step(cluster, put_step, 200, NULL);
    partial_run_expect(
        cluster, path, "{\"feeds\":{\"u\":2},\"fetches\":[\"y\",\"t\"]}", 200, "\"data\":[-2]");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(one_that_nobody_completes_expires_and_leaves_nothing),
        CLUSTER_TEST(one_that_is_deleted_ends_for_who_waits_too),
        CLUSTER_TEST(while_one_fetch_is_computed_another_is_given),
        CLUSTER_TEST(who_came_before_the_last_need_not_wait_for_the_end),
        CLUSTER_TEST(a_worker_that_dies_is_told_to_who_waits),
        CLUSTER_TEST(a_gateway_that_drains_serves_who_waits),
        CLUSTER_TEST(with_its_session_it_ends),
        CLUSTER_TEST(a_failing_node_ends_it_and_is_told_once),
        CLUSTER_TEST(a_failure_that_nobody_asks_for_goes_when_its_time_is_over),
        CLUSTER_TEST(a_fetch_on_a_branch_not_taken_hurts_only_who_asks_for_it),
        CLUSTER_TEST(with_its_worker_it_ends_and_is_not_repeated),
        CLUSTER_TEST(a_gateway_that_ends_takes_its_runs_with_it),
        CLUSTER_TEST(a_client_that_hangs_up_can_ask_again),
    };
    return cmocka_run_group_tests_name("partial run end", tests, NULL, NULL);
}
