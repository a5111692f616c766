/* The state of a scanner: how it begins, how it stops at a fault, and the message that the fault becomes. */
#include <assert.h>
#include <stdio.h>

#include "shared/json/scan.h"

bool
json_stop(JsonScanner *scanner, const char *position, const char *message)
{
    assert(message != NULL && position >= scanner->start);
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
    bool is_first = scanner->fault == NULL;
    (void)json_stop(scanner, scanner->position, message);
    scanner->fault_status = is_first ? STATUS_RESOURCE_EXHAUSTED : scanner->fault_status;
    return false;
}

void
json_fault(JsonScanner *scanner, const char *message)
{
    assert(message != NULL);
    (void)json_stop(scanner, scanner->position, message);
}

/* Finds line and column of the fault. Both count from 1; a column is a character, whatever its bytes. */
static void
find_line_and_column(const JsonScanner *scanner, size_t *ret_line, size_t *ret_column)
{
    size_t line = 1;
    size_t column = 1;
    for (const char *position = scanner->start; position < scanner->fault_position; position++) {
        bool is_continuation = ((unsigned char)*position & 0xc0) == 0x80;
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

const unsigned char json_kinds[256] = {
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

/* Describes the text at the fault, for messages that say what was expected there. */
static void
found_describe(const JsonScanner *scanner, char ret_found[FOUND_SIZE])
{
    const char *position = scanner->fault_position;
    if (position >= scanner->end) {
        (void)snprintf(ret_found, FOUND_SIZE, "the end of the text");
        return;
    }
    unsigned char byte = (unsigned char)*position;
    if (json_kinds[byte] != JSON_FAULT) {
        (void)snprintf(ret_found, FOUND_SIZE, "%s", kind_names[json_kinds[byte]]);
    } else if (byte > ' ' && byte < 0x7f) {
        (void)snprintf(ret_found, FOUND_SIZE, "'%c'", byte);
    } else {
        (void)snprintf(ret_found, FOUND_SIZE, "byte 0x%02x", byte);
    }
}

Status
json_scan_check(Call *call, const JsonScanner *scanner)
{
    assert(call != NULL && scanner != NULL);
    if (scanner->fault == NULL) {
        return STATUS_OK;
    }
    size_t line = 0;
    size_t column = 0;
    find_line_and_column(scanner, &line, &column);
    char found[FOUND_SIZE] = "";
    bool names_found = strncmp(scanner->fault, "expected ", strlen("expected ")) == 0;
    if (names_found) {
        found_describe(scanner, found);
    }
    return call_fail(call, scanner->fault_status, "line %zu, column %zu: %s%s%s", line, column,
        scanner->fault, names_found ? ", found " : "", found);
}

static void
scan_begin(JsonScanner *scanner, const char *start, Slice text, int depth_max)
{
    assert(depth_max >= 0 && depth_max <= JSON_DEPTH_MAX);

    /* `levels`, `names` and `name_bytes` stay as they are: they are written before they are read. */
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
    Slice something = text.data == NULL ? SLICE("") : text;
    scan_begin(scanner, something.data, something, depth_max);
}

void
json_scan_within(JsonScanner *scanner, const JsonScanner *outer, Slice text)
{
    assert(outer->depth <= outer->depth_max && text.data >= outer->start);
    scan_begin(scanner, outer->start, text, outer->depth_max - outer->depth);
}

Status
json_scan_end(Call *call, JsonScanner *scanner)
{
    if (scanner->fault == NULL) {
        const char *position = json_value_start(scanner);
        if (scanner->depth > 0 || !scanner->needs_comma) {
            (void)json_stop(scanner, position, "expected a value");
        } else if (position < scanner->end) {
            (void)json_stop(scanner, position, "expected nothing behind the value");
        }
    }
    return json_scan_check(call, scanner);
}
