#include "gateway/formats/graphdef_protobuf.h"

#include "gateway/graphs/graph_import.h"
#include "shared/formats/graphdef_json.h"
#include "shared/graph/graph.h"
#include "shared/ops/registry.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/protobuf_writer.h"

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
read_message(Call *reading, Buffer *message, GraphDef **ret_def)
{
    TensorBuffer *source = tensor_buffer_new(message->size);
    if (source == NULL) {
        return call_fail_memory(reading, "the test");
    }
    if (message->size > 0) {
        memcpy(source->data, message->data, message->size);
    }
    source->size = message->size;
    Status status = graphdef_protobuf_read(reading, source, ret_def);
    tensor_buffer_unref(source);
    return status;
}

static void
expect_json(Buffer *message, const char *expected)
{
    AUTO_GRAPH_DEF def = NULL;
    AUTO_BUFFER written = {0};
    assert_status(&call, STATUS_OK, read_message(&call, message, &def));
    graphdef_json_write(&written, def);
    assert_string_equal(buffer_string(&written), expected);
    buffer_clear(message);
}

static void
expect_refused(Buffer *message, const char *expected)
{
    GraphDef *def = NULL;
    assert_int_equal(read_message(&call, message, &def), STATUS_INVALID_ARGUMENT);
    assert_null(def);
    assert_string_equal(call.error.message, expected);
    buffer_clear(message);
}

/* Writes a graph of one node "n" with one attribute "a". */
static void
put_one_attr(Buffer *graph, Buffer *value)
{
    AUTO_BUFFER node = {0};
    protobuf_put_text(&node, 1, "n");
    graphdef_put_attr(&node, "a", value);
    protobuf_put_message(graph, 1, &node);
}

#define ONE_ATTR(value) "{\"node\":[{\"name\":\"n\",\"attr\":{\"a\":" value "}}]}"

static void
nodes_and_versions_are_read(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER node = {0};
    AUTO_BUFFER value = {0};
    AUTO_BUFFER versions = {0};
    protobuf_put_text(&node, 3, "x");
    protobuf_put_varint(&value, 6, 1);
    graphdef_put_attr(&node, "T", &value);
    protobuf_put_text(&node, 2, "Add");
    protobuf_put_text(&node, 3, "^y");
    protobuf_put_text(&node, 1, "n");
    protobuf_put_text(&node, 4, "/cpu:0");
    protobuf_put_varint(&node, 99, 5);
    protobuf_put_varint(&versions, 1, 134);
    protobuf_put_varint(&versions, 2, 12);
    protobuf_put_message(&graph, 4, &versions);
    protobuf_put_message(&graph, 1, &node);
    expect_json(&graph,
        "{\"node\":[{\"name\":\"n\",\"op\":\"Add\",\"input\":[\"x\",\"^y\"],\"device\":\"/cpu:0\","
        "\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}}],\"versions\":{\"producer\":134,\"minConsumer\":12}}");
}

static void
values_of_every_kind_are_read(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER value = {0};
    AUTO_BUFFER inner = {0};
    protobuf_put_bytes(&value, 2, slice_of("\0\1", 2));
    put_one_attr(&graph, &value);
    expect_json(&graph, ONE_ATTR("{\"s\":\"AAE=\"}"));
    protobuf_put_varint(&value, 3, UINT64_MAX);
    put_one_attr(&graph, &value);
    expect_json(&graph, ONE_ATTR("{\"i\":\"-1\"}"));
    protobuf_put_float(&value, 4, 1.5F);
    put_one_attr(&graph, &value);
    expect_json(&graph, ONE_ATTR("{\"f\":1.5}"));
    protobuf_put_varint(&value, 5, 1);
    put_one_attr(&graph, &value);
    expect_json(&graph, ONE_ATTR("{\"b\":true}"));
    protobuf_put_varint(&inner, 3, 1);
    protobuf_put_message(&value, 7, &inner);
    put_one_attr(&graph, &value);
    expect_json(&graph, ONE_ATTR("{\"shape\":{\"unknownRank\":true}}"));
    protobuf_put_text(&value, 9, "T");
    put_one_attr(&graph, &value);
    expect_json(&graph, ONE_ATTR("{\"placeholder\":\"T\"}"));
    protobuf_put_text(&inner, 1, "f");
    protobuf_put_message(&value, 10, &inner);
    put_one_attr(&graph, &value);
    expect_json(&graph, ONE_ATTR("{\"func\":{\"name\":\"f\"}}"));
}

