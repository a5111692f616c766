/* A pull scanner over JSON text (RFC 8259): it validates as it goes and allocates nothing. Whoever knows
 * the members of an object reads it with reader.h, which stands on this.
 *
 *     json_object_begin(&scanner);
 *     while (json_object_next(&scanner, &name)) { … read or json_skip() one value … }
 *
 * Ownership: the text must outlive the scanner. Slices point into it, but names with escapes lie in the
 *            scanner itself: they stay until the next member of the same object is asked for.
 * Threads:   one at a time.
 * Errors:    the first fault stops the scanner: every later call returns false or a neutral value.
 *            json_scan_end() returns the Status; its message tells the fault, with line and column.
 *            Faults are depth over `depth_max`, invalid UTF-8, a name that an object has twice (each is
 *            compared with the first 64, larger objects are for the caller's own map) and trailing bytes. */
#pragma once

#include "shared/base/call.h"
#include "shared/base/slice.h"

enum {
    JSON_DEPTH_MAX = 100,
    JSON_NAMES_COMPARED_MAX = 64,       /* compared within one object */
    JSON_OPEN_NAMES_MAX = 1024,         /* compared in all objects that are open at one time */
    JSON_ESCAPED_NAMES_SIZE_MAX = 1024, /* bytes of the current names of all open objects that have escapes */
};

typedef enum JsonKind {
    JSON_FAULT, /* the scanner has stopped */
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
} JsonKind;

typedef struct JsonName {
    uint32_t offset; /* in the text */
    uint32_t hash;
} JsonName;

/* An object or array that is open. */
typedef struct JsonLevel {
    uint64_t filter; /* one bit for each hash recorded */
    uint16_t first_name;
    uint16_t name_count;
    uint16_t first_byte;
    uint16_t byte_count;
    bool is_object;
} JsonLevel;

/* Not to be copied, and large (12 KB): json_scan_begin() clears its first lines only. */
typedef struct JsonScanner {
    const char *start; /* lines and columns count from here */
    const char *position;
    const char *end;
    int depth;
    int depth_max;
    bool needs_comma;
    Status fault_status;
    const char *fault; /* the message of the fault; NULL while there is none */
    const char *fault_position;
    JsonLevel levels[JSON_DEPTH_MAX];
    JsonName names[JSON_OPEN_NAMES_MAX];
    char name_bytes[JSON_ESCAPED_NAMES_SIZE_MAX];
} JsonScanner;

/* Begins with a text. `depth_max` is 0 (no arrays and objects) to JSON_DEPTH_MAX. */
void json_scan_begin(JsonScanner *scanner, Slice text, int depth_max);

/* Begins with a value that `outer` has skipped: depth and lines count on from there. */
void json_scan_within(JsonScanner *scanner, const JsonScanner *outer, Slice text);

/* Returns OK while there is no fault, also before the whole text is read. */
MUST_USE Status json_scan_check(Call *call, const JsonScanner *scanner);

/* Returns OK when the whole text was one valid value, wholly read. INVALID_ARGUMENT otherwise: "line 3,
 * column 14: expected ':' after the name, found a number". */
MUST_USE Status json_scan_end(Call *call, JsonScanner *scanner);

/* Returns the kind of the value that comes next, without reading it. */
JsonKind json_peek(JsonScanner *scanner);

bool json_object_begin(JsonScanner *scanner);
/* Reads the next member's name, decoded; it never holds the character 0. Returns false behind the last
 * member, when the object is closed. */
bool json_object_next(JsonScanner *scanner, Slice *ret_name);

/* Makes such a name stay as long as the text and the arena: one with escapes is copied. Returns false
 * without memory. */
bool json_name_keep(JsonScanner *scanner, Arena *arena, Slice *name);

bool json_array_begin(JsonScanner *scanner);
bool json_array_next(JsonScanner *scanner); /* true: a value follows; false: the array is closed, or the
                                             * scanner stopped */

/* Reads a string, which may hold the character 0. The Slice points into the text, or into `arena` when
 * there were escapes to decode. */
bool json_string(JsonScanner *scanner, Arena *arena, Slice *ret_value);
/* Reads a list of at most `count_max` strings. Room for all of them is taken at once, so that it is for
 * short lists. */
bool json_strings(
    JsonScanner *scanner, Arena *arena, size_t count_max, const Slice **ret_values, size_t *ret_count);
bool json_boolean(JsonScanner *scanner, bool *ret_value);
bool json_null(JsonScanner *scanner);

/* Reads a number as text, valid by the grammar. */
bool json_number_text(JsonScanner *scanner, Slice *ret_text);
/* Reads the nearest float64; the strings "NaN", "Infinity" and "-Infinity" are numbers here too. A number
 * beyond its range is a fault, one below it is 0. */
bool json_double(JsonScanner *scanner, double *ret_value);
/* Reads a float32 in the same way, rounded once from the decimal text, not through a double. */
bool json_float(JsonScanner *scanner, float *ret_value);
/* Read an integer: a JSON number without fraction and exponent (1e3 and 1.0 are refused), or a decimal
 * string. */
bool json_int64(JsonScanner *scanner, int64_t *ret_value);
bool json_uint64(JsonScanner *scanner, uint64_t *ret_value);

/* Passes over one value of any kind and validates it; the Slice is its text. */
bool json_skip(JsonScanner *scanner, Slice *ret_text);

/* Stops the scanner because the caller refuses a value: `message` is a literal, the position the current
 * one. */
void json_fault(JsonScanner *scanner, const char *message);
