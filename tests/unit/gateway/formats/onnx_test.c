#include "gateway/formats/onnx.h"

#include "shared/base/memory.h"
#include "shared/graph/graph.h"
#include "shared/ops/registry.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/protobuf_writer.h"

enum { INPUT = 11, OUTPUT = 12, FLOAT = 1, INT64 = 7, FLOAT16 = 10 };

static Call call;

static int
set_up(void **state)
{
    (void)state;
    call = (Call){.arena = arena_new(16 << 20)};
    return call.arena == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
    (void)state;
    arena_free(call.arena);
    return 0;
}

static Status
read_graph(Buffer *graph, int64_t opset, GraphDef **ret_def)
{
    TensorBuffer *source = onnx_model(graph, opset);
    Status status = onnx_read(&call, source, ret_def);
    tensor_buffer_unref(source);
    return status;
}

static GraphDef *
import_graph(Buffer *graph, int64_t opset)
{
    GraphDef *def = NULL;
    assert_status(&call, STATUS_OK, read_graph(graph, opset, &def));
    return def;
}

static void
expect_refused(Buffer *graph, int64_t opset, Status code, const char *message)
{
    GraphDef *def = NULL;
    assert_int_equal(read_graph(graph, opset, &def), code);
    assert_null(def);
    assert_string_equal(call.error.message, message);
}

