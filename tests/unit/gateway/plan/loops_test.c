#include "shared/graph/frames.h"

#include "shared/formats/graphdef_json.h"
#include "shared/ops/registry.h"
#include "tests/support/call_fixture.h"
#include "tests/support/loop_graphs.h"
#include "tests/support/plan_literals.h"

static Plan *
plan_of(Call *call, PlanLiteral literal)
{
    Plan *plan = NULL;
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    return plan;
}

/* Links every partition and finds its frames, as a worker does first. */
static void
assert_partitions_are_right(Call *call, const Plan *plan, uint32_t frame_count)
{
    for (size_t index = 0; index < plan->partition_count; index++) {
        AUTO_GRAPH_DEF def = NULL;
        AUTO_GRAPH graph = NULL;
        GraphFrames frames;
        assert_status(call, STATUS_OK, graphdef_json_read(call, plan->partitions[index].document, &def));
        assert_status(
            call, STATUS_OK, graph_link(call, def, op_find, (GraphLimits){.allows_internal = true}, &graph));
        assert_status(call, STATUS_OK, graph_find_frames(call, call->arena, graph, &frames));
        assert_int_equal(frames.frame_count, frame_count);
    }
}

#define FEEDS                                                                                                \
    "x = Placeholder() dtype=float32 shape=<>\n"                                                             \
    "n = Placeholder() dtype=int32 shape=<>\n"                                                               \
    "zero = Const() dtype=int32 value=int32(0)\n"

/* The product is made on another slot, of a value of the iteration and one that stays the same. */
#define CUT                                                                                                  \
    FEEDS LOOP_COUNTER("i", "loop", "zero", "n", "parallel_iterations=4") LOOP_VARIABLE(                     \
        "v", "i", "loop", "x", "parallel_iterations=4") "w = Neg(x) T=float32 @/task:0\n"                    \
                                                        "k = Enter(w) T=float32 frame_name='loop' "          \
                                                        "is_constant=true parallel_iterations=4\n"           \
                                                        "m = Mul(v_body, k) T=float32 @/task:1\n"            \
                                                        "v_new = Add(m, v_body) T=float32 @/task:0\n"

static void
a_part_of_a_loop_on_another_slot_is_driven_by_a_control_loop(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = plan_of(call, (PlanLiteral){.graph = CUT, .feeds = "x n", .fetches = "v_exit"});
    assert_partitions_are_right(call, plan, 2);
    assert_string_equal(plan_partition_text(call, plan, 1),
        "_cloop_start_i_enter = Const()\n"
        "_cloop_enter_i_enter = Enter(_cloop_start_i_enter)\n"
        "_cloop_merge_i_enter = Merge(_cloop_enter_i_enter, _cloop_next_i_enter)\n"
        "_recv_i_cond_0 = _Recv(^_cloop_merge_i_enter)\n"
        "_cloop_switch_i_enter = Switch(_cloop_merge_i_enter, _recv_i_cond_0)\n"
        "_cloop_next_i_enter = NextIteration(_cloop_switch_i_enter:1)\n"
        "_recv_v_body_0 = _Recv(^_cloop_merge_i_enter)\n"
        "_recv_w_0 = _Recv()\n"
        "k = Enter(_recv_w_0)\n"
        "m = Mul(_recv_v_body_0, k)\n"
        "_send_m_0_0 = _Send(m)\n");
    assert_int_equal(plan->transfer_count, 4);
    for (size_t i = 0; i < plan->transfer_count; i++) {
        bool is_before = slice_equals_string(plan->transfers[i].node, "w");
        assert_true(slice_equals_string(plan->transfers[i].loop, is_before ? "" : "loop"));
    }
    const char *first = plan_partition_text(call, plan, 0);
    assert_non_null(strstr(first, "_cloop_switch_i_enter = Switch(_cloop_merge_i_enter, i_cond)\n"));
    assert_non_null(strstr(first, "_recv_m_0 = _Recv(^_cloop_merge_i_enter)\n"));
    assert_non_null(strstr(first, "_send_i_cond_0_1 = _Send(i_cond)\n"));
    assert_string_equal(plan_decision_text(call, plan, "k"), "1 a loop's constant is copied to its readers");
}

