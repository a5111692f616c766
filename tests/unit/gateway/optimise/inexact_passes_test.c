#include <math.h>

#include "gateway/optimise/optimise.h"
#include "shared/base/text.h"
#include "shared/ops/registry.h"
#include "tests/support/call_fixture.h"
#include "tests/support/graph_literals.h"
#include "tests/support/plan_literals.h"
#include "tests/support/planned_run.h"

typedef struct Rewriting {
    const char *graph;
    const char *passes;  /* NULL: all */
    const char *becomes; /* the nodes left, one a line */
    const char *fetches; /* NULL: "r" */
} Rewriting;

#define IMAGE "x = Placeholder() dtype=float32 shape=<1,5,5,2>\n"
#define FILTER "w = Const() dtype=float32 value=float32<3,3,2,4>(0.5;-0.25;1.5;0.75;-1)\n"
#define VECTOR(name, numbers) name " = Const() dtype=float32 value=float32<4>(" numbers ")\n"
#define CONV "y = Conv2D(x, w) T=float32 strides=[1,1,1,1] padding='SAME'\n"
#define BIAS VECTOR("b", "0.5;-1;2;0.25")
#define ROWS "x = Placeholder() dtype=float32 shape=<5,6>\n"
#define MATRIX "w = Const() dtype=float32 value=float32<6,4>(0.5;-0.25;1.5;0.75;-1)\n"
#define STATISTICS VECTOR("s", "1;2;0.5;-1") BIAS VECTOR("m", "0.1;-0.2;0.3;1") VECTOR("v", "1;0.5;2;4")

static const Rewriting FUSED[] = {
    {IMAGE FILTER BIAS CONV "z = BiasAdd(y, b) T=float32\n"
                            "r = Relu(z) T=float32\n",
        NULL, "w = Const()\nb = Const()\nr = _FusedConv2D(_arg_x_0, w, b)\n", NULL},
    {IMAGE FILTER BIAS CONV "z = Add(b, y) T=float32\n"
                            "r = LeakyRelu(z) T=float32 alpha=0.1\n",
        NULL, "w = Const()\nb = Const()\nr = _FusedConv2D(_arg_x_0, w, b)\n", NULL},
    {IMAGE FILTER BIAS CONV "z = BiasAdd(y, b) T=float32\n"
                            "o = Sin(x) T=float32\n"
                            "p = ConcatV2(o, o, axis) T=float32 Tidx=int32 N=2\n"
                            "axis = Const() dtype=int32 value=int32(3)\n"
                            "q = AddV2(p, z) T=float32\n"
                            "r = Relu6(q) T=float32\n",
        NULL,
        "o = Sin(_arg_x_0)\naxis = Const()\np = ConcatV2(o, o, axis)\nw = Const()\nb = Const()\n"
        "r = _FusedConv2D(_arg_x_0, w, b, p)\n",
        NULL},
    {IMAGE "w = Const() dtype=float32 value=float32<3,3,2,2>(0.5;-0.25;1.5;0.75;-1)\n" BIAS
           "y = DepthwiseConv2dNative(x, w) T=float32 strides=[1,1,1,1] padding='SAME'\n"
           "z = BiasAdd(y, b) T=float32\n"
           "r = Sigmoid(z) T=float32\n",
        NULL, "w = Const()\nb = Const()\nr = _FusedDepthwiseConv2dNative(_arg_x_0, w, b)\n", NULL},
    {"x = Placeholder() dtype=float32 shape=<1,2,5,5>\n"
     "w = Const() dtype=float32 value=float32<4,2,3,3>(0.5;-0.25;1.5;0.75;-1)\n" BIAS
     "y = onnx::Conv(x, w, b) T=float32 kernel_shape=[3,3] pads=[1,1,1,1]\n"
     "z = onnx::Add(y, y2) T=float32\n"
     "y2 = onnx::Conv(x, w, b) T=float32 kernel_shape=[3,3] auto_pad='SAME_UPPER'\n"
     "lo = Const() dtype=float32 value=float32(0)\n"
     "hi = Const() dtype=float32 value=float32(6)\n"
     "r = onnx::Clip(z, lo, hi) T=float32\n",
        NULL,
        "w = Const()\nb = Const()\ny2 = onnx::Conv(_arg_x_0, w, b)\nr = _FusedOnnxConv(_arg_x_0, w, b, y2)\n",
        NULL},
    {ROWS MATRIX BIAS "y = MatMul(x, w) T=float32\n"
                      "z = BiasAdd(y, b) T=float32\n"
                      "r = Tanh(z) T=float32\n",
        NULL, "w = Const()\nb = Const()\nr = _FusedMatMul(_arg_x_0, w, b)\n", NULL},
    {ROWS "w = Const() dtype=float32 value=float32<4,6>(0.5;-0.25;1.5;0.75;-1)\n" BIAS
          "y = onnx::Gemm(x, w, b) T=float32 transB=1\n"
          "r = onnx::Relu(y) T=float32\n",
        NULL, "w = Const()\nb = Const()\nr = _FusedMatMul(_arg_x_0, w, b)\n", NULL},
    {"x = Placeholder() dtype=float32 shape=<2,5,6>\n" MATRIX BIAS "y = onnx::MatMul(x, w) T=float32\n"
     "z = onnx::Add(b, y) T=float32\n"
     "r = onnx::Gelu(z) T=float32\n",
        NULL, "w = Const()\nb = Const()\nr = _FusedBatchMatMulV2(_arg_x_0, w, b)\n", NULL},
};

