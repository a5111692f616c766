#include "shared/base/base64.h"

#include <assert.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The value of each character's 6 bits, plus one: a character outside both alphabets has 0. */
static const unsigned char digits[256] = {
    ['A'] = 1,
    ['B'] = 2,
    ['C'] = 3,
    ['D'] = 4,
    ['E'] = 5,
    ['F'] = 6,
    ['G'] = 7,
    ['H'] = 8,
    ['I'] = 9,
    ['J'] = 10,
    ['K'] = 11,
    ['L'] = 12,
    ['M'] = 13,
    ['N'] = 14,
    ['O'] = 15,
    ['P'] = 16,
    ['Q'] = 17,
    ['R'] = 18,
    ['S'] = 19,
    ['T'] = 20,
    ['U'] = 21,
    ['V'] = 22,
    ['W'] = 23,
    ['X'] = 24,
    ['Y'] = 25,
    ['Z'] = 26,
    ['a'] = 27,
    ['b'] = 28,
    ['c'] = 29,
    ['d'] = 30,
    ['e'] = 31,
    ['f'] = 32,
    ['g'] = 33,
    ['h'] = 34,
    ['i'] = 35,
    ['j'] = 36,
    ['k'] = 37,
    ['l'] = 38,
    ['m'] = 39,
    ['n'] = 40,
    ['o'] = 41,
    ['p'] = 42,
    ['q'] = 43,
    ['r'] = 44,
    ['s'] = 45,
    ['t'] = 46,
    ['u'] = 47,
    ['v'] = 48,
    ['w'] = 49,
    ['x'] = 50,
    ['y'] = 51,
    ['z'] = 52,
    ['0'] = 53,
    ['1'] = 54,
    ['2'] = 55,
    ['3'] = 56,
    ['4'] = 57,
    ['5'] = 58,
    ['6'] = 59,
    ['7'] = 60,
    ['8'] = 61,
    ['9'] = 62,
    ['+'] = 63,
    ['-'] = 63,
    ['/'] = 64,
    ['_'] = 64,
};

size_t
base64_encoded_size(size_t byte_size)
{
    return (byte_size / 3 + (byte_size % 3 != 0 ? 1 : 0)) * 4;
}

void
base64_encode(Slice bytes, char *ret_text)
{
    assert(ret_text != NULL || bytes.size == 0);

    const unsigned char *source = (const unsigned char *)bytes.data;
    size_t left = bytes.size;
    for (; left >= 3; left -= 3, source += 3, ret_text += 4) {
        unsigned group = (unsigned)source[0] << 16 | (unsigned)source[1] << 8 | source[2];
        ret_text[0] = alphabet[group >> 18];
        ret_text[1] = alphabet[group >> 12 & 63];
        ret_text[2] = alphabet[group >> 6 & 63];
        ret_text[3] = alphabet[group & 63];
    }
    if (left > 0) {
        unsigned group = (unsigned)source[0] << 16 | (left == 2 ? (unsigned)source[1] << 8 : 0);
        ret_text[0] = alphabet[group >> 18];
        ret_text[1] = alphabet[group >> 12 & 63];
        ret_text[2] = '=';
        ret_text[3] = '=';
        if (left == 2) {
            ret_text[2] = alphabet[group >> 6 & 63];
        }
    }
}

/* Cuts the padding off: "QQ==" gives "QQ". Returns false when the padding does not fill a group of four. */
static bool
padding_strip(Slice text, Slice *ret_digits)
{
    size_t size = text.size;
    while (size > 0 && text.size - size < 2 && text.data[size - 1] == '=') {
        size--;
    }
    *ret_digits = slice_part(text, 0, size);
    return size % 4 != 1 && (size == text.size || text.size % 4 == 0);
}

bool
base64_decoded_size(Slice text, size_t *ret_size)
{
    Slice stripped;
    if (!padding_strip(text, &stripped)) {
        return false;
    }
    *ret_size = stripped.size / 4 * 3 + (stripped.size % 4 == 0 ? 0 : stripped.size % 4 - 1);
    return true;
}

/* Decodes the last two or three characters. Their unused low bits must be 0, or two texts would mean the
 * same bytes. */
static bool
decode_tail(const unsigned char *source, size_t size, unsigned char *ret_bytes)
{
    if (size == 0) {
        return true;
    }
    unsigned first = digits[source[0]];
    unsigned second = digits[source[1]];
    unsigned third = size == 3 ? digits[source[2]] : 1;
    if (first == 0 || second == 0 || third == 0) {
        return false;
    }
    unsigned group = (first - 1) << 18 | (second - 1) << 12 | (third - 1) << 6;
    ret_bytes[0] = (unsigned char)(group >> 16);
    if (size == 3) {
        ret_bytes[1] = (unsigned char)(group >> 8 & 0xff);
    }
    return (group & (size == 3 ? 0xffU : 0xffffU)) == 0;
}

bool
base64_decode(Slice text, void *ret_bytes)
{
    Slice stripped;
    if (!padding_strip(text, &stripped)) {
        return false;
    }
    const unsigned char *source = (const unsigned char *)stripped.data;
    unsigned char *target = ret_bytes;
    for (size_t groups = stripped.size / 4; groups > 0; groups--, source += 4, target += 3) {
        unsigned first = digits[source[0]];
        unsigned second = digits[source[1]];
        unsigned third = digits[source[2]];
        unsigned fourth = digits[source[3]];
        if (first == 0 || second == 0 || third == 0 || fourth == 0) {
            return false;
        }
        unsigned group = (first - 1) << 18 | (second - 1) << 12 | (third - 1) << 6 | (fourth - 1);
        target[0] = (unsigned char)(group >> 16);
        target[1] = (unsigned char)(group >> 8 & 0xff);
        target[2] = (unsigned char)(group & 0xff);
    }
    return decode_tail(source, stripped.size % 4, target);
}
