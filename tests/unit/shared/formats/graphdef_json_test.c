#include <time.h>

#include "shared/formats/graphdef_json.h"

#include "shared/base/clock.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"

static Call call;

static int
set_up(void **state)
{
    (void)state;
    call = (Call){.arena = arena_new(64 << 20)};
    return call.arena == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
    (void)state;
    arena_free(call.arena);
    return 0;
}

static GraphDef *
read_text(const char *text)
{
    GraphDef *def = NULL;
    assert_status(&call, STATUS_OK, graphdef_json_read(&call, slice_from_string(text), &def));
    return def;
}

static void
expect_refused(const char *text, const char *message)
{
    GraphDef *def = NULL;
    assert_int_equal(graphdef_json_read(&call, slice_from_string(text), &def), STATUS_INVALID_ARGUMENT);
    assert_null(def);
    assert_string_equal(call.error.message, message);
}

static void
expect_written(const GraphDef *def, const char *expected)
{
    AUTO_BUFFER buffer = {0};
    graphdef_json_write(&buffer, def);
    assert_string_equal(buffer_string(&buffer), expected);
}

static const AttrValue *
attr_of(const GraphDef *def, Slice name)
{
    assert_int_equal(def->node_count, 1);
    const AttrValue *value = node_def_attr(&def->nodes[0], name);
    assert_non_null(value);
    return value;
}

static void
expect_foreign_type(const char *type, uint8_t number)
{
    AUTO_BUFFER buffer = {0};
    buffer_append_format(
        &buffer, "{\"node\":[{\"name\":\"n\",\"op\":\"Cast\",\"attr\":{\"T\":{\"type\":%s}}}]}", type);
    AUTO_GRAPH_DEF def = read_text(buffer_string(&buffer));
    const AttrValue *value = attr_of(def, SLICE("T"));
    assert_int_equal(value->value.type, DTYPE_INVALID);
    assert_int_equal(value->foreign_type, number);
}

static void
a_type_without_a_dtype_keeps_its_number(void **state)
{
    (void)state;
    expect_foreign_type("\"DT_FLOAT8_E4M3FN\"", 25);
    expect_foreign_type("24", 24);
    expect_foreign_type("\"DT_MOON\"", 0);
    expect_foreign_type("99", 0);
}

/* Reads a graph whose one node has the one attribute "a". */
static const Tensor *
read_tensor_attr(const char *text, GraphDef **ret_def)
{
    AUTO_BUFFER buffer = {0};
    buffer_append_format(
        &buffer, "{\"node\":[{\"name\":\"n\",\"op\":\"Const\",\"attr\":{\"a\":{\"tensor\":%s}}}]}", text);
    *ret_def = read_text(buffer_string(&buffer));
    return &attr_of(*ret_def, SLICE("a"))->value.tensor;
}

static void
expect_tensor_refused(const char *text, const char *message)
{
    AUTO_BUFFER buffer = {0};
    buffer_append_format(
        &buffer, "{\"node\":[{\"name\":\"n\",\"op\":\"Const\",\"attr\":{\"a\":{\"tensor\":%s}}}]}", text);
    expect_refused(buffer_string(&buffer), message);
}

static void
what_converters_write_is_read(void **state)
{
    (void)state;
    AUTO_GRAPH_DEF def =
        read_text("{\"node\":[{\"name\":\"pool\",\"op\":\"AvgPool\",\"input\":[\"x\",\"^y\"],\"device\":\"/"
                  "cpu:0\",\"attr\":{"
                  "\"ksize\":{\"list\":{\"i\":[\"1\",\"7\",\"7\",\"1\"]}},\"padding\":{\"s\":\"VkFMSUQ=\"},"
                  "\"T\":{\"type\":\"DT_FLOAT\"}}}],\"versions\":{\"producer\":134,\"min_consumer\":12}}");
    assert_int_equal(def->producer, 134);
    assert_int_equal(def->min_consumer, 12);
    const NodeDef *node = &def->nodes[0];
    assert_true(slice_equal(node->op, SLICE("AvgPool")));
    assert_int_equal(node->input_count, 2);
    assert_true(slice_equal(node->inputs[1], SLICE("^y")));
    assert_true(slice_equal(node->device, SLICE("/cpu:0")));
    assert_true(slice_equal(attr_of(def, SLICE("padding"))->value.s, SLICE("VALID")));
    const AttrValue *ksize = attr_of(def, SLICE("ksize"));
    assert_true(ksize->is_list && ksize->kind == ATTR_INT);
    assert_int_equal(ksize->value.list.items[1].value.i, 7);
    assert_int_equal(attr_of(def, SLICE("T"))->value.type, DTYPE_FLOAT32);
}

