#include "shared/formats/graphdef_json.h"
#include "shared/tensor/tensor.h"
#include "tests/support/call_fixture.h"
#include "tests/support/plan_literals.h"

/* Slot 0 makes of a batch x: a product, its elements in one row, every second row, and every pair of rows;
 * slot 1 reads them. */
#define BATCHES                                                                                              \
    "x = Placeholder() dtype=float32 shape=<-1,2>\n"                                                         \
    "w = Const() dtype=float32 value=float32<2,3>(0.5)\n"                                                    \
    "row = Const() dtype=int32 value=int32<1>(-1)\n"                                                         \
    "from = Const() dtype=int32 value=int32<1>(0)\n"                                                         \
    "step = Const() dtype=int32 value=int32<1>(2)\n"                                                         \
    "product = MatMul(x, w) T=float32 @/task:0\n"                                                            \
    "line = Reshape(product, row) T=float32 Tshape=int32 @/task:0\n"                                         \
    "half = StridedSlice(line, from, from, step) T=float32 Index=int32 end_mask=1 @/task:0\n"                \
    "pairs = MatMul(product, product) T=float32 transpose_b=true @/task:0\n"                                 \
    "a = Neg(product) T=float32 @/task:1\n"                                                                  \
    "b = Neg(line) T=float32 @/task:1\n"                                                                     \
    "c = Neg(half) T=float32 @/task:1\n"                                                                     \
    "d = Neg(pairs) T=float32 @/task:1\n"

static Plan *
plan_of(Call *call, const char *graph, const char *feeds, const char *fetches)
{
    Plan *plan = NULL;
    PlanLiteral literal = {.graph = graph, .feeds = feeds, .fetches = fetches};
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    return plan;
}

/* Returns the rules that the receive on slot 1 has for its shape, as "1×+0 0×+3"; "" when there are none. */
static const char *
rules_of(Call *call, const Plan *plan, const char *node)
{
    static char text[128];
    GraphDef *def = NULL;
    size_t size = 0;
    text[0] = '\0';
    assert_status(call, STATUS_OK, graphdef_json_read(call, plan->partitions[1].document, &def));
    for (size_t index = 0; index < def->node_count; index++) {
        const AttrValue *grows = node_def_attr(&def->nodes[index], SLICE("grows"));
        if (grows == NULL || !slice_equals_string(def->nodes[index].name, node)) {
            continue;
        }
        for (size_t item = 0; item < grows->value.list.count; item += 2) {
            const AttrValue *pair = &grows->value.list.items[item];
            size += (size_t)snprintf(text + size, sizeof text - size, "%s%lld×+%lld", item == 0 ? "" : " ",
                (long long)pair[0].value.i, (long long)pair[1].value.i);
        }
    }
    graph_def_unref(def);
    return text;
}

static void
a_receive_tells_how_it_follows_from_the_batch(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = plan_of(call, BATCHES, "x", "a b c d");
    assert_true(plan->grows);
    assert_string_equal(rules_of(call, plan, "_recv_product_0"), "1×+0 0×+3");
    assert_string_equal(rules_of(call, plan, "_recv_line_0"), "3×+0");
    assert_string_equal(rules_of(call, plan, "_recv_half_0"), ""); /* does not divide evenly */
    assert_string_equal(rules_of(call, plan, "_recv_pairs_0"), "1×+0 1×+0");
}

static void
nothing_is_told_where_all_is_known_or_on_one_slot(void **state)
{
    Call *call = *state;
    AUTO_PLAN known = plan_of(call,
        "x = Placeholder() dtype=float32 shape=<4,2>\n"
        "a = Neg(x) T=float32 @/task:0\n"
        "b = Neg(a) T=float32 @/task:1\n",
        "x", "b");
    assert_false(known->grows);
    assert_string_equal(rules_of(call, known, "_recv_a_0"), "");
    AUTO_PLAN alone = plan_of(call,
        "x = Placeholder() dtype=float32 shape=<-1,2>\n"
        "a = Neg(x) T=float32\n",
        "x", "a");
    assert_false(alone->grows);
}

static void
feeds_have_one_open_size_or_none(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = plan_of(call,
        "x = Placeholder() dtype=float32 shape=<-1,2>\n"
        "y = Placeholder() dtype=float32 shape=<-1,-1>\n"
        "a = Neg(x) T=float32 @/task:0\n"
        "b = MatMul(y, a) T=float32 @/task:1\n",
        "x y", "b");
    Tensor feeds[] = {{.dtype = DTYPE_FLOAT32, .shape = {.rank = 2, .dims = {7, 2}}},
        {.dtype = DTYPE_FLOAT32, .shape = {.rank = 2, .dims = {7, 7}}}};
    assert_int_equal(plan_open_size(plan, feeds), 7);
    feeds[1].shape.dims[0] = 8;
    assert_int_equal(plan_open_size(plan, feeds), 0);
    feeds[1] = (Tensor){0}; /* has not come yet */
    assert_int_equal(plan_open_size(plan, feeds), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_receive_tells_how_it_follows_from_the_batch),
        CALL_TEST(nothing_is_told_where_all_is_known_or_on_one_slot),
        CALL_TEST(feeds_have_one_open_size_or_none),
    };
    return cmocka_run_group_tests_name("gateway/plan/shapes", tests, NULL, NULL);
}
