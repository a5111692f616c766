/* Bytes as lower-case hex digits, the form that digests, keys and tokens have outside. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "shared/base/slice.h"

/* Writes 2 · bytes.size digits and a NUL. */
void hex_encode(Slice bytes, char *ret_text);

/* Returns false, with `ret_bytes` untouched, unless `text` is exactly 2 · `size` lower-case digits. */
bool hex_decode(Slice text, void *ret_bytes, size_t size);
