/* Bytes that grow at the end: a document being written, a request being received.
 *
 * Ownership: buffer_done() frees the bytes; a zeroed Buffer is a valid empty one.
 * Threads:   one at a time.
 * Errors:    the first append that finds no memory, or would pass `size_max`, marks the buffer as failed,
 *            and later appends do nothing: write a whole document, then ask buffer_is_ok() once. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/compiler.h"
#include "shared/base/slice.h"

typedef struct Buffer {
    char *data;
    size_t size;
    size_t capacity;
    size_t size_max;
    bool has_failed;
} Buffer;

void buffer_done(Buffer *buffer);
#define AUTO_BUFFER CLEANUP(buffer_done) Buffer

/* Empties the buffer and clears a failure, keeping the memory. */
void buffer_clear(Buffer *buffer);

/* Returns room for `size` more bytes at the end, to be filled and then claimed with buffer_grow(); NULL on
 * failure. */
char *buffer_reserve(Buffer *buffer, size_t size);
void buffer_grow(Buffer *buffer, size_t size);

void buffer_append(Buffer *buffer, const void *data, size_t size);
void buffer_append_byte(Buffer *buffer, char byte);
void buffer_append_slice(Buffer *buffer, Slice slice);
void buffer_append_string(Buffer *buffer, const char *string);
void buffer_append_uint64(Buffer *buffer, uint64_t value);
void buffer_append_int64(Buffer *buffer, int64_t value);
void buffer_append_format(Buffer *buffer, const char *format, ...) PRINTF_LIKE(2, 3);

/* Appends a part of a URL: all bytes but RFC 3986's unreserved characters (2.3) become "%XX". */
void buffer_append_escaped(Buffer *buffer, Slice text);

/* Drops the first `size` bytes and moves the rest to the front. */
void buffer_consume(Buffer *buffer, size_t size);

static inline bool
buffer_is_ok(const Buffer *buffer)
{
    return !buffer->has_failed;
}

static inline Slice
buffer_slice(const Buffer *buffer)
{
    return slice_of(buffer->data, buffer->size);
}

/* Returns the bytes with a NUL after them, which is not counted; NULL when the buffer has failed. */
const char *buffer_string(Buffer *buffer);
