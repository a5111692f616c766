#include <assert.h>
#include <stdio.h>

#include "shared/json/scan.h"

/* --- Faults --------------------------------------------------------------------------------------------- */

bool
json_stop(JsonScanner *scanner, const char *position, const char *message)
{
    if (scanner->fault == NULL) {
        scanner->fault = message;
        scanner->fault_position = position;
        scanner->fault_status = STATUS_INVALID_ARGUMENT;
    }
    scanner->position = scanner->end;
    return false;
}

bool
json_stop_memory(JsonScanner *scanner, const char *message)
{
    const bool is_first = scanner->fault == NULL;
    (void)json_stop(scanner, scanner->position, message);
    scanner->fault_status = is_first ? STATUS_RESOURCE_EXHAUSTED : scanner->fault_status;
    return false;
}

void
json_fault(JsonScanner *scanner, const char *message)
{
    (void)json_stop(scanner, scanner->position, message);
}

/* Lines and columns count from 1; a column is a character, whatever its bytes. */
static void
place_of(const JsonScanner *scanner, size_t *ret_line, size_t *ret_column)
{
    size_t line = 1;
    size_t column = 1;
    for (const char *position = scanner->start; position < scanner->fault_position; position++) {
        const bool is_continuation = ((unsigned char)*position & 0xc0) == 0x80;
        column = *position == '\n' ? 1 : column + (is_continuation ? 0 : 1);
        line += *position == '\n' ? 1 : 0;
    }
    *ret_line = line;
    *ret_column = column;
}

static const char *const kind_names[] = {
    [JSON_NULL] = "null",
    [JSON_FALSE] = "a boolean",
    [JSON_TRUE] = "a boolean",
    [JSON_NUMBER] = "a number",
    [JSON_STRING] = "a string",
    [JSON_ARRAY] = "an array",
    [JSON_OBJECT] = "an object",
};

static const unsigned char kinds[256] = {
    ['n'] = JSON_NULL,
    ['f'] = JSON_FALSE,
    ['t'] = JSON_TRUE,
    ['-'] = JSON_NUMBER,
    ['0'] = JSON_NUMBER,
    ['1'] = JSON_NUMBER,
    ['2'] = JSON_NUMBER,
    ['3'] = JSON_NUMBER,
    ['4'] = JSON_NUMBER,
    ['5'] = JSON_NUMBER,
    ['6'] = JSON_NUMBER,
    ['7'] = JSON_NUMBER,
    ['8'] = JSON_NUMBER,
    ['9'] = JSON_NUMBER,
    ['"'] = JSON_STRING,
    ['['] = JSON_ARRAY,
    ['{'] = JSON_OBJECT,
};

enum { FOUND_SIZE = 32 };

/* What stands where something else was expected. */
static void
found_describe(const JsonScanner *scanner, char ret_found[FOUND_SIZE])
{
    const char *const position = scanner->fault_position;
    if (position >= scanner->end) {
        (void)snprintf(ret_found, FOUND_SIZE, "the end of the text");
        return;
    }
    const unsigned char byte = (unsigned char)*position;
    if (kinds[byte] != JSON_FAULT) {
        (void)snprintf(ret_found, FOUND_SIZE, "%s", kind_names[kinds[byte]]);
    } else if (byte > ' ' && byte < 0x7f) {
        (void)snprintf(ret_found, FOUND_SIZE, "'%c'", byte);
    } else {
        (void)snprintf(ret_found, FOUND_SIZE, "byte 0x%02x", byte);
    }
}

Status
json_scan_check(Call *call, const JsonScanner *scanner)
{
    if (scanner->fault == NULL) {
        return STATUS_OK;
    }
    size_t line = 0;
    size_t column = 0;
    place_of(scanner, &line, &column);
    char found[FOUND_SIZE] = "";
    const bool names_found = strncmp(scanner->fault, "expected ", strlen("expected ")) == 0;
    if (names_found) {
        found_describe(scanner, found);
    }
    return call_fail(call, scanner->fault_status, "line %zu, column %zu: %s%s%s", line, column,
        scanner->fault, names_found ? ", found " : "", found);
}

/* --- Beginning and end ---------------------------------------------------------------------------------- */

static void
scan_begin(JsonScanner *scanner, const char *start, Slice text, int depth_max)
{
    assert(depth_max >= 0 && depth_max <= JSON_DEPTH_MAX);

    /* The books on names are written before they are read. */
    scanner->start = start;
    scanner->position = text.data;
    scanner->end = text.data + text.size;
    scanner->depth = 0;
    scanner->depth_max = depth_max;
    scanner->needs_comma = false;
    scanner->fault = NULL;
    scanner->fault_position = NULL;
    scanner->fault_status = STATUS_OK;
    if ((size_t)(scanner->end - start) > UINT32_MAX) {
        (void)json_stop(scanner, start, "the text is larger than 4 GiB");
    }
}

void
json_scan_begin(JsonScanner *scanner, Slice text, int depth_max)
{
    const Slice something = text.data == NULL ? SLICE("") : text;
    scan_begin(scanner, something.data, something, depth_max);
}

void
json_scan_within(JsonScanner *scanner, const JsonScanner *outer, Slice text)
{
    scan_begin(scanner, outer->start, text, outer->depth_max - outer->depth);
}

Status
json_scan_end(Call *call, JsonScanner *scanner)
{
    if (scanner->fault == NULL) {
        const char *const position = json_value_start(scanner);
        if (scanner->depth > 0 || !scanner->needs_comma) {
            (void)json_stop(scanner, position, "expected a value");
        } else if (position < scanner->end) {
            (void)json_stop(scanner, position, "expected nothing behind the value");
        }
    }
    return json_scan_check(call, scanner);
}