static void
put_x(Buffer *graph)
{
    const int64_t dims[] = {-1, 3};
    onnx_put_value(graph, INPUT, "x", FLOAT, dims, 2);
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

/* Fails unless the node is written as "op(input,input)". */
static void
expect_node(const GraphDef *def, const char *name, const char *expected)
{
    const NodeDef *node = find_node(def, name);
    AUTO_BUFFER text = {0};
    buffer_append_slice(&text, node->op);
    buffer_append_byte(&text, '(');
    for (size_t index = 0; index < node->input_count; index++) {
        buffer_append_string(&text, index == 0 ? "" : ",");
        buffer_append_slice(&text, node->inputs[index]);
    }
    buffer_append_byte(&text, ')');
    assert_string_equal(buffer_string(&text), expected);
}

static void
expect_ints(const GraphDef *def, const char *name, const int64_t *values, size_t count)
{
    const Tensor *tensor = &node_def_attr(find_node(def, name), SLICE("value"))->value.tensor;
    assert_int_equal(tensor->dtype, DTYPE_INT64);
    assert_int_equal(tensor_element_count(tensor), count);
    assert_memory_equal(tensor->data, values, count * sizeof *values);
}

static void
expect_text(const GraphDef *def, const char *name, const char *attr, const char *expected)
{
    const AttrValue *value = node_def_attr(find_node(def, name), slice_from_string(attr));
    assert_non_null(value);
    assert_true(slice_equals_string(value->value.s, expected));
}

static void
a_model_becomes_placeholders_constants_and_nodes(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    const float weights[] = {1, 2, 3};
    put_x(&graph);
    onnx_put_floats_initializer(&graph, "w", weights, 3);
    onnx_put_node(&graph, "Mul", "x,w", "product", NULL);
    onnx_put_node(&graph, "Relu", "product", "y", NULL);
    onnx_put_value(&graph, OUTPUT, "y", FLOAT, (const int64_t[]){-1, 3}, 2);
    AUTO_GRAPH_DEF def = import_graph(&graph, 21);
    assert_int_equal(def->node_count, 4);
    expect_node(def, "x", "Placeholder()");
    expect_node(def, "w", "Const()");
    expect_node(def, "product", "onnx::Mul(x,w)");
    expect_node(def, "y", "onnx::Relu(product)");
    const Shape *shape = &node_def_attr(find_node(def, "x"), SLICE("shape"))->value.shape;
    assert_int_equal(shape->rank, 2);
    assert_int_equal(shape->dims[0], -1);
    assert_int_equal(shape->dims[1], 3);
    const Tensor *value = &node_def_attr(find_node(def, "w"), SLICE("value"))->value.tensor;
    assert_memory_equal(value->data, weights, sizeof weights);
    assert_string_equal(def->nodes[2].pointer, "/graph/node/0");
    assert_int_equal(def->input_count, 1);
    assert_int_equal(def->output_count, 1);
    assert_true(slice_equal(def->outputs[0].tensor, SLICE("y")));
}

static void
models_link_and_their_names_resolve(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    onnx_put_value(&graph, INPUT, "input:0", FLOAT, (const int64_t[]){2}, 1);
    onnx_put_node(&graph, "Relu", "input:0", "/layer/y:0", NULL);
    onnx_put_value(&graph, OUTPUT, "/layer/y:0", FLOAT, (const int64_t[]){2}, 1);
    AUTO_GRAPH_DEF def = import_graph(&graph, 15);
    AUTO_GRAPH linked = NULL;
    assert_status(&call, STATUS_OK, graph_link(&call, def, op_find, (GraphLimits){0}, &linked));
    Endpoint endpoint;
    assert_status(&call, STATUS_OK, graph_endpoint(&call, linked, SLICE("input:0"), &endpoint));
    assert_true(slice_equal(linked->nodes[endpoint.node].name, SLICE("input_0")));
    assert_status(&call, STATUS_OK, graph_endpoint(&call, linked, SLICE("/layer/y:0"), &endpoint));
    assert_true(slice_equal(linked->nodes[endpoint.node].name, SLICE("layer/y_0")));
    const Shape *const *shapes = NULL;
    assert_status(&call, STATUS_OK, graph_infer_shapes(&call, linked, NULL, 0, &shapes));
    assert_int_equal(shapes[endpoint.node][0].dims[0], 2);
}

static void
names_are_made_unique(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    put_x(&graph);
    onnx_put_node(&graph, "Relu", "x", "a:b", NULL);
    onnx_put_node(&graph, "Relu", "a:b", "a?b", NULL);
    onnx_put_node(&graph, "Relu", "a?b", "_", NULL);
    onnx_put_node(&graph, "Relu", "_", "a|b", NULL);
    AUTO_GRAPH_DEF def = import_graph(&graph, 15);
    expect_node(def, "a_b", "onnx::Relu(x)");
    expect_node(def, "a_b_1", "onnx::Relu(a_b)");
    expect_node(def, "node", "onnx::Relu(a_b_1)");
    expect_node(def, "a_b_2", "onnx::Relu(node)");
}

static void
absent_inputs_and_later_outputs_keep_their_place(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    put_x(&graph);
    onnx_put_node(&graph, "Split", "x", "a,b", NULL);
    onnx_put_node(&graph, "Clip", "b,,a", "y", NULL);
    AUTO_GRAPH_DEF def = import_graph(&graph, 13);
    expect_node(def, "y", "onnx::Clip(a:1,,a)");
    assert_int_equal(node_def_attr(find_node(def, "a"), SLICE("num_outputs"))->value.i, 2);
}

static void
axes_become_an_input(void **state)
{
    (void)state;
    const int64_t axes[] = {-1, 0};
    static const struct {
        const char *type;
        int64_t last_opset;
    } cases[] = {
        {"Squeeze", 12}, {"Unsqueeze", 12}, {"ReduceSum", 12}, {"ReduceMax", 17}, {"ReduceMean", 17}};
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        AUTO_BUFFER graph = {0};
        AUTO_BUFFER attributes = {0};
        put_x(&graph);
        onnx_put_ints(&attributes, "axes", axes, 2);
        onnx_put_node(&graph, cases[index].type, "x", "y", &attributes);
        AUTO_GRAPH_DEF def = import_graph(&graph, cases[index].last_opset);
        assert_int_equal(find_node(def, "y")->input_count, 2);
        assert_true(slice_equal(find_node(def, "y")->inputs[1], SLICE("y/axes")));
        assert_int_equal(find_node(def, "y")->attr_count, 0);
        expect_ints(def, "y/axes", axes, 2);
    }
}

