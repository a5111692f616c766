/* Attention as TensorFlow's and ONNX's graphs spell it out, before and after it becomes one node. */
#include "gateway/optimise/optimise.h"
#include "shared/base/text.h"
#include "shared/ops/registry.h"
#include "shared/tensor/half.h"
#include "tests/support/call_fixture.h"
#include "tests/support/graph_literals.h"
#include "tests/support/plan_literals.h"
#include "tests/support/planned_run.h"

/* The queries, keys and values are functions of one input, the mask of a second. */
#define HEADS(dtype)                                                                                         \
    "x = Placeholder() dtype=" dtype " shape=<2,3,5,4>\n"                                                    \
    "q = Neg(x) T=" dtype "\nk = Sin(x) T=" dtype "\nv = Cos(x) T=" dtype "\n"
#define UNKNOWN_HEADS                                                                                        \
    "x = Placeholder() dtype=float32 shape=<-1,3,-1,4>\n"                                                    \
    "q = Neg(x) T=float32\nk = Sin(x) T=float32\nv = Cos(x) T=float32\n"
#define LEFT "q = Neg(_arg_x_0)\nk = Sin(_arg_x_0)\nv = Cos(_arg_x_0)\n"
#define SCALE "c = Const() dtype=float32 value=float32(0.3)\n"
#define MASK "m = Const() dtype=float32 value=float32<2,1,1,5>(0;-1;-10000;0.5)\n"

/* The mask keeps no score of the first row. */
#define KEPT                                                                                                 \
    "f = Const() dtype=float32 value=float32(-3e38)\n"                                                       \
    "b = Const() dtype=bool value=bool<5,5>(0;0;0;0;0;1;0)\n"

typedef struct Attention {
    const char *graph; /* fetched from "y" */
    const char *becomes;
} Attention;

static const Attention FUSED[] = {
    {HEADS("float32") "s = BatchMatMulV2(q, k) T=float32 adj_y=true\n"
                      "w = Softmax(s) T=float32\n"
                      "y = BatchMatMulV2(w, v) T=float32\n",
        LEFT "y = _FusedAttention(q, k, v)\n"},
    {HEADS("float32") SCALE MASK "s = BatchMatMulV2(q, k) T=float32 adj_y=true\n"
                                 "t = Mul(c, s) T=float32\n"
                                 "u = AddV2(t, m) T=float32\n"
                                 "i = Identity(u) T=float32\n"
                                 "w = Softmax(i) T=float32\n"
                                 "y = BatchMatMulV2(w, v) T=float32\n",
        LEFT "c = Const()\nm = Const()\ny = _FusedAttention(q, k, v, c, m)\n"},
    {HEADS("float32") SCALE MASK "s = BatchMatMul(q, k) T=float32 adj_y=true\n"
                                 "t = RealDiv(s, c) T=float32\n"
                                 "n = Mul(m, c) T=float32\n"
                                 "u = Add(n, t) T=float32\n"
                                 "w = Softmax(u) T=float32\n"
                                 "y = BatchMatMul(w, v) T=float32\n",
        LEFT "m = Const()\nc = Const()\nn = Mul(m, c)\ny = _FusedAttention(q, k, v, c, n)\n"},
    {UNKNOWN_HEADS SCALE MASK "p = onnx::Transpose(k) T=float32 perm=[0,1,3,2]\n"
                              "a = onnx::Mul(q, c) T=float32\n"
                              "b = onnx::Mul(p, c) T=float32\n"
                              "s = onnx::MatMul(a, b) T=float32\n"
                              "t = onnx::Add(s, m) T=float32\n"
                              "w = onnx::Softmax(t) T=float32 axis=3\n"
                              "y = onnx::MatMul(w, v) T=float32\n",
        LEFT "p = onnx::Transpose(k)\nc = Const()\na = onnx::Mul(q, c)\nb = onnx::Mul(p, c)\nm = Const()\n"
             "y = _FusedAttention(a, b, v, m)\n"},
    {HEADS("float16") "d = Const() dtype=float32 value=float32(0.3)\n"
                      "c = Cast(d) SrcT=float32 DstT=float16\n"
                      "p = onnx::Transpose(k) T=float16 perm=[0,1,3,2]\n"
                      "s = onnx::MatMul(q, p) T=float16\n"
                      "t = onnx::Div(s, c) T=float16\n"
                      "u = onnx::Sub(t, c) T=float16\n"
                      "w = onnx::Softmax(u) T=float16\n"
                      "y = onnx::MatMul(w, v) T=float16\n",
        LEFT "d = Const()\nc = Cast(d)\np = onnx::Transpose(k)\n"
             "y = _FusedAttention(q, p, v, c, c)\n"},
    {HEADS("float32") SCALE KEPT "s = BatchMatMulV2(q, k) T=float32 adj_y=true\n"
                                 "t = Mul(s, c) T=float32\n"
                                 "u = SelectV2(b, t, f) T=float32\n"
                                 "w = Softmax(u) T=float32\n"
                                 "y = BatchMatMulV2(w, v) T=float32\n",
        LEFT "c = Const()\nf = Const()\nb = Const()\ny = _FusedAttention(q, k, v, c, f, b)\n"},
    {UNKNOWN_HEADS KEPT "p = onnx::Transpose(k) T=float32 perm=[0,1,3,2]\n"
                        "s = onnx::MatMul(q, p) T=float32\n"
                        "t = onnx::Where(b, f, s) T=float32\n"
                        "u = onnx::Add(f, t) T=float32\n"
                        "i = onnx::Where(b, u, f) T=float32\n"
                        "w = onnx::Softmax(i) T=float32\n"
                        "y = onnx::MatMul(w, v) T=float32\n",
        LEFT
        "p = onnx::Transpose(k)\nf = Const()\nb = Const()\ny = _FusedAttention(q, p, v, f, f, f, b, b)\n"},
    {HEADS("float16") "d = Const() dtype=float32 value=float32(-9)\n"
                      "f = Cast(d) SrcT=float32 DstT=float16\n"
                      "b = Const() dtype=bool value=bool<2,3,5,5>(1;0)\n"
                      "s = BatchMatMulV2(q, k) T=float16 adj_y=true\n"
                      "e = Fill(g, f) T=float16 index_type=int32\n"
                      "g = Const() dtype=int32 value=int32<4>(2;3;5;5)\n"
                      "t = Select(b, s, e) T=float16\n"
                      "w = Softmax(t) T=float16\n"
                      "y = BatchMatMulV2(w, v) T=float16\n",
        LEFT "d = Const()\nf = Cast(d)\ng = Const()\ne = Fill(g, f)\nb = Const()\ny = _FusedAttention(q, k, "
             "v, e, b)\n"},
};

