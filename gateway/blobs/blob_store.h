/* The blob store of a gateway: where large blobs lie (--blob-store), and how many uploads may be under way.
 *
 * Ownership: made and freed by app; every Store of the gateway uses its backend. What the options point to
 *            outlives the store.
 * Threads:   any.
 * Errors:    blob_store_open(): INVALID_ARGUMENT for a setting that means nothing, FAILED_PRECONDITION for a
 *            folder that cannot be written. */
#pragma once

#include "gateway/blobs/backends.h"
#include "gateway/domain/limits.h"
#include "shared/base/list.h"

typedef struct BlobStore BlobStore;

typedef struct BlobStoreOptions {
    const char *where;    /* "postgres", "folder:/path" or "s3://bucket/prefix" */
    uint64_t inline_size; /* blobs of at most this many bytes lie in PostgreSQL all the same */
    const Limits *limits;
    S3Options s3; /* for "s3://…" */
} BlobStoreOptions;

MUST_USE Status blob_store_open(Call *call, const BlobStoreOptions *options, BlobStore **ret_store);
void blob_store_close(BlobStore *store); /* NULL is allowed */

const Limits *blob_store_limits(const BlobStore *store);

/* Returns the backend for StoreOptions.blobs; NULL: all blobs lie in PostgreSQL. */
BlobBackend *blob_store_backend(const BlobStore *store);

/* Returns where a blob of this size goes. */
BlobBackend *blob_store_backend_for(const BlobStore *store, uint64_t size);

/* An upload among those that are under way. */
typedef struct UploadSlot {
    ListLink link;
    TenantId tenant;
} UploadSlot;

/* Counts an upload in, within the limits, until it leaves. UNAVAILABLE when there are too many. */
MUST_USE Status blob_store_enter(Call *call, BlobStore *store, UploadSlot *slot);
void blob_store_leave(BlobStore *store, UploadSlot *slot);
