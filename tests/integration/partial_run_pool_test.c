/* Partial runs in the pool: each counts as one of its tenant's running steps until it has ended, takes its
 * turns on the slots as steps do, and holds none while it waits for its client. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/support/await.h"
#include "tests/support/partial_runs.h"
#include "tests/support/raw_http.h"

#define SHORT "\"options\":{\"timeout_ms\":10000}"

static const char *const one_slot[] = {"--slots", "1", NULL};

/* Sets how many steps of the tenant may run. */
static void
set_running_max(Cluster *cluster, int count)
{
    char update[80];
    (void)snprintf(update, sizeof update, "update sluice.quotas set running_steps_max = %d", count);
    (void)database_ask(cluster->database, update);
}

/* Returns whether a further step has to wait: gateways hear of a new quota within moments. */
static bool
is_full(Cluster *cluster)
{
    AUTO_REST late = {0};
    cluster_step(
        cluster, "{\"feeds\":{\"x\":1},\"fetches\":[\"a\"],\"options\":{\"timeout_ms\":100}}", &late);
    return late.status == 504 && strstr(rest_text(&late), "while the step waited for a slot") != NULL;
}

/* Makes a session with the stages, and a quota of one running step. */
static void
begin_with_one_place(Cluster *cluster, const char *options)
{
    partial_run_ready(cluster, options);
    set_running_max(cluster, 0);
    AWAIT(is_full(cluster));
    set_running_max(cluster, 1);
    AWAIT(!is_full(cluster));
}

/* Sets up a run that takes the one place, which its end must free. */
static void
take_place(Cluster *cluster, const char *body, char ret_path[PARTIAL_RUN_PATH_SIZE])
{
    partial_run_begun(cluster, body, ret_path);
    AWAIT(is_full(cluster));
}

static int
send_post(const Cluster *cluster, const char *path, const char *body)
{
    char request[1024];
    int fd = raw_open(cluster->gateway.address);
    (void)snprintf(request, sizeof request,
        "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
        "%zu\r\n\r\n%s",
        path, strlen(body), body);
    raw_send_text(fd, request);
    return fd;
}

/* Sends a setup without waiting for its answer; returns the connection. */
static int
send_setup(const Cluster *cluster)
{
    char path[PARTIAL_RUN_PATH_SIZE];
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/partial-runs", cluster->session);
    return send_post(cluster, path, TWO_STAGES);
}

static void
above_the_quota_a_setup_is_refused(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    begin_with_one_place(cluster, "{}");
    take_place(cluster, TWO_STAGES, path);
    AUTO_REST refused = {0};
    partial_run_create(cluster, TWO_STAGES, &refused);
    cluster_expect(&refused, 429, "the quota 'running_steps_max' is used up");
    assert_non_null(strstr(rest_text(&refused), "\"code\":\"RESOURCE_EXHAUSTED\""));
    assert_non_null(rest_header(&refused, "Retry-After"));
    partial_run_expect(cluster, path, "{\"feeds\":{\"x\":5},\"fetches\":[\"a\"]}", 200, "\"data\":[-5]");
    partial_run_expect_view(cluster, path, 200, "\"state\":\"open\"");
}

static void
a_setup_waits_for_a_place_that_comes_free(void **state)
{
    static char reply[RAW_REPLY_SIZE];
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    AUTO_REST deleted = {0};
    begin_with_one_place(cluster, "{}");
    take_place(cluster, TWO_STAGES, path);
    int fd = send_setup(cluster);
    AWAIT(cluster_metric(cluster, "sluice_admission_waiting") == 1);
    cluster_send(cluster, "DELETE", path, NULL, &deleted);
    cluster_expect(&deleted, 204, NULL);
    assert_int_equal(raw_reply(fd, reply, AWAIT_MS), 201);
    (void)close(fd);
}

/* The run of a client that hangs up before it hears of it is nobody's. */
static void
a_setup_whose_client_hangs_up_leaves_nothing(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    begin_with_one_place(cluster, "{}");
    take_place(cluster, TWO_STAGES, path);
    int fd = send_setup(cluster);
    AWAIT(cluster_metric(cluster, "sluice_partial_runs") == 2);
    (void)close(fd);
    AWAIT(cluster_metric(cluster, "sluice_partial_runs") == 1);
    AWAIT(cluster_metric(cluster, "sluice_admission_waiting") == 0);
}