static void
newer_models_keep_what_they_say(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    put_x(&graph);
    onnx_put_node(&graph, "ReduceMax", "x", "y", NULL);
    onnx_put_node(&graph, "Softmax", "y", "z", NULL);
    AUTO_GRAPH_DEF def = import_graph(&graph, 18);
    assert_int_equal(def->node_count, 3);
    expect_node(def, "y", "onnx::ReduceMax(x)");
    expect_node(def, "z", "onnx::Softmax(y)");
}

static void
slice_and_top_k_take_inputs(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER attributes = {0};
    const int64_t starts[] = {1};
    const int64_t ends[] = {INT64_MAX};
    put_x(&graph);
    onnx_put_ints(&attributes, "starts", starts, 1);
    onnx_put_ints(&attributes, "ends", ends, 1);
    onnx_put_node(&graph, "Slice", "x", "y", &attributes);
    onnx_put_int(&attributes, "k", 2);
    onnx_put_int(&attributes, "axis", 1);
    onnx_put_node(&graph, "TopK", "y", "v,i", &attributes);
    AUTO_GRAPH_DEF def = import_graph(&graph, 9);
    expect_node(def, "y", "onnx::Slice(x,y/starts,y/ends)");
    expect_ints(def, "y/ends", ends, 1);
    expect_node(def, "v", "onnx::TopK(y,v/k)");
    assert_int_equal(node_def_attr(find_node(def, "v"), SLICE("axis"))->value.i, 1);
}

static void
bounds_and_padding_take_scalars(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER attributes = {0};
    const int64_t pads[] = {0, 1, 0, 1};
    put_x(&graph);
    onnx_put_float(&attributes, "max", 6.0F);
    onnx_put_node(&graph, "Clip", "x", "y", &attributes);
    onnx_put_ints(&attributes, "pads", pads, 4);
    onnx_put_float(&attributes, "value", 1.5F);
    onnx_put_string(&attributes, "mode", "constant");
    onnx_put_node(&graph, "Pad", "y", "z", &attributes);
    AUTO_GRAPH_DEF def = import_graph(&graph, 10);
    expect_node(def, "y", "onnx::Clip(x,,y/max)");
    const Tensor *max = &node_def_attr(find_node(def, "y/max"), SLICE("value"))->value.tensor;
    assert_int_equal(max->shape.rank, 0);
    assert_true(*(const float *)max->data == 6.0F);
    expect_node(def, "z", "onnx::Pad(y,z/pads,z/value)");
}

static void
scalars_follow_their_input_where_floats_differ(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER attributes = {0};
    onnx_put_value(&graph, INPUT, "x", FLOAT16, NULL, 0);
    onnx_put_float(&attributes, "min", 0.0F);
    onnx_put_node(&graph, "Clip", "x", "y", &attributes);
    AUTO_GRAPH_DEF def = import_graph(&graph, 10);
    expect_node(def, "y", "onnx::Clip(x,y/min/cast)");
    expect_node(def, "y/min/cast", "onnx::CastLike(y/min,x)");
}

static void
the_old_softmax_is_spelled_out(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER attributes = {0};
    put_x(&graph);
    onnx_put_node(&graph, "Softmax", "x", "y", NULL);
    onnx_put_int(&attributes, "axis", -1);
    onnx_put_node(&graph, "LogSoftmax", "y", "z", &attributes);
    AUTO_GRAPH_DEF def = import_graph(&graph, 12);
    expect_node(def, "y/shape", "onnx::Shape(x)");
    expect_node(def, "y/flat", "onnx::Flatten(x)");
    expect_node(def, "y/normal", "onnx::Softmax(y/flat)");
    expect_node(def, "y", "onnx::Reshape(y/normal,y/shape)");
    assert_int_equal(node_def_attr(find_node(def, "y/flat"), SLICE("axis"))->value.i, 1);
    assert_int_equal(node_def_attr(find_node(def, "y/normal"), SLICE("axis"))->value.i, -1);
    expect_node(def, "z", "onnx::LogSoftmax(y)");
}

