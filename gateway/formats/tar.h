/* Reads the files of a tar archive: POSIX ustar, with GNU's and pax's long names and sizes. Only headers are
 * read, not what the files hold.
 *
 * Ownership: names point into the archive when it is in memory, else into the call's arena.
 * Errors:    INVALID_ARGUMENT for what is no tar, is compressed or is cut off, and for links, sparse files
 *            and files of several volumes: their content is not in the archive as it is. */
#pragma once

#include "gateway/formats/byte_source.h"

typedef struct TarFile {
    Slice name; /* without "./" in front */
    ByteSpan content;
} TarFile;

typedef struct TarReader {
    ByteSpan rest;
} TarReader;

bool tar_is(Slice bytes); /* Returns true when the bytes begin as a tar does. */

/* Returns the content of a file of an archive in memory. */
static inline Slice
tar_content(const TarFile *file)
{
    return slice_of(file->content.source->memory + file->content.offset, (size_t)file->content.size);
}

/* Reads the next regular file; *ret_found is false at the end. */
MUST_USE Status tar_next(Call *call, TarReader *reader, TarFile *ret_file, bool *ret_found);

/* Writes a file's header of 512 bytes. The file's content is padded with zeros to whole blocks, and the
 * archive ends in two blocks of zeros. Returns false when the name is longer than 100 bytes. Sizes past 8 GiB
 * are written as GNU's tar does. */
enum { TAR_BLOCK_SIZE = 512 };
MUST_USE bool tar_header(Slice name, uint64_t size, char ret_header[TAR_BLOCK_SIZE]);

/* Appends a file's header, in front of which stands an entry with its name when that is longer, as GNU's tar
 * does. The last block is the header. */
void tar_append_header(Buffer *archive, Slice name, uint64_t size);

/* Changes the size in a header. */
void tar_set_size(char header[TAR_BLOCK_SIZE], uint64_t size);