#define AMOUNTS(numbers) "p = Const() dtype=int32 value=int32<4,2>(" numbers ")\n"
#define PADDED_CONV(attributes) "r = Conv2D(p1, w) T=float32 strides=[1,1,1,1] " attributes "\n"
#define CONV_ALONE "w = Const()\nr = Conv2D(_arg_x_0, w)\n"
#define NUMBER(name, value) name " = Const() dtype=float32 value=float32(" value ")\n"
#define PLANES                                                                                               \
    "x = Placeholder() dtype=float32 shape=<1,2,5,5>\n"                                                      \
    "w = Const() dtype=float32 value=float32<4,2,3,3>(0.5;-0.25;1.5;0.75;-1)\n"
#define ONNX_AMOUNTS(numbers) "p = Const() dtype=int64 value=int64<8>(" numbers ")\n"

/* More attributes of an author's own than any op declares. */
#define OWN_ATTRIBUTES "_a=1 _b=1 _c=1 _d=1 _e=1 _f=1 _g=1 _h=1 _i=1 _j=1 _k=1 _l=1 _m=1 _n=1 _o=1 _p=1 _q=1"

/* Zeros put around an image: as Keras does before a convolution with strides, with other amounts on each side
 * and beside the convolution's own, and as PyTorch exports it. */
static const Rewriting PADDED[] = {
    {IMAGE "w = Const() dtype=float32 value=float32<3,3,2,2>(0.5;-0.25;1.5;0.75;-1)\n" AMOUNTS(
         "0;0;0;1;0;1;0;0") "p1 = Pad(x, p) T=float32 Tpaddings=int32\n"
                            "r = DepthwiseConv2dNative(p1, w) T=float32 strides=[1,2,2,1] "
                            "padding='VALID' " OWN_ATTRIBUTES "\n",
        NULL, "w = Const()\nr = DepthwiseConv2dNative(_arg_x_0, w)\n", NULL},
    {IMAGE FILTER NUMBER("c", "0")
            AMOUNTS("0;0;3;1;2;0;0;0") "p1 = PadV2(x, p, c) T=float32 Tpaddings=int32\n" PADDED_CONV(
                "padding='EXPLICIT' explicit_paddings=[0,0,0,1,2,0,0,0]"),
        NULL, CONV_ALONE, NULL},
    {PLANES ONNX_AMOUNTS(
         "0;0;1;0;0;0;2;3") "p1 = onnx::Pad(x, p) T=float32\n"
                            "r = onnx::Conv(p1, w) T=float32 kernel_shape=[3,3] pads=[0,1,1,0]\n",
        NULL, "w = Const()\nr = onnx::Conv(_arg_x_0, w, )\n", NULL},
    {PLANES BIAS NUMBER("c", "0") ONNX_AMOUNTS(
         "0;0;1;1;0;0;1;1") "p1 = onnx::Pad(x, p, c) T=float32\n"
                            "y = onnx::Conv(p1, w, b) T=float32 kernel_shape=[3,3] auto_pad='VALID'\n"
                            "r = onnx::Relu(y) T=float32\n",
        NULL, "w = Const()\nb = Const()\nr = _FusedOnnxConv(_arg_x_0, w, b)\n", NULL},
};

#define KEPT_PAD "w = Const()\nr = Conv2D(p1, w)\n"

/* Something else than zeros, dimensions that are none of space, sizes that the padding depends on, cuts, an
 * image without positions; and the pass switched off. */
