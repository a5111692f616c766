/* Graphs give the same bits whether the gateway has their constants or only knows where they lie: nothing in
 * planning may read an absent value, and no pass is lost to it but those that ask what a number is. */
#include "gateway/expand/expand.h"
#include "gateway/optimise/optimise.h"
#include "gateway/optimise/pass.h"
#include "shared/base/text.h"
#include "shared/ops/registry.h"
#include "tests/support/call_fixture.h"
#include "tests/support/expand_literals.h"
#include "tests/support/plan_literals.h"
#include "tests/support/planned_run.h"
#include "tests/support/tensor_literals.h"

typedef struct Subject {
    const char *graph; /* has the fetch r */
    const char *feed;  /* of x; NULL: there is none */
} Subject;

#define VECTOR(name, numbers) name " = Const() dtype=float32 value=float32<4>(" numbers ")\n"
#define IMAGE "x = Placeholder() dtype=float32 shape=<1,5,5,2>\n"
#define FILTER "w = Const() dtype=float32 value=float32<3,3,2,4>(0.5;-0.25;1.5;0.75;-1)\n"
#define CONV "y = Conv2D(x, w) T=float32 strides=[1,1,1,1] padding='SAME'\n"
#define STATISTICS                                                                                           \
    VECTOR("s", "1;2;0.5;-1")                                                                                \
    VECTOR("b", "0.5;-1;2;0.25") VECTOR("m", "0.1;-0.2;0.3;1") VECTOR("v", "1;0.5;2;4")
#define NORM "n = FusedBatchNormV3(y, s, b, m, v) T=float32 U=float32 is_training=false\n"
#define IMAGE_FEED "float32[1,5,5,2] 0.5 -1 2 ..."
#define INTS(name, shape, numbers) name " = Const() dtype=int32 value=int32<" shape ">(" numbers ")\n"

