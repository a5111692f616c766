/* Fuzzes JSON: any text gives a value or an error. A value that is skipped can be read; a value that is
 * read is written, and that reads and writes as itself; numbers are those of strtod() and strtof(). */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "shared/json/reader.h"
#include "shared/json/scanner.h"
#include "shared/json/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Copying {
    Call *call;
    JsonScanner scanner;
    JsonWriter writer;
} Copying;

static void
number_check(Slice text)
{
    char copy[1025];
    if (text.size >= sizeof copy) {
        return;
    }
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    JsonScanner scanner;
    double real = 0;
    float single = 0;
    double real_expected = strtod(copy, NULL);
    float single_expected = strtof(copy, NULL);
    json_scan_begin(&scanner, text, 0);
    assert(json_double(&scanner, &real) == !isinf(real_expected));
    assert(isinf(real_expected) || memcmp(&real, &real_expected, sizeof real) == 0);
    json_scan_begin(&scanner, text, 0);
    assert(json_float(&scanner, &single) == !isinf(single_expected));
    assert(isinf(single_expected) || memcmp(&single, &single_expected, sizeof single) == 0);
}

static void
number_copy(Copying *copying)
{
    Slice text = {0};
    if (!json_number_text(&copying->scanner, &text)) {
        return;
    }
    number_check(text);
    JsonScanner scanner;
    double value = 0;
    json_scan_begin(&scanner, text, 0);
    if (json_double(&scanner, &value)) {
        json_write_double(&copying->writer, value);
    } else {
        json_write_null(&copying->writer);
    }
}

static void
scalar_copy(Copying *copying, JsonKind kind)
{
    Slice text = {0};
    bool boolean = false;
    if (kind == JSON_STRING && json_string(&copying->scanner, copying->call->arena, &text)) {
        json_write_slice(&copying->writer, text);
    } else if (kind == JSON_NUMBER) {
        number_copy(copying);
    } else if (kind == JSON_NULL && json_null(&copying->scanner)) {
        json_write_null(&copying->writer);
    } else if ((kind == JSON_TRUE || kind == JSON_FALSE) && json_boolean(&copying->scanner, &boolean)) {
        json_write_boolean(&copying->writer, boolean);
    }
}

static void
value_copy(Copying *copying)
{
    JsonScanner *scanner = &copying->scanner;
    JsonWriter *writer = &copying->writer;
    JsonKind kind = json_peek(scanner);
    Slice name;
    if (kind == JSON_OBJECT && json_object_begin(scanner)) {
        json_write_object_begin(writer);
        while (json_object_next(scanner, &name)) {
            json_write_name_slice(writer, name);
            value_copy(copying);
        }
        json_write_object_end(writer);
    } else if (kind == JSON_ARRAY && json_array_begin(scanner)) {
        json_write_array_begin(writer);
        while (json_array_next(scanner)) {
            value_copy(copying);
        }
        json_write_array_end(writer);
    } else {
        scalar_copy(copying, kind);
    }
}

static bool
text_copy_to(Call *call, Slice text, Buffer *buffer)
{
    static Copying copying;
    copying.call = call;
    copying.writer = json_writer(buffer);
    json_scan_begin(&copying.scanner, text, JSON_DEPTH_MAX);
    value_copy(&copying);
    return json_scan_end(call, &copying.scanner) == STATUS_OK;
}

static bool
text_is_valid(Call *call, Slice text)
{
    JsonScanner scanner;
    Slice value;
    json_scan_begin(&scanner, text, JSON_DEPTH_MAX);
    (void)json_skip(&scanner, &value);
    return json_scan_end(call, &scanner) == STATUS_OK;
}

typedef struct Document {
    const char *a;
    bool b;
    int64_t c;
    double d;
    Slice e;
} Document;

static const JsonMember members[] = {
    {"a", JSON_STRING_COPY, .offset = offsetof(Document, a), .maximum = 8},
    {"b", JSON_BOOLEAN, .offset = offsetof(Document, b)},
    {"c", JSON_INT64, .offset = offsetof(Document, c), .is_required = true, .maximum = 100},
    {"d", JSON_DOUBLE, .offset = offsetof(Document, d)},
    {"e", JSON_TEXT, .offset = offsetof(Document, e)},
};
static const JsonTable table = JSON_TABLE("a document", members);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA arena = arena_new(64 << 20);
    Call call = {.arena = arena};
    Slice text = slice_of(data, size);
    Document document = {0};
    if (json_document_read(&call, text, &table, &document) == STATUS_OK) {
        assert(document.c >= 0 && document.c <= 100 && (document.a == NULL || strlen(document.a) <= 8));
    }
    AUTO_BUFFER once = {0};
    AUTO_BUFFER twice = {0};
    bool is_valid = text_is_valid(&call, text);
    bool is_read = text_copy_to(&call, text, &once);
    assert(is_valid == is_read);
    if (is_valid) {
        assert(text_copy_to(&call, buffer_slice(&once), &twice));
        assert(slice_equal(buffer_slice(&once), buffer_slice(&twice)));
    }
    return 0;
}