static const Rewriting NOT_PADDED[] = {
    {IMAGE FILTER NUMBER("c", "1") AMOUNTS(
         "0;0;1;1;1;1;0;0") "p1 = PadV2(x, p, c) T=float32 Tpaddings=int32\n" PADDED_CONV("padding='VALID'"),
        NULL, "p = Const()\nc = Const()\np1 = PadV2(_arg_x_0, p, c)\n" KEPT_PAD, NULL},
    {"x = Placeholder() dtype=float32 shape=<1,5,5,1>\n" FILTER AMOUNTS(
         "0;0;1;1;1;1;1;0") "p1 = Pad(x, p) T=float32 Tpaddings=int32\n" PADDED_CONV("padding='VALID'"),
        NULL, "p = Const()\np1 = Pad(_arg_x_0, p)\n" KEPT_PAD, NULL},
    {IMAGE FILTER AMOUNTS("0;0;1;1;1;1;0;0") "p1 = Pad(x, p) T=float32 Tpaddings=int32\n" PADDED_CONV(
         "padding='SAME'"),
        NULL, "p = Const()\np1 = Pad(_arg_x_0, p)\n" KEPT_PAD, NULL},
    {PLANES ONNX_AMOUNTS("0;0;-1;0;0;0;0;0") "p1 = onnx::Pad(x, p) T=float32\n"
                                             "r = onnx::Conv(p1, w) T=float32 kernel_shape=[3,3]\n",
        NULL, "p = Const()\np1 = onnx::Pad(_arg_x_0, p, , )\nw = Const()\nr = onnx::Conv(p1, w, )\n", NULL},
    {PLANES ONNX_AMOUNTS("0;0;1;1;0;0;1;1") "p1 = onnx::Pad(x, p) T=float32 mode='edge'\n"
                                            "r = onnx::Conv(p1, w) T=float32 kernel_shape=[3,3]\n",
        NULL, "p = Const()\np1 = onnx::Pad(_arg_x_0, p, , )\nw = Const()\nr = onnx::Conv(p1, w, )\n", NULL},
    {"x = Placeholder() dtype=float32 shape=<1,0,5,2>\n" FILTER AMOUNTS(
         "0;0;2;1;1;1;0;0") "p1 = Pad(x, p) T=float32 Tpaddings=int32\n" PADDED_CONV("padding='VALID'"),
        NULL, "p = Const()\np1 = Pad(_arg_x_0, p)\n" KEPT_PAD, NULL},
    {IMAGE FILTER AMOUNTS("0;0;1;1;1;1;0;0") "p1 = Pad(x, p) T=float32 Tpaddings=int32\n" PADDED_CONV(
         "padding='VALID'"),
        "scale_folding", "p = Const()\np1 = Pad(_arg_x_0, p)\n" KEPT_PAD, NULL},
};

#define DENSE                                                                                                \
    ROWS MATRIX BIAS "y = MatMul(x, w) T=float32\n"                                                          \
                     "z = BiasAdd(y, b) T=float32\n"
#define DENSE_GELU "w = Const()\nb = Const()\nr = _FusedMatMul(_arg_x_0, w, b)\n"

