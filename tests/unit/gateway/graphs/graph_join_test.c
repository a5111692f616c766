#include "gateway/graphs/graph_join.h"

#include "tests/support/call_fixture.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/graph_literals.h"

static const char base[] = "function twice(x:$T) -> (y:$T) y=add:z:0\n"
                           "add = AddV2(x, x) T=$T\n"
                           "end\n"
                           "x = Placeholder() dtype=float32\n"
                           "y = twice(x) T=float32\n";
static const char more[] = "function twice(x:$T) -> (y:$T) y=add:z:0\n"
                           "add = AddV2(x, x) T=$T\n"
                           "end\n"
                           "function self(x:$T) -> (y:$T) y=same:output:0\n"
                           "same = Identity(x) T=$T\n"
                           "end\n"
                           "z = self(y) T=float32\n";

/* Joins the parts; their references go to the result or are released. */
static Status
join(Call *call, GraphDef *first, GraphDef *second, GraphDef **ret_def)
{
    GraphDef *const parts[] = {first, second};
    Status status = graph_join(call, parts, COUNT_OF(parts), ret_def);
    graph_def_unref(first);
    graph_def_unref(second);
    return status;
}

static Status
join_literals(Call *call, const char *first, const char *second, GraphDef **ret_def)
{
    return join(call, graph_literal(first), graph_literal(second), ret_def);
}

static void
expect_detail(const Call *call, int index, const char *pointer, const char *detail)
{
    assert_true(index < call->error.detail_count);
    assert_string_equal(call->error.details[index].pointer, pointer);
    assert_string_equal(call->error.details[index].detail, detail);
}

static void
nodes_come_behind_and_equal_functions_stand_once(void **state)
{
    Call *call = *state;
    AUTO_GRAPH_DEF def = NULL;
    assert_status(call, STATUS_OK, join_literals(call, base, more, &def));
    assert_string_equal(
        graph_literal_text(call->arena, def), "x = Placeholder()\ny = twice(x)\nz = self(y)\n");
    assert_int_equal(def->function_count, 2);
    assert_true(slice_equals_string(def->functions[1].name, "self"));
    assert_null(def->nodes[0].pointer);
    assert_string_equal(def->nodes[2].pointer, "/node/0");
    assert_string_equal(def->functions[1].nodes[0].pointer, "/library/function/1/nodeDef/0");
}

static void
nothing_can_be_added_and_functions_alone(void **state)
{
    Call *call = *state;
    AUTO_GRAPH_DEF same = NULL;
    AUTO_GRAPH_DEF more_functions = NULL;
    assert_status(call, STATUS_OK, join_literals(call, base, "", &same));
    assert_int_equal(same->node_count, 2);
    assert_status(
        call, STATUS_OK, join_literals(call, "", "function f(x:$T) -> (y:$T) y=x\nend\n", &more_functions));
    assert_int_equal(more_functions->node_count, 0);
    assert_int_equal(more_functions->function_count, 1);
}

static void
one_part_is_itself(void **state)
{
    Call *call = *state;
    AUTO_GRAPH_DEF only = graph_literal(base);
    AUTO_GRAPH_DEF def = NULL;
    assert_status(call, STATUS_OK, graph_join(call, &only, 1, &def));
    assert_ptr_equal(def, only);
}

static void
a_name_that_is_taken_is_refused_wherever_it_stands(void **state)
{
    Call *call = *state;
    GraphDef *def = NULL;
    assert_status(call, STATUS_INVALID_ARGUMENT,
        join_literals(call, base, "a = NoOp()\ny = NoOp()\na = NoOp()\n", &def));
    assert_string_equal(call->error.message, "what is added is in the graph already");
    expect_detail(call, 0, "/node/1", "node 'y' is in the graph already");
    expect_detail(call, 1, "/node/2", "node 'a' is in the graph already");
    assert_int_equal(call->error.detail_count, 2);
}

static void
a_function_of_a_known_name_must_be_the_same(void **state)
{
    Call *call = *state;
    GraphDef *def = NULL;
    assert_status(call, STATUS_INVALID_ARGUMENT,
        join_literals(call, base,
            "function twice(x:$T) -> (y:$T) y=same:output:0\nsame = Identity(x) T=$T\nend\n", &def));
    expect_detail(
        call, 0, "/library/function/0", "function 'twice' is in the graph already, with another body");
}

static void
producers_must_be_equal_and_the_strictest_consumer_counts(void **state)
{
    Call *call = *state;
    GraphDef *old = graph_literal(base);
    GraphDef *young = graph_literal(more);
    AUTO_GRAPH_DEF def = NULL;
    old->producer = 134;
    old->min_consumer = 3;
    young->producer = 134;
    young->min_consumer = 12;
    assert_status(call, STATUS_OK, join(call, old, young, &def));
    assert_int_equal(def->producer, 134);
    assert_int_equal(def->min_consumer, 12);
    GraphDef *other = graph_literal("z = NoOp()\n");
    GraphDef *none = NULL;
    assert_status(call, STATUS_INVALID_ARGUMENT, join(call, graph_def_ref(def), other, &none));
    assert_string_equal(
        call->error.message, "a graph of producer version 134 cannot be extended by one of version 0");
    expect_detail(call, 0, "/versions/producer", "0, not 134");
}

typedef struct Parts {
    Call *call;
    GraphDef *defs[2];
} Parts;

static Status
join_parts(void *context)
{
    const Parts *parts = context;
    AUTO_GRAPH_DEF def = NULL;
    return graph_join(parts->call, parts->defs, COUNT_OF(parts->defs), &def);
}

static void
memory_that_is_lacking_is_said_and_nothing_leaks(void **state)
{
    AUTO_GRAPH_DEF first = graph_literal(base);
    AUTO_GRAPH_DEF second = graph_literal(more);
    Parts parts = {.call = *state, .defs = {first, second}};
    assert_lack_of_memory_is_told(join_parts, &parts);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(nodes_come_behind_and_equal_functions_stand_once),
        CALL_TEST(nothing_can_be_added_and_functions_alone),
        CALL_TEST(one_part_is_itself),
        CALL_TEST(a_name_that_is_taken_is_refused_wherever_it_stands),
        CALL_TEST(a_function_of_a_known_name_must_be_the_same),
        CALL_TEST(producers_must_be_equal_and_the_strictest_consumer_counts),
        CALL_TEST(memory_that_is_lacking_is_said_and_nothing_leaks),
    };
    return cmocka_run_group_tests_name("graph join", tests, NULL, NULL);
}
