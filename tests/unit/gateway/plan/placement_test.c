#include "tests/support/call_fixture.h"
#include "tests/support/plan_literals.h"

typedef struct Placed {
    const char *node;
    const char *decision; /* "0 next to its input 'a'": the slot, the reason */
} Placed;

#define PLACED_MAX 10

/* A graph, and where its nodes must be: the list ends with a node NULL. */
typedef struct PlacedPlan {
    PlanLiteral literal;
    uint32_t slot_count;
    size_t transfer_count;
    Placed nodes[PLACED_MAX];
} PlacedPlan;

static void
assert_refused(Call *call, const PlanLiteral *literal, const char *message)
{
    Plan *plan = NULL;
    assert_status(call, STATUS_INVALID_ARGUMENT, plan_literal(call, literal, &plan));
    assert_string_equal(call->error.message, message);
}

/* Compiles and checks; the plan is the caller's to look further. */
static Plan *
assert_placed(Call *call, const PlacedPlan *expected)
{
    Plan *plan = NULL;
    assert_status(call, STATUS_OK, plan_literal(call, &expected->literal, &plan));
    assert_int_equal(plan->slot_count, expected->slot_count);
    assert_int_equal(plan->partition_count, expected->slot_count);
    assert_int_equal(plan->transfer_count, expected->transfer_count);
    for (const Placed *placed = expected->nodes; placed->node != NULL; placed++) {
        const char *text = plan_decision_text(call, plan, placed->node);
        assert_non_null(text);
        assert_string_equal(text, placed->decision);
    }
    return plan;
}

#define CHAIN                                                                                                \
    "x = Placeholder() dtype=float32 shape=<2,2>\n"                                                          \
    "w = Const() dtype=float32 value=float32<2,2>(0.5)\n"                                                    \
    "a = MatMul(x, w) T=float32\n"                                                                           \
    "i = Identity(a) T=float32\n"                                                                            \
    "b = MatMul(i, w) T=float32\n"                                                                           \
    "c = MatMul(b, w) T=float32\n"                                                                           \
    "d = MatMul(c, w) T=float32\n"

static void
local_keeps_everything_on_one_slot(void **state)
{
    PlacedPlan expected = {
        .literal = {.graph = CHAIN, .feeds = "x", .fetches = "d", .slot_count = 4},
        .slot_count = 1,
        .nodes =
            {
                {"a", "0 nothing asks for another place"},
                {"d", "0 next to its input 'c'"},
                {"w", "0 a constant is copied to its readers"},
                {"x", "0 a feed goes to where it is read"},
            },
    };
    AUTO_PLAN plan = assert_placed(*state, &expected);
    assert_int_equal(plan->slots[0].task, PLAN_TASK_NONE);
}

static void
spread_gives_compute_nodes_to_the_slots_in_turn(void **state)
{
    PlacedPlan expected = {
        .literal =
            {.graph = CHAIN, .feeds = "x", .fetches = "d", .placement = PLACEMENT_SPREAD, .slot_count = 2},
        .slot_count = 2,
        .transfer_count = 3,
        .nodes =
            {
                {"a", "0 next in turn"},
                {"i", "0 next to its input 'a'"},
                {"b", "1 next in turn"},
                {"c", "0 next in turn"},
                {"d", "1 next in turn"},
            },
    };
    AUTO_PLAN plan = assert_placed(*state, &expected);
}

static void
a_slot_that_nobody_uses_does_not_exist(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = NULL;
    PlanLiteral literal = {
        .graph = CHAIN, .feeds = "x", .fetches = "b", .placement = PLACEMENT_SPREAD, .slot_count = 16};
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    assert_int_equal(plan->slot_count, 2);
    assert_int_equal(plan->partition_count, 2);
}

