/* Names of tenants. */
#include "gateway/domain/tenant.h"

#include <string.h>

#include "tests/support/cmocka_all.h"

#define LONGEST "a23456789-b23456789-c23456789-d23456789-e23456789-f23456789-z23"

static void
labels_in_lower_case_are_names(void **state)
{
    static const char *const names[] = {"a", "7", "default", "team-7", "a--b", LONGEST};
    (void)state;
    assert_int_equal(strlen(LONGEST), TENANT_NAME_MAX);
    for (size_t index = 0; index < COUNT_OF(names); index++) {
        assert_true(tenant_name_is_ok(slice_from_string(names[index])));
    }
}

static void
other_texts_are_no_names(void **state)
{
    static const char *const names[] = {
        "", "-", "-a", "a-", "Vision", "a_b", "a.b", "a b", "\xc3\xa4", LONGEST "4"};
    (void)state;
    for (size_t index = 0; index < COUNT_OF(names); index++) {
        assert_false(tenant_name_is_ok(slice_from_string(names[index])));
    }
    assert_false(tenant_name_is_ok(SLICE("a\0b")));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_in_lower_case_are_names),
        cmocka_unit_test(other_texts_are_no_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
