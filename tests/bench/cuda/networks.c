#include "tests/bench/cuda/networks.h"

#include <math.h>
#include <stdio.h>

typedef struct Writer {
    Network *network;
    const char *dtype;
    int count; /* of names made */
} Writer;

/* The name of a node. */
typedef struct Name {
    char text[32];
} Name;

static Name
new_name(Writer *writer)
{
    Name name;
    (void)snprintf(name.text, sizeof name.text, "n%d", writer->count++);
    return name;
}

void
network_done(Network *network)
{
    buffer_done(&network->set);
    buffer_done(&network->run);
}

void
network_set_variable(Network *network, const char *name, const char *dtype, const char *dims, double scale)
{
    buffer_append_format(
        &network->set, "%s = VarHandleOp() shared_name='%s' dtype=%s shape=<%s>\n", name, name, dtype, dims);
    buffer_append_format(
        &network->set, "%s_c = Const() dtype=%s value=%s<%s>(~%g)\n", name, dtype, dtype, dims, scale);
    buffer_append_format(
        &network->set, "%s_set = AssignVariableOp(%s, %s_c) dtype=%s\n", name, name, name, dtype);
}

void
network_read_variable(Network *network, const char *name, const char *dtype)
{
    buffer_append_format(
        &network->run, "%s_h = VarHandleOp() shared_name='%s' dtype=%s shape=<>\n", name, name, dtype);
    buffer_append_format(&network->run, "%s = ReadVariableOp(%s_h) dtype=%s\n", name, name, dtype);
}

/* Makes the input x. */
static void
begin_network(Writer *writer, const char *dims)
{
    network_set_variable(writer->network, "x", writer->dtype, dims, 1);
    buffer_append_string(&writer->network->set, "set = NoOp(^x_set)\n");
    network_read_variable(writer->network, "x", writer->dtype);
}

static void
end_network(Writer *writer, Name result)
{
    buffer_append_format(&writer->network->run, "r = Identity(%s) T=%s\n", result.text, writer->dtype);
}

static Name
add_weight(Writer *writer, const char *dims, double scale)
{
    Name name = new_name(writer);
    buffer_append_format(&writer->network->run, "%s = Const() dtype=%s value=%s<%s>(~%g)\n", name.text,
        writer->dtype, writer->dtype, dims, scale);
    return name;
}

static Name
add_number(Writer *writer, const char *dims, const char *value)
{
    Name name = new_name(writer);
    buffer_append_format(
        &writer->network->run, "%s = Const() dtype=float32 value=float32<%s>(%s)\n", name.text, dims, value);
    return name;
}

/* Returns a constant list of integers, as the shape of a Reshape. */
static Name
add_integers(Writer *writer, int count, const char *values)
{
    Name name = new_name(writer);
    buffer_append_format(
        &writer->network->run, "%s = Const() dtype=int32 value=int32<%d>(%s)\n", name.text, count, values);
    return name;
}

static Name
add_unary(Writer *writer, const char *op, Name x)
{
    Name name = new_name(writer);
    buffer_append_format(&writer->network->run, "%s = %s(%s) T=%s\n", name.text, op, x.text, writer->dtype);
    return name;
}

static Name
add_binary(Writer *writer, const char *op, Name x, Name y)
{
    Name name = new_name(writer);
    buffer_append_format(
        &writer->network->run, "%s = %s(%s, %s) T=%s\n", name.text, op, x.text, y.text, writer->dtype);
    return name;
}

static Name
add_convolution(Writer *writer, Name x, int from, int to, int side, int stride)
{
    char dims[64];
    (void)snprintf(dims, sizeof dims, "%d,%d,%d,%d", to, from, side, side);
    Name weight = add_weight(writer, dims, sqrt(3.0 / (from * side * side)));
    Name y = new_name(writer);
    int pad = side / 2;
    buffer_append_format(&writer->network->run,
        "%s = onnx::Conv(%s, %s) T=%s kernel_shape=[%d,%d] pads=[%d,%d,%d,%d] strides=[%d,%d]\n", y.text,
        x.text, weight.text, writer->dtype, side, side, pad, pad, pad, pad, stride, stride);
    return y;
}

