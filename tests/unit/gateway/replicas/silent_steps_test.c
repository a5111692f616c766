#include "gateway/replicas/silent_steps.h"

#include "shared/base/clock.h"
#include "tests/support/cmocka_all.h"

static SilentSteps steps;

static StepInquiry
inquiry_of(uint8_t tenant, uint8_t session, uint16_t step)
{
    return (StepInquiry){
        .tenant = {{.bytes = {tenant}}},
        .session = {{.bytes = {session}}},
        .id = {{.bytes = {(uint8_t)(step >> 8), (uint8_t)step}}},
    };
}

static bool
has(StepInquiry inquiry, uint64_t now_ms)
{
    return silent_steps_has(&steps, &inquiry, now_ms * CLOCK_NS_PER_MS);
}

static void
note(StepInquiry inquiry, uint64_t now_ms)
{
    silent_steps_note(&steps, &inquiry, now_ms * CLOCK_NS_PER_MS);
}

static void
silence_is_remembered_for_a_moment(void **state)
{
    (void)state;
    steps = (SilentSteps){0};
    assert_false(has(inquiry_of(0, 0, 0), 1));
    note(inquiry_of(1, 1, 1), 1000);
    assert_true(has(inquiry_of(1, 1, 1), 1000));
    assert_true(has(inquiry_of(1, 1, 1), 1000 + SILENT_STEPS_MS - 1));
    assert_false(has(inquiry_of(1, 1, 1), 1000 + SILENT_STEPS_MS));
}

static void
it_is_that_of_one_step_of_one_session_and_tenant(void **state)
{
    (void)state;
    steps = (SilentSteps){0};
    note(inquiry_of(1, 1, 1), 1);
    assert_false(has(inquiry_of(2, 1, 1), 1));
    assert_false(has(inquiry_of(1, 2, 1), 1));
    assert_false(has(inquiry_of(1, 1, 2), 1));
}

static void
the_oldest_are_forgotten_for_new_ones(void **state)
{
    (void)state;
    steps = (SilentSteps){0};
    for (uint16_t step = 1; step <= SILENT_STEPS_MAX + 1; step++) {
        note(inquiry_of(1, 1, step), 1);
    }
    assert_false(has(inquiry_of(1, 1, 1), 1));
    assert_true(has(inquiry_of(1, 1, 2), 1));
    assert_true(has(inquiry_of(1, 1, SILENT_STEPS_MAX + 1), 1));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_is_remembered_for_a_moment),
        cmocka_unit_test(it_is_that_of_one_step_of_one_session_and_tenant),
        cmocka_unit_test(the_oldest_are_forgotten_for_new_ones),
    };
    return cmocka_run_group_tests_name("replicas/silent_steps", tests, NULL, NULL);
}
