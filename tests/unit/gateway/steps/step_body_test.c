#include "gateway/steps/step_body.h"

#include "shared/base/buffer.h"
#include "tests/support/call_fixture.h"

static Limits limits;

static StepBody
read_ok(Call *call, const char *json)
{
    StepBody body = {0};
    assert_status(call, STATUS_OK, step_body_read(call, slice_from_string(json), &limits, &body));
    return body;
}

static void
refuse(Call *call, Status status, const char *json, const char *message)
{
    StepBody body = {.priority = 77};
    call->error = (Error){0};
    assert_int_equal(step_body_read(call, slice_from_string(json), &limits, &body), status);
    assert_string_equal(call->error.message, message);
    assert_int_equal(body.priority, 77);
}

static void
a_whole_request_is_read(void **state)
{
    StepBody body =
        read_ok(*state, "{\"graph\":\"grf_1\",\"feeds\":{\"x\":[1, "
                        "2],\"y:1\":{\"dtype\":\"int8\"}},\"fetches\":[\"a\",\"b\"],"
                        "\"targets\":[\"t\"],\"options\":{\"timeout_ms\":5,\"trace\":\"node\",\"priority\":2,"
                        "\"idempotent\":true,\"record\":\"durable\"}}");
    assert_true(slice_equals_string(body.graph, "grf_1"));
    assert_int_equal(body.feed_count, 2);
    assert_true(slice_equals_string(body.feeds[0].name, "x"));
    assert_true(slice_equals_string(body.feeds[0].json, "[1, 2]"));
    assert_true(slice_equals_string(body.feeds[1].name, "y:1"));
    assert_true(slice_equals_string(body.feeds[1].json, "{\"dtype\":\"int8\"}"));
    assert_int_equal(body.fetch_count, 2);
    assert_true(slice_equals_string(body.fetches[1], "b"));
    assert_int_equal(body.target_count, 1);
    assert_int_equal(body.timeout_ms, 5);
    assert_int_equal(body.priority, 2);
    assert_int_equal(body.trace, STEP_TRACE_NODE);
    assert_true(body.is_idempotent);
    assert_true(body.is_durable);
}

/* Some clients escape every '/'. */
static void
names_with_escapes_stay(void **state)
{
    StepBody body =
        read_ok(*state, "{\"feeds\":{\"a\\/x\":1,\"b\\u002fy\":2,\"c/z\":3},\"fetches\":[\"d\\/w\"]}");
    assert_int_equal(body.feed_count, 3);
    assert_true(slice_equals_string(body.feeds[0].name, "a/x"));
    assert_true(slice_equals_string(body.feeds[1].name, "b/y"));
    assert_true(slice_equals_string(body.feeds[2].name, "c/z"));
    assert_true(slice_equals_string(body.fetches[0], "d/w"));
}

static void
what_is_not_given_has_its_default(void **state)
{
    StepBody body = read_ok(*state, "{\"options\":{\"trace\":\"partition\",\"record\":\"batched\"}}");
    assert_int_equal(body.graph.size, 0);
    assert_int_equal(body.feed_count + body.fetch_count + body.target_count, 0);
    assert_true(body.timeout_ms == limits.step_timeout_default_ms);
    assert_int_equal(body.priority, 1);
    assert_int_equal(body.trace, STEP_TRACE_PARTITION);
    assert_false(body.is_idempotent);
    assert_false(body.is_durable);
}

static void
lists_grow_to_their_limit_and_not_past_it(void **state)
{
    Call *call = *state;
    AUTO_BUFFER json = {0};
    buffer_append_string(&json, "{\"fetches\":[\"f0\"");
    for (uint64_t index = 1; index < limits.step_fetches; index++) {
        buffer_append_format(&json, ",\"f%d\"", (int)index);
    }
    size_t size = json.size;
    buffer_append_string(&json, "]}");
    buffer_append_byte(&json, '\0');
    StepBody body = read_ok(call, json.data);
    assert_true(body.fetch_count == limits.step_fetches);
    assert_true(slice_equals_string(body.fetches[0], "f0"));
    assert_true(slice_equals_string(body.fetches[1023], "f1023"));
    json.size = size;
    buffer_append_string(&json, ",\"more\"]}");
    buffer_append_byte(&json, '\0');
    refuse(call, STATUS_OUT_OF_RANGE, json.data, "the limit step_fetches is 1024 tensors");
    limits.step_feeds = 1;
    refuse(call, STATUS_OUT_OF_RANGE, "{\"feeds\":{\"a\":1,\"b\":2}}", "the limit step_feeds is 1 tensors");
}

