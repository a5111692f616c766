/* What a graph costs on its way from JSON to a plan grows as the graph does: comparisons of names and bytes
 * of scratch memory are counted, for a graph and for one of four times its size. */
#include "gateway/plan/plan.h"

#include "gateway/expand/expand.h"
#include "shared/formats/graphdef_json.h"
#include "shared/ops/registry.h"
#include "tests/support/call_fixture.h"
#include "tests/support/compare_count.h"
#include "tests/support/large_graphs.h"

enum { ARENA_SIZE_MAX = 1 << 30, NODES_MAX = 1 << 20 };

typedef struct Work {
    uint64_t compare_count;
    uint64_t scratch_size;
} Work;

static void
plan_graph(Call *call, const Graph *graph, uint32_t slot_count)
{
    SignatureFeed feed = {.name = SLICE("x"), .shape = shape_unknown()};
    Slice fetch = SLICE("y");
    Signature given = {.feeds = &feed,
        .feed_count = 1,
        .fetches = &fetch,
        .fetch_count = 1,
        .options = {.placement = PLACEMENT_SPREAD, .slot_count = slot_count}};
    Signature signature;
    AUTO_PLAN plan = NULL;
    assert_status(call, STATUS_OK, signature_make(call, SLICE("g"), &given, &signature));
    PlanRequest request = {.graph = graph, .signature = &signature};
    assert_status(call, STATUS_OK, plan_compile(call, &request, &plan));
    assert_int_equal(plan->slot_count, slot_count);
}

static Work
work_of(Slice json, uint32_t slot_count)
{
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    Call call = {.arena = arena};
    AUTO_GRAPH_DEF def = NULL;
    AUTO_GRAPH_DEF expanded = NULL;
    AUTO_GRAPH graph = NULL;
    uint64_t before = compare_count();
    assert_status(&call, STATUS_OK, graphdef_json_read(&call, json, &def));
    assert_status(&call, STATUS_OK, graph_expand(&call, def, NODES_MAX, &expanded));
    assert_status(&call, STATUS_OK,
        graph_link(&call, expanded, op_find, (GraphLimits){.node_count_max = NODES_MAX}, &graph));
    plan_graph(&call, graph, slot_count);
    return (Work){.compare_count = compare_count() - before, .scratch_size = arena_size(arena)};
}

/* Allows a quarter more than four times the work: a map that is grown, names that get longer. */
static void
assert_grows_with_size(void (*write)(Buffer *json, unsigned count), unsigned count, uint32_t slot_count)
{
    AUTO_BUFFER small = {0};
    AUTO_BUFFER large = {0};
    write(&small, count);
    write(&large, 4 * count);
    Work less = work_of(buffer_slice(&small), slot_count);
    Work more = work_of(buffer_slice(&large), slot_count);
    assert_in_range(more.compare_count, 2 * less.compare_count, 5 * less.compare_count);
    assert_in_range(more.scratch_size, 2 * less.scratch_size, 5 * less.scratch_size);
}

static void
a_while_of_many_variables(void **state)
{
    (void)state;
    assert_grows_with_size(large_graph_while, 500, 1);
}

static void
a_call_of_many_arguments(void **state)
{
    (void)state;
    assert_grows_with_size(large_graph_call, 500, 1);
}

static void
write_attributes(Buffer *json, unsigned count)
{
    large_graph_attributes(json, count, 8);
}

static void
attributes_of_bytes(void **state)
{
    (void)state;
    assert_grows_with_size(write_attributes, 1000, 1);
}

static void
a_graph_on_many_slots(void **state)
{
    (void)state;
    assert_grows_with_size(large_graph_layers, 2000, 256);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_while_of_many_variables),
        cmocka_unit_test(a_call_of_many_arguments),
        cmocka_unit_test(attributes_of_bytes),
        cmocka_unit_test(a_graph_on_many_slots),
    };
    return cmocka_run_group_tests_name("growth of plans", tests, NULL, NULL);
}
