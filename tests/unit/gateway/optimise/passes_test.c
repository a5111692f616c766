#include "tests/support/call_fixture.h"
#include "tests/support/plan_literals.h"

/* Returns the graph that is left, a node a line. */
static const char *
optimised(Call *call, const char *graph, const char *fetches, const char *passes)
{
    PlanLiteral literal = {.graph = graph, .feeds = "x", .fetches = fetches, .passes = passes};
    AUTO_PLAN plan = NULL;
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    assert_int_equal(plan->partition_count, 1);
    return plan_partition_text(call, plan, 0);
}

#define INPUT "x = Placeholder() dtype=float32 shape=<2,3>\n"
#define ARG "_arg_x_0 = _Arg()\n"

static void
readers_of_an_identity_read_what_it_read(void **state)
{
    assert_string_equal(optimised(*state,
                            INPUT "a = Identity(x) T=float32\n"
                                  "b = StopGradient(a) T=float32\n"
                                  "c = Neg(b) T=float32\n",
                            "c", "identity"),
        ARG "c = Neg(_arg_x_0)\n"
            "_retval_c_0 = _Retval(c)\n");
}

static void
a_fetched_identity_is_what_it_read(void **state)
{
    assert_string_equal(
        optimised(*state, INPUT "a = Neg(x) T=float32\nb = Identity(a) T=float32\n", "b", "identity"),
        ARG "a = Neg(_arg_x_0)\n"
            "_retval_b_0 = _Retval(a)\n");
}

static void
an_identity_that_somebody_waits_for_stays(void **state)
{
    assert_string_equal(optimised(*state,
                            INPUT "a = Identity(x) T=float32\n"
                                  "b = Neg(x, ^a) T=float32\n",
                            "b", "identity"),
        ARG "a = Identity(_arg_x_0)\n"
            "b = Neg(_arg_x_0, ^a)\n"
            "_retval_b_0 = _Retval(b)\n");
}

static void
a_node_that_asks_for_a_device_stays_there(void **state)
{
    assert_string_equal(optimised(*state,
                            INPUT "a = Identity(x) T=float32 @/job:worker/task:0\n"
                                  "b = Neg(a) T=float32\n",
                            "b", "*"),
        ARG "a = Identity(_arg_x_0)\n"
            "b = Neg(a)\n"
            "_retval_b_0 = _Retval(b)\n");
}

static void
the_same_of_the_same_is_computed_once(void **state)
{
    assert_string_equal(optimised(*state,
                            INPUT "w = Const() dtype=float32 value=float32<2,3>(0.5)\n"
                                  "v = Const() dtype=float32 value=float32<2,3>(0.5)\n"
                                  "a = Add(x, w) T=float32\n"
                                  "b = Add(v, x) T=float32\n"
                                  "c = Mul(a, b) T=float32\n",
                            "c", "common_subexpression"),
        ARG "w = Const()\n"
            "a = Add(_arg_x_0, w)\n"
            "c = Mul(a, a)\n"
            "_retval_c_0 = _Retval(c)\n");
}

static void
other_attributes_or_another_order_are_not_the_same(void **state)
{
    assert_string_equal(optimised(*state,
                            INPUT "w = Const() dtype=float32 value=float32<2,3>(0.5)\n"
                                  "a = Sub(x, w) T=float32\n"
                                  "b = Sub(w, x) T=float32\n"
                                  "c = MatMul(a, b) T=float32 transpose_b=true\n"
                                  "d = MatMul(a, b) T=float32 transpose_a=true\n",
                            "c d", "common_subexpression"),
        ARG "w = Const()\n"
            "a = Sub(_arg_x_0, w)\n"
            "b = Sub(w, _arg_x_0)\n"
            "c = MatMul(a, b)\n"
            "d = MatMul(a, b)\n"
            "_retval_c_0 = _Retval(c)\n"
            "_retval_d_0 = _Retval(d)\n");
}

static void
what_has_state_is_never_the_same(void **state)
{
    assert_string_equal(optimised(*state,
                            "x = Placeholder() dtype=int32 shape=<>\n"
                            "a = TensorArrayV3(x) dtype=float32\n"
                            "b = TensorArrayV3(x) dtype=float32\n"
                            "c = Add(a:1, b:1) T=float32\n",
                            "c", "*"),
        ARG "a = TensorArrayV3(_arg_x_0)\n"
            "b = TensorArrayV3(_arg_x_0)\n"
            "c = Add(a:1, b:1)\n"
            "_retval_c_0 = _Retval(c)\n");
}

static void
times_one_and_minus_zero_and_twice_negated_change_nothing(void **state)
{
    assert_string_equal(optimised(*state,
                            INPUT "one = Const() dtype=float32 value=float32(1)\n"
                                  "zero = Const() dtype=float32 value=float32(0)\n"
                                  "a = Mul(one, x) T=float32\n"
                                  "b = Sub(a, zero) T=float32\n"
                                  "c = Neg(b) T=float32\n"
                                  "d = Neg(c) T=float32\n"
                                  "e = Relu(d) T=float32\n",
                            "e", "arithmetic"),
        ARG "e = Relu(_arg_x_0)\n"
            "_retval_e_0 = _Retval(e)\n");
}