static void
both_spellings_of_everything_are_understood(void **state)
{
    (void)state;
    AUTO_GRAPH_DEF def = read_text(
        "{\"node\":[{\"name\":\"n\",\"op\":\"X\",\"device\":null,\"attr\":{\"number\":{\"type\":3},\"name\":{"
        "\"type\":\"DT_INT32\"},"
        "\"plain\":{\"i\":-5},\"quoted\":{\"i\":\"-9223372036854775808\"},\"safe\":{\"s\":\"-_8\"},"
        "\"standard\":{\"s\":\"+/8=\"},\"nan\":{\"f\":\"NaN\"},"
        "\"snake\":{\"tensor\":{\"dtype\":1,\"tensor_shape\":{\"unknown_rank\":false},\"float_val\":[2.5]}},"
        "\"camel\":{\"tensor\":{\"dtype\":1,\"tensorShape\":{\"dim\":[]},\"floatVal\":[2.5]}}}}]}");
    assert_int_equal(attr_of(def, SLICE("number"))->value.type, DTYPE_INT32);
    assert_int_equal(attr_of(def, SLICE("plain"))->value.i, -5);
    assert_true(attr_of(def, SLICE("quoted"))->value.i == INT64_MIN);
    assert_true(attr_value_equal(attr_of(def, SLICE("number")), attr_of(def, SLICE("name"))));
    assert_true(attr_value_equal(attr_of(def, SLICE("safe")), attr_of(def, SLICE("standard"))));
    assert_true(attr_value_equal(attr_of(def, SLICE("snake")), attr_of(def, SLICE("camel"))));
    float nan = attr_of(def, SLICE("nan"))->value.f;
    assert_true(nan != nan);
}

static void
the_canonical_form_is_a_fixed_point(void **state)
{
    (void)state;
    const char *canonical =
        "{\"node\":[{\"name\":\"a\",\"op\":\"Odd\",\"attr\":{"
        "\"b\":{\"b\":false},\"e\":{\"list\":{}},\"f\":{\"f\":1.5},"
        "\"fn\":{\"func\":{\"name\":\"g\",\"attr\":{\"T\":{\"type\":\"DT_INT8\"}}}},"
        "\"i\":{\"i\":\"0\"},\"none\":{},\"p\":{\"placeholder\":\"T\"},\"s\":{\"s\":\"AAE=\"},"
        "\"sh\":{\"shape\":{\"dim\":[{\"size\":\"-1\"},{},{\"size\":\"3\"}]}},"
        "\"sl\":{\"list\":{\"shape\":[{},{\"unknownRank\":true}]}},"
        "\"st\":{\"tensor\":{\"dtype\":\"DT_STRING\",\"tensorShape\":{\"dim\":[{\"size\":\"2\"}]},"
        "\"stringVal\":[\"YQ==\",\"\"]}},"
        "\"t\":{\"tensor\":{\"dtype\":\"DT_INT16\",\"tensorShape\":{\"dim\":[{\"size\":\"2\"}]},"
        "\"tensorContent\":\"AQACAA==\"}},"
        "\"z\":{\"tensor\":{\"dtype\":\"DT_FLOAT\",\"tensorShape\":{\"dim\":[{}]}}}}},"
        "{\"name\":\"b\",\"op\":\"Identity\",\"input\":[\"a:1\",\"^a\"],\"device\":\"/gpu:0\"}],"
        "\"library\":{\"function\":[{\"signature\":{\"name\":\"g\",\"inputArg\":[{\"name\":\"x\","
        "\"typeAttr\":\"T\"}],"
        "\"outputArg\":[{\"name\":\"y\",\"type\":\"DT_INT32\",\"isRef\":true}],\"controlOutput\":[\"done\"],"
        "\"attr\":[{\"name\":\"T\",\"type\":\"type\"},"
        "{\"name\":\"n\",\"type\":\"list(int)\",\"defaultValue\":{\"list\":{\"i\":[\"1\"]}}}],"
        "\"isStateful\":true},"
        "\"nodeDef\":[{\"name\":\"n\",\"op\":\"NoOp\"}],\"ret\":{\"y\":\"n:out:0\"},"
        "\"attr\":{\"_noinline\":{\"b\":true}},\"controlRet\":{\"done\":\"n\"}}]},"
        "\"versions\":{\"producer\":134,\"minConsumer\":12}}";
    AUTO_GRAPH_DEF def = read_text(canonical);
    expect_written(def, canonical);
}