static void
a_requested_task_is_honoured_and_what_follows_stays_there(void **state)
{
    PlacedPlan expected = {
        .literal = {.graph = "x = Placeholder() dtype=float32 shape=<8,8>\n"
                             "a = Neg(x) T=float32 @/job:worker/task:10\n"
                             "b = Neg(x) T=float32 @/task:2/device:CPU:0\n"
                             "s = Identity(a) T=float32\n"
                             "c = Neg(b) T=float32\n"
                             "d = Add(a, s) T=float32\n",
            .feeds = "x",
            .fetches = "c d"},
        .slot_count = 2,
        .nodes =
            {
                {"a", "1 asks for '/job:worker/task:10'"},
                {"b", "0 asks for '/task:2/device:CPU:0'"},
                {"s", "1 next to its input 'a'"},
                {"c", "0 next to its input 'b'"},
                {"d", "1 next to its input 'a'"},
            },
    };
    AUTO_PLAN plan = assert_placed(*state, &expected);
    assert_int_equal(plan->slots[0].task, 2);
    assert_int_equal(plan->slots[1].task, 10);
}

/* Plans a sum of nodes that ask for the tasks from `count` - 1 down to 0. */
static Status
plan_tasks(Call *call, int count, uint32_t slot_count_max, Plan **ret_plan)
{
    AUTO_BUFFER text = {0};
    PlanLiteral literal = {.feeds = "x", .fetches = "y", .slot_count_max = slot_count_max};
    buffer_append_string(&text, "x = Placeholder() dtype=float32 shape=<4>\n");
    for (int index = 0; index < count; index++) {
        buffer_append_format(&text, "a%d = Neg(x) T=float32 @/task:%d\n", index, count - 1 - index);
    }
    buffer_append_string(&text, "y = AddN(a0");
    for (int index = 1; index < count; index++) {
        buffer_append_format(&text, ", a%d", index);
    }
    buffer_append_format(&text, ") T=float32 N=%d @/task:7\n", count);
    literal.graph = buffer_string(&text);
    return plan_literal(call, &literal, ret_plan);
}

static void
a_plan_has_up_to_256_tasks(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = NULL;
    assert_status(call, STATUS_OK, plan_tasks(call, 256, 0, &plan));
    assert_int_equal(plan->slot_count, 256);
    for (uint32_t slot = 0; slot < plan->slot_count; slot++) {
        const PlanPartition *partition = &plan->partitions[slot];
        assert_int_equal(plan->slots[slot].task, slot);
        assert_int_equal(partition->peer_count, slot == 7 ? 255 : 1);
        assert_int_equal(partition->peers[0], slot == 7 ? 0 : 7);
        assert_int_equal(partition->sender_count, slot == 7 ? 255 : 0);
    }
    assert_int_equal(plan->transfer_count, 255);
}

static void
more_tasks_than_slots_are_refused(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = NULL;
    assert_status(call, STATUS_INVALID_ARGUMENT, plan_tasks(call, 257, 0, &plan));
    assert_string_equal(
        call->error.message, "the nodes of this step ask for 257 worker tasks, 256 slots are possible");
    assert_status(call, STATUS_INVALID_ARGUMENT, plan_tasks(call, 9, 8, &plan));
    assert_string_equal(
        call->error.message, "the nodes of this step ask for 9 worker tasks, 8 slots are possible");
    assert_status(call, STATUS_OK, plan_tasks(call, 8, 8, &plan));
}

