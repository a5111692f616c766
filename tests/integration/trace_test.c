/* Traces of steps, through gateway and workers: every node of every slot, on one clock. */
#include <cjson/cJSON.h>
#include <stdio.h>

#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/loop_graphs.h"
#include "tests/support/step_graphs.h"

enum { PATH_SIZE = 256 };

static const char spread[] = "{\"slots\":2,\"placement\":\"spread\"}";

#define STEP_BODY(trace)                                                                                     \
    "{\"feeds\":{\"x\":[[1,2]]},\"fetches\":[\"y\",\"xw\"],\"options\":{\"trace\":\"" trace "\"}}"

/* A step of the session that has ended, and the path of its trace. */
typedef struct Traced {
    cJSON *step;
    char path[PATH_SIZE];
} Traced;

static void
step_run(Cluster *cluster, const char *body, Traced *ret_traced)
{
    AUTO_REST response = {0};
    cluster_step(cluster, body, &response);
    cluster_expect(&response, 200, NULL);
    ret_traced->step = cJSON_Parse(rest_text(&response));
    assert_non_null(ret_traced->step);
    (void)snprintf(ret_traced->path, PATH_SIZE, "%s/trace", rest_header(&response, "Location"));
}

static cJSON *
trace_get(Cluster *cluster, const Traced *traced)
{
    AUTO_REST response = {0};
    cluster_send(cluster, "GET", traced->path, NULL, &response);
    cluster_expect(&response, 200, NULL);
    cJSON *trace = cJSON_Parse(rest_text(&response));
    assert_non_null(trace);
    return trace;
}

static const cJSON *
member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *
text(const cJSON *object, const char *name)
{
    const char *value = cJSON_GetStringValue(member(object, name));
    return value == NULL ? "" : value;
}

static double
number(const cJSON *object, const char *name)
{
    assert_true(cJSON_IsNumber(member(object, name)));
    return cJSON_GetNumberValue(member(object, name));
}

static double
end_of(const cJSON *event)
{
    return number(event, "ts") + number(event, "dur");
}

/* Counts the events of a category and a slot; -1: of any slot. */
static int
events_count(const cJSON *trace, const char *category, int slot)
{
    int count = 0;
    const cJSON *event = NULL;
    cJSON_ArrayForEach(event, member(trace, "traceEvents"))
    {
        bool is_counted = strcmp(text(event, "cat"), category) == 0;
        count += is_counted && (slot < 0 || (int)number(event, "pid") == slot);
    }
    return count;
}

static const cJSON *
transfer_find(const cJSON *trace, const char *op, const char *key)
{
    const cJSON *event = NULL;
    cJSON_ArrayForEach(event, member(trace, "traceEvents"))
    {
        const cJSON *about = member(event, "args");
        if (strcmp(text(about, "op"), op) == 0 && strcmp(text(about, "key"), key) == 0) {
            return event;
        }
    }
    fail_msg("no %s of '%s'", op, key);
    return NULL;
}

/* Nanoseconds are written as microseconds with three decimals. */
static const double tolerance_us = 0.0015;

static void
assert_every_node_is_there(const cJSON *trace, const cJSON *step)
{
    const cJSON *partition = NULL;
    cJSON_ArrayForEach(partition, member(step, "partitions"))
    {
        int slot = (int)number(partition, "slot");
        int events = events_count(trace, "node", slot) + events_count(trace, "transfer", slot);
        assert_int_equal(events, (int)number(partition, "nodes"));
    }
}

static void
assert_nodes_are_within_their_slots(const cJSON *trace)
{
    double start[2] = {0};
    double end[2] = {0};
    double elapsed_us = number(member(trace, "otherData"), "elapsed_us");
    const cJSON *event = NULL;
    cJSON_ArrayForEach(event, member(trace, "traceEvents"))
    {
        int slot = (int)number(event, "pid");
        assert_in_range(slot, 0, 1);
        if (strcmp(text(event, "ph"), "X") != 0) {
            continue;
        }
        if (strcmp(text(event, "cat"), "slot") == 0) {
            start[slot] = number(event, "ts");
            end[slot] = end_of(event);
            assert_true(start[slot] >= 0 && end[slot] <= elapsed_us + tolerance_us);
            continue;
        }
        assert_true(number(member(event, "args"), "scheduled") <= number(event, "ts") + tolerance_us);
        assert_true(number(event, "ts") >= start[slot] - tolerance_us);
        assert_true(end_of(event) <= end[slot] + tolerance_us);
    }
}

static void
assert_no_receive_ends_before_its_send_starts(const cJSON *trace)
{
    const cJSON *event = NULL;
    cJSON_ArrayForEach(event, member(trace, "traceEvents"))
    {
        const cJSON *about = member(event, "args");
        if (strcmp(text(about, "op"), "_Recv") == 0) {
            const cJSON *sent = transfer_find(trace, "_Send", text(about, "key"));
            assert_int_not_equal((int)number(sent, "pid"), (int)number(event, "pid"));
            assert_true(end_of(event) >= number(sent, "ts") - tolerance_us);
        }
    }
}

