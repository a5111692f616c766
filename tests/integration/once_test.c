/* Steps that change a session's variables, queued or with an Idempotency-Key, while their gateways are
 * killed: each has exactly one outcome as long as its worker lives, and says so when the worker is lost. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/support/await.h"
#include "tests/support/cluster.h"
#include "tests/support/graph_json.h"
#include "tests/support/raw_http.h"

enum { KILLS = 3, STEPS_A_KILL = 12, KEYED_STEPS = 6, PATH_SIZE = 256, KEY_HEADER_SIZE = 40 };

#define QUEUED_FLOATS "\"component_types\":{\"list\":{\"type\":[\"DT_FLOAT\"]}}"

static const char counter[] = "{\"node\":[" NODE("count", "VariableV2", "",
    "\"dtype\":{\"type\":\"DT_FLOAT\"},\"shape\":{\"shape\":{}}") "," SCALAR("zero", "0") "," SCALAR("one",
    "1") "," NODE("init", "Assign", "\"count\",\"zero\"", T_FLOAT) "," NODE("add", "AssignAdd",
    "\"count\",\"one\"", T_FLOAT) "," NODE("next", "Identity", "\"add\"", T_FLOAT) "," NODE("read",
    "Identity", "\"count\"", T_FLOAT) "," NODE("gate", "FIFOQueueV2", "", QUEUED_FLOATS) "," NODE("pass",
    "QueueDequeueV2", "\"gate\",\"^next\"",
    QUEUED_FLOATS) "," NODE("late", "Identity", "\"next\",\"^pass\"", T_FLOAT) "," NODE("open",
    "QueueEnqueueV2", "\"gate\",\"one\"", "\"Tcomponents\":{\"list\":{\"type\":[\"DT_FLOAT\"]}}") "]}";

static const char add_step[] = "{\"fetches\":[\"next\"]}";

/* Counts, and then waits until the gate is opened for it. */
static const char gated_step[] = "{\"fetches\":[\"late\"]}";

static const char *const gateway_arguments[] = {"--queue-lease", "1s", NULL};

/* Steps that wait at the gate must keep no slot of the pool from others. */
static const char *const worker_arguments[] = {"--slots", "64", NULL};

/* Two counters on two workers, which exchange tensors in every step: "next" is told when both have counted,
 * and "late" when the gate has been opened, too. */
static const char counters[] = "count = VariableV2() dtype=float32 shape=<> @/job:worker/task:0\n"
                               "other = VariableV2() dtype=float32 shape=<> @/job:worker/task:1\n"
                               "zero = Const() dtype=float32 value=float32(0)\n"
                               "one = Const() dtype=float32 value=float32(1)\n"
                               "init_count = Assign(count, zero) T=float32 @/job:worker/task:0\n"
                               "init_other = Assign(other, zero) T=float32 @/job:worker/task:1\n"
                               "add = AssignAdd(count, one) T=float32 @/job:worker/task:0\n"
                               "sent = Identity(add) T=float32 @/job:worker/task:0\n"
                               "step = Sub(sent, sent) T=float32 @/job:worker/task:1\n"
                               "raise = Add(step, one) T=float32 @/job:worker/task:1\n"
                               "add_other = AssignAdd(other, raise) T=float32 @/job:worker/task:1\n"
                               "back = Identity(add_other) T=float32 @/job:worker/task:1\n"
                               "next = Add(sent, back) T=float32 @/job:worker/task:0\n"
                               "gate = FIFOQueueV2() component_types=[float32] @/job:worker/task:1\n"
                               "pass = QueueDequeueV2(gate, ^back) component_types=[float32] "
                               "@/job:worker/task:1\n"
                               "late = Add(next, pass) T=float32 @/job:worker/task:0\n"
                               "open = QueueEnqueueV2(gate, one) Tcomponents=[float32] @/job:worker/task:1\n"
                               "read = Identity(count) T=float32 @/job:worker/task:0\n"
                               "read_other = Identity(other) T=float32 @/job:worker/task:1\n";

static void
start_cluster(Cluster *cluster, int worker_count)
{
    *cluster = (Cluster){0};
    assert_true(cluster_start(cluster, &(ClusterOptions){.worker_count = worker_count,
                                           .gateway_arguments = gateway_arguments,
                                           .worker_arguments = worker_arguments}));
    cluster_session(cluster, "{}");
}

static void
begin_counting(Cluster *cluster)
{
    start_cluster(cluster, 1);
    cluster_graph(cluster, counter);
    cluster_expect_step(cluster, "{\"targets\":[\"init\"]}", 200, NULL);
}

static void
begin_counting_on_two(Cluster *cluster)
{
    start_cluster(cluster, 2);
    cluster_graph_literal(cluster, counters);
    cluster_expect_step(cluster, "{\"targets\":[\"init_count\",\"init_other\"]}", 200, NULL);
}

