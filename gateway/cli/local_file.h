/* Reads and writes whole files. A file that is written appears under its name only when all of it is
 * there.
 *
 * Ownership: a LocalFile that was begun is ended by local_file_done(), which also removes a file that was
 *            not kept.
 * Errors:    INVALID_ARGUMENT names the file and what is wrong with it. */
#pragma once

#include <stdio.h>

#include "shared/base/buffer.h"
#include "shared/base/call.h"

/* Appends the file's content, at most `size_max` bytes. */
MUST_USE Status local_file_read(Call *call, const char *path, size_t size_max, Buffer *content);

MUST_USE Status local_file_size(Call *call, const char *path, uint64_t *ret_size);

typedef struct LocalFile {
    FILE *stream; /* NULL: not begun, or ended */
    const char *path;
    const char *part_path; /* the file that is written until it is kept */
    uint64_t size;
} LocalFile;

MUST_USE Status local_file_begin(Call *call, const char *path, LocalFile *ret_file);
MUST_USE Status local_file_append(Call *call, LocalFile *file, Slice bytes);
MUST_USE Status local_file_keep(Call *call, LocalFile *file); /* replaces a file of this name */
void local_file_done(LocalFile *file);
#define AUTO_LOCAL_FILE CLEANUP(local_file_done) LocalFile