/* Statistics are float32 in every network, as those of trained ones. */
static Name
add_batch_norm(Writer *writer, Name x, int channels)
{
    char dims[16];
    (void)snprintf(dims, sizeof dims, "%d", channels);
    Name scale = add_number(writer, dims, "1");
    Name offset = add_number(writer, dims, "0.1;-0.1");
    Name mean = add_number(writer, dims, "0.1;-0.2");
    Name y = new_name(writer);
    buffer_append_format(&writer->network->run,
        "%s = onnx::BatchNormalization(%s, %s, %s, %s, %s) T=%s T1=float32 T2=float32\n", y.text, x.text,
        scale.text, offset.text, mean.text, scale.text, writer->dtype);
    return y;
}

static Name
add_bottleneck(Writer *writer, Name x, int from, int inner, int stride)
{
    int to = 4 * inner;
    Name a = add_unary(
        writer, "Relu", add_batch_norm(writer, add_convolution(writer, x, from, inner, 1, 1), inner));
    Name b = add_unary(
        writer, "Relu", add_batch_norm(writer, add_convolution(writer, a, inner, inner, 3, stride), inner));
    Name c = add_batch_norm(writer, add_convolution(writer, b, inner, to, 1, 1), to);
    Name shortcut =
        from == to ? x : add_batch_norm(writer, add_convolution(writer, x, from, to, 1, stride), to);
    return add_unary(writer, "Relu", add_binary(writer, "AddV2", c, shortcut));
}

static Name
add_gemm(Writer *writer, Name x, int from, int to)
{
    char dims[64];
    (void)snprintf(dims, sizeof dims, "%d,%d", from, to);
    Name weight = add_weight(writer, dims, sqrt(3.0 / from));
    (void)snprintf(dims, sizeof dims, "%d", to);
    Name bias = add_weight(writer, dims, 0.1);
    return add_binary(writer, "BiasAdd", add_binary(writer, "MatMul", x, weight), bias);
}

Network
network_resnet50(const NetworkSize *size)
{
    static const int blocks[] = {3, 4, 6, 3};
    Network network = {0};
    Writer writer = {.network = &network, .dtype = size->dtype};
    int width = size->is_tiny ? 4 : 64;
    int stages = size->is_tiny ? 2 : 4;
    int from = width;
    char dims[64];
    (void)snprintf(
        dims, sizeof dims, "%d,3,%d,%d", size->batch, size->is_tiny ? 16 : 224, size->is_tiny ? 16 : 224);
    begin_network(&writer, dims);
    Name x = add_convolution(&writer, (Name){"x"}, 3, width, 7, 2);
    x = add_unary(&writer, "Relu", add_batch_norm(&writer, x, width));
    Name pooled = new_name(&writer);
    buffer_append_format(&network.run,
        "%s = onnx::MaxPool(%s) T=%s kernel_shape=[3,3] pads=[1,1,1,1] strides=[2,2]\n", pooled.text, x.text,
        size->dtype);
    x = pooled;
    for (int stage = 0; stage < stages; stage++) {
        int count = size->is_tiny ? 1 : blocks[stage];
        for (int block = 0; block < count; block++) {
            x = add_bottleneck(&writer, x, from, width << stage, block == 0 && stage > 0 ? 2 : 1);
            from = 4 * (width << stage);
        }
    }
    x = add_unary(&writer, "onnx::GlobalAveragePool", x);
    x = add_unary(&writer, "onnx::Flatten", x);
    end_network(&writer, add_gemm(&writer, x, from, size->is_tiny ? 8 : 1000));
    return network;
}

typedef struct Encoder {
    Writer writer;
    int batch;
    int words;
    int heads;
    int head; /* numbers of a head */
    int width;
    Name root_half; /* numbers that gelu and attention need, in the network's dtype */
    Name one;
    Name half;
    Name scale;
    Name heads_shape;
    Name width_shape;
    Name heads_first;
} Encoder;

static Name
add_reshape(Encoder *encoder, const char *op, Name x, Name shape)
{
    Name y = new_name(&encoder->writer);
    const char *index = strcmp(op, "Transpose") == 0 ? "Tperm" : "Tshape";
    buffer_append_format(&encoder->writer.network->run, "%s = %s(%s, %s) T=%s %s=int32\n", y.text, op, x.text,
        shape.text, encoder->writer.dtype, index);
    return y;
}

