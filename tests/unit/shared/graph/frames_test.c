#include "shared/graph/frames.h"

#include "tests/support/call_fixture.h"
#include "tests/support/graph_literals.h"

static Graph *
link_literal(Call *call, const char *text)
{
    AUTO_GRAPH_DEF def = graph_literal(text);
    Graph *graph = NULL;
    assert_status(call, STATUS_OK, graph_link(call, def, literal_op_find, (GraphLimits){0}, &graph));
    return graph;
}

static uint32_t
node_id(const Graph *graph, const char *name)
{
    const Node *node = graph_find(graph, slice_from_string(name));
    assert_non_null(node);
    return node->id;
}

/* Two loops, one inside the other, each with a test. */
static const char *const NESTED = "x = Placeholder() dtype=float32\n"
                                  "five = Const() dtype=float32 value=float32(5)\n"
                                  "e = Enter(x) T=float32 frame_name='outer' parallel_iterations=3\n"
                                  "m = Merge(e, n) T=float32 N=2\n"
                                  "c = LoopCond(t)\n"
                                  "t = Test(m)\n"
                                  "e2 = Enter(m) T=float32 frame_name='inner'\n"
                                  "k2 = Enter(m) T=float32 frame_name='inner' parallel_iterations=7\n"
                                  "m2 = Merge(e2, n2) T=float32 N=2\n"
                                  "a2 = Add(m2, five) T=float32\n"
                                  "n2 = NextIteration(a2) T=float32\n"
                                  "x2 = Exit(m2) T=float32\n"
                                  "n = NextIteration(x2) T=float32\n"
                                  "y = Exit(m) T=float32\n"
                                  "z = Add(y, five) T=float32\n";

static void
every_node_is_in_the_frame_that_its_enters_opened(void **state)
{
    Call *call = *state;
    AUTO_GRAPH graph = link_literal(call, NESTED);
    GraphFrames frames;
    assert_status(call, STATUS_OK, graph_find_frames(call, call->arena, graph, &frames));
    assert_int_equal(frames.frame_count, 3);
    const GraphFrame *outer = &frames.frames[1];
    const GraphFrame *inner = &frames.frames[2];
    assert_true(slice_equals_string(outer->name, "outer"));
    assert_int_equal(outer->parent, FRAME_ROOT);
    assert_int_equal(outer->depth, 1);
    assert_int_equal(outer->parallel_iterations, 3);
    assert_int_equal(outer->loop_cond, node_id(graph, "c"));
    assert_int_equal(outer->enter, node_id(graph, "e"));
    assert_true(slice_equals_string(inner->name, "inner"));
    assert_int_equal(inner->parent, 1);
    assert_int_equal(inner->depth, 2);
    assert_int_equal(inner->enter_count, 2);
    assert_int_equal(inner->enter, node_id(graph, "e2"));
    assert_int_equal(inner->parallel_iterations, 10);
    assert_int_equal(inner->loop_cond, NODE_NONE);
    assert_int_equal(frames.inputs[node_id(graph, "e")], FRAME_ROOT);
    assert_int_equal(frames.outputs[node_id(graph, "e")], 1);
    assert_int_equal(frames.inputs[node_id(graph, "a2")], 2);
    assert_int_equal(frames.inputs[node_id(graph, "x2")], 2);
    assert_int_equal(frames.outputs[node_id(graph, "x2")], 1);
    assert_int_equal(frames.inputs[node_id(graph, "z")], FRAME_ROOT);
}

static void
a_graph_without_loops_has_the_root_alone(void **state)
{
    Call *call = *state;
    AUTO_GRAPH graph = link_literal(call, "x = Placeholder() dtype=float32\ny = Identity(x) T=float32\n");
    GraphFrames frames;
    assert_status(call, STATUS_OK, graph_find_frames(call, call->arena, graph, &frames));
    assert_int_equal(frames.frame_count, 1);
    assert_int_equal(frames.inputs[1], FRAME_ROOT);
}