/* GELU as BERT, Keras and PyTorch write it. */
static const Rewriting GELUS[] = {
    {DENSE NUMBER("two", "2") NUMBER("one", "1") NUMBER("half", "0.5") "root = Sqrt(two) T=float32\n"
                                                                       "q = RealDiv(z, root) T=float32\n"
                                                                       "e = Erf(q) T=float32\n"
                                                                       "s = AddV2(one, e) T=float32\n"
                                                                       "h = Mul(half, s) T=float32\n"
                                                                       "r = Mul(z, h) T=float32\n",
        NULL, DENSE_GELU, NULL},
    {DENSE NUMBER("three", "3") NUMBER("one", "1") NUMBER("half", "0.5") NUMBER("c", "0.044715")
            NUMBER("k", "0.7978845608") "p = Pow(z, three) T=float32\n"
                                        "q = Mul(c, p) T=float32\n"
                                        "i = AddV2(z, q) T=float32\n"
                                        "j = Mul(k, i) T=float32\n"
                                        "t = Tanh(j) T=float32\n"
                                        "s = AddV2(t, one) T=float32\n"
                                        "h = Mul(half, z) T=float32\n"
                                        "r = Mul(h, s) T=float32\n",
        NULL, DENSE_GELU, NULL},
    {"x = Placeholder() dtype=float32 shape=<2,5,6>\n" MATRIX BIAS NUMBER("root", "1.41421356")
            NUMBER("one", "1") NUMBER("half", "0.5") "y = onnx::MatMul(x, w) T=float32\n"
                                                     "z = onnx::Add(y, b) T=float32\n"
                                                     "q = onnx::Div(z, root) T=float32\n"
                                                     "e = onnx::Erf(q) T=float32\n"
                                                     "s = onnx::Add(e, one) T=float32\n"
                                                     "h = onnx::Mul(z, s) T=float32\n"
                                                     "r = onnx::Mul(h, half) T=float32\n",
        NULL, "w = Const()\nb = Const()\nr = _FusedBatchMatMulV2(_arg_x_0, w, b)\n", NULL},
    {ROWS NUMBER("k", "0.70710678") NUMBER("one", "1") NUMBER("half", "0.5") "q = Mul(k, x) T=float32\n"
                                                                             "e = Erf(q) T=float32\n"
                                                                             "s = Add(one, e) T=float32\n"
                                                                             "h = Mul(half, x) T=float32\n"
                                                                             "r = Mul(s, h) T=float32\n",
        NULL, "r = onnx::Gelu(_arg_x_0)\n", NULL},
    {ROWS NUMBER("k", "0.70710678") NUMBER("half", "0.5") "n = Neg(x) T=float32\n"
                                                          "q = Mul(n, k) T=float32\n"
                                                          "e = Erfc(q) T=float32\n"
                                                          "h = Mul(half, x) T=float32\n"
                                                          "r = Mul(h, e) T=float32\n",
        NULL, "r = onnx::Gelu(_arg_x_0)\n", NULL},
    {ROWS NUMBER("root", "1.41421356") NUMBER("half", "0.5") "q = RealDiv(x, root) T=float32\n"
                                                             "n = Neg(q) T=float32\n"
                                                             "e = Erfc(n) T=float32\n"
                                                             "h = Mul(e, half) T=float32\n"
                                                             "r = Mul(x, h) T=float32\n",
        NULL, "r = onnx::Gelu(_arg_x_0)\n", NULL},
    /* Without a minus it is x - GELU(x). */
    {ROWS NUMBER("k", "0.70710678") NUMBER("half", "0.5") "q = Mul(x, k) T=float32\n"
                                                          "e = Erfc(q) T=float32\n"
                                                          "h = Mul(half, x) T=float32\n"
                                                          "r = Mul(h, e) T=float32\n",
        NULL,
        "k = Const()\nq = Mul(_arg_x_0, k)\ne = Erfc(q)\nhalf = Const()\nh = Mul(half, _arg_x_0)\n"
        "r = Mul(h, e)\n",
        NULL},
    /* Another factor than GELU's, and a GELU whose error function is fetched. */
    {ROWS NUMBER("k", "0.7") NUMBER("one", "1") NUMBER("half", "0.5") "q = Mul(k, x) T=float32\n"
                                                                      "e = Erf(q) T=float32\n"
                                                                      "s = Add(one, e) T=float32\n"
                                                                      "h = Mul(half, x) T=float32\n"
                                                                      "r = Mul(s, h) T=float32\n",
        NULL,
        "k = Const()\nq = Mul(k, _arg_x_0)\ne = Erf(q)\none = Const()\ns = Add(one, e)\nhalf = Const()\n"
        "h = Mul(half, _arg_x_0)\nr = Mul(s, h)\n",
        NULL},
};

#define CONVOLUTION                                                                                          \
    "x = Placeholder() dtype=float32 shape=<1,2,5,5>\n"                                                      \
    "w = Const() dtype=float32 value=float32<4,2,3,3>(0.5;-0.25;1.5;0.75;-1)\n" BIAS                         \
    "z = onnx::Conv(x, w, b) T=float32 kernel_shape=[3,3]\n"
#define CONVOLUTION_SWISH "w = Const()\nb = Const()\nr = _FusedOnnxConv(_arg_x_0, w, b)\n"

