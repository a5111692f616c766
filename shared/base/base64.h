/* Base64 (RFC 4648): bytes as text. Written in the standard alphabet with padding; read in the standard or
 * the URL-safe alphabet, padded or not, and nothing else: no spaces, no bits that are lost. */
#pragma once

#include "shared/base/slice.h"

size_t base64_encoded_size(size_t byte_size);

/* Writes base64_encoded_size(bytes.size) characters, no NUL. */
void base64_encode(Slice bytes, char *ret_text);

/* The number of bytes that `text` stands for when it is valid; false when its length shows that it is not. */
bool base64_decoded_size(Slice text, size_t *ret_size);

/* Writes base64_decoded_size() bytes. False when a character is none of base64; what was written before it
 * stays. */
bool base64_decode(Slice text, void *ret_bytes);