static void
attributes_are_written_sorted(void **state)
{
    (void)state;
    AUTO_GRAPH_DEF def =
        read_text("{\"node\":[{\"attr\":{\"b\":{\"i\":1},\"a\":{\"i\":2}},\"op\":\"O\",\"name\":\"n\"}]}");
    expect_written(
        def, "{\"node\":[{\"name\":\"n\",\"op\":\"O\",\"attr\":{\"a\":{\"i\":\"2\"},\"b\":{\"i\":\"1\"}}}]}");
}

static void
an_empty_graph_is_an_empty_object(void **state)
{
    (void)state;
    AUTO_GRAPH_DEF def = read_text(" { } ");
    assert_int_equal(def->node_count, 0);
    expect_written(def, "{}");
}

static void
typed_values_fill_tensors(void **state)
{
    (void)state;
    AUTO_GRAPH_DEF fewer = NULL;
    const Tensor *tensor = read_tensor_attr(
        "{\"dtype\":\"DT_INT8\",\"tensorShape\":{\"dim\":[{\"size\":4}]},\"intVal\":[1,300]}", &fewer);
    const int8_t repeated[] = {1, 44, 44, 44};
    assert_memory_equal(tensor->data, repeated, sizeof repeated);

    AUTO_GRAPH_DEF none = NULL;
    tensor = read_tensor_attr("{\"dtype\":\"DT_DOUBLE\",\"tensorShape\":{\"dim\":[{\"size\":2}]}}", &none);
    assert_true(((const double *)tensor->data)[1] == 0.0);

    AUTO_GRAPH_DEF more = NULL;
    tensor = read_tensor_attr("{\"boolVal\":[true,false,true],\"dtype\":\"DT_BOOL\"}", &more);
    assert_int_equal(tensor->shape.rank, 0);
    assert_true(*(const bool *)tensor->data);

    AUTO_GRAPH_DEF complex = NULL;
    tensor = read_tensor_attr(
        "{\"dtype\":\"DT_COMPLEX64\",\"tensorShape\":{\"dim\":[{\"size\":2}]},\"scomplexVal\":[1,2]}",
        &complex);
    const float pairs[] = {1, 2, 1, 2};
    assert_memory_equal(tensor->data, pairs, sizeof pairs);

    AUTO_GRAPH_DEF half = NULL;
    tensor = read_tensor_attr("{\"dtype\":\"DT_BFLOAT16\",\"halfVal\":[16256]}", &half);
    assert_int_equal(*(const uint16_t *)tensor->data, 0x3f80);

    AUTO_GRAPH_DEF big = NULL;
    tensor = read_tensor_attr("{\"dtype\":\"DT_UINT64\",\"uint64Val\":[\"18446744073709551615\"]}", &big);
    assert_true(*(const uint64_t *)tensor->data == UINT64_MAX);
}

