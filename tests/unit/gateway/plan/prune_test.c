#include "tests/support/call_fixture.h"
#include "tests/support/plan_literals.h"

#define CHAIN                                                                                                \
    "x = Placeholder() dtype=float32 shape=<2,2>\n"                                                          \
    "w = Const() dtype=float32 value=float32<2,2>(0.5)\n"                                                    \
    "a = MatMul(x, w) T=float32\n"                                                                           \
    "b = Relu(a) T=float32\n"                                                                                \
    "c = Neg(b) T=float32\n"

static const char *
first_partition(Call *call, const PlanLiteral *literal)
{
    AUTO_PLAN plan = NULL;
    assert_status(call, STATUS_OK, plan_literal(call, literal, &plan));
    assert_int_equal(plan->partition_count, 1);
    return plan_partition_text(call, plan, 0);
}

static void
assert_refused(Call *call, const PlanLiteral *literal, Status status, const char *message)
{
    Plan *plan = NULL;
    assert_status(call, status, plan_literal(call, literal, &plan));
    assert_string_equal(call->error.message, message);
}

static void
only_what_a_fetch_needs_is_kept(void **state)
{
    PlanLiteral literal = {.graph = CHAIN, .feeds = "x", .fetches = "b"};
    assert_string_equal(first_partition(*state, &literal), "_arg_x_0 = _Arg()\n"
                                                           "w = Const()\n"
                                                           "a = MatMul(_arg_x_0, w)\n"
                                                           "b = Relu(a)\n"
                                                           "_retval_b_0 = _Retval(b)\n");
}

static void
a_fed_inner_edge_cuts_its_producers_off(void **state)
{
    PlanLiteral literal = {.graph = CHAIN, .feeds = "a:0", .fetches = "c"};
    assert_string_equal(first_partition(*state, &literal), "_arg_a_0 = _Arg()\n"
                                                           "b = Relu(_arg_a_0)\n"
                                                           "c = Neg(b)\n"
                                                           "_retval_c_0 = _Retval(c)\n");
}

static void
one_fed_output_of_several_leaves_the_others_computed(void **state)
{
    PlanLiteral literal = {
        .graph = "x = Placeholder() dtype=float32 shape=<4>\n"
                 "s = Switch(x, p) T=float32\n"
                 "p = Placeholder() dtype=bool\n"
                 "y = Merge(s:1, s) T=float32 N=2\n",
        .feeds = "x p s:1",
        .fetches = "y",
    };
    assert_string_equal(first_partition(*state, &literal), "_arg_x_0 = _Arg()\n"
                                                           "_arg_p_0 = _Arg()\n"
                                                           "s = Switch(_arg_x_0, _arg_p_0)\n"
                                                           "_arg_s_1 = _Arg()\n"
                                                           "y = Merge(_arg_s_1, s)\n"
                                                           "_retval_y_0 = _Retval(y)\n");
}

static void
a_control_edge_still_runs_a_fed_node_but_not_a_fed_placeholder(void **state)
{
    PlanLiteral literal = {
        .graph = CHAIN "d = Neg(b, ^a, ^x) T=float32\n",
        .feeds = "a x",
        .fetches = "d",
    };
    assert_string_equal(first_partition(*state, &literal), "_arg_x_0 = _Arg()\n"
                                                           "w = Const()\n"
                                                           "a = MatMul(_arg_x_0, w)\n"
                                                           "_arg_a_0 = _Arg()\n"
                                                           "b = Relu(_arg_a_0)\n"
                                                           "d = Neg(b, ^_arg_x_0, ^a)\n"
                                                           "_retval_d_0 = _Retval(d)\n");
}

static void
targets_run_without_being_fetched(void **state)
{
    PlanLiteral literal = {.graph = CHAIN "t = NoOp(^b)\n", .feeds = "x", .targets = "^t a:0"};
    assert_string_equal(first_partition(*state, &literal), "_arg_x_0 = _Arg()\n"
                                                           "w = Const()\n"
                                                           "a = MatMul(_arg_x_0, w)\n"
                                                           "b = Relu(a)\n"
                                                           "t = NoOp(^b)\n");
}

static void
a_feed_that_nothing_reads_is_allowed(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = NULL;
    PlanLiteral literal = {.graph = CHAIN, .feeds = "a x", .fetches = "b"};
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    assert_int_equal(plan->feed_count, 2);
    assert_int_equal(plan->partitions[0].feed_count, 1);
    assert_int_equal(plan->partitions[0].feeds[0], 0);
}

static void
a_tensor_fetched_under_two_names_arrives_under_both(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = NULL;
    /* The fetches stay apart even where the name of another node's output would be "_retval_b_0_1". */
    PlanLiteral literal = {.graph = CHAIN "b_0 = Switch(b, p) T=float32\np = Placeholder() dtype=bool\n",
        .feeds = "x p",
        .fetches = "b:0 b b_0:1"};
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    assert_int_equal(plan->partitions[0].fetch_count, 3);
    assert_true(slice_equals_string(plan->fetches[plan->partitions[0].fetches[1]], "b:0"));
}

