#include "shared/base/buffer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/memory.h"

enum { CAPACITY_MIN = 256 };

void
buffer_done(Buffer *buffer)
{
    memory_free(buffer->data);
    *buffer = (Buffer){0};
}

void
buffer_clear(Buffer *buffer)
{
    buffer->size = 0;
    buffer->has_failed = false;
}

static bool
capacity_raise(Buffer *buffer, size_t wanted)
{
    size_t capacity = buffer->capacity < CAPACITY_MIN ? CAPACITY_MIN : buffer->capacity;
    while (capacity < wanted) {
        capacity = capacity > SIZE_MAX / 2 ? wanted : capacity * 2;
    }
    char *data = memory_resize(buffer->data, capacity);
    if (data == NULL) {
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

char *
buffer_reserve(Buffer *buffer, size_t size)
{
    assert(buffer->size <= buffer->capacity);

    size_t wanted = 0;
    bool is_too_much = __builtin_add_overflow(buffer->size, size, &wanted) ||
                       (buffer->size_max != 0 && wanted > buffer->size_max);
    /* Room for 0 bytes is room too: a buffer without memory gets some, since NULL would mean failure. */
    bool needs_room = wanted > buffer->capacity || buffer->data == NULL;
    if (buffer->has_failed || is_too_much || (needs_room && !capacity_raise(buffer, wanted))) {
        buffer->has_failed = true;
        return NULL;
    }
    return buffer->data + buffer->size;
}

void
buffer_grow(Buffer *buffer, size_t size)
{
    assert(size <= buffer->capacity - buffer->size);
    buffer->size += size;
}

void
buffer_append(Buffer *buffer, const void *data, size_t size)
{
    assert(data != NULL || size == 0);

    if (size == 0) {
        return;
    }
    char *room = buffer_reserve(buffer, size);
    if (room != NULL) {
        memcpy(room, data, size);
        buffer->size += size;
    }
}

void
buffer_append_byte(Buffer *buffer, char byte)
{
    buffer_append(buffer, &byte, 1);
}

void
buffer_append_slice(Buffer *buffer, Slice slice)
{
    buffer_append(buffer, slice.data, slice.size);
}

void
buffer_append_string(Buffer *buffer, const char *string)
{
    buffer_append(buffer, string, strlen(string));
}

void
buffer_append_uint64(Buffer *buffer, uint64_t value)
{
    char digits[20];
    size_t start = sizeof digits;
    do {
        digits[--start] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    buffer_append(buffer, digits + start, sizeof digits - start);
}

void
buffer_append_int64(Buffer *buffer, int64_t value)
{
    if (value < 0) {
        buffer_append_byte(buffer, '-');
    }
    buffer_append_uint64(buffer, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

static bool
is_unreserved(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '-' || byte == '.' || byte == '_' || byte == '~';
}

void
buffer_append_escaped(Buffer *buffer, Slice text)
{
    for (size_t index = 0; index < text.size; index++) {
        if (is_unreserved(text.data[index])) {
            buffer_append_byte(buffer, text.data[index]);
        } else {
            buffer_append_format(buffer, "%%%02X", (unsigned)(unsigned char)text.data[index]);
        }
    }
}

void
buffer_append_format(Buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *room = length < 0 ? NULL : buffer_reserve(buffer, (size_t)length + 1);
    if (room != NULL) {
        (void)vsnprintf(room, (size_t)length + 1, format, again);
        buffer->size += (size_t)length;
    }
    va_end(again);
}

void
buffer_consume(Buffer *buffer, size_t size)
{
    assert(size <= buffer->size);
    buffer->size -= size;
    if (buffer->size > 0) {
        memmove(buffer->data, buffer->data + size, buffer->size);
    }
}

const char *
buffer_string(Buffer *buffer)
{
    char *room = buffer_reserve(buffer, 1);
    if (room == NULL) {
        return NULL;
    }
    *room = '\0';
    return buffer->data;
}
