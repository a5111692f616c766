/* Products of a quantised model, as ONNX Runtime's quantize_static writes it, before and after they work on
 * its integers. */
#include <math.h>

#include "gateway/optimise/optimise.h"
#include "shared/ops/registry.h"
#include "tests/support/call_fixture.h"
#include "tests/support/graph_literals.h"
#include "tests/support/plan_literals.h"
#include "tests/support/planned_run.h"

#define SCALE(name, number) name " = Const() dtype=float32 value=float32(" number ")\n"
#define ZERO(name, type, number) name " = Const() dtype=" type " value=" type "(" number ")\n"
#define QUANTIZE(name, inputs, type)                                                                         \
    name " = onnx::QuantizeLinear(" inputs ") T1=float32 T2=float32 T3=" type "\n"
#define DEQUANTIZE(name, inputs, type) name " = onnx::DequantizeLinear(" inputs ") T1=" type " T2=float32\n"
#define DEQUANTIZE_ALONG(name, inputs, type, axis)                                                           \
    name " = onnx::DequantizeLinear(" inputs ") T1=" type " T2=float32 axis=" axis "\n"

/* An input of this shape, quantised with scale `s` and zero point `z`, and as floats again. */
#define INPUT(shape, type, zero)                                                                             \
    "x = Placeholder() dtype=float32 shape=<" shape ">\n" SCALE("s", "0.125") ZERO("z", type, zero)          \
        QUANTIZE("q", "x, s, z", type) DEQUANTIZE("a", "q, s, z", type)
#define INPUT_LEFT "s = Const()\nz = Const()\nq = onnx::QuantizeLinear(_arg_x_0, s, z)\n"

#define BYTES(shape, type) "w = Const() dtype=" type " value=" type "<" shape ">(3;17;100;41;126;2;77)\n"
/* Weights `w` with scale `t` and zero point `v`, as floats in `b`. */
#define MATRIX(type, zero)                                                                                   \
    BYTES("6,4", type) SCALE("t", "0.01") ZERO("v", type, zero) DEQUANTIZE("b", "w, t, v", type)
#define COLUMNS                                                                                              \
    "t = Const() dtype=float32 value=float32<4>(0.01;0.5;0.02;0.003)\n"                                      \
    "v = Const() dtype=int8 value=int8<4>(0)\n"
#define RESULT(type, zero)                                                                                   \
    SCALE("e", "0.75") ZERO("o", type, zero) QUANTIZE("p", "y, e, o", type) DEQUANTIZE("r", "p, e, o", type)
#define RESULT_LEFT "e = Const()\no = Const()\n"
#define RESULT_READ "r = onnx::DequantizeLinear(p, e, o)\n"
#define MATMUL "y = onnx::MatMul(a, b) T=float32\n"
#define QLINEAR_MATMUL "p = onnx::QLinearMatMul(q, s, z, w, t, v, e, o)\n"

#define WINDOW "pads=[1,0,1,2] strides=[2,1] dilations=[1,1]"
#define FILTERS                                                                                              \
    BYTES("4,2,3,3", "int8")                                                                                 \
    "t = Const() dtype=float32 value=float32<4>(0.01;0.5;0.02;0.003)\n"                                      \
    "v = Const() dtype=int8 value=int8<4>(0)\n" DEQUANTIZE_ALONG("b", "w, t, v", "int8", "0")
#define CONV "y = onnx::Conv(a, b) T=float32 kernel_shape=[3,3] " WINDOW "\n"
#define CONV_WITH_BIAS "y = onnx::Conv(a, b, d) T=float32 kernel_shape=[3,3] " WINDOW "\n"
/* The scales are those of the input times those of the filters. */
#define BIAS                                                                                                 \
    "i = Const() dtype=int32 value=int32<4>(900;-1200;70;5000)\n"                                            \
    "j = Const() dtype=float32 value=float32<4>(0.00125;0.0625;0.0025;0.000375)\n"                           \
    "k = Const() dtype=int32 value=int32<4>(0)\n" DEQUANTIZE_ALONG("d", "i, j, k", "int32", "0")
#define WEIGHTS_LEFT "w = Const()\nt = Const()\nv = Const()\n"

typedef struct Rewriting {
    const char *graph;
    const char *becomes;
    const char *fetches; /* NULL: "r" */
    const char *passes;  /* NULL: all */
} Rewriting;

