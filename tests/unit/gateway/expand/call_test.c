#include "gateway/expand/expand.h"
#include "tests/support/call_fixture.h"
#include "tests/support/expand_literals.h"
#include "tests/support/graph_literals.h"

#define SCALE                                                                                                \
    "function scale(x:$T, factor:$T) -> (y:$T) y=product:z:0\n"                                              \
    "product = Mul(x, factor) T=$T\n"                                                                        \
    "end\n"
#define COUNT                                                                                                \
    "function count(v:resource, by:float32) -> (total:float32) total=read:value:0 {done=add}\n"              \
    "add = AssignAddVariableOp(v, by) dtype=float32\n"                                                       \
    "read = ReadVariableOp(v, ^add) dtype=float32\n"                                                         \
    "end\n"
#define X "x = Placeholder() dtype=float32\n"

static void
a_graph_without_functions_stays_itself(void **state)
{
    Call *call = *state;
    AUTO_GRAPH_DEF def = graph_literal(X);
    AUTO_GRAPH_DEF result = NULL;
    assert_status(call, STATUS_OK, graph_expand(call, def, 1000, &result));
    assert_ptr_equal(result, def);
}

static void
a_call_becomes_the_functions_body(void **state)
{
    assert_string_equal(expand_text(*state, SCALE X "f = PartitionedCall(x, x) f=@scale{T:float32}\n"
                                                    "y = Neg(f) T=float32\n"),
        "x = Placeholder()\n"
        "f/product = Mul(x, x)\n"
        "f/output_0 = Identity(f/product)\n"
        "f = NoOp(^f/output_0)\n"
        "y = Neg(f/output_0)\n");
}

static void
a_function_that_calls_itself_is_called_where_the_circle_closes(void **state)
{
    Call *call = *state;
    AUTO_GRAPH_DEF def = graph_literal("function g(x:float32) -> (y:float32) y=c:output:0\n"
                                       "n = Neg(x) T=float32\n"
                                       "c = PartitionedCall(n:y:0) f=@h\n"
                                       "end\n"
                                       "function h(x:float32) -> (y:float32) y=c:output:0\n"
                                       "c = PartitionedCall(x) f=@g\n"
                                       "end\n" X "f = PartitionedCall(x) f=@g\n");
    AUTO_GRAPH_DEF result = NULL;
    assert_status(call, STATUS_OK, graph_expand(call, def, 1000, &result));
    assert_string_equal(graph_literal_text(call->arena, result),
        "x = Placeholder()\n"
        "f/n = Neg(x)\n"
        "f/c/c/call/index = Const()\n"
        "f/c/c/call = _Branch(f/c/c/call/index, f/n)\n"
        "f/c/c/output_0 = Identity(f/c/c/call)\n"
        "f/c/c = NoOp(^f/c/c/output_0)\n"
        "f/c/output_0 = Identity(f/c/c/output_0)\n"
        "f/c = NoOp(^f/c/output_0)\n"
        "f/output_0 = Identity(f/c/output_0)\n"
        "f = NoOp(^f/output_0)\n");
    assert_string_equal(graph_literal_library_text(call->arena, result),
        "function _call_g:\n"
        "_call_g/arg_0 = _Arg()\n"
        "_call_g/n = Neg(_call_g/arg_0)\n"
        "_call_g/c/c/call/index = Const()\n"
        "_call_g/c/c/call = _Branch(_call_g/c/c/call/index, _call_g/n)\n"
        "_call_g/c/c/output_0 = Identity(_call_g/c/c/call)\n"
        "_call_g/c/c = NoOp(^_call_g/c/c/output_0)\n"
        "_call_g/c/output_0 = Identity(_call_g/c/c/output_0)\n"
        "_call_g/c = NoOp(^_call_g/c/output_0)\n"
        "_call_g/retval_0 = _Retval(_call_g/c/output_0)\n");
}

