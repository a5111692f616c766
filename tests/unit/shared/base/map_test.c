#include <stdio.h>

#include "shared/base/map.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"

static Slice
key_of(int number, char *text)
{
    return slice_of(text, (size_t)snprintf(text, 32, "key-%d", number));
}

static void
what_was_put_is_found_until_removed(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    static int values[COUNT];
    char text[32];
    AUTO_MAP map = map_new();
    for (int index = 0; index < COUNT; index++) {
        assert_true(map_put(map, key_of(index, text), &values[index]));
    }
    for (int index = 0; index < COUNT; index += 2) {
        assert_ptr_equal(map_remove(map, key_of(index, text)), &values[index]);
        assert_null(map_remove(map, key_of(index, text)));
    }
    for (int index = 0; index < COUNT; index++) {
        assert_ptr_equal(map_get(map, key_of(index, text)), index % 2 == 0 ? NULL : &values[index]);
    }
    assert_int_equal(map_count(map), COUNT / 2);
}

static void
a_walk_meets_every_entry_and_may_remove_it(void **state)
{
    (void)state;
    char text[32];
    int value = 0;
    AUTO_MAP map = map_new();
    for (int index = 0; index < 100; index++) {
        assert_true(map_put(map, key_of(index, text), &value));
    }
    size_t cursor = 0;
    size_t met = 0;
    for (const MapEntry *entry = map_next(map, &cursor); entry != NULL; entry = map_next(map, &cursor)) {
        met++;
        assert_ptr_equal(map_remove(map, entry->key), &value);
    }
    assert_int_equal(met, 100);
    assert_int_equal(map_count(map), 0);
}

static void
put_without_memory_changes_nothing(void **state)
{
    (void)state;
    int value = 0;
    AUTO_MAP map = map_new();
    assert_true(map_put(map, SLICE("a"), &value));
    fail_alloc_count = 0;
    fail_alloc_at = 1;
    assert_false(map_put(map, SLICE("b"), &value));
    fail_alloc_at = 0;
    assert_int_equal(map_count(map), 1);
    assert_null(map_get(map, SLICE("b")));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_found_until_removed),
        cmocka_unit_test(a_walk_meets_every_entry_and_may_remove_it),
        cmocka_unit_test(put_without_memory_changes_nothing),
    };
    return cmocka_run_group_tests_name("shared/base/map", tests, NULL, NULL);
}
