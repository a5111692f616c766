#include "shared/telemetry/trace.h"
#include "tests/support/cmocka_all.h"

#define PARENT "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static void
a_parent_is_read_and_written_unchanged(void **state)
{
    (void)state;
    TraceContext trace;
    char text[TRACE_TEXT_SIZE];
    char id[TRACE_ID_TEXT_SIZE];
    assert_true(trace_parse(SLICE(PARENT), &trace));
    assert_true(trace.is_sampled);
    trace_format(&trace, text);
    assert_string_equal(text, PARENT);
    trace_id_format(&trace, id);
    assert_string_equal(id, "0af7651916cd43dd8448eb211c80319c");
}

static void
a_child_keeps_the_trace_and_has_its_own_span(void **state)
{
    (void)state;
    TraceContext parent;
    assert_true(trace_parse(SLICE(PARENT), &parent));
    TraceContext child = trace_child(&parent);
    assert_memory_equal(child.trace_id, parent.trace_id, TRACE_ID_SIZE);
    assert_memory_not_equal(child.span_id, parent.span_id, SPAN_ID_SIZE);
    assert_true(child.is_sampled);
}

static void
a_new_trace_is_one_that_others_accept(void **state)
{
    (void)state;
    char text[TRACE_TEXT_SIZE];
    TraceContext again;
    TraceContext trace = trace_new(false);
    trace_format(&trace, text);
    assert_true(trace_parse(slice_from_string(text), &again));
    assert_memory_equal(&again.trace_id, &trace.trace_id, TRACE_ID_SIZE);
    assert_false(again.is_sampled);
}

static void
what_the_specification_forbids_is_ignored(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "00",
        PARENT "-",
        PARENT "0",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x",
    };
    TraceContext trace;
    for (size_t index = 0; index < COUNT_OF(wrong); index++) {
        assert_false(trace_parse(slice_from_string(wrong[index]), &trace));
    }
    assert_true(trace_parse(SLICE("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03-what"), &trace));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parent_is_read_and_written_unchanged),
        cmocka_unit_test(a_child_keeps_the_trace_and_has_its_own_span),
        cmocka_unit_test(a_new_trace_is_one_that_others_accept),
        cmocka_unit_test(what_the_specification_forbids_is_ignored),
    };
    return cmocka_run_group_tests_name("shared/telemetry/trace", tests, NULL, NULL);
}