/* Perfetto would nest events of a thread that overlap. They come in order. */
static void
assert_events_of_a_thread_do_not_overlap(const cJSON *trace)
{
    const cJSON *before = NULL;
    const cJSON *event = NULL;
    cJSON_ArrayForEach(event, member(trace, "traceEvents"))
    {
        bool is_run = strcmp(text(event, "ph"), "X") == 0;
        if (is_run && before != NULL && number(before, "pid") == number(event, "pid") &&
            number(before, "tid") == number(event, "tid")) {
            assert_true(number(event, "ts") >= end_of(before) - tolerance_us);
        }
        before = is_run ? event : NULL;
    }
}

static void
every_node_of_both_slots_is_in_the_trace_on_one_clock(void **state)
{
    Cluster *cluster = *state;
    Traced traced;
    cluster_session(cluster, spread);
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    for (int round = 0; round < 5; round++) { /* the first round registers the partitions */
        step_run(cluster, STEP_BODY("node"), &traced);
        cJSON *trace = trace_get(cluster, &traced);
        assert_int_equal(events_count(trace, "slot", -1), 2);
        assert_true(events_count(trace, "transfer", -1) >= 2);
        assert_every_node_is_there(trace, traced.step);
        assert_nodes_are_within_their_slots(trace);
        assert_no_receive_ends_before_its_send_starts(trace);
        assert_events_of_a_thread_do_not_overlap(trace);
        assert_string_equal(text(member(trace, "otherData"), "step"), text(traced.step, "id"));
        cJSON_Delete(trace);
        cJSON_Delete(traced.step);
    }
}

static void
loop_run(Cluster *cluster, int turns, Traced *ret_traced)
{
    char body[160];
    cluster_graph_literal(cluster, LOOP_CHAOTIC(""));
    (void)snprintf(body, sizeof body,
        "{\"feeds\":{\"x\":[0.25,-1.5],\"n\":%d},\"fetches\":[\"v_exit\"],\"options\":{\"trace\":\"node\"}}",
        turns);
    step_run(cluster, body, ret_traced);
}

/* Counts how often the node ran, and collects the iterations it ran in as bits. */
static void
iterations_count(const cJSON *trace, const char *node, int *ret_events, uint64_t *ret_iterations)
{
    const cJSON *event = NULL;
    *ret_events = 0;
    *ret_iterations = 0;
    cJSON_ArrayForEach(event, member(trace, "traceEvents"))
    {
        if (strcmp(text(event, "name"), node) == 0) {
            const cJSON *about = member(event, "args");
            assert_string_equal(text(about, "frame"), "loop");
            *ret_iterations |= (uint64_t)1 << (unsigned)number(about, "iteration");
            (*ret_events)++;
        }
    }
}

/* Finds the end of an arrow, "s" or "f", with this id. */
static const cJSON *
arrow_find(const cJSON *trace, const char *phase, double id)
{
    const cJSON *event = NULL;
    cJSON_ArrayForEach(event, member(trace, "traceEvents"))
    {
        if (strcmp(text(event, "ph"), phase) == 0 && number(event, "id") == id) {
            return event;
        }
    }
    fail_msg("no '%s' with id %g", phase, id);
    return NULL;
}

/* An end of an arrow belongs to the event of its thread within whose time it lies. */
static void
assert_lies_in(const cJSON *arrow, const cJSON *transfer)
{
    assert_int_equal((int)number(arrow, "pid"), (int)number(transfer, "pid"));
    assert_int_equal((int)number(arrow, "tid"), (int)number(transfer, "tid"));
    assert_true(number(arrow, "ts") >= number(transfer, "ts") - tolerance_us);
    assert_true(number(arrow, "ts") <= end_of(transfer) + tolerance_us);
}

/* Returns how many receives there are. */
static int
assert_an_arrow_leads_to_every_receive(const cJSON *trace)
{
    int count = 0;
    const cJSON *event = NULL;
    cJSON_ArrayForEach(event, member(trace, "traceEvents"))
    {
        if (strcmp(text(member(event, "args"), "op"), "_Recv") == 0) {
            count++;
        }
    }
    for (int id = 1; id <= count; id++) {
        const cJSON *start = arrow_find(trace, "s", id);
        const cJSON *end = arrow_find(trace, "f", id);
        const cJSON *about = member(end, "args");
        assert_string_equal(text(end, "bp"), "e");
        assert_string_equal(text(about, "way"), "pushed");
        assert_string_equal(text(about, "key"), text(member(start, "args"), "key"));
        assert_lies_in(start, transfer_find(trace, "_Send", text(about, "key")));
        assert_lies_in(end, transfer_find(trace, "_Recv", text(about, "key")));
        assert_true(number(end, "ts") >= number(start, "ts") - tolerance_us);
    }
    return count;
}

