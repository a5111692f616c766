#include "gateway/http/target.h"

#include "gateway/http/characters.h"
#include "shared/base/utf8.h"

Slice
target_path(Slice raw)
{
    return slice_part(raw, 0, slice_find(raw, '?'));
}

Slice
target_query(Slice raw)
{
    Slice query = {0};
    size_t mark = slice_find(raw, '?');
    if (mark < raw.size) {
        query = slice_part(raw, mark + 1, raw.size);
    }
    return query;
}

static Status
fail_character(Call *call, unsigned char byte, const char *where)
{
    return byte > ' ' && byte < 0x7f
               ? call_fail(call, STATUS_INVALID_ARGUMENT, "'%c' must be percent-encoded in a %s", byte, where)
               : call_fail(call, STATUS_INVALID_ARGUMENT, "byte 0x%02x is not allowed in a %s", byte, where);
}

/* Decodes one byte; `*position` moves behind it. False for a '%' without two hex digits. */
static bool
byte_decode(Slice text, size_t *position, unsigned char *ret_byte)
{
    unsigned char byte = (unsigned char)text.data[*position];
    if (byte != '%') {
        *ret_byte = byte;
        *position += 1;
        return true;
    }
    if (text.size - *position < 3) {
        return false;
    }
    int high = character_hex(text.data[*position + 1]);
    int low = character_hex(text.data[*position + 2]);
    *ret_byte = (unsigned char)(high * 16 + low);
    *position += 3;
    return high >= 0 && low >= 0;
}

typedef struct Part {
    const char *name; /* "path" or "query", for messages */
    unsigned char allowed;
    bool is_form;            /* '+' is a space */
    const char *never_coded; /* characters that must not be percent-encoded */
} Part;

static const Part path_part = {.name = "path", .allowed = CHARACTER_PATH, .never_coded = "/\\"};
static const Part query_part = {
    .name = "query", .allowed = CHARACTER_QUERY, .is_form = true, .never_coded = ""};

static Status
decode_into(Call *call, const Part *part, Slice text, char *decoded, size_t *ret_size)
{
    size_t size = 0;
    for (size_t position = 0; position < text.size;) {
        unsigned char raw = (unsigned char)text.data[position];
        unsigned char byte = 0;
        if (!byte_decode(text, &position, &byte)) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "'%%' without two hex digits in the %s", part->name);
        }
        bool is_hidden = raw == '%' && byte != 0 && strchr(part->never_coded, byte) != NULL;
        if (byte < ' ' || byte == 0x7f || is_hidden) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "'%%%02x' is not allowed in a %s", byte, part->name);
        }
        decoded[size++] = (char)(part->is_form && raw == '+' ? ' ' : byte);
    }
    *ret_size = size;
    return utf8_is_valid(slice_of(decoded, size))
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT, "the %s is not UTF-8", part->name);
}

static Status
decode_text(Call *call, const Part *part, Slice text, Slice *ret_decoded)
{
    bool is_plain = true;
    for (size_t index = 0; index < text.size; index++) {
        unsigned char byte = (unsigned char)text.data[index];
        if (!character_is(byte, part->allowed)) {
            return fail_character(call, byte, part->name);
        }
        is_plain = is_plain && byte != '%' && !(part->is_form && byte == '+');
    }
    if (is_plain) {
        *ret_decoded = text;
        return STATUS_OK;
    }
    char *decoded = arena_alloc(call->arena, text.size + 1);
    if (decoded == NULL) {
        return call_fail_memory(call, "the request's target");
    }
    size_t size = 0;
    TRY(decode_into(call, part, text, decoded, &size));
    *ret_decoded = slice_of(decoded, size);
    return STATUS_OK;
}

static Status
segment_check(Call *call, Slice segment, bool is_last)
{
    if (segment.size == 0 && !is_last) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the path has an empty segment");
    }
    if (slice_equals_string(segment, ".") || slice_equals_string(segment, "..")) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the path has a dot segment");
    }
    return STATUS_OK;
}

Status
target_parse(Call *call, Slice raw, Target *ret_target)
{
    Target target = {.path = target_path(raw)};
    if (target.path.size == 0 || target.path.data[0] != '/') {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "the request target must start with '/' (origin form)");
    }
    Slice rest = slice_part(target.path, 1, target.path.size);
    Slice text;
    while (slice_split(&rest, '/', &text)) {
        if (target.segment_count == TARGET_SEGMENTS_MAX) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "the path has more than %d segments", TARGET_SEGMENTS_MAX);
        }
        Slice *segment = &target.segments[target.segment_count++];
        TRY(decode_text(call, &path_part, text, segment));
        TRY(segment_check(call, *segment, rest.data == NULL));
    }
    *ret_target = target;
    return STATUS_OK;
}

static Status
query_add(Call *call, Slice pair, Field *fields, size_t *count)
{
    size_t equals = slice_find(pair, '=');
    Field field = {0};
    TRY(decode_text(call, &query_part, slice_part(pair, 0, equals), &field.name));
    TRY(decode_text(call, &query_part, slice_part(pair, equals + 1, pair.size), &field.value));
    if (field.name.size == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "a query parameter has no name");
    }
    for (size_t index = 0; index < *count; index++) {
        if (slice_equal(fields[index].name, field.name)) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "query parameter '%.*s' is given twice",
                SLICE_PRINT(field.name));
        }
    }
    if (*count == REQUEST_QUERY_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "more than %d query parameters", REQUEST_QUERY_MAX);
    }
    fields[(*count)++] = field;
    return STATUS_OK;
}

Status
query_parse(Call *call, Slice raw, Field ret_fields[REQUEST_QUERY_MAX], size_t *ret_count)
{
    size_t count = 0;
    Status status = STATUS_OK;
    Slice rest = raw;
    Slice pair = {0};
    while (status == STATUS_OK && slice_split(&rest, '&', &pair)) {
        status = pair.size == 0 ? STATUS_OK : query_add(call, pair, ret_fields, &count);
    }
    *ret_count = count;
    return status;
}
