/* Properties that a pass must keep though no value shows them: when a node runs, whether it is dead, what
 * it changes, which loop it is in. */
#include "tests/support/call_fixture.h"
#include "tests/support/plan_literals.h"

static const char *
optimised(Call *call, const char *graph, const char *feeds, const char *fetches)
{
    PlanLiteral literal = {.graph = graph, .feeds = feeds, .fetches = fetches, .passes = "*"};
    AUTO_PLAN plan = NULL;
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    assert_int_equal(plan->partition_count, 1);
    return plan_partition_text(call, plan, 0);
}

static void
expect_plan(Call *call, const char *graph, const char *feeds, const char *fetches, const char *expected)
{
    assert_string_equal(optimised(call, graph, feeds, fetches), expected);
}

#define INPUT "x = Placeholder() dtype=float32 shape=<2,3>\n"
#define ARG "_arg_x_0 = _Arg()\n"

static void
what_an_inner_negation_waits_for_still_happens(void **state)
{
    expect_plan(*state,
        INPUT "a = Exp(x) T=float32\n"
              "b = Neg(x, ^a) T=float32\n"
              "c = Neg(b) T=float32\n",
        "x", "c",
        ARG "a = Exp(_arg_x_0)\n"
            "b = Neg(_arg_x_0, ^a)\n"
            "c = Neg(b)\n"
            "_retval_c_0 = _Retval(c)\n");
}

static void
what_an_inner_transpose_waits_for_still_happens(void **state)
{
    expect_plan(*state,
        INPUT "a = Exp(x) T=float32\n"
              "n = Const() dtype=int32 value=int32<2>(1;0)\n"
              "b = Transpose(x, n, ^a) T=float32 Tperm=int32\n"
              "c = Transpose(b, n) T=float32 Tperm=int32\n",
        "x", "c",
        ARG "a = Exp(_arg_x_0)\n"
            "n = Const()\n"
            "b = Transpose(_arg_x_0, n, ^a)\n"
            "c = Transpose(b, n)\n"
            "_retval_c_0 = _Retval(c)\n");
}

#define SWITCH                                                                                               \
    INPUT "p = Placeholder() dtype=bool shape=<>\n"                                                          \
          "s = Switch(x, p) T=float32\n"                                                                     \
          "taken = Identity(s:1) T=float32\n"
#define SWITCHED ARG "_arg_p_0 = _Arg()\ns = Switch(_arg_x_0, _arg_p_0)\n"
#define TAKEN SWITCHED "taken = Identity(s:1)\n"

static void
a_product_with_a_constant_of_a_branch_is_dead_with_it(void **state)
{
    expect_plan(*state,
        SWITCH "one = Const(^taken) dtype=float32 value=float32(1)\n"
               "m = Mul(x, one) T=float32\n",
        "p x", "m",
        TAKEN "one = Const(^taken)\n"
              "m = Mul(_arg_x_0, one)\n"
              "_retval_m_0 = _Retval(m)\n");
}

static void
a_reshape_to_a_shape_of_a_branch_is_dead_with_it(void **state)
{
    expect_plan(*state,
        SWITCH "n = Const(^taken) dtype=int32 value=int32<2>(2;3)\n"
               "a = Reshape(x, n) T=float32 Tshape=int32\n"
               "flat = Const() dtype=int32 value=int32<1>(-1)\n"
               "b = Reshape(a, flat) T=float32 Tshape=int32\n",
        "p x", "b",
        TAKEN "n = Const(^taken)\n"
              "a = Reshape(_arg_x_0, n)\n"
              "flat = Const()\n"
              "b = Reshape(a, flat)\n"
              "_retval_b_0 = _Retval(b)\n");
}

static void
all_outputs_of_an_identity_are_dead_when_one_input_is(void **state)
{
    expect_plan(*state,
        SWITCH "a = IdentityN(x, s:1) T=[float32,float32]\n"
               "b = Neg(a) T=float32\n",
        "p x", "b",
        SWITCHED "a = IdentityN(_arg_x_0, s:1)\n"
                 "b = Neg(a)\n"
                 "_retval_b_0 = _Retval(b)\n");
}

static void
who_asks_for_the_shape_of_an_assignment_lets_it_happen(void **state)
{
    expect_plan(*state,
        INPUT "v = VariableV2() dtype=float32 shape=<2,3>\n"
              "a = AssignAdd(v, x) T=float32\n"
              "b = Shape(a) T=float32\n",
        "x", "b",
        "v = VariableV2()\n" ARG "a = AssignAdd(v, _arg_x_0)\n"
        "b = Shape(a)\n"
        "_retval_b_0 = _Retval(b)\n");
}

