/* Steps accepted for later: they are durable, run once, and their state is told truly. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shared/base/memory.h"
#include "shared/tensor/npy.h"
#include "tests/support/await.h"
#include "tests/support/cluster.h"
#include "tests/support/raw_http.h"
#include "tests/support/step_graphs.h"

enum { PATH_SIZE = 256 };

static const char *const later[] = {"Prefer: respond-async", NULL};

/* Makes a session with the graph; `path` is that of its steps. */
static void
prepare(Cluster *cluster, char path[PATH_SIZE])
{
    cluster_session(cluster, "{}");
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    (void)snprintf(path, PATH_SIZE, "/api/v1/sessions/%s/steps", cluster->session);
}

/* Queues a step; `step` becomes its path. */
static void
enqueue(Cluster *cluster, const char *path, char step[PATH_SIZE])
{
    AUTO_REST response = {0};
    cluster_send_with(cluster, "POST", path, later, STEP_BODY_AFFINE, &response);
    cluster_expect(&response, 202, NULL);
    (void)snprintf(step, PATH_SIZE, "%s", rest_header(&response, "Location"));
}

/* Waits until the step is in this state and gets it. */
static void
await_state(Cluster *cluster, const char *step, const char *wanted, RestResponse *ret_response)
{
    AWAIT(cluster_is_step_in(cluster, step, wanted));
    cluster_send(cluster, "GET", step, NULL, ret_response);
}

static bool
start(Cluster *cluster, const char *const *gateway_arguments)
{
    return cluster_start(cluster, &(ClusterOptions){.gateway_arguments = gateway_arguments});
}

static void
a_queued_step_is_accepted_runs_and_keeps_its_outputs(void **state)
{
    Cluster *cluster = *state;
    char path[PATH_SIZE];
    char output[PATH_SIZE * 2];
    AUTO_REST accepted = {0};
    AUTO_REST ended = {0};
    AUTO_REST tensor = {0};
    prepare(cluster, path);
    cluster_send_with(cluster, "POST", path, later, STEP_BODY_AFFINE, &accepted);
    cluster_expect(&accepted, 202, NULL);
    assert_string_equal(rest_header(&accepted, "Retry-After"), "1");
    assert_string_equal(rest_header(&accepted, "Preference-Applied"), "respond-async");
    assert_non_null(strstr(rest_text(&accepted), "\"state\":\"queued\""));
    const char *step = rest_header(&accepted, "Location");
    assert_memory_equal(step, path, strlen(path));
    (void)snprintf(output, sizeof output, "%s/outputs/y", step);
    char step_path[PATH_SIZE];
    (void)snprintf(step_path, sizeof step_path, "%s", step);
    await_state(cluster, step_path, "succeeded", &ended);
    assert_non_null(strstr(rest_text(&ended), "\"y\":{\"dtype\":\"float32\",\"shape\":[1,2],\"href\":"));
    assert_non_null(strstr(rest_text(&ended), "\"attempts\":1"));
    cluster_send(cluster, "GET", output, NULL, &tensor);
    cluster_expect(&tensor, 200, NULL);
    assert_string_equal(rest_text(&tensor), "{\"dtype\":\"float32\",\"shape\":[1,2],\"data\":[17,30]}");
}

static void
each_form_of_an_output_has_a_tag_of_its_own(void **state)
{
    static const char *const npy[] = {"Accept: application/x-npy", NULL};
    Cluster *cluster = *state;
    char path[PATH_SIZE];
    char step[PATH_SIZE];
    char output[PATH_SIZE * 2];
    char tag[PATH_SIZE];
    AUTO_REST ended = {0};
    AUTO_REST json = {0};
    AUTO_REST file = {0};
    AUTO_REST same = {0};
    prepare(cluster, path);
    enqueue(cluster, path, step);
    await_state(cluster, step, "succeeded", &ended);
    (void)snprintf(output, sizeof output, "%s/outputs/y", step);
    cluster_send(cluster, "GET", output, NULL, &json);
    (void)snprintf(tag, sizeof tag, "If-None-Match: %s", rest_header(&json, "ETag"));
    const char *const json_again[] = {tag, NULL};
    const char *const npy_again[] = {tag, npy[0], NULL};
    cluster_send_with(cluster, "GET", output, json_again, NULL, &same);
    cluster_expect(&same, 304, NULL);
    cluster_send_with(cluster, "GET", output, npy_again, NULL, &file);
    cluster_expect(&file, 200, NULL);
}

