/* What happens when a worker dies, a client leaves, or PostgreSQL goes: to the step, and to the rest. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/raw_http.h"

enum { CHAIN_LENGTH = 400, SIDE = 512, GRAPH_SIZE = 96 * 1024 };

/* x → x·m → … a chain of matrix products, each a few milliseconds: seconds in all, and many places to stop.
 */
static const char *
long_graph(void)
{
    static char text[GRAPH_SIZE];
    int used = snprintf(text, sizeof text,
        "{\"node\":[{\"name\":\"x\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"}}},"
        "{\"name\":\"shape\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_INT32\"},\"value\":{"
        "\"tensor\":"
        "{\"dtype\":\"DT_INT32\",\"tensorShape\":{\"dim\":[{\"size\":\"2\"}]},\"intVal\":[%d,%d]}}}},"
        "{\"name\":\"m0\",\"op\":\"Fill\",\"input\":[\"shape\",\"x\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}"
        "}}",
        SIDE, SIDE);
    for (int index = 1; index <= CHAIN_LENGTH; index++) {
        used += snprintf(text + used, sizeof text - (size_t)used,
            ",{\"name\":\"m%d\",\"op\":\"MatMul\",\"input\":[\"m%d\",\"m0\"],\"attr\":{\"T\":{\"type\":"
            "\"DT_FLOAT\"}}}",
            index, index - 1);
    }
    (void)snprintf(text + used, sizeof text - (size_t)used,
        ",{\"name\":\"zero\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_INT32\"},\"value\":{"
        "\"tensor\":"
        "{\"dtype\":\"DT_INT32\",\"tensorShape\":{\"dim\":[{\"size\":\"2\"}]},\"intVal\":[0,1]}}}},"
        "{\"name\":\"y\",\"op\":\"Max\",\"input\":[\"m%d\",\"zero\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"},"
        "\"Tidx\":{\"type\":\"DT_INT32\"}}}]}",
        CHAIN_LENGTH);
    return text;
}

static const char long_step[] = "{\"feeds\":{\"x\":0.001953125},\"fetches\":[\"y\"]}";

/* Which worker runs the one step that is under way; -1 when none does in five seconds. */
static int
await_running(Cluster *cluster)
{
    for (int attempt = 0; attempt < 200; attempt++) {
        for (int index = 0; index < 2; index++) {
            if (cluster_worker_running(cluster, index) == 1) {
                return index;
            }
        }
        pause_ms(25);
    }
    return -1;
}

/* Opens a connection, sends the long step and does not wait for its answer. */
static int
send_long_step(Cluster *cluster)
{
    char head[512];
    const int size = snprintf(head, sizeof head,
        "POST /api/v1/sessions/%s/steps HTTP/1.1\r\nHost: sluice\r\nContent-Type: application/json\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        cluster->session, strlen(long_step), long_step);
    const int fd = raw_open(cluster->gateway.address);
    assert_true(fd >= 0);
    raw_send(fd, head, (size_t)size);
    return fd;
}

static void
a_worker_killed_in_mid_step_fails_over_to_the_other(void **state)
{
    Cluster *const cluster = *state;
    static char answer[RAW_REPLY_SIZE];
    cluster_session(cluster, "{}");
    cluster_graph(cluster, long_graph());
    const int fd = send_long_step(cluster);
    const int victim = await_running(cluster);
    assert_true(victim >= 0);
    (void)process_stop(&cluster->workers[victim], SIGKILL);
    const int status = raw_reply(fd, answer, 60000);
    (void)close(fd);
    assert_int_equal(status, 200);
    if (strstr(answer, "\"state\":\"succeeded\"") == NULL || strstr(answer, "\"attempts\":2") == NULL) {
        fail_msg("%s", answer);
    }
}

static void
with_no_worker_left_a_step_fails_with_one_clear_cause(void **state)
{
    Cluster *const cluster = *state;
    AUTO_REST response = {0};
    cluster_session(cluster, "{}");
    cluster_graph(cluster, long_graph());
    (void)process_stop(&cluster->workers[0], SIGKILL);
    (void)process_stop(&cluster->workers[1], SIGKILL);
    cluster_step(cluster, long_step, &response);
    assert_int_equal(response.status, 503);
    assert_non_null(strstr(rest_text(&response), "\"code\":\"UNAVAILABLE\""));
    assert_non_null(strstr(rest_text(&response), "worker"));
    assert_string_not_equal(rest_header(&response, "Retry-After"), "");
}

static void
a_client_that_hangs_up_leaves_no_running_work_after_200_ms(void **state)
{
    Cluster *const cluster = *state;
    cluster_session(cluster, "{}");
    cluster_graph(cluster, long_graph());
    const int fd = send_long_step(cluster);
    const int worker = await_running(cluster);
    assert_true(worker >= 0);
    (void)close(fd);
    pause_ms(200);
    assert_int_equal(cluster_worker_running(cluster, worker), 0);
}

static void
a_deadline_ends_the_step_on_the_worker_too(void **state)
{
    Cluster *const cluster = *state;
    AUTO_REST response = {0};
    cluster_session(cluster, "{}");
    cluster_graph(cluster, long_graph());
    const uint64_t started_ns = clock_monotonic_ns();
    cluster_step(
        cluster, "{\"feeds\":{\"x\":1},\"fetches\":[\"y\"],\"options\":{\"timeout_ms\":300}}", &response);
    assert_int_equal(response.status, 504);
    assert_non_null(strstr(rest_text(&response), "DEADLINE_EXCEEDED"));
    assert_true(clock_monotonic_ns() - started_ns < 3 * CLOCK_NS_PER_S);
    pause_ms(200);
    assert_int_equal(cluster_worker_running(cluster, 0) + cluster_worker_running(cluster, 1), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(a_worker_killed_in_mid_step_fails_over_to_the_other),
        CLUSTER_TEST(with_no_worker_left_a_step_fails_with_one_clear_cause),
        CLUSTER_TEST(a_client_that_hangs_up_leaves_no_running_work_after_200_ms),
        CLUSTER_TEST(a_deadline_ends_the_step_on_the_worker_too),
    };
    return cmocka_run_group_tests_name("failure", tests, NULL, NULL);
}
