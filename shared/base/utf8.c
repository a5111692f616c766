#include "shared/base/utf8.h"

#include <assert.h>

/* The bytes that may follow each kind of lead byte (RFC 3629, section 4): the second from this range,
 * later ones from 80 to BF. */
typedef struct LeadRange {
    unsigned char lead_min;
    unsigned char lead_max;
    unsigned char size;
    unsigned char second_min;
    unsigned char second_max;
} LeadRange;

static const LeadRange lead_ranges[] = {
    {0x00, 0x7f, 1, 0x00, 0x00},
    {0xc2, 0xdf, 2, 0x80, 0xbf},
    {0xe0, 0xe0, 3, 0xa0, 0xbf},
    {0xe1, 0xec, 3, 0x80, 0xbf},
    {0xed, 0xed, 3, 0x80, 0x9f},
    {0xee, 0xef, 3, 0x80, 0xbf},
    {0xf0, 0xf0, 4, 0x90, 0xbf},
    {0xf1, 0xf3, 4, 0x80, 0xbf},
    {0xf4, 0xf4, 4, 0x80, 0x8f},
};

static const LeadRange *
range_of(unsigned char lead)
{
    for (size_t index = 0; index < COUNT_OF(lead_ranges); index++) {
        if (lead >= lead_ranges[index].lead_min && lead <= lead_ranges[index].lead_max) {
            return &lead_ranges[index];
        }
    }
    return NULL;
}

static bool
is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t
utf8_character_size(const char *text, const char *end)
{
    const LeadRange *range = text < end ? range_of((unsigned char)*text) : NULL;
    if (range == NULL || (size_t)(end - text) < range->size) {
        return 0;
    }
    if (range->size == 1) {
        return 1;
    }
    unsigned char second = (unsigned char)text[1];
    if (second < range->second_min || second > range->second_max) {
        return 0;
    }
    for (size_t index = 2; index < range->size; index++) {
        if (!is_continuation(text[index])) {
            return 0;
        }
    }
    return range->size;
}

uint32_t
utf8_decode(const char *bytes, size_t size)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    assert(size >= 1 && size < COUNT_OF(masks));
    uint32_t character = (unsigned char)bytes[0] & masks[size];
    for (size_t index = 1; index < size; index++) {
        character = character << 6 | ((unsigned char)bytes[index] & 0x3f);
    }
    return character;
}

bool
utf8_is_valid(Slice text)
{
    const char *position = text.data;
    const char *end = text.data == NULL ? NULL : text.data + text.size;
    while (position < end) {
        size_t size = utf8_character_size(position, end);
        if (size == 0) {
            return false;
        }
        position += size;
    }
    return true;
}

size_t
utf8_encode(uint32_t character, char ret_bytes[4])
{
    assert(character <= 0x10ffff && (character < 0xd800 || character > 0xdfff));

    if (character < 0x80) {
        ret_bytes[0] = (char)character;
        return 1;
    }
    size_t size = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t index = size - 1; index > 0; index--) {
        ret_bytes[index] = (char)(0x80 | (character & 0x3f));
        character >>= 6;
    }
    static const uint32_t lead_marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    ret_bytes[0] = (char)(lead_marks[size] | character);
    return size;
}
