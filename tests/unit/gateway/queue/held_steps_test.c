#include "gateway/queue/held_steps.h"

#include <pthread.h>

#include "tests/support/call_fixture.h"
#include "tests/support/fail_alloc.h"

static HeldStep
step_of(uint32_t number, int64_t fence)
{
    HeldStep step = {.hold = {.fence = fence}, .loop_index = -1};
    memcpy(step.hold.id.value.bytes, &number, sizeof number);
    return step;
}

static size_t
count_of(Call *call, HeldSteps *steps)
{
    size_t count = 0;
    assert_non_null(held_steps_copy(steps, call->arena, &count));
    return count;
}

static void
a_step_is_held_until_it_is_removed_under_the_same_fence(void **state)
{
    Call *call = *state;
    HeldSteps steps;
    HeldStep first = step_of(1, 1);
    HeldStep again = step_of(1, 2);
    held_steps_init(&steps);
    assert_true(held_steps_add(&steps, &first));
    assert_true(held_steps_add(&steps, &again));
    held_steps_remove(&steps, &first.hold);
    held_steps_remove(&steps, &first.hold);
    size_t count = 0;
    const HeldStep *left = held_steps_copy(&steps, call->arena, &count);
    assert_int_equal(count, 1);
    assert_int_equal(left[0].hold.fence, 2);
    held_steps_done(&steps);
}

static void
only_claimed_steps_are_counted_as_such(void **state)
{
    (void)state;
    HeldSteps steps;
    HeldStep claimed = step_of(1, 1);
    HeldStep synchronous = step_of(2, 1);
    claimed.is_claimed = true;
    held_steps_init(&steps);
    assert_true(held_steps_add(&steps, &claimed));
    assert_true(held_steps_add(&steps, &synchronous));
    assert_int_equal(held_steps_claimed(&steps), 1);
    held_steps_remove(&steps, &synchronous.hold);
    assert_int_equal(held_steps_claimed(&steps), 1);
    held_steps_remove(&steps, &claimed.hold);
    assert_int_equal(held_steps_claimed(&steps), 0);
    held_steps_done(&steps);
}

static void
what_is_noted_stays_with_the_step(void **state)
{
    Call *call = *state;
    HeldSteps steps;
    HeldStep step = step_of(1, 1);
    HeldStep other = step_of(2, 1);
    size_t count = 0;
    held_steps_init(&steps);
    assert_true(held_steps_add(&steps, &step));
    held_steps_note(&steps, &step.hold, 3, true);
    held_steps_note(&steps, &other.hold, 5, true); /* ignored: the step is not held */
    const HeldStep *held = held_steps_copy(&steps, call->arena, &count);
    assert_int_equal(count, 1);
    assert_int_equal(held[0].loop_index, 3);
    assert_true(held[0].may_repeat);
    held_steps_done(&steps);
}

static void
more_than_the_limit_are_refused(void **state)
{
    (void)state;
    HeldSteps steps;
    held_steps_init(&steps);
    for (uint32_t number = 0; number < HELD_STEPS_MAX; number++) {
        HeldStep step = step_of(number, 1);
        assert_true(held_steps_add(&steps, &step));
    }
    HeldStep one_more = step_of(HELD_STEPS_MAX, 1);
    HeldStep last = step_of(HELD_STEPS_MAX - 1, 1);
    assert_false(held_steps_add(&steps, &one_more));
    held_steps_remove(&steps, &last.hold);
    assert_true(held_steps_add(&steps, &one_more));
    held_steps_done(&steps);
}

static void
without_memory_a_step_is_refused_and_the_others_stay(void **state)
{
    Call *call = *state;
    enum { FIRST = 64 };
    HeldSteps steps;
    held_steps_init(&steps);
    for (uint32_t number = 0; number < FIRST; number++) {
        HeldStep step = step_of(number, 1);
        assert_true(held_steps_add(&steps, &step));
    }
    HeldStep one_more = step_of(FIRST, 1);
    fail_alloc_count = 0;
    fail_alloc_at = 1;
    assert_false(held_steps_add(&steps, &one_more));
    fail_alloc_at = 0;
    assert_int_equal(count_of(call, &steps), FIRST);
    assert_true(held_steps_add(&steps, &one_more));
    held_steps_done(&steps);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_step_is_held_until_it_is_removed_under_the_same_fence),
        CALL_TEST(only_claimed_steps_are_counted_as_such),
        CALL_TEST(what_is_noted_stays_with_the_step),
        CALL_TEST(more_than_the_limit_are_refused),
        CALL_TEST(without_memory_a_step_is_refused_and_the_others_stay),
    };
    return cmocka_run_group_tests_name("queue/held_steps", tests, NULL, NULL);
}
