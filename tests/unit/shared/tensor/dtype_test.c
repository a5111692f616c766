#include "shared/tensor/dtype.h"
#include "tests/support/cmocka_all.h"

static void
every_type_is_found_by_its_own_names_and_numbers(void **state)
{
    (void)state;
    for (Dtype dtype = DTYPE_INVALID + 1; dtype < DTYPE_COUNT; dtype++) {
        assert_int_equal(dtype_from_name(slice_from_string(dtype_name(dtype))), dtype);
        assert_int_equal(dtype_from_tensorflow_name(slice_from_string(dtype_tensorflow_name(dtype))), dtype);
        assert_int_equal(dtype_from_tensorflow_number(dtype_tensorflow_number(dtype)), dtype);
        if (dtype_onnx_number(dtype) != 0) {
            assert_int_equal(dtype_from_onnx_number(dtype_onnx_number(dtype)), dtype);
        }
        if (*dtype_npy(dtype) != '\0') {
            assert_int_equal(dtype_from_npy(slice_from_string(dtype_npy(dtype))), dtype);
        }
    }
}

static void
the_numbers_are_those_of_the_formats(void **state)
{
    (void)state;
    assert_int_equal(dtype_from_tensorflow_number(1), DTYPE_FLOAT32);
    assert_int_equal(dtype_from_tensorflow_number(2), DTYPE_FLOAT64);
    assert_int_equal(dtype_from_tensorflow_number(19), DTYPE_FLOAT16);
    assert_int_equal(dtype_from_onnx_number(2), DTYPE_UINT8);
    assert_int_equal(dtype_from_onnx_number(10), DTYPE_FLOAT16);
    assert_int_equal(dtype_size(DTYPE_COMPLEX128), 16);
    assert_int_equal(dtype_size(DTYPE_STRING), 0);
    assert_string_equal(dtype_name(DTYPE_FLOAT32), "float32");
}

static void
references_give_their_base_type(void **state)
{
    (void)state;
    assert_int_equal(dtype_from_tensorflow_name(SLICE("DT_FLOAT_REF")), DTYPE_FLOAT32);
    assert_int_equal(dtype_from_tensorflow_number(101), DTYPE_FLOAT32);
    assert_int_equal(dtype_from_tensorflow_number(123), DTYPE_UINT64);
}

static void
what_is_no_type_is_invalid(void **state)
{
    (void)state;
    assert_int_equal(dtype_from_name(SLICE("")), DTYPE_INVALID);
    assert_int_equal(dtype_from_name(SLICE("invalid")), DTYPE_INVALID);
    assert_int_equal(dtype_from_name(SLICE("float")), DTYPE_INVALID);
    assert_int_equal(dtype_from_tensorflow_name(SLICE("_REF")), DTYPE_INVALID);
    assert_int_equal(dtype_from_npy(SLICE("")), DTYPE_INVALID);
    assert_int_equal(dtype_from_npy(SLICE(">f4")), DTYPE_INVALID);
    const int64_t numbers[] = {0, -1, 100, 200, 12, INT64_MAX, INT64_MIN, (int64_t)1 << 32};
    for (size_t index = 0; index < COUNT_OF(numbers); index++) {
        assert_int_equal(dtype_from_tensorflow_number(numbers[index]), DTYPE_INVALID);
    }
    assert_int_equal(dtype_from_onnx_number(0), DTYPE_INVALID);
    assert_int_equal(dtype_from_onnx_number(17), DTYPE_INVALID);
    assert_string_equal(dtype_name((Dtype)DTYPE_COUNT), "invalid");
}

static void
kinds_do_not_overlap(void **state)
{
    (void)state;
    for (Dtype dtype = DTYPE_INVALID; dtype < DTYPE_COUNT; dtype++) {
        assert_true(dtype_is_floating(dtype) + dtype_is_integer(dtype) + dtype_is_complex(dtype) <= 1);
    }
    assert_true(dtype_is_integer(DTYPE_INT8) && dtype_is_integer(DTYPE_UINT64));
    assert_false(dtype_is_integer(DTYPE_BOOL));
    assert_true(dtype_is_floating(DTYPE_FLOAT16) && dtype_is_floating(DTYPE_FLOAT64));
    assert_true(dtype_is_copyable(DTYPE_BOOL));
    assert_false(dtype_is_copyable(DTYPE_STRING));
    assert_false(dtype_is_copyable(DTYPE_RESOURCE));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_found_by_its_own_names_and_numbers),
        cmocka_unit_test(the_numbers_are_those_of_the_formats),
        cmocka_unit_test(references_give_their_base_type),
        cmocka_unit_test(what_is_no_type_is_invalid),
        cmocka_unit_test(kinds_do_not_overlap),
    };
    return cmocka_run_group_tests_name("shared/tensor/dtype", tests, NULL, NULL);
}
