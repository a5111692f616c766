#include "shared/json/scanner.h"
#include "tests/support/cmocka_all.h"

static Call call;

static Status
skip_all(Slice text, int depth_max)
{
    JsonScanner scanner;
    Slice value;
    json_scan_begin(&scanner, text, depth_max);
    (void)json_skip(&scanner, &value);
    return json_scan_end(&call, &scanner);
}

static void
valid_texts_are_taken(void **state)
{
    (void)state;
    const char *const texts[] = {"null", " true\r\n", "false", "0", "-0", "-0.0e-0", "1E+2", "1.25e3",
        "12345678901234567890123", "\"\"", "\"\\u0000\"", "\"\\ud83d\\ude00\\/\\b\\f\\n\\r\\t\\\"\\\\\"",
        "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f\"", "[]", "[ ]", "{}", "{ }", "[1,[2,[3]],{}]",
        "{\"a\":1,\"A\":2,\"\":[{},{\"a\":{\"a\":null}}]}", "\t[\n1\n,\r2 ]\n",
        "\"longer than eight bytes\""};
    for (size_t index = 0; index < COUNT_OF(texts); index++) {
        assert_status(&call, STATUS_OK, skip_all(slice_from_string(texts[index]), JSON_DEPTH_MAX));
    }
}

static void
every_fault_says_what_and_where(void **state)
{
    (void)state;
    const char *const rows[][2] = {
        {"", "line 1, column 1: expected a value, found the end of the text"},
        {" \n ", "line 2, column 2: expected a value, found the end of the text"},
        {"nul", "line 1, column 1: expected null, found null"},
        {"truth", "line 1, column 1: expected true or false, found a boolean"},
        {"nullx", "line 1, column 5: expected nothing behind the value, found 'x'"},
        {"1 2", "line 1, column 3: expected nothing behind the value, found a number"},
        {"+1", "line 1, column 1: expected a value, found '+'"},
        {".5", "line 1, column 1: expected a value, found '.'"},
        {"-", "line 1, column 1: a number is not written as JSON has it"},
        {"01", "line 1, column 1: a number is not written as JSON has it"},
        {"1.", "line 1, column 1: a number is not written as JSON has it"},
        {"1e", "line 1, column 1: a number is not written as JSON has it"},
        {"1e+", "line 1, column 1: a number is not written as JSON has it"},
        {"0x1", "line 1, column 2: expected nothing behind the value, found 'x'"},
        {"NaN", "line 1, column 1: expected a value, found 'N'"},
        {"[1,]", "line 1, column 4: expected a value, found ']'"},
        {"[,1]", "line 1, column 2: expected a value, found ','"},
        {"[1 2]", "line 1, column 4: expected ',' or ']', found a number"},
        {"[1}", "line 1, column 3: expected ',' or ']', found '}'"},
        {"[", "line 1, column 2: expected ',' or ']', found the end of the text"},
        {"[1", "line 1, column 3: expected ',' or ']', found the end of the text"},
        {"{", "line 1, column 2: expected ',' or '}', found the end of the text"},
        {"{a:1}", "line 1, column 2: expected a name in quotes, found 'a'"},
        {"{\"a\" 1}", "line 1, column 6: expected ':' after the name, found a number"},
        {"{\"a\":}", "line 1, column 6: expected a value, found '}'"},
        {"{\"a\":1,}", "line 1, column 8: expected a name in quotes, found '}'"},
        {"{\"a\":1]", "line 1, column 7: expected ',' or '}', found ']'"},
        {"{\n \"a\":1,\n \"a\":2}", "line 3, column 3: an object has this name twice"},
        {"{\"a\":1,\"\\u0061\":2}", "line 1, column 9: an object has this name twice"},
        {"{\"\\u0061\":1,\"a\":2}", "line 1, column 14: an object has this name twice"},
        {"{\"a\\u0000\":1}", "line 1, column 3: a name holds the character 0"},
        {"\"abc", "line 1, column 1: a string has no end"},
        {"\"a\nb\"", "line 1, column 3: a string holds a control character that is not escaped"},
        {"\"\\x\"", "line 1, column 2: a string holds an escape that is none"},
        {"\"\\u12g4\"", "line 1, column 2: a string holds an escape that is none"},
        {"\"\\ud800\"", "line 1, column 2: a string holds an escape that is none"},
        {"\"\\ud800\\u0041\"", "line 1, column 2: a string holds an escape that is none"},
        {"\"\\udc00\"", "line 1, column 2: a string holds an escape that is none"},
        {"\"\\", "line 1, column 2: a string holds an escape that is none"},
        {"\"\xc3\xa9\xe2\x82\xac\xff\"", "line 1, column 4: a string is not UTF-8"},
        {"\"\xed\xa0\x80\"", "line 1, column 2: a string is not UTF-8"},
        {"\xef\xbb\xbfnull", "line 1, column 1: expected a value, found byte 0xef"},
    };
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        assert_status(
            &call, STATUS_INVALID_ARGUMENT, skip_all(slice_from_string(rows[index][0]), JSON_DEPTH_MAX));
        assert_string_equal(call.error.message, rows[index][1]);
    }
}