/* The effect on the variable happens before the call's output is there, and only when the call is made. */
static void
a_call_of_itself_that_has_effects_keeps_them_in_order(void **state)
{
    const char *text = expand_text(*state, "function g(v:resource) -> (y:float32) y=c:output:0\n"
                                           "a = AssignAddVariableOp(v, r:value:0) dtype=float32\n"
                                           "r = ReadVariableOp(v) dtype=float32\n"
                                           "c = PartitionedCall(v, ^a) f=@g\n"
                                           "end\n"
                                           "v = VarHandleOp() dtype=float32 shape=<>\n"
                                           "f = PartitionedCall(v) f=@g\n");
    assert_non_null(strstr(text, "f/c/call/index = Const(^f/a)\n"));
    assert_non_null(strstr(text, "f/c/call = _StateBranch(f/c/call/index, f/c/input_0)\n"));
    assert_non_null(strstr(text, "f/c = NoOp(^f/c/output_0, ^f/c/call)\n"));
}

static void
an_op_of_a_functions_name_is_a_call(void **state)
{
    assert_string_equal(expand_text(*state, SCALE X "f = scale(x, x, ^x) T=float32\n"),
        "x = Placeholder()\n"
        "f/input_0 = Identity(x, ^x)\n"
        "f/input_1 = Identity(x, ^x)\n"
        "f/product = Mul(f/input_0, f/input_1)\n"
        "f/output_0 = Identity(f/product)\n"
        "f = NoOp(^f/output_0)\n");
}

static void
a_function_goes_before_an_op_of_its_name(void **state)
{
    assert_string_equal(expand_text(*state, "function Neg(x:float32) -> (y:float32) y=x\n"
                                            "end\n" X "f = Neg(x) T=float32\n"),
        "x = Placeholder()\n"
        "f/output_0 = Identity(x)\n"
        "f = NoOp(^f/output_0)\n");
}

static void
functions_call_functions_and_hand_attributes_on(void **state)
{
    assert_string_equal(
        expand_text(*state, SCALE "function square(x:$T) -> (y:$T) y=inner:output:0\n"
                                  "inner = PartitionedCall(x, x) f=@scale{T:$T} Tin=[$T,$T] Tout=[$T]\n"
                                  "end\n" X "f = PartitionedCall(x) f=@square{T:float32}\n"
                                  "g = StatefulPartitionedCall(f) f=@square{T:float32}\n"),
        "x = Placeholder()\n"
        "f/inner/product = Mul(x, x)\n"
        "f/inner/output_0 = Identity(f/inner/product)\n"
        "f/inner = NoOp(^f/inner/output_0)\n"
        "f/output_0 = Identity(f/inner/output_0)\n"
        "f = NoOp(^f/output_0)\n"
        "g/inner/product = Mul(f/output_0, f/output_0)\n"
        "g/inner/output_0 = Identity(g/inner/product)\n"
        "g/inner = NoOp(^g/inner/output_0)\n"
        "g/output_0 = Identity(g/inner/output_0)\n"
        "g = NoOp(^g/output_0)\n");
}

static void
lists_of_arguments_are_counted(void **state)
{
    assert_string_equal(
        expand_text(*state,
            "function sum(many:$N*$T, rest:$*R) -> (y:$T, others:$*R) y=all:sum:0, others=rest\n"
            "two = AddN(many:1, many:0) N=2 T=$T\n"
            "all = AddN(many, two:sum:0) N=3 T=$T\n"
            "end\n" X "f = sum(x, x, x, x) T=float32 N=2 R=[float32,float32]\n"
            "y = Sub(f:2, f:0) T=float32\n"),
        "x = Placeholder()\n"
        "f/two = AddN(x, x)\n"
        "f/all = AddN(x, x, f/two)\n"
        "f/output_0 = Identity(f/all)\n"
        "f/output_1 = Identity(x)\n"
        "f/output_2 = Identity(x)\n"
        "f = NoOp(^f/output_0, ^f/output_1, ^f/output_2)\n"
        "y = Sub(f/output_2, f/output_0)\n");
}