static void
upsample_is_a_resize(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER attributes = {0};
    const float scales[] = {1, 1, 2, 2};
    put_x(&graph);
    onnx_put_string(&attributes, "mode", "bilinear");
    onnx_put_floats(&attributes, "scales", scales, 4);
    onnx_put_node(&graph, "Upsample", "x", "y", &attributes);
    AUTO_GRAPH_DEF def = import_graph(&graph, 7);
    expect_node(def, "y", "onnx::Resize(x,,y/scales)");
    expect_text(def, "y", "mode", "linear");
    expect_text(def, "y", "coordinate_transformation_mode", "asymmetric");
    expect_text(def, "y", "nearest_mode", "floor");
}

static void
variadic_nodes_are_counted(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER attributes = {0};
    put_x(&graph);
    onnx_put_int(&attributes, "axis", 0);
    onnx_put_node(&graph, "Concat", "x,x,x", "y", &attributes);
    AUTO_GRAPH_DEF def = import_graph(&graph, 15);
    assert_int_equal(node_def_attr(find_node(def, "y"), SLICE("N"))->value.i, 3);
}

static void
element_types_are_types(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER attributes = {0};
    put_x(&graph);
    onnx_put_int(&attributes, "to", INT64);
    onnx_put_node(&graph, "Cast", "x", "y", &attributes);
    AUTO_GRAPH_DEF def = import_graph(&graph, 15);
    const AttrValue *to = node_def_attr(find_node(def, "y"), SLICE("to"));
    assert_int_equal(to->kind, ATTR_TYPE);
    assert_int_equal(to->value.type, DTYPE_INT64);
}

static void
a_fill_without_a_value_is_a_float_zero(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    onnx_put_value(&graph, INPUT, "s", INT64, (const int64_t[]){2}, 1);
    onnx_put_node(&graph, "ConstantOfShape", "s", "y", NULL);
    AUTO_GRAPH_DEF def = import_graph(&graph, 9);
    const NodeDef *node = find_node(def, "y");
    assert_int_equal(node_def_attr(node, SLICE("dtype"))->value.type, DTYPE_FLOAT32);
    const Tensor *value = &node_def_attr(node, SLICE("value"))->value.tensor;
    assert_int_equal(tensor_element_count(value), 1);
    assert_true(*(const float *)value->data == 0.0F);
}

static void
constants_come_in_many_forms(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER attributes = {0};
    const int64_t numbers[] = {5, -6};
    onnx_put_ints(&attributes, "value_ints", numbers, 2);
    onnx_put_node(&graph, "Constant", "", "ints", &attributes);
    onnx_put_string(&attributes, "value_string", "hello");
    onnx_put_node(&graph, "Constant", "", "text", &attributes);
    onnx_put_float(&attributes, "value_float", 2.5F);
    onnx_put_node(&graph, "Constant", "", "real", &attributes);
    AUTO_GRAPH_DEF def = import_graph(&graph, 13);
    expect_ints(def, "ints", numbers, 2);
    const Tensor *text = &node_def_attr(find_node(def, "text"), SLICE("value"))->value.tensor;
    assert_true(slice_equal(*(const Slice *)text->data, SLICE("hello")));
    const Tensor *real = &node_def_attr(find_node(def, "real"), SLICE("value"))->value.tensor;
    assert_true(*(const float *)real->data == 2.5F);
}

static void
an_initialized_input_is_a_constant(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    const float weights[] = {1};
    put_x(&graph);
    onnx_put_value(&graph, INPUT, "w", FLOAT, (const int64_t[]){1}, 1);
    onnx_put_floats_initializer(&graph, "w", weights, 1);
    onnx_put_node(&graph, "Mul", "x,w", "y", NULL);
    AUTO_GRAPH_DEF def = import_graph(&graph, 9);
    assert_int_equal(def->input_count, 1);
    expect_node(def, "w", "Const()");
}

