#include "shared/tensor/half.h"
#include "tests/support/cmocka_all.h"

static void
every_half_survives_widening(void **state)
{
    (void)state;
    for (uint32_t half = 0; half <= UINT16_MAX; half++) {
        float wide = half_to_float((uint16_t)half);
        bool is_nan = (half & 0x7c00) == 0x7c00 && (half & 0x3ff) != 0;
        assert_int_equal(isnan(wide), is_nan);
        /* Only the quiet bit of a NaN may change. */
        if ((half_from_float(wide) | (is_nan ? 0x200 : 0)) != (half | (is_nan ? 0x200 : 0))) {
            fail_msg("%04x comes back as %04x", half, half_from_float(wide));
        }
        float wide_brain = bfloat16_to_float((uint16_t)half);
        if (!isnan(wide_brain) && bfloat16_from_float(wide_brain) != half) {
            fail_msg("bfloat16 %04x comes back as %04x", half, bfloat16_from_float(wide_brain));
        }
        assert_int_equal(isnan(wide_brain), isnan(bfloat16_to_float(bfloat16_from_float(wide_brain))));
    }
}

/* Between each half and the next: below, at and above the middle. */
static void
narrowing_goes_to_the_nearest_and_ties_to_even(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < 0x7bff; half++) {
        double low = (double)half_to_float((uint16_t)half);
        double high = (double)half_to_float((uint16_t)(half + 1));
        double middle = (low + high) / 2;
        uint32_t even = half % 2 == 0 ? half : half + 1;
        assert_int_equal(half_from_double(middle), even);
        assert_int_equal(half_from_float((float)middle), even);
        assert_int_equal(half_from_double(nextafter(middle, 0)), half);
        assert_int_equal(half_from_double(nextafter(middle, 1e9)), half + 1);
        assert_int_equal(half_from_float(nextafterf((float)middle, 0)), half);
        assert_int_equal(half_from_float(-nextafterf((float)middle, 1e9F)), (half + 1) | 0x8000);
    }
}

static void
the_ends_of_the_range_are_right(void **state)
{
    (void)state;
    assert_int_equal(half_from_float(65504.0F), 0x7bff);
    assert_int_equal(half_from_float(65519.996F), 0x7bff);
    assert_int_equal(half_from_float(65520.0F), 0x7c00);
    assert_int_equal(half_from_double(1e300), 0x7c00);
    assert_int_equal(half_from_double(-1e300), 0xfc00);
    assert_int_equal(half_from_double(1e-300), 0);
    assert_int_equal(half_from_float(-0.0F), 0x8000);
    assert_int_equal(half_from_double(0x1p-25), 0);
    assert_int_equal(half_from_double(0x1.0000001p-25), 1);
    assert_int_equal(bfloat16_from_float(1.0F), 0x3f80);
    assert_int_equal(bfloat16_from_float(1.00390625F), 0x3f80);
    assert_int_equal(bfloat16_from_float(1.01171875F), 0x3f82);
    assert_int_equal(bfloat16_from_double(1.00390625000000022), 0x3f81);
    assert_int_equal(bfloat16_from_float(3.4028234e38F), 0x7f80);
    assert_int_equal(bfloat16_from_double(1e300), 0x7f80);
    assert_true(isnan(half_to_float(half_from_double((double)NAN))));
    assert_true(isinf(half_to_float(half_from_float(INFINITY))));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_survives_widening),
        cmocka_unit_test(narrowing_goes_to_the_nearest_and_ties_to_even),
        cmocka_unit_test(the_ends_of_the_range_are_right),
    };
    return cmocka_run_group_tests_name("shared/tensor/half", tests, NULL, NULL);
}