/* Swish and HardSwish as PyTorch's exports, Keras and Paddle write them. */
static const Rewriting SWISHES[] = {
    {CONVOLUTION "s = onnx::Sigmoid(z) T=float32\n"
                 "r = onnx::Mul(z, s) T=float32\n",
        NULL, CONVOLUTION_SWISH, NULL},
    {CONVOLUTION "s = onnx::HardSigmoid(z) T=float32 alpha=0.16666667\n"
                 "r = onnx::Mul(s, z) T=float32\n",
        NULL, CONVOLUTION_SWISH, NULL},
    {CONVOLUTION NUMBER("three", "3") NUMBER("six", "6")
            NUMBER("none", "0") "a = onnx::Add(z, three) T=float32\n"
                                "c = onnx::Clip(a, none, six) T=float32\n"
                                "m = onnx::Mul(z, c) T=float32\n"
                                "r = onnx::Div(m, six) T=float32\n",
        NULL, CONVOLUTION_SWISH, NULL},
    {CONVOLUTION NUMBER("three", "3") NUMBER("sixth", "0.16666667") "a = AddV2(three, z) T=float32\n"
                                                                    "c = Relu6(a) T=float32\n"
                                                                    "m = Mul(c, sixth) T=float32\n"
                                                                    "r = Mul(m, z) T=float32\n",
        NULL, CONVOLUTION_SWISH, NULL},
    {DENSE "s = Sigmoid(z) T=float32\n"
           "r = Mul(s, z) T=float32\n",
        NULL, DENSE_GELU, NULL},
    {ROWS "s = Sigmoid(x) T=float32\n"
          "r = Mul(s, x) T=float32\n",
        NULL, "r = onnx::Swish(_arg_x_0)\n", NULL},
    /* Another gate, another value beside it, a gate that is fetched. */
    {ROWS "s = onnx::HardSigmoid(x) T=float32 alpha=0.2\n"
          "r = Mul(s, x) T=float32\n",
        NULL, "s = onnx::HardSigmoid(_arg_x_0)\nr = Mul(s, _arg_x_0)\n", NULL},
    {ROWS "n = Neg(x) T=float32\n"
          "s = Sigmoid(n) T=float32\n"
          "r = Mul(s, x) T=float32\n",
        NULL, "n = Neg(_arg_x_0)\ns = Sigmoid(n)\nr = Mul(s, _arg_x_0)\n", NULL},
    {ROWS "s = Sigmoid(x) T=float32\n"
          "r = Mul(s, x) T=float32\n",
        NULL, "s = Sigmoid(_arg_x_0)\nr = Mul(s, _arg_x_0)\n", "r s"},
};

/* Fused ops that authors write themselves: graphs of Grappler and TensorFlow.js hold them. */
static const Rewriting GIVEN[] = {
    {IMAGE FILTER BIAS "y = _FusedConv2D(x, w, b) T=float32 strides=[1,1,1,1] padding='SAME' num_args=1 "
                       "fused_ops=['BiasAdd']\n"
                       "r = Relu6(y) T=float32\n",
        NULL, "w = Const()\nb = Const()\nr = _FusedConv2D(_arg_x_0, w, b)\n", NULL},
    {ROWS MATRIX BIAS "y = _FusedMatMul(x, w, b) T=float32 num_args=1 fused_ops=['BiasAdd','Relu']\n"
                      "r = Relu(y) T=float32\n",
        NULL, "w = Const()\nb = Const()\ny = _FusedMatMul(_arg_x_0, w, b)\nr = Relu(y)\n", NULL},
};

static void
assert_rewritten(Call *call, const Rewriting *rewritings, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        const char *text = plan_rewritten_text(
            call, rewritings[index].graph, rewritings[index].fetches, rewritings[index].passes);
        if (strcmp(text, rewritings[index].becomes) != 0) {
            fail_msg(
                "%s\nbecame\n%s\ninstead of\n%s", rewritings[index].graph, text, rewritings[index].becomes);
        }
    }
}

static void
what_follows_a_convolution_or_a_product_goes_into_it(void **state)
{
    assert_rewritten(*state, FUSED, COUNT_OF(FUSED));
}

static void
zeros_around_an_image_are_put_there_by_its_convolution(void **state)
{
    assert_rewritten(*state, PADDED, COUNT_OF(PADDED));
    assert_rewritten(*state, NOT_PADDED, COUNT_OF(NOT_PADDED));
}

static void
a_gelu_written_out_is_one_node(void **state)
{
    assert_rewritten(*state, GELUS, COUNT_OF(GELUS));
}

static void
a_swish_written_out_is_one_node(void **state)
{
    assert_rewritten(*state, SWISHES, COUNT_OF(SWISHES));
}

static void
fused_ops_of_authors_take_more_when_they_can(void **state)
{
    assert_rewritten(*state, GIVEN, COUNT_OF(GIVEN));
}

#define RELU "r = Relu(y) T=float32\n"
#define CONV_LINE "y = Conv2D(_arg_x_0, w)\n"

