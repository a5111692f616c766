/* The feeds that a fetch of a partial run still needs. */
#include "shared/ops/registry.h"
#include "tests/support/call_fixture.h"
#include "tests/support/graph_literals.h"
#include "tests/support/plan_literals.h"

/* Feeds x, y, … in the plan's order are given as letters, '+' for one that has come and '-' for one that
 * has not. A NULL message means that the fetch can be computed. */
static void
assert_need(Call *call, const PlanLiteral *literal, const char *given, const char *message)
{
    AUTO_PLAN plan = NULL;
    AUTO_GRAPH_DEF def = graph_literal(literal->graph);
    AUTO_GRAPH graph = NULL;
    bool is_fed[8] = {0};
    uint32_t fetches[8] = {0};
    assert_status(call, STATUS_OK, graph_link(call, def, op_find, (GraphLimits){0}, &graph));
    assert_status(call, STATUS_OK, plan_literal(call, literal, &plan));
    assert_int_equal(plan->feed_count, strlen(given));
    for (uint32_t feed = 0; feed < plan->feed_count; feed++) {
        is_fed[feed] = given[feed] == '+';
    }
    for (uint32_t fetch = 0; fetch < plan->fetch_count; fetch++) {
        fetches[fetch] = fetch;
    }
    PlanFed fed = {.plan = plan, .is_fed = is_fed};
    Status status = plan_check_fed(call, graph, &fed, fetches, plan->fetch_count);
    if (message == NULL) {
        assert_status(call, STATUS_OK, status);
    } else {
        assert_int_equal(status, STATUS_INVALID_ARGUMENT);
        assert_string_equal(call->error.message, message);
    }
}

#define STAGES                                                                                               \
    "x = Placeholder() dtype=float32\n"                                                                      \
    "y = Placeholder() dtype=float32\n"                                                                      \
    "a = Neg(x) T=float32\n"                                                                                 \
    "b = Mul(a, y) T=float32\n"                                                                              \
    "c = Neg(b) T=float32\n"

static void
a_fetch_needs_what_lies_before_it(void **state)
{
    PlanLiteral first = {.graph = STAGES, .feeds = "x y", .fetches = "a"};
    PlanLiteral last = {.graph = STAGES, .feeds = "x y", .fetches = "c"};
    assert_need(*state, &first, "+-", NULL);
    assert_need(*state, &first, "-+", "fetch 'a' needs feed 'x', which has not been given yet");
    assert_need(*state, &last, "++", NULL);
    assert_need(*state, &last, "+-", "fetch 'c' needs feed 'y', which has not been given yet");
}

static void
of_several_fetches_the_one_that_lacks_something_is_named(void **state)
{
    PlanLiteral both = {.graph = STAGES, .feeds = "x y", .fetches = "a b"};
    assert_need(*state, &both, "+-", "fetch 'b' needs feed 'y', which has not been given yet");
}

/* TensorFlow would walk on past b, and ask for x. */
static void
behind_a_fed_tensor_nothing_is_needed(void **state)
{
    PlanLiteral cut = {.graph = STAGES, .feeds = "b:0 x", .fetches = "c"};
    assert_need(*state, &cut, "+-", NULL);
    assert_need(*state, &cut, "-+", "fetch 'c' needs feed 'b:0', which has not been given yet");
}

static void
a_control_edge_needs_the_node_not_what_stands_in_for_its_output(void **state)
{
    PlanLiteral placeholder = {
        .graph = STAGES "late = Neg(x, ^y) T=float32\n", .feeds = "x y", .fetches = "late"};
    PlanLiteral inner = {
        .graph = STAGES "late = Neg(x, ^b) T=float32\n", .feeds = "b:0 x y", .fetches = "late"};
    assert_need(*state, &placeholder, "+-", "fetch 'late' needs feed 'y', which has not been given yet");
    assert_need(*state, &inner, "++-", "fetch 'late' needs feed 'y', which has not been given yet");
    assert_need(*state, &inner, "-++", NULL);
}

static void
loops_are_walked_round_once(void **state)
{
    PlanLiteral loop = {
        .graph = "x = Placeholder() dtype=float32\n"
                 "limit = Placeholder() dtype=float32\n"
                 "e = Enter(x) T=float32 frame_name='loop'\n"
                 "l = Enter(limit) T=float32 frame_name='loop' is_constant=true\n"
                 "m = Merge(e, n) T=float32 N=2\n"
                 "less = Less(m, l) T=float32\n"
                 "go = LoopCond(less)\n"
                 "s = Switch(m, go) T=float32\n"
                 "twice = Add(s:1, s:1) T=float32\n"
                 "n = NextIteration(twice) T=float32\n"
                 "out = Exit(s) T=float32\n",
        .feeds = "limit x",
        .fetches = "out",
    };
    assert_need(*state, &loop, "-+", "fetch 'out' needs feed 'limit', which has not been given yet");
    assert_need(*state, &loop, "++", NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_fetch_needs_what_lies_before_it),
        CALL_TEST(of_several_fetches_the_one_that_lacks_something_is_named),
        CALL_TEST(behind_a_fed_tensor_nothing_is_needed),
        CALL_TEST(a_control_edge_needs_the_node_not_what_stands_in_for_its_output),
        CALL_TEST(loops_are_walked_round_once),
    };
    return cmocka_run_group_tests_name("needs", tests, NULL, NULL);
}
