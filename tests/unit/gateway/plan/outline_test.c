/* Heavy branches become functions that a node calls. Here the author asks for light branches to be called,
 * so that the graphs stay readable. */
#include "shared/base/text.h"
#include "tests/support/call_fixture.h"
#include "tests/support/plan_literals.h"

#define FUNCTIONS                                                                                            \
    "function scale(x:float32, w:float32) -> (y:float32) y=product:z:0\n"                                    \
    "two = Const() dtype=float32 value=float32(2)\n"                                                         \
    "both = Mul(two, w) T=float32\n"                                                                         \
    "product = Mul(x, both:z:0) T=float32\n"                                                                 \
    "end\n"                                                                                                  \
    "function same(x:float32, w:float32) -> (y:float32) y=x\n"                                               \
    "end\n"                                                                                                  \
    "function minus(x:float32, w:float32) -> (y:float32) y=neg:y:0\n"                                        \
    "neg = Neg(w) T=float32\n"                                                                               \
    "end\n"
#define TYPES "Tin=[float32,float32] Tout=[float32]"
#define LAZY TYPES " _lower_using_switch_merge=false"
#define INPUTS                                                                                               \
    "p = Placeholder() dtype=bool\n"                                                                         \
    "i = Placeholder() dtype=int32\n"                                                                        \
    "x = Placeholder() dtype=float32\n"                                                                      \
    "w = Const() dtype=float32 value=float32(3)\n"

static Plan *
plan_of(Call *call, PlanLiteral literal)
{
    Plan *plan = NULL;
    literal.passes = literal.passes == NULL ? "lazy_branches" : literal.passes;
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    return plan;
}

static void
expect_partition(Call *call, PlanLiteral literal, const char *expected)
{
    AUTO_PLAN plan = plan_of(call, literal);
    assert_string_equal(plan_partition_text(call, plan, 0), expected);
}

static void
an_if_becomes_one_node(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = plan_of(call,
        (PlanLiteral){.graph = FUNCTIONS INPUTS
                      "f = StatelessIf(p, x, w) Tcond=bool then_branch=@scale else_branch=@same " LAZY "\n"
                      "y = Neg(f) T=float32\n",
            .feeds = "p x",
            .fetches = "y"});
    assert_string_equal(plan_partition_text(call, plan, 0), "function f/call_0:\n"
                                                            "f/then/two = Const()\n"
                                                            "w = Const()\n"
                                                            "f/then/both = Mul(f/then/two, w)\n"
                                                            "f/then/product = Mul(_arg_0, f/then/both)\n"
                                                            "_retval_0 = _Retval(f/then/product)\n"
                                                            "_arg_0 = _Arg()\n"
                                                            "function f/call_1:\n"
                                                            "_retval_0 = _Retval(_arg_0)\n"
                                                            "_arg_0 = _Arg()\n"
                                                            "graph:\n"
                                                            "y = Neg(f/call)\n"
                                                            "_retval_y_0 = _Retval(y)\n"
                                                            "_arg_p_0 = _Arg()\n"
                                                            "_arg_x_0 = _Arg()\n"
                                                            "f/call = _Branch(_arg_p_0, _arg_x_0)\n");
    assert_int_equal(plan->change_count, 1);
    assert_string_equal(plan->changes[0].pass, "lazy_branches");
    assert_string_equal(text_copy(call->arena, plan->changes[0].node), "f/call");
    assert_string_equal(text_copy(call->arena, plan->changes[0].reason),
        "called when it is taken: 2 branches with 4 nodes and 8 bytes of constants");
    assert_true(plan->is_pure);
    assert_false(plan->slots[0].keeps_state);
}

static void
a_session_can_switch_it_off(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = plan_of(
        call, (PlanLiteral){.graph = FUNCTIONS INPUTS
                            "f = If(p, x, w) Tcond=bool then_branch=@scale else_branch=@same " LAZY "\n",
                  .feeds = "p x",
                  .fetches = "f",
                  .passes = "identity"});
    assert_int_equal(plan->change_count, 0);
    assert_non_null(strstr(plan_partition_text(call, plan, 0), "Merge("));
}

