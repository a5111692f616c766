/* Plans of every kind are compiled while allocations are counted, then again with each allocation failing
 * in turn, and within ever smaller arenas. */
#include "tests/support/call_fixture.h"
#include "tests/support/expand_literals.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/loop_graphs.h"
#include "tests/support/plan_literals.h"

#define BRANCHES                                                                                             \
    "function scale(x:float32, w:float32) -> (y:float32) y=product:z:0\n"                                    \
    "two = Const() dtype=float32 value=float32(2)\n"                                                         \
    "both = Mul(two, w) T=float32\n"                                                                         \
    "product = Mul(x, both:z:0) T=float32\n"                                                                 \
    "end\n"                                                                                                  \
    "function minus(x:float32, w:float32) -> (y:float32) y=neg:y:0\n"                                        \
    "neg = Neg(w) T=float32\n"                                                                               \
    "end\n"

static const PlanLiteral spread = {
    .graph = "x = Placeholder() dtype=float32 shape=<-1,64>\n"
             "w = Const() dtype=float32 value=float32<64,64>(0.5)\n"
             "a = MatMul(x, w) T=float32\n"
             "b = Neg(a) T=float32\n"
             "c = MatMul(b, w, ^a) T=float32\n"
             "d = Neg(c, ^b) T=float32\n",
    .feeds = "x",
    .fetches = "d",
    .slot_count = 3,
    .placement = PLACEMENT_SPREAD,
};

/* Branches become functions; one holds a constant that travels as a blob. */
static const PlanLiteral outlined = {
    .graph = BRANCHES "p = Placeholder() dtype=bool\n"
                      "x = Placeholder() dtype=float32\n"
                      "w = Const() dtype=float32 value=float32<64,64>(3)\n"
                      "f = StatelessIf(p, x, w) Tcond=bool then_branch=@scale else_branch=@minus "
                      "Tin=[float32,float32] Tout=[float32] _lower_using_switch_merge=false\n"
                      "y = Neg(f) T=float32\n",
    .feeds = "p x",
    .fetches = "y",
    .passes = "lazy_branches",
};

static const PlanLiteral loop_on_two_slots = {
    .graph = "x = Placeholder() dtype=float32 shape=<>\n"
             "n = Placeholder() dtype=int32 shape=<>\n"
             "zero = Const() dtype=int32 value=int32(0)\n" LOOP_COUNTER(
                 "i", "loop", "zero", "n", "parallel_iterations=4") LOOP_VARIABLE("v", "i", "loop", "x",
                 "parallel_iterations=4") "m = Neg(v_body) T=float32 @/task:1\n"
                                          "v_new = Add(m, v_body) T=float32 @/task:0\n",
    .feeds = "x n",
    .fetches = "v_exit",
};

/* A graph with something for each exact pass. */
static const PlanLiteral optimised = {
    .graph = "x = Placeholder() dtype=float32 shape=<2,3>\n"
             "two = Const() dtype=float32 value=float32<2,3>(2)\n"
             "one = Const() dtype=float32 value=float32(1)\n"
             "four = Mul(two, two) T=float32\n"
             "a = Identity(x) T=float32\n"
             "b = Mul(a, one) T=float32\n"
             "c = Add(b, four) T=float32\n"
             "d = Add(b, four) T=float32\n"
             "e = Tanh(c) T=float32\n"
             "f = Mul(e, d) T=float32\n"
             "s = Shape(f) T=float32 out_type=int32\n"
             "r = Reshape(f, s) T=float32 Tshape=int32\n"
             "perm = Const() dtype=int32 value=int32<2>(1;0)\n"
             "t = Transpose(r, perm) T=float32 Tperm=int32\n"
             "u = Transpose(t, perm) T=float32 Tperm=int32\n"
             "g = NoOp(^u)\n"
             "y = Neg(u, ^g) T=float32\n",
    .feeds = "x",
    .fetches = "y",
    .passes = "*",
};