static void
lists_are_read_packed_or_not(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER value = {0};
    AUTO_BUFFER list = {0};
    protobuf_put_bytes(&list, 3, SLICE("\x01\x02"));
    protobuf_put_varint(&list, 3, 3);
    protobuf_put_message(&value, 1, &list);
    put_one_attr(&graph, &value);
    expect_json(&graph, ONE_ATTR("{\"list\":{\"i\":[\"1\",\"2\",\"3\"]}}"));
    protobuf_put_text(&list, 2, "a");
    protobuf_put_text(&list, 2, "");
    protobuf_put_message(&value, 1, &list);
    put_one_attr(&graph, &value);
    expect_json(&graph, ONE_ATTR("{\"list\":{\"s\":[\"YQ==\",\"\"]}}"));
    protobuf_put_message(&value, 1, &list);
    put_one_attr(&graph, &value);
    expect_json(&graph, ONE_ATTR("{\"list\":{}}"));
    protobuf_put_varint(&list, 3, 1);
    protobuf_put_text(&list, 2, "a");
    protobuf_put_message(&value, 1, &list);
    put_one_attr(&graph, &value);
    expect_refused(&graph, "node 'n': 'a': a list has items of two kinds");
}

static void
put_dim(Buffer *tensor, uint64_t size)
{
    AUTO_BUFFER dim = {0};
    AUTO_BUFFER shape = {0};
    protobuf_put_varint(&dim, 1, size);
    protobuf_put_message(&shape, 2, &dim);
    protobuf_put_message(tensor, 2, &shape);
}

#define TENSOR(dtype, size, rest)                                                                            \
    ONE_ATTR("{\"tensor\":{\"dtype\":\"" dtype "\",\"tensorShape\":{\"dim\":[{\"size\":\"" size              \
             "\"}]}," rest "}}")

static void
tensors_follow_the_rules(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER value = {0};
    AUTO_BUFFER tensor = {0};
    protobuf_put_varint(&tensor, 1, 6); /* DT_INT8: values are cut to a byte, and the last one repeats */
    put_dim(&tensor, 4);
    protobuf_put_bytes(&tensor, 7, SLICE("\x01\xac\x02"));
    protobuf_put_message(&value, 8, &tensor);
    put_one_attr(&graph, &value);
    expect_json(&graph, TENSOR("DT_INT8", "4", "\"tensorContent\":\"ASwsLA==\""));

    protobuf_put_varint(&tensor, 1, 1);
    put_dim(&tensor, 1);
    protobuf_put_float(&tensor, 5, 1.0F);
    protobuf_put_float(&tensor, 5, 2.0F);
    protobuf_put_message(&value, 8, &tensor);
    put_one_attr(&graph, &value);
    expect_json(&graph, TENSOR("DT_FLOAT", "1", "\"tensorContent\":\"AACAPw==\""));

    protobuf_put_varint(&tensor, 1, 7);
    put_dim(&tensor, 2);
    protobuf_put_text(&tensor, 8, "a");
    protobuf_put_message(&value, 8, &tensor);
    put_one_attr(&graph, &value);
    expect_json(&graph, TENSOR("DT_STRING", "2", "\"stringVal\":[\"YQ==\",\"YQ==\"]"));

    protobuf_put_varint(&tensor, 1, 3);
    put_dim(&tensor, 2);
    protobuf_put_text(&tensor, 4, "1234567");
    protobuf_put_message(&value, 8, &tensor);
    put_one_attr(&graph, &value);
    expect_refused(&graph, "node 'n': 'a': the tensor's content has 7 bytes, its shape asks for 8");
}

static void
of_equal_keys_the_last_counts(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER node = {0};
    AUTO_BUFFER value = {0};
    protobuf_put_varint(&value, 3, 1);
    graphdef_put_attr(&node, "b", &value);
    protobuf_put_varint(&value, 3, 2);
    graphdef_put_attr(&node, "a", &value);
    protobuf_put_varint(&value, 3, 3);
    graphdef_put_attr(&node, "b", &value);
    protobuf_put_message(&graph, 1, &node);
    expect_json(&graph, "{\"node\":[{\"attr\":{\"a\":{\"i\":\"2\"},\"b\":{\"i\":\"3\"}}}]}");
}

static void
nesting_has_an_end(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER value = {0};
    AUTO_BUFFER function = {0};
    for (int depth = 0; depth < 1000; depth++) {
        AUTO_BUFFER entry = {0};
        protobuf_put_text(&entry, 1, "a");
        protobuf_put_message(&entry, 2, &value);
        protobuf_put_message(&function, 2, &entry);
        protobuf_put_message(&value, 10, &function);
    }
    put_one_attr(&graph, &value);
    GraphDef *def = NULL;
    assert_int_equal(read_message(&call, &graph, &def), STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(call.error.message, "attributes nest more than 16 deep"));
}