/* --- Arrays and objects --------------------------------------------------------------------------------- */

JsonKind
json_peek(JsonScanner *scanner)
{
    const char *const position = json_value_start(scanner);
    const JsonKind kind = position < scanner->end ? (JsonKind)kinds[(unsigned char)*position] : JSON_FAULT;
    if (kind == JSON_FAULT) {
        (void)json_stop(scanner, position, "expected a value");
    }
    return kind;
}

static inline bool
container_begin(JsonScanner *scanner, char opener, const char *message)
{
    const char *const position = json_value_start(scanner);
    if (position >= scanner->end || *position != opener) {
        return json_stop(scanner, position, message);
    }
    if (scanner->depth >= scanner->depth_max) {
        return json_stop(scanner, position, "values are nested too deep");
    }
    scanner->position = position + 1;
    scanner->depth++;
    scanner->needs_comma = false;
    json_names_begin(scanner, opener == '{');
    return true;
}

static inline void
container_end(JsonScanner *scanner, const char *position)
{
    scanner->depth--;
    json_value_end(scanner, position + 1);
}

/* The next member or element follows; false when the container closes or something else stands there. */
static inline bool
container_next(JsonScanner *scanner, char closer, const char *message)
{
    const char *const position = json_value_start(scanner);
    if (position >= scanner->end) {
        return json_stop(scanner, position, message);
    }
    if (*position == closer) {
        container_end(scanner, position);
        return false;
    }
    if (!scanner->needs_comma) {
        return true;
    }
    if (*position != ',') {
        return json_stop(scanner, position, message);
    }
    scanner->position = position + 1;
    return true;
}

static bool
name_read(JsonScanner *scanner, Slice *ret_name)
{
    const char *const position = json_value_start(scanner);
    if (position >= scanner->end || *position != '"') {
        return json_stop(scanner, position, "expected a name in quotes");
    }
    Slice raw;
    bool has_escapes = false;
    if (!json_string_scan(scanner, position + 1, &raw, &has_escapes) ||
        !json_name_add(scanner, raw, has_escapes, ret_name)) {
        return false;
    }
    const char *const colon = json_value_start(scanner);
    if (colon >= scanner->end || *colon != ':') {
        return json_stop(scanner, colon, "expected ':' after the name");
    }
    scanner->position = colon + 1;
    return true;
}

bool
json_object_begin(JsonScanner *scanner)
{
    return container_begin(scanner, '{', "expected an object");
}

bool
json_object_next(JsonScanner *scanner, Slice *ret_name)
{
    return container_next(scanner, '}', "expected ',' or '}'") && name_read(scanner, ret_name);
}

bool
json_array_begin(JsonScanner *scanner)
{
    return container_begin(scanner, '[', "expected an array");
}

bool
json_array_next(JsonScanner *scanner)
{
    return container_next(scanner, ']', "expected ',' or ']'");
}

/* --- Words and skipping --------------------------------------------------------------------------------- */

static bool
word_read(JsonScanner *scanner, const char *word, size_t size)
{
    const char *const position = json_value_start(scanner);
    if ((size_t)(scanner->end - position) < size || memcmp(position, word, size) != 0) {
        return false;
    }
    json_value_end(scanner, position + size);
    return true;
}

bool
json_boolean(JsonScanner *scanner, bool *ret_value)
{
    const bool is_true = word_read(scanner, "true", 4);
    if (!is_true && !word_read(scanner, "false", 5)) {
        return json_stop(scanner, scanner->position, "expected true or false");
    }
    *ret_value = is_true;
    return true;
}

bool
json_null(JsonScanner *scanner)
{
    return word_read(scanner, "null", 4) || json_stop(scanner, scanner->position, "expected null");
}

static bool
string_skip(JsonScanner *scanner)
{
    Slice raw;
    bool has_escapes = false;
    const bool is_read = json_string_scan(scanner, scanner->position + 1, &raw, &has_escapes);
    scanner->needs_comma = true;
    return is_read;
}

/* Reads a whole scalar or enters a container. */
static bool
skip_step(JsonScanner *scanner)
{
    bool ignored = false;
    switch (json_peek(scanner)) {
    case JSON_OBJECT:
        return json_object_begin(scanner);
    case JSON_ARRAY:
        return json_array_begin(scanner);
    case JSON_STRING:
        return string_skip(scanner);
    case JSON_NUMBER:
        return json_number_skip(scanner);
    case JSON_TRUE:
    case JSON_FALSE:
        return json_boolean(scanner, &ignored);
    case JSON_NULL:
        return json_null(scanner);
    case JSON_FAULT:
        break;
    }
    return false;
}

/* The innermost open container has a value left. */
static inline bool
skip_next(JsonScanner *scanner)
{
    Slice name;
    return scanner->levels[scanner->depth - 1].is_object ? json_object_next(scanner, &name)
                                                         : json_array_next(scanner);
}

bool
json_skip(JsonScanner *scanner, Slice *ret_text)
{
    const int depth = scanner->depth;
    const char *const start = json_value_start(scanner);
    do {
        if (!skip_step(scanner)) {
            return false;
        }
        while (scanner->depth > depth && !skip_next(scanner)) {
            if (scanner->fault != NULL) {
                return false;
            }
        }
    } while (scanner->depth > depth);
    *ret_text = slice_of(start, (size_t)(scanner->position - start));
    return true;
}
