#include "gateway/store/sqlstate.h"

#include "tests/support/cmocka_all.h"

static void
codes_mean_what_a_caller_can_act_on(void **state)
{
    (void)state;
    assert_int_equal(sqlstate_status(NULL), STATUS_UNAVAILABLE);
    assert_int_equal(sqlstate_status("08006"), STATUS_UNAVAILABLE);
    assert_int_equal(sqlstate_status("57P01"), STATUS_UNAVAILABLE);
    assert_int_equal(sqlstate_status("53300"), STATUS_UNAVAILABLE);
    assert_int_equal(sqlstate_status("57014"), STATUS_DEADLINE_EXCEEDED);
    assert_int_equal(sqlstate_status("40001"), STATUS_ABORTED);
    assert_int_equal(sqlstate_status("40P01"), STATUS_ABORTED);
    assert_int_equal(sqlstate_status("23505"), STATUS_ALREADY_EXISTS);
    assert_int_equal(sqlstate_status("23503"), STATUS_FAILED_PRECONDITION);
    assert_int_equal(sqlstate_status("22P02"), STATUS_INVALID_ARGUMENT);
    assert_int_equal(sqlstate_status("42501"), STATUS_PERMISSION_DENIED);
    assert_int_equal(sqlstate_status("SL001"), STATUS_FAILED_PRECONDITION);
    assert_int_equal(sqlstate_status("XX001"), STATUS_DATA_LOSS);
}

static void
what_the_table_does_not_know_is_our_mistake(void **state)
{
    (void)state;
    assert_int_equal(sqlstate_status("42703"), STATUS_INTERNAL);
    assert_int_equal(sqlstate_status("XX000"), STATUS_INTERNAL);
    assert_int_equal(sqlstate_status(""), STATUS_INTERNAL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_mean_what_a_caller_can_act_on),
        cmocka_unit_test(what_the_table_does_not_know_is_our_mistake),
    };
    return cmocka_run_group_tests_name("gateway/store/sqlstate", tests, NULL, NULL);
}