/* A loop's parts are driven on each slot that has one, also on the slots behind the first 64. */
static void
a_loop_lies_on_all_slots(void **state)
{
    enum { SLOTS = 130 };
    Call *call = *state;
    AUTO_BUFFER text = {0};
    AUTO_PLAN plan = NULL;
    buffer_append_string(&text, "x = Placeholder() dtype=float32 shape=<1>\n"
                                "limit = Const() dtype=float32 value=float32(3)\n"
                                "enter = Enter(x) T=float32 frame_name='loop'\n"
                                "merge = Merge(enter, next) T=float32 N=2\n"
                                "sum = Sum(merge, axis) T=float32 Tidx=int32\n"
                                "axis = Const(^merge) dtype=int32 value=int32(0)\n"
                                "end = Enter(limit) T=float32 frame_name='loop' is_constant=true\n"
                                "less = Less(sum, end) T=float32\n"
                                "cond = LoopCond(less)\n"
                                "switch = Switch(merge, cond) T=float32\n"
                                "n0 = Neg(switch:1) T=float32\n");
    for (int index = 1; index < SLOTS; index++) {
        buffer_append_format(&text, "n%d = Neg(n%d) T=float32\n", index, index - 1);
    }
    buffer_append_format(
        &text, "next = NextIteration(n%d) T=float32\nexit = Exit(switch) T=float32\n", SLOTS - 1);
    PlanLiteral literal = {.graph = buffer_string(&text),
        .feeds = "x",
        .fetches = "exit",
        .placement = PLACEMENT_SPREAD,
        .slot_count = SLOTS};
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    assert_int_equal(plan->slot_count, SLOTS);
    for (size_t slot = 0; slot < plan->slot_count; slot++) {
        assert_non_null(strstr(plan_partition_text(call, plan, slot), "_cloop_switch_"));
    }
}

static void
most_bytes_decide_which_input_is_nearest(void **state)
{
    PlacedPlan expected = {
        .literal = {.graph = "x = Placeholder() dtype=float32 shape=<1>\n"
                             "y = Placeholder() dtype=float32 shape=<100,1>\n"
                             "a = Neg(x) T=float32 @/task:0\n"
                             "b = Neg(y) T=float32 @/task:1\n"
                             "c = Add(a, b) T=float32\n",
            .feeds = "x y",
            .fetches = "c"},
        .slot_count = 2,
        .transfer_count = 1,
        .nodes =
            {
                {"c", "1 next to its input 'b'"},
            },
    };
    AUTO_PLAN plan = assert_placed(*state, &expected);
    assert_int_equal(plan->transfers[0].bytes, 4);
}

static void
a_light_node_on_a_feed_goes_to_its_reader(void **state)
{
    AUTO_PLAN plan =
        assert_placed(*state, &(PlacedPlan){.literal = {.graph = "x = Placeholder() dtype=float32 shape=<4>\n"
                                                                 "i = Identity(x) T=float32\n"
                                                                 "a = Neg(x) T=float32 @/task:0\n"
                                                                 "b = Neg(i) T=float32 @/task:1\n",
                                                .feeds = "x",
                                                .fetches = "a b"},
                                  .slot_count = 2,
                                  .nodes = {{"i", "1 next to its reader 'b'"}}});
    assert_int_equal(plan->partitions[0].feed_count, 1);
    assert_int_equal(plan->partitions[1].feed_count, 1);
}

static void
a_request_nobody_can_honour_is_refused_with_the_reason(void **state)
{
    Call *call = *state;
#define ASKING(device) "x = Placeholder() dtype=float32 shape=<4>\na = Neg(x) T=float32 @" device "\n"
    assert_refused(call, &(PlanLiteral){.graph = ASKING("/device:TPU:0"), .feeds = "x", .fetches = "a"},
        "node 'a' asks for device '/device:TPU:0', but workers have devices of type 'CPU' and 'GPU' only");
    assert_refused(call, &(PlanLiteral){.graph = ASKING("/gpu:1"), .feeds = "x", .fetches = "a"},
        "node 'a' asks for device '/gpu:1', but the only GPU of a worker is '/device:GPU:0'");
    assert_refused(call, &(PlanLiteral){.graph = ASKING("/replica:1"), .feeds = "x", .fetches = "a"},
        "node 'a' asks for device '/replica:1', but the only replica is '/replica:0'");
    assert_refused(call, &(PlanLiteral){.graph = ASKING("/cpu:1"), .feeds = "x", .fetches = "a"},
        "node 'a' asks for device '/cpu:1', but the only CPU of a worker is '/device:CPU:0'");
    assert_refused(call, &(PlanLiteral){.graph = ASKING("gpu"), .feeds = "x", .fetches = "a"},
        "node 'a' asks for device 'gpu', but a device is written '/job:worker/task:0/device:CPU:0', or a "
        "part of "
        "that");
    AUTO_PLAN plan = NULL;
    PlanLiteral soft = {
        .graph = ASKING("/replica:1/gpu:0"), .feeds = "x", .fetches = "a", .has_soft_placement = true};
    assert_status(call, STATUS_OK, plan_literal(call, &soft, &plan));
    assert_int_equal(plan->slots[0].task, PLAN_TASK_NONE);
}

