/* Rendezvous keys in paths (messages.h). */
#include <string.h>

#include "shared/base/text.h"
#include "shared/wire/messages.h"

static bool
is_unreserved(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '-' || byte == '.' || byte == '_' || byte == '~';
}

void
wire_key_encode(Buffer *buffer, Slice key)
{
    for (size_t index = 0; index < key.size; index++) {
        if (is_unreserved(key.data[index])) {
            buffer_append_byte(buffer, key.data[index]);
        } else {
            buffer_append_format(buffer, "%%%02X", (unsigned)(unsigned char)key.data[index]);
        }
    }
}

static int
hex_digit(char digit)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *const found = digit == '\0' ? NULL : strchr(digits, digit);
    return found == NULL ? -1 : (int)(found - digits);
}

bool
wire_key_decode(Arena *arena, Slice text, Slice *ret_key)
{
    char *const key = text_copy(arena, text);
    size_t size = 0;
    for (size_t index = 0; key != NULL && index < text.size; index++) {
        if (text.data[index] != '%') {
            key[size++] = text.data[index];
            continue;
        }
        const Slice digits = slice_part(text, index + 1, 2);
        const int high = digits.size == 2 ? hex_digit(digits.data[0]) : -1;
        const int low = digits.size == 2 ? hex_digit(digits.data[1]) : -1;
        if (high < 0 || low < 0) {
            return false;
        }
        key[size++] = (char)(high * 16 + low);
        index += 2;
    }
    *ret_key = slice_of(key, size);
    return key != NULL;
}
