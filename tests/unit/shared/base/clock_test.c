#include "shared/base/clock.h"

#include "tests/support/cmocka_all.h"

static void
a_stamp_is_rfc_3339_with_microseconds(void **state)
{
    (void)state;
    static const struct {
        uint64_t wall_us;
        const char *stamp;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000000Z"},
        {UINT64_C(951782400000007), "2000-02-29T00:00:00.000007Z"},
        {UINT64_C(1795255932123456), "2026-11-21T10:12:12.123456Z"},
    };
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        char stamp[CLOCK_STAMP_SIZE];
        clock_stamp(cases[index].wall_us, stamp);
        assert_string_equal(stamp, cases[index].stamp);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stamp_is_rfc_3339_with_microseconds),
    };
    return cmocka_run_group_tests_name("shared/base/clock", tests, NULL, NULL);
}