static void
expect_task(Call *call, const char *graph, int32_t task)
{
    AUTO_PLAN plan = NULL;
    PlanLiteral literal = {.graph = graph, .feeds = "x", .fetches = "a"};
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    assert_int_equal(plan->slot_count, 1);
    assert_int_equal(plan->slots[0].task, task);
}

static void
tasks_of_any_job_are_tasks_of_the_pool(void **state)
{
    Call *call = *state;
    expect_task(call, ASKING("/job:worker/task:3"), 3);
    expect_task(call, ASKING("/job:ps/task:3/cpu:0"), 3);
    expect_task(call, ASKING("/job:ps"), PLAN_TASK_NONE);
    expect_task(call, ASKING("/job:localhost/replica:0/task:0/device:CPU:0"), PLAN_TASK_NONE);
}

/* Nodes that the step does not need count, too: chief has task 0, ps 1 and 2, worker the others. */
static void
tasks_of_several_jobs_follow_each_other_by_name(void **state)
{
    Call *call = *state;
#define CLUSTER(device)                                                                                      \
    ASKING(device)                                                                                           \
    "p = NoOp() @/job:worker/task:2\nq = NoOp() @/job:ps/task:1\nr = NoOp() @/job:chief\n"                   \
    "s = NoOp() @/job:localhost/task:7\n"
    expect_task(call, CLUSTER("/job:chief/task:0"), 0);
    expect_task(call, CLUSTER("/job:ps"), 1);
    expect_task(call, CLUSTER("/job:ps/task:1/cpu:0"), 2);
    expect_task(call, CLUSTER("/job:worker/task:1"), 4);
    expect_task(call, CLUSTER("/job:localhost/task:0"), PLAN_TASK_NONE);
    expect_task(call, CLUSTER("/cpu:0"), PLAN_TASK_NONE);
    assert_refused(call,
        &(PlanLiteral){.graph = CLUSTER("/job:zeta/task:2147483647"), .feeds = "x", .fetches = "a"},
        "node 'a' asks for device '/job:zeta/task:2147483647', but the jobs of the graph have too many "
        "tasks");
}

#define TOGETHER(device)                                                                                     \
    "x = Placeholder() dtype=float32 shape=<4>\n"                                                            \
    "a = Neg(x) T=float32 @/task:1\n"                                                                        \
    "b = Neg(x) T=float32 _class=['loc:@a'] " device "\n"                                                    \
    "c = Neg(b) T=float32 _class=['loc:@gone']\n"                                                            \
    "d = Neg(a) T=float32 _class=['loc:@gone']\n"                                                            \
    "gone = Neg(x) T=float32\n"

static void
colocated_nodes_share_a_slot_also_when_their_anchor_is_pruned(void **state)
{
    PlacedPlan expected = {
        .literal = {.graph = TOGETHER(""),
            .feeds = "x",
            .fetches = "c d",
            .placement = PLACEMENT_SPREAD,
            .slot_count = 2},
        .slot_count = 1,
        .nodes =
            {
                {"b", "0 together with 'a'"},
                {"c", "0 next in turn"},
                {"d", "0 together with 'c'"},
            },
    };
    AUTO_PLAN plan = assert_placed(*state, &expected);
}

static void
a_node_is_with_one_that_nobody_needs(void **state)
{
    AUTO_PLAN plan =
        assert_placed(*state, &(PlacedPlan){.literal = {.graph = "x = Placeholder() dtype=float32\n"
                                                                 "a = Neg(x) T=float32 @/task:1\n"
                                                                 "b = Neg(x) T=float32 _class=['loc:@a']\n",
                                                .feeds = "x",
                                                .fetches = "b"},
                                  .slot_count = 1,
                                  .nodes = {{"b", "0 together with 'a'"}}});
    assert_int_equal(plan->slots[0].task, 1);
}

