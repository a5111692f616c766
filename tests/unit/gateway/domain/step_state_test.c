#include "gateway/domain/step_state.h"
#include "tests/support/cmocka_all.h"

static void
every_state_is_found_by_its_name(void **state)
{
    (void)state;
    for (StepState expected = STEP_QUEUED; expected < STEP_STATE_COUNT; expected++) {
        StepState found = STEP_STATE_COUNT;
        assert_true(step_state_from_name(slice_from_string(step_state_name(expected)), &found));
        assert_int_equal(found, expected);
    }
    StepState found = STEP_DEAD;
    assert_false(step_state_from_name(SLICE("sleeping"), &found));
    assert_false(step_state_from_name(SLICE(""), &found));
    assert_int_equal(found, STEP_DEAD);
}

static void
an_allowed_move_changes_the_state(void **state)
{
    (void)state;
    Call call = {0};
    StepState step = STEP_QUEUED;
    assert_status(&call, STATUS_OK, step_state_move(&call, &step, STEP_LEASED));
    assert_status(&call, STATUS_OK, step_state_move(&call, &step, STEP_RUNNING));
    assert_status(&call, STATUS_OK, step_state_move(&call, &step, STEP_SUCCEEDED));
    assert_int_equal(step, STEP_SUCCEEDED);
}

static void
a_refused_move_names_both_states(void **state)
{
    (void)state;
    Call call = {0};
    StepState step = STEP_SUCCEEDED;
    assert_status(&call, STATUS_FAILED_PRECONDITION, step_state_move(&call, &step, STEP_QUEUED));
    assert_string_equal(call.error.message, "a step cannot move from 'succeeded' to 'queued'");
    assert_int_equal(step, STEP_SUCCEEDED);
}

static void
nothing_leaves_an_end_but_redrive(void **state)
{
    (void)state;
    for (StepState from = STEP_QUEUED; from < STEP_STATE_COUNT; from++) {
        for (StepState to = STEP_QUEUED; to < STEP_STATE_COUNT; to++) {
            if (step_state_is_ended(from)) {
                assert_int_equal(step_state_may_move(from, to), from == STEP_DEAD && to == STEP_QUEUED);
            }
            if (from == to) {
                assert_false(step_state_may_move(from, to));
            }
        }
    }
}

static void
every_state_that_is_no_end_can_end(void **state)
{
    (void)state;
    for (StepState from = STEP_QUEUED; from < STEP_STATE_COUNT; from++) {
        assert_true(step_state_is_ended(from) || step_state_may_move(from, STEP_CANCELLED));
    }
    assert_true(step_state_is_initial(STEP_QUEUED) && step_state_is_initial(STEP_RUNNING));
    assert_false(step_state_is_initial(STEP_LEASED) || step_state_is_initial(STEP_FAILED));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_is_found_by_its_name),
        cmocka_unit_test(an_allowed_move_changes_the_state),
        cmocka_unit_test(a_refused_move_names_both_states),
        cmocka_unit_test(nothing_leaves_an_end_but_redrive),
        cmocka_unit_test(every_state_that_is_no_end_can_end),
    };
    return cmocka_run_group_tests_name("gateway/domain/step_state", tests, NULL, NULL);
}