static const Subject SUBJECTS[] = {
    {IMAGE FILTER CONV STATISTICS NORM "r = Relu(n) T=float32\n", IMAGE_FEED},
    {IMAGE FILTER CONV VECTOR("b", "1;2;3;4") "z = BiasAdd(y, b) T=float32\nr = Relu6(z) T=float32\n",
        IMAGE_FEED},
    {"x = Placeholder() dtype=float32 shape=<5,6>\n"
     "w = Const() dtype=float32 value=float32<6,4>(0.5;-0.25;1.5;0.75;-1)\n" VECTOR(
         "b", "1;2;3;4") "y = MatMul(x, w) T=float32\n"
                         "z = BiasAdd(y, b) T=float32\n"
                         "r = Tanh(z) T=float32\n",
        "float32[5,6] 0.25 -0.5 1 ..."},
    /* Constants that shape rules ask for: new shapes, axes, borders, permutations, ends of ranges. */
    {"x = Placeholder() dtype=float32 shape=<2,6>\n" INTS("to", "3", "2;3;2") INTS("turn", "3", "1;0;2")
            INTS("borders", "3,2", "1;0;0;1;0;0") INTS("begin", "3", "0;1;0") INTS("size", "3", "4;2;2")
                INTS("axis", "1", "1") "a = Reshape(x, to) T=float32 Tshape=int32\n"
                                       "b = Transpose(a, turn) T=float32 Tperm=int32\n"
                                       "c = Pad(b, borders) T=float32 Tpaddings=int32\n"
                                       "d = Slice(c, begin, size) T=float32 Index=int32\n"
                                       "r = Sum(d, axis) T=float32 Tidx=int32 keep_dims=false\n",
        "float32[2,6] 1 2 3 4 5 6 7 8 9 10 11 12"},
    {"x = Placeholder() dtype=float32 shape=<3,4>\n" INTS("dims", "2", "3;4") INTS("parts", "3", "0;1;0")
            INTS("ids", "3", "0;0;1") "one = Const() dtype=float32 value=float32(1)\n"
                                      "f = Fill(dims, one) T=float32 index_type=int32\n"
                                      "g = Mul(x, f) T=float32\n"
                                      "h = SegmentSum(g, ids) T=float32 Tindices=int32\n"
                                      "p = DynamicPartition(x, parts) T=float32 num_partitions=2\n"
                                      "axis = Const() dtype=int32 value=int32(0)\n"
                                      "r = ConcatV2(h, p:1, p, axis) T=float32 Tidx=int32 N=3\n",
        "float32[3,4] 1 -2 3 ..."},
    /* Equal constants, which are merged, and others that begin alike. */
    {"x = Placeholder() dtype=float32 shape=<4>\n" VECTOR("b", "1;2;3;4") VECTOR("c", "1;2;3;4")
            VECTOR("d", "1;2;3;5") "e = Add(x, b) T=float32\n"
                                   "f = Mul(e, c) T=float32\n"
                                   "r = Sub(f, d) T=float32\n",
        "float32[4] 1 2 3 4"},
    /* Functions: a loop, and branches that are called. */
    {"function less(i:float32, n:float32) -> (y:bool) y=l:z:0\n"
     "l = Less(i, n) T=float32\n"
     "end\n"
     "function step(i:float32, n:float32) -> (a:float32, b:float32) a=s:z:0, b=n\n"
     "one = Const() dtype=float32 value=float32(1)\n"
     "s = AddV2(i, one) T=float32\n"
     "end\n"
     "x = Placeholder() dtype=float32 shape=<>\n"
     "n = Const() dtype=float32 value=float32(9.5)\n"
     "r = While(x, n) T=[float32,float32] cond=@less body=@step\n",
        "float32[] 0.25"},
    {"function scale(x:float32) -> (y:float32) y=p:z:0\n"
     "two = Const() dtype=float32 value=float32<4>(2;3;4;5)\n"
     "p = Mul(x, two) T=float32\n"
     "end\n"
     "function minus(x:float32) -> (y:float32) y=n:y:0\n"
     "n = Neg(x) T=float32\n"
     "end\n"
     "x = Placeholder() dtype=float32 shape=<4>\n"
     "zero = Const() dtype=float32 value=float32(0)\n"
     "axis = Const() dtype=int32 value=int32(0)\n"
     "t = Sum(x, axis) T=float32 Tidx=int32\n"
     "p = Less(zero, t) T=float32\n"
     "r = StatelessIf(p, x) Tcond=bool Tin=[float32] Tout=[float32] then_branch=@scale else_branch=@minus "
     "_lower_using_switch_merge=false\n",
        "float32[4] 1 2 3 4"},
};

static uint64_t
inexact_passes(void)
{
    PassSet passes = 0;
    for (size_t index = 0; index < pass_table_count; index++) {
        assert_true(
            pass_table[index]->is_exact || pass_set_add(&passes, slice_from_string(pass_table[index]->name)));
    }
    return passes;
}

static Tensor
run_subject(Call *call, const PlannedRun *run, const Graph *graph, const Subject *subject)
{
    ReferenceFeed feed = {0};
    Endpoint fetch;
    Tensor output = {0};
    assert_status(call, STATUS_OK, graph_endpoint(call, graph, SLICE("r"), &fetch));
    assert_status(call, STATUS_OK, graph_endpoint(call, graph, SLICE("x"), &feed.endpoint));
    feed.tensor = tensor_literal(subject->feed);
    assert_status(call, STATUS_OK, planned_run(call, run, graph, &feed, 1, &fetch, 1, &output));
    tensor_unref(&feed.tensor);
    return output;
}

static Graph *
absent_graph(Call *call, AbsentWeights *weights, const Graph *graph)
{
    AUTO_GRAPH_DEF def = absent_weights_take(weights, graph->def);
    Graph *absent = NULL;
    assert_status(call, STATUS_OK, graph_link(call, def, op_find, (GraphLimits){0}, &absent));
    return absent;
}