static void
a_case_is_called_by_its_number(void **state)
{
    expect_partition(*state,
        (PlanLiteral){.graph = FUNCTIONS INPUTS "f = Case(i, x, w) branches=[@scale,@minus,@same] " LAZY "\n",
            .feeds = "i x",
            .fetches = "f"},
        "function f/call_0:\n"
        "f/branch_0/two = Const()\n"
        "w = Const()\n"
        "f/branch_0/both = Mul(f/branch_0/two, w)\n"
        "f/branch_0/product = Mul(_arg_0, f/branch_0/both)\n"
        "_retval_0 = _Retval(f/branch_0/product)\n"
        "_arg_0 = _Arg()\n"
        "function f/call_1:\n"
        "w = Const()\n"
        "f/branch_1/neg = Neg(w)\n"
        "_retval_0 = _Retval(f/branch_1/neg)\n"
        "_arg_0 = _Arg()\n"
        "function f/call_2:\n"
        "_retval_0 = _Retval(_arg_0)\n"
        "_arg_0 = _Arg()\n"
        "graph:\n"
        "_retval_f/output_0_0 = _Retval(f/call)\n"
        "_arg_i_0 = _Arg()\n"
        "_arg_x_0 = _Arg()\n"
        "f/call = _Branch(_arg_i_0, _arg_x_0)\n");
}

#define NESTED                                                                                               \
    FUNCTIONS "function outer(x:float32, w:float32, p:bool) -> (y:float32) y=g:output:0\n"                   \
              "g = If(p, x, w) Tcond=bool then_branch=@scale else_branch=@minus " LAZY "\n"                  \
              "end\n"                                                                                        \
              "function other(x:float32, w:float32, p:bool) -> (y:float32) y=x\n"                            \
              "end\n" INPUTS "q = Placeholder() dtype=bool\n"                                                \
              "f = If(p, x, w, q) Tcond=bool then_branch=@outer else_branch=@other "                         \
              "Tin=[float32,float32,bool] Tout=[float32]"

static void
calls_nest(void **state)
{
    expect_partition(*state,
        (PlanLiteral){.graph = NESTED " _lower_using_switch_merge=false\n", .feeds = "p q x", .fetches = "f"},
        "function f/then/g/call_0:\n"
        "f/then/g/then/two = Const()\n"
        "w = Const()\n"
        "f/then/g/then/both = Mul(f/then/g/then/two, w)\n"
        "f/then/g/then/product = Mul(_arg_0, f/then/g/then/both)\n"
        "_retval_0 = _Retval(f/then/g/then/product)\n"
        "_arg_0 = _Arg()\n"
        "function f/then/g/call_1:\n"
        "w = Const()\n"
        "f/then/g/else/neg = Neg(w)\n"
        "_retval_0 = _Retval(f/then/g/else/neg)\n"
        "_arg_0 = _Arg()\n"
        "function f/call_0:\n"
        "f/then/g/call = _Branch(_arg_0, _arg_1)\n"
        "_retval_0 = _Retval(f/then/g/call)\n"
        "_arg_0 = _Arg()\n"
        "_arg_1 = _Arg()\n"
        "function f/call_1:\n"
        "_retval_0 = _Retval(_arg_1)\n"
        "_arg_0 = _Arg()\n"
        "_arg_1 = _Arg()\n"
        "graph:\n"
        "_retval_f/output_0_0 = _Retval(f/call)\n"
        "_arg_p_0 = _Arg()\n"
        "_arg_q_0 = _Arg()\n"
        "_arg_x_0 = _Arg()\n"
        "f/call = _Branch(_arg_p_0, _arg_q_0, _arg_x_0)\n");
}

/* The inner call is dead when the branch it is in is not taken. */
static void
a_call_inside_a_branch_that_is_not_called(void **state)
{
    expect_partition(*state, (PlanLiteral){.graph = NESTED "\n", .feeds = "p q x", .fetches = "f"},
        "function f/then/g/call_0:\n"
        "f/then/g/then/two = Const()\n"
        "f/then/g/then/both = Mul(f/then/g/then/two, _arg_0)\n"
        "f/then/g/then/product = Mul(_arg_1, f/then/g/then/both)\n"
        "_retval_0 = _Retval(f/then/g/then/product)\n"
        "_arg_0 = _Arg()\n"
        "_arg_1 = _Arg()\n"
        "function f/then/g/call_1:\n"
        "f/then/g/else/neg = Neg(_arg_0)\n"
        "_retval_0 = _Retval(f/then/g/else/neg)\n"
        "_arg_0 = _Arg()\n"
        "_arg_1 = _Arg()\n"
        "graph:\n"
        "_arg_x_0 = _Arg()\n"
        "_arg_p_0 = _Arg()\n"
        "f/switch_0 = Switch(_arg_x_0, _arg_p_0)\n"
        "w = Const()\n"
        "f/switch_1 = Switch(w, _arg_p_0)\n"
        "_arg_q_0 = _Arg()\n"
        "f/switch_2 = Switch(_arg_q_0, _arg_p_0)\n"
        "f/output_0 = Merge(f/then/g/call, f/switch_0)\n"
        "_retval_f/output_0_0 = _Retval(f/output_0)\n"
        "f/then/g/call = _Branch(f/switch_2:1, f/switch_1:1, f/switch_0:1)\n");
}

