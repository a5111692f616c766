/* Traces of steps, through gateway and workers: every node of every slot, on one clock. */
#include <cjson/cJSON.h>
#include <stdio.h>

#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/step_graphs.h"

enum { PATH_SIZE = 256 };

static const char spread[] = "{\"slots\":2,\"placement\":\"spread\"}";

#define STEP_BODY(trace)                                                                                     \
    "{\"feeds\":{\"x\":[[1,2]]},\"fetches\":[\"y\",\"xw\"],\"options\":{\"trace\":\"" trace "\"}}"

/* A step of the session that has ended, and where its trace is. */
typedef struct Traced {
    cJSON *step;
    char path[PATH_SIZE];
} Traced;

static void
step_run(Cluster *cluster, const char *body, Traced *ret_traced)
{
    AUTO_REST response = {0};
    cluster_step(cluster, body, &response);
    assert_int_equal(response.status, 200);
    ret_traced->step = cJSON_Parse(rest_text(&response));
    assert_non_null(ret_traced->step);
    (void)snprintf(ret_traced->path, PATH_SIZE, "%s/trace", rest_header(&response, "Location"));
}

static cJSON *
trace_get(Cluster *cluster, const Traced *traced)
{
    AUTO_REST response = {0};
    cluster_send(cluster, "GET", traced->path, NULL, &response);
    assert_int_equal(response.status, 200);
    cJSON *const trace = cJSON_Parse(rest_text(&response));
    assert_non_null(trace);
    return trace;
}

/* --- Events --------------------------------------------------------------------------------------------- */

static const cJSON *
member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *
text(const cJSON *object, const char *name)
{
    const char *const value = cJSON_GetStringValue(member(object, name));
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

/* Of the slot, -1: of any. */
static int
events_count(const cJSON *trace, const char *category, int slot)
{
    int count = 0;
    const cJSON *event = NULL;
    cJSON_ArrayForEach(event, member(trace, "traceEvents"))
    {
        const bool is_counted = strcmp(text(event, "cat"), category) == 0;
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
        const cJSON *const about = member(event, "args");
        if (strcmp(text(about, "op"), op) == 0 && strcmp(text(about, "key"), key) == 0) {
            return event;
        }
    }
    fail_msg("no %s of '%s'", op, key);
    return NULL;
}

/* --- What holds of every trace ---------------------------------------------------------------------------
 */

/* Numbers of some nanoseconds go through decimals. */
static const double tolerance_us = 0.0015;

static void
assert_every_node_is_there(const cJSON *trace, const cJSON *step)
{
    const cJSON *partition = NULL;
    cJSON_ArrayForEach(partition, member(step, "partitions"))
    {
        const int slot = (int)number(partition, "slot");
        const int events = events_count(trace, "node", slot) + events_count(trace, "transfer", slot);
        assert_int_equal(events, (int)number(partition, "nodes"));
    }
}

static void
assert_nodes_are_within_their_slots(const cJSON *trace)
{
    double start[2] = {0};
    double end[2] = {0};
    const double elapsed_us = number(member(trace, "otherData"), "elapsed_us");
    const cJSON *event = NULL;
    cJSON_ArrayForEach(event, member(trace, "traceEvents"))
    {
        const int slot = (int)number(event, "pid");
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
        const cJSON *const about = member(event, "args");
        if (strcmp(text(about, "op"), "_Recv") == 0) {
            const cJSON *const sent = transfer_find(trace, "_Send", text(about, "key"));
            assert_int_not_equal((int)number(sent, "pid"), (int)number(event, "pid"));
            assert_true(end_of(event) >= number(sent, "ts") - tolerance_us);
        }
    }
}

/* Else Perfetto would nest what does not belong together. Events of a thread come in order. */
static void
assert_events_of_a_thread_do_not_overlap(const cJSON *trace)
{
    const cJSON *before = NULL;
    const cJSON *event = NULL;
    cJSON_ArrayForEach(event, member(trace, "traceEvents"))
    {
        const bool is_run = strcmp(text(event, "ph"), "X") == 0;
        if (is_run && before != NULL && number(before, "pid") == number(event, "pid") &&
            number(before, "tid") == number(event, "tid")) {
            assert_true(number(event, "ts") >= end_of(before) - tolerance_us);
        }
        before = is_run ? event : NULL;
    }
}

/* --- Tests -----------------------------------------------------------------------------------------------
 */

static void
every_node_of_both_slots_is_in_the_trace_on_one_clock(void **state)
{
    Cluster *const cluster = *state;
    Traced traced;
    cluster_session(cluster, spread);
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    for (int round = 0; round < 5; round++) { /* the first registers the partitions */
        step_run(cluster, STEP_BODY("node"), &traced);
        cJSON *const trace = trace_get(cluster, &traced);
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
partitions_alone_are_one_event_a_slot(void **state)
{
    Cluster *const cluster = *state;
    Traced traced;
    cluster_session(cluster, spread);
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    step_run(cluster, STEP_BODY("partition"), &traced);
    cJSON *const trace = trace_get(cluster, &traced);
    assert_int_equal(events_count(trace, "slot", -1), 2);
    assert_int_equal(events_count(trace, "node", -1) + events_count(trace, "transfer", -1), 0);
    assert_nodes_are_within_their_slots(trace);
    cJSON_Delete(trace);
    cJSON_Delete(traced.step);
}

static void
a_step_that_asked_for_none_has_none(void **state)
{
    Cluster *const cluster = *state;
    Traced traced;
    AUTO_REST response = {0};
    cluster_session(cluster, "{}");
    cluster_graph(cluster, STEP_GRAPH_AFFINE);
    step_run(cluster, STEP_BODY("none"), &traced);
    cluster_send(cluster, "GET", traced.path, NULL, &response);
    assert_int_equal(response.status, 404);
    assert_non_null(strstr(rest_text(&response), "there is no trace of step"));
    cJSON_Delete(traced.step);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(every_node_of_both_slots_is_in_the_trace_on_one_clock),
        CLUSTER_TEST(partitions_alone_are_one_event_a_slot),
        CLUSTER_TEST(a_step_that_asked_for_none_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