static void
expect_same_bits(Call *call, const Subject *subject, uint64_t passes_off, size_t size_min)
{
    PlannedRun run;
    AbsentWeights weights = {.size_min = size_min};
    planned_run_begin(&run);
    run.passes_off = passes_off;
    AUTO_GRAPH graph = expand_literal(call, subject->graph);
    Tensor expected = run_subject(call, &run, graph, subject);
    AUTO_GRAPH absent = absent_graph(call, &weights, graph);
    run.weights = &weights;
    Tensor output = run_subject(call, &run, absent, subject);
    if (!tensor_equal(&expected, &output)) {
        fail_msg("with absent constants this graph gives other bits:\n%s", subject->graph);
    }
    tensor_unref(&output);
    tensor_unref(&expected);
    absent_weights_done(&weights);
    planned_run_end(&run);
}

static void
exact_passes_give_the_same_bits_without_any_value(void **state)
{
    for (size_t index = 0; index < COUNT_OF(SUBJECTS); index++) {
        expect_same_bits(*state, &SUBJECTS[index], inexact_passes(), 1);
    }
}

static void
all_passes_give_the_same_bits_without_weights(void **state)
{
    for (size_t index = 0; index < COUNT_OF(SUBJECTS); index++) {
        expect_same_bits(*state, &SUBJECTS[index], 0, 3 * sizeof(float));
    }
}

static const char *
plan_text(Call *call, const Graph *graph)
{
    AUTO_PLAN plan = NULL;
    PlanLiteral literal = {.feeds = "x", .fetches = "r", .passes = "*"};
    assert_status(call, STATUS_OK, plan_literal_of(call, &literal, graph, &plan));
    return plan_partition_text(call, plan, 0);
}

static void
a_batch_norm_is_folded_whose_statistics_are_absent(void **state)
{
    Call *call = *state;
    AbsentWeights weights = {.size_min = 1};
    AUTO_GRAPH graph = expand_literal(call, SUBJECTS[0].graph);
    AUTO_GRAPH absent = absent_graph(call, &weights, graph);
    const char *text = plan_text(call, absent);
    assert_null(strstr(text, "FusedBatchNorm"));
    assert_non_null(strstr(text, "r = _FusedConv2D("));
    absent_weights_done(&weights);
}

static void
a_plan_names_absent_weights_by_digest_and_size(void **state)
{
    Call *call = *state;
    AbsentWeights weights = {.size_min = 1};
    AUTO_PLAN plan = NULL;
    AUTO_PLAN expected = NULL;
    PlanLiteral literal = {.feeds = "x", .fetches = "r"};
    AUTO_GRAPH graph = expand_literal(call, "x = Placeholder() dtype=float32 shape=<64,64>\n"
                                            "w = Const() dtype=float32 value=float32<64,64>(1;2;3)\n"
                                            "r = MatMul(x, w) T=float32\n");
    AUTO_GRAPH absent = absent_graph(call, &weights, graph);
    assert_status(call, STATUS_OK, plan_literal_of(call, &literal, graph, &expected));
    assert_status(call, STATUS_OK, plan_literal_of(call, &literal, absent, &plan));
    assert_int_equal(plan->partitions[0].blob_count, 1);
    const PlanBlob *blob = &plan->partitions[0].blobs[0];
    assert_true(tensor_is_absent(&blob->tensor));
    assert_int_equal(tensor_byte_size(&blob->tensor), 64 * 64 * 4);
    assert_string_equal(blob->sha256, expected->partitions[0].blobs[0].sha256);
    assert_string_equal(plan->partitions[0].digest, expected->partitions[0].digest);
    assert_int_equal(plan->slots[0].memory, expected->slots[0].memory);
    absent_weights_done(&weights);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(exact_passes_give_the_same_bits_without_any_value),
        CALL_TEST(all_passes_give_the_same_bits_without_weights),
        CALL_TEST(a_batch_norm_is_folded_whose_statistics_are_absent),
        CALL_TEST(a_plan_names_absent_weights_by_digest_and_size),
    };
    return cmocka_run_group_tests_name("gateway/plan/absent_weights", tests, NULL, NULL);
}
