/* Graphs of 16-bit convolutions whose author has the channels first, and what of them is turned around for an
 * accelerator that wants channels last (worker/runtime/partition/layout.c).
 *
 * Threads: one. */
#pragma once

#include "tests/support/partition_runs.h"

enum { TURNED_FEEDS_MAX = 3, TURNED_NODES_MAX = 6 };

typedef struct TurnedGraph {
    const char *graph;
    const char *feeds[TURNED_FEEDS_MAX];
    const char *turned[TURNED_NODES_MAX];  /* these nodes are turned around */
    const char *written[TURNED_NODES_MAX]; /* these are not */
    int transposes;                        /* in a run */
} TurnedGraph;

/* Checks which nodes of a graph are turned around, and compares its outputs with those that it has as its
 * author wrote it, in several runs: by their bits, or as sums whose order differs. */
void turned_graph_compare(RunFixture *fixture, const TurnedGraph *graph, bool is_exact);

/* A block of a residual network: two convolutions with their biases, an addend and an activation. */
static const TurnedGraph residual_graphs[] = {{
    .graph = "x = _Arg() T=bfloat16 index=0\n"
             "w1 = Const() dtype=bfloat16 value=bfloat16<16,8,3,3>(~0.3)\n"
             "b1 = Const() dtype=bfloat16 value=bfloat16<16>(~0.5)\n"
             "c1 = _FusedOnnxConv(x, w1, b1) T=bfloat16 num_args=1 fused_ops=['BiasAdd','Relu'] "
             "pads=[1,1,1,1]\n"
             "w2 = Const() dtype=bfloat16 value=bfloat16<8,16,3,3>(~0.3)\n"
             "b2 = Const() dtype=bfloat16 value=bfloat16<8>(~0.5)\n"
             "c2 = onnx::Conv(c1, w2, b2) T=bfloat16 pads=[1,1,1,1]\n"
             "sum = onnx::Add(c2, x) T=bfloat16\n"
             "y = onnx::Relu(sum) T=bfloat16\n"
             "out = _Retval(y) T=bfloat16 index=0\n",
    .feeds = {"bfloat16[2,8,5,6] numbers 3"},
    .turned = {"c1", "c2", "sum", "y"},
    .transposes = 2,
}};

/* One convolution alone: the library transposes no more than the region would. */
static const TurnedGraph lone_graphs[] = {{
    .graph = "x = _Arg() T=float16 index=0\n"
             "w = Const() dtype=float16 value=float16<8,8,3,3>(~0.3)\n"
             "c = onnx::Conv(x, w) T=float16\n"
             "y = onnx::Relu(c) T=float16\n"
             "out = _Retval(y) T=float16 index=0\n",
    .feeds = {"float16[1,8,5,6] numbers 3"},
    .written = {"c", "y"},
}};

/* float32 has engines that want channels first, and channels that do not fill a load gain nothing. */
static const TurnedGraph gainless_graphs[] = {
    {.graph = "x = _Arg() T=float32 index=0\n"
              "w = Const() dtype=float32 value=float32<8,8,1,1>(~0.3)\n"
              "a = onnx::Conv(x, w) T=float32\n"
              "b = onnx::Conv(a, w) T=float32\n"
              "out = _Retval(b) T=float32 index=0\n",
        .feeds = {"float32[1,8,5,6] numbers 3"},
        .written = {"a", "b"}},
    {.graph = "x = _Arg() T=float16 index=0\n"
              "w = Const() dtype=float16 value=float16<9,9,1,1>(~0.3)\n"
              "a = onnx::Conv(x, w) T=float16\n"
              "b = onnx::Conv(a, w) T=float16\n"
              "out = _Retval(b) T=float16 index=0\n",
        .feeds = {"float16[1,9,5,6] numbers 3"},
        .written = {"a", "b"}},
};

/* The image of the first convolution has few channels: it is cheaper to transpose than its result. What is
 * small behind the region is transposed behind what made it small. */
static const TurnedGraph classifier_graphs[] = {{
    .graph = "x = _Arg() T=bfloat16 index=0\n"
             "w1 = Const() dtype=bfloat16 value=bfloat16<8,3,3,3>(~0.3)\n"
             "c1 = onnx::Conv(x, w1) T=bfloat16 strides=[2,2] pads=[0,1,2,1]\n"
             "p = onnx::MaxPool(c1) T=bfloat16 kernel_shape=[3,3] strides=[2,2] ceil_mode=1\n"
             "w2 = Const() dtype=bfloat16 value=bfloat16<16,8,1,1>(~0.3)\n"
             "c2 = onnx::Conv(p, w2) T=bfloat16\n"
             "g = onnx::GlobalAveragePool(c2) T=bfloat16\n"
             "n = onnx::Neg(g) T=bfloat16\n"
             "f = onnx::Flatten(n) T=bfloat16\n"
             "out = _Retval(f) T=bfloat16 index=0\n",
    .feeds = {"bfloat16[3,3,17,15] numbers 3"},
    .turned = {"c1", "p", "c2", "g"},
    .transposes = 2,
}};

