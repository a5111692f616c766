/* Blobs as files of a folder, which all workers of a host may share: each is written under a name of its own,
 * gets its final name when it is whole and has its digest, and is mapped read-only by whoever uses it, so
 * that its pages are in memory once.
 *
 *     <folder>/<tenant>/<sha256>             a blob; its time of modification is that of its last use
 *     <folder>/<tenant>/.<sha256>.<random>   one that is being written, and locked by who writes it
 *
 * The files that were used longest ago are removed when the folder would pass its size. A file that is mapped
 * may be removed: its bytes live on as long as the mapping. Files that were given up half-written are
 * removed, and so is one whose bytes are not those of its name.
 *
 * Ownership: a mapped blob is its TensorBuffer's; a BlobFile is ended by who began it.
 * Threads:   any; a BlobFile one at a time. blob_folder_find() may read a whole file: not on a loop's thread.
 * Errors:    RESOURCE_EXHAUSTED when the folder or its disk has no room; UNAVAILABLE for other failures of
 *            the disk, with the path; INVALID_ARGUMENT for a tenant or digest that is no file name. */
#pragma once

#include "shared/base/call.h"
#include "shared/tensor/tensor.h"

typedef struct BlobFolder BlobFolder;
typedef struct BlobFile BlobFile;

/* The ways in which a file of the blob folder was used, as metrics count them. */
typedef enum BlobFileEvent {
    BLOB_FILE_WRITTEN,
    BLOB_FILE_MAPPED,
    BLOB_FILE_REMOVED, /* to make room */
    BLOB_FILE_DAMAGED, /* and removed */
    BLOB_FILE_EVENTS,
} BlobFileEvent;

/* Returns how many files this process has done that with; 0 without a folder. */
uint64_t blob_folder_event_count(const BlobFolder *folder, BlobFileEvent event);

/* Opens the folder, and makes it if it is not there. `size_max` 0: half of its disk. */
MUST_USE Status blob_folder_open(Call *call, const char *path, uint64_t size_max, BlobFolder **ret_folder);
void blob_folder_free(BlobFolder *folder); /* NULL is allowed */

/* Maps a blob. NULL when it has no file or cannot be read; this process checks the digest of a file once. */
TensorBuffer *blob_folder_find(BlobFolder *folder, Slice tenant, Slice digest);

/* Returns whether there is a file of the blob, whole as far as can be seen without reading it. */
bool blob_folder_has(const BlobFolder *folder, Slice tenant, Slice digest);

/* Returns whether a worker of this host is just writing the blob. */
bool blob_folder_awaits(const BlobFolder *folder, Slice tenant, Slice digest);

/* Begins to write a blob of `size` bytes, more than none. */
MUST_USE Status blob_file_begin(
    Call *call, BlobFolder *folder, Slice tenant, Slice digest, uint64_t size, BlobFile **ret_file);
MUST_USE Status blob_file_write(Call *call, BlobFile *file, Slice bytes);

/* Gives the file its name. The caller has checked the digest. */
MUST_USE Status blob_file_finish(Call *call, BlobFile *file);
void blob_file_end(BlobFile *file); /* removes what is not finished; NULL is allowed */