static void
large_initializers_stay_where_they_are(void **state)
{
    (void)state;
    static float weights[32768];
    /* Each letter of the name moves the data by a byte: one name in four aligns it, and only aligned data
     * may be shared. */
    static const char *const names[] = {"w", "ww", "www", "wwww"};
    size_t shared = 0;
    for (size_t index = 0; index < COUNT_OF(names); index++) {
        AUTO_BUFFER graph = {0};
        onnx_put_floats_initializer(&graph, names[index], weights, COUNT_OF(weights));
        TensorBuffer *source = onnx_model(&graph, 15);
        AUTO_GRAPH_DEF def = NULL;
        assert_status(&call, STATUS_OK, onnx_read(&call, source, &def));
        const Tensor *tensor = &node_def_attr(&def->nodes[0], SLICE("value"))->value.tensor;
        assert_int_equal((uintptr_t)tensor->data % sizeof(float), 0);
        assert_memory_equal(tensor->data, weights, sizeof weights);
        shared += tensor->buffer == source ? 1 : 0;
        tensor_buffer_unref(source);
    }
    assert_int_equal(shared, 1);
}

static void
what_cannot_be_is_refused_by_name(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    onnx_put_node(&graph, "Relu", "x", "y", NULL);
    expect_refused(&graph, 15, STATUS_INVALID_ARGUMENT, "node 'y' (Relu): input 0 'x' is defined nowhere");
    put_x(&graph);
    onnx_put_node(&graph, "Relu", "x", "x", NULL);
    expect_refused(&graph, 15, STATUS_INVALID_ARGUMENT, "the value 'x' is defined twice");
    onnx_put_value(&graph, OUTPUT, "y", FLOAT, NULL, 0);
    expect_refused(&graph, 15, STATUS_INVALID_ARGUMENT, "the model's output 'y' is defined nowhere");
    onnx_put_value(&graph, INPUT, "x", 17, NULL, 0);
    expect_refused(
        &graph, 15, STATUS_UNIMPLEMENTED, "'x' has the element type FLOAT8E4M3FN, which is not supported");
    onnx_put_value(&graph, INPUT, "x", 99, NULL, 0);
    expect_refused(&graph, 15, STATUS_UNIMPLEMENTED, "'x' has the element type 99, which is not supported");
    expect_refused(&graph, 6, STATUS_UNIMPLEMENTED, "the model imports opset 6, not 7 to 28");
    expect_refused(&graph, 29, STATUS_UNIMPLEMENTED, "the model imports opset 29, not 7 to 28");
}

static void
tensors_hold_what_their_shape_asks_for(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER tensor = {0};
    protobuf_put_varint(&tensor, 1, 2);
    protobuf_put_varint(&tensor, 2, FLOAT);
    protobuf_put_text(&tensor, 8, "w");
    protobuf_put_text(&tensor, 9, "1234");
    protobuf_put_message(&graph, 5, &tensor);
    expect_refused(&graph, 15, STATUS_INVALID_ARGUMENT, "tensor 'w' has 4 bytes, its shape asks for 8");
    protobuf_put_varint(&tensor, 1, 2);
    protobuf_put_varint(&tensor, 2, FLOAT);
    protobuf_put_text(&tensor, 8, "w");
    protobuf_put_float(&tensor, 4, 1);
    protobuf_put_message(&graph, 5, &tensor);
    expect_refused(&graph, 15, STATUS_INVALID_ARGUMENT, "tensor 'w' has 1 elements, its shape asks for 2");
    protobuf_put_varint(&tensor, 2, FLOAT);
    protobuf_put_text(&tensor, 8, "w");
    protobuf_put_varint(&tensor, 14, 1);
    protobuf_put_message(&graph, 5, &tensor);
    expect_refused(&graph, 15, STATUS_INVALID_ARGUMENT,
        "tensor 'w' keeps its data in another file, ''; send that file with the model");
}

