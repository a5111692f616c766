#include "shared/graph/graph.h"
#include "shared/ops/registry.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/graph_literals.h"

static Call call;

static int
set_up(void **state)
{
    (void)state;
    call = (Call){.arena = arena_new(1 << 20)};
    return call.arena == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
    (void)state;
    arena_free(call.arena);
    return 0;
}

static Graph *
link_literal(const char *text)
{
    AUTO_GRAPH_DEF def = graph_literal(text);
    Graph *graph = NULL;
    assert_non_null(def);
    assert_status(&call, STATUS_OK, graph_link(&call, def, literal_op_find, (GraphLimits){0}, &graph));
    return graph;
}

static void
refuse_literal(const char *text)
{
    AUTO_GRAPH_DEF def = graph_literal(text);
    Graph *graph = NULL;
    assert_non_null(def);
    call.error.detail_count = 0;
    assert_int_equal(
        graph_link(&call, def, literal_op_find, (GraphLimits){0}, &graph), STATUS_INVALID_ARGUMENT);
    assert_null(graph);
}

/* Fails unless the graph has this one fault, as message and as detail. */
static void
expect_fault(const char *text, const char *pointer, const char *message)
{
    refuse_literal(text);
    assert_string_equal(call.error.message, message);
    assert_int_equal(call.error.detail_count, 1);
    assert_string_equal(call.error.details[0].pointer, pointer);
    assert_string_equal(call.error.details[0].detail, message);
}

#define X "x = Placeholder() dtype=float32\n"
#define I "i = Placeholder() dtype=int32\n"

static void
inputs_resolve_to_nodes_and_ports(void **state)
{
    (void)state;
    AUTO_GRAPH graph =
        link_literal("sum = Add(x, y:0, ^z, ^x, ^z) T=float32\n"
                     "y = Placeholder() dtype=float32\n" X "z = Placeholder() dtype=float32\n");
    const Node *sum = graph_find(graph, SLICE("sum"));
    assert_int_equal(sum->input_count, 2);
    assert_int_equal(sum->inputs[0].node, 2);
    assert_int_equal(sum->inputs[1].node, 1);
    assert_int_equal(sum->input_dtypes[1], DTYPE_FLOAT32);
    assert_int_equal(sum->control_count, 2);
    assert_int_equal(sum->controls[0], 2);
    assert_int_equal(sum->controls[1], 3);
    assert_int_equal(sum->output_count, 1);
    assert_int_equal(sum->output_dtypes[0], DTYPE_FLOAT32);
    const uint32_t order[] = {1, 2, 3, 0};
    assert_memory_equal(graph->order, order, sizeof order);
}

static void
defaults_are_filled_in_declared_order(void **state)
{
    (void)state;
    AUTO_GRAPH graph = link_literal(X "m = MatMul(x, x) _note='free' T=float32");
    const Node *product = graph_find(graph, SLICE("m"));
    assert_int_equal(product->attr_count, 4);
    assert_true(slice_equal(product->attrs[0].name, SLICE("transpose_a")));
    assert_false(node_attr_bool(product, "transpose_b"));
    assert_int_equal(node_attr_type(product, "T"), DTYPE_FLOAT32);
    assert_true(slice_equal(node_attr_string(product, "_note"), SLICE("free")));
    assert_null(node_attr(product, "absent"));
}

static void
ties_in_the_order_break_by_id(void **state)
{
    (void)state;
    AUTO_GRAPH graph = link_literal("e = NoOp(^d)\n"
                                    "d = NoOp()\n"
                                    "c = NoOp(^e)\n"
                                    "b = NoOp(^d)\n"
                                    "a = NoOp()\n");
    const uint32_t order[] = {1, 0, 2, 3, 4};
    assert_memory_equal(graph->order, order, sizeof order);
}

