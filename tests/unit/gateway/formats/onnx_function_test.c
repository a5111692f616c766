/* Subgraphs, which become functions of the library, and the model's own functions, which are inlined. */
#include "gateway/formats/onnx.h"
#include "shared/formats/graphdef_json.h"
#include "tests/support/call_fixture.h"
#include "tests/support/graph_literals.h"
#include "tests/support/protobuf_writer.h"

enum { INPUT = 11, OUTPUT = 12, FLOAT = 1, BOOL = 9, FUNCTIONS = 25 };

static void
put_inputs(Buffer *graph)
{
    const int64_t dims[] = {3};
    onnx_put_value(graph, INPUT, "x", FLOAT, dims, 1);
    onnx_put_value(graph, INPUT, "p", BOOL, NULL, 0);
}

static GraphDef *
import_model(Call *call, Buffer *graph, Buffer *functions)
{
    AUTO_BUFFER none = {0};
    TensorBuffer *source = onnx_model_with(graph, 17, functions == NULL ? &none : functions);
    GraphDef *def = NULL;
    Status status = onnx_read(call, source, &def);
    tensor_buffer_unref(source);
    assert_status(call, STATUS_OK, status);
    return def;
}

static void
expect_refused(Call *call, Buffer *graph, Buffer *functions, const char *message)
{
    AUTO_BUFFER none = {0};
    TensorBuffer *source = onnx_model_with(graph, 17, functions == NULL ? &none : functions);
    GraphDef *def = NULL;
    Status status = onnx_read(call, source, &def);
    tensor_buffer_unref(source);
    assert_int_not_equal(status, STATUS_OK);
    assert_string_equal(call->error.message, message);
}

static void
put_branch(Buffer *attributes, const char *name, const char *type, const char *inputs, const char *output)
{
    const int64_t dims[] = {3};
    AUTO_BUFFER branch = {0};
    onnx_put_node(&branch, type, inputs, output, NULL);
    onnx_put_value(&branch, OUTPUT, output, FLOAT, dims, 1);
    onnx_put_graph(attributes, name, &branch);
}

static const FunctionDef *
find_function(const GraphDef *def, const char *name)
{
    for (size_t index = 0; index < def->function_count; index++) {
        if (slice_equals_string(def->functions[index].name, name)) {
            return &def->functions[index];
        }
    }
    fail_msg("no function '%s'", name);
    return NULL;
}

static void
branches_take_what_they_use_from_around_them(void **state)
{
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER attributes = {0};
    put_inputs(&graph);
    onnx_put_node(&graph, "Neg", "x", "n", NULL);
    put_branch(&attributes, "then_branch", "Add", "x,n", "a");
    put_branch(&attributes, "else_branch", "Relu", "n", "b");
    onnx_put_node(&graph, "If", "p", "y", &attributes);
    AUTO_GRAPH_DEF def = import_model(*state, &graph, NULL);
    assert_string_equal(graph_literal_text(((Call *)*state)->arena, def), "x = Placeholder()\n"
                                                                          "p = Placeholder()\n"
                                                                          "n = onnx::Neg(x)\n"
                                                                          "y = onnx::If(p, x, n)\n");
    const FunctionDef *then = find_function(def, "y_then_branch");
    const FunctionDef *other = find_function(def, "y_else_branch");
    assert_int_equal(then->input_count, 2);
    assert_int_equal(other->input_count, 2);
    assert_true(slice_equal(then->inputs[1].name, other->nodes[0].inputs[0]));
    assert_true(slice_equals_string(then->returns[0].value, "a"));
    assert_int_equal(then->outputs[0].dtype, DTYPE_FLOAT32);
}