static void
other_bytes_are_no_model(void **state)
{
    (void)state;
    TensorBuffer *source = tensor_buffer_new(4);
    GraphDef *def = NULL;
    assert_non_null(source);
    memcpy(source->data, "GIF8", 4);
    assert_int_equal(onnx_read(&call, source, &def), STATUS_INVALID_ARGUMENT);
    source->size = 0;
    assert_int_equal(onnx_read(&call, source, &def), STATUS_INVALID_ARGUMENT);
    assert_string_equal(call.error.message, "the model has no graph; is it ONNX?");
    tensor_buffer_unref(source);
}

static bool
run(void)
{
    Call local = {.arena = arena_new(1 << 20)};
    AUTO_GRAPH_DEF def = NULL;
    bool is_ok = local.arena != NULL;
    if (is_ok) {
        static TensorBuffer *source;
        if (source == NULL) {
            AUTO_BUFFER graph = {0};
            AUTO_BUFFER attributes = {0};
            put_x(&graph);
            onnx_put_floats_initializer(&graph, "w", (const float[]){1}, 1);
            onnx_put_ints(&attributes, "axes", (const int64_t[]){1}, 1);
            onnx_put_node(&graph, "ReduceSum", "x", "y", &attributes);
            onnx_put_node(&graph, "Softmax", "y", "z", NULL);
            source = onnx_model(&graph, 11);
        }
        is_ok = onnx_read(&local, source, &def) == STATUS_OK;
    }
    arena_free(local.arena);
    return is_ok;
}

static void
every_failed_allocation_is_survived(void **state)
{
    (void)state;
    assert_each_allocation_may_fail(run, 10);
}

/* Puts `count` integers, each of them `step` times its position. */
static void
put_positions(Buffer *attributes, const char *name, size_t count, int64_t step)
{
    int64_t *values = memory_new(count, sizeof *values);
    assert_non_null(values);
    for (size_t index = 0; index < count; index++) {
        values[index] = (int64_t)index * step;
    }
    onnx_put_ints(attributes, name, values, count);
    memory_free(values);
}

static void
put_zeros(Buffer *attributes, const char *name, size_t count)
{
    float *values = memory_new(count, sizeof *values);
    assert_non_null(values);
    onnx_put_floats(attributes, name, values, count);
    memory_free(values);
}

/* Puts a TensorProto of one float64 as an attribute. */
static void
put_double(Buffer *attributes, const char *name, double value)
{
    enum {
        NAME = 1,
        TENSOR = 5,
        TYPE = 20,
        TYPE_TENSOR = 4,
        DIMS = 1,
        ELEMENT_TYPE = 2,
        RAW = 9,
        FLOAT64 = 11
    };
    AUTO_BUFFER tensor = {0};
    AUTO_BUFFER attribute = {0};
    enum { ATTRIBUTE = 5 };
    protobuf_put_varint(&tensor, DIMS, 1);
    protobuf_put_varint(&tensor, ELEMENT_TYPE, FLOAT64);
    protobuf_put_bytes(&tensor, RAW, slice_of(&value, sizeof value));
    protobuf_put_text(&attribute, NAME, name);
    protobuf_put_message(&attribute, TENSOR, &tensor);
    protobuf_put_varint(&attribute, TYPE, TYPE_TENSOR);
    protobuf_put_message(attributes, ATTRIBUTE, &attribute);
}

