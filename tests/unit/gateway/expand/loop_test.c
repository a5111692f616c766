#include "tests/support/call_fixture.h"
#include "tests/support/expand_literals.h"

#define FUNCTIONS                                                                                            \
    "function more(i:int32, x:float32, w:float32) -> (go:bool) go=less:z:0\n"                                \
    "limit = Const() dtype=int32 value=int32(10)\n"                                                          \
    "less = Less(i, limit:output:0) T=int32\n"                                                               \
    "end\n"                                                                                                  \
    "function step(i:int32, x:float32, w:float32) -> (j:int32, y:float32, v:float32) "                       \
    "j=next:z:0, y=product:z:0, v=kept:output:0\n"                                                           \
    "one = Const() dtype=int32 value=int32(1)\n"                                                             \
    "next = AddV2(i, one:output:0) T=int32\n"                                                                \
    "product = Mul(x, w) T=float32\n"                                                                        \
    "kept = Identity(w) T=float32\n"                                                                         \
    "end\n"
#define INPUTS                                                                                               \
    "i = Placeholder() dtype=int32\n"                                                                        \
    "x = Placeholder() dtype=float32\n"
#define WHILE "T=[int32,float32,float32] cond=@more body=@step"

static void
a_while_becomes_a_frame(void **state)
{
    assert_string_equal(expand_text(*state, FUNCTIONS INPUTS "f = StatelessWhile(i, x, x) " WHILE "\n"
                                                             "y = Neg(f:1) T=float32\n"),
        "i = Placeholder()\n"
        "x = Placeholder()\n"
        "f/enter_0 = Enter(i)\n"
        "f/merge_0 = Merge(f/enter_0, f/next_0)\n"
        "f/enter_1 = Enter(x)\n"
        "f/merge_1 = Merge(f/enter_1, f/next_1)\n"
        "f/enter_2 = Enter(x)\n"
        "f/cond/limit = Const(^f/merge_0)\n"
        "f/cond/less = Less(f/merge_0, f/cond/limit)\n"
        "f/decision = LoopCond(f/cond/less)\n"
        "f/switch_0 = Switch(f/merge_0, f/decision)\n"
        "f/switch_1 = Switch(f/merge_1, f/decision)\n"
        "f/pivot = Identity(f/switch_0:1)\n"
        "f/body/one = Const(^f/pivot)\n"
        "f/body/next = AddV2(f/switch_0:1, f/body/one)\n"
        "f/body/product = Mul(f/switch_1:1, f/enter_2)\n"
        "f/body/kept = Identity(f/enter_2)\n"
        "f/next_0 = NextIteration(f/body/next)\n"
        "f/output_0 = Exit(f/switch_0)\n"
        "f/next_1 = NextIteration(f/body/product)\n"
        "f/output_1 = Exit(f/switch_1)\n"
        "f/output_2 = Identity(x, ^f/output_0)\n"
        "f = NoOp(^f/output_0, ^f/output_1, ^f/output_2)\n"
        "y = Neg(f/output_1)\n");
}

static void
the_frame_has_the_loops_name_and_width(void **state)
{
    AUTO_GRAPH graph =
        expand_literal(*state, FUNCTIONS INPUTS "f = While(i, x, x, ^i) parallel_iterations=3 " WHILE "\n");
    const Node *changing = graph_find(graph, SLICE("f/enter_1"));
    const Node *constant = graph_find(graph, SLICE("f/enter_2"));
    assert_true(slice_equals_string(node_attr_string(changing, "frame_name"), "f"));
    assert_int_equal(node_attr_int(changing, "parallel_iterations"), 3);
    assert_false(node_attr_bool(changing, "is_constant"));
    assert_true(node_attr_bool(constant, "is_constant"));
    assert_int_equal(changing->control_count, 1);
}

static void
two_uses_of_one_loop_have_a_frame_each(void **state)
{
    AUTO_GRAPH graph =
        expand_literal(*state, FUNCTIONS "function loop(i:int32, x:float32) -> (y:float32) y=w:output:1\n"
                                         "w = While(i, x, x) " WHILE "\n"
                                         "end\n" INPUTS "f = loop(i, x)\n"
                                         "g = loop(i, f)\n");
    const Node *one = graph_find(graph, SLICE("f/w/enter_0"));
    const Node *other = graph_find(graph, SLICE("g/w/enter_0"));
    assert_true(slice_equals_string(node_attr_string(one, "frame_name"), "f/w"));
    assert_true(slice_equals_string(node_attr_string(other, "frame_name"), "g/w"));
}