static const Rewriting INTEGERS[] = {
    {INPUT("5,6", "uint8", "128") MATRIX("int8", "0") MATMUL RESULT("uint8", "100"),
        INPUT_LEFT WEIGHTS_LEFT RESULT_LEFT QLINEAR_MATMUL RESULT_READ, NULL, NULL},
    {INPUT("2,5,6", "int8", "-3") MATRIX("int8", "4") MATMUL RESULT("int8", "7"),
        INPUT_LEFT WEIGHTS_LEFT RESULT_LEFT QLINEAR_MATMUL RESULT_READ, NULL, NULL},
    {INPUT("5,6", "int8", "0") MATRIX("uint8", "120") MATMUL RESULT("uint8", "0"),
        INPUT_LEFT WEIGHTS_LEFT RESULT_LEFT QLINEAR_MATMUL RESULT_READ, NULL, NULL},
    {INPUT("5,6", "uint8", "128") MATRIX("uint8", "120") MATMUL RESULT("int8", "-128"),
        INPUT_LEFT WEIGHTS_LEFT RESULT_LEFT QLINEAR_MATMUL RESULT_READ, NULL, NULL},
    /* A scale for each column, counted from the front or from the end. */
    {INPUT("5,6", "uint8", "128") BYTES("6,4", "int8") COLUMNS DEQUANTIZE("b", "w, t, v", "int8")
            MATMUL RESULT("uint8", "100"),
        INPUT_LEFT WEIGHTS_LEFT RESULT_LEFT QLINEAR_MATMUL RESULT_READ, NULL, NULL},
    {INPUT("5,6", "uint8", "128") BYTES("6,4", "int8") COLUMNS DEQUANTIZE_ALONG("b", "w, t, v", "int8", "-1")
            MATMUL RESULT("uint8", "100"),
        INPUT_LEFT WEIGHTS_LEFT RESULT_LEFT QLINEAR_MATMUL RESULT_READ, NULL, NULL},
    /* Both sides are computed, as in attention. */
    {INPUT("2,6,6", "uint8", "128") "y = onnx::MatMul(a, a) T=float32\n" RESULT("uint8", "100"),
        INPUT_LEFT RESULT_LEFT "p = onnx::QLinearMatMul(q, s, z, q, s, z, e, o)\n" RESULT_READ, NULL, NULL},
    /* The floats of the input have other readers, who keep them. */
    {INPUT("5,6", "uint8", "128") MATRIX("int8", "0") MATMUL RESULT("uint8", "100") "n = Neg(a) T=float32\n",
        INPUT_LEFT "a = onnx::DequantizeLinear(q, s, z)\n" WEIGHTS_LEFT RESULT_LEFT QLINEAR_MATMUL RESULT_READ
                   "n = Neg(a)\n",
        "r n", NULL},
    {INPUT("1,2,7,6", "uint8", "128") FILTERS CONV RESULT("uint8", "100"),
        INPUT_LEFT WEIGHTS_LEFT RESULT_LEFT "p = onnx::QLinearConv(q, s, z, w, t, v, e, o, )\n" RESULT_READ,
        NULL, NULL},
    {INPUT("3,2,7,6", "int8", "11") FILTERS BIAS CONV_WITH_BIAS RESULT("int8", "-5"),
        INPUT_LEFT WEIGHTS_LEFT RESULT_LEFT "i = Const()\n"
                                            "p = onnx::QLinearConv(q, s, z, w, t, v, e, o, i)\n" RESULT_READ,
        NULL, NULL},
};

/* These become integers too, with zero points that are added under names of their own. */
static const char *const WITHOUT_ZERO_POINTS[] = {
    "x = Placeholder() dtype=float32 shape=<5,6>\n" SCALE("s", "0.0625") QUANTIZE("q", "x, s", "uint8")
        DEQUANTIZE("a", "q, s", "uint8") MATRIX("int8", "0") MATMUL RESULT("uint8", "3"),
    INPUT("5,6", "int8", "0") BYTES("6,4", "int8") SCALE("t", "0.01") DEQUANTIZE("b", "w, t", "int8")
        MATMUL SCALE("e", "0.25") QUANTIZE("p", "y, e", "uint8") DEQUANTIZE("r", "p, e", "uint8"),
    INPUT("1,2,7,6", "uint8", "128") BYTES("4,2,3,3",
        "int8") "t = Const() dtype=float32 value=float32<4>(0.01;0.5;0.02;0.003)\n" DEQUANTIZE_ALONG("b",
        "w, t", "int8", "0") CONV RESULT("uint8", "100"),
};

/* A graph whose product stays. */
typedef struct Refusal {
    const char *why;
    const char *graph;
    const char *keeps;
    const char *fetches; /* NULL: "r" */
    const char *passes;  /* NULL: all */
} Refusal;

#define ORDINARY INPUT("5,6", "uint8", "128") MATRIX("int8", "0") MATMUL RESULT("uint8", "100")
#define KEEPS_MATMUL "y = onnx::MatMul(a, b)\n"
#define KEEPS_CONV "y = onnx::Conv(a, b, d)\n"

