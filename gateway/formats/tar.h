/* Reads the files of a tar archive in memory: POSIX ustar, with GNU's and pax's long names.
 *
 * Ownership: names and contents point into the archive, or into the arena for long names.
 * Errors:    INVALID_ARGUMENT for what is no tar or is cut off. */
#pragma once

#include "shared/base/call.h"
#include "shared/base/slice.h"

typedef struct TarFile {
    Slice name; /* without "./" in front */
    Slice content;
} TarFile;

typedef struct TarReader {
    Slice rest;
} TarReader;

bool tar_is(Slice bytes); /* Returns true when the bytes begin as a tar does. */

/* Reads the next regular file; *ret_found is false at the end. */
MUST_USE Status tar_next(Call *call, TarReader *reader, TarFile *ret_file, bool *ret_found);

/* Writes a file's header of 512 bytes. The file's content is padded with zeros to whole blocks, and the
 * archive ends in two blocks of zeros. Returns false when the name is longer than 100 bytes. */
enum { TAR_BLOCK_SIZE = 512 };
MUST_USE bool tar_header(Slice name, uint64_t size, char ret_header[TAR_BLOCK_SIZE]);