static void
wrong_names_are_refused_by_name(void **state)
{
    Call *call = *state;
    assert_refused(call, &(PlanLiteral){.graph = CHAIN, .feeds = "x"}, STATUS_INVALID_ARGUMENT,
        "a step needs at least one fetch or target");
    assert_refused(call, &(PlanLiteral){.graph = CHAIN, .feeds = "z", .fetches = "b"}, STATUS_NOT_FOUND,
        "feed 'z': the graph has no node for 'z'");
    assert_refused(call, &(PlanLiteral){.graph = CHAIN, .feeds = "x:1", .fetches = "b"},
        STATUS_INVALID_ARGUMENT, "feed 'x:1': 'x:1' does not exist: the node has 1 output");
    assert_refused(call, &(PlanLiteral){.graph = CHAIN, .fetches = "q"}, STATUS_NOT_FOUND,
        "fetch: the graph has no node for 'q'");
    assert_refused(call, &(PlanLiteral){.graph = CHAIN, .targets = "q"}, STATUS_NOT_FOUND,
        "target: the graph has no node for 'q'");
    assert_refused(call, &(PlanLiteral){.graph = CHAIN, .feeds = "x x:0", .fetches = "b"},
        STATUS_INVALID_ARGUMENT, "feeds 'x' and 'x:0' are the same tensor");
}

static void
an_unfed_placeholder_and_an_unknown_op_are_told_before_anything_runs(void **state)
{
    Call *call = *state;
    assert_refused(call, &(PlanLiteral){.graph = CHAIN, .fetches = "b"}, STATUS_INVALID_ARGUMENT,
        "placeholder 'x' must be fed, with float32 [2,2]");
    static const char unknown[] = CHAIN "u = Frobnicate(a)\nv = com.acme::Twist(a)\n";
    assert_refused(call, &(PlanLiteral){.graph = unknown, .feeds = "x", .targets = "u"}, STATUS_UNIMPLEMENTED,
        "node 'u' needs op 'Frobnicate' of domain 'tensorflow', which is not known");
    assert_refused(call, &(PlanLiteral){.graph = unknown, .feeds = "x", .targets = "v"}, STATUS_UNIMPLEMENTED,
        "node 'v' needs op 'Twist' of domain 'com.acme', which is not known");
    assert_non_null(first_partition(call, &(PlanLiteral){.graph = unknown, .feeds = "x", .fetches = "b"}));
}

static void
an_attribute_of_a_later_version_is_refused_where_its_node_is_needed(void **state)
{
    Call *call = *state;
    static const char graph[] = CHAIN "u = NoOp(^a) later=1\nv = Equal(a, a) T=float32 later='x'\n";
    assert_refused(call, &(PlanLiteral){.graph = graph, .feeds = "x", .targets = "u"}, STATUS_UNIMPLEMENTED,
        "node 'u' needs attribute 'later' of op 'NoOp', which is not known with this value");
    assert_refused(call, &(PlanLiteral){.graph = graph, .feeds = "x", .fetches = "v"}, STATUS_UNIMPLEMENTED,
        "node 'v' needs attribute 'later' of op 'Equal', which is not known with this value");
    assert_non_null(first_partition(call, &(PlanLiteral){.graph = graph, .feeds = "x", .fetches = "b"}));
}

static void
a_feed_may_stand_in_for_an_unknown_op(void **state)
{
    Call *call = *state;
    static const char graph[] = "u = onnx::Frobnicate()\n"
                                "r = onnx::Relu(u)\n"
                                "s = onnx::Relu(r)\n"
                                "t = NoOp(^s)\n";
    assert_refused(call, &(PlanLiteral){.graph = graph, .fetches = "s"}, STATUS_UNIMPLEMENTED,
        "node 'u' needs op 'Frobnicate' of domain 'onnx', which is not known");
    assert_refused(call, &(PlanLiteral){.graph = graph, .feeds = "r", .targets = "t"},
        STATUS_INVALID_ARGUMENT,
        "feed 'r': its dtype must be said, for the graph does not tell it: it depends on an unknown op");
    PlanLiteral literal = {.graph = graph, .feeds = "r", .targets = "t", .feed_dtype = DTYPE_FLOAT32};
    assert_string_equal(first_partition(call, &literal), "_arg_r_0 = _Arg()\n"
                                                         "s = onnx::Relu(_arg_r_0)\n"
                                                         "t = NoOp(^s)\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(only_what_a_fetch_needs_is_kept),
        CALL_TEST(a_fed_inner_edge_cuts_its_producers_off),
        CALL_TEST(one_fed_output_of_several_leaves_the_others_computed),
        CALL_TEST(a_control_edge_still_runs_a_fed_node_but_not_a_fed_placeholder),
        CALL_TEST(targets_run_without_being_fetched),
        CALL_TEST(a_feed_that_nothing_reads_is_allowed),
        CALL_TEST(a_tensor_fetched_under_two_names_arrives_under_both),
        CALL_TEST(wrong_names_are_refused_by_name),
        CALL_TEST(an_unfed_placeholder_and_an_unknown_op_are_told_before_anything_runs),
        CALL_TEST(an_attribute_of_a_later_version_is_refused_where_its_node_is_needed),
        CALL_TEST(a_feed_may_stand_in_for_an_unknown_op),
    };
    return cmocka_run_group_tests_name("gateway/plan/prune", tests, NULL, NULL);
}