static const Rewriting KEPT[] = {
    /* The convolution's own result is fetched. */
    {IMAGE FILTER CONV RELU, NULL, "w = Const()\n" CONV_LINE "r = Relu(y)\n", "r y"},
    {IMAGE FILTER CONV RELU "q = Neg(y) T=float32\n", NULL,
        "w = Const()\n" CONV_LINE "r = Relu(y)\nq = Neg(y)\n", "r q"},
    {IMAGE FILTER BIAS CONV "r = Mul(y, b) T=float32\n", NULL,
        "w = Const()\n" CONV_LINE "b = Const()\nr = Mul(y, b)\n", "r y"},
    /* A control edge leads from or to the node. */
    {IMAGE FILTER CONV RELU "q = Neg(x, ^y) T=float32\n", NULL,
        "w = Const()\n" CONV_LINE "r = Relu(y)\nq = Neg(_arg_x_0, ^y)\n", "r q"},
    {IMAGE FILTER "q = Neg(x) T=float32\n"
                  "y = Conv2D(x, w, ^q) T=float32 strides=[1,1,1,1] padding='SAME'\n" RELU,
        NULL, "q = Neg(_arg_x_0)\nw = Const()\ny = Conv2D(_arg_x_0, w, ^q)\nr = Relu(y)\n", NULL},
    /* The node asks for a device of its own. */
    {IMAGE FILTER "y = Conv2D(x, w) T=float32 strides=[1,1,1,1] padding='SAME' @/job:worker/task:0\n" RELU,
        NULL, "w = Const()\n" CONV_LINE "r = Relu(y)\n", NULL},
    /* Weights or factors that are not constant. */
    {"x = Placeholder() dtype=float32 shape=<4,4>\n" BIAS "y = MatMul(x, x) T=float32\n"
     "r = Mul(y, b) T=float32\n",
        NULL, "y = MatMul(_arg_x_0, _arg_x_0)\nb = Const()\nr = Mul(y, b)\n", NULL},
    {ROWS MATRIX "i = Const() dtype=int32 value=int32(0)\n"
                 "g = Max(x, i) T=float32 Tidx=int32\n"
                 "h = Slice(g, j, k) T=float32 Index=int32\n"
                 "j = Const() dtype=int32 value=int32<1>(0)\n"
                 "k = Const() dtype=int32 value=int32<1>(4)\n"
                 "y = MatMul(x, w) T=float32\n"
                 "r = Mul(y, h) T=float32\n",
        NULL,
        "i = Const()\ng = Max(_arg_x_0, i)\nj = Const()\nk = Const()\nh = Slice(g, j, k)\nw = Const()\n"
        "y = MatMul(_arg_x_0, w)\nr = Mul(y, h)\n",
        NULL},
    /* One number for each row, not for each channel. */
    {"x = Placeholder() dtype=float32 shape=<4,6>\n" MATRIX
     "b = Const() dtype=float32 value=float32<4,1>(1;2;3;4)\n"
     "y = MatMul(x, w) T=float32\n"
     "r = Add(y, b) T=float32\n",
        NULL, "w = Const()\ny = MatMul(_arg_x_0, w)\nb = Const()\nr = Add(y, b)\n", NULL},
    {"x = Placeholder() dtype=float32 shape=<1,4,5,2>\n" FILTER BIAS CONV
     "r = BiasAdd(y, b) T=float32 data_format='NCHW'\n",
        NULL, "w = Const()\n" CONV_LINE "b = Const()\nr = BiasAdd(y, b)\n", NULL},
    /* Statistics of the batch, and statistics that are read. */
    {"x = Placeholder() dtype=float32 shape=<2,3,3,4>\n" STATISTICS
     "r = FusedBatchNormV3(x, s, b, m, v) T=float32 U=float32 is_training=true\n",
        NULL,
        "s = Const()\nb = Const()\nm = Const()\nv = Const()\nr = FusedBatchNormV3(_arg_x_0, s, b, m, v)\n",
        NULL},
    {"x = Placeholder() dtype=float32 shape=<2,3,3,4>\n" STATISTICS
     "r = FusedBatchNormV3(x, s, b, m, v) T=float32 U=float32 is_training=false\n",
        NULL,
        "s = Const()\nb = Const()\nm = Const()\nv = Const()\nr = FusedBatchNormV3(_arg_x_0, s, b, m, v)\n",
        "r r:1"},
    /* Another type, factors other than one, functions that no fused op has. */
    {"x = Placeholder() dtype=float64 shape=<2,2>\n"
     "y = MatMul(x, x) T=float64\n"
     "r = Relu(y) T=float64\n",
        NULL, "y = MatMul(_arg_x_0, _arg_x_0)\nr = Relu(y)\n", NULL},
    {ROWS MATRIX "y = onnx::Gemm(x, w) T=float32 alpha=0.5\n"
                 "r = onnx::Relu(y) T=float32\n",
        NULL, "w = Const()\ny = onnx::Gemm(_arg_x_0, w, )\nr = onnx::Relu(y)\n", NULL},
    {ROWS MATRIX "y = MatMul(x, w) T=float32\n"
                 "r = onnx::Elu(y) T=float32 alpha=0.5\n",
        NULL, "w = Const()\ny = MatMul(_arg_x_0, w)\nr = onnx::Elu(y)\n", NULL},
    /* The passes are switched off. */
    {ROWS MATRIX BIAS "y = MatMul(x, w) T=float32\n"
                      "z = Mul(y, b) T=float32\n"
                      "r = Relu(z) T=float32\n",
        "convolution_epilogue batch_norm_folding",
        "w = Const()\ny = MatMul(_arg_x_0, w)\nb = Const()\nz = Mul(y, b)\nr = Relu(z)\n", NULL},
};