static void
an_invariant_that_asks_for_a_task_is_sent_in_every_iteration(void **state)
{
    Call *call = *state;
    static const char *const graph = FEEDS LOOP_COUNTER("i", "loop", "zero", "n", "") LOOP_VARIABLE(
        "v", "i", "loop", "x", "") "k = Enter(x) T=float32 frame_name='loop' is_constant=true @/task:1\n"
                                   "v_new = Mul(v_body, k) T=float32 @/task:0\n";
    AUTO_PLAN plan = plan_of(call, (PlanLiteral){.graph = graph, .feeds = "x n", .fetches = "v_exit"});
    assert_partitions_are_right(call, plan, 2);
    assert_non_null(strstr(plan_partition_text(call, plan, 1), "_cloop_next_i_enter = NextIteration"));
    assert_non_null(strstr(plan_partition_text(call, plan, 1), "_send_k_0_0 = _Send(k)\n"));
    assert_non_null(strstr(plan_partition_text(call, plan, 0), "_recv_k_0 = _Recv(^_cloop_merge_i_enter)\n"));
}

static void
a_loop_on_one_slot_has_no_control_loop(void **state)
{
    Call *call = *state;
    static const char *const graph = FEEDS LOOP_COUNTER(
        "i", "loop", "zero", "n", "") "y = Neg(i_exit) T=int32 @/task:1\nz = Neg(n) T=int32 @/task:0\n";
    AUTO_PLAN plan = plan_of(call, (PlanLiteral){.graph = graph, .feeds = "n", .fetches = "y z"});
    assert_int_equal(plan->partition_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_null(strstr(plan_partition_text(call, plan, i), "_cloop"));
    }
    assert_int_equal(plan->transfer_count, 1);
}

static void
what_does_not_carry_a_value_in_every_iteration_is_not_cut(void **state)
{
    Call *call = *state;
    static const char *const graph =
        FEEDS LOOP_COUNTER("i", "loop", "zero", "n", "") LOOP_VARIABLE("v", "i", "loop", "x", "")
            LOOP_VARIABLE("u", "i", "loop", "x", "") "v_new = Add(v_body, u_body) T=float32\n"
                                                     "u_new = Mul(v_body, u_body) T=float32\n";
    AUTO_PLAN plan = plan_of(call, (PlanLiteral){.graph = graph,
                                       .feeds = "x n",
                                       .fetches = "v_exit u_exit",
                                       .placement = PLACEMENT_SPREAD,
                                       .slot_count = 2});
    assert_partitions_are_right(call, plan, 2);
    static const char *const together[][2] = {{"i_merge", "0 together with 'i_enter'"},
        {"i_next", "0 together with 'i_enter'"}, {"v_enter", "1 next in turn"},
        {"v_merge", "1 together with 'v_enter'"}, {"v_next", "1 together with 'v_enter'"}};
    for (size_t i = 0; i < COUNT_OF(together); i++) {
        assert_string_equal(plan_decision_text(call, plan, together[i][0]), together[i][1]);
    }
}

#define NESTED                                                                                               \
    FEEDS LOOP_COUNTER("i", "outer", "zero", "n", "") LOOP_VARIABLE(                                         \
        "v", "i", "outer", "x", "") "start = Const(^i_body) dtype=int32 value=int32(0)\n" LOOP_COUNTER("j",  \
        "inner", "start", "i_body", "")                                                                      \
        LOOP_VARIABLE("w", "j", "inner", "v_body", "") "w_new = Neg(w_body) T=float32 @/task:1\n"            \
                                                       "v_new = Neg(w_exit) T=float32 @/task:0\n"