static void
an_output_that_no_npy_holds_is_not_acceptable(void **state)
{
    static const char *const accept[] = {"Accept: application/x-npy", NULL};
    Cluster *cluster = *state;
    char path[PATH_SIZE];
    char step[PATH_SIZE];
    char output[PATH_SIZE * 2];
    AUTO_REST accepted = {0};
    AUTO_REST ended = {0};
    AUTO_REST file = {0};
    prepare(cluster, path);
    cluster_graph(cluster,
        "{\"node\":[{\"name\":\"s\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_STRING\"}}},"
        "{\"name\":\"t\",\"op\":\"Identity\",\"input\":[\"s\"],\"attr\":{\"T\":{\"type\":\"DT_STRING\"}}}]}");
    cluster_send_with(
        cluster, "POST", path, later, "{\"feeds\":{\"s\":[\"a\"]},\"fetches\":[\"t\"]}", &accepted);
    cluster_expect(&accepted, 202, NULL);
    (void)snprintf(step, sizeof step, "%s", rest_header(&accepted, "Location"));
    await_state(cluster, step, "succeeded", &ended);
    (void)snprintf(output, sizeof output, "%s/outputs/t", step);
    cluster_send_with(cluster, "GET", output, accept, NULL, &file);
    cluster_expect(&file, 406, "a .npy file cannot hold string elements: accept application/json");
}

static void
an_output_as_npy_is_equal_to_the_tensor(void **state)
{
    static const char *const accept[] = {"Accept: application/x-npy", NULL};
    Cluster *cluster = *state;
    char path[PATH_SIZE];
    char step[PATH_SIZE];
    char output[PATH_SIZE * 2];
    AUTO_REST ended = {0};
    AUTO_REST file = {0};
    AUTO_ARENA arena = arena_new(1 << 20);
    AUTO_TENSOR tensor = {0};
    Call call = {.arena = arena};
    prepare(cluster, path);
    enqueue(cluster, path, step);
    await_state(cluster, step, "succeeded", &ended);
    (void)snprintf(output, sizeof output, "%s/outputs/y:0", step);
    cluster_send_with(cluster, "GET", output, accept, NULL, &file);
    cluster_expect(&file, 200, NULL);
    assert_string_equal(rest_header(&file, "Content-Type"), "application/x-npy");
    assert_int_equal(npy_read(&call, buffer_slice(&file.body), 1 << 20, &tensor), STATUS_OK);
    assert_int_equal(tensor.dtype, DTYPE_FLOAT32);
    const float expected[] = {17, 30};
    assert_int_equal(tensor_byte_size(&tensor), sizeof expected);
    assert_memory_equal(tensor.data, expected, sizeof expected);
}

static void
a_queued_step_that_ends_while_its_client_waits_is_answered_with_its_end(void **state)
{
    static const char *const waiting[] = {"Prefer: respond-async, wait=10", NULL};
    Cluster *cluster = *state;
    char path[PATH_SIZE];
    AUTO_REST response = {0};
    prepare(cluster, path);
    cluster_send_with(cluster, "POST", path, waiting, STEP_BODY_AFFINE, &response);
    cluster_expect(&response, 200, "\"state\":\"succeeded\"");
    assert_non_null(strstr(rest_text(&response), "\"y\":{\"dtype\":\"float32\",\"shape\":[1,2],\"href\":"));
    assert_string_equal(rest_header(&response, "Preference-Applied"), "respond-async, wait=10");
    assert_string_equal(rest_header(&response, "Retry-After"), "");
    assert_memory_equal(rest_header(&response, "Location"), path, strlen(path));
}

