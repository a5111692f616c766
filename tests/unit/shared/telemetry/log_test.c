#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "shared/telemetry/log.h"
#include "tests/support/cmocka_all.h"

static int pipe_ends[2];
static char line[2 * LOG_LINE_SIZE];

static int
set_up(void **state)
{
    (void)state;
    int failed = pipe2(pipe_ends, O_CLOEXEC);
    log_init("test", LOG_INFO, pipe_ends[1]);
    return failed;
}

static int
tear_down(void **state)
{
    (void)state;
    return close(pipe_ends[0]) + close(pipe_ends[1]);
}

/* Reads a line of the log behind its time, which differs from run to run. */
static const char *
read_line(void)
{
    ssize_t size = read(pipe_ends[0], line, sizeof line - 1);
    assert_true(size > 0);
    line[size] = '\0';
    static const char opening[] = "{\"time\":\"2026-11-21T10:11:12.123456Z\",";
    assert_true((size_t)size > sizeof opening);
    assert_memory_equal(line, opening, sizeof "{\"time\":\"" - 1);
    return line + sizeof opening - 1;
}

static void
an_event_is_one_json_line(void **state)
{
    (void)state;
    log_event(LOG_WARNING, "worker lost", log_text("worker", "w1"), log_integer("misses", -3),
        log_boolean("is_draining", false));
    assert_string_equal(read_line(), "\"level\":\"warning\",\"program\":\"test\",\"message\":\"worker lost\","
                                     "\"worker\":\"w1\",\"misses\":-3,\"is_draining\":false}\n");
    log_event(LOG_INFO, "alone");
    assert_string_equal(read_line(), "\"level\":\"info\",\"program\":\"test\",\"message\":\"alone\"}\n");
}

static void
events_below_the_level_are_not_written(void **state)
{
    (void)state;
    LogLevel level = LOG_ERROR;
    assert_true(log_level_from_name(SLICE("debug"), &level));
    assert_int_equal(level, LOG_DEBUG);
    assert_false(log_level_from_name(SLICE("loud"), &level));
    log_event(LOG_DEBUG, "quiet");
    log_event(LOG_INFO, "loud");
    assert_non_null(strstr(read_line(), "\"loud\""));
}

static void
what_could_deceive_a_reader_is_escaped(void **state)
{
    (void)state;
    log_event(LOG_INFO, "x", log_text("a", "q\" b\\ \n\x1b[31m \x7f \xc2\x9b é"),
        log_text("b", "\xe2\x80\xae\xe2\x81\xa6"), log_text("c", "\xff\xc0\x80\xed\xa0\x80|"),
        log_slice("d", slice_of("n\0l", 3)));
    assert_non_null(strstr(read_line(),
        "\"a\":\"q\\\" b\\\\ \\u000a\\u001b[31m \\u007f \\u009b é\",\"b\":\"\\u202e\\u2066\","
        "\"c\":\"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd|\",\"d\":\"n\\u0000l\"}\n"));
}

static void
a_long_text_is_cut_between_characters(void **state)
{
    (void)state;
    char text[LOG_TEXT_SIZE_MAX * 2];
    memset(text, 'x', sizeof text);
    memcpy(text + LOG_TEXT_SIZE_MAX - 1, "é", 2);
    log_event(LOG_INFO, "x", log_slice("a", slice_of(text, sizeof text)));
    char expected[LOG_TEXT_SIZE_MAX + 32] = {0};
    (void)snprintf(expected, sizeof expected, "\"a\":\"%.*sé…\"}\n", LOG_TEXT_SIZE_MAX - 1, text);
    assert_non_null(strstr(read_line(), expected));
}

static void
a_long_line_loses_its_last_fields_and_says_so(void **state)
{
    (void)state;
    char text[LOG_TEXT_SIZE_MAX];
    memset(text, '\n', sizeof text);
    LogField field = log_slice("a", slice_of(text, sizeof text));
    log_event(LOG_INFO, "x", field, field, field, log_integer("b", 1));
    const char *written = read_line();
    assert_true(strlen(line) < LOG_LINE_SIZE);
    assert_non_null(strstr(written, "\"b\":1,\"cut\":true}\n"));
}

static void
a_failed_call_is_told_with_its_cause(void **state)
{
    (void)state;
    Call call = {.request_id = "r-1"};
    (void)(call_fail(&call, STATUS_NOT_FOUND, "graph '%s' does not exist", "g") == STATUS_OK);
    log_failure(LOG_ERROR, "request failed", &call);
    assert_non_null(
        strstr(read_line(), "\"request_id\":\"r-1\",\"code\":\"NOT_FOUND\",\"error\":\"graph 'g' does "
                            "not exist\",\"file\":\"tests/unit/shared/telemetry/log_test.c\",\"line\":"));
}

static void
a_reader_that_stopped_costs_lines_not_time(void **state)
{
    (void)state;
    uint64_t before = log_dropped_count();
    for (int index = 0; index < 5000; index++) {
        log_event(LOG_INFO, "flood");
    }
    assert_true(log_dropped_count() > before);
}

static void
held_lines_are_written_together_and_in_order(void **state)
{
    (void)state;
    char text[LOG_TEXT_SIZE_MAX];
    memset(text, 'x', sizeof text);
    LogField field = log_slice("a", slice_of(text, sizeof text));
    log_hold();
    log_event(LOG_INFO, "first");
    struct pollfd waiting = {.fd = pipe_ends[0], .events = POLLIN};
    assert_int_equal(poll(&waiting, 1, 0), 0);
    log_event(LOG_INFO, "second");
    log_flush();
    const char *written = read_line();
    assert_non_null(strstr(written, "\"first\"}\n{\"time\":"));
    assert_non_null(strstr(written, "\"second\"}\n"));
    log_hold();
    for (int index = 0; index < 10; index++) {
        log_event(LOG_INFO, "long", field, field);
    }
    assert_int_equal(poll(&waiting, 1, 0), 1); /* more than one write takes */
    log_flush();
    log_event(LOG_INFO, "at once");
    size_t size = 0;
    while (poll(&waiting, 1, 0) == 1) {
        ssize_t got = read(pipe_ends[0], line, sizeof line - 1);
        assert_true(got > 0);
        size += (size_t)got;
        line[got] = '\0';
    }
    assert_true(size > 10 * 2 * sizeof text);
    assert_non_null(strstr(line, "\"at once\"}\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_event_is_one_json_line),
        TEST(events_below_the_level_are_not_written),
        TEST(what_could_deceive_a_reader_is_escaped),
        TEST(a_long_text_is_cut_between_characters),
        TEST(a_long_line_loses_its_last_fields_and_says_so),
        TEST(a_failed_call_is_told_with_its_cause),
        TEST(held_lines_are_written_together_and_in_order),
        TEST(a_reader_that_stopped_costs_lines_not_time),
    };
    return cmocka_run_group_tests_name("shared/telemetry/log", tests, NULL, NULL);
}