static void
who_reads_a_reshaped_value_lets_happen_what_gave_the_shape(void **state)
{
    expect_plan(*state,
        "x = Placeholder() dtype=float32\n"
        "n = Const() dtype=int32 value=int32<2>(3;2)\n"
        "v = VariableV2() dtype=int32 shape=<2>\n"
        "set = Assign(v, n) T=int32\n"
        "a = Reshape(x, set) T=float32 Tshape=int32\n"
        "b = Reshape(a, n) T=float32 Tshape=int32\n",
        "x", "b",
        "v = VariableV2()\n"
        "n = Const()\n"
        "set = Assign(v, n)\n" ARG "a = Reshape(_arg_x_0, set)\n"
        "b = Reshape(a, n)\n"
        "_retval_b_0 = _Retval(b)\n");
}

static void
a_copy_of_a_variable_is_taken_at_its_time(void **state)
{
    expect_plan(*state,
        INPUT "v = VariableV2() dtype=float32 shape=<2,3>\n"
              "one = Const() dtype=float32 value=float32(1)\n"
              "copy = Mul(v, one) T=float32\n"
              "taken = Neg(copy) T=float32\n"
              "later = AssignAdd(v, x, ^taken) T=float32\n",
        "x", "copy later",
        "v = VariableV2()\n"
        "one = Const()\n"
        "copy = Mul(v, one)\n"
        "taken = Neg(copy)\n" ARG "later = AssignAdd(v, _arg_x_0, ^taken)\n"
        "_retval_copy_0 = _Retval(copy)\n"
        "_retval_later_0 = _Retval(later)\n");
}

static void
constants_that_stand_for_variables_are_not_one(void **state)
{
    expect_plan(*state,
        INPUT "u = Const() dtype=float32 value=float32<2,3>(0)\n"
              "v = Const() dtype=float32 value=float32<2,3>(0)\n"
              "a = AssignAdd(u, x) T=float32\n"
              "b = AssignSub(v, x) T=float32\n",
        "x", "a b",
        "u = Const()\n"
        "v = Const()\n" ARG "a = AssignAdd(u, _arg_x_0)\n"
        "b = AssignSub(v, _arg_x_0)\n"
        "_retval_a_0 = _Retval(a)\n"
        "_retval_b_0 = _Retval(b)\n");
}

static void
strings_are_added_in_their_order(void **state)
{
    expect_plan(*state,
        "x = Placeholder() dtype=string\n"
        "y = Placeholder() dtype=string\n"
        "a = Add(x, y) T=string\n"
        "b = Add(y, x) T=string\n",
        "x y", "a b",
        ARG "_arg_y_0 = _Arg()\n"
            "a = Add(_arg_x_0, _arg_y_0)\n"
            "b = Add(_arg_y_0, _arg_x_0)\n"
            "_retval_a_0 = _Retval(a)\n"
            "_retval_b_0 = _Retval(b)\n");
}

static void
a_maximum_takes_its_zero_from_one_side(void **state)
{
    expect_plan(*state,
        INPUT "y = Placeholder() dtype=float32 shape=<2,3>\n"
              "a = Maximum(x, y) T=float32\n"
              "b = Maximum(y, x) T=float32\n",
        "x y", "a b",
        ARG "_arg_y_0 = _Arg()\n"
            "a = Maximum(_arg_x_0, _arg_y_0)\n"
            "b = Maximum(_arg_y_0, _arg_x_0)\n"
            "_retval_a_0 = _Retval(a)\n"
            "_retval_b_0 = _Retval(b)\n");
}

#define COUNTER                                                                                              \
    "none = Const() dtype=int32 value=int32(0)\n"                                                            \
    "limit = Const() dtype=int32 value=int32(3)\n"                                                           \
    "enter = Enter(none) T=int32 frame_name='f'\n"                                                           \
    "count = Merge(enter, next) N=2 T=int32\n"                                                               \
    "less = Less(count, limit) T=int32\n"                                                                    \
    "again = LoopCond(less)\n"                                                                               \
    "turn = Switch(count, again) T=int32\n"                                                                  \
    "out = Exit(turn) T=int32\n"