static void
a_loop_of_nothing_but_invariants_still_goes_round(void **state)
{
    assert_string_equal(expand_text(*state, "function go(p:bool) -> (q:bool) q=p\n"
                                            "end\n"
                                            "p = Placeholder() dtype=bool\n"
                                            "f = While(p) T=[bool] cond=@go body=@go\n"),
        "p = Placeholder()\n"
        "f/enter_0 = Enter(p)\n"
        "f/merge_0 = Merge(f/enter_0, f/next_0)\n"
        "f/decision = LoopCond(f/merge_0)\n"
        "f/switch_0 = Switch(f/merge_0, f/decision)\n"
        "f/pivot = Identity(f/switch_0:1)\n"
        "f/next_0 = NextIteration(f/switch_0:1)\n"
        "f/output_0 = Exit(f/switch_0)\n"
        "f = NoOp(^f/output_0)\n");
}

static void
a_loop_inside_a_branch_inside_a_loop(void **state)
{
    AUTO_GRAPH graph = expand_literal(*state,
        "function go(p:bool) -> (q:bool) q=p\n"
        "end\n"
        "function loop(p:bool) -> (q:bool) q=w:output:0\n"
        "w = While(p) T=[bool] cond=@go body=@not\n"
        "end\n"
        "function not(p:bool) -> (q:bool) q=n:y:0\n"
        "n = LogicalNot(p)\n"
        "end\n"
        "function choose(p:bool) -> (q:bool) q=b:output:0\n"
        "b = If(p, p) then_branch=@loop else_branch=@not Tcond=bool Tin=[bool] Tout=[bool]\n"
        "end\n"
        "p = Placeholder() dtype=bool\n"
        "f = While(p) T=[bool] cond=@go body=@choose\n");
    const Node *enter = graph_find(graph, SLICE("f/body/b/then/w/enter_0"));
    assert_true(slice_equals_string(node_attr_string(enter, "frame_name"), "f/body/b/then/w"));
    assert_true(slice_equals_string(enter->def->inputs[0], "f/body/b/switch_0:1"));
    const Node *merge = graph_find(graph, SLICE("f/body/b/output_0"));
    assert_true(slice_equals_string(merge->def->inputs[0], "f/body/b/then/w/output_0"));
    assert_true(slice_equals_string(merge->def->inputs[1], "f/body/b/else/n"));
    const Node *next = graph_find(graph, SLICE("f/next_0"));
    assert_true(slice_equals_string(next->def->inputs[0], "f/body/b/output_0"));
}

static void
faults_name_the_node(void **state)
{
    expect_expand_fails(*state, FUNCTIONS INPUTS "f = While(i, x) " WHILE "\n", STATUS_INVALID_ARGUMENT,
        "node 'f': has 2 inputs, its attribute 'T' lists 3");
    expect_expand_fails(*state, FUNCTIONS INPUTS "f = While(i, x) T=[] cond=@more body=@step\n",
        STATUS_INVALID_ARGUMENT, "node 'f': attribute 'T' lists no variables");
    expect_expand_fails(*state,
        FUNCTIONS INPUTS "f = While(i, x, x) T=[int32,float32,float32] cond=@step body=@step\n",
        STATUS_INVALID_ARGUMENT, "node 'f': its condition has 3 outputs, expected 1");
    expect_expand_fails(*state,
        FUNCTIONS INPUTS "f = While(i, x, x) T=[int32,float32,float32] cond=@more body=@more\n",
        STATUS_INVALID_ARGUMENT, "node 'f': its body has 1 outputs, expected 3");
}

/* ONNX has no lists of tensors as outputs, but a GraphDef with ONNX's ops may have some. */
static void
a_body_gives_onnx_loops_a_value_an_output(void **state)
{
    expect_expand_fails(*state,
        "function turn(i:int64, go:bool, x:float32) -> (on:bool, y:$N*float32) on=go, y=x\n"
        "end\n"
        "n = Placeholder() dtype=int64\n"
        "go = Placeholder() dtype=bool\n"
        "x = Placeholder() dtype=float32\n"
        "f = onnx::Loop(n, go, x) body=@turn{N:0}\n",
        STATUS_INVALID_ARGUMENT, "node 'f': its body gives 1 values for 2 outputs");
    expect_expand_fails(*state,
        "function turn(x:float32) -> (y:$N*float32) y=x\n"
        "end\n"
        "x = Placeholder() dtype=float32\n"
        "f = onnx::Scan(x) num_scan_inputs=1 body=@turn{N:0}\n",
        STATUS_INVALID_ARGUMENT, "node 'f': its body gives 0 values for 1 outputs");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_while_becomes_a_frame),
        CALL_TEST(the_frame_has_the_loops_name_and_width),
        CALL_TEST(two_uses_of_one_loop_have_a_frame_each),
        CALL_TEST(a_loop_of_nothing_but_invariants_still_goes_round),
        CALL_TEST(a_loop_inside_a_branch_inside_a_loop),
        CALL_TEST(faults_name_the_node),
        CALL_TEST(a_body_gives_onnx_loops_a_value_an_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