static void
no_cut_of_a_valid_text_is_valid(void **state)
{
    (void)state;
    Slice text =
        SLICE("{\"name\": [1.5e-3, true, null, {\"\\u00e9\": \"\xc3\xa9 \\ud83d\\ude00\"}], \"b\": false}");
    for (size_t size = 0; size < text.size; size++) {
        /* The copy has no bytes behind it, so that a sanitizer sees a read past the end. */
        char *copy = malloc(size + 1);
        memcpy(copy, text.data, size);
        assert_status(&call, STATUS_INVALID_ARGUMENT, skip_all(slice_of(copy, size), JSON_DEPTH_MAX));
        free(copy);
    }
    assert_status(&call, STATUS_OK, skip_all(text, JSON_DEPTH_MAX));
}

static void
depth_is_limited(void **state)
{
    (void)state;
    char text[2 * JSON_DEPTH_MAX + 2];
    memset(text, '[', JSON_DEPTH_MAX + 1);
    memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
    assert_status(&call, STATUS_OK, skip_all(slice_of(text + 1, sizeof text - 2), JSON_DEPTH_MAX));
    assert_status(&call, STATUS_INVALID_ARGUMENT, skip_all(slice_of(text, sizeof text), JSON_DEPTH_MAX));
    assert_string_equal(call.error.message, "line 1, column 101: values are nested too deep");
    assert_status(&call, STATUS_OK, skip_all(SLICE("1"), 0));
    assert_status(&call, STATUS_INVALID_ARGUMENT, skip_all(SLICE("[]"), 0));
}

/* Writes {"0":0,"1":1,…} with `count` names, then `last`. */
static Slice
object_of(char *text, size_t size, int count, const char *last)
{
    size_t used = (size_t)snprintf(text, size, "{");
    for (int index = 0; index < count; index++) {
        used += (size_t)snprintf(text + used, size - used, "\"%d\":%d,", index, index);
    }
    used += (size_t)snprintf(text + used, size - used, "\"%s\":0}", last);
    return slice_of(text, used);
}

static void
names_are_compared_with_the_first_64(void **state)
{
    (void)state;
    static char text[1 << 16];
    assert_status(&call, STATUS_INVALID_ARGUMENT, skip_all(object_of(text, sizeof text, 1000, "63"), 100));
    assert_status(&call, STATUS_OK, skip_all(object_of(text, sizeof text, 1000, "64"), 100));
    assert_status(&call, STATUS_OK, skip_all(object_of(text, sizeof text, 1000, "1000"), 100));
}

static void
an_inner_object_does_not_disturb_the_names_of_the_outer(void **state)
{
    (void)state;
    assert_status(&call, STATUS_OK,
        skip_all(SLICE("{\"a\":{\"b\":1,\"c\":2},\"b\":{\"a\":1},\"c\":[{\"a\":1}]}"), 100));
    assert_status(&call, STATUS_INVALID_ARGUMENT,
        skip_all(SLICE("{\"a\":{\"b\":1,\"c\":[{}]},\"d\":{\"a\":1},\"a\":1}"), 100));
}

static void
names_with_escapes_stay_until_the_next_member(void **state)
{
    (void)state;
    JsonScanner scanner;
    Slice outer, inner, value;
    json_scan_begin(&scanner, SLICE("{\"model\\/x\":{\"a\\/b\":1,\"c\\/d\":2},\"y\\/z\":3}"), 100);
    assert_true(json_object_begin(&scanner) && json_object_next(&scanner, &outer));
    assert_true(json_object_begin(&scanner));
    while (json_object_next(&scanner, &inner)) {
        assert_int_equal(inner.size, 3);
        assert_true(json_skip(&scanner, &value));
    }
    assert_true(slice_equals_string(outer, "model/x"));
    assert_true(json_object_next(&scanner, &outer) && slice_equals_string(outer, "y/z"));
    assert_true(json_skip(&scanner, &value));
    assert_false(json_object_next(&scanner, &outer));
    assert_status(&call, STATUS_OK, json_scan_end(&call, &scanner));
}