static void
a_product_in_a_loop_stays_in_it(void **state)
{
    const char *graph = COUNTER "taken = Identity(turn:1) T=int32\n"
                                "one = Const(^taken) dtype=int32 value=int32(1)\n"
                                "five = Const() dtype=int32 value=int32(5)\n"
                                "m = Mul(five, one) T=int32\n"
                                "next = NextIteration(m) T=int32\n";
    assert_non_null(strstr(optimised(*state, graph, NULL, "out"), "m = Mul(five, one)\n"));
}

/* The product of constants would be computed outside of the loop and read inside. */
static void
weights_in_a_loop_are_not_scaled(void **state)
{
    const char *graph = INPUT COUNTER "one = Const() dtype=int32 value=int32(1)\n"
                                      "sum = Add(turn:1, one) T=int32\n"
                                      "next = NextIteration(sum) T=int32\n"
                                      "e = Enter(x) T=float32 frame_name='f'\n"
                                      "m = Merge(e, back) N=2 T=float32\n"
                                      "s = Switch(m, again) T=float32\n"
                                      "shape = Const() dtype=int32 value=int32<2>(2;3)\n"
                                      "w = Const() dtype=float32 value=float32<3,3>(0.5)\n"
                                      "factors = Const() dtype=float32 value=float32<1,3>(1.5)\n"
                                      "given = Reshape(s:1, shape) T=float32 Tshape=int32\n"
                                      "product = MatMul(given, w) T=float32\n"
                                      "scaled = Mul(product, factors) T=float32\n"
                                      "first = Add(product, factors) T=float32\n"
                                      "second = Add(first, factors) T=float32\n"
                                      "both = Add(scaled, second) T=float32\n"
                                      "back = NextIteration(both) T=float32\n"
                                      "result = Exit(s) T=float32\n";
    assert_non_null(strstr(optimised(*state, graph, "x", "result out"), "product = MatMul(given, w)\n"));
}

/* A thousand million paths lead from each sum to a constant. */
static void
what_is_fixed_is_asked_once_of_each_node(void **state)
{
    assert_non_null(strstr(optimised(*state,
                               "x = Placeholder() dtype=float32\n"
                               "a = Const() dtype=int32 value=int32<1>(1)\n"
                               "b = AddN(a, a, a, a, a, a, a, a) T=int32 N=8\n"
                               "c = AddN(b, b, b, b, b, b, b, b) T=int32 N=8\n"
                               "d = AddN(c, c, c, c, c, c, c, c) T=int32 N=8\n"
                               "e = AddN(d, d, d, d, d, d, d, d) T=int32 N=8\n"
                               "f = AddN(e, e, e, e, e, e, e, e) T=int32 N=8\n"
                               "g = AddN(f, f, f, f, f, f, f, f) T=int32 N=8\n"
                               "h = AddN(g, g, g, g, g, g, g, g) T=int32 N=8\n"
                               "i = AddN(h, h, h, h, h, h, h, h) T=int32 N=8\n"
                               "j = AddN(i, i, i, i, i, i, i, i) T=int32 N=8\n"
                               "k = AddN(j, j, j, j, j, j, j, j) T=int32 N=8\n"
                               "inner = Reshape(x, k) T=float32 Tshape=int32\n"
                               "outer = Reshape(inner, a) T=float32 Tshape=int32\n",
                               "x", "outer"),
        "outer = Reshape(_arg_x_0, a)\n"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(what_an_inner_negation_waits_for_still_happens),
        CALL_TEST(what_an_inner_transpose_waits_for_still_happens),
        CALL_TEST(a_product_with_a_constant_of_a_branch_is_dead_with_it),
        CALL_TEST(a_reshape_to_a_shape_of_a_branch_is_dead_with_it),
        CALL_TEST(all_outputs_of_an_identity_are_dead_when_one_input_is),
        CALL_TEST(who_asks_for_the_shape_of_an_assignment_lets_it_happen),
        CALL_TEST(who_reads_a_reshaped_value_lets_happen_what_gave_the_shape),
        CALL_TEST(a_copy_of_a_variable_is_taken_at_its_time),
        CALL_TEST(constants_that_stand_for_variables_are_not_one),
        CALL_TEST(strings_are_added_in_their_order),
        CALL_TEST(a_maximum_takes_its_zero_from_one_side),
        CALL_TEST(a_product_in_a_loop_stays_in_it),
        CALL_TEST(weights_in_a_loop_are_not_scaled),
        CALL_TEST(what_is_fixed_is_asked_once_of_each_node),
    };
    return cmocka_run_group_tests_name("gateway/optimise/unseen", tests, NULL, NULL);
}
