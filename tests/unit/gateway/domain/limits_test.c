#include "gateway/domain/limits.h"
#include "tests/support/cmocka_all.h"

static void
the_table_and_the_struct_agree(void **state)
{
    (void)state;
    const Limits limits = limits_default();
    assert_int_equal(limit_table_count * sizeof(uint64_t), sizeof limits);
    for (size_t index = 0; index < limit_table_count; index++) {
        const LimitField *const field = &limit_table[index];
        assert_true(field->default_value > 0);
        assert_int_equal(limit_value(&limits, field), field->default_value);
        assert_ptr_equal(limit_find(slice_from_string(field->name)), field);
    }
    assert_int_equal(limits.json_depth, 100);
    assert_int_equal(limits.graph_body_bytes, UINT64_C(2) << 30);
}

static void
one_limit_can_be_set_by_name(void **state)
{
    (void)state;
    Limits limits = limits_default();
    limit_set(&limits, limit_find(SLICE("tensor_rank")), 8);
    assert_int_equal(limits.tensor_rank, 8);
    assert_int_equal(limits.graph_nodes, limits_default().graph_nodes);
    assert_null(limit_find(SLICE("no_such_limit")));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_and_the_struct_agree),
        cmocka_unit_test(one_limit_can_be_set_by_name),
    };
    return cmocka_run_group_tests_name("gateway/domain/limits", tests, NULL, NULL);
}