static void
strings_come_as_values_or_as_content(void **state)
{
    (void)state;
    AUTO_GRAPH_DEF values = NULL;
    AUTO_GRAPH_DEF content = NULL;
    const Tensor *left = read_tensor_attr("{\"dtype\":\"DT_STRING\",\"tensorShape\":{\"dim\":[{"
                                          "\"size\":2}]},\"stringVal\":[\"YWI=\",\"Yw==\"]}",
        &values);
    const Tensor *right = /* the lengths 2 and 1, then "abc" */
        read_tensor_attr("{\"dtype\":\"DT_STRING\",\"tensorShape\":{\"dim\":[{\"size\":2}]},"
                         "\"tensorContent\":\"AgFhYmM=\"}",
            &content);
    assert_true(tensor_equal(left, right));
    expect_tensor_refused(
        "{\"dtype\":\"DT_STRING\",\"tensorShape\":{\"dim\":[{\"size\":2}]},\"tensorContent\":\"AgJhYmM=\"}",
        "node 'n': 'a': a string tensor's content does not have the bytes of 2 elements");
}

/* Messages name the node and the attribute around the fault. */
static void
faults_name_node_and_attribute(void **state)
{
    (void)state;
    expect_refused("{\"node\":[{\"name\":\"n\",\"atr\":{}}]}", "node 'n': NodeDef has no member 'atr'");
    expect_refused("{\"node\":[{\"name\":\"n\",\"attr\":{\"T\":{\"typ\":1}}}]}",
        "node 'n': 'T': AttrValue has no member 'typ'");
    expect_refused("{\"node\":[{\"name\":\"n\",\"attr\":{\"T\":{\"type\":\"FLOAT\"}}}]}",
        "node 'n': 'T': 'FLOAT' is no DataType");
    expect_refused("{\"node\":[{\"name\":\"n\",\"attr\":{\"T\":{\"i\":1,\"s\":\"\"}}}]}",
        "node 'n': 'T': AttrValue has two values at once");
    expect_refused("{\"node\":[{\"name\":\"n\",\"attr\":{\"T\":{\"list\":{\"i\":[1],\"f\":[1]}}}}]}",
        "node 'n': 'T': a list has items of two kinds");
    expect_refused("{\"node\":[{\"name\":\"n\",\"attr\":{\"T\":{\"s\":\"?\"}}}]}",
        "node 'n': 'T': bytes are not in base64");
    expect_refused(
        "{\"node\":[{\"name\":\"n\",\"attr\":{\"T\":{\"type\":500}}}]}", "node 'n': 'T': 500 is no DataType");
    expect_refused("{\"nodes\":[]}", "GraphDef has no member 'nodes'");
}

static void
faults_of_tensors_say_why(void **state)
{
    (void)state;
    expect_tensor_refused(
        "{\"dtype\":\"DT_INT8\",\"tensorShape\":{\"dim\":[{\"size\":3}]},\"tensorContent\":\"AQI=\"}",
        "node 'n': 'a': the tensor's content has 2 bytes, its shape asks for 3");
    expect_tensor_refused("{\"dtype\":\"DT_INT8\",\"tensorShape\":{\"dim\":[{\"size\":-1}]}}",
        "node 'n': 'a': a tensor has shape [?], which is not known");
    expect_tensor_refused("{\"dtype\":\"DT_INT8\",\"tensorShape\":{\"dim\":[{\"size\":-2}]}}",
        "node 'n': 'a': a shape has dimension -2");
    expect_tensor_refused(
        "{\"dtype\":\"DT_INT8\",\"tensorShape\":{\"dim\":[{\"size\":4294967296},{\"size\":4294967296}]}}",
        "node 'n': 'a': a tensor has shape [4294967296,4294967296], which is too large");
}