/* TensorFlow's rule: a PartitionedCall runs the effects that its control outputs name, a call by name runs
 * all of them. */
static void
effects_that_nobody_asks_for_are_a_call_by_names(void **state)
{
    static const char function[] = "function g(v:resource, x:float32) -> (y:float32) y=x {done=a}\n"
                                   "a = AssignAddVariableOp(v, x) dtype=float32\n"
                                   "b = AssignSubVariableOp(v, x) dtype=float32\n"
                                   "end\n" X "v = VarHandleOp() dtype=float32 shape=<>\n";
    char graph[512];
    (void)snprintf(graph, sizeof graph, "%sf = PartitionedCall(v, x) f=@g\n", function);
    assert_non_null(strstr(expand_text(*state, graph), "f/after_effects_0 = Identity(x, ^f/a)\n"));
    (void)snprintf(graph, sizeof graph, "%sf = g(v, x)\n", function);
    const char *by_name = expand_text(*state, graph);
    assert_non_null(strstr(by_name, "f/effects = NoOp(^f/a, ^f/b)\n"));
    assert_non_null(strstr(by_name, "f/after_effects_0 = Identity(x, ^f/effects)\n"));
}

static void
what_stands_alone_in_a_body_waits_for_the_call(void **state)
{
    assert_string_equal(expand_text(*state, "function one() -> (y:float32) y=c:output:0\n"
                                            "c = Const() dtype=float32 value=float32(1)\n"
                                            "end\n" X "n = NoOp(^x)\n"
                                            "f = PartitionedCall(^n, ^x) f=@one\n"
                                            "g = PartitionedCall(^n) f=@one\n"),
        "x = Placeholder()\n"
        "n = NoOp(^x)\n"
        "f/start = NoOp(^n, ^x)\n"
        "f/c = Const(^f/start)\n"
        "f/output_0 = Identity(f/c)\n"
        "f = NoOp(^f/output_0)\n"
        "g/c = Const(^n)\n"
        "g/output_0 = Identity(g/c)\n"
        "g = NoOp(^g/output_0)\n");
}

static void
effects_come_before_outputs(void **state)
{
    assert_string_equal(expand_text(*state, COUNT X "v = VarHandleOp() dtype=float32 shape=<>\n"
                                                    "f = StatefulPartitionedCall(v, x) f=@count\n"
                                                    "y = Neg(f, ^f) T=float32\n"),
        "x = Placeholder()\n"
        "v = VarHandleOp()\n"
        "f/add = AssignAddVariableOp(v, x)\n"
        "f/read = ReadVariableOp(v, ^f/add)\n"
        "f/after_effects_0 = Identity(f/read, ^f/add)\n"
        "f/output_0 = Identity(f/after_effects_0)\n"
        "f = NoOp(^f/output_0, ^f/add)\n"
        "y = Neg(f/output_0, ^f)\n");
}

static void
devices_are_inherited_and_kept(void **state)
{
    AUTO_GRAPH graph = expand_literal(*state, "function f(x:float32) -> (y:float32) y=b:y:0\n"
                                              "a = Neg(x) T=float32\n"
                                              "b = Neg(a:y:0) T=float32 @/job:worker/task:2\n"
                                              "end\n" X "c = PartitionedCall(x) f=@f @/job:worker/task:1\n");
    assert_true(slice_equals_string(graph_find(graph, SLICE("c/a"))->def->device, "/job:worker/task:1"));
    assert_true(slice_equals_string(graph_find(graph, SLICE("c/b"))->def->device, "/job:worker/task:2"));
}

