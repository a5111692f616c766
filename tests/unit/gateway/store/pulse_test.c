#include "gateway/store/pulse.h"

#include "shared/base/clock.h"
#include "tests/support/cmocka_all.h"

static uint64_t now_ns = 1000 * CLOCK_NS_PER_S;

/* Looks as often as whoever waits does, for so long; returns what the last look said. */
static bool
look_for_ms(uint64_t time_ms)
{
    bool is_silent = false;
    for (uint64_t passed_ms = 0; passed_ms < time_ms; passed_ms += PULSE_LOOK_MS) {
        now_ns += PULSE_LOOK_MS * CLOCK_NS_PER_MS;
        is_silent = pulse_is_silent(now_ns);
    }
    return is_silent;
}

static void
a_question_that_is_not_answered_for_a_second_is_silence(void **state)
{
    (void)state;
    assert_false(pulse_is_silent(now_ns));
    pulse_ask(now_ns);
    assert_false(look_for_ms(PULSE_SILENT_MS - PULSE_LOOK_MS));
    pulse_ask(now_ns); /* the first one waits already */
    assert_true(look_for_ms(PULSE_LOOK_MS));
    pulse_answer();
    assert_false(pulse_is_silent(now_ns));
    pulse_ask(now_ns);
    assert_false(look_for_ms(PULSE_SILENT_MS - PULSE_LOOK_MS));
    pulse_answer();
}

static void
time_in_which_the_process_was_held_up_is_no_silence(void **state)
{
    (void)state;
    pulse_ask(now_ns);
    now_ns += 3600 * CLOCK_NS_PER_S;
    assert_false(pulse_is_silent(now_ns));
    assert_false(look_for_ms(PULSE_SILENT_MS / 2));
    assert_true(look_for_ms(PULSE_SILENT_MS));
    pulse_answer();
}

static void
looks_of_several_at_once_count_once(void **state)
{
    (void)state;
    pulse_ask(now_ns);
    for (int look = 0; look < 100; look++) {
        assert_false(pulse_is_silent(now_ns));
    }
    for (int look = 0; look < PULSE_SILENT_MS - 1; look++) {
        now_ns += CLOCK_NS_PER_MS;
        assert_false(pulse_is_silent(now_ns));
        assert_false(pulse_is_silent(now_ns));
    }
    now_ns += CLOCK_NS_PER_MS;
    assert_true(pulse_is_silent(now_ns));
    pulse_answer();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_that_is_not_answered_for_a_second_is_silence),
        cmocka_unit_test(time_in_which_the_process_was_held_up_is_no_silence),
        cmocka_unit_test(looks_of_several_at_once_count_once),
    };
    return cmocka_run_group_tests_name("gateway/store/pulse", tests, NULL, NULL);
}
