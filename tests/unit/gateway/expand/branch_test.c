#include "tests/support/call_fixture.h"
#include "tests/support/expand_literals.h"

#define BRANCHES                                                                                             \
    "function twice(x:float32) -> (y:float32) y=sum:z:0\n"                                                   \
    "sum = AddV2(x, x) T=float32\n"                                                                          \
    "end\n"                                                                                                  \
    "function one(x:float32) -> (y:float32) y=c:output:0\n"                                                  \
    "c = Const() dtype=float32 value=float32(1)\n"                                                           \
    "end\n"                                                                                                  \
    "function same(x:float32) -> (y:float32) y=x\n"                                                          \
    "end\n"
#define INPUTS                                                                                               \
    "p = Placeholder() dtype=bool\n"                                                                         \
    "i = Placeholder() dtype=int32\n"                                                                        \
    "x = Placeholder() dtype=float32\n"
#define IF "Tcond=bool Tin=[float32] Tout=[float32]"

static void
an_if_takes_one_branch(void **state)
{
    assert_string_equal(expand_text(*state, BRANCHES INPUTS
                            "f = StatelessIf(p, x) then_branch=@twice else_branch=@one " IF "\n"
                            "y = Neg(f) T=float32\n"),
        "p = Placeholder()\n"
        "i = Placeholder()\n"
        "x = Placeholder()\n"
        "f/test_0 = Switch(p, p)\n"
        "f/pivot_0 = Identity(f/test_0:1)\n"
        "f/switch_0 = Switch(x, p)\n"
        "f/then/sum = AddV2(f/switch_0:1, f/switch_0:1)\n"
        "f/pivot_1 = Identity(f/test_0)\n"
        "f/else/c = Const(^f/pivot_1)\n"
        "f/output_0 = Merge(f/then/sum, f/else/c)\n"
        "f = NoOp(^f/output_0)\n"
        "y = Neg(f/output_0)\n");
}

static void
an_if_waits_for_its_controls(void **state)
{
    assert_string_equal(
        expand_text(*state, BRANCHES INPUTS "f = If(p, x, ^i) then_branch=@same else_branch=@one " IF "\n"),
        "p = Placeholder()\n"
        "i = Placeholder()\n"
        "x = Placeholder()\n"
        "f/predicate = Identity(p, ^i)\n"
        "f/test_0 = Switch(f/predicate, f/predicate)\n"
        "f/pivot_0 = Identity(f/test_0:1)\n"
        "f/switch_0 = Switch(x, f/predicate)\n"
        "f/pivot_1 = Identity(f/test_0)\n"
        "f/else/c = Const(^f/pivot_1)\n"
        "f/output_0 = Merge(f/switch_0:1, f/else/c)\n"
        "f = NoOp(^f/output_0)\n");
}

static void
a_condition_may_be_a_number(void **state)
{
    assert_string_equal(
        expand_text(*state, BRANCHES INPUTS
            "f = If(i, x) then_branch=@same else_branch=@same Tcond=int32 Tin=[float32] Tout=[float32]\n"),
        "p = Placeholder()\n"
        "i = Placeholder()\n"
        "x = Placeholder()\n"
        "f/is_true = ToBool(i)\n"
        "f/test_0 = Switch(f/is_true, f/is_true)\n"
        "f/pivot_0 = Identity(f/test_0:1)\n"
        "f/switch_0 = Switch(x, f/is_true)\n"
        "f/pivot_1 = Identity(f/test_0)\n"
        "f/output_0 = Merge(f/switch_0:1, f/switch_0)\n"
        "f = NoOp(^f/output_0)\n");
}

static void
effects_happen_on_the_side_that_is_taken(void **state)
{
    assert_string_equal(
        expand_text(*state,
            "function add(v:resource) -> () {done=a}\n"
            "c = Const() dtype=float32 value=float32(1)\n"
            "a = AssignAddVariableOp(v, c:output:0) dtype=float32\n"
            "end\n"
            "function nothing(v:resource) -> ()\n"
            "end\n" INPUTS "v = VarHandleOp() dtype=float32 shape=<>\n"
            "f = If(p, v) then_branch=@add else_branch=@nothing Tcond=bool Tin=[resource] Tout=[]\n"
            "y = Neg(x, ^f) T=float32\n"),
        "p = Placeholder()\n"
        "i = Placeholder()\n"
        "x = Placeholder()\n"
        "v = VarHandleOp()\n"
        "f/test_0 = Switch(p, p)\n"
        "f/pivot_0 = Identity(f/test_0:1)\n"
        "f/switch_0 = Switch(v, p)\n"
        "f/then/c = Const(^f/pivot_0)\n"
        "f/then/a = AssignAddVariableOp(f/switch_0:1, f/then/c)\n"
        "f/pivot_1 = Identity(f/test_0)\n"
        "f/done_0 = Identity(f/pivot_0, ^f/then/a)\n"
        "f/done_1 = Identity(f/pivot_1)\n"
        "f/done = Merge(f/done_0, f/done_1)\n"
        "f = NoOp(^f/done)\n"
        "y = Neg(x, ^f)\n");
}

