/* Content-addressed bytes of a tenant: sources of graphs, feeds, outputs. A blob is named by the SHA-256
 * of its bytes and stored in chunks of 1 MiB; the same bytes are stored once.
 *
 * Ownership: read bytes are copied, into the buffer or call->arena.
 * Threads:   the thread of the Store.
 * Errors:    NOT_FOUND also when the blob is another tenant's; OUT_OF_RANGE above BLOB_SIZE_MAX;
 *            RESOURCE_EXHAUSTED when the quota of stored bytes is used up. */
#pragma once

#include "gateway/store/connection.h"
#include "shared/base/buffer.h"

enum { BLOB_SIZE_MAX = 64 << 20, BLOB_CHUNK_SIZE = 1 << 20 };

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

typedef struct BlobRange {
    uint64_t offset;
    size_t size;
} BlobRange;

/* Appends the bytes of the range; fewer when the blob ends first. One chunk at a time is held beside the
 * buffer. */
MUST_USE Status blobs_read(
    Call *call, Store *store, TenantId tenant, const Sha256 *digest, BlobRange range, Buffer *ret_bytes);

/* Reads a whole blob into call->arena. */
MUST_USE Status blobs_get(Call *call, Store *store, TenantId tenant, const Sha256 *digest, Slice *ret_bytes);

/* Removes at most `count_max` blobs of the tenant that nothing refers to and that were last put over
 * `age_s` seconds ago. */
MUST_USE Status blobs_collect(
    Call *call, Store *store, TenantId tenant, uint64_t age_s, size_t count_max, uint64_t *ret_removed);
