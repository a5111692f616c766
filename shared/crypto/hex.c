#include "shared/crypto/hex.h"

#include <assert.h>

static int
digit_value(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

void
hex_encode(Slice bytes, char *ret_text)
{
    assert(ret_text != NULL);

    static const char digits[] = "0123456789abcdef";
    for (size_t index = 0; index < bytes.size; index++) {
        unsigned char byte = (unsigned char)bytes.data[index];
        ret_text[2 * index] = digits[byte >> 4];
        ret_text[2 * index + 1] = digits[byte & 15];
    }
    ret_text[2 * bytes.size] = '\0';
}

bool
hex_decode(Slice text, void *ret_bytes, size_t size)
{
    assert(ret_bytes != NULL || size == 0);

    unsigned char *bytes = ret_bytes;
    if (text.size != 2 * size) {
        return false;
    }
    for (size_t index = 0; index < text.size; index++) {
        if (digit_value(text.data[index]) < 0) {
            return false;
        }
    }
    for (size_t index = 0; index < size; index++) {
        int high = digit_value(text.data[2 * index]);
        int low = digit_value(text.data[2 * index + 1]);
        bytes[index] = (unsigned char)(high * 16 + low);
    }
    return true;
}
