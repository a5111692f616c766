#include "tests/support/cmocka_all.h"

#include "worker/cpu/wake_cost.h"

#define US UINT64_C(1000) /* nanoseconds */

/* Notes `count` wakes that took so long. */
static void
note_wakes(WakeCost *cost, int count, uint64_t latency_ns)
{
    for (uint64_t i = 1; i <= (uint64_t)count; i++) {
        wake_begins(cost, i * 1000 * US);
        wake_ends(cost, i * 1000 * US + latency_ns);
    }
}

static void
work_of_less_than_twice_a_wake_is_worth_none(void **state)
{
    (void)state;
    WakeCost cost = {0};
    note_wakes(&cost, 50, 100 * US);
    assert_int_equal(wakes_worth(&cost, 180 * US), 0);
    note_wakes(&cost, 50, 100 * US);
    assert_in_range(wakes_worth(&cost, 220 * US), 1, 1);
    assert_in_range(wakes_worth(&cost, 1000 * US), 4, 5);
}

static void
quick_wakes_let_shorter_work_be_shared(void **state)
{
    (void)state;
    WakeCost cost = {0};
    note_wakes(&cost, 50, 200 * US);
    assert_int_equal(wakes_worth(&cost, 100 * US), 0);
    note_wakes(&cost, 50, 30 * US);
    assert_int_equal(wakes_worth(&cost, 100 * US), 1);
}

/* The system call that wakes a thread takes its caller as long as this work. */
static void
no_wake_is_quick_enough_for_the_shortest_work(void **state)
{
    (void)state;
    WakeCost cost = {0};
    assert_int_equal(wakes_worth(&cost, 39 * US), 0);
    assert_int_equal(wakes_worth(&cost, 40 * US), 1);
    note_wakes(&cost, 50, 0);
    assert_int_equal(wakes_worth(&cost, 39 * US), 0);
    assert_int_equal(wakes_worth(&cost, 40 * US), 1);
}

/* A machine that was stopped for an hour is no reason to compute alone from then on. */
static void
long_work_is_always_worth_a_wake(void **state)
{
    (void)state;
    WakeCost cost = {0};
    note_wakes(&cost, 50, UINT64_C(3600) * 1000 * 1000 * US);
    assert_in_range(wakes_worth(&cost, 600 * US), 1, 1);
    assert_int_equal(wakes_worth(&cost, UINT64_MAX) > 0, true);
}

static void
work_that_is_often_refused_is_tried_again(void **state)
{
    (void)state;
    WakeCost cost = {0};
    note_wakes(&cost, 50, 100 * US);
    int refused = 0;
    while (refused < 1000 && wakes_worth(&cost, 150 * US) == 0) {
        refused++;
    }
    assert_in_range(refused, 10, 100);
}

static void
work_that_no_wake_is_worth_for_teaches_nothing(void **state)
{
    (void)state;
    WakeCost cost = {0};
    note_wakes(&cost, 50, 100 * US);
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(wakes_worth(&cost, 30 * US), 0);
    }
    assert_int_equal(wakes_worth(&cost, 150 * US), 0);
}

/* Threads also come for other reasons than a wake that was noted. */
static void
a_thread_that_was_not_woken_tells_nothing(void **state)
{
    (void)state;
    WakeCost cost = {0};
    wake_ends(&cost, 1000000 * US);
    assert_int_equal(wakes_worth(&cost, 40 * US), 1);
    wake_begins(&cost, 2000 * US);
    wake_ends(&cost, 1000 * US); /* the two read the clock in the other order */
    assert_int_equal(wakes_worth(&cost, 40 * US), 1);
}

static void
the_first_of_several_wakes_counts(void **state)
{
    (void)state;
    WakeCost cost = {0};
    for (int i = 0; i < 50; i++) {
        wake_begins(&cost, 1000 * US);
        wake_begins(&cost, 1190 * US);
        wake_ends(&cost, 1200 * US);
        wake_ends(&cost, 1200 * US);
    }
    assert_int_equal(wakes_worth(&cost, 300 * US), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_of_less_than_twice_a_wake_is_worth_none),
        cmocka_unit_test(quick_wakes_let_shorter_work_be_shared),
        cmocka_unit_test(no_wake_is_quick_enough_for_the_shortest_work),
        cmocka_unit_test(long_work_is_always_worth_a_wake),
        cmocka_unit_test(work_that_is_often_refused_is_tried_again),
        cmocka_unit_test(work_that_no_wake_is_worth_for_teaches_nothing),
        cmocka_unit_test(a_thread_that_was_not_woken_tells_nothing),
        cmocka_unit_test(the_first_of_several_wakes_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