static void
every_iteration_of_a_loop_over_workers_is_in_the_trace(void **state)
{
    enum { TURNS = 12 };
    Cluster *cluster = *state;
    Traced traced;
    int events = 0;
    uint64_t iterations = 0;
    cluster_session(cluster, spread);
    loop_run(cluster, TURNS, &traced);
    cJSON *trace = trace_get(cluster, &traced);
    iterations_count(trace, "exp", &events, &iterations);
    assert_int_equal(events, TURNS);
    assert_int_equal(iterations, (1 << TURNS) - 1);
    iterations_count(trace, "i_less", &events, &iterations);
    assert_int_equal(events, TURNS + 1);
    assert_no_receive_ends_before_its_send_starts(trace);
    assert_events_of_a_thread_do_not_overlap(trace);
    assert_nodes_are_within_their_slots(trace);
    assert_true(assert_an_arrow_leads_to_every_receive(trace) >= TURNS);
    cJSON_Delete(trace);
    cJSON_Delete(traced.step);
}

static void
a_trace_says_how_many_iterations_it_leaves_out(void **state)
{
    Cluster *cluster = *state;
    Traced traced;
    double left_out = 0;
    double left_out_iterations = 0;
    cluster_session(cluster, "{}");
    loop_run(cluster, 20000, &traced);
    cJSON *trace = trace_get(cluster, &traced);
    const cJSON *event = NULL;
    cJSON_ArrayForEach(event, member(trace, "traceEvents"))
    {
        if (strcmp(text(event, "cat"), "slot") == 0) {
            left_out += number(member(event, "args"), "left_out");
            left_out_iterations += number(member(event, "args"), "left_out_iterations");
        }
    }
    assert_true(left_out > 0);
    assert_true(left_out_iterations > 0 && left_out_iterations < 20000);
    assert_true(events_count(trace, "node", 0) > 5000);
    cJSON_Delete(trace);
    cJSON_Delete(traced.step);
}

/* A curve starts at 0 and has an event where it changes. It may be back at 0 at its last event: a _Retval
 * hands its tensor to the reply, which another thread may have sent and freed before the _Retval ends. */
static void
a_trace_draws_the_memory_of_the_workers(void **state)
{
    Cluster *cluster = *state;
    Traced traced;
    double bytes[2] = {0, 0};
    int counters = 0;
    cluster_session(cluster, spread);
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    step_run(cluster, STEP_BODY("node"), &traced);
    cJSON *trace = trace_get(cluster, &traced);
    const cJSON *event = NULL;
    cJSON_ArrayForEach(event, member(trace, "traceEvents"))
    {
        if (strcmp(text(event, "ph"), "C") == 0) {
            double now = number(member(event, "args"), "bytes");
            double *before = &bytes[(int)number(event, "pid")];
            assert_string_equal(text(event, "name"), "device memory");
            assert_true(now >= 0 && (now < *before || now > *before));
            *before = now;
            counters++;
        }
    }
    assert_true(counters > 0);
    cJSON_Delete(trace);
    cJSON_Delete(traced.step);
}

static cJSON *
plan_get(Cluster *cluster, const char *body)
{
    AUTO_REST response = {0};
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/graphs/%s:plan", cluster->session, cluster->graph);
    cluster_send(cluster, "POST", path, body, &response);
    cluster_expect(&response, 200, NULL);
    cJSON *plan = cJSON_Parse(rest_text(&response));
    assert_non_null(plan);
    return plan;
}

static void
a_plan_tells_what_traced_steps_have_cost(void **state)
{
    enum { STEPS = 3 };
    Cluster *cluster = *state;
    cluster_session(cluster, spread);
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    for (int step = 0; step < STEPS; step++) {
        Traced traced;
        step_run(cluster, STEP_BODY("node"), &traced);
        cJSON_Delete(traced.step);
    }
    cJSON *plan = plan_get(cluster, "{\"feeds\":{\"x\":[[1,2]]},\"fetches\":[\"y\",\"xw\"],\"costs\":true}");
    const cJSON *costs = member(plan, "costs");
    const cJSON *node = NULL;
    bool is_found = false;
    assert_int_equal((int)number(costs, "steps"), STEPS);
    cJSON_ArrayForEach(node, member(costs, "nodes"))
    {
        assert_string_not_equal(text(node, "op"), "_Recv");
        if (strcmp(text(node, "node"), "xw") == 0) {
            is_found = true;
            assert_string_equal(text(node, "op"), "MatMul");
            assert_int_equal((int)number(node, "runs"), STEPS);
            assert_int_equal((int)number(node, "output_bytes"), 8);
            assert_true(number(node, "mean_ns") > 0);
        }
    }
    assert_true(is_found);
    cJSON_Delete(plan);
    cluster_session(cluster, "{}"); /* one partition, which no step has run */
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    cJSON *other = plan_get(cluster, "{\"feeds\":{\"x\":[[1,2]]},\"fetches\":[\"y\"],\"costs\":true}");
    assert_int_equal((int)number(member(other, "costs"), "steps"), 0);
    cJSON_Delete(other);
}