static void
few_bytes_cannot_ask_for_many(void **state)
{
    (void)state;
    Slice text = SLICE("{\"node\":[{\"attr\":{\"a\":{\"tensor\":{\"dtype\":1,\"tensorShape\":{\"dim\":["
                       "{\"size\":1000000000}]}}}}}]}");
    GraphDef *def = NULL;
    assert_int_equal(graphdef_json_read(&call, text, &def), STATUS_RESOURCE_EXHAUSTED);
}

#define ABSENT(dtype, ref)                                                                                   \
    "{\"node\":[{\"name\":\"w\",\"op\":\"Const\",\"attr\":{\"value\":{\"tensor\":{\"dtype\":\"" dtype        \
    "\",\"tensorShape\":{\"dim\":[{\"size\":\"4\"},{\"size\":\"1000000000000\"}]},\"ref\":\"" ref "\"}}}}]}"

static void
a_tensor_may_be_named_by_its_digest(void **state)
{
    (void)state;
    const char *text =
        ABSENT("DT_FLOAT", "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    AUTO_GRAPH_DEF def = read_text(text);
    const Tensor *tensor = &attr_of(def, SLICE("value"))->value.tensor;
    Sha256 digest;
    sha256(SLICE("abc"), &digest);
    assert_true(tensor_is_absent(tensor));
    assert_true(sha256_equal(tensor_digest(tensor), &digest));
    assert_int_equal(tensor_byte_size(tensor), 16000000000000);
    expect_written(def, text);
    expect_refused(ABSENT("DT_FLOAT", "sha256:ba78"),
        "node 'w': 'value': the reference 'sha256:ba78' is not 'sha256:' and 64 lower-case hex digits");
    expect_refused(
        ABSENT("DT_STRING", "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        "node 'w': 'value': a tensor of string elements is no blob, or too large");
}

static void
a_dtype_we_have_not_is_invalid_until_needed(void **state)
{
    (void)state;
    AUTO_GRAPH_DEF def = read_text("{\"node\":[{\"attr\":{\"a\":{\"type\":\"DT_QINT8\"},\"b\":{\"type\":11},"
                                   "\"c\":{\"tensor\":{\"dtype\":\"DT_QINT8\",\"intVal\":[1]}}}}]}");
    assert_int_equal(attr_of(def, SLICE("a"))->value.type, DTYPE_INVALID);
    assert_int_equal(attr_of(def, SLICE("b"))->value.type, DTYPE_INVALID);
    assert_int_equal(attr_of(def, SLICE("c"))->value.tensor.dtype, DTYPE_INVALID);
}

static void
text_that_is_no_json_says_where(void **state)
{
    (void)state;
    GraphDef *def = NULL;
    assert_int_equal(
        graphdef_json_read(&call, SLICE("{\"node\":[{\"name\":\"n\"]}"), &def), STATUS_INVALID_ARGUMENT);
    assert_string_equal(call.error.message, "node 'n': line 1, column 21: expected ',' or '}', found ']'");
    assert_int_equal(graphdef_json_read(&call, SLICE("{}{}"), &def), STATUS_INVALID_ARGUMENT);
    assert_int_equal(graphdef_json_read(&call, SLICE(""), &def), STATUS_INVALID_ARGUMENT);
}

enum { FEW_NODES = 1000, MANY_NODES = 16 * FEW_NODES };

static void
write_layers(Buffer *buffer, int node_count)
{
    buffer_append_string(buffer,
        "{\"node\":[{\"name\":\"n0\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"}}}");
    for (int index = 1; index < node_count; index++) {
        buffer_append_format(buffer,
            ",{\"name\":\"layer_%d/conv\",\"op\":\"Conv2D\",\"input\":[\"layer_%d/relu\",\"layer_%d/weights/"
            "read\"],"
            "\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"},\"data_format\":{\"s\":\"TkhXQw==\"},"
            "\"padding\":{\"s\":\"U0FNRQ==\"},\"strides\":{\"list\":{\"i\":[\"1\",\"2\",\"2\",\"1\"]}}}}",
            index, index - 1, index);
    }
    buffer_append_string(buffer, "]}");
}

