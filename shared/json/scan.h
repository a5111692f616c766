/* The state and the small steps that the scanner's files share. Private to shared/json. */
#pragma once

#include "shared/json/scanner.h"

/* The JsonKind of the value that begins with this byte. */
extern const unsigned char json_kinds[256];

/* Stops the scanner: nothing is left to read, and the first fault stays. Returns false. */
bool json_stop(JsonScanner *scanner, const char *position, const char *message);

/* Stops the scanner like json_stop(), with RESOURCE_EXHAUSTED: that memory ends is not the sender's fault. */
bool json_stop_memory(JsonScanner *scanner, const char *message);

/* Reads a string whose opening quote stands before `position`: returns its raw characters, checked for
 * UTF-8, control characters and escapes, and moves the scanner behind the closing quote. */
bool json_string_scan(JsonScanner *scanner, const char *position, Slice *ret_raw, bool *ret_has_escapes);

/* Decodes a raw string that json_string_scan() found valid. Writes at most raw.size bytes and returns how
 * many. */
size_t json_string_decode(Slice raw, char *ret_bytes);

/* Begins the record of the names of the object or array that has just been entered. */
void json_names_begin(JsonScanner *scanner, bool is_object);

/* Decodes and records a name; returns false when the object has it already. */
bool json_name_add(JsonScanner *scanner, Slice raw, bool has_escapes, Slice *ret_name);

/* Passes over a number. */
bool json_number_skip(JsonScanner *scanner);

/* Looks at eight bytes at a time: returns a mark in the high bit of each byte that ends the plain run (a
 * quote, a backslash, a control character, anything beyond ASCII). Only the lowest mark is exact, as
 * borrows may set those above it; callers use no other. */
static inline uint64_t
json_special_marks(uint64_t word)
{
    uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t quotes = word ^ (ones * '"');
    uint64_t backslashes = word ^ (ones * '\\');
    uint64_t marks = ((quotes - ones) & ~quotes) | ((backslashes - ones) & ~backslashes) |
                     ((word - ones * ' ') & ~word) | word;
    return marks & (ones * 0x80);
}

/* Returns the end of the characters that can be copied as they are: the first quote, backslash, control
 * character or byte beyond ASCII, or `end`. */
static inline const char *
json_plain_run_end(const char *position, const char *end)
{
    while (end - position >= 8) {
        uint64_t word = 0;
        memcpy(&word, position, sizeof word);
        uint64_t marks = json_special_marks(word);
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

/* Returns the start of the next value, or the scanner's end when there is none. */
static inline const char *
json_value_start(JsonScanner *scanner)
{
    scanner->position = json_skip_space(scanner->position, scanner->end);
    return scanner->position;
}

/* Notes that a value ends here: a comma or the container's end must follow. */
static inline void
json_value_end(JsonScanner *scanner, const char *position)
{
    scanner->position = position;
    scanner->needs_comma = true;
}