/* Groups, dilations, strides and uneven pads, in one to three dimensions, between convolutions that gain. */
static const TurnedGraph convolution_graphs[] = {
    {.graph = "x = _Arg() T=float16 index=0\n"
              "w = Const() dtype=float16 value=float16<8,8,1,1>(~0.3)\n"
              "a = onnx::Conv(x, w) T=float16\n"
              "wg = Const() dtype=float16 value=float16<8,2,3,2>(~0.3)\n"
              "b = onnx::Conv(a, wg) T=float16 group=4 dilations=[1,2] strides=[2,1] pads=[1,0,2,1]\n"
              "wd = Const() dtype=float16 value=float16<16,1,3,3>(~0.3)\n"
              "c = onnx::Conv(b, wd) T=float16 group=8 auto_pad='SAME_LOWER' strides=[1,2]\n"
              "w2 = Const() dtype=float16 value=float16<8,16,1,1>(~0.3)\n"
              "d = onnx::Conv(c, w2) T=float16\n"
              "out = _Retval(d) T=float16 index=0\n",
        .feeds = {"float16[2,8,9,7] numbers 5"},
        .turned = {"a", "b", "c", "d"},
        .transposes = 2},
    {.graph = "x = _Arg() T=bfloat16 index=0\n"
              "w = Const() dtype=bfloat16 value=bfloat16<8,8,3>(~0.3)\n"
              "a = onnx::Conv(x, w) T=bfloat16 pads=[2,0]\n"
              "b = onnx::Conv(a, w) T=bfloat16 dilations=[2]\n"
              "out = _Retval(b) T=bfloat16 index=0\n",
        .feeds = {"bfloat16[2,8,11] numbers 5"},
        .turned = {"a", "b"},
        .transposes = 2},
    {.graph = "x = _Arg() T=bfloat16 index=0\n"
              "w = Const() dtype=bfloat16 value=bfloat16<8,8,1,2,3>(~0.3)\n"
              "a = onnx::Conv(x, w) T=bfloat16 pads=[0,1,1,0,0,1]\n"
              "b = onnx::Conv(a, w) T=bfloat16 strides=[1,1,2]\n"
              "out = _Retval(b) T=bfloat16 index=0\n",
        .feeds = {"bfloat16[1,8,3,4,5] numbers 5"},
        .turned = {"a", "b"},
        .transposes = 2},
};

#define TF_CONV(node, from, filter)                                                                          \
    node " = Conv2D(" from ", " filter ") T=float16 strides=[1,1,2,1] padding='EXPLICIT' "                   \
         "explicit_paddings=[0,0,0,0,1,1,2,0] data_format='NCHW' dilations=[1,1,1,1]\n"

/* TensorFlow's ops say their layout; lists keep the order in which they were written. */
static const TurnedGraph formatted_graphs[] = {
    {.graph = "x = _Arg() T=float16 index=0\n"
              "w1 = Const() dtype=float16 value=float16<3,3,8,16>(~0.3)\n"
              "w2 = Const() dtype=float16 value=float16<3,3,16,8>(~0.3)\n" TF_CONV(
                  "a", "x", "w1") "bias = Const() dtype=float16 value=float16<16>(~0.5)\n"
                                  "b = BiasAdd(a, bias) T=float16 data_format='NCHW'\n"
                                  "ones = Const() dtype=float32 value=float32<16>(1;2)\n"
                                  "one = Cast(ones) SrcT=float32 DstT=float16\n"
                                  "n = FusedBatchNorm(b, one, bias, bias, one) T=float16 is_training=false "
                                  "data_format='NCHW'\n"
                                  "p = MaxPool(n) T=float16 ksize=[1,1,2,3] strides=[1,1,1,2] padding='SAME' "
                                  "data_format='NCHW'\n" TF_CONV("c", "p",
                                      "w2") "m = AvgPool(c) T=float16 ksize=[1,1,2,1] strides=[1,1,1,2] "
                                            "padding='VALID' "
                                            "data_format='NCHW'\n"
                                            "out = _Retval(m) T=float16 index=0\n",
        .feeds = {"float16[2,8,12,13] numbers 5"},
        .turned = {"a", "b", "n", "p", "c", "m"},
        .transposes = 2},
    {.graph = "x = _Arg() T=float16 index=0\n"
              "w = Const() dtype=float16 value=float16<1,1,8,8>(~0.3)\n"
              "b = Const() dtype=float16 value=float16<8>(~0.3)\n"
              "a = _FusedConv2D(x, w, b, x) T=float16 num_args=2 "
              "strides=[1,1,1,1] padding='VALID' data_format='NCHW' fused_ops=['BiasAdd','Add','Relu']\n"
              "wd = Const() dtype=float16 value=float16<3,3,8,2>(~0.3)\n"
              "d = DepthwiseConv2dNative(a, wd) T=float16 strides=[1,1,1,1] padding='SAME' "
              "data_format='NCHW'\n"
              "w2 = Const() dtype=float16 value=float16<1,1,16,8>(~0.3)\n"
              "c = Conv2D(d, w2) T=float16 strides=[1,1,1,1] padding='SAME' data_format='NCHW'\n"
              "out = _Retval(c) T=float16 index=0\n",
        .feeds = {"float16[2,8,5,4] numbers 5"},
        .turned = {"a", "d", "c"},
        .transposes = 2},
};