static void
colocated_nodes_that_ask_for_two_tasks_are_refused(void **state)
{
    assert_refused(*state, &(PlanLiteral){.graph = TOGETHER("@/task:2"), .feeds = "x", .fetches = "c d"},
        "nodes 'a' and 'b' must be together, but ask for '/task:1' and '/task:2'");
}

#define LOOP(device)                                                                                         \
    "x = Placeholder() dtype=int32 shape=<>\n"                                                               \
    "one = Const() dtype=int32 value=int32(1)\n"                                                             \
    "before = Neg(x) T=int32\n"                                                                              \
    "e = Enter(before) T=int32 frame_name='f'\n"                                                             \
    "k = Enter(one) T=int32 frame_name='f'\n"                                                                \
    "m = Merge(e, n) T=int32 N=2\n"                                                                          \
    "p = Less(m, k) T=int32\n"                                                                               \
    "l = LoopCond(p)\n"                                                                                      \
    "s = Switch(m, l) T=int32\n"                                                                             \
    "v = Add(s:1, k) T=int32 " device "\n"                                                                   \
    "n = NextIteration(v) T=int32\n"                                                                         \
    "q = Exit(s) T=int32\n"                                                                                  \
    "after = Neg(q) T=int32\n"

/* TensorFlow silently overrides one of the two. */
static void
an_edge_that_carries_a_variable_and_two_tasks_are_refused(void **state)
{
    Call *call = *state;
    static const char *const graphs[] = {
        "x = Placeholder() dtype=float32\nv = VariableV2() dtype=float32 shape=<2> @/task:1\n"
        "a = Assign(v, x) T=float32 @/task:2\n",
        "x = Placeholder() dtype=float32\nv = VarHandleOp() dtype=float32 shape=<2> @/task:1\n"
        "a = AssignVariableOp(v, x) dtype=float32 @/task:2\n",
        "x = Placeholder() dtype=float32\nv = VarHandleOp() dtype=float32 shape=<2> @/task:1\n"
        "i = Identity(v) T=resource\na = AssignVariableOp(i, x) dtype=float32 @/task:2\n",
    };
    for (size_t index = 0; index < COUNT_OF(graphs); index++) {
        assert_refused(call, &(PlanLiteral){.graph = graphs[index], .feeds = "x", .targets = "a"},
            "nodes 'v' and 'a' must be together, but ask for '/task:1' and '/task:2'");
    }
}

static void
several_classes_make_one_group_and_other_words_none(void **state)
{
    PlacedPlan expected = {
        .literal = {.graph = "x = Placeholder() dtype=float32 shape=<8,8>\n"
                             "a = Neg(x) T=float32 @/task:1\n"
                             "b = Neg(x) T=float32\n"
                             "c = Neg(x) T=float32 _class=['loc:@a','loc:@b']\n"
                             "d = Neg(x) T=float32 _class=['a'] @/task:2\n",
            .feeds = "x",
            .fetches = "a b c d"},
        .slot_count = 2,
        .nodes =
            {
                {"a", "0 asks for '/task:1'"},
                {"b", "0 together with 'a'"},
                {"c", "0 together with 'a'"},
                {"d", "1 asks for '/task:2'"},
            },
    };
    AUTO_PLAN plan = assert_placed(*state, &expected);
}

static void
a_loop_stays_on_one_slot_unless_its_nodes_ask_for_several(void **state)
{
    PlacedPlan expected = {
        .literal = {.graph = LOOP("@/task:7"), .feeds = "x", .fetches = "after", .slot_count = 3},
        .slot_count = 1,
        .nodes =
            {
                {"v", "0 asks for '/task:7'"},
                {"e", "0 together with 'v'"},
                {"n", "0 together with 'v'"},
                {"q", "0 together with 'v'"},
                {"after", "0 next to its input 'q'"},
            },
    };
    AUTO_PLAN plan = assert_placed(*state, &expected);
}

