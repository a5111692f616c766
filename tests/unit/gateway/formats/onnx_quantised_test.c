/* Operators of ONNX Runtime, written out in the standard's. Their results are ONNX Runtime's: that is what
 * these nodes compute, as its documentation says. */
#include "gateway/formats/onnx.h"

#include "shared/base/text.h"
#include "shared/graph/graph.h"
#include "tests/support/call_fixture.h"
#include "tests/support/protobuf_writer.h"

enum { INPUT = 11, OUTPUT = 12, FLOAT = 1, UINT8 = 2, DOMAIN = 7 };

/* Reads a model of one node, whose inputs are the model's; returns its nodes in lines. */
static Status
import_one(Call *call, const char *type, const char *inputs, Buffer *attributes, const char **ret_nodes)
{
    AUTO_BUFFER graph = {0};
    AUTO_GRAPH_DEF def = NULL;
    char name[2] = {0};
    for (const char *letter = inputs; *letter != 0; letter++) {
        name[0] = *letter;
        if (*letter != ',') {
            onnx_put_value(&graph, INPUT, name, UINT8, NULL, 0);
        }
    }
    onnx_put_value(&graph, OUTPUT, "y", FLOAT, NULL, 0);
    protobuf_put_text(attributes, DOMAIN, "com.microsoft");
    onnx_put_node(&graph, type, inputs, "y", attributes);
    TensorBuffer *source = onnx_model(&graph, 15);
    Status status = onnx_read(call, source, &def);
    tensor_buffer_unref(source);
    if (status == STATUS_OK) {
        Buffer text = {0};
        for (size_t index = 0; index < def->node_count; index++) {
            const NodeDef *node = &def->nodes[index];
            if (slice_equals_string(node->op, "Placeholder")) {
                continue;
            }
            buffer_append_format(&text, "%.*s=%.*s(", SLICE_PRINT(node->name), SLICE_PRINT(node->op));
            for (size_t input = 0; input < node->input_count; input++) {
                buffer_append_format(
                    &text, "%s%.*s", input == 0 ? "" : ",", SLICE_PRINT(node->inputs[input]));
            }
            buffer_append_format(&text, ")\n");
        }
        *ret_nodes = text_format(call->arena, "%.*s", SLICE_PRINT(buffer_slice(&text)));
        buffer_done(&text);
    }
    return status;
}

static void
expect_nodes(Call *call, const char *type, const char *inputs, Buffer *attributes, const char *expected)
{
    const char *nodes = NULL;
    assert_status(call, STATUS_OK, import_one(call, type, inputs, attributes, &nodes));
    assert_string_equal(nodes, expected);
}

static void
quantised_numbers_are_computed_with_as_floats(void **state)
{
    Call *call = *state;
    AUTO_BUFFER attributes = {0};
    expect_nodes(call, "QLinearAdd", "a,b,c,d,e,f,g,h", &attributes,
        "y/DequantizeLinear=onnx::DequantizeLinear(a,b,c)\n"
        "y/DequantizeLinear_1=onnx::DequantizeLinear(d,e,f)\n"
        "y/Add=onnx::Add(y/DequantizeLinear,y/DequantizeLinear_1)\n"
        "y=onnx::QuantizeLinear(y/Add,g,h)\n");
    expect_nodes(call, "QLinearSigmoid", "a,b,c,d", &attributes,
        "y/DequantizeLinear=onnx::DequantizeLinear(a,b,c)\n"
        "y/Sigmoid=onnx::Sigmoid(y/DequantizeLinear)\n"
        "y/zero_point=Const()\n"
        "y/CastLike=onnx::CastLike(y/zero_point,c)\n"
        "y=onnx::QuantizeLinear(y/Sigmoid,d,y/CastLike)\n");
    onnx_put_float(&attributes, "alpha", 0.5F);
    expect_nodes(call, "QLinearLeakyRelu", "a,b,c,d,e", &attributes,
        "y/DequantizeLinear=onnx::DequantizeLinear(a,b,c)\n"
        "y/LeakyRelu=onnx::LeakyRelu(y/DequantizeLinear)\n"
        "y=onnx::QuantizeLinear(y/LeakyRelu,d,e)\n");
    onnx_put_int(&attributes, "axis", 1);
    expect_nodes(call, "QLinearConcat", "a,b,c,d,e,f,g,h", &attributes,
        "y/DequantizeLinear=onnx::DequantizeLinear(c,d,e)\n"
        "y/DequantizeLinear_1=onnx::DequantizeLinear(f,g,h)\n"
        "y/Concat=onnx::Concat(y/DequantizeLinear,y/DequantizeLinear_1)\n"
        "y=onnx::QuantizeLinear(y/Concat,a,b)\n");
}

