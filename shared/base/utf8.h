/* UTF-8 (RFC 3629): well-formed means shortest form, no surrogates, at most U+10FFFF. */
#pragma once

#include "shared/base/slice.h"

/* Returns the size of the well-formed character at `text`, 1 to 4; 0 when there is none or `end` cuts it. */
size_t utf8_character_size(const char *text, const char *end);

/* Returns the well-formed character of these 1 to 4 bytes. */
uint32_t utf8_decode(const char *bytes, size_t size);

bool utf8_is_valid(Slice text);

/* Writes a character (no surrogate, at most 0x10FFFF) and returns its size. */
size_t utf8_encode(uint32_t character, char ret_bytes[4]);
