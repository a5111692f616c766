#include "shared/graph/graph_def.h"
#include "tests/support/cmocka_all.h"

static void
names_follow_the_grammar(void **state)
{
    (void)state;
    const Slice good[] = {
        SLICE("a"), SLICE("0"), SLICE(".x"), SLICE("A/b_c-d.e"), SLICE("a>b"), SLICE("a>.b/c")};
    const Slice bad[] = {SLICE(""), SLICE("_a"), SLICE("-a"), SLICE("/a"), SLICE("a b"), SLICE("a:0"),
        SLICE("^a"), SLICE("a>"), SLICE(">a"), SLICE("a>_b"), SLICE("a>>b"), SLICE("\xc3\xa4"),
        SLICE("a\0b")};
    for (size_t index = 0; index < COUNT_OF(good); index++) {
        assert_true(node_name_is_valid(good[index], false));
    }
    for (size_t index = 0; index < COUNT_OF(bad); index++) {
        assert_false(node_name_is_valid(bad[index], false));
    }
    assert_true(node_name_is_valid(SLICE("_recv_x_0"), true));
    assert_false(node_name_is_valid(SLICE("a>_b"), true));
}

static void
expect_input(Slice text, Slice node, uint32_t port, bool is_control)
{
    NodeInput input;
    assert_true(node_input_parse(text, &input));
    assert_true(slice_equal(input.node, node));
    assert_int_equal(input.port, port);
    assert_int_equal(input.is_control, is_control);
}

static void
inputs_have_three_forms(void **state)
{
    (void)state;
    expect_input(SLICE("a"), SLICE("a"), 0, false);
    expect_input(SLICE("a:0"), SLICE("a"), 0, false);
    expect_input(SLICE("a/b:12"), SLICE("a/b"), 12, false);
    expect_input(SLICE("^a"), SLICE("a"), 0, true);
}

static void
other_inputs_are_refused(void **state)
{
    (void)state;
    const Slice bad[] = {SLICE(""), SLICE("^"), SLICE("^a:0"), SLICE("a:"), SLICE(":0"), SLICE("a:01"),
        SLICE("a:-1"), SLICE("a:b"), SLICE("a:2147483648"), SLICE("a:99999999999999999999")};
    for (size_t index = 0; index < COUNT_OF(bad); index++) {
        NodeInput input;
        assert_false(node_input_parse(bad[index], &input));
    }
}

static void
attributes_are_equal_in_every_bit(void **state)
{
    (void)state;
    AttrValue zero = {.kind = ATTR_FLOAT, .value.f = 0.0F};
    AttrValue minus_zero = {.kind = ATTR_FLOAT, .value.f = -0.0F};
    AttrValue ones = {.kind = ATTR_INT,
        .is_list = true,
        .value.list = {.count = 1, .items = &(AttrValue){.kind = ATTR_INT, .value.i = 1}}};
    AttrValue twos = {.kind = ATTR_INT,
        .is_list = true,
        .value.list = {.count = 1, .items = &(AttrValue){.kind = ATTR_INT, .value.i = 2}}};
    assert_true(attr_value_equal(&zero, &zero));
    assert_false(attr_value_equal(&zero, &minus_zero));
    assert_false(attr_value_equal(&zero, &ones));
    assert_true(attr_value_equal(&ones, &ones));
    assert_false(attr_value_equal(&ones, &twos));
}

static void
functions_are_equal_with_their_attributes(void **state)
{
    (void)state;
    Attr attr = {.name = SLICE("T"), .value = {.kind = ATTR_TYPE, .value.type = DTYPE_INT8}};
    AttrValue bound = {.kind = ATTR_FUNCTION, .value.function = {SLICE("f"), &attr, 1}};
    AttrValue bare = {.kind = ATTR_FUNCTION, .value.function = {SLICE("f"), NULL, 0}};
    assert_true(attr_value_equal(&bound, &bound));
    assert_false(attr_value_equal(&bound, &bare));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_follow_the_grammar),
        cmocka_unit_test(inputs_have_three_forms),
        cmocka_unit_test(other_inputs_are_refused),
        cmocka_unit_test(attributes_are_equal_in_every_bit),
        cmocka_unit_test(functions_are_equal_with_their_attributes),
    };
    return cmocka_run_group_tests_name("shared/graph/graph_def", tests, NULL, NULL);
}
