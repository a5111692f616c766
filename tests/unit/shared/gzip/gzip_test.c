#include "shared/base/memory.h"
#include "shared/gzip/gzip.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"

enum { SIZE = 300 * 1000 };

static char plain[SIZE];

static int
setup(void **state)
{
    (void)state;
    for (size_t index = 0; index < SIZE; index++) {
        plain[index] = (char)('a' + (index * index / 7) % 23);
    }
    return 0;
}

static void
what_goes_in_comes_out(void **state)
{
    (void)state;
    Call call = {0};
    static const size_t sizes[] = {0, 1, 4096, 65536, SIZE};
    for (size_t index = 0; index < COUNT_OF(sizes); index++) {
        AUTO_BUFFER packed = {0};
        AUTO_BUFFER unpacked = {0};
        assert_true(gzip_deflate(&packed, slice_of(plain, sizes[index]), GZIP_LEVEL_USUAL));
        assert_status(&call, STATUS_OK, gzip_inflate(&call, buffer_slice(&packed), sizes[index], &unpacked));
        assert_true(slice_equal(buffer_slice(&unpacked), slice_of(plain, sizes[index])));
        assert_int_equal(gzip_announced_size(buffer_slice(&packed)), sizes[index]);
    }
}

static void
members_that_follow_each_other_are_one_document(void **state)
{
    (void)state;
    Call call = {0};
    AUTO_BUFFER packed = {0};
    AUTO_BUFFER unpacked = {0};
    assert_true(gzip_deflate(&packed, SLICE("one, "), GZIP_LEVEL_FAST));
    assert_true(gzip_deflate(&packed, SLICE("two"), GZIP_LEVEL_FAST));
    assert_status(&call, STATUS_OK, gzip_inflate(&call, buffer_slice(&packed), 8, &unpacked));
    assert_true(slice_equals_string(buffer_slice(&unpacked), "one, two"));
    assert_int_equal(gzip_announced_size(buffer_slice(&packed)), 3);
    assert_int_equal(gzip_announced_size(SLICE("seventeen bytes..")), 0);
}

static void
a_bomb_stops_at_the_bound(void **state)
{
    (void)state;
    Call call = {0};
    AUTO_BUFFER packed = {0};
    char *zeros = memory_new(1, 64 * 1024 * 1024);
    assert_true(gzip_deflate(&packed, slice_of(zeros, 64 * 1024 * 1024), GZIP_LEVEL_FAST));
    memory_free(zeros);
    AUTO_BUFFER unpacked = {0};
    assert_status(&call, STATUS_OUT_OF_RANGE, gzip_inflate(&call, buffer_slice(&packed), 100000, &unpacked));
    assert_string_equal(call.error.message, "the gzip data inflate to more than the 100000 bytes allowed");
    assert_true(unpacked.capacity < 1024 * 1024);
    AUTO_BUFFER exact = {0};
    assert_status(
        &call, STATUS_OUT_OF_RANGE, gzip_inflate(&call, buffer_slice(&packed), 64 * 1024 * 1024 - 1, &exact));
}

static void
every_cut_is_noticed(void **state)
{
    (void)state;
    Call call = {0};
    AUTO_BUFFER packed = {0};
    assert_true(gzip_deflate(&packed, slice_of(plain, 1000), GZIP_LEVEL_USUAL));
    for (size_t size = 0; size < packed.size; size++) {
        AUTO_BUFFER unpacked = {0};
        assert_status(&call, STATUS_INVALID_ARGUMENT,
            gzip_inflate(&call, slice_of(packed.data, size), 1000, &unpacked));
        assert_string_equal(call.error.message, "the gzip data end early");
    }
}

static void
what_is_no_gzip_is_refused(void **state)
{
    (void)state;
    Call call = {0};
    AUTO_BUFFER packed = {0};
    AUTO_BUFFER unpacked = {0};
    assert_status(
        &call, STATUS_INVALID_ARGUMENT, gzip_inflate(&call, SLICE("{\"no\": \"gzip\"}"), 1000, &unpacked));
    assert_string_equal(call.error.message, "the data are not valid gzip");
    assert_true(gzip_deflate(&packed, SLICE("text"), GZIP_LEVEL_USUAL));
    packed.data[packed.size - 8] ^= 1; /* in the checksum */
    assert_status(
        &call, STATUS_INVALID_ARGUMENT, gzip_inflate(&call, buffer_slice(&packed), 1000, &unpacked));
}

static void
every_failed_allocation_is_told(void **state)
{
    (void)state;
    Call call = {0};
    AUTO_BUFFER packed = {0};
    assert_true(gzip_deflate(&packed, slice_of(plain, SIZE), GZIP_LEVEL_USUAL));
    bool has_failed = true;
    for (size_t at = 1; has_failed; at++) {
        AUTO_BUFFER repacked = {0};
        AUTO_BUFFER unpacked = {0};
        fail_alloc_count = 0;
        fail_alloc_at = at;
        bool is_packed = gzip_deflate(&repacked, slice_of(plain, SIZE), GZIP_LEVEL_USUAL);
        size_t deflate_count = fail_alloc_count;
        Status status = gzip_inflate(&call, buffer_slice(&packed), SIZE, &unpacked);
        has_failed = fail_alloc_count >= at;
        fail_alloc_at = 0;
        assert_int_equal(is_packed, at > deflate_count);
        assert_int_equal(status, at > deflate_count && has_failed ? STATUS_RESOURCE_EXHAUSTED : STATUS_OK);
        assert_true(at < 200);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_in_comes_out),
        cmocka_unit_test(members_that_follow_each_other_are_one_document),
        cmocka_unit_test(a_bomb_stops_at_the_bound),
        cmocka_unit_test(every_cut_is_noticed),
        cmocka_unit_test(what_is_no_gzip_is_refused),
        cmocka_unit_test(every_failed_allocation_is_told),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
