/* The tensors that may be fed and fetched, and the nodes that run then: TensorFlow's rules, row by row
 * (RewriteGraphForExecution, tried with TensorFlow 2.21). */
#include "tests/support/call_fixture.h"
#include "tests/support/plan_literals.h"

typedef struct Rule {
    const char *name;
    const char *feeds;
    const char *fetches;
    const char *targets;
    const char *runs;  /* the partition; NULL: the request is refused */
    const char *error; /* the message of the refusal */
} Rule;

#define GRAPH                                                                                                \
    "x = Placeholder() dtype=float32\n"                                                                      \
    "a = Neg(x) T=float32\n"                                                                                 \
    "b = Neg(a) T=float32\n"                                                                                 \
    "n = Const() dtype=int32 value=int32(0)\n"                                                               \
    "s = Split(n, b) num_split=2 T=float32\n"                                                                \
    "u = Add(s, s:1) T=float32\n"                                                                            \
    "v = VariableV2() dtype=float32 shape=<2>\n"                                                             \
    "r = Identity(v) T=float32\n"                                                                            \
    "i = AssignAdd(v, x) T=float32\n"                                                                        \
    "d = Neg(b, ^a) T=float32\n"                                                                             \
    "e = Neg(b, ^x) T=float32\n"

static const Rule rules[] = {
    {"an inner tensor cuts its producers off", "a", "b", NULL,
        "_arg_a_0 = _Arg()\nb = Neg(_arg_a_0)\n_retval_b_0 = _Retval(b)\n", NULL},
    {"a second output leaves the node for the first", "s:1 b", "u", NULL,
        "n = Const()\n_arg_b_0 = _Arg()\ns = Split(n, _arg_b_0)\n_arg_s_1 = _Arg()\nu = Add(s, _arg_s_1)\n"
        "_retval_u_0 = _Retval(u)\n",
        NULL},
    {"all outputs of a node make it unnecessary", "s s:1", "u", NULL,
        "_arg_s_0 = _Arg()\n_arg_s_1 = _Arg()\nu = Add(_arg_s_0, _arg_s_1)\n_retval_u_0 = _Retval(u)\n",
        NULL},
    {"a variable's feed is its value", "v", "r", NULL,
        "_arg_v_0 = _Arg()\nr = Identity(_arg_v_0)\n_retval_r_0 = _Retval(r)\n", NULL},
    {"a fed variable cannot be assigned", "v x", "i", NULL, NULL,
        "node 'i': input 0 '_arg_v_0:0' is a value, expected a reference to a variable"},
    {"a control edge still runs what is fed", "a x", "d", NULL,
        "_arg_x_0 = _Arg()\na = Neg(_arg_x_0)\n_arg_a_0 = _Arg()\nb = Neg(_arg_a_0)\nd = Neg(b, ^a)\n"
        "_retval_d_0 = _Retval(d)\n",
        NULL},
    {"a control edge of a fed placeholder waits for the feed", "x b", "e", NULL,
        "_arg_b_0 = _Arg()\n_arg_x_0 = _Arg()\ne = Neg(_arg_b_0, ^_arg_x_0)\n_retval_e_0 = _Retval(e)\n",
        NULL},
    {"a target that is fed runs all the same", "a x", NULL, "a", "_arg_x_0 = _Arg()\na = Neg(_arg_x_0)\n",
        NULL},
    {"… and needs what it reads", "a", NULL, "a", NULL, "placeholder 'x' must be fed, with float32 ?"},
    {"a tensor that is fed and fetched comes back", "a", "a b", NULL,
        "_arg_a_0 = _Arg()\nb = Neg(_arg_a_0)\n_retval_a_0 = _Retval(_arg_a_0)\n_retval_b_0 = _Retval(b)\n",
        NULL},
    {"… also under another name", "x", "x:0", NULL, "_arg_x_0 = _Arg()\n_retval_x_0 = _Retval(_arg_x_0)\n",
        NULL},
    {"a target's port does not count", "x", NULL, "a:0", "_arg_x_0 = _Arg()\na = Neg(_arg_x_0)\n", NULL},
    {"nor does its caret", "x", NULL, "^a", "_arg_x_0 = _Arg()\na = Neg(_arg_x_0)\n", NULL},
    {"a port that is not there is refused", "s:2", "u", NULL, NULL,
        "feed 's:2': 's:2' does not exist: the node has 2 outputs"},
};

static void
check(Call *call, const Rule *rule)
{
    AUTO_PLAN plan = NULL;
    PlanLiteral literal = {
        .graph = GRAPH, .feeds = rule->feeds, .fetches = rule->fetches, .targets = rule->targets};
    Status status = plan_literal(call, &literal, &plan);
    const char *found =
        status == STATUS_OK ? plan_partition_text(call, plan, 0) : (const char *)call->error.message;
    const char *expected = rule->runs != NULL ? rule->runs : rule->error;
    if ((status == STATUS_OK) != (rule->runs != NULL) || strcmp(found, expected) != 0) {
        fail_msg("%s: %s", rule->name, found);
    }
}