static Name
add_heads(Encoder *encoder, Name x)
{
    Name flat = add_gemm(&encoder->writer, x, encoder->width, encoder->width);
    return add_reshape(encoder, "Transpose", add_reshape(encoder, "Reshape", flat, encoder->heads_shape),
        encoder->heads_first);
}

static Name
add_batch_product(Writer *writer, Name x, Name y, const char *is_turned)
{
    Name product = new_name(writer);
    buffer_append_format(&writer->network->run, "%s = BatchMatMulV2(%s, %s) T=%s adj_y=%s\n", product.text,
        x.text, y.text, writer->dtype, is_turned);
    return product;
}

static Name
add_attention(Encoder *encoder, Name x)
{
    Writer *writer = &encoder->writer;
    Name query = add_heads(encoder, x);
    Name key = add_heads(encoder, x);
    Name value = add_heads(encoder, x);
    Name scores = add_binary(writer, "Mul", add_batch_product(writer, query, key, "true"), encoder->scale);
    Name mixed = add_batch_product(writer, add_unary(writer, "Softmax", scores), value, "false");
    Name flat = add_reshape(encoder, "Reshape",
        add_reshape(encoder, "Transpose", mixed, encoder->heads_first), encoder->width_shape);
    return add_gemm(writer, flat, encoder->width, encoder->width);
}

static Name
add_layer_norm(Writer *writer, Name x, int width)
{
    char dims[16];
    (void)snprintf(dims, sizeof dims, "%d", width);
    Name scale = add_weight(writer, dims, 1);
    Name offset = add_weight(writer, dims, 0.1);
    Name y = new_name(writer);
    buffer_append_format(&writer->network->run, "%s = onnx::LayerNormalization(%s, %s, %s) T=%s\n", y.text,
        x.text, scale.text, offset.text, writer->dtype);
    return y;
}

static Name
add_gelu(Encoder *encoder, Name x)
{
    Writer *writer = &encoder->writer;
    Name erf = add_unary(writer, "Erf", add_binary(writer, "Mul", x, encoder->root_half));
    Name sum = add_binary(writer, "AddV2", erf, encoder->one);
    return add_binary(writer, "Mul", add_binary(writer, "Mul", x, encoder->half), sum);
}

static Name
add_layer(Encoder *encoder, Name x)
{
    Writer *writer = &encoder->writer;
    int width = encoder->width;
    Name y = add_layer_norm(writer, add_binary(writer, "AddV2", add_attention(encoder, x), x), width);
    Name inner = add_gelu(encoder, add_gemm(writer, y, width, 4 * width));
    return add_layer_norm(
        writer, add_binary(writer, "AddV2", add_gemm(writer, inner, 4 * width, width), y), width);
}

/* A number of the network's dtype: float32, cast when the graph is planned or compiled. */
static Name
add_scalar(Writer *writer, const char *value)
{
    Name number = add_number(writer, "", value);
    if (strcmp(writer->dtype, "float32") == 0) {
        return number;
    }
    Name cast = new_name(writer);
    buffer_append_format(
        &writer->network->run, "%s = Cast(%s) SrcT=float32 DstT=%s\n", cast.text, number.text, writer->dtype);
    return cast;
}

Network
network_bert(const NetworkSize *size)
{
    Network network = {0};
    Encoder encoder = {.writer = {.network = &network, .dtype = size->dtype},
        .batch = size->batch,
        .words = size->is_tiny ? 4 : 128,
        .heads = size->is_tiny ? 2 : 12,
        .head = size->is_tiny ? 4 : 64};
    Writer *writer = &encoder.writer;
    char text[64];
    encoder.width = encoder.heads * encoder.head;
    (void)snprintf(text, sizeof text, "%d,%d", encoder.batch * encoder.words, encoder.width);
    begin_network(writer, text);
    encoder.root_half = add_scalar(writer, "0.70710678");
    encoder.one = add_scalar(writer, "1");
    encoder.half = add_scalar(writer, "0.5");
    encoder.scale = add_scalar(writer, "0.125");
    (void)snprintf(
        text, sizeof text, "%d;%d;%d;%d", encoder.batch, encoder.words, encoder.heads, encoder.head);
    encoder.heads_shape = add_integers(writer, 4, text);
    (void)snprintf(text, sizeof text, "%d;%d", encoder.batch * encoder.words, encoder.width);
    encoder.width_shape = add_integers(writer, 2, text);
    encoder.heads_first = add_integers(writer, 4, "0;2;1;3");
    Name x = {"x"};
    for (int layer = 0; layer < (size->is_tiny ? 1 : 12); layer++) {
        x = add_layer(&encoder, x);
    }
    end_network(writer, x);
    return network;
}