static void
a_loop_that_is_spread_keeps_what_comes_round_together(void **state)
{
    PlacedPlan expected = {
        .literal = {.graph = LOOP("@/task:7"),
            .feeds = "x",
            .fetches = "after",
            .placement = PLACEMENT_SPREAD,
            .slot_count = 3},
        .slot_count = 3,
        .transfer_count = 6,
        .nodes =
            {
                {"v", "0 asks for '/task:7'"},
                {"k", "0 together with 'v'"},
                {"p", "0 together with 'v'"},
                {"l", "0 next to its input 'p'"},
                {"e", "1 next in turn"},
                {"m", "1 together with 'e'"},
                {"n", "1 together with 'e'"},
                {"q", "1 next to its input 's'"},
                {"after", "2 next in turn"},
            },
    };
    AUTO_PLAN plan = assert_placed(*state, &expected);
}

static void
slots_have_estimates(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = NULL;
    PlanLiteral literal = {.graph = CHAIN, .feeds = "x", .fetches = "d"};
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    /* x and w are held for the whole run, and two products at a time: one read, one written. */
    assert_int_equal(plan->slots[0].memory, 4 * 16);
    /* Four products of 2·2 elements take 2 multiplications and 2 additions each; the Identity takes one
     * operation an element. */
    assert_true(plan->slots[0].cost == 4 * 16 + 4);
}

/* Each slot has the constants and feeds that it reads, and no others. */
static void
a_constant_counts_on_the_slots_that_have_it(void **state)
{
    static const char graph[] = "x = Placeholder() dtype=float32 shape=<100>\n"
                                "v = Const() dtype=float32 value=float32<100>(2;1)\n"
                                "w = Const() dtype=float32 value=float32<1>(3)\n"
                                "a = Mul(x, v) T=float32 @/task:0\n"
                                "b = Mul(a, w) T=float32 @/task:1\n";
    Call *call = *state;
    AUTO_PLAN plan = NULL;
    PlanLiteral literal = {.graph = graph, .feeds = "x", .fetches = "b", .slot_count = 2};
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    assert_int_equal(plan->slots[0].memory, 3 * 400); /* x, v and a */
    assert_int_equal(plan->slots[1].memory, 4 + 400); /* w and b */
}

#define TWO_VARIABLES                                                                                        \
    "x = Placeholder() dtype=float32 shape=<2>\n"                                                            \
    "v = VariableV2() dtype=float32 shape=<2>\n"                                                             \
    "w = VariableV2() dtype=float32 shape=<2>\n"                                                             \
    "a = Neg(v) T=float32\n"                                                                                 \
    "b = Neg(x) T=float32\n"                                                                                 \
    "c = Neg(b) T=float32\n"                                                                                 \
    "t = AssignAdd(w, c) T=float32\n"

static void
variables_share_a_slot_whichever_a_step_needs(void **state)
{
    Call *call = *state;
    static const char *const fetches[] = {"a t", "t", "a"};
    for (size_t index = 0; index < COUNT_OF(fetches); index++) {
        AUTO_PLAN plan = NULL;
        PlanLiteral literal = {.graph = TWO_VARIABLES,
            .feeds = "x",
            .fetches = fetches[index],
            .placement = PLACEMENT_SPREAD,
            .slot_count = 2};
        assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
        assert_true(plan->slots[0].keeps_state);
        assert_int_equal(plan->slots[0].task, PLAN_TASK_NONE);
        assert_true(plan->slot_count == 1 || !plan->slots[1].keeps_state);
        assert_false(plan->is_pure);
    }
}

static void
a_seeded_random_node_stays_where_its_sequence_is_kept_and_others_do_not(void **state)
{
    Call *call = *state;
    static const char *const seeds[] = {"seed=7", "seed2=7", "seed=0 seed2=0"};
    for (size_t index = 0; index < COUNT_OF(seeds); index++) {
        AUTO_PLAN plan = NULL;
        char graph[256];
        (void)snprintf(graph, sizeof graph,
            "s = Const() dtype=int32 value=int32<1>(2)\nr = RandomUniform(s) dtype=float32 T=int32 %s\n",
            seeds[index]);
        PlanLiteral literal = {.graph = graph, .fetches = "r"};
        assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
        assert_int_equal(plan->slots[0].keeps_state, index < 2);
        assert_false(plan->is_pure);
    }
}