static int
ops_count(const cJSON *graph, const char *op)
{
    int count = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, member(graph, "node"))
    {
        count += strcmp(text(node, "op"), op) == 0;
    }
    return count;
}

static void
a_plan_tells_the_graph_of_each_partition(void **state)
{
    Cluster *cluster = *state;
    cluster_session(cluster, spread);
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    cJSON *plan =
        plan_get(cluster, "{\"feeds\":{\"x\":[[1,2]]},\"fetches\":[\"y\",\"xw\"],\"partition_graphs\":true}");
    const cJSON *graphs = member(plan, "partition_graphs");
    int sends = 0;
    int receives = 0;
    assert_int_equal(cJSON_GetArraySize(graphs), 2);
    for (int slot = 0; slot < 2; slot++) {
        const cJSON *partition = cJSON_GetArrayItem(graphs, slot);
        const cJSON *about = cJSON_GetArrayItem(member(plan, "partitions"), slot);
        const cJSON *graph = member(partition, "graph");
        assert_int_equal((int)number(partition, "slot"), slot);
        assert_int_equal(cJSON_GetArraySize(member(graph, "node")), (int)number(about, "nodes"));
        sends += ops_count(graph, "_Send");
        receives += ops_count(graph, "_Recv");
    }
    assert_true(sends > 0);
    assert_int_equal(sends, receives);
    assert_null(member(plan, "costs"));
    cJSON_Delete(plan);
}

static void
partitions_alone_are_one_event_a_slot(void **state)
{
    Cluster *cluster = *state;
    Traced traced;
    cluster_session(cluster, spread);
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    step_run(cluster, STEP_BODY("partition"), &traced);
    cJSON *trace = trace_get(cluster, &traced);
    assert_int_equal(events_count(trace, "slot", -1), 2);
    assert_int_equal(events_count(trace, "node", -1) + events_count(trace, "transfer", -1), 0);
    assert_nodes_are_within_their_slots(trace);
    cJSON_Delete(trace);
    cJSON_Delete(traced.step);
}

static void
a_step_that_asked_for_none_has_none(void **state)
{
    Cluster *cluster = *state;
    Traced traced;
    AUTO_REST response = {0};
    cluster_session(cluster, "{}");
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    step_run(cluster, STEP_BODY("none"), &traced);
    cluster_send(cluster, "GET", traced.path, NULL, &response);
    cluster_expect(&response, 404, "there is no trace of step");
    cJSON_Delete(traced.step);
}

static void
a_trace_is_told_as_tensorflows_step_stats_too(void **state)
{
    Cluster *cluster = *state;
    Traced traced;
    int node_count = 0;
    const cJSON *device = NULL;
    cluster_session(cluster, spread);
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    step_run(cluster, STEP_BODY("node"), &traced);
    (void)snprintf(traced.path + strlen(traced.path), PATH_SIZE - strlen(traced.path), "?format=step_stats");
    cJSON *stats = trace_get(cluster, &traced);
    cJSON_ArrayForEach(device, member(stats, "devStats"))
    {
        const cJSON *node = NULL;
        assert_int_equal(strncmp(text(device, "device"), "/job:worker/replica:0/task:", 27), 0);
        cJSON_ArrayForEach(node, member(device, "nodeStats"))
        {
            assert_true(number(node, "allEndRelMicros") >= number(node, "opEndRelMicros"));
            node_count += strcmp(text(node, "nodeName"), "xw") == 0;
        }
    }
    assert_int_equal(node_count, 1);
    cJSON_Delete(stats);
    cJSON_Delete(traced.step);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(every_node_of_both_slots_is_in_the_trace_on_one_clock),
        CLUSTER_TEST(every_iteration_of_a_loop_over_workers_is_in_the_trace),
        CLUSTER_TEST(a_trace_says_how_many_iterations_it_leaves_out),
        CLUSTER_TEST(a_trace_draws_the_memory_of_the_workers),
        CLUSTER_TEST(a_plan_tells_what_traced_steps_have_cost),
        CLUSTER_TEST(a_plan_tells_the_graph_of_each_partition),
        CLUSTER_TEST(a_trace_is_told_as_tensorflows_step_stats_too),
        CLUSTER_TEST(partitions_alone_are_one_event_a_slot),
        CLUSTER_TEST(a_step_that_asked_for_none_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