static void
names_that_are_kept_stay(void **state)
{
    (void)state;
    AUTO_ARENA arena = arena_new(1 << 16);
    JsonScanner scanner;
    Slice first, second, value;
    Slice text = SLICE("{\"a\\/b\":1,\"plain\":2,\"c\\/d\":3}");
    json_scan_begin(&scanner, text, 100);
    assert_true(json_object_begin(&scanner) && json_object_next(&scanner, &first));
    assert_true(json_name_keep(&scanner, arena, &first) && json_skip(&scanner, &value));
    assert_true(json_object_next(&scanner, &second) && json_name_keep(&scanner, arena, &second));
    assert_ptr_equal(second.data, text.data + 11);
    assert_true(json_skip(&scanner, &value) && json_object_next(&scanner, &second));
    assert_true(slice_equals_string(first, "a/b"));
    AUTO_ARENA none = arena_new(2);
    assert_false(json_name_keep(&scanner, none, &second));
    assert_status(&call, STATUS_RESOURCE_EXHAUSTED, json_scan_check(&call, &scanner));
}

static void
names_with_escapes_have_a_longest_size(void **state)
{
    (void)state;
    char text[JSON_ESCAPED_NAMES_SIZE_MAX + 16];
    for (int over = 0; over <= 1; over++) {
        size_t size = JSON_ESCAPED_NAMES_SIZE_MAX + (size_t)over;
        memset(text, 'n', sizeof text);
        memcpy(text, "{\"\\n", 4);
        memcpy(text + 2 + size, "\":0}", 4);
        assert_status(
            &call, over ? STATUS_INVALID_ARGUMENT : STATUS_OK, skip_all(slice_of(text, size + 6), 100));
    }
    assert_string_equal(call.error.message, "line 1, column 3: a name with escapes is too long");
}

static void
open_objects_have_a_largest_number_of_names(void **state)
{
    (void)state;
    static char text[1 << 16];
    for (int over = 0; over <= 1; over++) {
        size_t used = 0;
        int levels = JSON_OPEN_NAMES_MAX / JSON_NAMES_COMPARED_MAX;
        for (int level = 0; level < levels; level++) {
            used += object_of(text + used, sizeof text - used, 63, "x").size - 2;
        }
        const char *inner = over ? "{\"y\":0}" : "{}";
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", inner);
        memset(text + used, '}', (size_t)levels);
        assert_status(&call, over ? STATUS_INVALID_ARGUMENT : STATUS_OK,
            skip_all(slice_of(text, used + (size_t)levels), 100));
    }
}

static void
strings_are_decoded(void **state)
{
    (void)state;
    AUTO_ARENA arena = arena_new(1 << 16);
    JsonScanner scanner;
    Slice value;
    Slice text = SLICE("[\"plain\",\"\\ud83d\\ude00 \\u00e9\\u20ac\\n\",\"a\\u0000b\"]");
    json_scan_begin(&scanner, text, 100);
    assert_true(json_array_begin(&scanner));
    assert_true(json_array_next(&scanner) && json_string(&scanner, arena, &value));
    assert_ptr_equal(value.data, text.data + 2);
    assert_true(json_array_next(&scanner) && json_string(&scanner, arena, &value));
    assert_true(slice_equals_string(value, "\xf0\x9f\x98\x80 \xc3\xa9\xe2\x82\xac\n"));
    assert_true(json_array_next(&scanner) && json_string(&scanner, arena, &value));
    assert_true(slice_equal(value, SLICE("a\0b")));
    assert_false(json_array_next(&scanner));
    assert_status(&call, STATUS_OK, json_scan_end(&call, &scanner));
}

static void
no_memory_for_a_string_is_not_the_senders_fault(void **state)
{
    (void)state;
    AUTO_ARENA arena = arena_new(4);
    JsonScanner scanner;
    Slice value;
    json_scan_begin(&scanner, SLICE("\"\\n more than four\""), 100);
    assert_false(json_string(&scanner, arena, &value));
    assert_status(&call, STATUS_RESOURCE_EXHAUSTED, json_scan_end(&call, &scanner));
    assert_string_equal(call.error.message, "line 1, column 1: no memory left for a string");
}

static void
a_list_of_strings_is_read_up_to_its_bound(void **state)
{
    static const struct {
        const char *text;
        size_t count_max;
        Status status;
    } cases[] = {
        {"[]", 1, STATUS_OK},
        {"[\"a\",\"b\\n\"]", 2, STATUS_OK},
        {"[\"a\",\"b\"]", 1, STATUS_INVALID_ARGUMENT},
        {"[\"a\",1]", 2, STATUS_INVALID_ARGUMENT},
        {"{}", 2, STATUS_INVALID_ARGUMENT},
        {"[]", 1 << 20, STATUS_RESOURCE_EXHAUSTED},
    };
    (void)state;
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        AUTO_ARENA arena = arena_new(1 << 16);
        JsonScanner scanner;
        const Slice *values = NULL;
        size_t count = 77;
        json_scan_begin(&scanner, slice_from_string(cases[index].text), 100);
        bool is_read = json_strings(&scanner, arena, cases[index].count_max, &values, &count);
        assert_int_equal(is_read, cases[index].status == STATUS_OK);
        assert_status(&call, cases[index].status, json_scan_end(&call, &scanner));
        assert_int_equal(count, is_read ? index * 2 : 77);
        assert_true(count != 2 || slice_equals_string(values[1], "b\n"));
    }
}