static void
subgraphs_nest(void **state)
{
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER inner = {0};
    AUTO_BUFFER attributes = {0};
    AUTO_BUFFER branch = {0};
    put_inputs(&graph);
    put_branch(&inner, "then_branch", "Relu", "x", "a");
    put_branch(&inner, "else_branch", "Neg", "x", "b");
    onnx_put_node(&branch, "If", "p", "c", &inner);
    onnx_put_value(&branch, OUTPUT, "c", FLOAT, NULL, 0);
    onnx_put_graph(&attributes, "then_branch", &branch);
    put_branch(&attributes, "else_branch", "Abs", "x", "d");
    onnx_put_node(&graph, "If", "p", "y", &attributes);
    AUTO_GRAPH_DEF def = import_model(*state, &graph, NULL);
    assert_int_equal(def->function_count, 4);
    const FunctionDef *outer = find_function(def, "y_then_branch");
    assert_int_equal(outer->input_count, 2);
    assert_int_equal(outer->nodes[0].input_count, 2);
    assert_true(slice_equal(outer->nodes[0].inputs[0], outer->inputs[1].name));
    assert_true(slice_equal(outer->nodes[0].inputs[1], outer->inputs[0].name));
}

static void
a_subgraph_whose_output_is_nowhere_is_refused(void **state)
{
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER attributes = {0};
    AUTO_BUFFER branch = {0};
    put_inputs(&graph);
    onnx_put_value(&branch, OUTPUT, "q", FLOAT, NULL, 0);
    onnx_put_graph(&attributes, "then_branch", &branch);
    onnx_put_node(&graph, "If", "p", "y", &attributes);
    expect_refused(*state, &graph, NULL,
        "node 'y' (If): attribute 'then_branch': the subgraph's output 'q' is defined nowhere");
}

static void
subgraphs_too_deep_are_refused(void **state)
{
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER attributes = {0};
    AUTO_BUFFER branch = {0};
    for (int depth = 0; depth < 40; depth++) {
        onnx_put_graph(&attributes, "then_branch", &branch);
        onnx_put_node(&branch, "If", "p", "y", &attributes);
    }
    put_inputs(&graph);
    buffer_append_slice(&graph, buffer_slice(&branch));
    AUTO_BUFFER none = {0};
    TensorBuffer *source = onnx_model_with(&graph, 17, &none);
    GraphDef *def = NULL;
    assert_int_equal(onnx_read(*state, source, &def), STATUS_RESOURCE_EXHAUSTED);
    tensor_buffer_unref(source);
}

static void
put_reference(Buffer *attributes, const char *name, const char *reference)
{
    AUTO_BUFFER attribute = {0};
    protobuf_put_text(&attribute, 1, name);
    protobuf_put_text(&attribute, 21, reference);
    protobuf_put_varint(&attribute, 20, 1);
    protobuf_put_message(attributes, 5, &attribute);
}

/* Writes "custom::<name>": z = LeakyRelu(a, alpha = @slope); b = <type>(z). */
static void
put_function(Buffer *functions, const char *name, const char *type, bool has_default)
{
    AUTO_BUFFER function = {0};
    AUTO_BUFFER nodes = {0};
    AUTO_BUFFER attributes = {0};
    protobuf_put_text(&function, 1, name);
    protobuf_put_text(&function, 4, "a");
    protobuf_put_text(&function, 5, "b");
    put_reference(&attributes, "alpha", "slope");
    onnx_put_node(&nodes, "LeakyRelu", "a", "z", &attributes);
    onnx_put_node(&nodes, type, "z", "b", NULL);
    /* Nodes are field 1 of a graph and field 7 of a function. */
    for (size_t index = 0; index < nodes.size;) {
        size_t size = (size_t)(unsigned char)nodes.data[index + 1];
        protobuf_put_bytes(&function, 7, slice_of(nodes.data + index + 2, size));
        index += 2 + size;
    }
    protobuf_put_text(&function, 10, "custom");
    if (has_default) {
        AUTO_BUFFER value = {0};
        protobuf_put_text(&value, 1, "slope");
        protobuf_put_float(&value, 2, 0.25F);
        protobuf_put_varint(&value, 20, 1);
        protobuf_put_message(&function, 11, &value);
    }
    protobuf_put_message(functions, FUNCTIONS, &function);
}