/* Of convolutions whose author has the channels last, only filters are transposed: once, if they are
 * constants. */
static const TurnedGraph filter_graphs[] = {
    {.graph = "x = _Arg() T=float16 index=0\n"
              "w = Const() dtype=float16 value=float16<3,2,7,9>(~0.3)\n"
              "c = Conv2D(x, w) T=float16 strides=[1,2,1,1] padding='SAME'\n"
              "bias = Const() dtype=float16 value=float16<9>(~0.3)\n"
              "w2 = Const() dtype=float16 value=float16<1,3,3,9>(~0.3)\n"
              "d = _FusedConv2D(c, w2, bias) T=float16 num_args=1 strides=[1,1,1,1] padding='VALID' "
              "fused_ops=['BiasAdd','Relu']\n"
              "out = _Retval(d) T=float16 index=0\n",
        .feeds = {"float16[2,5,6,7] numbers 3"},
        .turned = {"c", "d"}},
    {.graph = "x = _Arg() T=float32 index=0\n"
              "w = Const() dtype=float32 value=float32<2,3,1,4,5>(~0.3)\n"
              "c = Conv3D(x, w) T=float32 strides=[1,1,1,1,1] padding='SAME'\n"
              "out = _Retval(c) T=float32 index=0\n",
        .feeds = {"float32[1,3,4,2,4] numbers 3"},
        .turned = {"c"}},
    {.graph = "x = _Arg() T=float32 index=0\n"
              "w = _Arg() T=float32 index=1\n"
              "c = Conv2D(x, w) T=float32 strides=[1,1,1,1] padding='SAME'\n"
              "out = _Retval(c) T=float32 index=0\n",
        .feeds = {"float32[1,3,4,4] numbers 3", "float32[2,2,4,5] numbers 5"},
        .written = {"c"}},
};

/* A graph that transposes for its convolutions does not any more. */
static const TurnedGraph transposed_graphs[] = {{
    .graph = "x = _Arg() T=float16 index=0\n"
             "to = Const() dtype=int32 value=int32<4>(0;3;1;2)\n"
             "back = Const() dtype=int32 value=int32<4>(0;2;3;1)\n"
             "w = Const() dtype=float16 value=float16<3,3,8,8>(~0.3)\n"
             "first = Transpose(x, to) T=float16 Tperm=int32\n"
             "c = Conv2D(first, w) T=float16 strides=[1,1,1,1] padding='SAME' data_format='NCHW'\n"
             "last = Transpose(c, back) T=float16 Tperm=int32\n"
             "y = Relu(last) T=float16\n"
             "out = _Retval(y) T=float16 index=0\n",
    .feeds = {"float16[2,5,4,8] numbers 5"},
    .turned = {"c", "first", "last"},
    .transposes = 0,
}};

/* Operands that broadcast: scalars, one number a channel with and without a batch, an image of one element a
 * channel, which comes from the region or from elsewhere. */
