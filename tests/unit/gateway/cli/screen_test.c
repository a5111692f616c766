/* Output for people: units, tables, the progress line, and no control characters that would move their
 * cursor. */
#include "gateway/cli/progress.h"
#include "gateway/cli/screen.h"
#include "shared/base/clock.h"
#include "tests/support/call_fixture.h"

static void
control_characters_are_not_shown(void **state)
{
    (void)state;
    AUTO_BUFFER text = {0};
    screen_append(&text, SLICE("a\033[2J\n\tb\x7f\xc3\xa4"));
    assert_string_equal(buffer_string(&text), "a?[2J??b?\xc3\xa4");
}

static void
amounts_have_the_unit_that_leaves_at_least_one(void **state)
{
    (void)state;
    static const struct {
        uint64_t value;
        const char *bytes;
        const char *duration;
    } cases[] = {
        {0, "0 B", "0 us"},
        {999, "999 B", "999 us"},
        {1536, "1.5 KiB", "1.5 ms"},
        {1 << 20, "1.0 MiB", "1.0 s"},
        {UINT64_C(3) << 30, "3.0 GiB", "53.7 min"},
    };
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        AUTO_BUFFER bytes = {0};
        AUTO_BUFFER duration = {0};
        screen_append_bytes(&bytes, cases[index].value);
        screen_append_duration(&duration, cases[index].value);
        assert_string_equal(buffer_string(&bytes), cases[index].bytes);
        assert_string_equal(buffer_string(&duration), cases[index].duration);
    }
}

static void
columns_are_as_wide_as_their_widest_cell(void **state)
{
    Call *call = *state;
    static const char *const titles[] = {"ID", "NAME"};
    AUTO_BUFFER text = {0};
    ScreenTable table;
    screen_table_begin(&table, call->arena, titles, COUNT_OF(titles));
    for (int row = 0; row < 40; row++) {
        screen_table_number(&table, row * 1000);
        screen_table_cell(&table, row == 0 ? SLICE("first\n") : SLICE("x"));
    }
    assert_true(screen_table_end(&table, &text));
    static const char start[] = "ID     NAME\n0      first?\n1000   x\n";
    assert_int_equal(strncmp(buffer_string(&text), start, sizeof start - 1), 0);
    assert_non_null(strstr(buffer_string(&text), "\n39000  x\n"));
}

static void
assert_line(const HttpClientProgress *transferred, uint64_t elapsed_ms, const char *expected)
{
    Progress progress = {.label = "model.onnx", .begin_ns = 1000};
    AUTO_BUFFER line = {0};
    progress_write(&progress, transferred, 1000 + elapsed_ms * CLOCK_NS_PER_MS, &line);
    assert_string_equal(buffer_string(&line), expected);
}

static void
progress_is_a_bar_or_a_clock(void **state)
{
    (void)state;
    assert_line(&(HttpClientProgress){.sent = 1 << 20, .send_total = 4 << 20}, 500,
        "model.onnx [=======>                      ]  25%  1.0 MiB of 4.0 MiB");
    assert_line(&(HttpClientProgress){.sent = 10, .send_total = 10}, 1500, "model.onnx: waiting \\ 1.5 s");
    assert_line(&(HttpClientProgress){.sent = 10, .send_total = 10, .received = 50, .receive_total = 100},
        1500, "model.onnx [===============>              ]  50%  50 B of 100 B");
}

/* Shows how a source of 400 MiB comes at 100 MiB a second, and from the second second on half as fast. */
static void
progress_tells_the_rate_of_late_and_the_time_left(void **state)
{
    enum { MIB = 1 << 20, TOTAL = 400 };
    (void)state;
    Progress progress = {.label = "model", .is_plain = true, .begin_ns = 1};
    HttpClientProgress transferred = {.send_total = (uint64_t)TOTAL * MIB};
    for (uint64_t second = 0; second <= 3; second++) {
        transferred.sent = (second < 3 ? second * 100 : 250) * MIB;
        progress_rate(&progress, &transferred, 1 + second * CLOCK_NS_PER_S);
    }
    AUTO_BUFFER line = {0};
    progress_write(&progress, &transferred, 1 + 3 * CLOCK_NS_PER_S, &line);
    assert_string_equal(buffer_string(&line), "model:  62%  250.0 MiB of 400.0 MiB  87.5 MiB/s  0:02 left");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(control_characters_are_not_shown),
        CALL_TEST(amounts_have_the_unit_that_leaves_at_least_one),
        CALL_TEST(columns_are_as_wide_as_their_widest_cell),
        CALL_TEST(progress_is_a_bar_or_a_clock),
        CALL_TEST(progress_tells_the_rate_of_late_and_the_time_left),
    };
    return cmocka_run_group_tests_name("gateway/cli/screen", tests, NULL, NULL);
}
