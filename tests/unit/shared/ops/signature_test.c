#include "shared/ops/signature.h"

#include "tests/support/cmocka_all.h"

static void
parse(Arena *arena, const char *text, Op *ret_op)
{
    OpDefinition definition = {.signature = text};
    Slice error = SLICE("");
    if (!signature_parse(arena, &definition, ret_op, &error)) {
        fail_msg("'%s' does not parse at '%.*s'", text, SLICE_PRINT(error));
    }
}

static void
assert_slice(Slice actual, const char *expected)
{
    if (!slice_equals_string(actual, expected)) {
        fail_msg("'%.*s' is not '%s'", SLICE_PRINT(actual), expected);
    }
}

static void
arguments_have_dtypes_by_name_by_attribute_and_by_list(void **state)
{
    (void)state;
    AUTO_ARENA arena = arena_new(1 << 16);
    Op op;
    parse(arena,
        "Mixed!(fixed:int32, by_attr:T, many:N*T, listed:Tin, handle:Ref(string), counted:N*float)->(y?:T) "
        "{N:int, T:type=DT_HALF, Tin:list(type)}",
        &op);
    assert_slice(op.name, "Mixed");
    assert_int_equal(op.flags, OP_STATEFUL);
    assert_int_equal(op.input_count, 6);
    assert_int_equal(op.inputs[0].dtype, DTYPE_INT32);
    assert_slice(op.inputs[1].type_attr, "T");
    assert_slice(op.inputs[2].type_attr, "T");
    assert_slice(op.inputs[2].number_attr, "N");
    assert_slice(op.inputs[3].type_list_attr, "Tin");
    assert_true(op.inputs[4].is_reference);
    assert_int_equal(op.inputs[4].dtype, DTYPE_STRING);
    assert_slice(op.inputs[5].number_attr, "N");
    assert_int_equal(op.inputs[5].dtype, DTYPE_FLOAT32);
    assert_int_equal(op.output_count, 1);
    assert_true(op.outputs[0].is_optional);
    assert_slice(op.outputs[0].name, "y");
    assert_int_equal(op.attrs[1].default_value.value.type, DTYPE_FLOAT16);
}

static void
every_kind_of_default_is_read(void **state)
{
    (void)state;
    AUTO_ARENA arena = arena_new(1 << 16);
    Op op;
    parse(arena,
        "D()->() {s:string=, t:string=\\t, i:int=-1, f:float=-inf, g:float=1e-05, b:bool=true, "
        "d:ints=[1,-2], e:list(float)=[0.5], h:shape=unk, k:list(string)=[]}",
        &op);
    assert_int_equal(op.attr_count, 10);
    assert_slice(op.attrs[0].default_value.value.s, "");
    assert_slice(op.attrs[1].default_value.value.s, "\t");
    assert_int_equal(op.attrs[2].default_value.value.i, -1);
    assert_true(op.attrs[3].default_value.value.f < -1e38F);
    assert_true(op.attrs[4].default_value.value.f == 1e-05F);
    assert_true(op.attrs[5].default_value.value.b);
    assert_true(op.attrs[6].is_list && op.attrs[6].default_value.is_list);
    assert_int_equal(op.attrs[6].default_value.value.list.count, 2);
    assert_int_equal(op.attrs[6].default_value.value.list.items[1].value.i, -2);
    assert_true(op.attrs[7].default_value.value.list.items[0].value.f == 0.5F);
    assert_int_equal(op.attrs[8].default_value.value.shape.rank, -1);
    assert_int_equal(op.attrs[9].default_value.value.list.count, 0);
    for (size_t index = 0; index < op.attr_count; index++) {
        assert_true(op.attrs[index].has_default);
    }
}

static void
an_int_may_have_a_minimum(void **state)
{
    (void)state;
    AUTO_ARENA arena = arena_new(1 << 16);
    Op op;
    parse(arena, "Pack(values:N*T)->(output:T) {N:int>=1, axis:int=0, T:type}", &op);
    assert_true(op.attrs[0].has_minimum);
    assert_int_equal(op.attrs[0].minimum, 1);
    assert_false(op.attrs[0].has_default);
    assert_false(op.attrs[1].has_minimum);
}

static void
a_broken_signature_is_refused_where_it_breaks(void **state)
{
    (void)state;
    const struct {
        const char *text;
        const char *error;
    } cases[] = {
        {"", ""},
        {"A", "A"},
        {"A()", "A()"},
        {"A(x:T)->(y:T)", "T"},
        {"A(x:T)->(y:T) {T:kind}", "kind"},
        {"A(x:T)->(y:T) {T:int}", "T"},
        {"A(x:N*int32)->() {N:type}", "N*int32"},
        {"A(:T)->() {T:type}", ":T"},
        {"A()->() {i:int=one}", "one"},
        {"A()->() {b:bool=yes}", "yes"},
        {"A()->() {f:float=}", ""},
        {"A()->() {l:ints=1}", "1"},
        {"A()->() {l:ints=[1,x]}", "x"},
        {"A()->() {t:type=FLOAT}", "FLOAT"},
        {"A()->() {i:int>=one}", "one"},
        {"A()->() {t:type>=1}", "1"},
        {"A()->() {} more", " more"},
    };
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        AUTO_ARENA arena = arena_new(1 << 16);
        OpDefinition definition = {.signature = cases[index].text};
        Op op;
        Slice error = SLICE("?");
        if (signature_parse(arena, &definition, &op, &error)) {
            fail_msg("'%s' was read", cases[index].text);
        }
        assert_slice(error, cases[index].error);
    }
}

static void
an_arena_that_is_full_refuses_without_a_place(void **state)
{
    (void)state;
    AUTO_ARENA arena = arena_new(1);
    OpDefinition definition = {.signature = "A(x:T)->(y:T) {T:type}"};
    Op op;
    Slice error = SLICE("?");
    assert_false(signature_parse(arena, &definition, &op, &error));
    assert_slice(error, "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_have_dtypes_by_name_by_attribute_and_by_list),
        cmocka_unit_test(every_kind_of_default_is_read),
        cmocka_unit_test(an_int_may_have_a_minimum),
        cmocka_unit_test(a_broken_signature_is_refused_where_it_breaks),
        cmocka_unit_test(an_arena_that_is_full_refuses_without_a_place),
    };
    return cmocka_run_group_tests_name("shared/ops/signature", tests, NULL, NULL);
}
