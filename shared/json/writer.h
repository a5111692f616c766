/* Writes JSON into a Buffer, commas and escapes included.
 *
 * Ownership: the Buffer is the caller's.
 * Threads:   one at a time.
 * Errors:    those of the Buffer, which nesting deeper than JSON_WRITER_DEPTH_MAX fails too; a writer never
 *            produces half-valid text unless the Buffer has failed. */
#pragma once

#include "shared/base/buffer.h"

enum { JSON_WRITER_DEPTH_MAX = 128 };

typedef struct JsonWriter {
    Buffer *buffer;
    int depth;
    bool has_member[JSON_WRITER_DEPTH_MAX];
    bool follows_name;
} JsonWriter;

JsonWriter json_writer(Buffer *buffer);

void json_write_object_begin(JsonWriter *writer);
void json_write_object_end(JsonWriter *writer);
void json_write_array_begin(JsonWriter *writer);
void json_write_array_end(JsonWriter *writer);
void json_write_name(JsonWriter *writer, const char *name);
void json_write_name_slice(JsonWriter *writer, Slice name);

/* Writes a string. It escapes what RFC 8259 asks for, and C1 controls, U+2028 and U+2029; bytes that are
 * no UTF-8 become U+FFFD. */
void json_write_slice(JsonWriter *writer, Slice value);
void json_write_string(JsonWriter *writer, const char *value); /* NULL is written as null */
void json_write_int64(JsonWriter *writer, int64_t value);
void json_write_uint64(JsonWriter *writer, uint64_t value);
void json_write_boolean(JsonWriter *writer, bool value);
void json_write_null(JsonWriter *writer);

/* Write the shortest decimal that reads back as the same number; "NaN", "Infinity" and "-Infinity" as
 * strings. */
void json_write_double(JsonWriter *writer, double value);
void json_write_float(JsonWriter *writer, float value);

void json_write_base64(JsonWriter *writer, Slice bytes);
void json_write_raw(JsonWriter *writer, Slice text); /* text that is JSON already */

/* Write a member, its name and its value. */
void json_member_string(JsonWriter *writer, const char *name, const char *value);
void json_member_slice(JsonWriter *writer, const char *name, Slice value);
void json_member_slices(JsonWriter *writer, const char *name, const Slice *values, size_t count);
void json_member_int64(JsonWriter *writer, const char *name, int64_t value);
void json_member_uint64(JsonWriter *writer, const char *name, uint64_t value);
void json_member_boolean(JsonWriter *writer, const char *name, bool value);
void json_member_double(JsonWriter *writer, const char *name, double value);
