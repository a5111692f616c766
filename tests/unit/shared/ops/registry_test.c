#include "shared/ops/registry.h"

#include "shared/ops/family.h"
#include "tests/support/cmocka_all.h"

static void
every_signature_parses_and_every_op_is_found_by_its_name(void **state)
{
    (void)state;
    size_t definition_count = 0;
    for (size_t family = 0; family < op_family_table_count; family++) {
        definition_count += op_family_table[family]->definition_count;
    }
    assert_true(definition_count > 0);
    assert_int_equal(op_count(), definition_count);
    for (size_t index = 0; index < op_count(); index++) {
        assert_ptr_equal(op_find(op_at(index)->name), op_at(index));
    }
}

static void
names_are_sorted_and_unique(void **state)
{
    (void)state;
    for (size_t index = 1; index < op_count(); index++) {
        Slice name = op_at(index)->name;
        if (slice_compare(op_at(index - 1)->name, name) >= 0) {
            fail_msg("'%.*s' is defined twice or out of order", SLICE_PRINT(name));
        }
    }
}

static void
every_op_has_a_shape_rule(void **state)
{
    (void)state;
    for (size_t index = 0; index < op_count(); index++) {
        if (op_at(index)->infer_shapes == NULL) {
            fail_msg("'%.*s' has no shape rule", SLICE_PRINT(op_at(index)->name));
        }
    }
}

static void
an_op_that_does_not_exist_is_not_found(void **state)
{
    (void)state;
    assert_null(op_find(SLICE("matmul")));
    assert_null(op_find(SLICE("")));
    assert_null(op_find(SLICE("onnx::")));
}

static void
the_signature_of_matmul_is_tensorflows(void **state)
{
    (void)state;
    const Op *op = op_find(SLICE("MatMul"));
    assert_non_null(op);
    assert_int_equal(op->input_count, 2);
    assert_int_equal(op->output_count, 1);
    /* T, two that say how to transpose, and two of TensorFlow 2 that say which operand belongs to a
     * gradient. */
    assert_int_equal(op->attr_count, 5);
    assert_true(slice_equals_string(op->attrs[0].name, "transpose_a"));
    assert_true(op->attrs[0].has_default);
    assert_false(op->attrs[0].default_value.value.b);
    assert_false(op->attrs[2].has_default);
    assert_int_equal(op->flags, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_signature_parses_and_every_op_is_found_by_its_name),
        cmocka_unit_test(names_are_sorted_and_unique),
        cmocka_unit_test(every_op_has_a_shape_rule),
        cmocka_unit_test(an_op_that_does_not_exist_is_not_found),
        cmocka_unit_test(the_signature_of_matmul_is_tensorflows),
    };
    return cmocka_run_group_tests_name("shared/ops/registry", tests, NULL, NULL);
}