static const Refusal REFUSALS[] = {
    {"the product is fetched", ORDINARY, KEEPS_MATMUL, "r y", NULL},
    {"the product has another reader", ORDINARY "n = Neg(y) T=float32\n", KEEPS_MATMUL, "r n", NULL},
    {"the pass is off", ORDINARY, KEEPS_MATMUL, NULL, "gelu matmul_epilogue"},
    {"a control edge leads to the product",
        INPUT("5,6", "uint8", "128")
            MATRIX("int8", "0") "n = Neg(x) T=float32\n"
                                "y = onnx::MatMul(a, b, ^n) T=float32\n" RESULT("uint8", "100"),
        "y = onnx::MatMul(a, b, ^n)\n", NULL, NULL},
    {"a scale is computed",
        "x = Placeholder() dtype=float32 shape=<5,6>\n"
        "m = onnx::ReduceMax(x) T=float32 keepdims=0\n" ZERO("z", "uint8", "128") QUANTIZE("q", "x, m, z",
            "uint8") DEQUANTIZE("a", "q, m, z", "uint8") MATRIX("int8", "0") MATMUL RESULT("uint8", "100"),
        KEEPS_MATMUL, NULL, NULL},
    {"the numbers have 16 bits",
        INPUT("5,6", "uint16", "128") MATRIX("int8", "0") MATMUL RESULT("uint8", "1"), KEEPS_MATMUL, NULL,
        NULL},
    {"the result has 16 bits", INPUT("5,6", "uint8", "128") MATRIX("int8", "0") MATMUL RESULT("int16", "1"),
        KEEPS_MATMUL, NULL, NULL},
    {"the scales are those of rows",
        INPUT("5,6", "uint8", "128")
            BYTES("6,6", "int8") "t = Const() dtype=float32 value=float32<6>(0.5;0.25)\n" DEQUANTIZE_ALONG(
                "b", "w, t", "int8", "0") MATMUL RESULT("uint8", "100"),
        KEEPS_MATMUL, NULL, NULL},
    {"the left side has scales of columns",
        "x = Placeholder() dtype=float32 shape=<5,6>\n"
        "s = Const() dtype=float32 value=float32<6>(0.5;0.25)\n" ZERO("z", "uint8", "0") QUANTIZE("q", "x, s",
            "uint8") DEQUANTIZE("a", "q, s", "uint8") MATRIX("int8", "0") MATMUL RESULT("uint8", "100"),
        KEEPS_MATMUL, NULL, NULL},
    {"the result has scales of columns",
        INPUT("5,6", "uint8", "128") MATRIX("int8", "0") MATMUL
        "e = Const() dtype=float32 value=float32<4>(0.5;0.25)\n" QUANTIZE("p", "y, e", "uint8")
            DEQUANTIZE("r", "p, e", "uint8"),
        KEEPS_MATMUL, NULL, NULL},
    {"the product is of a vector",
        INPUT("6", "uint8", "128") MATRIX("int8", "0") MATMUL RESULT("uint8", "100"), KEEPS_MATMUL, NULL,
        NULL},
    {"only one side is quantised",
        INPUT("5,6", "uint8", "128")
            MATRIX("int8", "0") "y = onnx::MatMul(x, b) T=float32\n" RESULT("uint8", "9"),
        "y = onnx::MatMul(_arg_x_0, b)\n", NULL, NULL},
    {"the bias has other scales",
        INPUT("1,2,7,6", "uint8", "128") FILTERS "i = Const() dtype=int32 value=int32<4>(900)\n" SCALE(
            "j", "0.1") DEQUANTIZE("d", "i, j", "int32") CONV_WITH_BIAS RESULT("uint8", "100"),
        KEEPS_CONV, NULL, NULL},
    {"the bias has a zero point",
        INPUT("1,2,7,6", "uint8", "128") FILTERS
        "i = Const() dtype=int32 value=int32<4>(900)\n"
        "j = Const() dtype=float32 value=float32<4>(0.00125;0.0625;0.0025;0.000375)\n"
        "k = Const() dtype=int32 value=int32<4>(0;0;0;1)\n" DEQUANTIZE_ALONG("d", "i, j, k", "int32", "0")
            CONV_WITH_BIAS RESULT("uint8", "100"),
        KEEPS_CONV, NULL, NULL},
    {"the bias is one of floats",
        INPUT("1,2,7,6", "uint8", "128") FILTERS
        "d = Const() dtype=float32 value=float32<4>(0.5)\n" CONV_WITH_BIAS RESULT("uint8", "100"),
        KEEPS_CONV, NULL, NULL},
};

static void
products_between_quantised_numbers_work_on_integers(void **state)
{
    for (size_t index = 0; index < COUNT_OF(INTEGERS); index++) {
        const Rewriting *rewriting = &INTEGERS[index];
        const char *text =
            plan_rewritten_text(*state, rewriting->graph, rewriting->fetches, rewriting->passes);
        if (strcmp(text, rewriting->becomes) != 0) {
            fail_msg("%s\ninstead of\n%s\n", text, rewriting->becomes);
        }
    }
}