static void
a_look_at_a_step_waits_for_its_end_when_asked_to(void **state)
{
    static const char *const waiting[] = {"Prefer: wait=10", NULL};
    Cluster *cluster = *state;
    char path[PATH_SIZE];
    char step[PATH_SIZE];
    prepare(cluster, path);
    for (int run = 0; run < 5; run++) {
        AUTO_REST response = {0};
        enqueue(cluster, path, step);
        cluster_send_with(cluster, "GET", step, waiting, NULL, &response);
        cluster_expect(&response, 200, "\"state\":\"succeeded\"");
        assert_string_equal(rest_header(&response, "Preference-Applied"), "wait=10");
    }
}

/* Nobody runs the step: this gateway takes none from the queue. */
static void
a_step_that_does_not_end_in_time_is_told_as_it_is(void **state)
{
    static const char *const none[] = {"--queue-slots=0", NULL};
    static const char *const waiting[] = {"Prefer: wait=1, respond-async", NULL};
    Cluster cluster;
    char path[PATH_SIZE];
    char step[PATH_SIZE];
    AUTO_REST accepted = {0};
    AUTO_REST seen = {0};
    (void)state;
    assert_true(start(&cluster, none));
    prepare(&cluster, path);
    uint64_t begin_ns = clock_monotonic_ns();
    cluster_send_with(&cluster, "POST", path, waiting, STEP_BODY_AFFINE, &accepted);
    cluster_expect(&accepted, 202, NULL);
    assert_true(clock_monotonic_ns() - begin_ns >= CLOCK_NS_PER_S);
    assert_string_equal(rest_header(&accepted, "Preference-Applied"), "respond-async, wait=1");
    assert_non_null(strstr(rest_text(&accepted), "\"state\":\"queued\""));
    (void)snprintf(step, sizeof step, "%s", rest_header(&accepted, "Location"));
    cluster_send_with(&cluster, "GET", step, waiting, NULL, &seen);
    cluster_expect(&seen, 200, "\"state\":\"queued\"");
    assert_in_range(clock_monotonic_ns() - begin_ns, 2 * CLOCK_NS_PER_S, AWAIT_MS * CLOCK_NS_PER_MS);
    cluster_stop(&cluster);
}

static void
a_step_that_cannot_run_is_refused_at_once(void **state)
{
    Cluster *cluster = *state;
    char path[PATH_SIZE];
    AUTO_REST response = {0};
    prepare(cluster, path);
    cluster_send_with(
        cluster, "POST", path, later, "{\"feeds\":{\"x\":[[1,2]]},\"fetches\":[\"nope\"]}", &response);
    cluster_expect(&response, 404, NULL);
    assert_string_equal(database_ask(cluster->database, "select count(*) from sluice.steps"), "0");
}

static void
a_step_that_fails_says_which_node_and_is_not_tried_again(void **state)
{
    Cluster *cluster = *state;
    char path[PATH_SIZE];
    char step[PATH_SIZE];
    AUTO_REST response = {0};
    AUTO_REST ended = {0};
    prepare(cluster, path);
    cluster_send_with(
        cluster, "POST", path, later, "{\"feeds\":{\"x\":[[1,2,3]]},\"fetches\":[\"y\"]}", &response);
    cluster_expect(&response, 202, NULL);
    (void)snprintf(step, sizeof step, "%s", rest_header(&response, "Location"));
    await_state(cluster, step, "failed", &ended);
    assert_non_null(strstr(rest_text(&ended), "\"attempts\":1"));
    assert_non_null(strstr(rest_text(&ended), "\"code\":\"INVALID_ARGUMENT\""));
    assert_non_null(strstr(rest_text(&ended), "\"node\":\"xw\""));
}