/* Returns the CPU time of this thread, so that other processes on the machine do not count. */
static uint64_t
processor_ns(void)
{
    struct timespec time;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time), 0);
    return (uint64_t)time.tv_sec * CLOCK_NS_PER_S + (uint64_t)time.tv_nsec;
}

/* Lowers *best_ns to what it takes to read a graph of so many nodes, which is written again as it was. */
static void
read_layers(int node_count, uint64_t *best_ns)
{
    AUTO_BUFFER buffer = {0};
    AUTO_BUFFER again = {0};
    AUTO_GRAPH_DEF def = NULL;
    write_layers(&buffer, node_count);
    uint64_t start_ns = processor_ns();
    assert_status(&call, STATUS_OK, graphdef_json_read(&call, buffer_slice(&buffer), &def));
    uint64_t taken_ns = processor_ns() - start_ns;
    *best_ns = taken_ns < *best_ns ? taken_ns : *best_ns;
    assert_int_equal(def->node_count, node_count);
    graphdef_json_write(&again, def);
    assert_true(slice_equal(buffer_slice(&again), buffer_slice(&buffer)));
}

/* Reading that took the square of the nodes would take 256 times as long for 16 times as many. A machine that
 * is busy may disturb one measurement or some, but not all. */
static void
the_time_to_read_a_graph_grows_no_faster_than_its_nodes(void **state)
{
    enum { TRIES = 20, GROWTH_MAX = 64 };
    (void)state;
    uint64_t few_ns = UINT64_MAX;
    uint64_t many_ns = UINT64_MAX;
    for (int tries = 0; tries < TRIES && (tries == 0 || many_ns / few_ns >= GROWTH_MAX); tries++) {
        read_layers(FEW_NODES, &few_ns);
        read_layers(MANY_NODES, &many_ns);
        few_ns = few_ns == 0 ? 1 : few_ns;
    }
    assert_in_range(many_ns / few_ns, 0, GROWTH_MAX - 1);
}

static bool
run(void)
{
    static const char text[] =
        "{\"node\":[{\"name\":\"n\",\"attr\":{\"b\":{\"list\":{\"i\":[1]}},\"a\":{\"s\":\"YQ==\"},"
        "\"c\":{\"tensor\":{\"dtype\":7,\"stringVal\":[\"YQ==\"]}},"
        "\"d\":{\"tensor\":{\"dtype\":1,\"floatVal\":[1]}}}}]}";
    Call local = {.arena = arena_new(1 << 20)};
    AUTO_GRAPH_DEF def = NULL;
    AUTO_BUFFER buffer = {0};
    bool is_ok =
        local.arena != NULL && graphdef_json_read(&local, slice_from_string(text), &def) == STATUS_OK;
    if (is_ok) {
        graphdef_json_write(&buffer, def);
        is_ok = buffer_is_ok(&buffer);
    }
    arena_free(local.arena);
    return is_ok;
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
        cmocka_unit_test(a_type_without_a_dtype_keeps_its_number),
        cmocka_unit_test(a_tensor_may_be_named_by_its_digest),
        cmocka_unit_test(what_converters_write_is_read),
        cmocka_unit_test(both_spellings_of_everything_are_understood),
        cmocka_unit_test(the_canonical_form_is_a_fixed_point),
        cmocka_unit_test(attributes_are_written_sorted),
        cmocka_unit_test(an_empty_graph_is_an_empty_object),
        cmocka_unit_test(typed_values_fill_tensors),
        cmocka_unit_test(strings_come_as_values_or_as_content),
        cmocka_unit_test(faults_name_node_and_attribute),
        cmocka_unit_test(faults_of_tensors_say_why),
        cmocka_unit_test(few_bytes_cannot_ask_for_many),
        cmocka_unit_test(a_dtype_we_have_not_is_invalid_until_needed),
        cmocka_unit_test(text_that_is_no_json_says_where),
        cmocka_unit_test(the_time_to_read_a_graph_grows_no_faster_than_its_nodes),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("shared/formats/graphdef_json", tests, set_up, tear_down);
}
