#include "shared/json/reader.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"

typedef struct Options {
    const char *name;
    bool is_open;
    int64_t count;
    double weight;
    Slice extra;
} Options;

static const JsonMember members[] = {
    {"name", JSON_STRING_COPY, .offset = offsetof(Options, name), .is_required = true, .minimum = 1,
        .maximum = 5},
    {"is_open", JSON_BOOLEAN, .offset = offsetof(Options, is_open)},
    {"count", JSON_INT64, .offset = offsetof(Options, count), .minimum = -1, .maximum = INT64_MAX},
    {"weight", JSON_DOUBLE, .offset = offsetof(Options, weight)},
    {"extra", JSON_TEXT, .offset = offsetof(Options, extra)},
};
static const JsonTable table = JSON_TABLE("options", members);

static Status
read_options(Call *call, const char *text, Options *ret_options)
{
    return json_document_read(call, slice_from_string(text), &table, ret_options);
}

static void
a_document_fills_its_struct(void **state)
{
    (void)state;
    AUTO_ARENA arena = arena_new(1 << 16);
    Call call = {.arena = arena};
    Options options = {.weight = 2.5, .count = 3};
    assert_status(&call, STATUS_OK,
        read_options(&call,
            "{\"is_open\":true,\"name\":\"\\u00e9\\n\",\"count\":9007199254740993,\"weight\":null,"
            "\"extra\":{\"a\": [\"\\u0000\"]}}",
            &options));
    assert_string_equal(options.name, "\xc3\xa9\n");
    assert_true(options.is_open);
    assert_true(options.count == INT64_C(9007199254740993));
    assert_true(options.weight == 2.5);
    assert_true(slice_equals_string(options.extra, "{\"a\": [\"\\u0000\"]}"));
}

/* JSON Schema 6.1.1: a number whose fraction is zero is an integer. */
static void
an_integer_may_have_a_fraction_of_zero(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value; /* 0: refused */
    } rows[] = {{"7.0", 7}, {"-1.000", -1}, {"70", 70}, {"7.", 0}, {"7.01", 0}, {"7.10", 0}, {".0", 0}};
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        AUTO_ARENA arena = arena_new(1 << 16);
        Call call = {.arena = arena};
        Options options = {0};
        char text[64];
        (void)snprintf(text, sizeof text, "{\"name\":\"a\",\"count\":%s}", rows[index].text);
        Status status = read_options(&call, text, &options);
        assert_int_equal(status, rows[index].value == 0 ? STATUS_INVALID_ARGUMENT : STATUS_OK);
        assert_true(options.count == rows[index].value);
    }
}

static void
every_fault_is_noted_with_its_pointer(void **state)
{
    (void)state;
    AUTO_ARENA arena = arena_new(1 << 16);
    Call call = {.arena = arena};
    Options options = {0};
    assert_status(&call, STATUS_INVALID_ARGUMENT,
        read_options(&call,
            "{\"a~b/c\":1,\"is_open\":\"yes\",\"count\":-2,\"weight\":[1],\"name\":\"longer\"}", &options));
    assert_string_equal(
        call.error.message, "5 faults in the document, first: /a~0b~1c: is not a member that is known here");
    const char *const expected[][2] = {{"/a~0b~1c", "is not a member that is known here"},
        {"/name", "has 6 bytes, expected 1 to 5"}, {"/is_open", "expected true or false"},
        {"/count", "is -2, expected -1 to 9223372036854775807"}, {"/weight", "expected a number"}};
    assert_int_equal(call.error.detail_count, COUNT_OF(expected));
    for (size_t index = 0; index < COUNT_OF(expected); index++) {
        assert_string_equal(call.error.details[index].pointer, expected[index][0]);
        assert_string_equal(call.error.details[index].detail, expected[index][1]);
    }
}

static void
wrong_values_are_refused(void **state)
{
    (void)state;
    const char *const rows[][2] = {
        {"{}", "1 fault in the document, first: /name: is missing"},
        {"{\"name\":null}", "1 fault in the document, first: /name: is missing"},
        {"{\"name\":1}", "1 fault in the document, first: /name: expected a string"},
        {"{\"name\":\"\"}", "1 fault in the document, first: /name: has 0 bytes, expected 1 to 5"},
        {"{\"name\":\"a\\u0000\"}", "1 fault in the document, first: /name: holds the character 0"},
        {"{\"name\":\"a\",\"count\":1.5}", "1 fault in the document, first: /count: expected an integer"},
        {"{\"name\":\"a\",\"count\":9223372036854775808}",
            "1 fault in the document, first: /count: expected an integer"},
        {"{\"name\":\"a\",\"weight\":\"NaN\"}", "1 fault in the document, first: /weight: expected a number"},
        {"{\"name\":\"a\",\"weight\":1e999}", "1 fault in the document, first: /weight: expected a number"},
        {"{\"name\":\"a\",\"name\":\"b\"}", "line 1, column 14: an object has this name twice"},
        {"{\"name\":\"a\"} x", "line 1, column 14: expected nothing behind the value, found 'x'"},
        {"[]", "line 1, column 1: expected an object, found an array"},
        {"{\"name\":\"\xff\"}", "line 1, column 10: a string is not UTF-8"},
    };
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        AUTO_ARENA arena = arena_new(1 << 16);
        Call call = {.arena = arena};
        Options options = {0};
        assert_status(&call, STATUS_INVALID_ARGUMENT, read_options(&call, rows[index][0], &options));
        assert_string_equal(call.error.message, rows[index][1]);
    }
}