static void
a_gateway_killed_after_a_202_the_step_runs_when_it_is_back(void **state)
{
    static const char *const arguments[] = {"--queue-lease", "1s", NULL};
    Cluster cluster;
    char path[PATH_SIZE];
    char step[PATH_SIZE];
    AUTO_REST ended = {0};
    (void)state;
    assert_true(start(&cluster, arguments));
    prepare(&cluster, path);
    /* Stopped workers keep the step in the middle of its run. */
    cluster_signal_workers(&cluster, SIGSTOP);
    enqueue(&cluster, path, step);
    (void)process_stop(&cluster.gateway, SIGKILL);
    cluster_signal_workers(&cluster, SIGCONT);
    assert_true(cluster_restart_gateway(&cluster));
    await_state(&cluster, step, "succeeded", &ended);
    cluster_stop(&cluster);
}

static void
a_worker_killed_under_a_queued_step_the_step_succeeds_on_the_other(void **state)
{
    Cluster *cluster = *state;
    char path[PATH_SIZE];
    char steps[8][PATH_SIZE];
    prepare(cluster, path);
    (void)kill(cluster->workers[0].pid, SIGSTOP);
    for (size_t index = 0; index < COUNT_OF(steps); index++) {
        enqueue(cluster, path, steps[index]);
    }
    (void)process_stop(&cluster->workers[0], SIGKILL);
    for (size_t index = 0; index < COUNT_OF(steps); index++) {
        AUTO_REST ended = {0};
        await_state(cluster, steps[index], "succeeded", &ended);
    }
}

static void
a_gateway_that_drains_gives_its_leases_back_without_charge(void **state)
{
    static const char *const arguments[] = {"--grace", "100ms", NULL};
    Cluster cluster;
    char path[PATH_SIZE];
    char step[PATH_SIZE];
    AUTO_REST response = {0};
    (void)state;
    assert_true(start(&cluster, arguments));
    prepare(&cluster, path);
    cluster_signal_workers(&cluster, SIGSTOP);
    enqueue(&cluster, path, step);
    await_state(&cluster, step, "running", &response);
    assert_int_equal(process_stop(&cluster.gateway, SIGTERM), 0);
    cluster_signal_workers(&cluster, SIGCONT);
    assert_string_equal(
        database_ask(cluster.database, "select state || ' ' || attempts from sluice.steps"), "queued 0");
    cluster_stop(&cluster);
}

static const char *const no_slots[] = {"--queue-slots", "0", NULL};

static void
a_step_cancelled_while_queued_never_runs(void **state)
{
    Cluster cluster;
    char path[PATH_SIZE];
    char step[PATH_SIZE];
    char cancel[PATH_SIZE + 16];
    (void)state;
    assert_true(start(&cluster, no_slots));
    prepare(&cluster, path);
    enqueue(&cluster, path, step);
    (void)snprintf(cancel, sizeof cancel, "%s:cancel", step);
    for (int round = 0; round < 2; round++) {
        AUTO_REST response = {0};
        cluster_send(&cluster, "POST", cancel, NULL, &response);
        cluster_expect(&response, 200, "\"state\":\"cancelled\"");
    }
    (void)process_stop(&cluster.gateway, SIGTERM);
    cluster.options.gateway_arguments = NULL;
    assert_true(cluster_restart_gateway(&cluster));
    AUTO_REST other = {0};
    char next[PATH_SIZE];
    enqueue(&cluster, path, next);
    await_state(&cluster, next, "succeeded", &other);
    assert_string_equal(
        database_ask(cluster.database, "select state || ' ' || attempts || ' ' || (started_at is null) from "
                                       "sluice.steps order by id limit 1"),
        "cancelled 0 true");
    cluster_stop(&cluster);
}

static void
a_running_queued_step_is_cancelled_on_its_workers(void **state)
{
    Cluster *cluster = *state;
    char path[PATH_SIZE];
    char step[PATH_SIZE];
    char cancel[PATH_SIZE + 16];
    AUTO_REST running = {0};
    AUTO_REST asked = {0};
    AUTO_REST ended = {0};
    prepare(cluster, path);
    cluster_signal_workers(cluster, SIGSTOP);
    enqueue(cluster, path, step);
    await_state(cluster, step, "running", &running);
    (void)snprintf(cancel, sizeof cancel, "%s:cancel", step);
    cluster_send(cluster, "POST", cancel, NULL, &asked);
    cluster_expect(&asked, 200, "\"cancel_requested\":true");
    await_state(cluster, step, "cancelled", &ended);
    cluster_signal_workers(cluster, SIGCONT);
}

