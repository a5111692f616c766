/* The blob store of a gateway: where large blobs lie (--blob-store), and how many uploads may be under way.
 *
 * Ownership: made and freed by app; every Store of the gateway uses its backend.
 * Threads:   any.
 * Errors:    blob_store_open(): INVALID_ARGUMENT for a setting that means nothing, FAILED_PRECONDITION for a
 *            folder that cannot be written. */
#pragma once

#include "gateway/domain/limits.h"
#include "gateway/store/blob_backend.h"

typedef struct BlobStore BlobStore;

typedef struct BlobStoreOptions {
    const char *
        where; /* "postgres", "folder:/path" or "s3://bucket/prefix"; it and the s3 texts outlive the store */
    uint64_t inline_size; /* blobs of at most this many bytes lie in PostgreSQL all the same */
    const Limits *limits; /* outlives the store */
    const char *s3_endpoint;
    const char *s3_region;
    const char *s3_key_id; /* NULL: none */
    const char *s3_secret;
} BlobStoreOptions;

MUST_USE Status blob_store_open(Call *call, const BlobStoreOptions *options, BlobStore **ret_store);
void blob_store_close(BlobStore *store); /* NULL is allowed */

const Limits *blob_store_limits(const BlobStore *store);

/* Returns the backend for StoreOptions.blobs; NULL: all blobs lie in PostgreSQL. */
BlobBackend *blob_store_backend(const BlobStore *store);