static void
functions_are_read(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER library = {0};
    AUTO_BUFFER function = {0};
    AUTO_BUFFER signature = {0};
    AUTO_BUFFER argument = {0};
    AUTO_BUFFER node = {0};
    AUTO_BUFFER entry = {0};
    protobuf_put_text(&signature, 1, "f");
    protobuf_put_text(&argument, 1, "x");
    protobuf_put_text(&argument, 4, "T");
    protobuf_put_message(&signature, 2, &argument);
    protobuf_put_text(&argument, 1, "y");
    protobuf_put_varint(&argument, 3, 3);
    protobuf_put_varint(&argument, 16, 1);
    protobuf_put_message(&signature, 3, &argument);
    AUTO_BUFFER declared = {0};
    AUTO_BUFFER value = {0};
    protobuf_put_text(&declared, 1, "T");
    protobuf_put_text(&declared, 2, "type");
    protobuf_put_varint(&value, 6, 1);
    protobuf_put_message(&declared, 3, &value);
    protobuf_put_message(&signature, 4, &declared);
    protobuf_put_varint(&signature, 17, 1);
    protobuf_put_message(&function, 1, &signature);
    protobuf_put_text(&node, 1, "n");
    protobuf_put_message(&function, 3, &node);
    protobuf_put_text(&entry, 1, "y");
    protobuf_put_text(&entry, 2, "n:out:0");
    protobuf_put_message(&function, 4, &entry);
    protobuf_put_message(&library, 1, &function);
    protobuf_put_message(&graph, 2, &library);
    expect_json(&graph,
        "{\"library\":{\"function\":[{\"signature\":{\"name\":\"f\",\"inputArg\":[{\"name\":\"x\","
        "\"typeAttr\":\"T\"}],"
        "\"outputArg\":[{\"name\":\"y\",\"type\":\"DT_INT32\",\"isRef\":true}],"
        "\"attr\":[{\"name\":\"T\",\"type\":\"type\",\"defaultValue\":{\"type\":\"DT_FLOAT\"}}],"
        "\"isStateful\":true},\"nodeDef\":[{\"name\":\"n\"}],"
        "\"ret\":{\"y\":\"n:out:0\"}}]}}");
}

static void
put_signature(Buffer *meta_graph, const char *name, const char *tensor)
{
    AUTO_BUFFER info = {0};
    AUTO_BUFFER entry = {0};
    AUTO_BUFFER signature = {0};
    protobuf_put_text(&info, 1, tensor);
    protobuf_put_varint(&info, 2, 1);
    protobuf_put_text(&entry, 1, "in");
    protobuf_put_message(&entry, 2, &info);
    protobuf_put_message(&signature, 1, &entry);
    protobuf_put_text(&entry, 1, name);
    protobuf_put_message(&entry, 2, &signature);
    protobuf_put_message(meta_graph, 5, &entry);
}

static void
read_saved_model(const char *first, const char *second, const char *expected)
{
    AUTO_BUFFER model = {0};
    AUTO_BUFFER meta_graph = {0};
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER node = {0};
    protobuf_put_varint(&model, 1, 1);
    protobuf_put_text(&node, 1, "n");
    protobuf_put_message(&graph, 1, &node);
    protobuf_put_message(&meta_graph, 2, &graph);
    put_signature(&meta_graph, first, first);
    put_signature(&meta_graph, second, second);
    protobuf_put_message(&model, 2, &meta_graph);
    AUTO_GRAPH_DEF def = NULL;
    assert_status(&call, STATUS_OK, read_message(&call, &model, &def));
    assert_int_equal(def->node_count, 1);
    assert_int_equal(def->input_count, 2);
    assert_true(slice_equal(def->inputs[0].name, SLICE("in")));
    assert_true(slice_starts_with(def->inputs[1].name, SLICE("in@")));
    assert_true(slice_equals_string(def->inputs[0].tensor, expected));
    assert_int_equal(def->inputs[0].dtype, DTYPE_FLOAT32);
    assert_int_equal(def->inputs[0].shape.rank, -1);
    assert_int_equal(def->output_count, 0);
}

static void
a_saved_model_brings_its_signature(void **state)
{
    (void)state;
    read_saved_model("classify", "serving_default", "serving_default");
    read_saved_model("predict", "classify", "classify");
}