static void
a_loop_is_no_cycle(void **state)
{
    (void)state;
    AUTO_GRAPH graph = link_literal(X "enter = Enter(x) T=float32 frame_name='f'\n"
                                      "merge = Merge(enter, next) T=float32 N=2\n"
                                      "next = NextIteration(merge) T=float32\n");
    const uint32_t order[] = {0, 1, 2, 3};
    assert_memory_equal(graph->order, order, sizeof order);
    assert_int_equal(graph->nodes[2].inputs[1].node, 3);
}

static void
any_other_cycle_is_refused(void **state)
{
    (void)state;
    refuse_literal(X "a = Identity(b) T=float32\nb = Identity(a) T=float32\n");
    assert_string_equal(call.error.message, "2 nodes in or behind a cycle, the first is 'a'");
    assert_int_equal(call.error.detail_count, 2);
    assert_string_equal(call.error.details[1].pointer, "/node/2");
}

static void
faults_of_names_say_where(void **state)
{
    (void)state;
    expect_fault("_x = NoOp()", "/node/0/name",
        "node '_x': the name breaks the grammar [A-Za-z0-9.][A-Za-z0-9_.\\-/]*");
    expect_fault(X X, "/node/1/name", "node 'x': the name is already taken by node 0");
    expect_fault("x = ()", "/node/0/op", "node 'x': the op is missing");
}

static void
faults_of_inputs_say_where(void **state)
{
    (void)state;
    expect_fault(X "y = Identity(z) T=float32", "/node/1/input/0",
        "node 'y': input 0 'z' names a node that does not exist");
    expect_fault(X "y = Identity(x:01) T=float32", "/node/1/input/0",
        "node 'y': input 0 'x:01' is none of 'node', 'node:port' and '^node'");
    expect_fault(X "y = Identity(^x, x) T=float32", "/node/1/input/1",
        "node 'y': input 1 'x' is a data input behind a control input");
    expect_fault(X "y = Identity(x:1) T=float32", "/node/1/input/0",
        "node 'y': input 0 'x:1' does not exist: the node has 1 output");
    expect_fault(X "y = Add(x) T=float32", "/node/1/input", "node 'y': has 1 data input, op 'Add' takes 2");
    expect_fault(
        X "y = Identity(x) T=int32", "/node/1/input/0", "node 'y': input 0 'x:0' is float32, expected int32");
    expect_fault(X "y = Assign(x, x) T=float32", "/node/1/input/0",
        "node 'y': input 0 'x:0' is a value, expected a reference to a variable");
}

static void
faults_of_attributes_say_where(void **state)
{
    (void)state;
    expect_fault("x = Placeholder()", "/node/0/attr/dtype", "node 'x': attribute 'dtype' is missing");
    expect_fault("x = Placeholder() dtype=1", "/node/0/attr/dtype",
        "node 'x': attribute 'dtype' is int, expected type");
    expect_fault(
        "x = Placeholder() dtype=nothing", "/node/0/attr/dtype", "node 'x': attribute 'dtype' is not a type");
    expect_fault("x = NoOp() _class=['loc:@x','loc:@y']", "/node/0/attr/_class",
        "node 'x': attribute '_class' colocates with a node that does not exist");
    expect_fault(X I "s = Split(i, x) num_split=-1 T=float32", "/node/2/attr/num_split",
        "node 's': attribute 'num_split' is no count of tensors");
    expect_fault(X I "s = Split(i, x) num_split=65537 T=float32", "/node/2/attr/num_split",
        "node 's': attribute 'num_split' is no count of tensors");
    expect_fault(X "both = IdentityN(x) T=float32", "/node/1/attr/T",
        "node 'both': attribute 'T' is type, expected a list of type");
}

static Status
link_real_op(const char *text)
{
    AUTO_GRAPH_DEF def = graph_literal(text);
    AUTO_GRAPH graph = NULL;
    assert_non_null(def);
    return graph_link(&call, def, op_find, (GraphLimits){0}, &graph);
}