static void
an_inner_loop_brings_the_control_loops_of_those_around_it(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = plan_of(call, (PlanLiteral){.graph = NESTED, .feeds = "x n", .fetches = "v_exit"});
    assert_partitions_are_right(call, plan, 3);
    assert_string_equal(plan_partition_text(call, plan, 1),
        "_cloop_start_i_enter = Const()\n"
        "_cloop_enter_i_enter = Enter(_cloop_start_i_enter)\n"
        "_cloop_merge_i_enter = Merge(_cloop_enter_i_enter, _cloop_next_i_enter)\n"
        "_recv_i_cond_0 = _Recv(^_cloop_merge_i_enter)\n"
        "_cloop_switch_i_enter = Switch(_cloop_merge_i_enter, _recv_i_cond_0)\n"
        "_cloop_next_i_enter = NextIteration(_cloop_switch_i_enter:1)\n"
        "_cloop_enter_j_enter = Enter(_cloop_merge_i_enter)\n"
        "_cloop_merge_j_enter = Merge(_cloop_enter_j_enter, _cloop_next_j_enter)\n"
        "_recv_j_cond_0 = _Recv(^_cloop_merge_j_enter)\n"
        "_cloop_switch_j_enter = Switch(_cloop_merge_j_enter, _recv_j_cond_0)\n"
        "_cloop_next_j_enter = NextIteration(_cloop_switch_j_enter:1)\n"
        "_send_w_new_0_0 = _Send(w_new)\n"
        "_recv_w_body_0 = _Recv(^_cloop_merge_j_enter)\n"
        "w_new = Neg(_recv_w_body_0)\n");
}

static void
a_loop_without_a_predicate_is_kept_whole(void **state)
{
    static const char *const graph = "x = Placeholder() dtype=float32 shape=<>\n"
                                     "e = Enter(x) T=float32 frame_name='f'\n"
                                     "a = Neg(e) T=float32 @/task:0\n"
                                     "b = Neg(a) T=float32 @/task:1\n"
                                     "y = Exit(b) T=float32\n";
    Plan *plan = NULL;
    PlanLiteral literal = {.graph = graph, .feeds = "x", .fetches = "y"};
    assert_status((Call *)*state, STATUS_INVALID_ARGUMENT, plan_literal(*state, &literal, &plan));
    assert_string_equal(((const Call *)*state)->error.message,
        "nodes 'a' and 'b' must be together, but ask for '/task:0' and '/task:1'");
}

static void
what_is_inside_a_loop_is_neither_fed_nor_fetched(void **state)
{
    Call *call = *state;
    Plan *plan = NULL;
    PlanLiteral fed = {.graph = CUT, .feeds = "x n m", .fetches = "v_exit"};
    assert_status(call, STATUS_INVALID_ARGUMENT, plan_literal(call, &fed, &plan));
    assert_string_equal(call->error.message, "feed 'm' is inside loop 'loop': it has a value for each "
                                             "iteration; only what enters a loop can be fed, "
                                             "and what leaves it fetched");
    PlanLiteral fetched = {.graph = CUT, .feeds = "x n", .fetches = "v_exit m"};
    assert_status(call, STATUS_INVALID_ARGUMENT, plan_literal(call, &fetched, &plan));
    assert_string_equal(call->error.message, "fetch 'm' is inside loop 'loop': it has a value for each "
                                             "iteration; only what enters a loop can be fed, "
                                             "and what leaves it fetched");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_part_of_a_loop_on_another_slot_is_driven_by_a_control_loop),
        CALL_TEST(an_invariant_that_asks_for_a_task_is_sent_in_every_iteration),
        CALL_TEST(a_loop_on_one_slot_has_no_control_loop),
        CALL_TEST(what_does_not_carry_a_value_in_every_iteration_is_not_cut),
        CALL_TEST(an_inner_loop_brings_the_control_loops_of_those_around_it),
        CALL_TEST(a_loop_without_a_predicate_is_kept_whole),
        CALL_TEST(what_is_inside_a_loop_is_neither_fed_nor_fetched),
    };
    return cmocka_run_group_tests_name("gateway/plan/loops", tests, NULL, NULL);
}