static void
queue_step(Cluster *cluster, const char *step)
{
    static const char *const later[] = {"Prefer: respond-async", NULL};
    char path[PATH_SIZE];
    AUTO_REST accepted = {0};
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/steps", cluster->session);
    cluster_send_with(cluster, "POST", path, later, step, &accepted);
    cluster_expect(&accepted, 202, NULL);
}

static bool
has_ended(Cluster *cluster)
{
    return database_says(cluster->database, "select count(*) from sluice.steps where ended_at is null", "0");
}

static bool
runs_something(Cluster *cluster)
{
    return database_says(
        cluster->database, "select count(*) > 0 from sluice.steps where is_async and state = 'running'", "t");
}

static bool
shows(Cluster *cluster, const char *node, int count)
{
    char step[64];
    char wanted[40];
    AUTO_REST response = {0};
    (void)snprintf(step, sizeof step, "{\"fetches\":[\"%s\"]}", node);
    (void)snprintf(wanted, sizeof wanted, "\"data\":[%d]", count);
    cluster_step(cluster, step, &response);
    return response.status == 200 && strstr(rest_text(&response), wanted) != NULL;
}

static bool
has_counted(Cluster *cluster, int count)
{
    return shows(cluster, "read", count);
}

/* Queues steps that count, and kills gateways while steps are on their way to workers that are held up. */
static void
count_under_kills(Cluster *cluster)
{
    for (int turn = 0; turn < KILLS; turn++) {
        for (int index = 0; index < STEPS_A_KILL; index++) {
            if (index == STEPS_A_KILL / 2) {
                cluster_signal_workers(cluster, SIGSTOP);
            }
            queue_step(cluster, add_step);
        }
        AWAIT(runs_something(cluster));
        pause_ms(500); /* for the step to be sent */
        (void)process_stop(&cluster->gateway, SIGKILL);
        cluster_signal_workers(cluster, SIGCONT);
        assert_true(cluster_restart_gateway(cluster));
    }
    AWAIT(has_ended(cluster));
    assert_string_equal(
        database_ask(cluster->database, "select count(*) > 0 from sluice.steps where attempts > 1"), "t");
    assert_string_equal(database_ask(cluster->database,
                            "select string_agg(distinct state || coalesce(error_message, ''), ' ') from "
                            "sluice.steps where is_async"),
        "succeeded");
}

static void
steps_that_change_variables_are_run_once_though_their_gateways_are_killed(void **state)
{
    Cluster cluster;
    char wanted[16];
    (void)state;
    begin_counting(&cluster);
    count_under_kills(&cluster);
    (void)snprintf(wanted, sizeof wanted, "%d", KILLS * STEPS_A_KILL);
    cluster_expect_step(&cluster, "{\"fetches\":[\"read\"]}", 200, wanted);
    assert_string_equal(
        database_ask(cluster.database, "select count(distinct sha256) from sluice.step_outputs"), wanted);
    cluster_stop(&cluster);
}

static void
a_step_whose_worker_was_lost_says_that_it_may_have_been_run(void **state)
{
    Cluster cluster;
    (void)state;
    begin_counting(&cluster);
    cluster_signal_workers(&cluster, SIGSTOP);
    queue_step(&cluster, add_step);
    AWAIT(runs_something(&cluster));
    pause_ms(2000); /* for the step to be sent */
    (void)process_stop(&cluster.workers[0], SIGKILL);
    assert_true(cluster_restart_worker(&cluster, 0));
    AWAIT(has_ended(&cluster));
    const char *told = database_ask(
        cluster.database, "select state || ': ' || error_message from sluice.steps where is_async");
    assert_int_equal(strncmp(told, "failed: ", 8), 0);
    assert_non_null(strstr(told, "lost with"));
    cluster_stop(&cluster);
}

static const char *
ends_of_queued(Cluster *cluster)
{
    return database_ask(cluster->database,
        "select string_agg(distinct state || ': ' || coalesce(error_message, ''), ' ') from sluice.steps "
        "where is_async");
}

static void
steps_that_change_variables_of_two_workers_are_run_once_though_their_gateways_are_killed(void **state)
{
    Cluster cluster;
    (void)state;
    begin_counting_on_two(&cluster);
    count_under_kills(&cluster);
    assert_true(shows(&cluster, "read", KILLS * STEPS_A_KILL));
    assert_true(shows(&cluster, "read_other", KILLS * STEPS_A_KILL));
    cluster_stop(&cluster);
}

