#include "tests/support/cmocka_all.h"

#include "worker/cpu/loop_costs.h"

static void
what_was_never_measured_is_unknown(void **state)
{
    (void)state;
    LoopCosts costs = {0};
    assert_int_equal(loop_cost(&costs, loop_kind(1, 10)), 0);
}

static void
a_measurement_tells_what_one_iteration_takes(void **state)
{
    (void)state;
    LoopCosts costs = {0};
    uint32_t kind = loop_kind(1, 10);
    loop_cost_note(&costs, kind, 10, 20 * 1000);
    assert_in_range(loop_cost(&costs, kind), 2000, 2001);
    loop_cost_note(&costs, kind, 1, 0);
    assert_in_range(loop_cost(&costs, kind), 1, 1999);
}

static void
an_average_moves_to_what_loops_take_later(void **state)
{
    (void)state;
    LoopCosts costs = {0};
    uint32_t kind = loop_kind(7, 3);
    loop_cost_note(&costs, kind, 1, 1000 * 1000);
    for (int i = 0; i < 100; i++) {
        loop_cost_note(&costs, kind, 1, 10 * 1000);
    }
    assert_in_range(loop_cost(&costs, kind), 9 * 1000, 11 * 1000);
}

/* An iteration of an hour is no longer than can be noted. */
static void
the_longest_iteration_is_still_known(void **state)
{
    (void)state;
    LoopCosts costs = {0};
    uint32_t kind = loop_kind(7, 3);
    loop_cost_note(&costs, kind, 1, UINT64_C(3600) * 1000 * 1000 * 1000);
    assert_in_range(loop_cost(&costs, kind), 1000 * 1000 * 1000, INT32_MAX);
}

static void
loops_of_more_iterations_are_of_another_kind(void **state)
{
    (void)state;
    int alike = 0;
    for (int64_t count = 2; count < 100; count++) {
        alike += loop_kind(1234, count) == loop_kind(1234, count + 1);
    }
    assert_in_range(alike, 0, 10);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_never_measured_is_unknown),
        cmocka_unit_test(a_measurement_tells_what_one_iteration_takes),
        cmocka_unit_test(an_average_moves_to_what_loops_take_later),
        cmocka_unit_test(the_longest_iteration_is_still_known),
        cmocka_unit_test(loops_of_more_iterations_are_of_another_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
