#include "shared/formats/graphdef_json.h"
#include "tests/support/call_fixture.h"
#include "tests/support/plan_literals.h"

#define CHAIN                                                                                                \
    "x = Placeholder() dtype=float32 shape=<2,2>\n"                                                          \
    "w = Const() dtype=float32 value=float32<2,2>(0.5)\n"                                                    \
    "v = Neg(w) T=float32\n"                                                                                 \
    "a = Mul(x, v) T=float32\n"                                                                              \
    "b = Tanh(a) T=float32\n"                                                                                \
    "c = Relu(b) T=float32\n"

static Slice
fused_into(const Plan *plan, const char *node)
{
    for (size_t index = 0; index < plan->change_count; index++) {
        if (slice_equals_string(plan->changes[index].node, node)) {
            assert_string_equal(plan->changes[index].pass, "elementwise_fusion");
            return plan->changes[index].into;
        }
    }
    return SLICE("");
}

static void
a_plan_tells_what_workers_compute_together(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = NULL;
    PlanLiteral literal = {
        .graph = CHAIN, .feeds = "x", .fetches = "c", .passes = "elementwise_fusion constant_folding"};
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    assert_true(slice_equals_string(fused_into(plan, "a"), "c"));
    assert_true(slice_equals_string(fused_into(plan, "b"), "c"));
    assert_int_equal(plan->change_count, 2); /* v is a constant before anything is fused */
}

static void
what_is_fetched_stays(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = NULL;
    PlanLiteral literal = {
        .graph = CHAIN, .feeds = "x", .fetches = "b c", .passes = "elementwise_fusion constant_folding"};
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    assert_true(slice_equals_string(fused_into(plan, "a"), "b"));
    assert_int_equal(plan->change_count, 1);
}

static void
what_another_slot_reads_stays(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = NULL;
    PlanLiteral literal = {.graph = "x = Placeholder() dtype=float32 shape=<2,2>\n"
                                    "a = Neg(x) T=float32 @/job:worker/task:0\n"
                                    "b = Tanh(a) T=float32 @/job:worker/task:0\n"
                                    "c = Relu(b) T=float32 @/job:worker/task:1\n"
                                    "d = Neg(c) T=float32 @/job:worker/task:1\n",
        .feeds = "x",
        .fetches = "d",
        .slot_count = 2,
        .passes = "elementwise_fusion constant_folding"};
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    assert_true(slice_equals_string(fused_into(plan, "a"), "b"));
    assert_true(slice_equals_string(fused_into(plan, "c"), "d"));
    assert_int_equal(plan->change_count, 2);
}

static void
a_partition_names_what_its_session_does_not_want(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = NULL;
    PlanLiteral literal = {
        .graph = CHAIN, .feeds = "x", .fetches = "c", .passes = "constant_folding memory_plan"};
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    assert_int_equal(plan->change_count, 0);
    const char *document = plan->partitions[0].document.data;
    assert_non_null(strstr(document, "\"passesOff\":[\"channels_last\",\"elementwise_fusion\"]"));
}

/* The digest is the name by which workers know a partition. */
static void
a_partition_that_allows_tf32_is_another_partition(void **state)
{
    Call *call = *state;
    AUTO_PLAN plain = NULL;
    AUTO_PLAN rounded = NULL;
    AUTO_GRAPH_DEF read = NULL;
    PlanLiteral literal = {.graph = CHAIN, .feeds = "x", .fetches = "c", .passes = ""};
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plain));
    literal.allows_tf32 = true;
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &rounded));
    assert_null(strstr(plain->partitions[0].document.data, "allowTf32"));
    assert_non_null(strstr(rounded->partitions[0].document.data, "\"allowTf32\":true"));
    assert_memory_not_equal(
        plain->partitions[0].digest, rounded->partitions[0].digest, sizeof plain->partitions[0].digest);
    assert_status(call, STATUS_OK, graphdef_json_read(call, rounded->partitions[0].document, &read));
    assert_true(read->allows_tf32);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_plan_tells_what_workers_compute_together),
        CALL_TEST(what_is_fetched_stays),
        CALL_TEST(what_another_slot_reads_stays),
        CALL_TEST(a_partition_that_allows_tf32_is_another_partition),
        CALL_TEST(a_partition_names_what_its_session_does_not_want),
    };
    return cmocka_run_group_tests_name("gateway/plan/fusions", tests, NULL, NULL);
}
