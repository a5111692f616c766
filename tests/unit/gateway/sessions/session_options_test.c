#include "gateway/sessions/session_options.h"

#include "gateway/optimise/optimise.h"
#include "tests/support/call_fixture.h"

static void
what_is_not_said_has_a_default(void **state)
{
    Call *call = *state;
    SessionOptions options;
    assert_status(call, STATUS_OK, session_options_read(call, SLICE("{}"), &options));
    assert_int_equal(options.plan.placement, PLACEMENT_LOCAL);
    assert_int_equal(options.plan.slot_count, 1);
    assert_int_equal(options.plan.passes_off, 0);
    assert_int_equal(options.step_memory_bytes, 0);
    assert_string_equal(options.worker_labels, "");
    assert_false(options.plan.has_soft_placement);
    assert_false(options.plan.allows_tf32);
}

static void
every_option_is_read(void **state)
{
    Call *call = *state;
    SessionOptions options;
    PassSet identity = 0;
    assert_true(pass_set_add(&identity, SLICE("identity")));
    assert_status(call, STATUS_OK,
        session_options_read(call,
            SLICE("{\"placement\":\"spread\",\"slots\":16,\"soft_placement\":true,\"allow_tf32\":true,"
                  "\"passes_off\":["
                  "\"identity\"],\"step_memory_bytes\":9007199254740991,\"worker_labels\":{\"zone\":\"a\","
                  "\"gpu\":\"h100\"}}"),
            &options));
    assert_true(options.plan.has_soft_placement);
    assert_true(options.plan.allows_tf32);
    assert_int_equal(options.plan.placement, PLACEMENT_SPREAD);
    assert_int_equal(options.plan.slot_count, 16);
    assert_int_equal(options.plan.passes_off, identity);
    assert_int_equal(options.step_memory_bytes, 9007199254740991);
    assert_string_equal(options.worker_labels, "zone=a,gpu=h100");
}

static void
a_star_is_all_passes(void **state)
{
    Call *call = *state;
    SessionOptions options;
    assert_status(call, STATUS_OK, session_options_read(call, SLICE("{\"passes_off\":[\"*\"]}"), &options));
    PassSet identity = 0;
    assert_true(pass_set_add(&identity, SLICE("identity")));
    assert_true((options.plan.passes_off & identity) != 0);
    assert_true(options.plan.passes_off > identity);
}

static void
wrong_options_are_refused_and_change_nothing(void **state)
{
    Call *call = *state;
    static const char *const wrong[] = {
        "{\"slots\":0}",
        "{\"slots\":17}",
        "{\"soft_placement\":1}",
        "{\"allow_tf32\":\"yes\"}",
        "{\"step_memory_bytes\":-1}",
        "{\"step_memory_bytes\":9007199254740992}",
        "{\"step_memory_bytes\":\"1MiB\"}",
        "{\"placement\":\"moon\"}",
        "{\"passes_off\":[\"moon\"]}",
        "{\"passes_off\":[7]}",
        "{\"passes_off\":\"identity\"}",
        "{\"worker_labels\":\"zone=a\"}",
        "{\"worker_labels\":{\"zone\":7}}",
        "{\"worker_labels\":{\"zone\":\"\"}}",
        "{\"worker_labels\":{\"zone\":\"a,gpu=h100\"}}",
        "{\"worker_labels\":{\"zone\":\"a\",\"zone\":\"b\"}}",
        "[]",
    };
    for (size_t index = 0; index < COUNT_OF(wrong); index++) {
        SessionOptions options = {.plan = {.slot_count = 7}};
        assert_int_equal(
            session_options_read(call, slice_from_string(wrong[index]), &options), STATUS_INVALID_ARGUMENT);
        assert_int_equal(options.plan.slot_count, 7);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(what_is_not_said_has_a_default),
        CALL_TEST(every_option_is_read),
        CALL_TEST(a_star_is_all_passes),
        CALL_TEST(wrong_options_are_refused_and_change_nothing),
    };
    return cmocka_run_group_tests_name("gateway/sessions/session_options", tests, NULL, NULL);
}
