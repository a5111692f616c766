#include "gateway/cli/feed.h"

#include <assert.h>
#include <string.h>

#include "gateway/cli/local_file.h"
#include "shared/base/text.h"
#include "shared/json/scanner.h"
#include "shared/tensor/npy.h"

static const size_t feed_file_size_max = (size_t)2 << 30;

static const char expected_forms[] =
    "expected NAME=VALUE, NAME=@FILE.npy, NAME=@FILE.json or NAME=@FILE:DTYPE:SHAPE";

static Status
json_check(Call *call, const Feed *feed)
{
    JsonScanner scanner;
    Slice ignored;
    json_scan_begin(&scanner, feed->json, JSON_DEPTH_MAX);
    (void)json_skip(&scanner, &ignored);
    if (json_scan_end(call, &scanner) == STATUS_OK) {
        return STATUS_OK;
    }
    bool is_bare_word = feed->path == NULL && feed->json.size > 0 && feed->json.data[0] != '[' &&
                        feed->json.data[0] != '{' && feed->json.data[0] != '"';
    return call_wrap(call, "feed '%.*s' is no JSON%s", SLICE_PRINT(feed->name),
        is_bare_word ? " (a string needs quotes of its own: '\"text\"')" : "");
}

/* Parses "1x2", "1,2" or "[1,2]"; an empty text and "[]" are a scalar. */
static bool
shape_parse(Slice text, Shape *ret_shape)
{
    if (text.size >= 2 && text.data[0] == '[' && text.data[text.size - 1] == ']') {
        text = slice_part(text, 1, text.size - 2);
    }
    Shape shape = shape_scalar();
    char separator = slice_find(text, 'x') < text.size ? 'x' : ',';
    Slice part;
    for (Slice rest = text; text.size > 0 && slice_split(&rest, separator, &part);) {
        if (shape.rank == SHAPE_RANK_MAX || !slice_to_int64(slice_trim(part), &shape.dims[shape.rank]) ||
            shape.dims[shape.rank] < 0) {
            return false;
        }
        shape.rank++;
    }
    *ret_shape = shape;
    return true;
}

/* Splits "input.raw:float32:1x2". Returns false when no dtype and shape follow the path. */
static bool
raw_split(Slice text, Slice *ret_path, Slice *ret_dtype, Slice *ret_shape)
{
    size_t second = slice_find_last(text, ':');
    Slice before = slice_part(text, 0, second);
    size_t first = slice_find_last(before, ':');
    if (second == text.size || first == before.size) {
        return false;
    }
    *ret_path = slice_part(text, 0, first);
    *ret_dtype = slice_part(text, first + 1, second - first - 1);
    *ret_shape = slice_part(text, second + 1, text.size);
    return true;
}

static Status
raw_parse(Call *call, Feed *feed, Slice dtype, Slice shape)
{
    feed->kind = FEED_RAW;
    feed->dtype = dtype_from_name(dtype);
    if (feed->dtype == DTYPE_INVALID) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "feed '%.*s': there is no dtype '%.*s'",
            SLICE_PRINT(feed->name), SLICE_PRINT(dtype));
    }
    if (!shape_parse(shape, &feed->shape)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "feed '%.*s': '%.*s' is no shape such as 1x2, or nothing for a scalar", SLICE_PRINT(feed->name),
            SLICE_PRINT(shape));
    }
    if (!dtype_is_copyable(feed->dtype) && (feed->dtype != DTYPE_STRING || feed->shape.rank != 0)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "feed '%.*s': a raw file cannot hold dtype '%s' of this shape", SLICE_PRINT(feed->name),
            dtype_name(feed->dtype));
    }
    return STATUS_OK;
}

static Status
file_parse(Call *call, Feed *feed, Slice text)
{
    Slice path = text;
    Slice dtype;
    Slice shape;
    if (slice_ends_with(text, SLICE(".npy"))) {
        feed->kind = FEED_NPY;
    } else if (slice_ends_with(text, SLICE(".json"))) {
        feed->kind = FEED_JSON;
    } else if (raw_split(text, &path, &dtype, &shape)) {
        TRY(raw_parse(call, feed, dtype, shape));
    } else {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "feed '%.*s' does not tell what '%.*s' holds: %s",
            SLICE_PRINT(feed->name), SLICE_PRINT(text), expected_forms);
    }
    feed->path = text_copy(call->arena, path);
    return feed->path == NULL ? call_fail_memory(call, "a feed") : STATUS_OK;
}

