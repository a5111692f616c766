/* What the scanner's own files share; nobody else includes this. */
#pragma once

#include "shared/json/scanner.h"

/* The JsonKind of the value that begins with this byte. */
extern const unsigned char json_kinds[256];

/* Stops the scanner: nothing is left to read, and the first fault stays. Returns false. */
bool json_stop(JsonScanner *scanner, const char *position, const char *message);

/* The same when memory ends, which is not the sender's fault: RESOURCE_EXHAUSTED. */
bool json_stop_memory(JsonScanner *scanner, const char *message);

/* `position` stands behind the opening quote. The raw characters up to the closing one, checked for UTF-8,
 * control characters and escapes; the scanner moves behind it. */
bool json_string_scan(JsonScanner *scanner, const char *position, Slice *ret_raw, bool *ret_has_escapes);

/* Decodes what json_string_scan() found valid; writes at most raw.size bytes and returns how many. */
size_t json_string_decode(Slice raw, char *ret_bytes);

/* Opens the books on the names of the object or array just entered. */
void json_names_begin(JsonScanner *scanner, bool is_object);

/* Decodes a name and notes it; false when the object has it already. */
bool json_name_add(JsonScanner *scanner, Slice raw, bool has_escapes, Slice *ret_name);

/* Passes over a number. */
bool json_number_skip(JsonScanner *scanner);

/* Eight bytes at a time: a mark in the high bit of each byte that ends the plain run (a quote, a backslash,
 * a control character, anything beyond ASCII). Only the lowest mark is sure; it is the one that counts. */
static inline uint64_t
json_special_marks(uint64_t word)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t quotes = word ^ (ones * '"');
    const uint64_t backslashes = word ^ (ones * '\\');
    const uint64_t marks = ((quotes - ones) & ~quotes) | ((backslashes - ones) & ~backslashes) |
                           ((word - ones * ' ') & ~word) | word;
    return marks & (ones * 0x80);
}

/* The end of the characters that need no care: the first quote, backslash, control character or byte beyond
 * ASCII, or `end`. */
static inline const char *
json_plain_run_end(const char *position, const char *end)
{
    while (end - position >= 8) {
        uint64_t word = 0;
        memcpy(&word, position, sizeof word);
        const uint64_t marks = json_special_marks(word);
        if (marks != 0) {
            return position + (__builtin_ctzll(marks) >> 3);
        }
        position += 8;
    }
    while (position < end && *position != '"' && *position != '\\' && (signed char)*position >= ' ') {
        position++;
    }
    return position;
}

static inline const char *
json_skip_space(const char *position, const char *end)
{
    while (
        position < end && (*position == ' ' || *position == '\n' || *position == '\r' || *position == '\t')) {
        position++;
    }
    return position;
}

/* Where the next value starts; the scanner's end when there is none. */
static inline const char *
json_value_start(JsonScanner *scanner)
{
    scanner->position = json_skip_space(scanner->position, scanner->end);
    return scanner->position;
}

/* A value has been read up to here. */
static inline void
json_value_end(JsonScanner *scanner, const char *position)
{
    scanner->position = position;
    scanner->needs_comma = true;
}
