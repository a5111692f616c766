#include <unistd.h>

#include "gateway/cli/feed.h"
#include "tests/support/call_fixture.h"

static void
assert_refused(Call *call, const char *text, const char *message)
{
    Feed feed;
    assert_status(call, STATUS_INVALID_ARGUMENT, feed_parse(call, slice_from_string(text), &feed));
    assert_string_equal(call->error.message, message);
}

static Feed
parse(Call *call, const char *text)
{
    Feed feed;
    assert_status(call, STATUS_OK, feed_parse(call, slice_from_string(text), &feed));
    return feed;
}

static void
assert_written(Call *call, const char *text, const char *expected)
{
    AUTO_BUFFER json = {0};
    JsonWriter writer = json_writer(&json);
    Feed feed = parse(call, text);
    assert_status(call, STATUS_OK, feed_write(call, &feed, &writer));
    assert_string_equal(buffer_string(&json), expected);
}

static void
a_value_is_json(void **state)
{
    Call *call = *state;
    static const char *const values[] = {"3", "-1.5e3", "[[1,2],[3,4]]", "\"text\"", "true",
        "{\"dtype\":\"int8\",\"shape\":[1],\"data\":[7]}", "\"a=b\"", "\"@home\""};
    for (size_t index = 0; index < COUNT_OF(values); index++) {
        char text[128];
        (void)snprintf(text, sizeof text, "x:0=%s", values[index]);
        Feed feed = parse(call, text);
        assert_true(slice_equals_string(feed.name, "x:0"));
        assert_null(feed.path);
        assert_written(call, text, values[index]);
    }
}

static void
a_file_is_told_by_its_name(void **state)
{
    Call *call = *state;
    Feed npy = parse(call, "x=@a/b.npy");
    assert_int_equal(npy.kind, FEED_NPY);
    assert_string_equal(npy.path, "a/b.npy");
    Feed json = parse(call, "x=@b.json");
    assert_int_equal(json.kind, FEED_JSON);
    assert_string_equal(json.path, "b.json");
    Feed raw = parse(call, "x=@c:d.bin:int16:2x3");
    assert_int_equal(raw.kind, FEED_RAW);
    assert_string_equal(raw.path, "c:d.bin");
    assert_int_equal(raw.dtype, DTYPE_INT16);
}

static void
a_raw_file_has_a_dtype_and_a_shape(void **state)
{
    Call *call = *state;
    static const struct {
        const char *text;
        const char *shape;
    } cases[] = {
        {"x=@f:float32:2x3", "[2,3]"},
        {"x=@f:float32:2,3", "[2,3]"},
        {"x=@f:float32:[2, 3]", "[2,3]"},
        {"x=@f:float32:7", "[7]"},
        {"x=@f:float32:0x5", "[0,5]"},
        {"x=@f:float32:", "[]"},
        {"x=@f:float32:[]", "[]"},
        {"x=@f:string:", "[]"},
    };
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        char shape[SHAPE_TEXT_SIZE];
        Feed feed = parse(call, cases[index].text);
        assert_string_equal(shape_text(&feed.shape, shape), cases[index].shape);
    }
}

static void
what_is_no_feed_is_refused_with_a_reason(void **state)
{
    Call *call = *state;
    static const char expected[] =
        "expected NAME=VALUE, NAME=@FILE.npy, NAME=@FILE.json or NAME=@FILE:DTYPE:SHAPE";
    char message[256];
    (void)snprintf(message, sizeof message, "'x' is no feed: %s", expected);
    assert_refused(call, "x", message);
    (void)snprintf(message, sizeof message, "'=1' is no feed: %s", expected);
    assert_refused(call, "=1", message);
    (void)snprintf(message, sizeof message, "feed 'x' does not tell what 'f.bin' holds: %s", expected);
    assert_refused(call, "x=@f.bin", message);
    assert_refused(call, "x=word",
        "feed 'x' is no JSON (a string needs quotes of its own: '\"text\"'): line 1, column 1: expected a "
        "value, found 'w'");
    assert_refused(call, "x=@f:float33:1", "feed 'x': there is no dtype 'float33'");
    assert_refused(
        call, "x=@f:float32:1x-2", "feed 'x': '1x-2' is no shape such as 1x2, or nothing for a scalar");
    assert_refused(
        call, "x=@f:float32:1xx2", "feed 'x': '1xx2' is no shape such as 1x2, or nothing for a scalar");
    assert_refused(call, "x=@f:float32:1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1",
        "feed 'x': '1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1' is no shape such as 1x2, or nothing for a scalar");
    assert_refused(call, "x=@f:string:2", "feed 'x': a raw file cannot hold dtype 'string' of this shape");
    assert_refused(call, "x=@f:resource:", "feed 'x': a raw file cannot hold dtype 'resource' of this shape");
}

static void
files_become_json(void **state)
{
    Call *call = *state;
    char path[] = "/tmp/feed_test.XXXXXX.json";
    char text[128];
    char message[256];
    int fd = mkstemps(path, 5);
    assert_int_equal(write(fd, "[1]\n", 4), 4);
    (void)close(fd);
    (void)snprintf(text, sizeof text, "x=@%s", path);
    assert_written(call, text, "[1]\n");
    (void)snprintf(text, sizeof text, "x=@%s:uint8:2x2", path);
    assert_written(call, text, "{\"dtype\":\"uint8\",\"shape\":[2,2],\"b64\":\"WzFdCg==\"}");
    (void)snprintf(text, sizeof text, "x=@%s:string:", path);
    assert_written(call, text, "{\"dtype\":\"string\",\"shape\":[],\"b64\":\"WzFdCg==\"}");
    (void)snprintf(text, sizeof text, "x=@%s:float32:2", path);
    Feed feed = parse(call, text);
    AUTO_BUFFER json = {0};
    JsonWriter writer = json_writer(&json);
    assert_status(call, STATUS_INVALID_ARGUMENT, feed_write(call, &feed, &writer));
    (void)snprintf(message, sizeof message, "feed 'x': file '%s' has 4 bytes, float32 [2] needs 8", path);
    assert_string_equal(call->error.message, message);
    (void)unlink(path);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_value_is_json),
        CALL_TEST(a_file_is_told_by_its_name),
        CALL_TEST(a_raw_file_has_a_dtype_and_a_shape),
        CALL_TEST(what_is_no_feed_is_refused_with_a_reason),
        CALL_TEST(files_become_json),
    };
    return cmocka_run_group_tests_name("gateway/cli/feed", tests, NULL, NULL);
}