/* Fails unless who is to run the graph is told of this one fault. */
static void
expect_foreign_fault(const char *text, const char *pointer, const char *message)
{
    AUTO_GRAPH_DEF def = graph_literal(text);
    AUTO_GRAPH graph = NULL;
    assert_non_null(def);
    call.error.detail_count = 0;
    assert_int_equal(
        graph_link(&call, def, op_find, (GraphLimits){.is_to_run = true}, &graph), STATUS_INVALID_ARGUMENT);
    assert_string_equal(call.error.message, message);
    assert_string_equal(call.error.details[0].pointer, pointer);
}

static void
attributes_of_later_versions_are_noted_and_refused_where_the_graph_runs(void **state)
{
    (void)state;
    assert_status(
        &call, STATUS_OK, link_real_op(X "e = Equal(x, x) T=float32 incompatible_shape_error=true"));
    AUTO_GRAPH_DEF def = graph_literal("t = InitializeTableFromTextFileV2(x, y) key_index=0 value_index=0 "
                                       "offset=1\nx = VarHandleOp() dtype=float32 shape=<2>\n"
                                       "y = Placeholder() dtype=string\n");
    AUTO_GRAPH graph = NULL;
    assert_non_null(def);
    assert_status(&call, STATUS_OK, graph_link(&call, def, op_find, (GraphLimits){0}, &graph));
    assert_true(slice_equals_string(graph_find(graph, SLICE("t"))->foreign->name, "offset"));
    assert_null(graph_find(graph, SLICE("x"))->foreign);
    expect_foreign_fault("x = Placeholder() dtype=float32\ny = NoOp() a/b~c=1", "/node/1/attr/a~1b~0c",
        "node 'y': attribute 'a/b~c' is not declared by the op");
}

static void
no_op_divides_by_a_number_of_no_tensors(void **state)
{
    (void)state;
    assert_int_equal(link_real_op(X I "s = Split(i, x) num_split=0 T=float32"), STATUS_INVALID_ARGUMENT);
    assert_string_equal(call.error.message, "node 's': attribute 'num_split' is 0, not at least 1");
    assert_int_equal(link_real_op("p = Pack() N=0 T=float32"), STATUS_INVALID_ARGUMENT);
    assert_string_equal(call.error.message, "node 'p': attribute 'N' is 0, not at least 1");
}

static void
a_constant_is_of_the_dtype_it_claims(void **state)
{
    (void)state;
    expect_fault("c = Const() dtype=int64 value=int8(1)", "/node/0/attr/value",
        "node 'c': attribute 'value' is int8, 'dtype' says int64");
}

static void
several_faults_are_summed_up(void **state)
{
    (void)state;
    char text[512] = "";
    for (size_t index = 0; index < 30; index++) {
        memcpy(text + index * 12, "x = NoOp(y)\n", 13);
    }
    refuse_literal(text);
    assert_string_equal(call.error.message, "node 'x': the name is already taken by node 0, and 58 more");
    assert_int_equal(call.error.detail_count, ERROR_DETAILS_MAX);
}

static void
lists_and_numbers_count_tensors(void **state)
{
    (void)state;
    AUTO_GRAPH graph = link_literal(X I "both = IdentityN(x, i) T=[float32,int32]\n"
                                        "parts = Split(both:1, both:0) num_split=3 T=float32\n"
                                        "pack = Pack(parts:2, parts, x) N=3 T=float32\n");
    assert_int_equal(graph->nodes[2].output_dtypes[1], DTYPE_INT32);
    assert_int_equal(graph->nodes[3].output_count, 3);
    assert_int_equal(graph->nodes[4].input_count, 3);
    assert_int_equal(graph->nodes[4].inputs[0].port, 2);
}

/* Each node waits for the dtype of the next: one pass over the graph settles one of them. */
static void
types_that_wait_for_each_other_take_a_few_turns(void **state)
{
    (void)state;
    AUTO_BUFFER text = {0};
    for (int index = 0; index < 40; index++) {
        buffer_append_format(&text, "p%d = Placeholder() _type_of='p%d'\n", index, index + 1);
    }
    buffer_append_string(&text, "p40 = Placeholder() dtype=float32\n");
    buffer_append_byte(&text, '\0');
    refuse_literal(text.data);
    assert_string_equal(
        call.error.message, "node 'p0': the inputs do not tell the dtype of output 0, and 8 more");
    AUTO_GRAPH graph = link_literal(strstr(text.data, "p30 ="));
    assert_int_equal(graph->nodes[0].output_dtypes[0], DTYPE_FLOAT32);
}

