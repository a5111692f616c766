#include "gateway/http/multipart_header.h"

#include "gateway/http/characters.h"
#include "gateway/http/headers.h"

typedef struct Reading {
    Arena *arena;
    bool has_disposition;
    bool has_type;
    MultipartPart part;
} Reading;

typedef struct Parameter {
    Slice name;
    Slice value; /* without quotes, escapes as sent */
} Parameter;

static size_t
token_size(Slice text)
{
    size_t size = 0;
    while (size < text.size && character_is((unsigned char)text.data[size], CHARACTER_TOKEN)) {
        size++;
    }
    return size;
}

static bool
quoted_take(Slice *rest, Slice *ret_value)
{
    size_t end = 1;
    while (end < rest->size && rest->data[end] != '"') {
        end += rest->data[end] == '\\' ? 2 : 1;
    }
    if (end >= rest->size) {
        return false;
    }
    *ret_value = slice_part(*rest, 1, end - 1);
    *rest = slice_part(*rest, end + 1, rest->size);
    return true;
}

static bool
parameter_take(Slice *rest, Parameter *ret_parameter)
{
    Slice text = slice_trim(*rest);
    if (text.size == 0 || text.data[0] != ';') {
        return false;
    }
    text = slice_trim(slice_part(text, 1, text.size));
    size_t name_size = token_size(text);
    if (name_size == 0 || name_size == text.size || text.data[name_size] != '=') {
        return false;
    }
    ret_parameter->name = slice_part(text, 0, name_size);
    text = slice_part(text, name_size + 1, text.size);
    if (text.size > 0 && text.data[0] == '"') {
        *rest = text;
        return quoted_take(rest, &ret_parameter->value);
    }
    size_t size = token_size(text);
    ret_parameter->value = slice_part(text, 0, size);
    *rest = slice_part(text, size, text.size);
    return size > 0;
}

/* Decodes one of the bytes that senders of forms write as %XX (WHATWG's and RFC 7578's form data). All
 * other percent signs belong to the name. */
static bool
percent_take(Slice text, char *ret_byte)
{
    static const struct {
        const char *escape;
        char byte;
    } escapes[] = {{"%22", '"'}, {"%0D", '\r'}, {"%0A", '\n'}};
    for (size_t index = 0; index < COUNT_OF(escapes); index++) {
        if (slice_starts_with(text, slice_from_string(escapes[index].escape))) {
            *ret_byte = escapes[index].byte;
            return true;
        }
    }
    return false;
}

static bool
unescape_name(Arena *arena, Slice raw, Slice *ret_text)
{
    size_t size = 0;
    char *text = arena_alloc(arena, raw.size + 1);
    for (size_t index = 0; text != NULL && index < raw.size; index++) {
        text[size] = raw.data[index];
        if (raw.data[index] == '\\' && index + 1 < raw.size) {
            text[size] = raw.data[++index];
        } else if (percent_take(slice_part(raw, index, 3), &text[size])) {
            index += 2;
        }
        size++;
    }
    *ret_text = slice_of(text, size);
    return text != NULL;
}

static const char *
disposition_read(Reading *reading, Slice value)
{
    Parameter parameter;
    size_t size = token_size(value);
    Slice rest = slice_part(value, size, value.size);
    if (reading->has_disposition) {
        return "Content-Disposition stands there twice";
    }
    reading->has_disposition = true;
    if (!slice_equal_ignoring_case(slice_part(value, 0, size), SLICE("form-data"))) {
        return "Content-Disposition is not form-data";
    }
    while (slice_trim(rest).size > 0) {
        if (!parameter_take(&rest, &parameter)) {
            return "Content-Disposition cannot be read";
        }
        if (!slice_equal_ignoring_case(parameter.name, SLICE("name"))) {
            continue;
        }
        if (reading->part.name.data != NULL) {
            return "the part has two names";
        }
        if (!unescape_name(reading->arena, parameter.value, &reading->part.name)) {
            return "its name needs more memory than a call may use";
        }
    }
    return NULL;
}

static const char *
type_read(Reading *reading, Slice value)
{
    if (reading->has_type) {
        return "Content-Type stands there twice";
    }
    reading->has_type = true;
    reading->part.media_type = media_type_bare(value);
    return NULL;
}

/* Refuses encodings that change bytes: RFC 7578 4.7 forbids senders to encode. */
static const char *
encoding_read(Reading *reading, Slice value)
{
    (void)reading;
    bool is_plain = slice_equal_ignoring_case(value, SLICE("binary")) ||
                    slice_equal_ignoring_case(value, SLICE("8bit")) ||
                    slice_equal_ignoring_case(value, SLICE("7bit"));
    return is_plain ? NULL : "Content-Transfer-Encoding is not binary";
}

static const struct {
    const char *name;
    const char *(*read)(Reading *reading, Slice value);
} headers[] = {
    {"Content-Disposition", disposition_read},
    {"Content-Type", type_read},
    {"Content-Transfer-Encoding", encoding_read},
};

static const char *
line_read(Reading *reading, Slice line)
{
    size_t colon = slice_find(line, ':');
    Slice name = slice_part(line, 0, colon);
    Slice value = slice_trim(slice_part(line, colon + 1, line.size));
    if (colon == line.size || colon == 0 || !character_all(name, CHARACTER_TOKEN) ||
        !character_all(value, CHARACTER_VALUE)) {
        return "a header cannot be read";
    }
    for (size_t index = 0; index < COUNT_OF(headers); index++) {
        if (slice_equal_ignoring_case(name, slice_from_string(headers[index].name))) {
            return headers[index].read(reading, value);
        }
    }
    return NULL;
}

const char *
multipart_header_read(Arena *arena, Slice lines, MultipartPart *ret_part)
{
    Reading reading = {.arena = arena};
    while (lines.size > 0) {
        size_t size = slice_find(lines, '\n') + 1;
        const char *fault = line_read(&reading, slice_part(lines, 0, size - 2));
        if (fault != NULL) {
            return fault;
        }
        lines = slice_part(lines, size, lines.size);
    }
    if (!reading.has_disposition) {
        return "the part has no Content-Disposition";
    }
    if (reading.part.name.size == 0) {
        return "the part has no name";
    }
    *ret_part = reading.part;
    return NULL;
}

static bool
is_boundary(Slice text)
{
    static const char others[] = "'()+_,-./:=? ";
    for (size_t index = 0; index < text.size; index++) {
        char byte = text.data[index];
        bool is_alphanumeric = (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z');
        if (!is_alphanumeric && (byte == '\0' || strchr(others, byte) == NULL)) {
            return false;
        }
    }
    return text.size > 0 && text.size <= MULTIPART_BOUNDARY_SIZE_MAX && text.data[text.size - 1] != ' ';
}

Status
multipart_boundary(Call *call, Slice content_type, Slice *ret_boundary)
{
    Parameter parameter;
    Slice rest = slice_part(content_type, slice_find(content_type, ';'), content_type.size);
    while (parameter_take(&rest, &parameter)) {
        if (!slice_equal_ignoring_case(parameter.name, SLICE("boundary"))) {
            continue;
        }
        if (!is_boundary(parameter.value)) {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "the Content-Type's boundary has other than 1 to %d of the allowed characters",
                MULTIPART_BOUNDARY_SIZE_MAX);
        }
        *ret_boundary = parameter.value;
        return STATUS_OK;
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT, "the Content-Type names no boundary");
}
