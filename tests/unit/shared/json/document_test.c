#include "shared/json/document.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"

typedef struct Options {
    const char *name;
    bool is_open;
    int64_t count;
    double weight;
    Slice extra;
} Options;

static const JsonField fields[] = {
    {"name", JSON_FIELD_STRING, offsetof(Options, name), .is_required = true, .minimum = 1, .maximum = 5},
    {"is_open", JSON_FIELD_BOOLEAN, offsetof(Options, is_open), .is_required = false},
    {"count", JSON_FIELD_INT64, offsetof(Options, count), .minimum = -1, .maximum = INT64_MAX},
    {"weight", JSON_FIELD_DOUBLE, offsetof(Options, weight), .is_required = false},
    {"extra", JSON_FIELD_RAW, offsetof(Options, extra), .is_required = false},
};

static Status
read_options(Call *call, const char *text, Options *ret_options)
{
    return json_document_read(call, slice_from_string(text), fields, COUNT_OF(fields), ret_options);
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
        {"{\"name\":\"a\",\"count\":1.0}", "1 fault in the document, first: /count: expected an integer"},
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
    const JsonField any = {.name = "s", .type = JSON_FIELD_STRING};
    const char *text = NULL;
    assert_status(
        &call, STATUS_OK, json_document_read(&call, SLICE("{\"s\":\"\\\\u0000\"}"), &any, 1, &text));
    assert_string_equal(text, "\\u0000");
    assert_status(&call, STATUS_INVALID_ARGUMENT,
        json_document_read(&call, SLICE("{\"s\":\"\\\\u0000\\\\\\u0000\"}"), &any, 1, &text));
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
    const size_t total = fail_alloc_count;
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
        cmocka_unit_test(every_fault_is_noted_with_its_pointer),
        cmocka_unit_test(wrong_values_are_refused),
        cmocka_unit_test(an_escaped_backslash_is_no_zero),
        cmocka_unit_test(every_allocation_that_fails_is_reported),
    };
    return cmocka_run_group_tests_name("shared/json/document", tests, NULL, NULL);
}