static void
lists_give_every_step_once_in_pages(void **state)
{
    enum { STEPS = 5 };
    Cluster cluster;
    char path[PATH_SIZE];
    char step[PATH_SIZE];
    char token[256] = "";
    int seen = 0;
    (void)state;
    assert_true(start(&cluster, no_slots));
    prepare(&cluster, path);
    for (int index = 0; index < STEPS; index++) {
        enqueue(&cluster, path, step);
    }
    do {
        char url[PATH_SIZE * 2];
        AUTO_REST page = {0};
        (void)snprintf(url, sizeof url, "/api/v1/steps?state=queued&session=%s&page_size=2%s%s",
            cluster.session, token[0] == '\0' ? "" : "&page_token=", token);
        cluster_send(&cluster, "GET", url, NULL, &page);
        cluster_expect(&page, 200, NULL);
        const char *found = rest_text(&page);
        while ((found = strstr(found, "\"id\":\"stp_")) != NULL) {
            seen++;
            found++;
        }
        if (!rest_member(&page, "next_page_token", token, sizeof token)) {
            token[0] = '\0';
        }
    } while (token[0] != '\0');
    assert_int_equal(seen, STEPS);
    AUTO_REST queue = {0};
    AUTO_REST wrong = {0};
    cluster_send(&cluster, "GET", "/api/v1/queue", NULL, &queue);
    cluster_expect(&queue, 200, "\"queued\":5,");
    assert_non_null(strstr(rest_text(&queue), "\"oldest_at\":\""));
    cluster_send(&cluster, "GET", "/api/v1/steps?state=sleeping", NULL, &wrong);
    cluster_expect(&wrong, 400, NULL);
    cluster_stop(&cluster);
}

static void
another_tenants_step_is_404_on_every_route_of_these(void **state)
{
    static const struct {
        const char *method;
        const char *suffix;
    } routes[] = {{"GET", ""}, {"POST", ":cancel"}, {"GET", "/outputs/y"}};
    Cluster cluster;
    char path[PATH_SIZE];
    char step[PATH_SIZE];
    char other[CLUSTER_KEY_SIZE];
    (void)state;
    assert_true(cluster_start(&cluster, &(ClusterOptions){.has_keys = true}));
    cluster_make_key(&cluster, "first", NULL, cluster.key);
    cluster_make_key(&cluster, "second", NULL, other);
    prepare(&cluster, path);
    enqueue(&cluster, path, step);
    AUTO_REST ended = {0};
    await_state(&cluster, step, "succeeded", &ended);
    (void)snprintf(cluster.key, sizeof cluster.key, "%s", other);
    for (size_t index = 0; index < COUNT_OF(routes); index++) {
        char url[PATH_SIZE + 32];
        AUTO_REST response = {0};
        (void)snprintf(url, sizeof url, "%s%s", step, routes[index].suffix);
        cluster_send(&cluster, routes[index].method, url, NULL, &response);
        cluster_expect(&response, 404, NULL);
    }
    AUTO_REST list = {0};
    AUTO_REST jobs = {0};
    cluster_send(&cluster, "GET", path, NULL, &list);
    cluster_expect(&list, 404, NULL);
    cluster_send(&cluster, "GET", "/api/v1/steps", NULL, &jobs);
    cluster_expect(&jobs, 200, NULL);
    assert_string_equal(rest_text(&jobs), "{\"steps\":[],\"next_page_token\":\"\"}");
    cluster_stop(&cluster);
}

static long
ask_number(Cluster *cluster, const char *sql)
{
    return strtol(database_ask(cluster->database, sql), NULL, 10);
}

enum { BURST = 40 };

