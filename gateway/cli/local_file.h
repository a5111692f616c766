/* Whole files, in and out.
 * Errors: INVALID_ARGUMENT names the file and what is wrong with it. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/base/call.h"

/* Appends the content, at most `size_max` bytes. */
MUST_USE Status local_file_read(Call *call, const char *path, size_t size_max, Buffer *content);

/* Replaces the file by these parts, one behind the other. */
MUST_USE Status local_file_write(Call *call, const char *path, const Slice *parts, size_t part_count);