/* Puts an op definition whose attribute 'a' has this default. */
static void
put_op(Buffer *meta_graph, const char *name, uint64_t default_value)
{
    AUTO_BUFFER value = {0};
    AUTO_BUFFER attribute = {0};
    AUTO_BUFFER op = {0};
    AUTO_BUFFER list = {0};
    AUTO_BUFFER info = {0};
    protobuf_put_varint(&value, 5, default_value);
    protobuf_put_text(&attribute, 1, "a");
    protobuf_put_text(&attribute, 2, "bool");
    protobuf_put_message(&attribute, 3, &value);
    protobuf_put_text(&op, 1, name);
    protobuf_put_message(&op, 4, &attribute);
    protobuf_put_message(&list, 1, &op);
    protobuf_put_message(&info, 2, &list);
    protobuf_put_message(meta_graph, 1, &info);
}

/* Returns the summary of a saved model of one NoOp with 'a' = true, written by a program in which
 * `default_value` was its default. */
static void
summarize_made_with(uint64_t default_value, Buffer *ret_summary)
{
    AUTO_BUFFER model = {0};
    AUTO_BUFFER meta_graph = {0};
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER node = {0};
    AUTO_BUFFER value = {0};
    protobuf_put_text(&node, 1, "n");
    protobuf_put_text(&node, 2, "NoOp");
    protobuf_put_varint(&value, 5, 1);
    graphdef_put_attr(&node, "a", &value);
    protobuf_put_message(&graph, 1, &node);
    protobuf_put_message(&meta_graph, 2, &graph);
    put_op(&meta_graph, "NoOp", default_value);
    protobuf_put_varint(&model, 1, 1);
    protobuf_put_message(&model, 2, &meta_graph);
    AUTO_GRAPH_DEF def = NULL;
    AUTO_GRAPH linked = NULL;
    assert_status(&call, STATUS_OK, read_message(&call, &model, &def));
    assert_status(&call, STATUS_OK, graph_link(&call, def, op_find, (GraphLimits){0}, &linked));
    graph_write_summary(ret_summary, linked);
}

static void
unknown_attributes_that_say_their_default_are_left_out_with_a_warning(void **state)
{
    (void)state;
    AUTO_BUFFER left_out = {0};
    AUTO_BUFFER refused = {0};
    summarize_made_with(1, &left_out);
    assert_non_null(
        strstr(buffer_string(&left_out), "\"warnings\":[\"node 'n': attribute 'a' of op 'NoOp' is not "
                                         "known; it says its default and is left out\"]"));
    summarize_made_with(0, &refused);
    assert_non_null(
        strstr(buffer_string(&refused), "\"warnings\":[\"node 'n': attribute 'a' of op 'NoOp' is not "
                                        "known with this value; steps that need the node are "
                                        "refused\"]"));
}

static void
damaged_bytes_are_refused(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    buffer_append_slice(&graph, SLICE("\x0a\x05"));
    expect_refused(&graph, "the graph is damaged: a length reaches past the end of its message");
    buffer_append_slice(&graph, SLICE("\x0b"));
    expect_refused(&graph, "the graph is damaged: a field has a wire type that cannot be");
    buffer_append_slice(&graph, SLICE("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    expect_refused(&graph, "the graph is damaged: a number has more than 10 bytes");
    buffer_append_slice(&graph, SLICE("\x08\x01"));
    expect_refused(&graph, "the saved model has no graph");
    expect_json(&graph, "{}");
}

static bool
run(void)
{
    Call local = {.arena = arena_new(1 << 20)};
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER value = {0};
    AUTO_BUFFER list = {0};
    AUTO_GRAPH_DEF def = NULL;
    protobuf_put_varint(&list, 3, 3);
    protobuf_put_message(&value, 1, &list);
    put_one_attr(&graph, &value);
    bool is_ok =
        local.arena != NULL && buffer_is_ok(&graph) && read_message(&local, &graph, &def) == STATUS_OK;
    arena_free(local.arena);
    /* A message that a failed allocation cut short may still be a message. */
    return is_ok && def->node_count == 1 && def->nodes[0].attr_count == 1 &&
           def->nodes[0].attrs[0].value.value.list.count == 1;
}

static void
every_failed_allocation_is_survived(void **state)
{
    (void)state;
    assert_each_allocation_may_fail(run, 6);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_and_versions_are_read),
        cmocka_unit_test(values_of_every_kind_are_read),
        cmocka_unit_test(lists_are_read_packed_or_not),
        cmocka_unit_test(tensors_follow_the_rules),
        cmocka_unit_test(of_equal_keys_the_last_counts),
        cmocka_unit_test(nesting_has_an_end),
        cmocka_unit_test(functions_are_read),
        cmocka_unit_test(a_saved_model_brings_its_signature),
        cmocka_unit_test(unknown_attributes_that_say_their_default_are_left_out_with_a_warning),
        cmocka_unit_test(damaged_bytes_are_refused),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("gateway/formats/graphdef_protobuf", tests, set_up, tear_down);
}