static const char *
optimised(Call *call, const char *graph, const char *fetches)
{
    PlanLiteral literal = {
        .graph = graph, .feeds = "x", .fetches = fetches, .passes = "identity attention_fusion"};
    AUTO_PLAN plan = NULL;
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    assert_int_equal(plan->partition_count, 1);
    return plan_partition_text(call, plan, 0);
}

static void
attention_in_both_dialects_becomes_one_node(void **state)
{
    Call *call = *state;
    for (size_t index = 0; index < COUNT_OF(FUSED); index++) {
        const char *text = optimised(call, FUSED[index].graph, "y");
        const char *expected =
            text_format(call->arena, "_arg_x_0 = _Arg()\n%s_retval_y_0 = _Retval(y)\n", FUSED[index].becomes);
        assert_string_equal(text, expected);
    }
}

static Tensor
result_of(Call *call, const char *text, bool is_optimised)
{
    AUTO_GRAPH_DEF def = graph_literal(text);
    Tensor result = {0};
    AUTO_TENSOR input = {0};
    Shape shape = {.rank = 4, .dims = {2, 3, 5, 4}};
    AUTO_GRAPH graph = NULL;
    assert_status(call, STATUS_OK, graph_link(call, def, op_find, (GraphLimits){0}, &graph));
    Dtype dtype = node_attr_type(graph_find(graph, SLICE("x")), "dtype");
    assert_true(tensor_new(dtype, &shape, &input));
    for (int64_t index = 0; index < tensor_element_count(&input); index++) {
        float number = (float)(index * 7919 % 101 - 50) / 23.0F;
        if (dtype == DTYPE_FLOAT16) {
            ((uint16_t *)input.data)[index] = half_from_float(number);
        } else {
            ((float *)input.data)[index] = number;
        }
    }
    ReferenceFeed feed = {.endpoint = {.node = graph_find(graph, SLICE("x"))->id}, .tensor = input};
    Endpoint fetch = {.node = graph_find(graph, SLICE("y"))->id};
    PlannedRun run;
    planned_run_begin(&run);
    assert_true(is_optimised || pass_set_add(&run.passes_off, SLICE("*")));
    assert_status(call, STATUS_OK, planned_run(call, &run, graph, &feed, 1, &fetch, 1, &result));
    AUTO_TENSOR kept = result;
    assert_true(tensor_new(dtype, &kept.shape, &result));
    memcpy(result.data, kept.data, tensor_byte_size(&kept));
    tensor_unref(&kept);
    planned_run_end(&run);
    return result;
}

