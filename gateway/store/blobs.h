/* Content-addressed bytes of a tenant: sources of graphs, files of weights, feeds, outputs. A blob is named
 * by the SHA-256 of its bytes; the same bytes are stored once.
 *
 * Bytes in memory are put in chunks of 1 MiB, in a transaction with the rows that refer to them. Bytes of any
 * size are uploaded (uploads.h) and lie in pieces of 1 MiB or in the store's BlobBackend. A blob can also be
 * a range of another one, such as a weight in a model's file. Readers see no difference.
 *
 * Ownership: read bytes are copied, into the buffer or call->arena.
 * Threads:   the thread of the Store.
 * Errors:    NOT_FOUND also when the blob is another tenant's; OUT_OF_RANGE above BLOB_PUT_SIZE_MAX;
 *            RESOURCE_EXHAUSTED when the quota of stored bytes is used up; those of a BlobBackend when its
 *            bytes are read; ABORTED when the blob was removed while it was read. */
#pragma once

#include "gateway/store/blob_backend.h"
#include "gateway/store/connection.h"

enum { BLOB_CHUNK_SIZE = 1 << 20 };

#define BLOB_PUT_SIZE_MAX ((size_t)1 << 31) /* bytes that are put from memory at once */

/* Stores bytes under their digest, in the caller's transaction or in one of its own. A blob that nothing
 * refers to is collected some time after its last put. */
MUST_USE Status blobs_put(Call *call, Store *store, TenantId tenant, const Sha256 *digest, Slice bytes);

typedef struct BlobPut {
    Sha256 digest;
    Slice bytes; /* borrowed */
    bool is_there;
} BlobPut;

/* Stores many blobs, in the caller's transaction; repeats are stored once. The list is sorted and changed. */
MUST_USE Status blobs_put_all(Call *call, Store *store, TenantId tenant, BlobPut *blobs, size_t count);

/* Finds the size of a blob, in bytes. */
MUST_USE Status blobs_find(
    Call *call, Store *store, TenantId tenant, const Sha256 *digest, uint64_t *ret_size);

/* Finds the size of a blob of its own, no range of another, and keeps it from being collected for now. */
MUST_USE Status blobs_renew(
    Call *call, Store *store, TenantId tenant, const Sha256 *digest, uint64_t *ret_size);

/* Removes a blob. NOT_FOUND when there is none, FAILED_PRECONDITION when something refers to it. */
MUST_USE Status blobs_drop(Call *call, Store *store, TenantId tenant, const Sha256 *digest);

/* Appends the bytes of the range; fewer when the blob ends first. One chunk at a time is held beside the
 * buffer. */
MUST_USE Status blobs_read(
    Call *call, Store *store, TenantId tenant, const Sha256 *digest, BlobRange range, Buffer *ret_bytes);

/* Reads a whole blob into call->arena. */
MUST_USE Status blobs_get(Call *call, Store *store, TenantId tenant, const Sha256 *digest, Slice *ret_bytes);

/* A blob whose bytes are a part of a file, which is a blob too. */
typedef struct BlobPartOf {
    Sha256 digest; /* of exactly these bytes */
    Sha256 file;
    uint64_t offset;
    uint64_t size;
} BlobPartOf;

/* Notes blobs that are ranges of files, in the caller's transaction or in one of its own; known ones and
 * repeats are noted once. They live as long as their file. The caller has checked the digests.
 * FAILED_PRECONDITION when a file is not there. */
MUST_USE Status blobs_put_ranges(
    Call *call, Store *store, TenantId tenant, const BlobPartOf *ranges, size_t count);

/* The holder of the bytes of a digest: the blob of that digest, or a file of which they are a range. */
typedef struct BlobHolder {
    Sha256 digest;
    uint64_t size;
    Sha256 holder;
} BlobHolder;

typedef struct BlobHolders {
    const BlobHolder *items; /* in the order of digests; in call->arena */
    size_t count;
} BlobHolders;

/* Finds the holders of many digests; those that are not stored are left out. */
MUST_USE Status blobs_holders(
    Call *call, Store *store, TenantId tenant, const Sha256 *digests, size_t count, BlobHolders *ret_holders);

/* Removes at most `count_max` blobs of the tenant that nothing refers to and that were last put over
 * `age_s` seconds ago. Bytes in pieces or in a backend are due for removal then (uploads.h). */
MUST_USE Status blobs_collect(
    Call *call, Store *store, TenantId tenant, uint64_t age_s, size_t count_max, uint64_t *ret_removed);