static void
an_escaped_backslash_is_no_zero(void **state)
{
    (void)state;
    AUTO_ARENA arena = arena_new(1 << 16);
    Call call = {.arena = arena};
    static const JsonMember any[] = {{.name = "s", .type = JSON_STRING_COPY}};
    static const JsonTable any_table = JSON_TABLE("anything", any);
    const char *text = NULL;
    assert_status(
        &call, STATUS_OK, json_document_read(&call, SLICE("{\"s\":\"\\\\u0000\"}"), &any_table, &text));
    assert_string_equal(text, "\\u0000");
    assert_status(&call, STATUS_INVALID_ARGUMENT,
        json_document_read(&call, SLICE("{\"s\":\"\\\\u0000\\\\\\u0000\"}"), &any_table, &text));
}

typedef struct Port {
    Slice name;
    int64_t size;
} Port;

typedef struct Box {
    Slice label;
    bool is_open;
    uint64_t count;
    float weight;
    Port first;
    const Port *ports;
    size_t port_count;
    Port room[2];
    size_t room_count;
} Box;

static const JsonMember port_members[] = {
    {"name", JSON_SLICE, .offset = offsetof(Port, name)},
    {"portSize", JSON_INT64, .offset = offsetof(Port, size), .minimum = 1, .maximum = 9},
};
static const JsonTable port_table = {
    .name = "a port", .pointer = "/ports/0", .members = port_members, .member_count = COUNT_OF(port_members)};
static const JsonList port_map = {
    .item = {.type = JSON_INT64, .offset = offsetof(Port, size)},
    .item_size = sizeof(Port),
    .count_max = 9,
    .too_many = "too many ports",
    .is_map = true,
};
static const JsonList port_room = {
    .item = {.type = JSON_STRUCT, .table = &port_table},
    .item_size = sizeof(Port),
    .count_max = 2,
    .too_many = "too many ports",
};

static Status
read_label(JsonReader *reader, const JsonMember *member, void *target)
{
    assert_string_equal(member->name, "label");
    assert_string_equal(reader->context, "context");
    return json_string(reader->scanner, reader->call->arena, target) ? STATUS_OK : json_reader_fault(reader);
}

static const JsonMember box_members[] = {
    {"label", .offset = offsetof(Box, label), .read = read_label},
    {"isOpen", JSON_BOOLEAN, .offset = offsetof(Box, is_open)},
    {"count", JSON_UINT64, .offset = offsetof(Box, count)},
    {"weight", JSON_FLOAT, .offset = offsetof(Box, weight)},
    {"note", JSON_IGNORED, .offset = 0},
    {"first", JSON_STRUCT, .offset = offsetof(Box, first), .table = &port_table},
    {"ports", JSON_LIST, .offset = offsetof(Box, ports), .list = &port_map},
    {"room", JSON_ROOM, .offset = offsetof(Box, room), .list = &port_room},
};
static const JsonTable box_table = JSON_TABLE("a box", box_members);

static Status
read_box(Call *call, JsonDialect dialect, const char *text, Box *box)
{
    static char context[] = "context";
    JsonScanner scanner;
    JsonReader reader = {.call = call, .scanner = &scanner, .dialect = &dialect, .context = context};
    json_scan_begin(&scanner, slice_from_string(text), JSON_DEPTH_MAX);
    TRY(json_read_object(&reader, &box_table, box));
    return json_scan_end(call, &scanner);
}

static void
a_stream_fills_structs_lists_and_maps(void **state)
{
    (void)state;
    AUTO_ARENA arena = arena_new(1 << 16);
    Call call = {.arena = arena};
    Box box = {.count = 7};
    assert_status(&call, STATUS_OK,
        read_box(&call, (JsonDialect){0},
            "{\"ports\":{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\\u0066\":5},\"label\":\"x\",\"isOpen\":true,"
            "\"weight\":1.5,\"note\":[{}],\"first\":{\"name\":\"f\",\"portSize\":9},"
            "\"room\":[{\"portSize\":1},{\"portSize\":2}]}",
            &box));
    assert_true(slice_equals_string(box.label, "x") && box.is_open && box.count == 7 && box.weight == 1.5F);
    assert_true(slice_equals_string(box.first.name, "f") && box.first.size == 9);
    assert_int_equal(box.port_count, 5);
    assert_true(slice_equals_string(box.ports[4].name, "ef") && box.ports[4].size == 5);
    assert_true(slice_equals_string(box.ports[0].name, "a") && box.ports[0].size == 1);
    assert_int_equal(box.room_count, 2);
    assert_true(box.room[1].size == 2);
}

