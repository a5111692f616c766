#include "gateway/blobs/byte_range.h"

#include "tests/support/call_fixture.h"

static void
a_range_is_cut_to_the_size(void **state)
{
    (void)state;
    static const struct {
        const char *header; /* NULL: absent */
        uint64_t size;
        RangeAnswer answer;
        ByteRange range;
    } cases[] = {
        {NULL, 10, RANGE_WHOLE, {0, 0}},
        {"bytes=0-0", 10, RANGE_PART, {0, 1}},
        {"bytes=3-5", 10, RANGE_PART, {3, 3}},
        {"bytes= 3 - 5 ", 10, RANGE_PART, {3, 3}},
        {"bytes=3-", 10, RANGE_PART, {3, 7}},
        {"bytes=3-99", 10, RANGE_PART, {3, 7}},
        {"bytes=9-18446744073709551615", 10, RANGE_PART, {9, 1}},
        {"bytes=-4", 10, RANGE_PART, {6, 4}},
        {"bytes=-40", 10, RANGE_PART, {0, 10}},
        {"bytes=-0", 10, RANGE_UNSATISFIABLE, {0, 0}},
        {"bytes=10-", 10, RANGE_UNSATISFIABLE, {0, 0}},
        {"bytes=0-", 0, RANGE_UNSATISFIABLE, {0, 0}},
        {"bytes=-1", 0, RANGE_UNSATISFIABLE, {0, 0}},
        {"bytes=5-3", 10, RANGE_WHOLE, {0, 0}},
        {"bytes=0-1,3-4", 10, RANGE_WHOLE, {0, 0}},
        {"bytes=a-3", 10, RANGE_WHOLE, {0, 0}},
        {"bytes=5", 10, RANGE_WHOLE, {0, 0}},
        {"bytes=-", 10, RANGE_WHOLE, {0, 0}},
        {"items=0-1", 10, RANGE_WHOLE, {0, 0}},
        {"bytes=18446744073709551616-", 10, RANGE_WHOLE, {0, 0}},
    };
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        ByteRange range = {0};
        Slice header = cases[index].header == NULL ? (Slice){0} : slice_from_string(cases[index].header);
        assert_int_equal(range_read(header, cases[index].size, &range), cases[index].answer);
        assert_int_equal(range.offset, cases[index].range.offset);
        assert_int_equal(range.size, cases[index].range.size);
    }
}

static void
a_content_range_names_a_part_or_the_whole(void **state)
{
    Call *call = *state;
    ContentRange range;
    assert_status(call, STATUS_OK, content_range_read(call, SLICE("bytes 3-5/10"), &range));
    assert_true(range.offset == 3 && range.size == 3 && range.total == 10 && !range.is_empty);
    assert_status(call, STATUS_OK, content_range_read(call, SLICE("bytes 0-0/1"), &range));
    assert_true(range.offset == 0 && range.size == 1 && range.total == 1 && !range.is_empty);
    assert_status(call, STATUS_OK, content_range_read(call, SLICE("bytes */10"), &range));
    assert_true(range.size == 0 && range.total == 10 && range.is_empty);
}

static void
a_content_range_that_cannot_be_is_refused(void **state)
{
    Call *call = *state;
    static const char *const headers[] = {"", "bytes", "bytes 3-5", "bytes 3-5/", "bytes 3-5/*",
        "bytes 5-3/10", "bytes 3-10/10", "bytes -5/10", "bytes 3-/10", "bytes /10", "bytes=3-5/10",
        "items 3-5/10", "bytes 3-5/18446744073709551616"};
    for (size_t index = 0; index < COUNT_OF(headers); index++) {
        ContentRange range = {.total = 77};
        Slice header = slice_from_string(headers[index]);
        assert_status(call, STATUS_INVALID_ARGUMENT, content_range_read(call, header, &range));
        assert_int_equal(range.total, 77);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_is_cut_to_the_size),
        cmocka_unit_test_setup_teardown(
            a_content_range_names_a_part_or_the_whole, call_set_up, call_tear_down),
        cmocka_unit_test_setup_teardown(
            a_content_range_that_cannot_be_is_refused, call_set_up, call_tear_down),
    };
    return cmocka_run_group_tests_name("gateway/blobs/byte_range", tests, NULL, NULL);
}