static void
an_unknown_op_is_no_fault(void **state)
{
    (void)state;
    AUTO_GRAPH graph = link_literal("odd = Nonsense() anything=1\n"
                                    "y = Identity(odd:7) T=float32\n");
    assert_null(graph->nodes[0].op);
    assert_int_equal(graph->nodes[1].inputs[0].port, 7);
}

static void
onnx_types_are_bound_from_inputs(void **state)
{
    (void)state;
    AUTO_GRAPH graph = link_literal("sum = onnx::Add(clip, x)\n"
                                    "clip = onnx::Clip(x, , x)\n" X);
    AUTO_GRAPH other = link_literal(X "twist = com.acme::Twist( , x)\n");
    assert_int_equal(graph_find(other, SLICE("twist"))->inputs[0].node, NODE_NONE);
    const Node *clip = graph_find(graph, SLICE("clip"));
    assert_int_equal(node_attr_type(clip, "T"), DTYPE_FLOAT32);
    assert_int_equal(clip->inputs[1].node, NODE_NONE);
    assert_int_equal(graph_find(graph, SLICE("sum"))->output_dtypes[0], DTYPE_FLOAT32);
}

static void
onnx_inputs_left_out_are_there_and_absent(void **state)
{
    (void)state;
    AUTO_GRAPH graph = link_literal(X "clip = onnx::Clip(x)\n");
    assert_int_equal(graph->nodes[1].input_count, 3);
    assert_int_equal(graph->nodes[1].inputs[2].node, NODE_NONE);
}

static void
onnx_inputs_of_one_type_must_agree(void **state)
{
    (void)state;
    expect_fault(X I "sum = onnx::Add(x, i)", "/node/2/input/1",
        "node 'sum': input 1 'i:0' is int32, expected float32");
    expect_fault(X "sum = onnx::Add( , x)", "/node/1/input", "node 'sum': input 0 ('A') may not be absent");
}

static void
endpoints_are_found_by_text(void **state)
{
    (void)state;
    AUTO_GRAPH graph = link_literal(X);
    GraphPort port = {.name = SLICE("the image"), .tensor = SLICE("x:0")};
    graph->def->inputs = &port;
    graph->def->input_count = 1;
    Endpoint endpoint = {.node = 9};
    assert_status(&call, STATUS_OK, graph_endpoint(&call, graph, SLICE("x"), &endpoint));
    assert_int_equal(endpoint.node, 0);
    assert_status(&call, STATUS_OK, graph_endpoint(&call, graph, SLICE("the image"), &endpoint));
    assert_int_equal(graph_endpoint(&call, graph, SLICE("y"), &endpoint), STATUS_NOT_FOUND);
    assert_string_equal(call.error.message, "the graph has no node for 'y'");
    assert_int_equal(graph_endpoint(&call, graph, SLICE("x:1"), &endpoint), STATUS_INVALID_ARGUMENT);
    assert_string_equal(call.error.message, "'x:1' does not exist: the node has 1 output");
    assert_int_equal(graph_endpoint(&call, graph, SLICE("^x"), &endpoint), STATUS_INVALID_ARGUMENT);
    assert_string_equal(call.error.message, "'^x' is neither 'node' nor 'node:port'");
}

static Status
link_with(GraphDef *def, GraphLimits limits)
{
    AUTO_GRAPH graph = NULL;
    return graph_link(&call, def, literal_op_find, limits, &graph);
}