static void
frames_and_colocations_get_the_callers_name(void **state)
{
    AUTO_GRAPH graph = expand_literal(*state, "function f(x:float32) -> (y:float32) y=b:output:0\n"
                                              "a = Enter(x) T=float32 frame_name='loop'\n"
                                              "b = Exit(a:output:0) T=float32 _class=['loc:@a','loc:@q']\n"
                                              "end\n" X "c = PartitionedCall(x) f=@f\n");
    const Node *enter = graph_find(graph, SLICE("c/a"));
    const AttrValue *classes = node_attr(graph_find(graph, SLICE("c/b")), "_class");
    assert_true(slice_equals_string(node_attr_string(enter, "frame_name"), "c/loop"));
    assert_int_equal(classes->value.list.count, 1);
    assert_true(slice_equals_string(classes->value.list.items[0].value.s, "loc:@c/a"));
}

static void
names_that_are_taken_are_left_to_their_owners(void **state)
{
    assert_string_equal(expand_text(*state, SCALE X "f = PartitionedCall(x, x) f=@scale{T:float32}\n"
                                                    "f/product = Neg(f) T=float32\n"
                                                    "f/output_0 = Neg(f) T=float32\n"),
        "x = Placeholder()\n"
        "f/product_1 = Mul(x, x)\n"
        "f/output_0_1 = Identity(f/product_1)\n"
        "f = NoOp(^f/output_0_1)\n"
        "f/product = Neg(f/output_0_1)\n"
        "f/output_0 = Neg(f/output_0_1)\n");
}

static void
a_calls_name_still_means_its_outputs(void **state)
{
    Call *call = *state;
    AUTO_GRAPH graph =
        expand_literal(call, SCALE X "f = PartitionedCall(x, x) f=@scale{T:float32} Tout=[float32]\n");
    Endpoint endpoint;
    assert_status(call, STATUS_OK, graph_endpoint(call, graph, SLICE("f"), &endpoint));
    assert_true(slice_equals_string(graph->nodes[endpoint.node].name, "f/output_0"));
    assert_status(call, STATUS_OK, graph_endpoint(call, graph, SLICE("f:0"), &endpoint));
    assert_status(call, STATUS_OK, graph_endpoint(call, graph, SLICE("f/product"), &endpoint));
    assert_status(call, STATUS_INVALID_ARGUMENT, graph_endpoint(call, graph, SLICE("f:1"), &endpoint));
}

static void
faults_name_the_node(void **state)
{
    expect_expand_fails(*state,
        "function g() -> ()\n"
        "end\n"
        "f = PartitionedCall() f=@h\n",
        STATUS_INVALID_ARGUMENT, "node 'f': calls function 'h', which the graph does not have");
    expect_expand_fails(*state, SCALE X "f = PartitionedCall(x) f=@scale{T:float32}\n",
        STATUS_INVALID_ARGUMENT, "node 'f': gives function 'scale' 1 argument, it takes 2");
    expect_expand_fails(*state, SCALE X "f = PartitionedCall(x, x) f=@scale\n", STATUS_INVALID_ARGUMENT,
        "node 'f/product': function 'scale' leaves attribute 'T' to its callers, and this one does not bind "
        "it");
    expect_expand_fails(*state,
        "function g(x:$T) -> (y:$T) y=c:output:0\n"
        "c = PartitionedCall(x) f=@g{T:float32}\n"
        "end\n" X "f = PartitionedCall(x) f=@g{T:float32}\n",
        STATUS_INVALID_ARGUMENT,
        "node 'f/c': function 'g' calls itself, and has attributes: only one without can be called");
    expect_expand_fails(*state,
        "function g(x:float32) -> (y:float32) y=c:output:0\n"
        "c = PartitionedCall(x, x) f=@g\n"
        "end\n" X "f = PartitionedCall(x) f=@g\n",
        STATUS_INVALID_ARGUMENT, "node 'f/c': gives function 'g' 2 arguments, it takes 1");
    expect_expand_fails(*state,
        "function g(x:float32) -> (y:float32) y=n:y:0\n"
        "n = Neg(z) T=float32\n"
        "end\n" X "f = PartitionedCall(x) f=@g\n",
        STATUS_INVALID_ARGUMENT, "node 'f/n': reads 'z', which function 'g' does not have");
    expect_expand_fails(*state,
        "function g(x:float32) -> (y:float32) y=n:out:0\n"
        "n = Neg(x) T=float32\n"
        "end\n" X "f = PartitionedCall(x) f=@g\n",
        STATUS_INVALID_ARGUMENT, "node 'f': reads 'n:out:0', which 'Neg' does not have");
}

