#include "shared/base/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

char *
text_copy(Arena *arena, Slice slice)
{
    assert(slice.data != NULL || slice.size == 0);

    char *copy = arena_alloc(arena, slice.size + 1);
    if (copy != NULL && slice.size > 0) {
        memcpy(copy, slice.data, slice.size);
    }
    return copy;
}

char *
text_format(Arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1);
    if (text != NULL) {
        (void)vsnprintf(text, (size_t)length + 1, format, again);
    }
    va_end(again);
    return text;
}