static void
feeds_fetches_and_targets_follow_tensorflows_rules(void **state)
{
    for (size_t index = 0; index < COUNT_OF(rules); index++) {
        check(*state, &rules[index]);
    }
}

#define LOOP                                                                                                 \
    "x = Placeholder() dtype=int32\n"                                                                        \
    "two = Const() dtype=int32 value=int32(2)\n"                                                             \
    "ten = Const() dtype=int32 value=int32(10)\n"                                                            \
    "enter = Enter(x) T=int32 frame_name='loop'\n"                                                           \
    "step = Enter(two) T=int32 frame_name='loop' is_constant=true\n"                                         \
    "end = Enter(ten) T=int32 frame_name='loop' is_constant=true\n"                                          \
    "merge = Merge(enter, next) T=int32 N=2\n"                                                               \
    "less = Less(merge, end) T=int32\n"                                                                      \
    "cond = LoopCond(less)\n"                                                                                \
    "switch = Switch(merge, cond) T=int32\n"                                                                 \
    "body = Identity(switch:1) T=int32\n"                                                                    \
    "sum = Add(body, step) T=int32\n"                                                                        \
    "next = NextIteration(sum) T=int32\n"                                                                    \
    "exit = Exit(switch) T=int32\n"                                                                          \
    "y = Neg(exit) T=int32\n"

/* TensorFlow's client refuses most of these; its runtime fails or gives the first value. */
static void
no_tensor_of_a_loop_is_fed_or_fetched_whatever_its_node(void **state)
{
    Call *call = *state;
    static const char *const inside[] = {
        "enter", "step", "merge", "less", "cond", "switch", "switch:1", "body", "sum", "next"};
    for (size_t index = 0; index < COUNT_OF(inside); index++) {
        char expected[256];
        char feeds[32];
        Plan *plan = NULL;
        static const char why[] =
            "is inside loop 'loop': it has a value for each iteration; only what enters a "
            "loop can be fed, and what leaves it fetched";
        (void)snprintf(feeds, sizeof feeds, "x %s", inside[index]);
        assert_status(call, STATUS_INVALID_ARGUMENT,
            plan_literal(call, &(PlanLiteral){.graph = LOOP, .feeds = feeds, .fetches = "y"}, &plan));
        (void)snprintf(expected, sizeof expected, "feed '%s' %s", inside[index], why);
        assert_string_equal(call->error.message, expected);
        assert_status(call, STATUS_INVALID_ARGUMENT,
            plan_literal(call, &(PlanLiteral){.graph = LOOP, .feeds = "x", .fetches = inside[index]}, &plan));
        (void)snprintf(expected, sizeof expected, "fetch '%s' %s", inside[index], why);
        assert_string_equal(call->error.message, expected);
    }
}

/* Nothing of a loop is left when the value that leaves it is fed. The value that enters it is like any
 * tensor. */
static void
the_borders_of_a_loop_are_open(void **state)
{
    Call *call = *state;
    AUTO_PLAN fed = NULL;
    AUTO_PLAN fetched = NULL;
    AUTO_PLAN entered = NULL;
    assert_status(call, STATUS_OK,
        plan_literal(call, &(PlanLiteral){.graph = LOOP, .feeds = "exit", .fetches = "y"}, &fed));
    assert_string_equal(plan_partition_text(call, fed, 0),
        "_arg_exit_0 = _Arg()\ny = Neg(_arg_exit_0)\n_retval_y_0 = _Retval(y)\n");
    assert_status(call, STATUS_OK,
        plan_literal(call, &(PlanLiteral){.graph = LOOP, .feeds = "x", .fetches = "exit"}, &fetched));
    assert_status(call, STATUS_OK,
        plan_literal(call, &(PlanLiteral){.graph = LOOP, .feeds = "x two", .fetches = "y"}, &entered));
    assert_non_null(strstr(plan_partition_text(call, entered, 0), "step = Enter(_arg_two_0)"));
}

static void
a_target_may_be_inside_a_loop(void **state)
{
    Call *call = *state;
    static const char *const targets[] = {"enter", "merge", "body", "sum", "next", "exit"};
    for (size_t index = 0; index < COUNT_OF(targets); index++) {
        AUTO_PLAN plan = NULL;
        PlanLiteral literal = {.graph = LOOP, .feeds = "x", .targets = targets[index]};
        assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(feeds_fetches_and_targets_follow_tensorflows_rules),
        CALL_TEST(no_tensor_of_a_loop_is_fed_or_fetched_whatever_its_node),
        CALL_TEST(the_borders_of_a_loop_are_open),
        CALL_TEST(a_target_may_be_inside_a_loop),
    };
    return cmocka_run_group_tests_name("gateway/plan/feed rules", tests, NULL, NULL);
}