static void
limits_hold(void **state)
{
    (void)state;
    AUTO_GRAPH_DEF def = graph_literal(X I);
    assert_int_equal(link_with(def, (GraphLimits){.node_count_max = 1}), STATUS_RESOURCE_EXHAUSTED);
    assert_string_equal(call.error.message, "the graph has 2 nodes, at most 1 are allowed");
    def->min_consumer = 3000;
    assert_int_equal(link_with(def, (GraphLimits){0}), STATUS_INVALID_ARGUMENT);
    def->min_consumer = 12;
    def->producer = -1;
    assert_int_equal(link_with(def, (GraphLimits){0}), STATUS_INVALID_ARGUMENT);
    assert_string_equal(call.error.message, "the graph's producer version is -1, at least 0");
    def->producer = 1569;
    assert_status(&call, STATUS_OK, link_with(def, (GraphLimits){.node_count_max = 2}));
}

static void
internal_names_pass_where_allowed(void **state)
{
    (void)state;
    AUTO_GRAPH_DEF def = graph_literal("_recv_x_0 = NoOp()");
    assert_status(&call, STATUS_OK, link_with(def, (GraphLimits){.allows_internal = true}));
}

static void
release_buffer(void *buffer)
{
    tensor_buffer_unref(buffer);
}

/* Returns one node's graph whose attribute 'value' is absent. */
static GraphDef *
absent_literal(const char *text)
{
    Shape shape = shape_vector(3);
    Sha256 digest = {{7}};
    GraphDef *def = graph_literal(text);
    assert_non_null(def);
    Attr *attrs = (Attr *)(uintptr_t)def->nodes[0].attrs;
    for (size_t index = 0; index < def->nodes[0].attr_count; index++) {
        if (slice_equals_string(attrs[index].name, "value")) {
            Tensor *tensor = &attrs[index].value.value.tensor;
            assert_true(tensor_new_absent(DTYPE_FLOAT32, &shape, &digest, tensor));
            assert_non_null(arena_defer(def->arena, release_buffer, tensor->buffer));
        }
    }
    return def;
}

static void
only_constants_may_be_absent_and_not_where_they_are_read(void **state)
{
    (void)state;
    AUTO_GRAPH_DEF constant = absent_literal("w = Const() dtype=float32 value=float32(1)");
    assert_status(&call, STATUS_OK, link_with(constant, (GraphLimits){0}));
    assert_int_equal(link_with(constant, (GraphLimits){.is_to_run = true}), STATUS_INVALID_ARGUMENT);
    assert_string_equal(
        call.error.message, "node 'w': attribute 'value' has a value that is not in the graph");
    AUTO_GRAPH_DEF other = absent_literal("w = NoOp() value=float32(1)");
    assert_int_equal(link_with(other, (GraphLimits){0}), STATUS_INVALID_ARGUMENT);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_resolve_to_nodes_and_ports),
        cmocka_unit_test(defaults_are_filled_in_declared_order),
        cmocka_unit_test(ties_in_the_order_break_by_id),
        cmocka_unit_test(a_loop_is_no_cycle),
        cmocka_unit_test(any_other_cycle_is_refused),
        cmocka_unit_test(faults_of_names_say_where),
        cmocka_unit_test(faults_of_inputs_say_where),
        cmocka_unit_test(faults_of_attributes_say_where),
        cmocka_unit_test(attributes_of_later_versions_are_noted_and_refused_where_the_graph_runs),
        cmocka_unit_test(no_op_divides_by_a_number_of_no_tensors),
        cmocka_unit_test(a_constant_is_of_the_dtype_it_claims),
        cmocka_unit_test(several_faults_are_summed_up),
        cmocka_unit_test(lists_and_numbers_count_tensors),
        cmocka_unit_test(types_that_wait_for_each_other_take_a_few_turns),
        cmocka_unit_test(an_unknown_op_is_no_fault),
        cmocka_unit_test(onnx_types_are_bound_from_inputs),
        cmocka_unit_test(onnx_inputs_left_out_are_there_and_absent),
        cmocka_unit_test(onnx_inputs_of_one_type_must_agree),
        cmocka_unit_test(endpoints_are_found_by_text),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(only_constants_may_be_absent_and_not_where_they_are_read),
        cmocka_unit_test(internal_names_pass_where_allowed),
    };
    return cmocka_run_group_tests_name("shared/graph/link", tests, set_up, tear_down);
}
