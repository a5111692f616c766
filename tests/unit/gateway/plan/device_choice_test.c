#include "shared/base/text.h"
#include "shared/formats/graphdef_json.h"
#include "tests/support/call_fixture.h"
#include "tests/support/plan_literals.h"

static Plan *
plan_of(Call *call, PlanLiteral literal)
{
    Plan *plan = NULL;
    literal.feeds = "x";
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    return plan;
}

static void
release_def(void *def)
{
    graph_def_unref(def);
}

/* Returns the device that the node names in the document of a partition. */
static const char *
device_in(Call *call, const Plan *plan, size_t partition, const char *node)
{
    GraphDef *def = NULL;
    assert_status(call, STATUS_OK, graphdef_json_read(call, plan->partitions[partition].document, &def));
    assert_non_null(arena_defer(call->arena, release_def, def));
    for (size_t index = 0; index < def->node_count; index++) {
        if (slice_equals_string(def->nodes[index].name, node)) {
            return text_copy(call->arena, def->nodes[index].device);
        }
    }
    fail_msg("partition %zu has no node '%s'", partition, node);
    return NULL;
}

#define INPUT "x = Placeholder() dtype=float32 shape=<4>\n"

static void
a_partition_keeps_what_each_node_asks_for(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = plan_of(call, (PlanLiteral){.graph = INPUT "a = Neg(x) T=float32 @/gpu:0\n"
                                                                "b = Neg(a) T=float32 @/device:cpu:*\n"
                                                                "c = Neg(b) T=float32\n"
                                                                "d = Neg(c) T=float32 @/device:GPU\n"
                                                                "e = Neg(d) T=float32 @/device:*:0\n",
                                       .fetches = "e"});
    assert_string_equal(device_in(call, plan, 0, "a"), "/device:GPU:0");
    assert_string_equal(device_in(call, plan, 0, "b"), "/device:CPU:0");
    assert_string_equal(device_in(call, plan, 0, "c"), "");
    assert_string_equal(device_in(call, plan, 0, "d"), "/device:GPU:0");
    assert_string_equal(device_in(call, plan, 0, "e"), "");
    assert_string_equal(device_in(call, plan, 0, "_arg_x_0"), "");
    assert_int_equal(plan->slots[0].gpu, PLAN_GPU_NEEDED);
    assert_true(slice_equals_string(plan->slots[0].gpu_node, "a"));
}

static void
each_slot_needs_a_gpu_for_its_own_nodes(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan =
        plan_of(call, (PlanLiteral){.graph = INPUT "a = Neg(x) T=float32 @/job:worker/task:0\n"
                                                   "b = Neg(a) T=float32 @/job:worker/task:1/device:GPU:0\n",
                          .fetches = "b"});
    assert_int_equal(plan->slot_count, 2);
    assert_int_equal(plan->slots[0].gpu, PLAN_GPU_UNUSED);
    assert_int_equal(plan->slots[1].gpu, PLAN_GPU_NEEDED);
    assert_string_equal(device_in(call, plan, 1, "b"), "/device:GPU:0");
    assert_int_equal(plan->slots[1].task, 1);
}

static void
under_soft_placement_the_worker_chooses_but_one_with_a_gpu_is_wanted(void **state)
{
    static const char *const devices[] = {"/gpu:0", "/gpu:3", "/device:TPU:0", "/cpu:0"};
    static const PlanGpu wanted[] = {PLAN_GPU_WANTED, PLAN_GPU_UNUSED, PLAN_GPU_UNUSED, PLAN_GPU_UNUSED};
    static const char *const written[] = {"", "", "", "/device:CPU:0"};
    Call *call = *state;
    for (size_t index = 0; index < COUNT_OF(devices); index++) {
        const char *graph = text_format(call->arena, INPUT "a = Neg(x) T=float32 @%s\n", devices[index]);
        AUTO_PLAN plan =
            plan_of(call, (PlanLiteral){.graph = graph, .fetches = "a", .has_soft_placement = true});
        assert_string_equal(device_in(call, plan, 0, "a"), written[index]);
        assert_int_equal(plan->slots[0].gpu, wanted[index]);
    }
}

static void
a_slot_wants_a_gpu_when_there_is_much_to_compute_and_nobody_forbids_it(void **state)
{
    static const char *const devices[] = {"", "@/cpu:0"};
    static const char *const sizes[] = {"16", "512"};
    Call *call = *state;
    for (size_t device = 0; device < COUNT_OF(devices); device++) {
        for (size_t size = 0; size < COUNT_OF(sizes); size++) {
            const char *graph = text_format(call->arena,
                "x = Placeholder() dtype=float32 shape=<%s,%s>\n"
                "a = MatMul(x, x) T=float32 %s\n",
                sizes[size], sizes[size], devices[device]);
            AUTO_PLAN plan = plan_of(call, (PlanLiteral){.graph = graph, .fetches = "a"});
            bool is_wanted = device == 0 && size == 1;
            assert_int_equal(plan->slots[0].gpu, is_wanted ? PLAN_GPU_WANTED : PLAN_GPU_UNUSED);
        }
    }
}

static void
colocated_nodes_ask_for_the_same_device(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan =
        plan_of(call, (PlanLiteral){.graph = INPUT "a = Neg(x) T=float32\n"
                                                   "b = Neg(a) T=float32 _class=['loc:@a'] @/gpu:0\n"
                                                   "c = Neg(b) T=float32 _class=['loc:@a']\n"
                                                   "d = Neg(c) T=float32 _class=['loc:@gone']\n"
                                                   "gone = Neg(x) T=float32 @/cpu:0\n",
                          .fetches = "d"});
    assert_string_equal(device_in(call, plan, 0, "a"), "/device:GPU:0");
    assert_string_equal(device_in(call, plan, 0, "b"), "/device:GPU:0");
    assert_string_equal(device_in(call, plan, 0, "c"), "/device:GPU:0");
    assert_string_equal(device_in(call, plan, 0, "d"), "/device:CPU:0");
}

static void
colocated_nodes_that_ask_for_two_devices_are_refused_unless_placement_is_soft(void **state)
{
    Call *call = *state;
    Plan *none = NULL;
    PlanLiteral literal = {.graph = INPUT "a = Neg(x) T=float32 @/cpu:0\n"
                                          "b = Neg(a) T=float32 _class=['loc:@a'] @/gpu:0\n",
        .feeds = "x",
        .fetches = "b"};
    assert_status(call, STATUS_INVALID_ARGUMENT, plan_literal(call, &literal, &none));
    assert_string_equal(
        call->error.message, "nodes 'a' and 'b' must be together, but ask for '/cpu:0' and '/gpu:0'");
    literal.has_soft_placement = true;
    AUTO_PLAN plan = plan_of(call, literal);
    assert_string_equal(device_in(call, plan, 0, "a"), "/device:CPU:0");
    assert_string_equal(device_in(call, plan, 0, "b"), "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_partition_keeps_what_each_node_asks_for),
        CALL_TEST(each_slot_needs_a_gpu_for_its_own_nodes),
        CALL_TEST(under_soft_placement_the_worker_chooses_but_one_with_a_gpu_is_wanted),
        CALL_TEST(a_slot_wants_a_gpu_when_there_is_much_to_compute_and_nobody_forbids_it),
        CALL_TEST(colocated_nodes_ask_for_the_same_device),
        CALL_TEST(colocated_nodes_that_ask_for_two_devices_are_refused_unless_placement_is_soft),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