static void
a_run_that_is_deleted_frees_its_place(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    AUTO_REST deleted = {0};
    begin_with_one_place(cluster, "{}");
    take_place(cluster, TWO_STAGES, path);
    cluster_send(cluster, "DELETE", path, NULL, &deleted);
    cluster_expect(&deleted, 204, NULL);
    partial_run_begun(cluster, TWO_STAGES, path);
}

static void
a_run_that_is_complete_frees_its_place(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    begin_with_one_place(cluster, "{}");
    take_place(cluster, TWO_STAGES, path);
    partial_run_expect(cluster, path, "{\"feeds\":{\"x\":1,\"y\":1},\"fetches\":[\"a\",\"c\"]}", 200,
        "\"state\":\"complete\"");
    partial_run_begun(cluster, TWO_STAGES, path);
}

/* A run whose client has not asked for all keeps its outputs, but runs no more. */
static void
a_run_that_has_all_its_feeds_frees_its_place(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    char other[PARTIAL_RUN_PATH_SIZE];
    begin_with_one_place(cluster, "{}");
    take_place(cluster, TWO_STAGES, path);
    partial_run_expect(cluster, path, "{\"feeds\":{\"x\":1,\"y\":1}}", 200, "\"state\":\"open\"");
    partial_run_begun(cluster, TWO_STAGES, other);
    partial_run_expect(cluster, path, "{\"fetches\":[\"c\"]}", 200, "\"data\":[0]");
}

static void
a_run_that_fails_frees_its_place(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    begin_with_one_place(cluster, "{}");
    take_place(cluster, "{\"feeds\":[\"x\",\"k\"],\"fetches\":[\"a\",\"quotient\"]}", path);
    partial_run_expect(
        cluster, path, "{\"feeds\":{\"k\":0},\"fetches\":[\"quotient\"]}", 400, "node 'quotient'");
    partial_run_begun(cluster, TWO_STAGES, path);
}

static void
a_run_that_expires_frees_its_place(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    begin_with_one_place(cluster, "{}");
    partial_run_begun(cluster, "{\"feeds\":[\"x\",\"y\"],\"fetches\":[\"a\",\"c\"]," SHORT "}", path);
    partial_run_await_gone(cluster, path);
    partial_run_begun(cluster, TWO_STAGES, path);
}

static void
a_run_whose_session_is_deleted_frees_its_place(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    char session[PARTIAL_RUN_PATH_SIZE];
    AUTO_REST deleted = {0};
    begin_with_one_place(cluster, "{}");
    take_place(cluster, TWO_STAGES, path);
    (void)snprintf(session, sizeof session, "/api/v1/sessions/%s", cluster->session);
    cluster_send(cluster, "DELETE", session, NULL, &deleted);
    cluster_expect(&deleted, 204, NULL);
    partial_run_start(cluster, "{}", TWO_STAGES, path);
}

static void
a_run_whose_worker_dies_frees_its_place(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    begin_with_one_place(cluster, "{}");
    take_place(cluster, TWO_STAGES, path);
    (void)process_stop(&cluster->workers[partial_run_worker(cluster)], SIGKILL);
    AWAIT(!is_full(cluster));
    partial_run_begun(cluster, TWO_STAGES, path);
}

static void
a_gateway_that_ends_leaves_its_places_to_the_others(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    Cluster second = *cluster;
    assert_true(cluster_add_gateway(cluster, &second.gateway));
    begin_with_one_place(cluster, "{}");
    (void)snprintf(second.session, sizeof second.session, "%s", cluster->session);
    partial_run_begun(&second, TWO_STAGES, path);
    AWAIT(is_full(cluster));
    assert_int_equal(process_stop(&second.gateway, SIGTERM), 0);
    AWAIT(!is_full(cluster));
    partial_run_begun(cluster, TWO_STAGES, path);
}