static void
no_bit_of_a_result_changes(void **state)
{
    for (size_t index = 0; index < COUNT_OF(FUSED); index++) {
        AUTO_TENSOR expected = result_of(*state, FUSED[index].graph, false);
        AUTO_TENSOR fused = result_of(*state, FUSED[index].graph, true);
        assert_true(tensor_equal(&expected, &fused));
    }
}

/* Something that is read elsewhere, asked for, waited for, or another function. */
static const struct {
    const char *graph;
    const char *fetches;
} APART[] = {
    {HEADS("float32") "s = BatchMatMulV2(q, k) T=float32 adj_y=true\n"
                      "w = Softmax(s) T=float32\n"
                      "y = BatchMatMulV2(w, v) T=float32\n",
        "y w"},
    {HEADS("float32") "s = BatchMatMulV2(q, k) T=float32 adj_y=true\n"
                      "w = Softmax(s) T=float32\n"
                      "n = Neg(s) T=float32\n"
                      "y = BatchMatMulV2(w, v) T=float32\n",
        "y n"},
    {HEADS("float32") "s = BatchMatMulV2(q, k) T=float32 adj_y=true\n"
                      "w = Softmax(s) T=float32\n"
                      "n = Neg(x, ^w) T=float32\n"
                      "y = BatchMatMulV2(w, v) T=float32\n",
        "y n"},
    {HEADS("float32") "s = BatchMatMulV2(q, k) T=float32 adj_y=true\n"
                      "w = onnx::Softmax(s) T=float32 axis=2\n"
                      "y = BatchMatMulV2(w, v) T=float32\n",
        "y"},
    {HEADS("float32") SCALE "s = BatchMatMulV2(q, k) T=float32 adj_y=true\n"
                            "t = Sub(c, s) T=float32\n"
                            "w = Softmax(t) T=float32\n"
                            "y = BatchMatMulV2(w, v) T=float32\n",
        "y"},
    {HEADS("float32") "s = BatchMatMulV2(q, k) T=float32 adj_y=true\n"
                      "w = Softmax(s) T=float32\n"
                      "y = BatchMatMulV2(w, s) T=float32\n",
        "y"},
    {HEADS("float32") "s = BatchMatMulV2(q, k) T=float32 adj_y=true\n"
                      "w = Softmax(s) T=float32\n"
                      "r = Const() dtype=float32 value=float32<5,4>(0.5)\n"
                      "y = BatchMatMulV2(w, r) T=float32\n",
        "y"},
    {"x = Placeholder() dtype=float32 shape=<2,5,4>\n"
     "q = Neg(x) T=float32\nk = Sin(x) T=float32\nv = Cos(x) T=float32\n"
     "b = Const() dtype=bool value=bool<2>(1;0)\n"
     "s = BatchMatMulV2(q, k) T=float32 adj_y=true\n"
     "e = ZerosLike(s) T=float32\n"
     "t = Select(b, s, e) T=float32\n"
     "w = Softmax(t) T=float32\n"
     "y = BatchMatMulV2(w, v) T=float32\n",
        "y"},
    {HEADS("float64") "s = BatchMatMulV2(q, k) T=float64 adj_y=true\n"
                      "w = Softmax(s) T=float64\n"
                      "y = BatchMatMulV2(w, v) T=float64\n",
        "y"},
};

static void
what_somebody_else_reads_stays_apart(void **state)
{
    for (size_t index = 0; index < COUNT_OF(APART); index++) {
        const char *text = optimised(*state, APART[index].graph, APART[index].fetches);
        if (strstr(text, "_FusedAttention") != NULL) {
            fail_msg("fused:\n%s", text);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(attention_in_both_dialects_becomes_one_node),
        CALL_TEST(no_bit_of_a_result_changes),
        CALL_TEST(what_somebody_else_reads_stays_apart),
    };
    return cmocka_run_group_tests_name("gateway/optimise/attention_fusion", tests, NULL, NULL);
}