enum { TRAINED_LAYERS = 4 };

/* Appends `name`, a product of two nodes either of which may be transposed. */
static void
add_product(Network *network, const char *name, const char *a, const char *b, const char *turned)
{
    buffer_append_format(&network->run, "%s = MatMul(%s, %s) T=float32 %s\n", name, a, b, turned);
}

static void
add_forward(Network *network, int layer)
{
    char below[16];
    char product[16];
    char weight[16];
    (void)snprintf(below, sizeof below, layer == 0 ? "x" : "y%d", layer - 1);
    (void)snprintf(product, sizeof product, "p%d", layer);
    (void)snprintf(weight, sizeof weight, "w%d", layer);
    network_read_variable(network, weight, "float32");
    add_product(network, product, below, weight, "");
    bool is_last = layer == TRAINED_LAYERS - 1;
    buffer_append_format(
        &network->run, "y%d = %s(p%d) T=float32\n", layer, is_last ? "Identity" : "Relu", layer);
}

static void
add_backward(Network *network, int layer)
{
    bool is_last = layer == TRAINED_LAYERS - 1;
    char above[16];
    char below[16];
    (void)snprintf(below, sizeof below, layer == 0 ? "x" : "y%d", layer - 1);
    if (is_last) {
        (void)snprintf(above, sizeof above, "loss:1");
    } else {
        char weight[16];
        char product[16];
        (void)snprintf(above, sizeof above, "d%d", layer);
        (void)snprintf(weight, sizeof weight, "w%d", layer + 1);
        (void)snprintf(product, sizeof product, "b%d", layer);
        add_product(network, product,
            layer + 2 == TRAINED_LAYERS ? "loss:1" : (char[]){'d', (char)('1' + layer), '\0'}, weight,
            "transpose_b=true");
        buffer_append_format(&network->run, "d%d = ReluGrad(b%d, y%d) T=float32\n", layer, layer, layer);
    }
    char gradient[16];
    (void)snprintf(gradient, sizeof gradient, "g%d", layer);
    add_product(network, gradient, below, above, "transpose_a=true");
    buffer_append_format(&network->run, "u%d = ResourceApplyGradientDescent(w%d_h, rate, g%d) T=float32\n",
        layer, layer, layer);
}

Network
network_training(const NetworkSize *size)
{
    Network network = {0};
    int width = size->is_tiny ? 16 : 4096;
    char dims[64];
    (void)snprintf(dims, sizeof dims, "%d,%d", size->batch, width);
    network_set_variable(&network, "x", "float32", dims, 1);
    network_read_variable(&network, "x", "float32");
    buffer_append_format(
        &network.run, "labels = Const() dtype=int32 value=int32<%d>(0;3;1;2)\n", size->batch);
    buffer_append_string(&network.run, "rate = Const() dtype=float32 value=float32(0.0001)\n");
    (void)snprintf(dims, sizeof dims, "%d,%d", width, width);
    for (int layer = 0; layer < TRAINED_LAYERS; layer++) {
        network_set_variable(
            &network, (char[]){'w', (char)('0' + layer), '\0'}, "float32", dims, sqrt(3.0 / width));
        add_forward(&network, layer);
    }
    buffer_append_format(&network.run,
        "loss = SparseSoftmaxCrossEntropyWithLogits(y%d, labels) T=float32 Tlabels=int32\n",
        TRAINED_LAYERS - 1);
    for (int layer = TRAINED_LAYERS - 1; layer >= 0; layer--) {
        add_backward(&network, layer);
    }
    buffer_append_string(&network.set, "set = NoOp(^x_set, ^w0_set, ^w1_set, ^w2_set, ^w3_set)\n");
    buffer_append_string(&network.run, "trained = NoOp(^u0, ^u1, ^u2, ^u3)\nr = Identity(loss) T=float32\n");
    return network;
}