static void
a_variable_may_ask_for_a_task_and_the_others_get_a_slot_of_their_own(void **state)
{
    PlacedPlan expected = {
        .literal = {.graph = "v = VariableV2() dtype=float32 shape=<2> @/task:3\n"
                             "w = VariableV2() dtype=float32 shape=<2>\n"
                             "a = Identity(v) T=float32\n"
                             "b = Identity(w) T=float32\n",
            .fetches = "a b"},
        .slot_count = 2,
        .nodes =
            {
                {"a", "0 together with 'v'"},
                {"w", "1 with all that the session keeps"},
            },
    };
    AUTO_PLAN plan = assert_placed(*state, &expected);
    assert_true(plan->slots[0].keeps_state && plan->slots[1].keeps_state);
    assert_int_equal(plan->slots[0].task, 3);
    assert_int_equal(plan->slots[1].task, PLAN_TASK_NONE);
}

static void
a_step_with_a_tensor_array_may_be_tried_again(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = NULL;
    PlanLiteral literal = {
        .graph = "n = Const() dtype=int32 value=int32(2)\n"
                 "a = TensorArrayV3(n) dtype=float32 element_shape=<1>\n"
                 "r = TensorArrayReadV3(a, n, a:1) dtype=float32\n",
        .fetches = "r",
        .placement = PLACEMENT_SPREAD,
        .slot_count = 2,
    };
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    assert_true(plan->is_pure);
    assert_int_equal(plan->slot_count, 1);
    assert_false(plan->slots[0].keeps_state);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(local_keeps_everything_on_one_slot),
        CALL_TEST(spread_gives_compute_nodes_to_the_slots_in_turn),
        CALL_TEST(a_slot_that_nobody_uses_does_not_exist),
        CALL_TEST(a_requested_task_is_honoured_and_what_follows_stays_there),
        CALL_TEST(a_plan_has_up_to_256_tasks),
        CALL_TEST(more_tasks_than_slots_are_refused),
        CALL_TEST(a_loop_lies_on_all_slots),
        CALL_TEST(most_bytes_decide_which_input_is_nearest),
        CALL_TEST(a_light_node_on_a_feed_goes_to_its_reader),
        CALL_TEST(a_request_nobody_can_honour_is_refused_with_the_reason),
        CALL_TEST(tasks_of_any_job_are_tasks_of_the_pool),
        CALL_TEST(tasks_of_several_jobs_follow_each_other_by_name),
        CALL_TEST(colocated_nodes_share_a_slot_also_when_their_anchor_is_pruned),
        CALL_TEST(a_node_is_with_one_that_nobody_needs),
        CALL_TEST(colocated_nodes_that_ask_for_two_tasks_are_refused),
        CALL_TEST(an_edge_that_carries_a_variable_and_two_tasks_are_refused),
        CALL_TEST(several_classes_make_one_group_and_other_words_none),
        CALL_TEST(a_loop_stays_on_one_slot_unless_its_nodes_ask_for_several),
        CALL_TEST(a_loop_that_is_spread_keeps_what_comes_round_together),
        CALL_TEST(variables_share_a_slot_whichever_a_step_needs),
        CALL_TEST(a_seeded_random_node_stays_where_its_sequence_is_kept_and_others_do_not),
        CALL_TEST(a_variable_may_ask_for_a_task_and_the_others_get_a_slot_of_their_own),
        CALL_TEST(a_step_with_a_tensor_array_may_be_tried_again),
        CALL_TEST(slots_have_estimates),
        CALL_TEST(a_constant_counts_on_the_slots_that_have_it),
    };
    return cmocka_run_group_tests_name("gateway/plan/placement", tests, NULL, NULL);
}