/* -0 + 0 is 0, not -0. */
static void
plus_zero_stays_for_floating_point_numbers(void **state)
{
    assert_string_equal(optimised(*state,
                            INPUT "zero = Const() dtype=float32 value=float32(0)\n"
                                  "a = Add(x, zero) T=float32\n",
                            "a", "arithmetic"),
        ARG "zero = Const()\n"
            "a = Add(_arg_x_0, zero)\n"
            "_retval_a_0 = _Retval(a)\n");
}

static void
a_neutral_element_that_broadcasts_stays(void **state)
{
    assert_string_equal(optimised(*state,
                            INPUT "ones = Const() dtype=float32 value=float32<4,2,3>(1)\n"
                                  "a = Mul(x, ones) T=float32\n",
                            "a", "arithmetic"),
        ARG "ones = Const()\n"
            "a = Mul(_arg_x_0, ones)\n"
            "_retval_a_0 = _Retval(a)\n");
}

static void
a_reshape_to_the_same_shape_goes(void **state)
{
    assert_string_equal(optimised(*state,
                            INPUT "s = Const() dtype=int32 value=int32<2>(-1)\n"
                                  "t = Const() dtype=int32 value=int32<1>(-1)\n"
                                  "a = Cast(x) SrcT=float32 DstT=float32\n"
                                  "b = Reshape(a, t) T=float32 Tshape=int32\n"
                                  "c = Reshape(b, t) T=float32 Tshape=int32\n",
                            "c", "no_op"),
        ARG "t = Const()\n"
            "b = Reshape(_arg_x_0, t)\n"
            "_retval_c_0 = _Retval(b)\n");
}

static void
only_the_last_of_two_reshapes_counts(void **state)
{
    assert_string_equal(optimised(*state,
                            INPUT "t = Const() dtype=int32 value=int32<1>(-1)\n"
                                  "u = Const() dtype=int32 value=int32(0)\n"
                                  "a = Reshape(x, t) T=float32 Tshape=int32\n"
                                  "b = ExpandDims(a, u) T=float32 Tdim=int32\n"
                                  "c = Reshape(b, t) T=float32 Tshape=int32\n",
                            "c", "reshape"),
        ARG "t = Const()\n"
            "c = Reshape(_arg_x_0, t)\n"
            "_retval_c_0 = _Retval(c)\n");
}

static void
transposes_that_undo_each_other_go(void **state)
{
    assert_string_equal(optimised(*state,
                            INPUT "a = onnx::Transpose(x) T=float32 perm=[1,0]\n"
                                  "b = onnx::Transpose(a) T=float32 perm=[1,0]\n"
                                  "c = Neg(b) T=float32\n",
                            "c", "transpose"),
        ARG "c = Neg(_arg_x_0)\n"
            "_retval_c_0 = _Retval(c)\n");
}

static void
the_shape_of_a_known_shape_is_a_constant(void **state)
{
    assert_string_equal(
        optimised(*state, INPUT "a = Shape(x) T=float32 out_type=int32\n", "a", "shape_constant"),
        "a = Const()\n"
        "_retval_a_0 = _Retval(a)\n");
}

static void
every_change_is_told_with_its_pass(void **state)
{
    PlanLiteral literal = {
        .graph = INPUT "a = Identity(x) T=float32\nb = Neg(a) T=float32\nc = Neg(b) T=float32\n"
                       "d = Relu(c) T=float32\n",
        .feeds = "x",
        .fetches = "d",
        .passes = "*",
    };
    AUTO_PLAN plan = NULL;
    Call *call = *state;
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    assert_int_equal(plan->change_count, 2);
    assert_string_equal(plan->changes[0].pass, "identity");
    assert_true(slice_equals_string(plan->changes[0].node, "a"));
    assert_string_equal(plan->changes[1].pass, "arithmetic");
    assert_true(slice_equals_string(plan->changes[1].node, "c"));
}

static void
passes_that_are_off_do_nothing(void **state)
{
    assert_string_equal(optimised(*state, INPUT "a = Identity(x) T=float32\n", "a", "arithmetic transpose"),
        ARG "a = Identity(_arg_x_0)\n"
            "_retval_a_0 = _Retval(a)\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(readers_of_an_identity_read_what_it_read),
        CALL_TEST(a_fetched_identity_is_what_it_read),
        CALL_TEST(an_identity_that_somebody_waits_for_stays),
        CALL_TEST(a_node_that_asks_for_a_device_stays_there),
        CALL_TEST(the_same_of_the_same_is_computed_once),
        CALL_TEST(other_attributes_or_another_order_are_not_the_same),
        CALL_TEST(what_has_state_is_never_the_same),
        CALL_TEST(times_one_and_minus_zero_and_twice_negated_change_nothing),
        CALL_TEST(plus_zero_stays_for_floating_point_numbers),
        CALL_TEST(a_neutral_element_that_broadcasts_stays),
        CALL_TEST(a_reshape_to_the_same_shape_goes),
        CALL_TEST(only_the_last_of_two_reshapes_counts),
        CALL_TEST(transposes_that_undo_each_other_go),
        CALL_TEST(the_shape_of_a_known_shape_is_a_constant),
        CALL_TEST(every_change_is_told_with_its_pass),
        CALL_TEST(passes_that_are_off_do_nothing),
    };
    return cmocka_run_group_tests_name("gateway/optimise/passes", tests, NULL, NULL);
}