static void
put_call(Buffer *graph, const char *type, const char *input, const char *output, const float *slope)
{
    AUTO_BUFFER node = {0};
    AUTO_BUFFER value = {0};
    protobuf_put_text(&node, 1, input);
    protobuf_put_text(&node, 2, output);
    protobuf_put_text(&node, 3, output);
    protobuf_put_text(&node, 4, type);
    if (slope != NULL) {
        protobuf_put_text(&value, 1, "slope");
        protobuf_put_float(&value, 2, *slope);
        protobuf_put_varint(&value, 20, 1);
        protobuf_put_message(&node, 5, &value);
    }
    protobuf_put_text(&node, 7, "custom");
    protobuf_put_message(graph, 1, &node);
}

static const NodeDef *
find_node(const GraphDef *def, const char *name)
{
    for (size_t index = 0; index < def->node_count; index++) {
        if (slice_equals_string(def->nodes[index].name, name)) {
            return &def->nodes[index];
        }
    }
    fail_msg("no node '%s'", name);
    return NULL;
}

static void
expect_alpha(const GraphDef *def, const char *node, float expected)
{
    const AttrValue *alpha = node_def_attr(find_node(def, node), SLICE("alpha"));
    assert_non_null(alpha);
    assert_true(alpha->kind == ATTR_FLOAT && alpha->value.f == expected);
}

static void
each_use_of_a_function_is_written_out(void **state)
{
    float slope = 0.5F;
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER functions = {0};
    put_inputs(&graph);
    put_function(&functions, "f", "Neg", true);
    put_call(&graph, "f", "x", "c", &slope);
    put_call(&graph, "f", "c", "d", NULL);
    AUTO_GRAPH_DEF def = import_model(*state, &graph, &functions);
    assert_string_equal(graph_literal_text(((Call *)*state)->arena, def), "x = Placeholder()\n"
                                                                          "p = Placeholder()\n"
                                                                          "c/z = onnx::LeakyRelu(x)\n"
                                                                          "c/b = onnx::Neg(c/z)\n"
                                                                          "c/output = onnx::Identity(c/b)\n"
                                                                          "d/z = onnx::LeakyRelu(c/output)\n"
                                                                          "d/b = onnx::Neg(d/z)\n"
                                                                          "d/output = onnx::Identity(d/b)\n");
    expect_alpha(def, "c/z", 0.5F);
    expect_alpha(def, "d/z", 0.25F);
}

static void
an_attribute_that_nobody_binds_is_left_out(void **state)
{
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER functions = {0};
    put_inputs(&graph);
    put_function(&functions, "f", "Neg", false);
    put_call(&graph, "f", "x", "c", NULL);
    AUTO_GRAPH_DEF def = import_model(*state, &graph, &functions);
    assert_null(node_def_attr(find_node(def, "c/z"), SLICE("alpha")));
}

static void
a_function_may_not_call_itself(void **state)
{
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER functions = {0};
    AUTO_BUFFER function = {0};
    AUTO_BUFFER node = {0};
    put_inputs(&graph);
    protobuf_put_text(&function, 1, "f");
    protobuf_put_text(&function, 4, "a");
    protobuf_put_text(&function, 5, "b");
    protobuf_put_text(&node, 1, "a");
    protobuf_put_text(&node, 2, "b");
    protobuf_put_text(&node, 4, "f");
    protobuf_put_text(&node, 7, "custom");
    protobuf_put_message(&function, 7, &node);
    protobuf_put_text(&function, 10, "custom");
    protobuf_put_message(&functions, FUNCTIONS, &function);
    put_call(&graph, "f", "x", "c", NULL);
    expect_refused(*state, &graph, &functions, "node 'c' (f): node 'c/b' (f): function 'f' calls itself");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(branches_take_what_they_use_from_around_them),
        CALL_TEST(subgraphs_nest),
        CALL_TEST(a_subgraph_whose_output_is_nowhere_is_refused),
        CALL_TEST(subgraphs_too_deep_are_refused),
        CALL_TEST(each_use_of_a_function_is_written_out),
        CALL_TEST(an_attribute_that_nobody_binds_is_left_out),
        CALL_TEST(a_function_may_not_call_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
