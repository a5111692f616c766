#include "gateway/domain/limits.h"
#include "tests/support/call_fixture.h"

static void
the_table_and_the_struct_agree(void **state)
{
    (void)state;
    Limits limits = limits_default();
    assert_int_equal(limit_table_count * sizeof(uint64_t), sizeof limits);
    for (size_t index = 0; index < limit_table_count; index++) {
        const LimitField *field = &limit_table[index];
        assert_true(field->default_value > 0);
        assert_true(field->default_value <= field->maximum);
        assert_int_equal(limit_value(&limits, field), field->default_value);
        assert_ptr_equal(limit_find(slice_from_string(field->name)), field);
    }
    assert_int_equal(limits.json_depth, 100);
    assert_int_equal(limits.graph_body_bytes, UINT64_C(64) << 30);
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

static void
a_setting_is_read_or_refused_with_its_reason(void **state)
{
    Call *call = *state;
    static const struct {
        const char *setting;
        const char *message;
    } cases[] = {
        {"no_such_limit=1", "there is no limit 'no_such_limit'"},
        {"page_size", "the limit page_size is set to '', it can be 1 to 1000 items"},
        {"page_size=0", "the limit page_size is set to '0', it can be 1 to 1000 items"},
        {"page_size=1001", "the limit page_size is set to '1001', it can be 1 to 1000 items"},
        {"page_size=-1", "the limit page_size is set to '-1', it can be 1 to 1000 items"},
    };
    Limits limits = limits_default();
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        assert_int_equal(
            limits_read(call, slice_from_string(cases[index].setting), &limits), STATUS_INVALID_ARGUMENT);
        assert_string_equal(call->error.message, cases[index].message);
    }
    assert_int_equal(limits.page_size, limits_default().page_size);
    assert_int_equal(limits_read(call, SLICE("page_size = 7"), &limits), STATUS_OK);
    assert_int_equal(limits.page_size, 7);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_and_the_struct_agree),
        cmocka_unit_test(one_limit_can_be_set_by_name),
        CALL_TEST(a_setting_is_read_or_refused_with_its_reason),
    };
    return cmocka_run_group_tests_name("gateway/domain/limits", tests, NULL, NULL);
}