Status
feed_parse(Call *call, Slice text, Feed *ret_feed)
{
    size_t equals = slice_find(text, '=');
    Feed feed = {.name = slice_part(text, 0, equals)};
    if (equals == 0 || equals == text.size) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "'%.*s' is no feed: %s", SLICE_PRINT(text), expected_forms);
    }
    Slice value = slice_part(text, equals + 1, text.size);
    if (value.size > 0 && value.data[0] == '@') {
        TRY(file_parse(call, &feed, slice_part(value, 1, value.size)));
    } else {
        feed.json = value;
        TRY(json_check(call, &feed));
    }
    *ret_feed = feed;
    return STATUS_OK;
}

static Status
raw_check(Call *call, const Feed *feed, size_t size)
{
    size_t expected = 0;
    if (feed->dtype == DTYPE_STRING) {
        return STATUS_OK;
    }
    if (!shape_byte_size(&feed->shape, feed->dtype, &expected) || size != expected) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "feed '%.*s': file '%s' has %zu bytes, %s %s needs %zu", SLICE_PRINT(feed->name), feed->path,
            size, dtype_name(feed->dtype), shape_text(&feed->shape, text), expected);
    }
    return STATUS_OK;
}

static void
raw_write(const Feed *feed, Slice content, JsonWriter *writer)
{
    json_write_object_begin(writer);
    json_member_string(writer, "dtype", dtype_name(feed->dtype));
    json_write_name(writer, "shape");
    json_write_array_begin(writer);
    for (int axis = 0; axis < feed->shape.rank; axis++) {
        json_write_int64(writer, feed->shape.dims[axis]);
    }
    json_write_array_end(writer);
    json_write_name(writer, "b64");
    json_write_base64(writer, content);
    json_write_object_end(writer);
}

static void
npy_write(Slice content, JsonWriter *writer)
{
    json_write_object_begin(writer);
    json_write_name(writer, "npy");
    json_write_base64(writer, content);
    json_write_object_end(writer);
}

static Status
json_write(Call *call, const Feed *feed, Slice content, JsonWriter *writer)
{
    Feed with_content = *feed;
    with_content.json = content;
    TRY(json_check(call, &with_content));
    json_write_raw(writer, content);
    return STATUS_OK;
}

static Status
part_head(Call *call, const Feed *feed, Slice *ret_head)
{
    AUTO_BUFFER head = {0};
    Tensor tensor = {.dtype = feed->dtype, .shape = feed->shape};
    if (npy_write_header(call, &tensor, &head) != STATUS_OK) {
        return call_wrap(call, "feed '%.*s'", SLICE_PRINT(feed->name));
    }
    char *bytes = buffer_is_ok(&head) ? arena_alloc(call->arena, head.size) : NULL;
    if (bytes == NULL) {
        return call_fail_memory(call, "a feed");
    }
    memcpy(bytes, head.data, head.size);
    *ret_head = slice_of(bytes, head.size);
    return STATUS_OK;
}

Status
feed_part(Call *call, const Feed *feed, bool *ret_is_part, HttpClientPart *ret_part)
{
    assert(feed != NULL && ret_part != NULL);
    uint64_t size = 0;
    bool is_npy = feed->kind == FEED_NPY;
    bool is_raw = feed->kind == FEED_RAW && feed->dtype != DTYPE_STRING && feed->dtype != DTYPE_BFLOAT16;
    *ret_is_part = false;
    if (!is_npy && !is_raw) {
        return STATUS_OK;
    }
    if (local_file_size(call, feed->path, &size) != STATUS_OK) {
        return call_wrap(call, "feed '%.*s'", SLICE_PRINT(feed->name));
    }
    if (size < FEED_PART_SIZE_MIN) {
        return STATUS_OK;
    }
    HttpClientPart part = {
        .name = text_copy(call->arena, feed->name),
        .content_type = "application/x-npy",
        .path = feed->path,
    };
    if (part.name == NULL) {
        return call_fail_memory(call, "a feed");
    }
    if (is_raw) {
        TRY(raw_check(call, feed, size));
        TRY(part_head(call, feed, &part.head));
    }
    *ret_is_part = true;
    *ret_part = part;
    return STATUS_OK;
}

Status
feed_write(Call *call, const Feed *feed, JsonWriter *writer)
{
    assert(feed != NULL && writer != NULL);
    if (feed->path == NULL) {
        json_write_raw(writer, feed->json);
        return STATUS_OK;
    }
    AUTO_BUFFER content = {0};
    if (local_file_read(call, feed->path, feed_file_size_max, &content) != STATUS_OK) {
        return call_wrap(call, "feed '%.*s'", SLICE_PRINT(feed->name));
    }
    Slice bytes = buffer_slice(&content);
    if (feed->kind == FEED_JSON) {
        return json_write(call, feed, bytes, writer);
    }
    if (feed->kind == FEED_NPY) {
        npy_write(bytes, writer);
        return STATUS_OK;
    }
    TRY(raw_check(call, feed, bytes.size));
    raw_write(feed, bytes, writer);
    return STATUS_OK;
}
