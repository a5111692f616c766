#include "shared/json/scanner.h"
#include "shared/json/writer.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"

static void
a_document_has_its_commas_where_they_belong(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    JsonWriter writer = json_writer(&buffer);
    json_write_object_begin(&writer);
    json_member_string(&writer, "name", "x");
    json_member_string(&writer, "none", NULL);
    json_member_slice(&writer, "slice", SLICE("y"));
    json_write_name(&writer, "list");
    json_write_array_begin(&writer);
    json_write_int64(&writer, INT64_MIN);
    json_write_uint64(&writer, UINT64_MAX);
    json_write_array_begin(&writer);
    json_write_array_end(&writer);
    json_write_object_begin(&writer);
    json_write_object_end(&writer);
    json_write_boolean(&writer, true);
    json_write_null(&writer);
    json_write_raw(&writer, SLICE("[1]"));
    json_write_array_end(&writer);
    json_member_int64(&writer, "i", -1);
    json_member_uint64(&writer, "u", 1);
    json_member_boolean(&writer, "b", false);
    json_member_double(&writer, "d", 0.5);
    json_write_name_slice(&writer, SLICE("bytes"));
    json_write_base64(&writer, SLICE("fooba"));
    json_write_object_end(&writer);
    assert_string_equal(buffer_string(&buffer),
        "{\"name\":\"x\",\"none\":null,\"slice\":\"y\",\"list\":[-9223372036854775808,18446744073709551615,[]"
        ",{},"
        "true,null,[1]],\"i\":-1,\"u\":1,\"b\":false,\"d\":0.5,\"bytes\":\"Zm9vYmE=\"}");
}

static void
what_could_mislead_a_reader_is_escaped(void **state)
{
    (void)state;
    const struct {
        Slice value;
        const char *text;
    } rows[] = {
        {SLICE(""), "\"\""},
        {SLICE("\"\\/\b\f\n\r\t"), "\"\\\"\\\\/\\b\\f\\n\\r\\t\""},
        {SLICE("\0\x1f\x7f"), "\"\\u0000\\u001f\x7f\""},
        {SLICE("\xc2\x80\xc2\x9f\xc2\xa0"), "\"\\u0080\\u009f\xc2\xa0\""},
        {SLICE("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa"), "\"\\u2028\\u2029\xe2\x80\xaa\""},
        {SLICE("\xff ok \xe2\x82"), "\"\xef\xbf\xbd ok \xef\xbf\xbd\xef\xbf\xbd\""},
        {SLICE("\xf0\x9f\x98\x80"), "\"\xf0\x9f\x98\x80\""},
    };
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        AUTO_BUFFER buffer = {0};
        JsonWriter writer = json_writer(&buffer);
        json_write_slice(&writer, rows[index].value);
        assert_string_equal(buffer_string(&buffer), rows[index].text);
    }
}

static void
nest(JsonWriter *writer, int depth)
{
    for (int level = 0; level < depth; level++) {
        json_write_array_begin(writer);
    }
    for (int level = 0; level < depth; level++) {
        json_write_array_end(writer);
    }
}

static void
nesting_past_the_limit_fails_the_buffer(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    JsonWriter writer = json_writer(&buffer);
    nest(&writer, JSON_WRITER_DEPTH_MAX - 1);
    assert_true(buffer_is_ok(&buffer));
    assert_int_equal(buffer.size, 2 * (JSON_WRITER_DEPTH_MAX - 1));
    AUTO_BUFFER deeper = {0};
    writer = json_writer(&deeper);
    nest(&writer, JSON_WRITER_DEPTH_MAX);
    assert_false(buffer_is_ok(&deeper));
}

static void
no_memory_fails_the_buffer(void **state)
{
    (void)state;
    fail_alloc_count = 0;
    fail_alloc_at = 1;
    AUTO_BUFFER buffer = {0};
    JsonWriter writer = json_writer(&buffer);
    nest(&writer, 3);
    json_write_base64(&writer, SLICE("abc"));
    fail_alloc_at = 0;
    assert_false(buffer_is_ok(&buffer));
    assert_null(buffer_string(&buffer));
}

static void
what_is_written_reads_back(void **state)
{
    (void)state;
    AUTO_ARENA arena = arena_new(1 << 16);
    AUTO_BUFFER buffer = {0};
    char bytes[128];
    for (size_t index = 0; index < sizeof bytes; index++) {
        bytes[index] = (char)index;
    }
    JsonWriter writer = json_writer(&buffer);
    json_write_slice(&writer, slice_of(bytes, sizeof bytes));
    JsonScanner scanner;
    Slice value;
    json_scan_begin(&scanner, buffer_slice(&buffer), 0);
    assert_true(json_string(&scanner, arena, &value));
    assert_true(slice_equal(value, slice_of(bytes, sizeof bytes)));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_has_its_commas_where_they_belong),
        cmocka_unit_test(what_could_mislead_a_reader_is_escaped),
        cmocka_unit_test(nesting_past_the_limit_fails_the_buffer),
        cmocka_unit_test(no_memory_fails_the_buffer),
        cmocka_unit_test(what_is_written_reads_back),
    };
    return cmocka_run_group_tests_name("shared/json/writer", tests, NULL, NULL);
}