static void
what_others_see_or_is_not_constant_stays(void **state)
{
    assert_rewritten(*state, KEPT, COUNT_OF(KEPT));
}

/* Names of added nodes hold numbers, so that only the last op of these graphs is compared, and how many
 * nodes run beside feed and fetch once the worker has folded and fused the rest. */
typedef struct Folding {
    const char *graph;
    const char *op;
    uint64_t node_count;
} Folding;

static const Folding FOLDED[] = {
    {IMAGE FILTER STATISTICS CONV
        "z = FusedBatchNormV3(y, s, b, m, v) T=float32 U=float32 is_training=false epsilon=0.001\n"
        "r = Relu(z) T=float32\n",
        "_FusedConv2D", 1},
    {IMAGE FILTER STATISTICS "c = Const() dtype=float32 value=float32<4>(3;1;4;1)\n" CONV
                             "a = BiasAdd(y, c) T=float32\n"
                             "r = FusedBatchNorm(a, s, b, m, v) T=float32 is_training=false epsilon=0.001\n",
        "_FusedConv2D", 1},
    {IMAGE "w = Const() dtype=float32 value=float32<3,3,2,2>(0.5;-0.25;1.5;0.75;-1)\n" STATISTICS
           "y = DepthwiseConv2dNative(x, w) T=float32 strides=[1,2,2,1] padding='VALID'\n"
           "z = FusedBatchNormV2(y, s, b, m, v) T=float32 U=float32 is_training=false epsilon=0.01\n"
           "r = Relu6(z) T=float32\n",
        "_FusedDepthwiseConv2dNative", 1},
    {"x = Placeholder() dtype=float32 shape=<1,2,5,5>\n"
     "w = Const() dtype=float32 value=float32<4,2,3,3>(0.5;-0.25;1.5;0.75;-1)\n"
     "c = Const() dtype=float32 value=float32<4>(3;1;4;1)\n" STATISTICS
     "y = onnx::Conv(x, w, c) T=float32 kernel_shape=[3,3] pads=[1,1,1,1]\n"
     "r = onnx::BatchNormalization(y, s, b, m, v) T=float32 T1=float32 T2=float32\n",
        "_FusedOnnxConv", 1},
    /* Batch normalization as tf.nn.batch_normalization writes it. */
    {IMAGE FILTER STATISTICS "e = Const() dtype=float32 value=float32(0.001)\n"
                             "v1 = Add(v, e) T=float32\n"
                             "v2 = Rsqrt(v1) T=float32\n"
                             "v3 = Mul(v2, s) T=float32\n" CONV "z = Mul(y, v3) T=float32\n"
                             "m1 = Mul(m, v3) T=float32\n"
                             "m2 = Sub(b, m1) T=float32\n"
                             "a = AddV2(z, m2) T=float32\n"
                             "r = Elu(a) T=float32\n",
        "_FusedConv2D", 1},
    /* Statistics, scale and offset as Caffe keeps them: two products and two sums behind each other. */
    {IMAGE FILTER STATISTICS VECTOR("c", "0.5;3;-1;2") VECTOR("d", "1;-2;0.25;4") CONV
        "a = FusedBatchNormV3(y, s, b, m, v) T=float32 U=float32 is_training=false epsilon=0.001\n"
        "e = Mul(a, c) T=float32\n"
        "z = Add(e, d) T=float32\n"
        "r = Relu(z) T=float32\n",
        "_FusedConv2D", 1},
    {ROWS "w = Const() dtype=float32 value=float32<4,6>(0.5;-0.25;1.5;0.75;-1)\n" STATISTICS
          "y = MatMul(x, w) T=float32 transpose_b=true\n"
          "z = Mul(y, s) T=float32\n"
          "r = Relu(z) T=float32\n",
        "_FusedMatMul", 1},
    {"x = Placeholder() dtype=float32 shape=<2,3,3,4>\n" STATISTICS
     "r = FusedBatchNormV3(x, s, b, m, v) T=float32 U=float32 is_training=false\n",
        "AddV2", 1},
};

