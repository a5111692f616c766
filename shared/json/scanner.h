/* A pull scanner over JSON text (RFC 8259): validates as it goes and allocates nothing. For what is large or
 * hot: step requests, tensors, graphs. Small control documents use document.h.
 *
 *     json_object_begin(&scanner);
 *     while (json_object_next(&scanner, &name)) { … read or json_skip() one value … }
 *
 * Ownership: the text must outlive the scanner; Slices point into it, but for names with escapes, which lie
 *            in the scanner itself: they stay until the next member of the same object is asked for.
 * Threads:   one at a time.
 * Errors:    the first fault stops the scanner: every later call returns false or a neutral value. Ask
 *            json_scan_end() for the Status, whose message says what was wrong, at which line and column.
 *            Depth over `depth_max`, invalid UTF-8, duplicate names of one object (each is compared with the
 *            first 64; more is the caller's map's business), trailing bytes are faults. */
#pragma once

#include "shared/base/call.h"
#include "shared/base/slice.h"

enum {
    JSON_DEPTH_MAX = 100,
    JSON_NAMES_COMPARED_MAX = 64,       /* of one object */
    JSON_OPEN_NAMES_MAX = 1024,         /* compared ones of all objects that are open at one time */
    JSON_ESCAPED_NAMES_SIZE_MAX = 1024, /* bytes of their current names, if those have escapes */
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

/* What is known of one open object or array. */
typedef struct JsonLevel {
    uint64_t filter; /* a bit for each hash seen */
    uint16_t first_name;
    uint16_t name_count;
    uint16_t first_byte;
    uint16_t byte_count;
    bool is_object;
} JsonLevel;

/* Large (12 KB) but never cleared: json_scan_begin() writes its first lines only. Not to be copied. */
typedef struct JsonScanner {
    const char *start; /* lines and columns count from here */
    const char *position;
    const char *end;
    int depth;
    int depth_max;
    bool needs_comma;
    Status fault_status;
    const char *fault; /* what was wrong, NULL while all is well */
    const char *fault_position;
    JsonLevel levels[JSON_DEPTH_MAX];
    JsonName names[JSON_OPEN_NAMES_MAX];
    char name_bytes[JSON_ESCAPED_NAMES_SIZE_MAX];
} JsonScanner;

/* `depth_max` is 0 (no arrays and objects) to JSON_DEPTH_MAX. */
void json_scan_begin(JsonScanner *scanner, Slice text, int depth_max);

/* Scans a value that `outer` has skipped: its depth and its lines count on from there. */
void json_scan_within(JsonScanner *scanner, const JsonScanner *outer, Slice text);

/* OK while there is no fault; the text need not be read wholly. */
MUST_USE Status json_scan_check(Call *call, const JsonScanner *scanner);

/* OK when the whole text was one valid value, wholly read. INVALID_ARGUMENT otherwise:
 * "line 3, column 14: expected ':' after the name, found a number". */
MUST_USE Status json_scan_end(Call *call, JsonScanner *scanner);

/* The kind of the value that comes next, without reading it. */
JsonKind json_peek(JsonScanner *scanner);

bool json_object_begin(JsonScanner *scanner);
/* The next member's name, decoded. It holds no character 0. False behind the last member; the object is
 * closed then. */
bool json_object_next(JsonScanner *scanner, Slice *ret_name);

/* Has that name stay as long as the text and the arena: one with escapes is copied. False without memory. */
bool json_name_keep(JsonScanner *scanner, Arena *arena, Slice *name);

bool json_array_begin(JsonScanner *scanner);
bool json_array_next(JsonScanner *scanner); /* true: a value follows; false: the array is closed */

/* A string, which may hold the character 0. Without escapes the Slice points into the text; with escapes it
 * is decoded into `arena`. */
bool json_string(JsonScanner *scanner, Arena *arena, Slice *ret_value);
/* A list of at most `count_max` strings. Room for all is taken at once: for short lists. */
bool json_strings(
    JsonScanner *scanner, Arena *arena, size_t count_max, const Slice **ret_values, size_t *ret_count);
bool json_boolean(JsonScanner *scanner, bool *ret_value);
bool json_null(JsonScanner *scanner);

/* The number's own characters, valid by the grammar. */
bool json_number_text(JsonScanner *scanner, Slice *ret_text);
/* The nearest float64; the strings "NaN", "Infinity" and "-Infinity" too. Numbers beyond its range are
 * faults, those below it 0. */
bool json_double(JsonScanner *scanner, double *ret_value);
/* As above, a float32: rounded once from the decimal text, not through a double. */
bool json_float(JsonScanner *scanner, float *ret_value);
/* Integers as a JSON number without fraction (1e3 and 1.0 are refused), or as a decimal string. */
bool json_int64(JsonScanner *scanner, int64_t *ret_value);
bool json_uint64(JsonScanner *scanner, uint64_t *ret_value);

/* Passes over one value of any kind, validating it; the value's own text. */
bool json_skip(JsonScanner *scanner, Slice *ret_text);

/* The caller found the value wrong: stops the scanner with this message (a literal) at the current place. */
void json_fault(JsonScanner *scanner, const char *message);