static void
expect_lowered(Call *call, PlanLiteral literal)
{
    AUTO_PLAN plan = plan_of(call, literal);
    for (size_t index = 0; index < plan->partition_count; index++) {
        assert_null(strstr(plan_partition_text(call, plan, index), "_Branch("));
    }
}

static void
what_is_looked_into_stays_lowered(void **state)
{
    static const char graph[] =
        FUNCTIONS INPUTS "f = If(p, x, w) Tcond=bool then_branch=@scale else_branch=@same " LAZY "\n";
    static const char placed[] =
        "function here(x:float32) -> (y:float32) y=neg:y:0\n"
        "neg = Neg(x) T=float32 @/task:1\n"
        "end\n"
        "function there(x:float32) -> (y:float32) y=neg:y:0\n"
        "neg = Neg(x) T=float32 @/task:2\n"
        "end\n" INPUTS
        "f = If(p, x) Tcond=bool then_branch=@here else_branch=@there Tin=[float32] Tout=[float32] "
        "_lower_using_switch_merge=false\n";
    expect_lowered(*state, (PlanLiteral){.graph = graph, .feeds = "p x", .fetches = "f f/then/both"});
    expect_lowered(
        *state, (PlanLiteral){.graph = graph, .feeds = "p x", .fetches = "f", .targets = "f/then/both"});
    expect_lowered(*state, (PlanLiteral){.graph = graph, .feeds = "p x", .fetches = "f f/output_0:1"});
    expect_lowered(*state, (PlanLiteral){.graph = placed, .feeds = "p x", .fetches = "f"});
}

static void
expect_nodes_lowered(Call *call, const char *nodes)
{
    const char *graph = text_format(call->arena, "%s%s%s", FUNCTIONS, INPUTS, nodes);
    expect_lowered(call, (PlanLiteral){.graph = graph, .feeds = "p i x", .fetches = "y"});
}

static void
what_an_author_takes_out_of_branches_himself_stays_lowered(void **state)
{
    expect_nodes_lowered(*state,
        "f = StatelessIf(p, x, w) Tcond=bool then_branch=@minus else_branch=@scale " LAZY "\n"
        "taken = Merge(f/then/neg, f/else/product) N=2 T=float32\n"
        "y = Add(f, taken) T=float32\n");
    expect_nodes_lowered(*state,
        "f = StatelessCase(i, x, w) branches=[@minus,@scale,@minus] " LAZY "\n"
        "g = StatelessIf(p, f/switch_0, w) Tcond=bool then_branch=@same else_branch=@same " LAZY "\n"
        "taken = Merge(g, f/branch_0/neg) N=2 T=float32\n"
        "y = Add(f, taken) T=float32\n");
}

static void
a_loop_that_reads_out_of_a_branch_leaves_it_lowered(void **state)
{
    expect_nodes_lowered(*state, "enter = Enter(x) T=float32 frame_name='f'\n"
                                 "turn = Merge(enter, next) N=2 T=float32\n"
                                 "f = StatelessIf(again, turn, turn) Tcond=bool then_branch=@minus "
                                 "else_branch=@same " LAZY "\n"
                                 "four = Const() dtype=float32 value=float32(4)\n"
                                 "less = Less(turn, four) T=float32\n"
                                 "again = LoopCond(less)\n"
                                 "next = NextIteration(f/then/neg) T=float32\n"
                                 "y = Exit(f) T=float32\n");
}

static void
what_is_light_stays_lowered(void **state)
{
    static const char graph[] =
        FUNCTIONS INPUTS "f = If(p, x, w) Tcond=bool then_branch=@scale else_branch=@same " TYPES "\n";
    expect_lowered(*state, (PlanLiteral){.graph = graph, .feeds = "p x", .fetches = "f"});
}

#define HEAVY                                                                                                \
    "function one(x:float32) -> (y:float32) y=sum:z:0\n"                                                     \
    "big = Const() dtype=float32 value=float32<512,512>(0.5)\n"                                              \
    "sum = Add(x, big) T=float32\n"                                                                          \
    "end\n"                                                                                                  \
    "function two(x:float32) -> (y:float32) y=sum:z:0\n"                                                     \
    "big = Const() dtype=float32 value=float32<512,512>(0.25)\n"                                             \
    "sum = Sub(x, big) T=float32\n"                                                                          \
    "end\n" INPUTS                                                                                           \
    "f = If(p, x) Tcond=bool then_branch=@one else_branch=@two Tin=[float32] Tout=[float32]\n"