static void
wrong_kinds_stop_the_scanner(void **state)
{
    (void)state;
    JsonScanner scanner;
    Slice slice;
    bool boolean = true;
    double real = 7;
    json_scan_begin(&scanner, SLICE("[{}, 1]"), 100);
    assert_false(json_object_begin(&scanner));
    assert_false(json_array_begin(&scanner));
    assert_false(json_array_next(&scanner));
    assert_false(json_object_next(&scanner, &slice));
    assert_false(json_boolean(&scanner, &boolean));
    assert_false(json_double(&scanner, &real));
    assert_false(json_null(&scanner));
    assert_false(json_skip(&scanner, &slice));
    assert_int_equal(json_peek(&scanner), JSON_FAULT);
    assert_status(&call, STATUS_INVALID_ARGUMENT, json_scan_check(&call, &scanner));
    assert_status(&call, STATUS_INVALID_ARGUMENT, json_scan_end(&call, &scanner));
    assert_string_equal(call.error.message, "line 1, column 1: expected an object, found an array");
    assert_true(boolean && real == 7);
}

static void
a_value_can_be_skipped_and_read_later(void **state)
{
    (void)state;
    JsonScanner scanner;
    JsonScanner inner;
    Slice name;
    int64_t integer = 0;
    json_scan_begin(&scanner, SLICE("{\"a\":\n[1,\n[2, x]]}"), 3);
    assert_true(json_object_begin(&scanner) && json_object_next(&scanner, &name));
    const char *start = scanner.position;
    json_scan_within(&inner, &scanner, slice_of(start, (size_t)(scanner.end - start)));
    assert_true(json_array_begin(&inner) && json_array_next(&inner) && json_int64(&inner, &integer));
    assert_true(json_array_next(&inner) && json_array_begin(&inner) && json_array_next(&inner));
    assert_true(json_int64(&inner, &integer) && integer == 2);
    assert_true(json_array_next(&inner));
    assert_false(json_array_begin(&inner));
    assert_status(&call, STATUS_INVALID_ARGUMENT, json_scan_check(&call, &inner));
    assert_string_equal(call.error.message, "line 3, column 5: expected an array, found 'x'");
    json_fault(&scanner, "this is the caller's own");
    assert_status(&call, STATUS_INVALID_ARGUMENT, json_scan_end(&call, &scanner));
    assert_string_equal(call.error.message, "line 1, column 6: this is the caller's own");
}

static void
a_value_left_unread_is_a_fault(void **state)
{
    (void)state;
    JsonScanner scanner;
    json_scan_begin(&scanner, SLICE("[1]"), 3);
    assert_true(json_array_begin(&scanner));
    assert_status(&call, STATUS_INVALID_ARGUMENT, json_scan_end(&call, &scanner));
    json_scan_begin(&scanner, slice_of(NULL, 0), 3);
    assert_int_equal(json_peek(&scanner), JSON_FAULT);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_texts_are_taken),
        cmocka_unit_test(every_fault_says_what_and_where),
        cmocka_unit_test(no_cut_of_a_valid_text_is_valid),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(names_are_compared_with_the_first_64),
        cmocka_unit_test(an_inner_object_does_not_disturb_the_names_of_the_outer),
        cmocka_unit_test(names_with_escapes_stay_until_the_next_member),
        cmocka_unit_test(names_that_are_kept_stay),
        cmocka_unit_test(names_with_escapes_have_a_longest_size),
        cmocka_unit_test(open_objects_have_a_largest_number_of_names),
        cmocka_unit_test(strings_are_decoded),
        cmocka_unit_test(no_memory_for_a_string_is_not_the_senders_fault),
        cmocka_unit_test(a_list_of_strings_is_read_up_to_its_bound),
        cmocka_unit_test(wrong_kinds_stop_the_scanner),
        cmocka_unit_test(a_value_can_be_skipped_and_read_later),
        cmocka_unit_test(a_value_left_unread_is_a_fault),
    };
    return cmocka_run_group_tests_name("shared/json/scanner", tests, NULL, NULL);
}
