/* Large blocks that are kept for whoever asks next. */
#include "shared/base/spare_memory.h"

#include <string.h>

#include "shared/base/memory.h"
#include "tests/support/cmocka_all.h"

enum { MIB = 1 << 20 };

/* Frees a block of this size; returns where it was. */
static void *
free_one(size_t size)
{
    void *block = spare_memory_new(size);
    assert_non_null(block);
    memset(block, 1, size);
    spare_memory_free(block, size);
    return block;
}

static int
keep_nothing(void **state)
{
    (void)state;
    spare_memory_keep(0);
    return 0;
}

static void
nothing_is_kept_unless_the_program_asks(void **state)
{
    (void)state;
    (void)free_one(2 * MIB);
    assert_int_equal(spare_memory_size(), 0);
}

static void
a_freed_block_serves_the_next_of_its_size(void **state)
{
    (void)state;
    spare_memory_keep(8 * MIB);
    void *first = free_one(2 * MIB);
    assert_int_equal(spare_memory_size(), 2 * MIB);
    void *second = spare_memory_new(2 * MIB - 100);
    assert_ptr_equal(second, first);
    assert_int_equal((uintptr_t)second % MEMORY_CACHE_LINE, 0);
    assert_int_equal(spare_memory_size(), 0);
    spare_memory_free(second, 2 * MIB - 100);
}

static void
a_block_serves_none_of_another_size(void **state)
{
    (void)state;
    spare_memory_keep(8 * MIB);
    (void)free_one(2 * MIB);
    size_t kept = spare_memory_size();
    void *larger = spare_memory_new(3 * MIB);
    void *smaller = spare_memory_new(MIB / 2);
    assert_non_null(larger);
    assert_non_null(smaller);
    assert_int_equal(spare_memory_size(), kept);
    spare_memory_free(larger, 3 * MIB);
    spare_memory_free(smaller, MIB / 2);
}

static void
no_more_is_kept_than_the_limit(void **state)
{
    (void)state;
    void *blocks[40];
    spare_memory_keep(5 * MIB);
    for (size_t index = 0; index < COUNT_OF(blocks); index++) {
        blocks[index] = spare_memory_new(2 * MIB);
        assert_non_null(blocks[index]);
    }
    for (size_t index = 0; index < COUNT_OF(blocks); index++) {
        spare_memory_free(blocks[index], 2 * MIB);
    }
    assert_int_equal(spare_memory_size(), 4 * MIB);
}

static void
small_blocks_and_huge_ones_are_not_kept(void **state)
{
    (void)state;
    spare_memory_keep((size_t)64 * MIB);
    (void)free_one(1000);
    (void)free_one((size_t)16 * MIB);
    spare_memory_free(NULL, 2 * MIB);
    assert_int_equal(spare_memory_size(), 0);
}

static void
a_block_that_nobody_takes_between_two_trims_is_given_back(void **state)
{
    (void)state;
    spare_memory_keep(8 * MIB);
    (void)free_one(2 * MIB);
    spare_memory_trim();
    assert_true(spare_memory_size() > 0);
    (void)free_one(2 * MIB); /* takes it, and frees it again */
    spare_memory_trim();
    assert_true(spare_memory_size() > 0);
    spare_memory_trim();
    assert_int_equal(spare_memory_size(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(nothing_is_kept_unless_the_program_asks, keep_nothing),
        cmocka_unit_test_teardown(a_freed_block_serves_the_next_of_its_size, keep_nothing),
        cmocka_unit_test_teardown(a_block_serves_none_of_another_size, keep_nothing),
        cmocka_unit_test_teardown(no_more_is_kept_than_the_limit, keep_nothing),
        cmocka_unit_test_teardown(small_blocks_and_huge_ones_are_not_kept, keep_nothing),
        cmocka_unit_test_teardown(a_block_that_nobody_takes_between_two_trims_is_given_back, keep_nothing),
    };
    return cmocka_run_group_tests_name("spare memory", tests, NULL, NULL);
}