/* One worker with one slot, of which idle runs take nothing. */
static void
runs_that_wait_for_their_clients_hold_no_slot(void **state)
{
    enum { OPEN = 5 };
    char paths[OPEN][PARTIAL_RUN_PATH_SIZE];
    Cluster cluster;
    (void)state;
    assert_true(cluster_start(&cluster, &(ClusterOptions){.worker_count = 1, .worker_arguments = one_slot}));
    partial_run_ready(&cluster, "{}");
    for (int index = 0; index < OPEN; index++) {
        partial_run_begun(&cluster, TWO_STAGES, paths[index]);
    }
    AWAIT(cluster_metric(&cluster, "sluice_admission_resting") == OPEN);
    for (int index = 0; index < OPEN; index++) {
        cluster_expect_step(&cluster, "{\"feeds\":{\"x\":1},\"fetches\":[\"a\"]}", 200, "\"data\":[-1]");
        partial_run_expect(
            &cluster, paths[index], "{\"feeds\":{\"x\":5},\"fetches\":[\"a\"]}", 200, "\"data\":[-5]");
    }
    AWAIT(cluster_metric(&cluster, "sluice_admission_resting") == OPEN);
    AWAIT(cluster_metric(&cluster, "sluice_admission_running") == OPEN);
    for (int index = 0; index < OPEN; index++) {
        partial_run_expect(
            &cluster, paths[index], "{\"feeds\":{\"y\":2},\"fetches\":[\"c\"]}", 200, "\"data\":[-5]");
    }
    AWAIT(cluster_metric(&cluster, "sluice_admission_running") == 0);
    AWAIT(cluster_metric(&cluster, "sluice_admission_resting") == 0);
    cluster_stop(&cluster);
}

/* Each stage goes through both slots, one waking the other. */
static void
a_run_on_two_slots_rests_when_both_do(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    partial_run_start(cluster, "{\"slots\":2,\"placement\":\"spread\"}",
        "{\"feeds\":[\"x\",\"y\",\"z\"],\"fetches\":[\"a\",\"b\",\"c\",\"d\"]}", path);
    AWAIT(cluster_metric(cluster, "sluice_admission_resting") == 1);
    partial_run_expect(cluster, path, "{\"feeds\":{\"x\":5},\"fetches\":[\"a\"]}", 200, "\"data\":[-5]");
    AWAIT(cluster_metric(cluster, "sluice_admission_resting") == 1);
    partial_run_expect(
        cluster, path, "{\"feeds\":{\"y\":2},\"fetches\":[\"c\",\"b\"]}", 200, "\"data\":[-5]");
    AWAIT(cluster_metric(cluster, "sluice_admission_resting") == 1);
    partial_run_expect(cluster, path, "{\"feeds\":{\"z\":1},\"fetches\":[\"d\"]}", 200, "\"data\":[-4]");
    AWAIT(cluster_metric(cluster, "sluice_admission_running") == 0);
}

/* A graph with a step that ends when its client hangs up, and takes a slot until then; and stages beside it.
 */
static const char endless[] = "queue = FIFOQueueV2() component_types=[float32]\n"
                              "never = QueueDequeueV2(queue) component_types=[float32]\n"
                              "x = Placeholder() dtype=float32\n"
                              "y = Placeholder() dtype=float32\n"
                              "a = Neg(x) T=float32\n"
                              "c = Mul(a, y) T=float32\n";

/* Takes the pool's one slot; returns the connection whose end gives it back. */
static int
take_slot(const Cluster *cluster)
{
    char path[PARTIAL_RUN_PATH_SIZE];
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/steps", cluster->session);
    return send_post(cluster, path, "{\"fetches\":[\"never\"],\"options\":{\"timeout_ms\":60000}}");
}

static void
begin_beside_endless(Cluster *cluster, const char *body, char ret_path[PARTIAL_RUN_PATH_SIZE], int *ret_fd)
{
    assert_true(cluster_start(cluster, &(ClusterOptions){.worker_count = 1, .worker_arguments = one_slot}));
    cluster_session(cluster, "{}");
    cluster_graph_literal(cluster, endless);
    partial_run_begun(cluster, body, ret_path);
    AWAIT(cluster_metric(cluster, "sluice_admission_resting") == 1);
    *ret_fd = take_slot(cluster);
    partial_run_await_slots(cluster, 2); /* the worker has both, but only one has a turn */
}

