/* Base64 (RFC 4648): bytes as text. It is written in the standard alphabet with padding, and read in the
 * standard or the URL-safe alphabet, padded or not. Anything else is refused: spaces, and bits that
 * decoding would lose. */
#pragma once

#include "shared/base/slice.h"

size_t base64_encoded_size(size_t byte_size);

/* Writes base64_encoded_size(bytes.size) characters, no NUL. */
void base64_encode(Slice bytes, char *ret_text);

/* Returns false when the length of `text` shows that it is not valid; else tells how many bytes it stands
 * for. */
bool base64_decoded_size(Slice text, size_t *ret_size);

/* Writes base64_decoded_size() bytes. Returns false at the first character outside both alphabets; the
 * bytes written before it stay. */
bool base64_decode(Slice text, void *ret_bytes);
