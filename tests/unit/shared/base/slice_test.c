#include "shared/base/slice.h"
#include "tests/support/cmocka_all.h"

static void
numbers_are_read_strictly(void **state)
{
    (void)state;
    uint64_t natural = 7;
    int64_t integer = 7;
    assert_true(slice_to_uint64(SLICE("18446744073709551615"), &natural));
    assert_true(natural == UINT64_MAX);
    assert_true(slice_to_int64(SLICE("-9223372036854775808"), &integer));
    assert_true(integer == INT64_MIN);
    const char *const refused[] = {"", "-", "+1", " 1", "1 ", "0x1", "1.0", "18446744073709551616"};
    for (size_t index = 0; index < COUNT_OF(refused); index++) {
        assert_false(slice_to_uint64(slice_from_string(refused[index]), &natural));
        assert_false(slice_to_int64(slice_from_string(refused[index]), &integer));
    }
    assert_false(slice_to_int64(SLICE("9223372036854775808"), &integer));
    assert_true(integer == INT64_MIN);
}

static void
split_gives_every_part_once(void **state)
{
    (void)state;
    Slice rest = SLICE("a,,b");
    Slice part;
    assert_true(slice_split(&rest, ',', &part) && slice_equals_string(part, "a"));
    assert_true(slice_split(&rest, ',', &part) && slice_equals_string(part, ""));
    assert_true(slice_split(&rest, ',', &part) && slice_equals_string(part, "b"));
    assert_false(slice_split(&rest, ',', &part));
}

static void
compare_orders_by_bytes_then_length(void **state)
{
    (void)state;
    assert_true(slice_compare(SLICE("a"), SLICE("b")) < 0);
    assert_true(slice_compare(SLICE("ab"), SLICE("a")) > 0);
    assert_int_equal(slice_compare(SLICE("ab"), SLICE("ab")), 0);
    assert_true(slice_equal_ignoring_case(SLICE("Content-Length"), SLICE("content-length")));
    assert_true(slice_starts_with(SLICE("/api/v1"), SLICE("/api")));
    assert_true(slice_ends_with(SLICE("x:0"), SLICE(":0")));
    assert_true(slice_equals_string(slice_trim(SLICE(" \tx ")), "x"));
}

static void
a_folder_is_what_stands_in_front_of_a_name(void **state)
{
    (void)state;
    assert_true(slice_equals_string(slice_folder(SLICE("a/b/name")), "a/b/"));
    assert_true(slice_equals_string(slice_folder(SLICE("/name")), "/"));
    assert_true(slice_equals_string(slice_folder(SLICE("a/")), "a/"));
    assert_int_equal(slice_folder(SLICE("name")).size, 0);
    assert_int_equal(slice_folder(SLICE("")).size, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_strictly),
        cmocka_unit_test(split_gives_every_part_once),
        cmocka_unit_test(compare_orders_by_bytes_then_length),
        cmocka_unit_test(a_folder_is_what_stands_in_front_of_a_name),
    };
    return cmocka_run_group_tests_name("shared/base/slice", tests, NULL, NULL);
}