static void
a_timeout_out_of_range_names_the_limit(void **state)
{
    static const char limit[] = "the limit step_timeout_ms is 86400000 milliseconds";
    assert_int_equal(read_ok(*state, "{\"options\":{\"timeout_ms\":86400000}}").timeout_ms, 86400000);
    refuse(*state, STATUS_OUT_OF_RANGE, "{\"options\":{\"timeout_ms\":86400001}}", limit);
    refuse(*state, STATUS_OUT_OF_RANGE, "{\"options\":{\"timeout_ms\":0}}", limit);
}

static void
what_is_no_step_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{\"feeds\":[]}",
        "{\"fetches\":{}}",
        "{\"fetches\":[1]}",
        "{\"fetches\":[\"a\"]",
        "{\"options\":{\"priority\":3}}",
        "{\"options\":{\"priority\":-1}}",
        "{\"options\":{\"trace\":\"all\"}}",
        "{\"options\":{\"record\":true}}",
        "{\"options\":{\"timeout_ms\":-1}}",
        "{\"graph\":1}",
        "{} {}",
    };
    for (size_t index = 0; index < COUNT_OF(texts); index++) {
        Call *call = *state;
        StepBody body;
        assert_int_equal(
            step_body_read(call, slice_from_string(texts[index]), &limits, &body), STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(call->error.message, "the request is no step"));
    }
}

static void
an_unknown_member_is_named(void **state)
{
    Call *call = *state;
    StepBody body;
    assert_int_equal(step_body_read(call, SLICE("{\"fetch\":[]}"), &limits, &body), STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(call->error.message, "unknown member"));
    assert_int_equal(
        step_body_read(call, SLICE("{\"options\":{\"colour\":1}}"), &limits, &body), STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(call->error.message, "unknown member"));
}

static void
refuse_as(Call *call, StepBodyKind kind, const char *json, const char *part)
{
    StepBody body = {0};
    call->error = (Error){0};
    assert_int_equal(
        step_body_read_as(call, kind, slice_from_string(json), &limits, &body), STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(call->error.message, part));
}

static void
a_partial_run_names_its_feeds_and_their_tensors_come_later(void **state)
{
    Call *call = *state;
    StepBody body = {0};
    assert_status(call, STATUS_OK,
        step_body_read_as(call, STEP_BODY_PARTIAL_RUN,
            SLICE("{\"feeds\":[\"x\",\"y:1\"],\"fetches\":[\"a\"],\"options\":{\"timeout_ms\":7}}"), &limits,
            &body));
    assert_int_equal(body.feed_count, 2);
    assert_true(slice_equals_string(body.feeds[1].name, "y:1"));
    assert_int_equal(body.feeds[1].json.size, 0);
    assert_int_equal(body.timeout_ms, 7);
    refuse_as(call, STEP_BODY_PARTIAL_RUN, "{\"feeds\":{\"x\":1}}", "the request is no partial run");
    refuse_as(call, STEP_BODY_PARTIAL_RUN, "{\"options\":{\"priority\":1}}", "unknown member");
    assert_status(call, STATUS_OK,
        step_body_read_as(
            call, STEP_BODY_CONTINUE, SLICE("{\"feeds\":{\"x\":1},\"fetches\":[\"a\"]}"), &limits, &body));
    assert_true(slice_equals_string(body.feeds[0].json, "1"));
    refuse_as(call, STEP_BODY_CONTINUE, "{\"graph\":\"grf_1\"}", "does not continue a partial run");
}

static int
set_up(void **state)
{
    limits = limits_default();
    return call_set_up(state);
}

#define BODY_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, call_tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        BODY_TEST(a_whole_request_is_read),
        BODY_TEST(names_with_escapes_stay),
        BODY_TEST(what_is_not_given_has_its_default),
        BODY_TEST(lists_grow_to_their_limit_and_not_past_it),
        BODY_TEST(a_timeout_out_of_range_names_the_limit),
        BODY_TEST(what_is_no_step_is_refused),
        BODY_TEST(an_unknown_member_is_named),
        BODY_TEST(a_partial_run_names_its_feeds_and_their_tensors_come_later),
    };
    return cmocka_run_group_tests_name("steps/step_body", tests, NULL, NULL);
}