/* Sends all requests before it reads the first reply, so that they are committed together. */
static void
burst(const Cluster *cluster, int ret_statuses[BURST])
{
    static char reply[RAW_REPLY_SIZE];
    int fds[BURST];
    for (int index = 0; index < BURST; index++) {
        char request[1024];
        const char *body = STEP_BODY_AFFINE;
        int size = snprintf(request, sizeof request,
            "POST /api/v1/sessions/%s/steps HTTP/1.1\r\nHost: localhost\r\nPrefer: respond-async\r\n"
            "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
            cluster->session, strlen(body), body);
        fds[index] = raw_open(cluster->gateway.address);
        raw_send(fds[index], request, (size_t)size);
    }
    for (int index = 0; index < BURST; index++) {
        ret_statuses[index] = raw_reply(fds[index], reply, AWAIT_MS);
        (void)close(fds[index]);
    }
}

static void
a_burst_is_queued_and_ended_together(void **state)
{
    static const char ended[] = "select count(*) from sluice.step_records where state = 'succeeded'";
    Cluster *cluster = *state;
    char path[PATH_SIZE];
    int statuses[BURST];
    prepare(cluster, path);
    burst(cluster, statuses);
    for (int index = 0; index < BURST; index++) {
        assert_int_equal(statuses[index], 202);
    }
    AWAIT(ask_number(cluster, ended) == BURST);
    assert_int_equal(ask_number(cluster, "select count(*) from sluice.step_outputs"), BURST);
    assert_int_equal(ask_number(cluster, "select sum(queued + running) from sluice.queues"), 0);
}

/* The quota has room for ten steps: they are queued, whatever batch they came in. */
static void
a_burst_over_the_quota_is_queued_as_far_as_it_goes(void **state)
{
    Cluster *cluster = *state;
    char path[PATH_SIZE];
    int statuses[BURST];
    int accepted = 0;
    prepare(cluster, path);
    (void)database_ask(
        cluster->database, "update sluice.quotas set queued_steps_max = 10, running_steps_max = 0");
    burst(cluster, statuses);
    for (int index = 0; index < BURST; index++) {
        accepted += statuses[index] == 202;
        assert_true(statuses[index] == 202 || statuses[index] == 429);
    }
    assert_int_equal(accepted, 10);
    assert_int_equal(ask_number(cluster, "select count(*) from sluice.steps"), 10);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(a_burst_is_queued_and_ended_together),
        CLUSTER_TEST(a_burst_over_the_quota_is_queued_as_far_as_it_goes),
        CLUSTER_TEST(a_queued_step_is_accepted_runs_and_keeps_its_outputs),
        CLUSTER_TEST(each_form_of_an_output_has_a_tag_of_its_own),
        CLUSTER_TEST(an_output_that_no_npy_holds_is_not_acceptable),
        CLUSTER_TEST(an_output_as_npy_is_equal_to_the_tensor),
        CLUSTER_TEST(a_queued_step_that_ends_while_its_client_waits_is_answered_with_its_end),
        CLUSTER_TEST(a_look_at_a_step_waits_for_its_end_when_asked_to),
        cmocka_unit_test(a_step_that_does_not_end_in_time_is_told_as_it_is),
        CLUSTER_TEST(a_step_that_cannot_run_is_refused_at_once),
        CLUSTER_TEST(a_step_that_fails_says_which_node_and_is_not_tried_again),
        cmocka_unit_test(a_gateway_killed_after_a_202_the_step_runs_when_it_is_back),
        CLUSTER_TEST(a_worker_killed_under_a_queued_step_the_step_succeeds_on_the_other),
        cmocka_unit_test(a_gateway_that_drains_gives_its_leases_back_without_charge),
        cmocka_unit_test(a_step_cancelled_while_queued_never_runs),
        CLUSTER_TEST(a_running_queued_step_is_cancelled_on_its_workers),
        cmocka_unit_test(lists_give_every_step_once_in_pages),
        cmocka_unit_test(another_tenants_step_is_404_on_every_route_of_these),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