static void
factors_of_channels_go_into_the_weights(void **state)
{
    Call *call = *state;
    for (size_t index = 0; index < COUNT_OF(FOLDED); index++) {
        Rewriting rewriting = {.graph = FOLDED[index].graph};
        const char *text = plan_rewritten_text(call, rewriting.graph, rewriting.fetches, rewriting.passes);
        const char *wanted = text_format(call->arena, "r = %s(", FOLDED[index].op);
        if (strstr(text, wanted) == NULL) {
            fail_msg("no %s in\n%s", wanted, text);
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
        ((float *)tensor.data)[index] = (float)((index * 7 + index / 5) % 19) * 0.25F - 2;
    }
    return tensor;
}

static Tensor
result_of(Call *call, const char *text, bool is_optimised, uint64_t *ret_node_count)
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
    run.node_count = ret_node_count;
    assert_true(is_optimised || pass_set_add(&run.passes_off, SLICE("*")));
    assert_status(call, STATUS_OK, planned_run(call, &run, graph, &feed, 1, &fetch, 1, &result));
    AUTO_TENSOR kept = result;
    assert_true(tensor_new(DTYPE_FLOAT32, &kept.shape, &result));
    memcpy(result.data, kept.data, tensor_byte_size(&kept));
    tensor_unref(&kept);
    planned_run_end(&run);
    return result;
}

/* The tolerance: sums of some hundred terms below 10, each rounded once more or once less, differ by 2⁻²⁴
 * · 10 for each rounding; it allows a hundred roundings, far more than there are. */
static void
assert_close(const char *graph, const Tensor *left, const Tensor *right)
{
    double tolerance = 1e-4;
    assert_true(shape_equal(&left->shape, &right->shape));
    for (int64_t index = 0; index < tensor_element_count(left); index++) {
        double distance =
            fabs((double)((const float *)left->data)[index] - (double)((const float *)right->data)[index]);
        if (!(distance <= tolerance)) {
            fail_msg("element %lld is %g off in\n%s", (long long)index, distance, graph);
        }
    }
}

/* Returns how many nodes ran. */
static uint64_t
assert_computes_the_same(Call *call, const char *graph)
{
    uint64_t node_count = 0;
    AUTO_TENSOR expected = result_of(call, graph, false, NULL);
    AUTO_TENSOR result = result_of(call, graph, true, &node_count);
    assert_close(graph, &result, &expected);
    return node_count;
}

static void
fused_nodes_compute_the_same(void **state)
{
    enum { FUSED_GELUS = 4, FUSED_SWISHES = 6 };
    for (size_t index = 0; index < COUNT_OF(FUSED); index++) {
        (void)assert_computes_the_same(*state, FUSED[index].graph);
    }
    for (size_t index = 0; index < COUNT_OF(PADDED); index++) {
        (void)assert_computes_the_same(*state, PADDED[index].graph);
    }
    for (size_t index = 0; index < FUSED_GELUS; index++) {
        (void)assert_computes_the_same(*state, GELUS[index].graph);
    }
    for (size_t index = 0; index < FUSED_SWISHES; index++) {
        (void)assert_computes_the_same(*state, SWISHES[index].graph);
    }
}

static void
folded_weights_compute_the_same_and_only_once(void **state)
{
    enum { FEED_AND_FETCH = 2 };
    for (size_t index = 0; index < COUNT_OF(FOLDED); index++) {
        uint64_t count = assert_computes_the_same(*state, FOLDED[index].graph);
        if (count != FOLDED[index].node_count + FEED_AND_FETCH) {
            fail_msg("%llu nodes ran of\n%s", (unsigned long long)count, FOLDED[index].graph);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(what_follows_a_convolution_or_a_product_goes_into_it),
        CALL_TEST(zeros_around_an_image_are_put_there_by_its_convolution),
        CALL_TEST(a_gelu_written_out_is_one_node),
        CALL_TEST(a_swish_written_out_is_one_node),
        CALL_TEST(fused_ops_of_authors_take_more_when_they_can),
        CALL_TEST(what_others_see_or_is_not_constant_stays),
        CALL_TEST(factors_of_channels_go_into_the_weights),
        CALL_TEST(fused_nodes_compute_the_same),
        CALL_TEST(folded_weights_compute_the_same_and_only_once),
    };
    return cmocka_run_group_tests_name("gateway/optimise/inexact_passes", tests, NULL, NULL);
}
