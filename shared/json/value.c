/* Values one by one: their kinds, arrays and objects, `true`, `false` and `null`, and passing over a whole
 * value. */
#include <assert.h>

#include "shared/json/scan.h"

JsonKind
json_peek(JsonScanner *scanner)
{
    const char *position = json_value_start(scanner);
    JsonKind kind = position < scanner->end ? (JsonKind)json_kinds[(unsigned char)*position] : JSON_FAULT;
    if (kind == JSON_FAULT) {
        (void)json_stop(scanner, position, "expected a value");
    }
    return kind;
}

static inline bool
container_begin(JsonScanner *scanner, char opener, const char *message)
{
    const char *position = json_value_start(scanner);
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

/* Returns true when another member or element follows; false when the container closes here or the scanner
 * stops. */
static inline bool
container_next(JsonScanner *scanner, char closer, const char *message)
{
    const char *position = json_value_start(scanner);
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
    const char *position = json_value_start(scanner);
    if (position >= scanner->end || *position != '"') {
        return json_stop(scanner, position, "expected a name in quotes");
    }
    Slice raw;
    bool has_escapes = false;
    if (!json_string_scan(scanner, position + 1, &raw, &has_escapes) ||
        !json_name_add(scanner, raw, has_escapes, ret_name)) {
        return false;
    }
    const char *colon = json_value_start(scanner);
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

static bool
word_read(JsonScanner *scanner, const char *word, size_t size)
{
    const char *position = json_value_start(scanner);
    if ((size_t)(scanner->end - position) < size || memcmp(position, word, size) != 0) {
        return false;
    }
    json_value_end(scanner, position + size);
    return true;
}

bool
json_boolean(JsonScanner *scanner, bool *ret_value)
{
    bool is_true = word_read(scanner, "true", 4);
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
    bool is_read = json_string_scan(scanner, scanner->position + 1, &raw, &has_escapes);
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

/* Returns true when the innermost open container has a value left. */
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
    int depth = scanner->depth;
    const char *start = json_value_start(scanner);
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

bool
json_strings(
    JsonScanner *scanner, Arena *arena, size_t count_max, const Slice **ret_values, size_t *ret_count)
{
    assert(arena != NULL && count_max > 0);
    size_t count = 0;
    Slice *values = arena_alloc(arena, count_max * sizeof *values);
    if (values == NULL) {
        return json_stop_memory(scanner, "no memory left for a list of strings");
    }
    for (bool has_more = json_array_begin(scanner); has_more && json_array_next(scanner); count++) {
        if (count == count_max) {
            json_fault(scanner, "too many strings");
            return false;
        }
        has_more = json_string(scanner, arena, &values[count]);
    }
    if (scanner->fault != NULL) {
        return false;
    }
    *ret_values = values;
    *ret_count = count;
    return true;
}