static void
what_is_heavy_is_called(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = plan_of(call, (PlanLiteral){.graph = HEAVY, .feeds = "p x", .fetches = "f"});
    assert_string_equal(plan_partition_text(call, plan, 0), "function f/call_0:\n"
                                                            "f/then/big = _BlobConst()\n"
                                                            "f/then/sum = Add(_arg_0, f/then/big)\n"
                                                            "_retval_0 = _Retval(f/then/sum)\n"
                                                            "_arg_0 = _Arg()\n"
                                                            "function f/call_1:\n"
                                                            "f/else/big = _BlobConst()\n"
                                                            "f/else/sum = Sub(_arg_0, f/else/big)\n"
                                                            "_retval_0 = _Retval(f/else/sum)\n"
                                                            "_arg_0 = _Arg()\n"
                                                            "graph:\n"
                                                            "_retval_f/output_0_0 = _Retval(f/call)\n"
                                                            "_arg_p_0 = _Arg()\n"
                                                            "_arg_x_0 = _Arg()\n"
                                                            "f/call = _Branch(_arg_p_0, _arg_x_0)\n");
    assert_int_equal(plan->partitions[0].blob_count, 2);
    assert_true(plan->slots[0].memory >= (uint64_t)2 * 512 * 512 * sizeof(float));
    assert_true(plan->slots[0].cost > 0);
    expect_lowered(call,
        (PlanLiteral){
            .graph = HEAVY, .feeds = "p x", .fetches = "f", .placement = PLACEMENT_SPREAD, .slot_count = 2});
}

static void
what_has_effects_keeps_its_order(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = plan_of(
        call, (PlanLiteral){.graph = "function add(x:float32) -> (y:float32) y=r:value:0 {done=a}\n"
                                     "v = VarHandleOp() dtype=float32 shape=<> shared_name='v'\n"
                                     "a = AssignAddVariableOp(v:resource:0, x) dtype=float32\n"
                                     "r = ReadVariableOp(v:resource:0, ^a) dtype=float32\n"
                                     "end\n"
                                     "function keep(x:float32) -> (y:float32) y=x\n"
                                     "end\n" INPUTS "before = NoOp()\n"
                                     "f = If(p, x, ^before) Tcond=bool then_branch=@add else_branch=@keep "
                                     "Tin=[float32] Tout=[float32] _lower_using_switch_merge=false\n"
                                     "after = Neg(x, ^f) T=float32\n",
                  .feeds = "p x",
                  .fetches = "after"});
    assert_string_equal(plan_partition_text(call, plan, 0),
        "function f/call_0:\n"
        "f/pivot_0 = Identity(_arg_0)\n"
        "f/then/v = VarHandleOp()\n"
        "f/then/a = AssignAddVariableOp(f/then/v, _arg_1)\n"
        "f/then/r = ReadVariableOp(f/then/v, ^f/then/a)\n"
        "f/then/after_effects_0 = Identity(f/then/r, ^f/then/a)\n"
        "f/done_0 = Identity(f/pivot_0, ^f/then/a)\n"
        "_retval_0 = _Retval(f/then/after_effects_0)\n"
        "_retval_1 = _Retval(f/done_0)\n"
        "_arg_0 = _Arg()\n"
        "_arg_1 = _Arg()\n"
        "function f/call_1:\n"
        "f/pivot_1 = Identity(_arg_0)\n"
        "f/done_1 = Identity(f/pivot_1)\n"
        "_retval_0 = _Retval(_arg_1)\n"
        "_retval_1 = _Retval(f/done_1)\n"
        "_arg_0 = _Arg()\n"
        "_arg_1 = _Arg()\n"
        "graph:\n"
        "before = NoOp()\n"
        "_arg_p_0 = _Arg()\n"
        "f/predicate = Identity(_arg_p_0, ^before)\n"
        "f = NoOp(^f/call)\n"
        "_arg_x_0 = _Arg()\n"
        "after = Neg(_arg_x_0, ^f)\n"
        "_retval_after_0 = _Retval(after)\n"
        "f/call = _StateBranch(f/predicate, f/predicate, _arg_x_0)\n");
    assert_false(plan->is_pure);
    assert_true(plan->slots[0].keeps_state);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(an_if_becomes_one_node),
        CALL_TEST(a_session_can_switch_it_off),
        CALL_TEST(a_case_is_called_by_its_number),
        CALL_TEST(calls_nest),
        CALL_TEST(a_call_inside_a_branch_that_is_not_called),
        CALL_TEST(what_is_looked_into_stays_lowered),
        CALL_TEST(what_an_author_takes_out_of_branches_himself_stays_lowered),
        CALL_TEST(a_loop_that_reads_out_of_a_branch_leaves_it_lowered),
        CALL_TEST(what_is_light_stays_lowered),
        CALL_TEST(what_is_heavy_is_called),
        CALL_TEST(what_has_effects_keeps_its_order),
    };
    return cmocka_run_group_tests_name("gateway/plan/outline", tests, NULL, NULL);
}
