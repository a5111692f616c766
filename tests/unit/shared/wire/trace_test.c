#include "shared/wire/trace.h"
#include "tests/support/call_fixture.h"
#include "tests/support/cmocka_all.h"

static void
a_trace_comes_back_as_it_was_written(void **state)
{
    WireTraceRow rows[] = {
        {.name = SLICE("a/\"b\""),
            .op = SLICE("_Send"),
            .key = SLICE("x;y;z;0:0"),
            .scheduled_ns = 1,
            .start_ns = 2,
            .end_ns = UINT64_MAX,
            .thread = 3,
            .output_bytes = 4},
        {.name = SLICE("c"), .op = SLICE("Add"), .start_ns = 5, .end_ns = 6},
    };
    const WireTrace trace = {.elapsed_ns = 7, .left_out_count = 8, .rows = rows, .row_count = 2};
    AUTO_BUFFER json = {0};
    WireTrace read;
    wire_trace_write(&json, &trace);
    assert_int_equal(wire_trace_read(*state, buffer_slice(&json), &read), STATUS_OK);
    assert_int_equal(read.elapsed_ns, 7);
    assert_int_equal(read.left_out_count, 8);
    assert_int_equal(read.row_count, 2);
    assert_true(slice_equal(read.rows[0].name, rows[0].name));
    assert_true(slice_equal(read.rows[0].op, rows[0].op));
    assert_true(slice_equal(read.rows[0].key, rows[0].key));
    assert_int_equal(read.rows[0].scheduled_ns, 1);
    assert_int_equal(read.rows[0].start_ns, 2);
    assert_true(read.rows[0].end_ns == UINT64_MAX);
    assert_int_equal(read.rows[0].thread, 3);
    assert_int_equal(read.rows[0].output_bytes, 4);
    assert_int_equal(read.rows[1].key.size, 0);
    assert_int_equal(read.rows[1].end_ns, 6);
}

static void
rows_that_do_not_fit_are_counted(void **state)
{
    enum { COUNT = 20000 };
    static WireTraceRow rows[COUNT];
    const WireTrace trace = {.rows = rows, .row_count = COUNT};
    AUTO_BUFFER json = {0};
    WireTrace read;
    for (size_t index = 0; index < COUNT; index++) {
        rows[index] = (WireTraceRow){.name = SLICE("a/name/of/some/length/as/they/are/in/graphs"),
            .op = SLICE("MatMul"),
            .start_ns = index,
            .end_ns = 1000 * 1000 * 1000};
    }
    wire_trace_write(&json, &trace);
    assert_true(json.size <= WIRE_TRACE_SIZE_MAX);
    assert_int_equal(wire_trace_read(*state, buffer_slice(&json), &read), STATUS_OK);
    assert_true(read.row_count > COUNT / 4 && read.row_count < COUNT);
    assert_int_equal(read.row_count + read.left_out_count, COUNT);
    assert_int_equal(read.rows[read.row_count - 1].start_ns, read.row_count - 1);
}

static void
what_is_no_trace_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{\"nodes\":{}}",
        "{\"nodes\":[1]}",
        "{\"nodes\":[[\"a\",\"b\",\"c\",1,2,3,4]]}",
        "{\"nodes\":[[\"a\",\"b\",\"c\",1,2,3,4,5,6]]}",
        "{\"nodes\":[[\"a\",\"b\",\"c\",1,2,3,4,-5]]}",
        "{\"elapsed_ns\":\"soon\"}",
        "{\"left_out\":1",
    };
    for (size_t index = 0; index < COUNT_OF(texts); index++) {
        WireTrace read;
        if (wire_trace_read(*state, slice_from_string(texts[index]), &read) != STATUS_INVALID_ARGUMENT) {
            fail_msg("read as a trace: %s", texts[index]);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_trace_comes_back_as_it_was_written),
        CALL_TEST(rows_that_do_not_fit_are_counted),
        CALL_TEST(what_is_no_trace_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