static void
expect_refusal(Call *call, const char *text, const char *message)
{
    AUTO_GRAPH graph = link_literal(call, text);
    GraphFrames frames;
    assert_status(call, STATUS_INVALID_ARGUMENT, graph_find_frames(call, call->arena, graph, &frames));
    assert_string_equal(call->error.message, message);
}

#define LOOP                                                                                                 \
    "x = Placeholder() dtype=float32\n"                                                                      \
    "e = Enter(x) T=float32 frame_name='f'\n"

static void
contradictions_are_refused_with_both_places(void **state)
{
    expect_refusal(*state, LOOP "a = Add(e, x) T=float32\n",
        "node 'a' has inputs from different loops: one comes from loop 'f', one from outside of all loops");
    expect_refusal(*state, LOOP "g = Enter(x) T=float32 frame_name='g'\na = NoOp(^g, ^e)\n",
        "node 'a' has inputs from different loops: one comes from loop 'f', one from loop 'g'");
    expect_refusal(*state,
        LOOP "g = Enter(e) T=float32 frame_name='g'\nh = Enter(x) T=float32 frame_name='g'\n",
        "node 'h' enters loop 'g' from outside of all loops, others from loop 'f'");
    expect_refusal(*state,
        LOOP "m = Merge(e, n) T=float32 N=2\n"
             "g = Enter(m) T=float32 frame_name='g'\nn = NextIteration(g) T=float32\n",
        "node 'm' has inputs from different loops: one comes from loop 'f', one from loop 'g'");
    expect_refusal(*state,
        "c = Const() dtype=float32 value=float32(1)\n" LOOP "m = Merge(e, c) T=float32 N=2\n",
        "node 'm' has inputs from different loops: one comes from loop 'f', one from outside of all loops");
}

static void
nodes_of_a_loop_are_refused_outside_of_one(void **state)
{
    expect_refusal(*state, "x = Placeholder() dtype=float32\ny = Exit(x) T=float32\n",
        "node 'y' of op 'Exit' is not inside a loop");
    expect_refusal(*state, "x = Placeholder() dtype=float32\ny = NextIteration(x) T=float32\n",
        "node 'y' of op 'NextIteration' is not inside a loop");
    expect_refusal(*state,
        "x = Placeholder() dtype=float32\ny = Enter(x) T=float32 frame_name='f' parallel_iterations=0\n",
        "node 'y': parallel_iterations must be at least 1, not 0");
}

static void
loops_nest_to_a_limit(void **state)
{
    Call *call = *state;
    for (int depth = FRAME_DEPTH_MAX; depth <= FRAME_DEPTH_MAX + 1; depth++) {
        AUTO_BUFFER text = {0};
        buffer_append_string(&text, "e0 = Placeholder() dtype=float32\n");
        for (int i = 1; i <= depth; i++) {
            buffer_append_format(&text, "e%d = Enter(e%d) T=float32 frame_name='f%d'\n", i, i - 1, i);
        }
        AUTO_GRAPH graph = link_literal(call, buffer_string(&text));
        GraphFrames frames;
        if (depth <= FRAME_DEPTH_MAX) {
            assert_status(call, STATUS_OK, graph_find_frames(call, call->arena, graph, &frames));
        } else {
            assert_status(
                call, STATUS_INVALID_ARGUMENT, graph_find_frames(call, call->arena, graph, &frames));
            assert_string_equal(
                call->error.message, "node 'e65' enters a loop that is nested more than 64 deep");
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(every_node_is_in_the_frame_that_its_enters_opened),
        CALL_TEST(a_graph_without_loops_has_the_root_alone),
        CALL_TEST(contradictions_are_refused_with_both_places),
        CALL_TEST(nodes_of_a_loop_are_refused_outside_of_one),
        CALL_TEST(loops_nest_to_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