/* A graph with something for the inexact passes. */
static const PlanLiteral folded_layers = {
    .graph = "x = Placeholder() dtype=float32 shape=<1,5,5,2>\n"
             "w = Const() dtype=float32 value=float32<3,3,2,4>(0.5;-0.25;1.5)\n"
             "b = Const() dtype=float32 value=float32<4>(0.5;-1)\n"
             "s = Const() dtype=float32 value=float32<4>(1;2)\n"
             "m = Const() dtype=float32 value=float32<4>(0.1)\n"
             "v = Const() dtype=float32 value=float32<4>(1;4)\n"
             "y = Conv2D(x, w) T=float32 strides=[1,1,1,1] padding='SAME'\n"
             "n = FusedBatchNormV3(y, s, b, m, v) T=float32 U=float32 is_training=false\n"
             "z = BiasAdd(n, b) T=float32\n"
             "r = Relu(z) T=float32\n",
    .feeds = "x",
    .fetches = "r",
    .passes = "*",
};

static const PlanLiteral stateful = {
    .graph = "x = Placeholder() dtype=float32 shape=<2>\n"
             "v = VarHandleOp() dtype=float32 shape=<2> shared_name='v'\n"
             "a = AssignVariableOp(v, x) dtype=float32\n"
             "r = ReadVariableOp(v, ^a) dtype=float32\n",
    .feeds = "x",
    .fetches = "r",
    .targets = "a",
};

static const PlanLiteral *const literals[] = {
    &spread, &outlined, &loop_on_two_slots, &optimised, &folded_layers, &stateful};

static void
graph_release(void *graph)
{
    graph_unref(graph);
}

static Graph *
linked(Call *call, const PlanLiteral *literal)
{
    Graph *graph = expand_literal(call, literal->graph);
    assert_non_null(arena_defer(call->arena, graph_release, graph));
    return graph;
}

static void
fail_each(const PlanLiteral *literal, const Graph *graph)
{
    size_t total = 1;
    for (size_t failing = 0; failing <= total; failing++) {
        AUTO_PLAN plan = NULL;
        AUTO_ARENA arena = arena_new(64 << 20);
        Call call = {.arena = arena};
        fail_alloc_count = 0;
        fail_alloc_at = failing;
        Status status = plan_literal_of(&call, literal, graph, &plan);
        fail_alloc_at = 0;
        total = failing == 0 ? fail_alloc_count : total;
        if (status != (failing == 0 ? STATUS_OK : STATUS_RESOURCE_EXHAUSTED)) {
            fail_msg("allocation %zu of %zu: %s '%s', planning\n%s", failing, total, status_name(status),
                call.error.message, literal->graph);
        }
    }
    assert_true(total > 30);
}

static void
every_failed_allocation_is_survived(void **state)
{
    Call *call = *state;
    for (size_t index = 0; index < COUNT_OF(literals); index++) {
        const Graph *graph = linked(call, literals[index]);
        AUTO_PLAN plan = NULL; /* the first plan makes what lives as long as the process */
        assert_status(call, STATUS_OK, plan_literal_of(call, literals[index], graph, &plan));
        fail_each(literals[index], graph);
    }
}

static void
shrink_arena(const PlanLiteral *literal, const Graph *graph)
{
    bool has_failed = false;
    for (size_t size = 100; size < 40000; size += 100) {
        AUTO_PLAN plan = NULL;
        AUTO_ARENA arena = arena_new(size);
        Call call = {.arena = arena};
        Status status = plan_literal_of(&call, literal, graph, &plan);
        assert_true(status == STATUS_OK || status == STATUS_RESOURCE_EXHAUSTED);
        has_failed = has_failed || status != STATUS_OK;
    }
    assert_true(has_failed);
}

static void
an_arena_too_small_is_told_as_such(void **state)
{
    for (size_t index = 0; index < COUNT_OF(literals); index++) {
        shrink_arena(literals[index], linked(*state, literals[index]));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(every_failed_allocation_is_survived),
        CALL_TEST(an_arena_too_small_is_told_as_such),
    };
    return cmocka_run_group_tests_name("gateway/plan memory", tests, NULL, NULL);
}