static void
the_first_fault_ends_a_stream(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"{\"colour\":1}", "a box has no member 'colour'"},
        {"{\"first\":{\"colour\":1}}", "a port has no member 'colour'"},
        {"{\"is_open\":true}", "a box has no member 'is_open'"},
        {"{\"label\":null}", "line 1, column 10: expected a string, found null"},
        {"{\"first\":{\"portSize\":10}}", "'portSize' is 10, expected 1 to 9"},
        {"{\"count\":-1}", "line 1, column 10: expected an integer of uint64, found a number"},
        {"{\"room\":[{},{},{}]}", "line 1, column 16: too many ports"},
        {"{\"room\":{}}", "line 1, column 9: expected an array, found an object"},
        {"{\"label\":\"x\"", "line 1, column 13: expected ',' or '}', found the end of the text"},
    };
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        AUTO_ARENA arena = arena_new(1 << 16);
        Call call = {.arena = arena};
        Box box = {0};
        assert_status(
            &call, STATUS_INVALID_ARGUMENT, read_box(&call, (JsonDialect){0}, rows[index][0], &box));
        assert_string_equal(call.error.message, rows[index][1]);
    }
}

static void
an_unknown_member_can_be_noted_or_passed_over(void **state)
{
    (void)state;
    AUTO_ARENA arena = arena_new(1 << 16);
    Call call = {.arena = arena};
    Box box = {0};
    JsonDialect noting = {.unknown = JSON_UNKNOWN_IS_NOTED};
    JsonDialect skipping = {.unknown = JSON_UNKNOWN_IS_SKIPPED};
    assert_status(&call, STATUS_INVALID_ARGUMENT, read_box(&call, noting, "{\"first\":{\"a/b\":1}}", &box));
    assert_string_equal(call.error.message, "line 1, column 17: unknown member 'a/b'");
    assert_int_equal(call.error.detail_count, 1);
    assert_string_equal(call.error.details[0].pointer, "/ports/0/a~1b");
    assert_string_equal(call.error.details[0].detail, "there is no such member");
    assert_status(
        &call, STATUS_OK, read_box(&call, skipping, "{\"later\":[{\"x\":null}],\"count\":3}", &box));
    assert_true(box.count == 3);
}

static void
dialects_take_nulls_other_kinds_and_snake_case(void **state)
{
    (void)state;
    AUTO_ARENA arena = arena_new(1 << 16);
    Call call = {.arena = arena};
    Box box = {.count = 7};
    JsonDialect of_protobuf = {.null_is_absent = true, .has_snake_case = true};
    JsonDialect tolerant = {.null_is_absent = true, .skips_other_kinds = true};
    assert_status(&call, STATUS_OK,
        read_box(&call, of_protobuf, "{\"label\":null,\"is_open\":true,\"first\":{\"port_size\":3}}", &box));
    assert_true(box.label.data == NULL && box.is_open && box.first.size == 3);
    assert_status(&call, STATUS_OK,
        read_box(&call, tolerant, "{\"count\":\"8\",\"isOpen\":[],\"first\":{\"name\":4}}", &box));
    assert_true(box.count == 7 && box.is_open && box.first.name.data == NULL);
    assert_status(&call, STATUS_INVALID_ARGUMENT, read_box(&call, tolerant, "{\"count\":1.5}", &box));
}

static Status
run(Options *ret_options)
{
    AUTO_ARENA arena = arena_new(1 << 16);
    if (arena == NULL) {
        return STATUS_RESOURCE_EXHAUSTED;
    }
    Call call = {.arena = arena};
    return read_options(&call, "{\"name\":\"abc\",\"count\":1,\"weight\":2}", ret_options);
}

static void
every_allocation_that_fails_is_reported(void **state)
{
    (void)state;
    Options options = {0};
    fail_alloc_at = 0;
    fail_alloc_count = 0;
    assert_true(run(&options) == STATUS_OK);
    size_t total = fail_alloc_count;
    assert_true(total >= 4);
    for (size_t index = 1; index <= total; index++) {
        fail_alloc_count = 0;
        fail_alloc_at = index;
        assert_true(run(&options) == STATUS_RESOURCE_EXHAUSTED);
    }
    fail_alloc_at = 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_fills_its_struct),
        cmocka_unit_test(an_integer_may_have_a_fraction_of_zero),
        cmocka_unit_test(every_fault_is_noted_with_its_pointer),
        cmocka_unit_test(wrong_values_are_refused),
        cmocka_unit_test(an_escaped_backslash_is_no_zero),
        cmocka_unit_test(a_stream_fills_structs_lists_and_maps),
        cmocka_unit_test(the_first_fault_ends_a_stream),
        cmocka_unit_test(an_unknown_member_can_be_noted_or_passed_over),
        cmocka_unit_test(dialects_take_nulls_other_kinds_and_snake_case),
        cmocka_unit_test(every_allocation_that_fails_is_reported),
    };
    return cmocka_run_group_tests_name("shared/json/reader", tests, NULL, NULL);
}
