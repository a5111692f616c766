/* The character classes of HTTP and URIs, in one table. */
#pragma once

#include <stdbool.h>

#include "shared/base/slice.h"

enum {
    CHARACTER_TOKEN = 1, /* tchar: names of headers and methods (RFC 9110 5.6.2) */
    CHARACTER_PATH = 2,  /* pchar and '/', '%' (RFC 3986 3.3) */
    CHARACTER_QUERY = 4, /* the same and '?' (RFC 3986 3.4) */
    CHARACTER_VALUE = 8, /* field values: visible bytes, space, tab, and bytes above 127 (RFC 9110 5.5) */
    CHARACTER_ID = 16,   /* request ids that are taken over from clients */
};

extern const unsigned char character_classes[256];

static inline bool
character_is(unsigned char byte, unsigned char class_bit)
{
    return (character_classes[byte] & class_bit) != 0;
}

/* Returns whether all bytes are of the class; true for an empty text. */
bool character_all(Slice text, unsigned char class_bit);

int character_hex(char digit); /* from 0 to 15, or -1 */
