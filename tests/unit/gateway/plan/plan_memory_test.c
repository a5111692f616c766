/* Counts a compilation's allocations, then compiles again failing each one in turn, and within ever smaller
 * arenas. */
#include "gateway/plan/plan.h"
#include "shared/ops/registry.h"
#include "tests/support/call_fixture.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/graph_literals.h"

static const char text[] = "x = Placeholder() dtype=float32 shape=<-1,64>\n"
                           "w = Const() dtype=float32 value=float32<64,64>(0.5)\n"
                           "a = MatMul(x, w) T=float32\n"
                           "b = Neg(a) T=float32\n"
                           "c = MatMul(b, w, ^a) T=float32\n"
                           "d = Neg(c, ^b) T=float32\n";

static Status
compile(Call *call, const Graph *graph, Plan **ret_plan)
{
    const SignatureFeed feed = {.name = SLICE("x"), .shape = shape_unknown()};
    const Slice fetch = SLICE("d");
    const Signature given = {.feeds = &feed,
        .feed_count = 1,
        .fetches = &fetch,
        .fetch_count = 1,
        .options = {.slot_count = 3, .placement = PLACEMENT_SPREAD}};
    Signature signature;
    TRY(signature_make(call, SLICE("g"), &given, &signature));
    const PlanRequest request = {.graph = graph, .signature = &signature};
    return plan_compile(call, &request, ret_plan);
}

static Graph *
linked(Call *call)
{
    Graph *graph = NULL;
    AUTO_GRAPH_DEF def = graph_literal(text);
    assert_non_null(def);
    assert_status(call, STATUS_OK, graph_link(call, def, op_find, (GraphLimits){0}, &graph));
    return graph;
}

static void
every_failed_allocation_is_survived(void **state)
{
    AUTO_GRAPH graph = linked(*state);
    size_t total = 1;
    for (size_t failing = 0; failing <= total; failing++) {
        AUTO_PLAN plan = NULL;
        AUTO_ARENA arena = arena_new(64 << 20);
        Call call = {.arena = arena};
        fail_alloc_count = 0;
        fail_alloc_at = failing;
        const Status status = compile(&call, graph, &plan);
        fail_alloc_at = 0;
        total = failing == 0 ? fail_alloc_count : total;
        assert_int_equal(status, failing == 0 ? STATUS_OK : STATUS_RESOURCE_EXHAUSTED);
    }
    assert_true(total > 30);
}

static void
an_arena_too_small_is_told_as_such(void **state)
{
    AUTO_GRAPH graph = linked(*state);
    bool has_failed = false;
    for (size_t size = 100; size < 40000; size += 100) {
        AUTO_PLAN plan = NULL;
        AUTO_ARENA arena = arena_new(size);
        Call call = {.arena = arena};
        const Status status = compile(&call, graph, &plan);
        assert_true(status == STATUS_OK || status == STATUS_RESOURCE_EXHAUSTED);
        has_failed = has_failed || status != STATUS_OK;
    }
    assert_true(has_failed);
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
