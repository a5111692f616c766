#include "shared/base/utf8.h"
#include "shared/json/scan.h"

/* The character that a letter behind a backslash stands for; "\u" has a rule of its own. */
static const char escaped_characters[128] = {
    ['"'] = '"',
    ['\\'] = '\\',
    ['/'] = '/',
    ['b'] = '\b',
    ['f'] = '\f',
    ['n'] = '\n',
    ['r'] = '\r',
    ['t'] = '\t',
};

/* Returns the value of the four hex digits at `position`, or -1 when they are none. */
static int32_t
unit_read(const char *position, const char *end)
{
    if (end - position < 4) {
        return -1;
    }
    int32_t unit = 0;
    for (int index = 0; index < 4; index++) {
        char byte = position[index];
        char letter = (char)(byte | 0x20);
        if (byte >= '0' && byte <= '9') {
            unit = unit * 16 + (byte - '0');
        } else if (letter >= 'a' && letter <= 'f') {
            unit = unit * 16 + (letter - 'a' + 10);
        } else {
            return -1;
        }
    }
    return unit;
}

/* Reads a "\u" escape whose backslash is at `position`, and the second one when the first is a high
 * surrogate. Returns the end of the escape; NULL when it is not valid. */
static const char *
unicode_escape_read(const char *position, const char *end, uint32_t *ret_character)
{
    int32_t first = unit_read(position + 2, end);
    if (first < 0 || (first >= 0xdc00 && first <= 0xdfff)) {
        return NULL;
    }
    if (first < 0xd800 || first > 0xdbff) {
        *ret_character = (uint32_t)first;
        return position + 6;
    }
    bool is_pair = end - position >= 12 && position[6] == '\\' && position[7] == 'u';
    int32_t second = is_pair ? unit_read(position + 8, end) : -1;
    if (second < 0xdc00 || second > 0xdfff) {
        return NULL;
    }
    *ret_character = 0x10000 + ((uint32_t)(first - 0xd800) << 10) + (uint32_t)(second - 0xdc00);
    return position + 12;
}

/* Reads any escape, with the same result. */
static const char *
escape_read(const char *position, const char *end, uint32_t *ret_character)
{
    if (end - position < 2) {
        return NULL;
    }
    unsigned char letter = (unsigned char)position[1];
    if (letter == 'u') {
        return unicode_escape_read(position, end, ret_character);
    }
    if (letter >= sizeof escaped_characters || escaped_characters[letter] == '\0') {
        return NULL;
    }
    *ret_character = (unsigned char)escaped_characters[letter];
    return position + 2;
}

static const char *
escape_pass(JsonScanner *scanner, const char *position)
{
    uint32_t character = 0;
    const char *behind = escape_read(position, scanner->end, &character);
    if (behind == NULL) {
        (void)json_stop(scanner, position, "a string holds an escape that is none");
    }
    return behind;
}

static const char *
beyond_ascii_pass(JsonScanner *scanner, const char *position)
{
    size_t size = utf8_character_size(position, scanner->end);
    if (size == 0) {
        (void)json_stop(scanner, position, "a string is not UTF-8");
        return NULL;
    }
    return position + size;
}

bool
json_string_scan(JsonScanner *scanner, const char *position, Slice *ret_raw, bool *ret_has_escapes)
{
    const char *start = position;
    bool has_escapes = false;
    for (;;) {
        position = json_plain_run_end(position, scanner->end);
        if (position >= scanner->end) {
            return json_stop(scanner, start - 1, "a string has no end");
        }
        if (*position == '"') {
            break;
        }
        if (*position == '\\') {
            has_escapes = true;
            position = escape_pass(scanner, position);
        } else if ((unsigned char)*position < ' ') {
            return json_stop(scanner, position, "a string holds a control character that is not escaped");
        } else {
            position = beyond_ascii_pass(scanner, position);
        }
        if (position == NULL) {
            return false;
        }
    }
    *ret_raw = slice_of(start, (size_t)(position - start));
    *ret_has_escapes = has_escapes;
    scanner->position = position + 1;
    return true;
}

size_t
json_string_decode(Slice raw, char *ret_bytes)
{
    const char *position = raw.data;
    const char *end = raw.data + raw.size;
    char *target = ret_bytes;
    while (position < end) {
        const char *backslash = memchr(position, '\\', (size_t)(end - position));
        const char *run_end = backslash == NULL ? end : backslash;
        memcpy(target, position, (size_t)(run_end - position));
        target += run_end - position;
        position = run_end;
        if (backslash != NULL) {
            uint32_t character = 0;
            position = escape_read(backslash, end, &character);
            target += utf8_encode(character, target);
        }
    }
    return (size_t)(target - ret_bytes);
}

bool
json_string(JsonScanner *scanner, Arena *arena, Slice *ret_value)
{
    const char *start = json_value_start(scanner);
    if (start >= scanner->end || *start != '"') {
        return json_stop(scanner, start, "expected a string");
    }
    Slice raw;
    bool has_escapes = false;
    if (!json_string_scan(scanner, start + 1, &raw, &has_escapes)) {
        return false;
    }
    scanner->needs_comma = true;
    if (!has_escapes) {
        *ret_value = raw;
        return true;
    }
    char *decoded = arena_alloc(arena, raw.size);
    if (decoded == NULL) {
        scanner->position = start;
        return json_stop_memory(scanner, "no memory left for a string");
    }
    *ret_value = slice_of(decoded, json_string_decode(raw, decoded));
    return true;
}