static void
runs_on_two_workers_go_on_while_their_gateway_is_gone(void **state)
{
    Cluster cluster;
    (void)state;
    begin_counting_on_two(&cluster);
    for (int index = 0; index < KEYED_STEPS; index++) {
        queue_step(&cluster, gated_step);
    }
    AWAIT(shows(&cluster, "read_other", KEYED_STEPS));
    (void)process_stop(&cluster.gateway, SIGKILL);
    assert_true(cluster_restart_gateway(&cluster));
    for (int index = 0; index < KEYED_STEPS; index++) {
        cluster_expect_step(&cluster, "{\"targets\":[\"open\"]}", 200, NULL);
    }
    AWAIT(has_ended(&cluster));
    assert_string_equal(ends_of_queued(&cluster), "succeeded: ");
    assert_true(shows(&cluster, "read", KEYED_STEPS));
    assert_true(shows(&cluster, "read_other", KEYED_STEPS));
    cluster_stop(&cluster);
}

/* Returns the index of the worker that has the second counter. */
static int
second_worker(Cluster *cluster)
{
    return strcmp(database_ask(cluster->database, "select name from sluice.workers where task = 1"), "w1") ==
           0;
}

/* Begins a step of a new plan: its first worker has its part and counts; the second, held up, has not said
 * yet that it does not know its part when the gateway dies. */
static int
begin_on_first_of_two(Cluster *cluster)
{
    begin_counting_on_two(cluster);
    assert_true(has_counted(cluster, 0)); /* so that its plan needs no part of the second */
    int second = second_worker(cluster);
    (void)kill(cluster->workers[second].pid, SIGSTOP);
    queue_step(cluster, add_step);
    AWAIT(has_counted(cluster, 1));
    (void)process_stop(&cluster->gateway, SIGKILL);
    return second;
}

static void
a_step_that_was_begun_on_one_of_two_workers_is_completed(void **state)
{
    Cluster cluster;
    (void)state;
    int second = begin_on_first_of_two(&cluster);
    (void)kill(cluster.workers[second].pid, SIGCONT);
    assert_true(cluster_restart_gateway(&cluster));
    AWAIT(has_ended(&cluster));
    assert_string_equal(ends_of_queued(&cluster), "succeeded: ");
    assert_true(has_counted(&cluster, 1));
    assert_true(shows(&cluster, "read_other", 1));
    cluster_stop(&cluster);
}

static void
a_step_of_two_workers_that_lost_one_says_that_a_part_of_it_was_run(void **state)
{
    Cluster cluster;
    (void)state;
    int second = begin_on_first_of_two(&cluster);
    (void)process_stop(&cluster.workers[second], SIGKILL);
    assert_true(cluster_restart_both(&cluster, second));
    AWAIT(has_ended(&cluster));
    const char *told = ends_of_queued(&cluster);
    assert_int_equal(strncmp(told, "failed: ", 8), 0);
    assert_non_null(strstr(told, "lost"));
    assert_true(has_counted(&cluster, 1));
    cluster_stop(&cluster);
}

/* A synchronous step with a key of its own, which its client sends to one gateway and then to another. */
typedef struct KeyedStep {
    Cluster *cluster;
    const char *address; /* of the gateway */
    pthread_t thread;
    char key[KEY_HEADER_SIZE];
    int status; /* of the last answer; 0: none came */
    char answer[PATH_SIZE];
} KeyedStep;

static int
send_keyed(KeyedStep *step)
{
    const char *const headers[] = {step->key, NULL};
    char url[2 * PATH_SIZE];
    AUTO_REST response = {0};
    (void)snprintf(
        url, sizeof url, "http://%s/api/v1/sessions/%s/steps", step->address, step->cluster->session);
    rest_send(
        &(RestRequest){
            .method = "POST", .url = url, .headers = headers, .body = slice_from_string(gated_step)},
        &response);
    step->status = response.status;
    const char *text = strstr(rest_text(&response), response.status == 200 ? "\"outputs\"" : "\"detail\"");
    (void)snprintf(step->answer, sizeof step->answer, "%s", text == NULL ? "" : text);
    return step->status;
}

static void *
run_client(void *context)
{
    (void)send_keyed(context);
    return NULL;
}

/* Sends the steps through a gateway that is killed when all have counted and none has passed the gate; then
 * they may be sent to the cluster's own. */
static void
send_through_doomed_gateway(Cluster *cluster, KeyedStep *steps, int count)
{
    Process doomed = {0};
    assert_true(cluster_add_gateway(cluster, &doomed));
    AWAIT(database_says(cluster->database, "select count(*) from sluice.pool_gateways", "2"));
    for (int index = 0; index < count; index++) {
        steps[index] = (KeyedStep){.cluster = cluster, .address = doomed.address};
        (void)snprintf(steps[index].key, KEY_HEADER_SIZE, "Idempotency-Key: add-%d", index);
        assert_int_equal(pthread_create(&steps[index].thread, NULL, run_client, &steps[index]), 0);
        AWAIT(has_counted(cluster, index + 1));
    }
    (void)process_stop(&doomed, SIGKILL);
    for (int index = 0; index < count; index++) {
        (void)pthread_join(steps[index].thread, NULL);
        assert_int_equal(steps[index].status, 0);
        steps[index].address = cluster->gateway.address;
    }
}