static int
continue_run(Cluster *cluster, const char *path)
{
    char target[PARTIAL_RUN_PATH_SIZE + 16];
    (void)snprintf(target, sizeof target, "%s:continue", path);
    int fd = send_post(cluster, target, "{\"feeds\":{\"x\":3},\"fetches\":[\"a\"]}");
    AWAIT(cluster_metric(cluster, "sluice_admission_waiting") == 1);
    return fd;
}

static void
a_request_with_feeds_waits_for_its_turn(void **state)
{
    static char reply[RAW_REPLY_SIZE];
    char path[PARTIAL_RUN_PATH_SIZE];
    int slot = -1;
    Cluster cluster;
    (void)state;
    begin_beside_endless(&cluster, TWO_STAGES, path, &slot);
    int fd = continue_run(&cluster, path);
    partial_run_expect_view(&cluster, path, 200, "\"feeds\":[\"y\"]");
    (void)close(slot);
    assert_int_equal(raw_reply(fd, reply, AWAIT_MS), 200);
    assert_non_null(strstr(reply, "\"data\":[-3]"));
    (void)close(fd);
    cluster_stop(&cluster);
}

static void
a_request_that_waits_for_its_turn_hears_of_the_end(void **state)
{
    static char reply[RAW_REPLY_SIZE];
    char path[PARTIAL_RUN_PATH_SIZE];
    int slot = -1;
    Cluster cluster;
    AUTO_REST deleted = {0};
    (void)state;
    begin_beside_endless(&cluster, TWO_STAGES, path, &slot);
    int fd = continue_run(&cluster, path);
    cluster_send(&cluster, "DELETE", path, NULL, &deleted);
    cluster_expect(&deleted, 204, NULL);
    assert_int_equal(raw_reply(fd, reply, AWAIT_MS), 499);
    assert_non_null(strstr(reply, "the partial run was deleted"));
    (void)close(fd);
    AWAIT(cluster_metric(&cluster, "sluice_admission_waiting") == 0);
    (void)close(slot);
    cluster_stop(&cluster);
}

static void
a_request_that_waits_for_its_turn_until_the_deadline_is_told(void **state)
{
    static char reply[RAW_REPLY_SIZE];
    char path[PARTIAL_RUN_PATH_SIZE];
    int slot = -1;
    Cluster cluster;
    (void)state;
    begin_beside_endless(
        &cluster, "{\"feeds\":[\"x\"],\"fetches\":[\"a\"],\"options\":{\"timeout_ms\":8000}}", path, &slot);
    int fd = continue_run(&cluster, path);
    assert_int_equal(raw_reply(fd, reply, AWAIT_MS), 504);
    assert_non_null(strstr(reply, "while the step waited for a slot of the pool"));
    (void)close(fd);
    AWAIT(cluster_metric(&cluster, "sluice_admission_running") == 1);
    (void)close(slot);
    cluster_stop(&cluster);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(above_the_quota_a_setup_is_refused),
        CLUSTER_TEST(a_setup_waits_for_a_place_that_comes_free),
        CLUSTER_TEST(a_setup_whose_client_hangs_up_leaves_nothing),
        CLUSTER_TEST(a_run_that_is_deleted_frees_its_place),
        CLUSTER_TEST(a_run_that_is_complete_frees_its_place),
        CLUSTER_TEST(a_run_that_has_all_its_feeds_frees_its_place),
        CLUSTER_TEST(a_run_that_fails_frees_its_place),
        CLUSTER_TEST(a_run_that_expires_frees_its_place),
        CLUSTER_TEST(a_run_whose_session_is_deleted_frees_its_place),
        CLUSTER_TEST(a_run_whose_worker_dies_frees_its_place),
        CLUSTER_TEST(a_gateway_that_ends_leaves_its_places_to_the_others),
        CLUSTER_TEST(a_run_on_two_slots_rests_when_both_do),
        cmocka_unit_test(runs_that_wait_for_their_clients_hold_no_slot),
        cmocka_unit_test(a_request_with_feeds_waits_for_its_turn),
        cmocka_unit_test(a_request_that_waits_for_its_turn_hears_of_the_end),
        cmocka_unit_test(a_request_that_waits_for_its_turn_until_the_deadline_is_told),
    };
    return cmocka_run_group_tests_name("partial run pool", tests, NULL, NULL);
}
