/* The fate of a step, and of the others, when its worker dies, its client leaves or its deadline passes. */
#include <signal.h>
#include <unistd.h>

#include "tests/support/await.h"
#include "tests/support/cluster.h"
#include "tests/support/loop_graphs.h"
#include "tests/support/raw_http.h"

enum { TURNS_ENDLESS = 2000000000, BODY_SIZE = 128 };

/* Returns the body of a step whose loop makes this many turns. */
static const char *
step_of(uint64_t turns)
{
    static char body[BODY_SIZE];
    (void)snprintf(body, sizeof body, "{\"feeds\":{\"x\":1,\"n\":%llu},\"fetches\":[\"v_exit\"]}",
        (unsigned long long)turns);
    return body;
}

/* Returns how many turns take about two seconds on this machine. */
static uint64_t
turns_of_two_seconds(Cluster *cluster)
{
    enum { TRIED = 20000 };
    cluster_expect_step(cluster, step_of(1), 200, NULL); /* plans and compiles */
    uint64_t begin_ns = clock_monotonic_ns();
    cluster_expect_step(cluster, step_of(TRIED), 200, NULL);
    uint64_t turns = 2 * CLOCK_NS_PER_S * TRIED / (clock_monotonic_ns() - begin_ns);
    return turns < TURNS_ENDLESS ? turns : TURNS_ENDLESS;
}

static void
prepare(Cluster *cluster)
{
    cluster_session(cluster, "{}");
    cluster_graph_literal(cluster, LOOP_CHAOTIC(""));
}

/* Returns the worker that runs the one step under way, -1 when none does. */
static int
running_worker(Cluster *cluster)
{
    for (int index = 0; index < cluster->options.worker_count; index++) {
        if (cluster_worker_running(cluster, index) == 1) {
            return index;
        }
    }
    return -1;
}

/* Sends the step on a connection of its own and returns when a worker runs it, without waiting for the
 * answer. */
static int
send_step(Cluster *cluster, const char *body)
{
    char head[512];
    int size = snprintf(head, sizeof head,
        "POST /api/v1/sessions/%s/steps HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        cluster->session, strlen(body), body);
    int fd = raw_open(cluster->gateway.address);
    raw_send(fd, head, (size_t)size);
    AWAIT(running_worker(cluster) >= 0);
    return fd;
}

static void
a_worker_killed_in_mid_step_fails_over_to_the_other(void **state)
{
    Cluster *cluster = *state;
    static char answer[RAW_REPLY_SIZE];
    prepare(cluster);
    int fd = send_step(cluster, step_of(turns_of_two_seconds(cluster)));
    int victim = running_worker(cluster);
    assert_true(victim >= 0);
    (void)process_stop(&cluster->workers[victim], SIGKILL);
    int status = raw_reply(fd, answer, 60000);
    (void)close(fd);
    assert_int_equal(status, 200);
    if (strstr(answer, "\"state\":\"succeeded\"") == NULL || strstr(answer, "\"attempts\":2") == NULL) {
        fail_msg("%s", answer);
    }
}

static void
with_no_worker_left_a_step_fails_with_one_clear_cause(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST response = {0};
    prepare(cluster);
    (void)process_stop(&cluster->workers[0], SIGKILL);
    (void)process_stop(&cluster->workers[1], SIGKILL);
    cluster_step(cluster, step_of(TURNS_ENDLESS), &response);
    cluster_expect(&response, 503, "\"code\":\"UNAVAILABLE\"");
    assert_non_null(strstr(rest_text(&response), "worker"));
    assert_string_not_equal(rest_header(&response, "Retry-After"), "");
}

/* Returns true when every worker answers, and runs nothing. */
static bool
are_workers_idle(Cluster *cluster)
{
    for (int index = 0; index < cluster->options.worker_count; index++) {
        if (cluster_worker_running(cluster, index) != 0) {
            return false;
        }
    }
    return true;
}

static void
a_client_that_hangs_up_leaves_no_running_work(void **state)
{
    Cluster *cluster = *state;
    prepare(cluster);
    int fd = send_step(cluster, step_of(TURNS_ENDLESS));
    (void)close(fd);
    AWAIT(are_workers_idle(cluster));
}

static void
a_deadline_ends_the_step_on_the_worker_too(void **state)
{
    Cluster *cluster = *state;
    prepare(cluster);
    cluster_expect_step(cluster,
        "{\"feeds\":{\"x\":1,\"n\":2000000000},\"fetches\":[\"v_exit\"],\"options\":{\"timeout_ms\":1000}}",
        504, "DEADLINE_EXCEEDED");
    AWAIT(are_workers_idle(cluster));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(a_worker_killed_in_mid_step_fails_over_to_the_other),
        CLUSTER_TEST(with_no_worker_left_a_step_fails_with_one_clear_cause),
        CLUSTER_TEST(a_client_that_hangs_up_leaves_no_running_work),
        CLUSTER_TEST(a_deadline_ends_the_step_on_the_worker_too),
    };
    return cmocka_run_group_tests_name("failure", tests, NULL, NULL);
}
