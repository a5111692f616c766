/* Texts in a call's arena. */
#pragma once

#include "shared/base/arena.h"
#include "shared/base/slice.h"

/* Returns a NUL-terminated text; NULL when the arena's limit is reached. */
MUST_USE char *text_copy(Arena *arena, Slice slice);
MUST_USE char *text_format(Arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);