static void
a_function_that_doubles_itself_meets_the_limit(void **state)
{
    AUTO_BUFFER text = {0};
    buffer_append_string(&text, "function f0(x:float32) -> (y:float32) y=n:y:0\n"
                                "n = Neg(x) T=float32\n"
                                "end\n");
    for (int level = 1; level < 20; level++) {
        buffer_append_format(&text,
            "function f%d(x:float32) -> (y:float32) y=b:y:0\n"
            "a = f%d(x)\n"
            "b = f%d(a:y:0)\n"
            "end\n",
            level, level - 1, level - 1);
    }
    buffer_append_string(&text, X "f = PartitionedCall(x) f=@f19\n");
    expect_expand_fails(*state, buffer_string(&text), STATUS_OUT_OF_RANGE,
        "the graph has more than 1000 nodes once its functions are inlined, the limit graph_nodes");
}

/* A constant that waits for a node in a loop belongs to the loop; the pivot does not. */
static void
a_bodys_loop_keeps_its_constants(void **state)
{
    const char *text =
        expand_text(*state, "function turn(x:int32) -> (y:int32) y=q:output:0\n"
                            "e = Enter(x) T=int32 frame_name='loop'\n"
                            "m = Merge(e:output:0, n:output:0) T=int32 N=2\n"
                            "limit = Const(^m) dtype=int32 value=int32(9)\n"
                            "less = Less(m:output:0, limit:output:0) T=int32\n"
                            "go = LoopCond(less:z:0)\n"
                            "s = Switch(m:output:0, go:output:0) T=int32\n"
                            "n = NextIteration(s:output_true:0) T=int32\n"
                            "q = Exit(s:output_false:0) T=int32\n"
                            "end\n"
                            "x = Placeholder() dtype=int32\n"
                            "wait = NoOp()\n"
                            "f = PartitionedCall(x, ^wait) f=@turn Tin=[int32] Tout=[int32]\n");
    assert_non_null(strstr(text, "f/limit = Const(^f/m)\n"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_graph_without_functions_stays_itself),
        CALL_TEST(a_call_becomes_the_functions_body),
        CALL_TEST(a_function_that_calls_itself_is_called_where_the_circle_closes),
        CALL_TEST(a_call_of_itself_that_has_effects_keeps_them_in_order),
        CALL_TEST(an_op_of_a_functions_name_is_a_call),
        CALL_TEST(a_function_goes_before_an_op_of_its_name),
        CALL_TEST(functions_call_functions_and_hand_attributes_on),
        CALL_TEST(lists_of_arguments_are_counted),
        CALL_TEST(effects_that_nobody_asks_for_are_a_call_by_names),
        CALL_TEST(what_stands_alone_in_a_body_waits_for_the_call),
        CALL_TEST(effects_come_before_outputs),
        CALL_TEST(devices_are_inherited_and_kept),
        CALL_TEST(frames_and_colocations_get_the_callers_name),
        CALL_TEST(names_that_are_taken_are_left_to_their_owners),
        CALL_TEST(a_calls_name_still_means_its_outputs),
        CALL_TEST(faults_name_the_node),
        CALL_TEST(a_function_that_doubles_itself_meets_the_limit),
        CALL_TEST(a_bodys_loop_keeps_its_constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