static void
branches_nest(void **state)
{
    assert_string_equal(
        expand_text(*state,
            BRANCHES "function inner(p:bool, x:float32) -> (y:float32) y=f:output:0\n"
                     "f = If(p, x) then_branch=@twice else_branch=@one " IF "\n"
                     "end\n"
                     "function other(p:bool, x:float32) -> (y:float32) y=x\n"
                     "end\n" INPUTS
                     "f = If(p, p, x) then_branch=@inner else_branch=@other Tcond=bool Tin=[bool,float32] "
                     "Tout=[float32]\n"),
        "p = Placeholder()\n"
        "i = Placeholder()\n"
        "x = Placeholder()\n"
        "f/test_0 = Switch(p, p)\n"
        "f/pivot_0 = Identity(f/test_0:1)\n"
        "f/switch_0 = Switch(p, p)\n"
        "f/switch_1 = Switch(x, p)\n"
        "f/then/f/test_0 = Switch(f/switch_0:1, f/switch_0:1)\n"
        "f/then/f/pivot_0 = Identity(f/then/f/test_0:1)\n"
        "f/then/f/switch_0 = Switch(f/switch_1:1, f/switch_0:1)\n"
        "f/then/f/then/sum = AddV2(f/then/f/switch_0:1, f/then/f/switch_0:1)\n"
        "f/then/f/pivot_1 = Identity(f/then/f/test_0)\n"
        "f/then/f/else/c = Const(^f/then/f/pivot_1)\n"
        "f/then/f/output_0 = Merge(f/then/f/then/sum, f/then/f/else/c)\n"
        "f/then/f = NoOp(^f/then/f/output_0)\n"
        "f/pivot_1 = Identity(f/test_0)\n"
        "f/output_0 = Merge(f/then/f/output_0, f/switch_1)\n"
        "f = NoOp(^f/output_0)\n");
}

static void
a_case_tests_one_number_after_the_other(void **state)
{
    assert_string_equal(expand_text(*state, BRANCHES INPUTS
                            "f = Case(i, x) branches=[@twice,@one,@same] Tin=[float32] Tout=[float32]\n"),
        "p = Placeholder()\n"
        "i = Placeholder()\n"
        "x = Placeholder()\n"
        "f/number_0 = Const()\n"
        "f/is_0 = Equal(i, f/number_0)\n"
        "f/test_0 = Switch(f/is_0, f/is_0)\n"
        "f/pivot_0 = Identity(f/test_0:1)\n"
        "f/switch_0 = Switch(x, f/is_0)\n"
        "f/index_0 = Switch(i, f/is_0)\n"
        "f/branch_0/sum = AddV2(f/switch_0:1, f/switch_0:1)\n"
        "f/number_1 = Const()\n"
        "f/is_1 = Equal(f/index_0, f/number_1)\n"
        "f/test_1 = Switch(f/is_1, f/is_1)\n"
        "f/pivot_1 = Identity(f/test_1:1)\n"
        "f/switch_on_0 = Switch(f/switch_0, f/is_1)\n"
        "f/index_1 = Switch(f/index_0, f/is_1)\n"
        "f/branch_1/c = Const(^f/pivot_1)\n"
        "f/pivot_2 = Identity(f/test_1)\n"
        "f/output_0 = Merge(f/branch_0/sum, f/branch_1/c, f/switch_on_0)\n"
        "f = NoOp(^f/output_0)\n");
}

static void
a_case_of_one_branch_is_a_call(void **state)
{
    assert_string_equal(expand_text(*state, BRANCHES INPUTS
                            "f = Case(i, x, ^p) branches=[@twice] Tin=[float32] Tout=[float32]\n"),
        "p = Placeholder()\n"
        "i = Placeholder()\n"
        "x = Placeholder()\n"
        "f/predicate = Identity(i, ^p)\n"
        "f/input_0 = Identity(x, ^p)\n"
        "f/branch_0/sum = AddV2(f/input_0, f/input_0)\n"
        "f/output_0 = Merge(f/branch_0/sum)\n"
        "f = NoOp(^f/output_0)\n");
}

static void
faults_name_the_node(void **state)
{
    expect_expand_fails(*state, BRANCHES INPUTS "f = If(p, x) then_branch=@twice " IF "\n",
        STATUS_INVALID_ARGUMENT, "node 'f': attribute 'else_branch' names no function");
    expect_expand_fails(*state, BRANCHES INPUTS "f = If() then_branch=@twice else_branch=@one " IF "\n",
        STATUS_INVALID_ARGUMENT, "node 'f': has no input that says which branch to take");
    expect_expand_fails(*state,
        BRANCHES INPUTS "f = If(p, x) then_branch=@twice else_branch=@one Tcond=bool Tin=[float32] Tout=[]\n",
        STATUS_INVALID_ARGUMENT, "node 'f': function 'twice' has 1 outputs, the node has 0");
    expect_expand_fails(*state, BRANCHES INPUTS "f = Case(i, x) branches=[] Tin=[float32] Tout=[float32]\n",
        STATUS_INVALID_ARGUMENT, "node 'f': attribute 'branches' names no functions");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(an_if_takes_one_branch),
        CALL_TEST(an_if_waits_for_its_controls),
        CALL_TEST(a_condition_may_be_a_number),
        CALL_TEST(effects_happen_on_the_side_that_is_taken),
        CALL_TEST(branches_nest),
        CALL_TEST(a_case_tests_one_number_after_the_other),
        CALL_TEST(a_case_of_one_branch_is_a_call),
        CALL_TEST(faults_name_the_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