/* Puts trees that are one leaf each. */
static void
put_leaves(Buffer *attributes, size_t count)
{
    static const char leaf[] = "LEAF";
    char *modes = memory_new(count, sizeof leaf);
    assert_non_null(modes);
    for (size_t index = 0; index < count; index++) {
        memcpy(modes + index * sizeof leaf, "LEAF,", sizeof leaf);
    }
    modes[count * sizeof leaf - 1] = 0;
    onnx_put_strings(attributes, "nodes_modes", modes);
    memory_free(modes);
    put_positions(attributes, "nodes_treeids", count, 1);
    put_positions(attributes, "nodes_nodeids", count, 0);
    put_positions(attributes, "nodes_featureids", count, 0);
    put_positions(attributes, "nodes_truenodeids", count, 0);
    put_positions(attributes, "nodes_falsenodeids", count, 0);
    put_positions(attributes, "target_treeids", count, 1);
    put_positions(attributes, "target_nodeids", count, 0);
    put_positions(attributes, "target_ids", count, 0);
    onnx_put_int(attributes, "n_targets", 1);
}

static void
lists_of_trees_take_little_more_memory_than_their_numbers(void **state)
{
    enum { TREES = 100000, MEMORY_MAX = 20 << 20 };
    (void)state;
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER attributes = {0};
    put_leaves(&attributes, TREES);
    put_zeros(&attributes, "nodes_values", TREES);
    put_zeros(&attributes, "target_weights", TREES);
    put_x(&graph);
    onnx_put_node(&graph, "ai.onnx.ml::TreeEnsembleRegressor", "x", "y", &attributes);
    AUTO_GRAPH_DEF def = import_graph(&graph, 17);
    expect_node(def, "y/trees", "ai.onnx.ml::_Trees(x,y/nodes,y/values,y/leaves,y/weights,y/bases)");
    assert_true(arena_size(def->arena) < MEMORY_MAX);
}

static void
numbers_of_trees_may_be_tensors_of_float64(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER attributes = {0};
    put_leaves(&attributes, 1);
    put_double(&attributes, "nodes_values_as_tensor", 0.1);
    put_zeros(&attributes, "target_weights", 1);
    put_x(&graph);
    onnx_put_node(&graph, "ai.onnx.ml::TreeEnsembleRegressor", "x", "y", &attributes);
    AUTO_GRAPH_DEF def = import_graph(&graph, 17);
    const Tensor *values = &find_node(def, "y/values")->attrs[1].value.value.tensor;
    const Tensor *weights = &find_node(def, "y/weights")->attrs[1].value.value.tensor;
    assert_int_equal(values->dtype, DTYPE_FLOAT64);
    assert_true(*(const double *)values->data == 0.1);
    assert_int_equal(weights->dtype, DTYPE_FLOAT64);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_becomes_placeholders_constants_and_nodes),
        cmocka_unit_test(models_link_and_their_names_resolve),
        cmocka_unit_test(names_are_made_unique),
        cmocka_unit_test(absent_inputs_and_later_outputs_keep_their_place),
        cmocka_unit_test(axes_become_an_input),
        cmocka_unit_test(newer_models_keep_what_they_say),
        cmocka_unit_test(slice_and_top_k_take_inputs),
        cmocka_unit_test(bounds_and_padding_take_scalars),
        cmocka_unit_test(scalars_follow_their_input_where_floats_differ),
        cmocka_unit_test(the_old_softmax_is_spelled_out),
        cmocka_unit_test(upsample_is_a_resize),
        cmocka_unit_test(variadic_nodes_are_counted),
        cmocka_unit_test(element_types_are_types),
        cmocka_unit_test(a_fill_without_a_value_is_a_float_zero),
        cmocka_unit_test(constants_come_in_many_forms),
        cmocka_unit_test(an_initialized_input_is_a_constant),
        cmocka_unit_test(large_initializers_stay_where_they_are),
        cmocka_unit_test(what_cannot_be_is_refused_by_name),
        cmocka_unit_test(tensors_hold_what_their_shape_asks_for),
        cmocka_unit_test(other_bytes_are_no_model),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(lists_of_trees_take_little_more_memory_than_their_numbers),
        cmocka_unit_test(numbers_of_trees_may_be_tensors_of_float64),
    };
    return cmocka_run_group_tests_name("gateway/formats/onnx", tests, set_up, tear_down);
}
