#include "shared/tensor/foreign_dtype.h"

#include "shared/tensor/dtype.h"
#include "tests/support/cmocka_all.h"

static void
types_without_elements_here_have_names(void **state)
{
    (void)state;
    assert_string_equal(foreign_dtype_onnx(17), "FLOAT8E4M3FN");
    assert_string_equal(foreign_dtype_onnx(22), "INT4");
    assert_string_equal(foreign_dtype_tensorflow(24), "DT_FLOAT8_E5M2");
    assert_string_equal(foreign_dtype_tensorflow(125), "DT_FLOAT8_E4M3FN");
    assert_int_equal(foreign_dtype_from_tensorflow_name(SLICE("DT_FLOAT8_E4M3FN")), 25);
    assert_int_equal(foreign_dtype_from_tensorflow_name(SLICE("DT_INT4_REF")), 29);
    assert_int_equal(foreign_dtype_from_tensorflow_name(SLICE("DT_FLOAT")), 0);
    assert_int_equal(foreign_dtype_from_tensorflow_name(SLICE("")), 0);
}

static void
no_type_is_both_foreign_and_ours(void **state)
{
    enum { NUMBER_MAX = 256 };
    (void)state;
    for (int64_t number = -1; number < NUMBER_MAX; number++) {
        assert_true(foreign_dtype_onnx(number) == NULL || dtype_from_onnx_number(number) == DTYPE_INVALID);
        assert_true(foreign_dtype_tensorflow(number) == NULL ||
                    dtype_from_tensorflow_number(number) == DTYPE_INVALID);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_without_elements_here_have_names),
        cmocka_unit_test(no_type_is_both_foreign_and_ours),
    };
    return cmocka_run_group_tests_name("shared/tensor/foreign_dtype", tests, NULL, NULL);
}