static const TurnedGraph operand_graphs[] = {{
    .graph = "x = _Arg() T=float16 index=0\n"
             "s = _Arg() T=float16 index=1\n"
             "w = Const() dtype=float16 value=float16<8,8,3,3>(~0.3)\n"
             "single = Const() dtype=float32 value=float32(0.5)\n"
             "half = Cast(single) SrcT=float32 DstT=float16\n"
             "k = Const() dtype=float16 value=float16<8,1,1>(~0.5)\n"
             "l = Const() dtype=float16 value=float16<1,8,1,6>(~0.5)\n"
             "a = onnx::Conv(x, w) T=float16 pads=[1,1,1,1]\n"
             "b = onnx::Mul(half, a) T=float16\n"
             "c = onnx::Add(b, k) T=float16\n"
             "d = onnx::Sub(l, c) T=float16\n"
             "g = onnx::GlobalMaxPool(d) T=float16\n"
             "h = onnx::Sigmoid(g) T=float16\n"
             "e = onnx::Mul(d, h) T=float16\n"
             "rank = onnx::Conv(s, v) T=float16\n"
             "v = Const() dtype=float16 value=float16<8,4,1,1>(~0.5)\n"
             "f = onnx::Div(e, rank) T=float16\n"
             "big = onnx::Conv(f, w) T=float16\n"
             "out = _Retval(big) T=float16 index=0\n",
    .feeds = {"float16[2,8,5,6] numbers 3", "float16[1,4,1,1] numbers 5"},
    .turned = {"a", "c", "d", "e", "f", "big"},
    .transposes = 3,
}};

/* Branches that are joined along the channels, or along another axis, by ops of both kinds; a value that is
 * also read outside. */
static const TurnedGraph joined_graphs[] = {{
    .graph = "x = _Arg() T=bfloat16 index=0\n"
             "w = Const() dtype=bfloat16 value=bfloat16<8,8,3,3>(~0.3)\n"
             "axis = Const() dtype=int32 value=int32(-2)\n"
             "a = onnx::Conv(x, w) T=bfloat16 pads=[1,1,1,1]\n"
             "b = onnx::Conv(a, w) T=bfloat16 pads=[1,1,1,1]\n"
             "c = onnx::Concat(a, b) T=bfloat16 N=2 axis=1\n"
             "d = ConcatV2(c, c, axis) T=bfloat16 N=2 Tidx=int32\n"
             "w2 = Const() dtype=bfloat16 value=bfloat16<8,16,1,1>(~0.3)\n"
             "e = onnx::Conv(d, w2) T=bfloat16\n"
             "out = _Retval(e) T=bfloat16 index=0\n"
             "also = _Retval(b) T=bfloat16 index=1\n",
    .feeds = {"bfloat16[2,8,5,6] numbers 3"},
    .turned = {"a", "b", "c", "d", "e"},
    .transposes = 3,
}};

/* What cannot be turned around keeps its layout in the midst of a region. */
static const TurnedGraph split_graphs[] = {{
    .graph = "x = _Arg() T=bfloat16 index=0\n"
             "w = Const() dtype=bfloat16 value=bfloat16<8,8,3,3>(~0.3)\n"
             "a = onnx::Conv(x, w) T=bfloat16 pads=[1,1,1,1]\n"
             "b = onnx::Conv(a, w) T=bfloat16 pads=[1,1,1,1]\n"
             "s = onnx::Softmax(b) T=bfloat16 axis=1\n"
             "row = Const() dtype=bfloat16 value=bfloat16<6>(~0.3)\n"
             "r = onnx::Add(s, row) T=bfloat16\n"
             "c = onnx::Conv(r, w) T=bfloat16 pads=[1,1,1,1]\n"
             "d = onnx::Conv(c, w) T=bfloat16 pads=[1,1,1,1]\n"
             "out = _Retval(d) T=bfloat16 index=0\n",
    .feeds = {"bfloat16[2,8,5,6] numbers 3"},
    .turned = {"a", "b", "c", "d"},
    .written = {"s", "r"},
    .transposes = 4,
}};

/* No images, one, three; images of one element: feeds of the residual block. */
static const char *const residual_feeds[] = {"bfloat16[0,8,5,6]", "bfloat16[1,8,1,1] numbers 3",
    "bfloat16[3,8,1,7] numbers 3", "bfloat16[1,8,33,2] numbers 9"};

typedef struct TurnedGraphs {
    const TurnedGraph *graphs;
    size_t count;
} TurnedGraphs;

/* All of them but the feeds. */
static const TurnedGraphs turned_graphs[] = {
    {residual_graphs, COUNT_OF(residual_graphs)},
    {lone_graphs, COUNT_OF(lone_graphs)},
    {gainless_graphs, COUNT_OF(gainless_graphs)},
    {classifier_graphs, COUNT_OF(classifier_graphs)},
    {convolution_graphs, COUNT_OF(convolution_graphs)},
    {formatted_graphs, COUNT_OF(formatted_graphs)},
    {filter_graphs, COUNT_OF(filter_graphs)},
    {transposed_graphs, COUNT_OF(transposed_graphs)},
    {operand_graphs, COUNT_OF(operand_graphs)},
    {joined_graphs, COUNT_OF(joined_graphs)},
    {split_graphs, COUNT_OF(split_graphs)},
};