static void
products_stay_products_of_integers(void **state)
{
    Call *call = *state;
    AUTO_BUFFER attributes = {0};
    expect_nodes(call, "DynamicQuantizeMatMul", "a,b,c,d,e", &attributes,
        "y/DynamicQuantizeLinear=onnx::DynamicQuantizeLinear(a)\n"
        "y/MatMulInteger=onnx::MatMulInteger(y/DynamicQuantizeLinear,b,y/DynamicQuantizeLinear:2,d)\n"
        "y/Cast=onnx::Cast(y/MatMulInteger)\n"
        "y/Mul=onnx::Mul(y/DynamicQuantizeLinear:1,c)\n"
        "y/Mul_1=onnx::Mul(y/Cast,y/Mul)\n"
        "y=onnx::Add(y/Mul_1,e)\n");
    expect_nodes(call, "MatMulIntegerToFloat", "a,b,c,d", &attributes,
        "y/MatMulInteger=onnx::MatMulInteger(a,b,,)\n"
        "y/Cast=onnx::Cast(y/MatMulInteger)\n"
        "y/Mul=onnx::Mul(c,d)\n"
        "y=onnx::Mul(y/Cast,y/Mul)\n");
    onnx_put_int(&attributes, "transB", 1);
    expect_nodes(call, "QGemm", "a,b,c,d,e,f,g,h,i", &attributes,
        "y/Transpose=onnx::Transpose(d)\n"
        "y/MatMulInteger=onnx::MatMulInteger(a,y/Transpose,c,f)\n"
        "y/Add=onnx::Add(y/MatMulInteger,g)\n"
        "y/Cast=onnx::Cast(y/Add)\n"
        "y/Mul=onnx::Mul(b,e)\n"
        "y/Mul_1=onnx::Mul(y/Cast,y/Mul)\n"
        "y=onnx::QuantizeLinear(y/Mul_1,h,i)\n");
}

static void
what_cannot_be_written_out_is_refused(void **state)
{
    Call *call = *state;
    AUTO_BUFFER attributes = {0};
    const char *nodes = NULL;
    assert_status(
        call, STATUS_INVALID_ARGUMENT, import_one(call, "QLinearAdd", "a,b,c", &attributes, &nodes));
    assert_non_null(strstr(call->error.message, "has 3 inputs, not 7"));
    onnx_put_int(&attributes, "channels_last", 1);
    assert_status(call, STATUS_UNIMPLEMENTED,
        import_one(call, "QLinearGlobalAveragePool", "a,b,c,d,e", &attributes, &nodes));
    assert_non_null(strstr(call->error.message, "channels_last=1 cannot be imported"));
    onnx_put_float(&attributes, "alpha", 2);
    assert_status(call, STATUS_UNIMPLEMENTED, import_one(call, "QGemm", "a,b,c,d,e,f", &attributes, &nodes));
    assert_non_null(strstr(call->error.message, "an alpha that is not 1 cannot be imported"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(quantised_numbers_are_computed_with_as_floats),
        CALL_TEST(products_stay_products_of_integers),
        CALL_TEST(what_cannot_be_written_out_is_refused),
    };
    return cmocka_run_group_tests_name("gateway/formats/onnx_quantised", tests, NULL, NULL);
}