static void
absent_zero_points_are_zeros(void **state)
{
    for (size_t index = 0; index < COUNT_OF(WITHOUT_ZERO_POINTS); index++) {
        const char *text = plan_rewritten_text(*state, WITHOUT_ZERO_POINTS[index], NULL, NULL);
        if (strstr(text, "p = onnx::QLinear") == NULL || strstr(text, "_zero") == NULL) {
            fail_msg("%s\nbecame\n%s", WITHOUT_ZERO_POINTS[index], text);
        }
    }
}

static void
what_integers_cannot_compute_stays_as_it_is(void **state)
{
    for (size_t index = 0; index < COUNT_OF(REFUSALS); index++) {
        const Refusal *refusal = &REFUSALS[index];
        const char *text = plan_rewritten_text(*state, refusal->graph, refusal->fetches, refusal->passes);
        if (strstr(text, refusal->keeps) == NULL || strstr(text, "QLinear") != NULL) {
            fail_msg("%s:\n%s\nbecame\n%s", refusal->why, refusal->graph, text);
        }
    }
}

static Tensor
input_of(const Graph *graph)
{
    const Shape *shape = &node_attr(graph_find(graph, SLICE("x")), "shape")->value.shape;
    Tensor tensor = {0};
    assert_true(tensor_new(DTYPE_FLOAT32, shape, &tensor));
    for (int64_t index = 0; index < tensor_element_count(&tensor); index++) {
        ((float *)tensor.data)[index] = (float)((index * 7 + index / 5) % 97) * 0.3F - 14;
    }
    return tensor;
}

/* Runs the graph with all passes or with none, and returns a copy of "r". */
static Tensor
result_of(Call *call, const char *text, bool is_optimised)
{
    AUTO_GRAPH_DEF def = graph_literal(text);
    AUTO_GRAPH graph = NULL;
    assert_status(call, STATUS_OK, graph_link(call, def, op_find, (GraphLimits){0}, &graph));
    Tensor result = {0};
    AUTO_TENSOR input = input_of(graph);
    ReferenceFeed feed = {.endpoint = {.node = graph_find(graph, SLICE("x"))->id}, .tensor = input};
    Endpoint fetch = {.node = graph_find(graph, SLICE("r"))->id};
    PlannedRun run;
    planned_run_begin(&run);
    assert_true(is_optimised || pass_set_add(&run.passes_off, SLICE("*")));
    assert_status(call, STATUS_OK, planned_run(call, &run, graph, &feed, 1, &fetch, 1, &result));
    AUTO_TENSOR kept = result;
    assert_true(tensor_new(DTYPE_FLOAT32, &kept.shape, &result));
    memcpy(result.data, kept.data, tensor_byte_size(&kept));
    tensor_unref(&kept);
    planned_run_end(&run);
    return result;
}

/* A sum that lies close to the middle between two numbers may be rounded to either. */
static void
assert_within_a_quantum(Call *call, const char *text)
{
    AUTO_GRAPH_DEF def = graph_literal(text);
    AUTO_GRAPH graph = NULL;
    assert_status(call, STATUS_OK, graph_link(call, def, op_find, (GraphLimits){0}, &graph));
    const Tensor *scale = node_attr_tensor(graph_find(graph, SLICE("e")), "value");
    double quantum = (double)*(const float *)scale->data;
    AUTO_TENSOR expected = result_of(call, text, false);
    AUTO_TENSOR result = result_of(call, text, true);
    assert_true(shape_equal(&result.shape, &expected.shape));
    for (int64_t index = 0; index < tensor_element_count(&result); index++) {
        double left = (double)((const float *)result.data)[index];
        double right = (double)((const float *)expected.data)[index];
        if (!(fabs(left - right) <= quantum * 1.001)) {
            fail_msg("element %lld is %g, not %g, in\n%s", (long long)index, left, right, text);
        }
    }
}

static void
integers_compute_the_same_within_a_quantum(void **state)
{
    for (size_t index = 0; index < COUNT_OF(INTEGERS); index++) {
        assert_within_a_quantum(*state, INTEGERS[index].graph);
    }
    for (size_t index = 0; index < COUNT_OF(WITHOUT_ZERO_POINTS); index++) {
        assert_within_a_quantum(*state, WITHOUT_ZERO_POINTS[index]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(products_between_quantised_numbers_work_on_integers),
        CALL_TEST(absent_zero_points_are_zeros),
        CALL_TEST(what_integers_cannot_compute_stays_as_it_is),
        CALL_TEST(integers_compute_the_same_within_a_quantum),
    };
    return cmocka_run_group_tests_name("gateway/optimise/quantized_products", tests, NULL, NULL);
}