static void
send_keyed_through_two_gateways(Cluster *cluster)
{
    KeyedStep steps[KEYED_STEPS];
    send_through_doomed_gateway(cluster, steps, KEYED_STEPS);
    for (int index = 0; index < KEYED_STEPS; index++) {
        cluster_expect_step(cluster, "{\"targets\":[\"open\"]}", 200, NULL);
    }
    for (int index = 0; index < KEYED_STEPS; index++) {
        AWAIT(send_keyed(&steps[index]) == 200);
        for (int before = 0; before < index; before++) {
            assert_string_not_equal(steps[before].answer, steps[index].answer);
        }
    }
    assert_true(has_counted(cluster, KEYED_STEPS));
}

static void
keyed_steps_whose_gateway_was_killed_have_one_effect_through_another(void **state)
{
    Cluster cluster;
    (void)state;
    begin_counting(&cluster);
    send_keyed_through_two_gateways(&cluster);
    cluster_stop(&cluster);
}

static void
keyed_steps_of_two_workers_have_one_effect_through_another_gateway(void **state)
{
    Cluster cluster;
    (void)state;
    begin_counting_on_two(&cluster);
    send_keyed_through_two_gateways(&cluster);
    assert_true(shows(&cluster, "read_other", KEYED_STEPS));
    cluster_stop(&cluster);
}

static void
a_keyed_step_whose_gateway_and_worker_were_lost_says_that_it_may_have_been_run(void **state)
{
    Cluster cluster;
    KeyedStep step;
    (void)state;
    begin_counting(&cluster);
    send_through_doomed_gateway(&cluster, &step, 1);
    (void)process_stop(&cluster.workers[0], SIGKILL);
    assert_true(cluster_restart_worker(&cluster, 0));
    AWAIT(send_keyed(&step) == 400);
    assert_non_null(strstr(step.answer, "the step may have been run before"));
    assert_non_null(strstr(step.answer, "lost with"));
    cluster_stop(&cluster);
}

/* A client that hangs up ends its step, wherever that is; the next one with its key hears of it. */
static void
a_keyed_step_that_was_broken_off_says_so_before_it_is_run_again(void **state)
{
    Cluster cluster;
    char request[1024];
    KeyedStep again = {.cluster = &cluster, .key = "Idempotency-Key: add-0"};
    (void)state;
    begin_counting(&cluster);
    again.address = cluster.gateway.address;
    (void)snprintf(request, sizeof request,
        "POST /api/v1/sessions/%s/steps HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "%s\r\nContent-Length: %zu\r\n\r\n%s",
        cluster.session, again.key, sizeof gated_step - 1, gated_step);
    int client = raw_open(cluster.gateway.address);
    raw_send_text(client, request);
    AWAIT(has_counted(&cluster, 1));
    (void)close(client);
    AWAIT(send_keyed(&again) == 400);
    assert_non_null(strstr(again.answer, "the step was broken off on worker 'w0'"));
    cluster_expect_step(&cluster, "{\"targets\":[\"open\"]}", 200, NULL);
    AWAIT(send_keyed(&again) == 200);
    assert_true(has_counted(&cluster, 2));
    cluster_stop(&cluster);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_that_change_variables_are_run_once_though_their_gateways_are_killed),
        cmocka_unit_test(a_step_whose_worker_was_lost_says_that_it_may_have_been_run),
        cmocka_unit_test(
            steps_that_change_variables_of_two_workers_are_run_once_though_their_gateways_are_killed),
        cmocka_unit_test(runs_on_two_workers_go_on_while_their_gateway_is_gone),
        cmocka_unit_test(a_step_that_was_begun_on_one_of_two_workers_is_completed),
        cmocka_unit_test(a_step_of_two_workers_that_lost_one_says_that_a_part_of_it_was_run),
        cmocka_unit_test(keyed_steps_whose_gateway_was_killed_have_one_effect_through_another),
        cmocka_unit_test(keyed_steps_of_two_workers_have_one_effect_through_another_gateway),
        cmocka_unit_test(a_keyed_step_whose_gateway_and_worker_were_lost_says_that_it_may_have_been_run),
        cmocka_unit_test(a_keyed_step_that_was_broken_off_says_so_before_it_is_run_again),
    };
    return cmocka_run_group_tests_name("once", tests, NULL, NULL);
}
