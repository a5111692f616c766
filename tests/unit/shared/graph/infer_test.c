#include "shared/graph/graph.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/graph_literals.h"

static Call call;

static int
set_up(void **state)
{
    (void)state;
    call = (Call){.arena = arena_new(1 << 20)};
    return call.arena == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
    (void)state;
    arena_free(call.arena);
    return 0;
}

static Graph *
link_literal(const char *text)
{
    AUTO_GRAPH_DEF def = graph_literal(text);
    Graph *graph = NULL;
    assert_non_null(def);
    assert_status(&call, STATUS_OK, graph_link(&call, def, literal_op_find, (GraphLimits){0}, &graph));
    return graph;
}

/* Makes a graph with a loop and a constant that gives `filled` its size. */
static Graph *
sample(void)
{
    return link_literal("x = Placeholder() dtype=float32 shape=<2,3>\n"
                        "enter = Enter(x) T=float32 frame_name='f'\n"
                        "merge = Merge(enter, next) T=float32 N=2\n"
                        "next = NextIteration(merge) T=float32\n"
                        "exit = Exit(merge) T=float32\n"
                        "size = Const() dtype=int32 value=int32(4)\n"
                        "copy = Identity(size) T=int32\n"
                        "filled = Fill(copy)\n");
}

static void
expect_shape(const Shape *shape, const char *expected)
{
    char text[SHAPE_TEXT_SIZE];
    assert_string_equal(shape_text(shape, text), expected);
}

static void
shapes_flow_from_sources(void **state)
{
    (void)state;
    AUTO_GRAPH graph = sample();
    const Shape *const *shapes = NULL;
    assert_status(&call, STATUS_OK, graph_infer_shapes(&call, graph, NULL, 0, &shapes));
    expect_shape(&shapes[0][0], "[2,3]");
    expect_shape(&shapes[1][0], "[2,3]");
}

static void
a_loop_keeps_the_rank_of_its_entry(void **state)
{
    (void)state;
    AUTO_GRAPH graph = sample();
    const Shape *const *shapes = NULL;
    assert_status(&call, STATUS_OK, graph_infer_shapes(&call, graph, NULL, 0, &shapes));
    expect_shape(&shapes[2][0], "[?,?]");
    expect_shape(&shapes[2][1], "[]");
    expect_shape(&shapes[4][0], "[?,?]");
}

static void
constants_are_known_through_identity(void **state)
{
    (void)state;
    AUTO_GRAPH graph = sample();
    const Shape *const *shapes = NULL;
    assert_status(&call, STATUS_OK, graph_infer_shapes(&call, graph, NULL, 0, &shapes));
    expect_shape(&shapes[7][0], "[4]");
}

static void
a_fed_constant_is_no_constant(void **state)
{
    (void)state;
    AUTO_GRAPH graph = sample();
    const ShapeSeed seeds[] = {{.endpoint = {.node = 5}, .shape = shape_scalar()},
        {.endpoint = {.node = 0}, .shape = shape_vector(7)}};
    const Shape *const *shapes = NULL;
    assert_status(&call, STATUS_OK, graph_infer_shapes(&call, graph, seeds, 2, &shapes));
    expect_shape(&shapes[7][0], "?");
    expect_shape(&shapes[1][0], "[7]");
}

static void
a_rule_that_fails_names_the_node(void **state)
{
    (void)state;
    AUTO_GRAPH graph = link_literal("x = Placeholder() dtype=float32 shape=<2>\n"
                                    "y = Placeholder() dtype=float32 shape=<3>\n"
                                    "sum = Add(x, y) T=float32\n");
    const Shape *const *shapes = NULL;
    assert_int_equal(graph_infer_shapes(&call, graph, NULL, 0, &shapes), STATUS_INVALID_ARGUMENT);
    assert_string_equal(call.error.message, "node 'sum' (Add): the inputs do not fit");
}

static bool
stops_at_enter(void *context, Endpoint endpoint)
{
    (void)context;
    return endpoint.node == 1;
}

static void
needed_nodes_are_marked_through_back_edges(void **state)
{
    (void)state;
    AUTO_GRAPH graph = sample();
    uint32_t root = 4;
    bool needed[8] = {false};
    graph_mark_needed(graph, &root, 1, NULL, NULL, needed);
    const bool all[8] = {true, true, true, true, true, false, false, false};
    assert_memory_equal(needed, all, sizeof all);

    bool cut[8] = {false};
    graph_mark_needed(graph, &root, 1, stops_at_enter, NULL, cut);
    const bool without[8] = {false, false, true, true, true, false, false, false};
    assert_memory_equal(cut, without, sizeof without);
}

static bool
run(void)
{
    Call local = {.arena = arena_new(1 << 20)};
    AUTO_GRAPH_DEF def = local.arena == NULL ? NULL
                                             : graph_literal("x = Placeholder() dtype=float32 shape=<>\n"
                                                             "y = onnx::Clip(x)\n");
    AUTO_GRAPH graph = NULL;
    const Shape *const *shapes = NULL;
    bool is_ok = def != NULL &&
                 graph_link(&local, def, literal_op_find, (GraphLimits){0}, &graph) == STATUS_OK &&
                 graph_infer_shapes(&local, graph, NULL, 0, &shapes) == STATUS_OK;
    arena_free(local.arena);
    return is_ok;
}

static void
every_failed_allocation_is_survived(void **state)
{
    (void)state;
    assert_each_allocation_may_fail(run, 6);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_flow_from_sources),
        cmocka_unit_test(a_loop_keeps_the_rank_of_its_entry),
        cmocka_unit_test(constants_are_known_through_identity),
        cmocka_unit_test(a_fed_constant_is_no_constant),
        cmocka_unit_test(a_rule_that_fails_names_the_node),
        cmocka_unit_test(needed_nodes_are_marked_through_back_edges),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("shared/graph/infer", tests, set_up, tear_down);
}
