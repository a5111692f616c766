#include "gateway/store/values.h"

#include <assert.h>
#include <stdio.h>

enum { FORMAT_TEXT = 0, FORMAT_BINARY = 1 };

static void
add(Values *values, const char *data, size_t size, int format)
{
    assert(values->count < VALUES_MAX && size <= INT32_MAX);
    values->data[values->count] = data;
    values->sizes[values->count] = (int)size;
    values->formats[values->count] = format;
    values->count++;
}

void
values_null(Values *values)
{
    add(values, NULL, 0, FORMAT_TEXT);
}

void
values_uuid(Values *values, Uuid uuid)
{
    if (uuid_is_zero(uuid)) {
        values_null(values);
        return;
    }
    assert(values->count < VALUES_MAX);
    char *const bytes = values->inlined[values->count];
    memcpy(bytes, uuid.bytes, sizeof uuid.bytes);
    add(values, bytes, sizeof uuid.bytes, FORMAT_BINARY);
}

void
values_int64(Values *values, int64_t value)
{
    assert(values->count < VALUES_MAX);
    char *const text = values->inlined[values->count];
    const int size = snprintf(text, VALUE_INLINE_SIZE, "%lld", (long long)value);
    add(values, text, (size_t)size, FORMAT_TEXT);
}

void
values_double(Values *values, double value)
{
    assert(values->count < VALUES_MAX);
    char *const text = values->inlined[values->count];
    const int size = snprintf(text, VALUE_INLINE_SIZE, "%.17g", value);
    add(values, text, (size_t)size, FORMAT_TEXT);
}

void
values_boolean(Values *values, bool value)
{
    add(values, value ? "t" : "f", 1, FORMAT_TEXT);
}

void
values_bytes(Values *values, Slice bytes)
{
    add(values, bytes.data, bytes.size, FORMAT_BINARY);
}

void
values_digest(Values *values, const Sha256 *digest)
{
    assert(values->count < VALUES_MAX);
    char *const bytes = values->inlined[values->count];
    memcpy(bytes, digest->bytes, sizeof digest->bytes);
    add(values, bytes, sizeof digest->bytes, FORMAT_BINARY);
}

void
values_text(Values *values, const char *text)
{
    add(values, text, text == NULL ? 0 : strlen(text), FORMAT_TEXT);
}
